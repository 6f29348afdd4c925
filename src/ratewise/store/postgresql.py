"""PostgreSQL: a schema for each campaign, any number of processes.

Leading is a lease: a process that plans shows a sign of life, and one that is silent is replaced. The lock of the one
that plans dies with its connection, but a process that is frozen, or a machine that is lost behind a half-open
connection, keeps both. So the leader writes the server's time into the store every few seconds, from a thread of its
own: long computations do not stop it, a frozen process does. Who finds it silent for too long ends all its connections,
and with them its locks. One that wakes up finds that it does not lead any more.
"""

import os
import re
import socket
import threading
import uuid
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from ratewise.errors import InputError
from ratewise.store.connection import Database

LEASE = 30.0  # seconds of silence after which another process may lead
_FACT = "leading"  # "seconds since 1970 by the server's clock|name of the connections"
_NOW = "extract(epoch FROM clock_timestamp())::float8"


_LEADER, _CREATOR = 0, -1  # numbers of locks; those of workers start from 1
_SILENT = LEASE / 2  # seconds without a sign of life after which it is told
# A machine that is lost is noticed by both sides within a minute, and a transaction that nobody goes on with is ended.
# Keepalives find a dead line only while nothing is on its way; tcp_user_timeout is for what was sent and not received.
_CONNECTION = {
    "keepalives_idle": 20, "keepalives_interval": 5, "keepalives_count": 4,
    "tcp_user_timeout": 40_000, "connect_timeout": 10,
}  # fmt: skip
_SESSION = {
    "tcp_keepalives_idle": 20, "tcp_keepalives_interval": 5, "tcp_keepalives_count": 4, "tcp_user_timeout": 40_000,
    "idle_in_transaction_session_timeout": 60_000,
}  # fmt: skip


