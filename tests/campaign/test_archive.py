"""A campaign outside its place: exports that are checked anywhere, read-only archives, backups and rescues."""

import contextlib
import json
import os
import random
import shutil
import sqlite3
import stat
import threading
from contextlib import closing

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.offline import verify_path
from ratewise.campaign.rescue import rescue
from ratewise.errors import InputError, StoreError
from ratewise.store.accounts import Accounts
from ratewise.store.chain import digest_of
from ratewise.store.queue import Claim, Outcome
from ratewise.store.unsaved import Unsaved

from ..users import plain_user
from .making import judged, log_of, ran, tamper, write


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("original"), judged(300, 3, spread=0.75), goal='budget = "60"', seed=11)


@pytest.fixture
def campaign(original, tmp_path):
    shutil.copytree(original.spec.folder, tmp_path / "copy")
    return Campaign.open(tmp_path / "copy" / "c.toml")


# Exports


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_an_exported_record_is_checked_without_the_store(tmp_path, kind, request):
    store = "c.sqlite" if kind == "sqlite" else request.getfixturevalue("database")
    campaign = ran(tmp_path / "c", judged(150), store=store, goal='budget = "40"')
    head = campaign.export_record(tmp_path / "record.jsonl")
    whole = campaign.verify()
    found = verify_path(str(tmp_path / "record.jsonl"), head=head)
    assert found.differences == []
    names = ("items", "rounds", "draws", "ratings", "payments", "head", "entries")
    assert [getattr(found, name) for name in names] == [getattr(whole, name) for name in names]
    assert found.anchored == found.entries


EDITS = {
    "an entry": (r"\"draws\",[\"position\"", r"\"draws\", [\"position\""),
    "an item's row": (r"{\"id\": \"q", r"{\"id\":  \"q"),
    "an item's random number": ('{"item": [5, "q', '{"item": [5, "r'),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edited_record_is_found(campaign, tmp_path, name):
    path = tmp_path / "record.jsonl"
    campaign.export_record(path)
    text = path.read_text(encoding="utf-8")
    old, new = EDITS[name]
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert not verify_path(str(path)).passed


def test_a_record_cut_short_is_found_with_the_head(campaign, tmp_path):
    path = tmp_path / "record.jsonl"
    head = campaign.export_record(path)
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    assert any("older copy" in line for line in verify_path(str(path), head=head).differences)
    path.write_text("".join(lines[:40]) + lines[40][:20], encoding="utf-8")
    with pytest.raises(InputError, match="no whole record"):
        verify_path(str(path))


def test_a_folder_of_exports_is_checked_with_its_tables(campaign, tmp_path):
    files, head = campaign.export_folder(tmp_path / "out")
    assert files == ("rated.csv", "ledger.csv", "record.jsonl")
    assert verify_path(str(tmp_path / "out"), head=head).differences == []
    table = tmp_path / "out" / "rated.csv"
    lines = table.read_text().splitlines()
    lines[7] = lines[7].replace("q", "r", 1)
    table.write_text("\n".join(lines) + "\n")
    assert verify_path(str(tmp_path / "out")).differences == ["rated.csv, line 8 is not what the record gives"]
    (tmp_path / "out" / "record.jsonl").unlink()
    with pytest.raises(InputError, match=r"holds no record\.jsonl"):
        verify_path(str(tmp_path / "out"))


def test_a_store_is_checked_by_itself(campaign, tmp_path):
    shutil.copy(campaign.spec.folder / "c.sqlite", tmp_path / "alone.sqlite")
    assert verify_path(str(tmp_path / "alone.sqlite"), head=campaign.head()).differences == []


# Archives that may not be written


@contextlib.contextmanager
def read_only(folder):
    """File and folder without write permission, and no root who may do anything."""
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)
    above = [p for p in folder.parents if p.stat().st_uid == os.geteuid() and p != p.parent]
    modes = {p: stat.S_IMODE(p.stat().st_mode) for p in above}
    try:
        for p in above:
            p.chmod(modes[p] | 0o055)
        with plain_user():
            yield
    finally:
        for p, mode in modes.items():
            p.chmod(mode)
        folder.chmod(0o755)


def test_a_read_only_archive_is_checked(campaign):
    folder, toml = campaign.spec.folder, campaign.spec.path
    before = sorted((path.name, path.read_bytes()) for path in folder.iterdir())
    with read_only(folder):
        with pytest.raises(PermissionError):
            (folder / "new").touch()
        opened = Campaign.open(toml)
        found = opened.verify()
        status = opened.status()
        page = opened._repr_html_()  # what a notebook shows
    assert found.differences == []
    assert status.spent > 0
    assert f"{status.spent:f}" in page
    assert sorted((path.name, path.read_bytes()) for path in folder.iterdir()) == before


