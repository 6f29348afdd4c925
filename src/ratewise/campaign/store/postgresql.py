"""PostgreSQL: a schema for each campaign, any number of processes."""

import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from ratewise.errors import InputError

_LEADER, _CREATOR = 0, -1  # numbers of locks; those of workers start from 1


class PostgreSQL:
    """A schema named after the campaign; processes are alive as long as their advisory locks are."""

    shared = True

    def __init__(self, url: str, name: str) -> None:
        address = sa.make_url(url)
        self.schema = "ratewise_" + re.sub(r"[^a-z0-9_]", "_", name.lower())
        self.shown = f"{address.host or 'localhost'}/{address.database}"
        try:
            self.engine = sa.create_engine(address, pool_pre_ping=True)
        except ModuleNotFoundError:
            raise InputError(
                "a PostgreSQL store needs psycopg; install it with: pip install 'ratewise[postgres]'"
            ) from None
        sa.event.listen(self.engine, "connect", self._on_connect)
        self._class = zlib.crc32(self.schema.encode()) - 2**31  # advisory locks are named by two 32-bit numbers
        self._own: sa.Connection | None = None
        self._worker: int | None = None
        self._leads = False

    def _on_connect(self, connection: Any, _: object) -> None:
        with connection.cursor() as cursor:
            cursor.execute(f'SET search_path TO "{self.schema}"')
        connection.commit()

    def exists(self) -> bool:
        """Whether a campaign could be there already."""
        with self.engine.connect() as connection:
            return sa.inspect(connection).has_schema(self.schema)

    @contextmanager
    def creating(self) -> Iterator[sa.Connection]:
        """A transaction in which nobody else creates or migrates tables."""
        with self.engine.begin() as connection:
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(self._class, _CREATOR)))
            connection.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{self.schema}"')
            yield connection

    def load(self, connection: sa.Connection, table: sa.Table, rows: Iterable[Sequence[Any]]) -> None:
        """Many rows, all columns in the table's order."""
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
        """Show that this worker is alive until the process ends."""
        self._worker = worker
        self._try_lock(worker)

    def lead(self) -> bool:
        """Asks the server each time: locks are lost with the connection, and another may lead by then."""
        try:
            self._leads = self._leads and self._ping()
            self._leads = self._leads or self._try_lock(_LEADER)
        except exc.DBAPIError:
            self._forget()
            raise
        return self._leads

    def _ping(self) -> bool:
        return self._open().scalar(sa.select(sa.literal(1))) == 1

    def _forget(self) -> None:
        self._leads = False
        if self._own is not None:
            with suppress(exc.DBAPIError):
                self._own.invalidate()
                self._own.close()
        self._own = None

    def _try_lock(self, number: int) -> bool:
        return bool(self._open().scalar(sa.select(sa.func.pg_try_advisory_lock(self._class, number))))

    def dead(self, workers: Sequence[int]) -> list[int]:
        """Those whose locks are free."""
        found = [n for n in workers if n != self._worker and self._try_lock(n)]
        for n in found:
            self._open().execute(sa.select(sa.func.pg_advisory_unlock(self._class, n)))
        return found

    def leave(self) -> None:
        """Give all locks back."""
        if self._own is not None:
            with suppress(exc.DBAPIError):
                self._own.invalidate()  # a pooled connection would keep the locks
                self._own.close()
        self._own, self._worker, self._leads = None, None, False
        self.engine.dispose()

    def running(self) -> bool:
        """Whether some process plans."""
        with self.engine.connect() as connection:
            free = connection.scalar(sa.select(sa.func.pg_try_advisory_lock(self._class, _LEADER)))
            if free:
                connection.execute(sa.select(sa.func.pg_advisory_unlock(self._class, _LEADER)))
        return not free