class PostgreSQL(Database):
    """A schema named after the campaign; processes are alive as long as their advisory locks are."""

    shared = True
    lease = LEASE

    def __init__(self, url: str, name: str) -> None:
        try:
            address = sa.make_url(url)
        except (exc.ArgumentError, ValueError):  # their words would show the password
            raise InputError(
                "the address of the store cannot be read; write postgresql://user@host:5432/database"
            ) from None
        self.schema = "ratewise_" + re.sub(r"[^a-z0-9_]", "_", name.lower())
        self.shown = f"{(address.host or 'localhost').rpartition('@')[2]}/{address.database}"
        settings = {name: value for name, value in _CONNECTION.items() if name not in address.query}
        try:
            self.engine = sa.create_engine(address, pool_pre_ping=True, connect_args=settings)
        except ModuleNotFoundError:
            raise InputError(
                "a PostgreSQL store needs psycopg; install it with: pip install 'ratewise[postgres]'"
            ) from None
        sa.event.listen(self.engine, "connect", self._on_connect)
        self._class = zlib.crc32(self.schema.encode()) - 2**31  # advisory locks are named by two 32-bit numbers
        self._own: sa.Connection | None = None
        self._worker: int | None = None
        self._leads = False
        # names all connections of this process, so that they can be ended together; PostgreSQL cuts at 63 signs
        self._name = f"rw {uuid.uuid4().hex[:8]} {os.getpid()} {socket.gethostname()}"[:63]
        self._beating: threading.Event | None = None  # set when this process leads no more

    def _on_connect(self, connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f'SET search_path TO "{self.schema}"')
            cursor.execute("SELECT set_config('application_name', %s, false)", (self._name,))
            for setting, value in _SESSION.items():
                cursor.execute(f"SET {setting} = {value}")
        connection.commit()

    def exists(self) -> bool:
        with self.engine.connect() as connection:
            return sa.inspect(connection).has_schema(self.schema)

    @contextmanager
    def creating(self) -> Iterator[sa.Connection]:
        with self.engine.begin() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(self._class, _CREATOR)))
            connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
            yield connection

    def load(self, connection: sa.Connection, table: sa.Table, rows: Iterable[Sequence[Any]]) -> None:
        driver = connection.connection.driver_connection
        assert driver is not None
        with driver.cursor() as cursor, cursor.copy(f"COPY {table.name} FROM STDIN") as copy:
            for row in rows:
                copy.write_row(row)

    def join(self) -> None:
        """Open the connection that holds this process's locks."""
        self._open()

    def _open(self) -> sa.Connection:
        """The connection that holds this process's locks; opened again, with them, where the server was gone."""
        if self._own is None:
            self._own = self.engine.connect().execution_options(isolation_level="AUTOCOMMIT")
            if self._worker is not None:
                self._try_lock(self._worker)
        return self._own

    def hold(self, worker: int) -> None:
        self._worker = worker
        self._try_lock(worker)

    def lead(self) -> bool:
        """Asks the server each time: locks are lost with the connection, and another may lead by then."""
        self._leads = self._leads and self._ask(sa.select(sa.true()))
        self._leads = self._leads or self._try_lock(_LEADER)
        if not self._leads and self._end_silent():
            self._leads = self._try_lock(_LEADER)
        if self._leads and self._beating is None:
            self._beating = threading.Event()
            with suppress(exc.ProgrammingError):  # before the tables are there
                self._beat(first=True)
            threading.Thread(target=self._beat_on, args=(self._beating,), name="ratewise-leader", daemon=True).start()
        return self._leads

    def _beat_on(self, stop: threading.Event) -> None:
        while not stop.wait(LEASE / 6):
            with suppress(exc.SQLAlchemyError):  # a server that restarts; the next one may be heard
                self._beat()

    def _beat(self, *, first: bool = False) -> None:
        """Show a sign of life; after the first, only while nobody else has taken over."""
        mine = "" if first else " WHERE split_part(meta.value, '|', 2) = :name"
        write = sa.text(
            f"INSERT INTO meta (key, value) VALUES ('{_FACT}', {_NOW}::text || '|' || :name) "
            f"ON CONFLICT (key) DO UPDATE SET value = excluded.value{mine}"
        )
        with self.engine.begin() as connection:
            connection.execute(write, {"name": self._name})

    def _leader(self) -> tuple[str, float] | None:
        """Whose connections lead, and for how many seconds they have been silent; None where nobody has led."""
        read = sa.text(f"SELECT value, {_NOW} FROM meta WHERE key = '{_FACT}'")
        found = None
        with suppress(exc.ProgrammingError), self.engine.connect() as connection:
            found = connection.execute(read).one_or_none()
        if found is None:
            return None
        at, _, name = str(found[0]).partition("|")
        return name, float(found[1]) - float(at)

    def _end_silent(self) -> bool:
        """End the connections of a leader that has been silent for too long; whether there was one."""
        found = self._leader()
        if found is None or found[1] <= self.lease or found[0] == self._name:
            return False
        end = sa.text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name")
        with self.engine.connect() as connection:
            return any(connection.scalars(end, {"name": found[0]}).all())

    def silent_leader(self) -> str | None:
        found = self._leader() if self.running() else None
        if found is None or found[1] < _SILENT:
            return None
        name, silent = found
        _, process, host = [*name.split(" ", 3)[1:], "?", "?"][:3]
        who = f"process {process} on {host}"
        return f"{who} leads and has been silent for {silent:.0f} s; after {LEASE:.0f} s another one takes over"

    def _try_lock(self, number: int) -> bool:
        return self._ask(sa.select(sa.func.pg_try_advisory_lock(self._class, number)))

    def _ask(self, question: sa.Select[Any]) -> bool:
        """Yes or no, from the connection that holds the locks; one that broke has lost them, and is forgotten."""
        try:
            return bool(self._open().scalar(question))
        except exc.DBAPIError:
            self._forget()
            raise

    def _forget(self) -> None:
        self._leads = False
        if self._beating is not None:
            self._beating.set()
            self._beating = None
        if self._own is not None:
            with suppress(exc.SQLAlchemyError):
                self._own.invalidate()  # a pooled connection would keep the locks
                self._own.close()
        self._own = None

    def dead(self, workers: Sequence[int]) -> list[int]:
        held = self._held()
        return [n for n in workers if n != self._worker and n not in held]

    def _held(self) -> set[int]:
        """Locks as the server lists them: taking one to see whether it is free would keep its owner from taking it."""
        chosen = sa.text(
            "SELECT objid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted AND objsubid = 2 AND "
            "classid::bigint = :class AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
        with self.engine.connect() as connection:
            return set(connection.scalars(chosen, {"class": self._class % 2**32}))

    def leave(self) -> None:
        """Give all locks back, at once: the server may be slow to notice that a connection was closed."""
        if self._own is not None:
            with suppress(exc.SQLAlchemyError):
                self._own.execute(sa.select(sa.func.pg_advisory_unlock_all()))
        self._forget()
        self._worker = None
        self.engine.dispose()

    def running(self) -> bool:
        return _LEADER in self._held()