# Backups


@pytest.mark.filterwarnings("ignore:with this goal:ratewise.errors.RatewiseWarning")  # 50 instead of 40 buy little
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_is_a_store_to_go_on_with(tmp_path, kind, request):
    store = "c.sqlite" if kind == "sqlite" else request.getfixturevalue("database")
    campaign = ran(tmp_path / "c", judged(150), store=store, goal='budget = "40"', method="base")
    head = campaign.backup(tmp_path / "c" / "copy.sqlite")
    assert head == campaign.head()
    path = campaign.spec.path
    text = path.read_text().replace(f'store = "{store}"', 'store = "copy.sqlite"')
    path.write_text(text.replace('budget = "40"', 'budget = "50"'))
    copy = Campaign.open(path)
    assert log_of(copy) == log_of(campaign)
    assert copy.verify(head=head).differences == []
    copy.run()
    assert copy.verify(head=head).differences == []
    assert copy.status().spent > 40
    with pytest.raises(InputError, match="there already"):
        campaign.backup(tmp_path / "c" / "copy.sqlite")


def test_a_backup_while_it_runs_is_one_moment(tmp_path):
    """Copying the SQLite file alone would leave out what is in the write-ahead log."""
    path = write(tmp_path, judged(400, spread=0.75), goal='budget = "120"')
    text = path.read_text().replace('kind = "column"\ncolumn = "human"', 'kind = "python"\nfunction = "slow_one:human"')
    path.write_text(text)
    code = "import time\ndef human(item):\n    time.sleep(0.005)\n    return item['human']\n"
    (tmp_path / "slow_one.py").write_text(code)
    campaign = Campaign.open(path)
    campaign.begin()
    thread = threading.Thread(target=lambda: Campaign.open(path).run())
    thread.start()
    heads = []
    while thread.is_alive() and len(heads) < 4:
        heads.append(campaign.backup(tmp_path / f"copy{len(heads)}.sqlite"))
    thread.join()
    assert len(heads) == 4
    for number, head in enumerate(heads):
        assert verify_path(str(tmp_path / f"copy{number}.sqlite"), head=head).differences == []
        assert campaign.verify(head=head).differences == []


DEEP = "[" * 100_000


def test_a_line_that_is_nested_too_deeply_is_told(campaign, tmp_path):
    campaign.export_record(tmp_path / "record.jsonl")
    lines = (tmp_path / "record.jsonl").read_text().splitlines()
    (tmp_path / "record.jsonl").write_text("\n".join([*lines, DEEP]) + "\n")
    with pytest.raises(InputError, match=r"record\.jsonl is no whole record"):
        verify_path(str(tmp_path / "record.jsonl"))
    tamper(campaign, f"UPDATE chain SET body = '{DEEP}' WHERE number = 5")
    assert any("entry 5 of the record" in line for line in campaign.verify().differences)
    assert any(
        "entry 5 of the record" in line for line in verify_path(str(campaign.spec.folder / "c.sqlite")).differences
    )


# Rescues


