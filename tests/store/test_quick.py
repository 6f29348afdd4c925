"""Statements for every answer: the same as SQLAlchemy runs them, on either database, and errors in the same words."""

import pytest
import sqlalchemy as sa

from ratewise.errors import StoreError
from ratewise.store import schema as t
from ratewise.store.queries import Quick, insertion
from ratewise.store.store import Store


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    where = "q.sqlite" if request.param == "sqlite" else request.getfixturevalue("database")
    store = Store.at(where, str(tmp_path), "q")
    store.begin({"spec": "{}"}, [(p, f"i{p}", 0.5, None, None, "{}") for p in range(3)])
    yield store
    store.close()


def test_rows_are_read_added_and_changed_with_values_by_name(store):
    lend = insertion(t.leases, ("position", "step", "holder", "until"))
    find = Quick(sa.select(t.leases.c.holder).where(t.leases.c.step == 1, t.leases.c.until > sa.bindparam("at")))
    end = Quick(t.leases.delete().where(t.leases.c.holder == sa.bindparam("person")))
    with store.writing() as connection:
        for position, person in enumerate(("ann", "o'hara; DROP TABLE leases", "100%")):
            lend.run(connection, {"position": position, "step": 1, "holder": person, "until": 5.0 + position})
        assert find.all(connection, {"at": 5.5}) == [("o'hara; DROP TABLE leases",), ("100%",)]
        assert find.first(connection, {"at": 9.0}) is None
        assert find.scalar(connection, {"at": 6.5}) == "100%"
        assert end.change(connection, {"person": "100%"}) == 1
        assert end.change(connection, {"person": "100%"}) == 0


def test_what_the_database_refuses_is_told_in_one_line_and_nothing_is_kept(store):
    lend = insertion(t.leases, ("position", "step", "holder", "until"))
    row = {"position": 0, "step": 1, "holder": "ann", "until": 5.0}

    def twice():
        with store.together(), store.writing() as connection:
            lend.run(connection, row)
            lend.run(connection, row)

    with pytest.raises(StoreError, match="what was saved is kept"):
        twice()
    with store.reading() as connection:
        assert connection.execute(sa.select(t.leases)).all() == []


def test_writes_that_go_together_are_one_entry_of_the_record(store):
    before = int(store.head().split("-")[0])
    with store.together():
        store.note("one")
        store.note("two")
        assert [text for _, text in store.notes()] == ["one", "two"]  # seen by those who write
    assert int(store.head().split("-")[0]) == before + 1
    assert [text for _, text in store.notes()] == ["one", "two"]
