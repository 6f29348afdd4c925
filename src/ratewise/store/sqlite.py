"""SQLite: one file, one process that plans, any number that look, claim and answer."""

import json
import os
import socket
import sqlite3
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import cache
from itertools import count
from typing import Any

import psutil  # type: ignore[import-untyped]
import sqlalchemy as sa
from sqlalchemy.util import LRUCache

from ratewise.errors import StoreError
from ratewise.store.connection import Database

LEADER = "leader"  # the fact that names it


def this_process() -> str:
    """Machine, number and start of this process: numbers are used again, but not at the same moment."""
    return json.dumps([socket.gethostname(), os.getpid(), psutil.Process().create_time()])


def is_alive(described: str | None) -> bool:
    """Whether the process still runs; one of another machine, or this one itself, does not count."""
    with suppress(ValueError, TypeError, psutil.Error):
        host, number, started = json.loads(described or "null")
        if host == socket.gethostname() and number != os.getpid():
            process = psutil.Process(number)
            return bool(process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - started) < 1.0)
    return False


_BUSY_MILLISECONDS = 30_000
_PROBE_SECONDS = 0.25  # one who looks whether the lock is free has it for a moment
_STATEMENTS = 500  # that are kept in the form the database takes


@cache
def sqlite_dialect() -> tuple[sa.Dialect, MutableMapping[Any, Any]]:
    """One for all files: a process compiles a statement once, and not anew for every look at a campaign."""
    engine = sa.create_engine("sqlite://")
    with engine.connect():  # what a dialect learns from its first connection is the same for every file
        return engine.dialect, LRUCache(_STATEMENTS)


class SQLite(Database):
    """One file, in write-ahead mode, synced to the disk at every commit."""

    shared = False

    def __init__(self, path: str) -> None:
        self.named, self.shown = path, os.path.basename(path)
        self.path = os.path.realpath(path)  # one lock, whatever links lead to the file
        self.engine = sa.create_engine(sa.URL.create("sqlite", database=self.path))
        self.engine.dialect, compiled = sqlite_dialect()
        self.engine.update_execution_options(compiled_cache=compiled)
        self._lock: sqlite3.Connection | None = None  # of the process that plans
        self._alive: sqlite3.Connection | None = None  # of one that only claims and answers
        self._worker = 0
        self._file: tuple[int, int] | None = None  # device and number of the file that is open
        self._open: list[Any] = []  # driver's connections to it, for a copy in need
        sa.event.listen(self.engine, "connect", self._on_connect)
        sa.event.listen(self.engine, "begin", self._on_begin)

    def _on_connect(self, connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        for pragma in (f"busy_timeout = {_BUSY_MILLISECONDS}", "journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {pragma}")
        if self._file is None:
            self._file = _identity(self.named)
        if self._file == _identity(self.named):
            self._open.append(connection)

    def check_present(self) -> None:
        """The file that is written is still the one at its path: deleted or replaced, it takes everything with it."""
        if self._file is None or _identity(self.named) == self._file:
            return
        saved = self._rescue()
        told = f"what was known is saved in {saved}: move it to {self.shown}" if saved else f"restore {self.shown}"
        raise StoreError(
            f"{self.shown} was deleted or replaced while the campaign ran, so nothing more is asked; {told} and run "
            "again"
        )

    def _rescue(self) -> str | None:
        """A copy of the file as the open connections still see it; None where there is none, or no room."""
        names = (f"{self.path}.rescued" + (f"-{number}" if number else "") for number in count())
        name = next(name for name in names if not os.path.exists(name))
        for connection in self._open:
            with suppress(sqlite3.Error, OSError), closing(sqlite3.connect(name)) as copy:
                connection.backup(copy)
                return os.path.basename(name)
        return None

    @staticmethod
    def _on_begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    def exists(self) -> bool:
        return os.path.exists(self.path)

    @contextmanager
    def creating(self) -> Iterator[sa.Connection]:
        with self.engine.execution_options(writes=True).begin() as connection:
            yield connection

    def load(self, connection: sa.Connection, table: sa.Table, rows: Iterable[Sequence[Any]]) -> None:
        marks = ", ".join("?" * len(table.columns))
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)

    def join(self) -> None:
        """An exclusive lock on a file beside, which the system takes back when the process dies."""
        if self._lock is None:
            self._lock = _locked(self.path + ".lock", patience=_PROBE_SECONDS)
        if self._lock is None:
            raise StoreError(
                f"another process is running the campaign in {self.shown}; wait for it, or look with `ratewise status` "
                "(several at once need a PostgreSQL store)"
            )

    def hold(self, worker: int) -> None:
        """Lock as a worker: one that does not plan has a lock of its own; the planner's lock is enough for it."""
        if self._lock is None and self._alive is None:
            self._worker, self._alive = worker, _locked(self._of(worker))

    def lead(self) -> bool:
        return self._lock is not None

    def dead(self, workers: Sequence[int]) -> list[int]:
        gone = [worker for worker in workers if not _is_held(self._of(worker))]
        for worker in gone:
            self._forget(worker)
        return gone

    def _of(self, worker: int) -> str:
        return f"{self.path}.{worker}.lock"

    def _forget(self, worker: int) -> None:
        with suppress(OSError):
            os.remove(self._of(worker))

    def leave(self) -> None:
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        if self._alive is not None:
            self._alive.close()
            self._alive = None
            self._forget(self._worker)
        self._open.clear()
        self.engine.dispose()

    def running(self) -> bool:
        return self._lock is not None or _is_held(self.path + ".lock")

    def damage(self) -> list[str]:
        with self.engine.begin() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars().all()
        return [] if found == ["ok"] else [" ".join(str(line).split()) for line in found]


def _identity(path: str) -> tuple[int, int] | None:
    """Device and number of a file; None where there is none."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _locked(path: str, patience: float = 0.0) -> sqlite3.Connection | None:
    """A connection that holds an exclusive lock on a file; None where another process has it."""
    lock = sqlite3.connect(path, timeout=patience, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError as error:
        lock.close()
        if error.sqlite_errorcode & 0xFF not in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise
        return None
    return lock


def _is_held(path: str) -> bool:
    """Whether some process has the lock on a file; nobody has that of one that is not there."""
    if not os.path.exists(path):
        return False
    free = _locked(path)
    if free is not None:
        free.close()
    return free is None
