"""Two stores side by side: the cell that differs is named, and rows that are missing or too many."""

import sqlite3
from contextlib import closing, contextmanager

import pytest
import sqlalchemy as sa

from ratewise.store.replay import differences, new_store

ROWS = (
    "INSERT INTO meta VALUES ('a', '1'), ('b', '2')",
    "INSERT INTO events (at, text) VALUES ('', 'one'), ('', 'two')",
    "UPDATE totals SET reserved = 3, cap = 60",
)


@contextmanager
def made(path, *statements):
    with new_store(path):
        pass
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in (*ROWS, *statements):
            connection.execute(statement)
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        yield connection
    engine.dispose()


@pytest.mark.parametrize(("edit", "told"), [
    ("UPDATE meta SET value = '9' WHERE key = 'b'", "meta, key 'b': value is '9'; the record has '2'"),
    ("DELETE FROM meta WHERE key = 'a'", "meta, key 'a' is missing; the record has it"),
    ("INSERT INTO meta VALUES ('c', '3')", "meta, key 'c' is not in the record"),
    ("UPDATE events SET text = 'no' WHERE id = 2", "events, row 2: text is 'no'; the record has 'two'"),
    ("DELETE FROM events WHERE id = 2", "events, row 2 and what follows it is missing; the record has it"),
    ("INSERT INTO events (at, text) VALUES ('', 'x')", "events, row 3 is not in the record"),
    ("UPDATE totals SET cap = NULL", "totals, only 1: cap is None; the record has 60"),
    ("UPDATE totals SET cap = 1e999", "totals, only 1: cap is no finite number; the record has 60"),
    ("UPDATE totals SET reserved = 4", "totals, only 1: reserved is 4; the record has 3"),
])  # fmt: skip
def test_what_differs_is_named(tmp_path, edit, told):
    with made(tmp_path / "found.sqlite", edit) as found, made(tmp_path / "right.sqlite") as right:
        assert list(differences(found, right)) == [told]


@pytest.mark.parametrize("edit", [
    "INSERT INTO meta VALUES ('leader', 'process 7'), ('leading', '5|me')", "UPDATE events SET id = id + 10",
    "INSERT INTO leases VALUES (0, 1, 'ann', 5)",
])  # fmt: skip
def test_what_comes_and_goes_is_no_difference(tmp_path, edit):
    with made(tmp_path / "found.sqlite", edit) as found, made(tmp_path / "right.sqlite") as right:
        assert list(differences(found, right)) == []


def test_long_texts_are_shown_where_they_part(tmp_path):
    long = "x" * 500
    edits = [f"UPDATE meta SET value = '{long}{end}' WHERE key = 'a'" for end in ("here", "there")]
    with made(tmp_path / "found.sqlite", edits[0]) as found, made(tmp_path / "right.sqlite", edits[1]) as right:
        (told,) = differences(found, right)
    assert "here'; the record has" in told
    assert "there'" in told
    assert len(told) < 200
