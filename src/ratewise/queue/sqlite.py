"""SQLite: one file, one process that runs the campaign, any number that look."""

import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa

from ratewise.errors import StoreError

_BUSY_MILLISECONDS = 30_000


class SQLite:
    """One file, in write-ahead mode, synced to the disk at every commit."""

    shared = False

    def __init__(self, path: str) -> None:
        self.path, self.shown = path, os.path.basename(path)
        self.engine = sa.create_engine(sa.URL.create("sqlite", database=path))
        self._lock: sqlite3.Connection | None = None
        sa.event.listen(self.engine, "connect", self._on_connect)
        sa.event.listen(self.engine, "begin", self._on_begin)

    @staticmethod
    def _on_connect(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin where we say so
        for pragma in (f"busy_timeout = {_BUSY_MILLISECONDS}", "journal_mode = WAL", "synchronous = FULL"):
            connection.execute(f"PRAGMA {pragma}")

    @staticmethod
    def _on_begin(connection: sa.Connection) -> None:
        writes = connection.get_execution_options().get("writes", False)
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    def exists(self) -> bool:
        """Whether a campaign could be there already."""
        return os.path.exists(self.path)

    @contextmanager
    def creating(self) -> Iterator[sa.Connection]:
        """A transaction in which nobody else creates or migrates tables."""
        with self.engine.execution_options(writes=True).begin() as connection:
            yield connection

    def load(self, connection: sa.Connection, table: sa.Table, rows: Iterable[Sequence[Any]]) -> None:
        """Many rows, all columns in the table's order."""
        marks = ", ".join("?" * len(table.columns))
        driver = connection.connection.driver_connection
        assert driver is not None
        driver.executemany(f"INSERT INTO {table.name} VALUES ({marks})", rows)

    def join(self) -> None:
        """An exclusive lock on a file beside, which the system takes back when the process dies."""
        if self._lock is not None:
            return
        lock = sqlite3.connect(self.path + ".lock", timeout=0, isolation_level=None, check_same_thread=False)
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            lock.close()
            if "locked" not in str(error):
                raise
            raise StoreError(
                f"another process is running the campaign in {self.shown}; wait for it, or look with `ratewise status` "
                "(several at once need a PostgreSQL store)"
            ) from None
        self._lock = lock

    def hold(self, worker: int) -> None:
        """The lock on the file says it all."""

    def lead(self) -> bool:
        """There is nobody else."""
        return True

    def dead(self, workers: Sequence[int]) -> list[int]:
        """Whoever is not this process: it has the only lock."""
        return list(workers)

    def leave(self) -> None:
        """Give the lock back."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None
        self.engine.dispose()

    def running(self) -> bool:
        """Whether some process holds the lock."""
        if self._lock is not None:
            return True
        if not os.path.exists(self.path + ".lock"):
            return False
        with suppress(StoreError):
            self.join()
            self.leave()
            return False
        return True

    def damage(self) -> list[str]:
        """What the database finds wrong with its own file."""
        with self.engine.begin() as connection:
            found = connection.exec_driver_sql("PRAGMA integrity_check(20)").scalars().all()
        return [] if found == ["ok"] else [" ".join(str(line).split()) for line in found]
