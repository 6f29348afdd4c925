"""Where a store is, and its errors in one line that says what to do."""

import sqlite3

import pytest
from sqlalchemy import exc

from ratewise.errors import InputError, StoreError
from ratewise.store.connection import damaged, told
from ratewise.store.postgresql import PostgreSQL
from ratewise.store.sqlite import SQLite
from ratewise.store.store import Store


def test_the_form_of_the_store_decides(tmp_path):
    assert isinstance(Store.at("c.sqlite", str(tmp_path), "c").database, SQLite)
    made = Store.at("postgres://me:secret@there/base", str(tmp_path), "My campaign").database
    assert isinstance(made, PostgreSQL)
    assert "secret" not in made.shown
    with pytest.raises(InputError, match="mysql:// is not known"):
        Store.at("mysql://there/base", str(tmp_path), "c")


def coded(reason, code):
    """As SQLite raises it: with its code, details included, where the error is SQLite's own."""
    error = sqlite3.OperationalError(reason)
    if code is not None:
        error.sqlite_errorcode = code
    return error


@pytest.mark.parametrize(
    ("reason", "code", "words", "may_pass"),
    [
        ("file is not a database", sqlite3.SQLITE_NOTADB, "is damaged", False),
        ("attempt to write a readonly database", sqlite3.SQLITE_READONLY_DBMOVED, "cannot be written", False),
        ("unable to open database file", sqlite3.SQLITE_CANTOPEN_ISDIR, "cannot be opened", True),
        ("database or disk is full", sqlite3.SQLITE_FULL, "run again to go on", True),
        ("no such table: x", sqlite3.SQLITE_ERROR, "failed", False),
        ("Could not decode to UTF-8 column 'note'", None, "is damaged", False),
    ],
)
def test_errors_are_translated(reason, code, words, may_pass):
    with pytest.raises(StoreError, match=words) as caught, told("c.sqlite"):
        raise coded(reason, code)
    assert caught.value.may_pass is may_pass
    assert str(caught.value).startswith("c.sqlite")
    assert "\n" not in str(caught.value)


def test_errors_of_sqlalchemy_too_and_others_pass_through():
    with pytest.raises(StoreError, match=r"failed .*locked") as caught, told("c.sqlite"):
        raise exc.OperationalError("SELECT", {}, coded("database is locked", sqlite3.SQLITE_BUSY))
    assert caught.value.may_pass
    with pytest.raises(KeyError), told("c.sqlite"):
        raise KeyError
    assert "restore it from a backup" in str(damaged("c.sqlite", "torn"))
