"""The chain: what an entry is, that it comes with its transaction or not at all, and with many who write at once."""

import hashlib
import threading

import pytest

from ratewise.store import chain
from ratewise.store.replay import check_record
from ratewise.store.store import Store

ROWS = [(i, f"q{i}", i / 7, None, None, f'{{"id": "q{i}"}}') for i in range(230)]
META = {"spec": "{}", "items": "230"}


@pytest.fixture(params=["sqlite", "postgresql"])
def opened(tmp_path, request):
    """A function that opens the same store once more."""
    where = "c.sqlite" if request.param == "sqlite" else request.getfixturevalue("database")
    stores = []

    def another():
        stores.append(Store.at(where, str(tmp_path), "c"))
        return stores[-1]

    another().begin(META, iter(ROWS))
    yield another
    for store in stores:
        store.close()


def entries(store):
    with store.reading() as connection:
        return list(chain.entries(connection))


def test_a_digest_is_what_the_page_says():
    """So that anyone can compute it with other tools."""
    assert chain.digest_of("ab", 7, '[["é"]]') == hashlib.sha256('ab\n7\n[["é"]]'.encode()).hexdigest()
    entry = chain.following(chain.START, "[]")
    assert entry.head == "1-" + hashlib.sha256(b"\n1\n[]").hexdigest()[:40]


def test_items_are_in_the_first_entry_a_digest_for_a_hundred(opened):
    store = opened()
    (first,) = entries(store)
    (items,) = [change for change in first.changes if change[0] == "items"]
    rows = [hashlib.sha256(chain.row_bytes(row)).digest() for row in ROWS[200:]]
    assert (items[1], len(items[2])) == (100, 3)
    assert items[2][2] == hashlib.sha256(b"".join(rows)).hexdigest()
    assert check_record(store).problems == []


def fail_in_the_middle(store):
    with store.writing() as connection:
        chain.insert(connection, "events", [{"at": "", "text": "two"}])
        raise ZeroDivisionError


def test_a_transaction_that_fails_leaves_no_entry(opened):
    store = opened()
    store.note("one")
    before = store.head()
    with pytest.raises(ZeroDivisionError):
        fail_in_the_middle(store)
    assert store.head() == before
    store.note("three")
    assert [text for _, text in store.notes()] == ["one", "three"]
    assert check_record(store).problems == []


def test_a_fact_that_stays_the_same_is_no_entry(opened):
    store = opened()
    store.set_meta("ended", "so it is")
    before = store.head()
    store.set_meta("ended", "so it is")
    store.set_meta("nothing", None)
    assert store.head() == before
    store.set_meta("ended", None)
    assert store.head() != before
    assert check_record(store).problems == []


def test_who_leads_is_not_recorded(opened):
    store = opened()
    before = store.head()
    store.set_meta("leader", "process 7")
    assert store.head() == before
    assert check_record(store).problems == []


def test_many_who_write_at_once_make_one_chain(opened):
    """Each in a thread with connections of its own; no entry is lost, doubled or out of order."""
    stores = [opened() for _ in range(6)]

    def work(number):
        for i in range(15):
            stores[number].note(f"{number}:{i}")
            stores[number].set_meta(f"fact {i % 3}", f"{number}:{i}")

    threads = [threading.Thread(target=work, args=(n,)) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = entries(stores[0])
    assert [entry.number for entry in found] == list(range(1, len(found) + 1))
    assert len(found) == 1 + 6 * 15 * 2
    assert len(stores[0].notes()) == 6 * 15
    assert check_record(stores[0]).problems == []


def test_names_in_a_record_are_not_trusted(opened, tmp_path):
    """A record may come from anyone: only our tables and columns are played."""
    from ratewise.store.replay import rebuild

    for number, body in enumerate((
        '[["+", "meta; DROP TABLE meta", ["key"], [["x"]]]]', '[["+", "meta", ["key) --"], [["x"]]]]',
        '[["=", "meta", ["key"], ["value = 1; --"], [["x", "y"]]]]', '[["run", "meta"]]', '{"a": 1}', "[[]]", "no",
    )):  # fmt: skip
        with pytest.raises(ValueError, match=r"entry 1 of the record cannot be played|no list of changes"):
            rebuild(tmp_path / f"{number}.sqlite", [chain.following(chain.START, body)])


def test_a_new_record_of_old_tables_gives_the_same_tables(opened):
    """The cap and the campaign's id too; who leads is in no record."""
    store = opened()
    store.set_meta("leader", "process 7")
    store.set_cap(60, was=None)
    store.open_round(1, 0, "{}")
    store.note("one")
    with store.writing() as connection:
        connection.exec_driver_sql(
            "DROP TRIGGER guard_chain_delete" + " ON chain" * (connection.dialect.name == "postgresql")
        )
        chain.begin_anew(connection)
    (first,) = entries(store)
    assert first.changes[0][:2] == ["before", 1]
    assert "process 7" not in first.body
    found = check_record(store)
    assert (found.problems, found.before) == ([], 1)
