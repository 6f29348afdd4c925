"""The record played again: each kind of change, and what cannot be played is named by its entry."""

import json
import sqlite3
from contextlib import closing

import pytest

from ratewise.store import chain
from ratewise.store.replay import rebuild


def played(path, *changes):
    """A file made of entries with one change each."""
    entries, last = [], chain.START
    for change in changes:
        last = chain.following(last, json.dumps([change]))
        entries.append(last)
    rebuild(path, entries)
    return closing(sqlite3.connect(path))


def test_each_kind_of_change_is_made_again(tmp_path):
    with played(
        tmp_path / "r.sqlite",
        ["items", 100, ["ab"]],
        ["+", "meta", ["key", "value"], [["a", "1"], ["b", "2"], ["c", "3"]]],
        ["=", "meta", ["key"], ["value"], [["4", "b"]]],
        ["-", "meta", ["key"], [["a"]]],
        ["moved", 7, 0],
        ["moved", -3, 3],
        ["=", "totals", ["only"], ["cap"], [[90, 1]]],
    ) as connection:
        facts = connection.execute("SELECT key, value FROM meta WHERE key <> 'version' ORDER BY key").fetchall()
        assert facts == [("b", "4"), ("c", "3")]
        assert connection.execute("SELECT reserved, spent, cap FROM totals").fetchall() == [(4, 3, 90)]


@pytest.mark.parametrize("change", [
    ["=", "meta", ["key"], ["value"], [["4", "nobody"]]], ["+", "meta", ["key"], [["no value"]]], ["moved", 1],
    ["+", "nothing", ["key"], [["x"]]], ["+", "meta", ["other"], [["x"]]], ["turned", 1],
])  # fmt: skip
def test_an_entry_that_cannot_be_played_is_named(tmp_path, change):
    with pytest.raises(ValueError, match="entry 2 of the record cannot be played again"):
        played(tmp_path / "r.sqlite", ["moved", 1, 1], change)
