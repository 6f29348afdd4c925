"""A database with a campaign's tables in it: transactions, facts and notes. Each method is one transaction."""

import json
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Self

import sqlalchemy as sa

from ratewise.errors import InputError, RatewiseError
from ratewise.store import chain
from ratewise.store import schema as t
from ratewise.store import statements as sql
from ratewise.store.connection import Database, connect, damaged, told
from ratewise.store.records import TEXTS, now

_LONGEST_NOTE = 2000


class Log:
    """A campaign's tables in SQLite or PostgreSQL, and what is common to all that is done with them."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self._write = database.engine.execution_options(writes=True)
        self._read = database.engine
        self._moment: sa.Connection | None = None
        self._shared = threading.local()  # a transaction that several writes of this thread go into

    @classmethod
    def at(cls, store: str, folder: str, name: str) -> Self:
        """The log by the form of `store`: a file beside the TOML, or postgresql://…"""
        return cls(connect(store, folder, name))

    @contextmanager
    def writing(self) -> Iterator[sa.Connection]:
        """One transaction that writes; what it changes is one entry of the record."""
        shared: sa.Connection | None = getattr(self._shared, "connection", None)
        if shared is not None:
            yield shared
            return
        self.database.check_present()
        with told(self.database.shown), self._write.begin() as connection:
            chain.start(connection)
            yield connection
            chain.seal(connection)

    @contextmanager
    def reading(self) -> Iterator[sa.Connection]:
        """One consistent look."""
        shared: sa.Connection | None = getattr(self._shared, "connection", None)
        if shared is not None:
            yield shared
            return
        if self._moment is not None:
            with told(self.database.shown):
                yield self._moment
            return
        with told(self.database.shown), self._read.begin() as connection:
            yield connection

    @contextmanager
    def together(self) -> Iterator[None]:
        """Everything that this thread reads and writes inside is one transaction, and one entry of the record."""
        with self.writing() as connection, self._sharing(connection):
            yield

    @contextmanager
    def glancing(self) -> Iterator[None]:
        """Everything that this thread reads inside is read in one look."""
        with self.reading() as connection, self._sharing(connection):
            yield

    @contextmanager
    def _sharing(self, connection: sa.Connection) -> Iterator[None]:
        self._shared.connection = connection
        try:
            yield
        finally:
            self._shared.connection = None

    @contextmanager
    def still(self) -> Iterator[None]:
        """Hold one moment: everything read inside is of it, whatever others write meanwhile."""
        level = {"isolation_level": "REPEATABLE READ"} if self.database.shared else {}
        with told(self.database.shown), self._read.execution_options(**level).begin() as connection:
            if self.database.shared:  # a look may take its time; what writes may not
                connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
            self._moment = connection
            try:
                yield
            finally:
                self._moment = None

    def exists(self) -> bool:
        """Whether the campaign has begun."""
        with told(self.database.shown):
            if not self.database.exists():
                return False
            with self._read.begin() as connection:
                if t.is_foreign(connection):
                    raise InputError(
                        f"{self.database.shown} is a database, but no campaign of ratewise; nothing was changed: name "
                        "another file as the store"
                    )
                return t.version_of(connection) > 0 and connection.scalar(sql.meta("spec")) is not None

    def close(self) -> None:
        """Give locks and connections back."""
        self.database.leave()

    # Beginning

    def begin(self, meta: dict[str, str], rows: Iterable[Sequence[Any]], *, paid: int = 0) -> None:
        """Make the tables and load the items, all or nothing; does nothing where another process was first.

        `paid` is what the texts' embeddings have cost: the first entry of the ledger.
        """
        with told(self.database.shown), self.database.creating() as connection:
            t.migrate(connection)
            if connection.scalar(sql.meta("spec")) is None:
                chain.start(connection)
                self.database.load(connection, t.items, rows)  # in any order
                chain.add(connection, ["items", chain.ITEMS_EACH, chain.item_digests(connection)])
                facts = {"campaign": t.new_campaign_id(), **meta}
                chain.insert(connection, t.meta, [{"key": key, "value": value} for key, value in facts.items()])
                if paid:
                    chain.insert(connection, t.ledger, [{"kind": TEXTS, "amount": paid, "at": now()}])
                    sql.move(connection, 0, paid)
                chain.seal(connection)

    def upgrade(self) -> None:
        """Bring a campaign of an older version to this one."""
        with self.reading() as connection:
            current = t.version_of(connection) == t.VERSION
        if not current:
            with told(self.database.shown), self.database.creating() as connection:
                t.migrate(connection)

    def meta(self, key: str) -> str | None:
        """A fact about the campaign."""
        with self.reading() as connection:
            found: str | None = connection.scalar(sql.meta(key))
        return found

    def set_meta(self, key: str, value: str | None) -> None:
        """Change a fact; `None` forgets it."""
        with self.writing() as connection:
            sql.set_meta(connection, key, value)

    def note(self, text: str) -> None:
        """Add a note for users."""
        with self.writing() as connection:
            chain.insert(connection, t.events, [{"at": now(), "text": text[:_LONGEST_NOTE]}])

    def notes(self) -> list[tuple[str, str]]:
        """(when, what), in order."""
        with self.reading() as connection:
            rows = connection.execute(sa.select(t.events.c.at, t.events.c.text).order_by(t.events.c.id)).all()
        return [(at, text) for at, text in rows]

    def head(self) -> str:
        """Digest of everything written so far."""
        with self.reading() as connection:
            return chain.last(connection).head

    @contextmanager
    def sound(self) -> Iterator[None]:
        """Check an unexpected error against the file: if it is damaged, say that instead."""
        try:
            yield
        except RatewiseError:
            raise
        except Exception as error:
            found = self.damage() or [str(error)] * isinstance(error, json.JSONDecodeError)
            if found:
                raise damaged(self.database.shown, found[0]) from error
            raise

    def damage(self) -> list[str]:
        """What the database finds wrong with its own files."""
        with told(self.database.shown):
            return self.database.damage()