def test_what_a_damaged_file_still_holds_is_saved(campaign, tmp_path):
    """Pages are overwritten one after the other: nothing is lost that another page still has."""
    source = campaign.spec.folder / "c.sqlite"
    Campaign.open(campaign.spec.path).status()
    with closing(sqlite3.connect(source)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    whole, right = source.read_bytes(), log_of(campaign)
    pages = len(whole) // size
    complete = 0
    for page in random.Random(5).sample(range(1, pages), 12):
        source.write_bytes(whole[: page * size] + b"\x99" * size + whole[(page + 1) * size :])
        output = tmp_path / f"rescued{page}.sqlite"
        try:
            found = rescue(str(campaign.spec.path), str(output))
        except StoreError:
            continue
        assert found.saved["items"] == 300  # from the table, if need be
        if not found.missing:
            complete += 1
            saved = verify_path(str(output))
            assert saved.differences == [], page
            assert saved.ratings == len(right["ratings"])
            assert saved.payments == sum(row[0] == "settle" for row in right["ledger"])
    assert complete >= 9


def test_a_damaged_page_is_told_in_a_line_and_leaves_no_traceback(campaign, caplog):
    source = campaign.spec.folder / "c.sqlite"
    with closing(sqlite3.connect(source)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    whole, told = source.read_bytes(), 0
    for page in range(48, len(whole) // 4096, 5):
        source.write_bytes(whole[: page * 4096] + b"\x99" * 4096 + whole[(page + 1) * 4096 :])
        with contextlib.suppress(StoreError):  # of an index that is needed to read
            told += bool(verify_path(str(source)).differences)
    assert told >= 5
    assert caplog.text == ""


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: bytes(100) + whole[100:], lambda whole: whole[100:], lambda whole: whole[:-4096],
        lambda whole: whole[:-2000],
    ],
    ids=["header overwritten", "header gone", "last page gone", "half a page gone"],
)  # fmt: skip
def test_a_file_without_its_header_or_end_is_saved_whole(campaign, tmp_path, damage):
    """The record holds what the pages held, or they hold what the record does."""
    source, output = campaign.spec.folder / "c.sqlite", tmp_path / "rescued.sqlite"
    ended = campaign.status().spent
    with closing(sqlite3.connect(source)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA journal_mode = DELETE")
    source.write_bytes(damage(source.read_bytes()))
    found = rescue(str(campaign.spec.path), str(output))
    assert found.missing == []
    assert verify_path(str(output)).differences == []
    shutil.copy(output, source)
    assert Campaign.open(campaign.spec.path).run(after_restore=True).spent == ended  # a new record has another head


def test_items_that_a_page_of_another_table_stands_for_come_from_the_table(campaign, tmp_path):
    """The database finds no fault with such a page."""
    tamper(campaign, "DELETE FROM items")
    found = rescue(str(campaign.spec.path), str(tmp_path / "out.sqlite"))
    assert (found.saved["items"], found.missing) == (300, [])


def test_what_is_missing_is_told(campaign, tmp_path):
    tamper(
        campaign, "DELETE FROM chain", "DELETE FROM items WHERE position >= 290", "DELETE FROM ratings WHERE step = 1"
    )
    found = rescue(str(campaign.spec.folder / "c.sqlite"), str(tmp_path / "out.sqlite"))
    assert not found.whole
    assert "missing: 10 of 300 items" in found.summary()
    assert "questions that were drawn" in found.summary()
    assert "all of it is gone, and what it held" in found.summary()
    assert "a new record begins" in found.summary()


def facts(path):
    """Facts and sums of a store, without those that pass."""
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("SELECT key, value FROM meta WHERE key NOT IN ('version', 'leader')")
        return dict(rows.fetchall()), connection.execute("SELECT reserved, spent, cap FROM totals").fetchall()


@pytest.mark.filterwarnings("ignore::ratewise.errors.RatewiseWarning")
def test_a_record_that_breaks_in_the_middle_is_no_reason_to_go_back(tmp_path):
    """Its first part is older than the tables: the budget that was raised since, and its end, stay as they are."""
    for budget in (20, 24):
        path = write(tmp_path / "c", judged(60), goal=f'budget = "{budget}"')
        campaign = Campaign.open(path)
        campaign.run()
    source, entries = tmp_path / "c" / "c.sqlite", campaign.verify().entries
    right = facts(source)
    assert "goal changed" in right[0]
    tamper(campaign, "UPDATE chain SET body = body || ' ' WHERE number = 5")
    found = rescue(str(source), str(tmp_path / "out.sqlite"))
    assert found.missing == []
    assert f"the record was damaged: entries 5 to {entries} cannot be used" in found.summary()
    assert facts(tmp_path / "out.sqlite") == right
    assert verify_path(str(tmp_path / "out.sqlite")).differences == []
    tamper(campaign, "DELETE FROM ratings WHERE position < 20", "DELETE FROM meta WHERE key = 'ended'")
    again = rescue(str(source), str(tmp_path / "more.sqlite"))
    assert any("answers that were paid for" in line or "ratings that were paid for" in line for line in again.missing)
    assert facts(tmp_path / "more.sqlite")[1] == right[1]


def test_a_record_that_cannot_be_played_is_told(campaign, tmp_path):
    tamper(campaign, "DELETE FROM chain WHERE number > 3")
    with closing(sqlite3.connect(campaign.spec.folder / "c.sqlite")) as connection, connection:
        (before,) = connection.execute("SELECT digest FROM chain WHERE number = 3").fetchone()
        body = '[["+", "nowhere", [], []]]'
        connection.execute("INSERT INTO chain VALUES (4, ?, ?)", (body, digest_of(before, 4, body)))
    found = rescue(str(campaign.spec.folder / "c.sqlite"), str(tmp_path / "out.sqlite"))
    assert not found.whole
    assert "entries 1 to 4 cannot be used" in found.summary()
    assert found.saved["ratings"] > 300


def unsaved(campaign, name=None):
    """Answers to the first two items' questions that could not be written, and those items' ids."""
    file = Unsaved(campaign.spec.folder / "c.unsaved.jsonl", name or campaign.status().campaign)
    ids = [item[1] for item in log_of(campaign)["items"][:2]]
    claims = [Claim(p, 1, 1, ids[p], "", None) for p in (0, 1)]
    assert file.keep([Outcome(claim, 1_000_000_000, 1.0, "late") for claim in claims])
    return file.path, ids


@pytest.fixture
def waiting(tmp_path):
    """A campaign that waits for people."""
    path = write(tmp_path, judged(60), goal='budget = "20"')
    path.write_text(path.read_text().replace('kind = "column"\ncolumn = "human"', 'kind = "people"'))
    campaign = Campaign.open(path)
    campaign.run(wait=False)
    assert campaign.status().pending > 2
    return campaign


def test_unsaved_answers_go_into_the_new_store(waiting, tmp_path):
    unsaved(waiting)
    found = rescue(str(waiting.spec.path), str(tmp_path / "out.sqlite"))
    assert found.answers == 2
    assert found.missing == []
    assert verify_path(str(tmp_path / "out.sqlite")).differences == []
    with closing(sqlite3.connect(tmp_path / "out.sqlite")) as connection:
        assert connection.execute("SELECT count(*) FROM ratings WHERE note = 'late'").fetchone() == (2,)


def test_unsaved_answers_of_another_campaign_stay_out(waiting, tmp_path):
    unsaved(waiting, "0123456789abcdef")
    found = rescue(str(waiting.spec.path), str(tmp_path / "out.sqlite"))
    assert (found.answers, found.missing) == (0, [])


@pytest.mark.parametrize("edits", [(), ("DELETE FROM chain",)], ids=["whole record", "no record"])
def test_a_rescued_store_keeps_its_id_and_its_cap(campaign, tmp_path, edits):
    """Its questions keep their keys, and nobody spends more than before."""
    if edits:
        tamper(campaign, *edits)
    output = tmp_path / "out.sqlite"
    rescue(str(campaign.spec.folder / "c.sqlite"), str(output))
    with closing(sqlite3.connect(output)) as connection:
        assert connection.execute("SELECT value FROM meta WHERE key = 'campaign'").fetchone() == (
            campaign.status().campaign,
        )
        assert connection.execute("SELECT cap FROM totals").fetchall() == [(60_000_000_000,)]
    assert verify_path(str(output)).differences == []


@pytest.mark.parametrize("edits", [(), ("DELETE FROM chain",)], ids=["whole record", "no record"])
def test_a_rescued_store_keeps_links_and_what_people_were_given(waiting, tmp_path, edits):
    with waiting.labelling() as desk:
        link = Accounts(desk.store).add("ann", admin=True)
        key = desk.next("ann").key
    if edits:
        tamper(waiting, *edits)
    rescue(str(waiting.spec.folder / "c.sqlite"), str(tmp_path / "out.sqlite"))
    for path in waiting.spec.folder.glob("c.sqlite*"):
        path.unlink()
    shutil.copy(tmp_path / "out.sqlite", waiting.spec.folder / "c.sqlite")
    with waiting.labelling() as desk:
        assert Accounts(desk.store).sign_in(link) is not None
        assert desk.answer("ann", key, 1) == "new"
    assert waiting.verify().differences == []


def test_unsaved_answers_without_a_store_become_a_recording(campaign, tmp_path):
    file, ids = unsaved(campaign)
    for path in campaign.spec.folder.glob("c.sqlite*"):
        path.unlink()
    with pytest.raises(InputError, match=r"only answers can be saved; name a file such as out\.jsonl"):
        rescue(str(campaign.spec.path), str(tmp_path / "out.sqlite"))
    for source, name in ((campaign.spec.path, "a.jsonl"), (file, "b.jsonl")):
        found = rescue(str(source), str(tmp_path / name))
        assert found.answers == 2
        assert "missing: the store" in found.summary()
        rows = [json.loads(line) for line in (tmp_path / name).read_text().splitlines()]
        assert [(row["id"], row["rating"], row["price"]) for row in rows] == [(name, 1.0, "1") for name in ids]


def test_what_is_there_is_never_written_over(campaign, tmp_path):
    for output in (campaign.spec.folder / "c.sqlite", campaign.spec.folder / "items.csv"):
        with pytest.raises(InputError, match="there already"):
            rescue(str(campaign.spec.path), str(output))
    (tmp_path / "text.sqlite").write_text("no database at all, but long enough to be looked at " * 20)
    with pytest.raises(StoreError, match="nothing can be read"):
        rescue(str(tmp_path / "text.sqlite"), str(tmp_path / "out.sqlite"))
