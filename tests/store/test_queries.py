"""Statements: the same on either database, values of every kind, and errors in the same words as SQLAlchemy's."""

import pytest
import sqlalchemy as sa

from ratewise.errors import StoreError
from ratewise.store import queries as q
from ratewise.store import schema as t
from ratewise.store.store import Store

LEND = q.insertion("leases", ("position", "step", "holder", "until"))


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    where = "q.sqlite" if request.param == "sqlite" else request.getfixturevalue("database")
    store = Store.at(where, str(tmp_path), "q")
    store.begin({"spec": "{}"}, [(p, f"i{p}", 0.5, None, None, "{}") for p in range(3)])
    yield store
    store.close()


def test_rows_are_read_added_and_changed_with_values_by_name(store):
    find = q.Query("SELECT holder FROM leases WHERE step = 1 AND until > :at ORDER BY position")
    end = q.deletion("leases", ("holder",))
    with store.writing() as connection:
        for position, person in enumerate(("ann", "o'hara; DROP TABLE leases", "100%")):
            row = {"position": position, "step": 1, "holder": person, "until": 5.0 + position}
            LEND.many(connection, [row])
        assert find.all(connection, at=5.5) == [("o'hara; DROP TABLE leases",), ("100%",)]
        assert find.first(connection, at=9.0) is None
        assert find.scalar(connection, at=6.5) == "100%"
        assert end.change(connection, holder="100%") == 1
        assert end.change(connection, holder="100%") == 0


@pytest.mark.parametrize(("names", "right"), [(["b", "100%"], [1, 2]), (["a"], [0]), ([], [])])
def test_a_list_may_have_any_length(store, names, right):
    find = q.Query("SELECT position FROM leases WHERE holder IN :names ORDER BY position")
    by_number = q.Query("SELECT position FROM leases WHERE position IN :numbers ORDER BY position")
    rows = [{"position": p, "step": 1, "holder": name, "until": 5.0} for p, name in enumerate(("a", "b", "100%"))]
    with store.writing() as connection:
        LEND.many(connection, rows)
        assert find.column(connection, names=names) == right
        assert by_number.column(connection, numbers=right) == right


def test_what_the_database_refuses_is_told_in_one_line_and_nothing_is_kept(store):
    row = {"position": 0, "step": 1, "holder": "ann", "until": 5.0}

    def twice():
        with store.writing() as connection:
            LEND.many(connection, [row])
            LEND.many(connection, [row])

    with pytest.raises(StoreError, match="what was saved is kept"):
        twice()
    with store.reading() as connection:
        assert connection.execute(sa.select(t.leases)).all() == []


def test_writes_that_go_together_are_one_entry_of_the_record(store):
    before = int(store.head().split("-")[0])
    with store.writing():
        store.note("one")
        store.note("two")
        assert [text for _, text in store.notes()] == ["one", "two"]  # seen by those who write
    assert int(store.head().split("-")[0]) == before + 1
    assert [text for _, text in store.notes()] == ["one", "two"]


def test_sums_are_exact_beyond_64_bits(store):
    most = 9 * 10**18
    row = {"kind": "settle", "position": 0, "step": 1, "attempt": 1, "amount": most, "at": ""}
    with store.writing() as connection:
        q.insertion("ledger", tuple(row)).many(connection, [row, row, row | {"kind": "undo"}])
    assert store.ledger_sums() == {"settle": 2 * most, "undo": most}
    assert store.settled_before(1) == most
