"""A connection to where a campaign is kept: one SQLite file, or a schema of a PostgreSQL database.

What the two do differently is here: how a transaction begins, how a process shows that it is alive, how rows are loaded
in bulk, and what their errors mean. No clock is asked who is alive: locks die with the process that holds them.
"""

import re
import sqlite3
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc

from ratewise.errors import StoreError

# SQLite's codes without their details; PostgreSQL's states. Text that cannot be decoded has no code of SQLite's.
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, "XX001", "XX002"}
_FORBIDDEN = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM, "25006", "42501"}
_ADDRESS = re.compile(r"\S*@")  # whatever stands before an @ may be a password
_PASSING = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


class Database(ABC):
    """What a store needs of its database."""

    engine: sa.Engine
    shown: str  # where it is, without a password
    shared: bool  # whether several processes may run one campaign

    @abstractmethod
    def exists(self) -> bool:
        """Whether a campaign could be there already."""

    def check_present(self) -> None:  # noqa: B027 - a schema that is dropped is missed by the next statement
        """Raise where what is written is no longer what the store's name leads to; the rest is saved beside it."""

    @abstractmethod
    def creating(self) -> AbstractContextManager[sa.Connection]:
        """A transaction in which nobody else creates or migrates tables."""

    @abstractmethod
    def load(self, connection: sa.Connection, table: sa.Table, rows: Iterable[Sequence[Any]]) -> None:
        """Many rows, all columns in the table's order."""

    @abstractmethod
    def join(self) -> None:
        """Take part as one that plans; refused where only one may and another does."""

    @abstractmethod
    def hold(self, worker: int) -> None:
        """Show that this worker is alive until the process ends."""

    @abstractmethod
    def lead(self) -> bool:
        """Whether this process is the one that plans; once it is, it stays so until it ends."""

    @abstractmethod
    def dead(self, workers: Sequence[int]) -> list[int]:
        """The workers that are not alive; for the process that plans to ask."""

    @abstractmethod
    def leave(self) -> None:
        """Give all locks back."""

    @abstractmethod
    def running(self) -> bool:
        """Whether some process plans."""

    def silent_leader(self) -> str | None:
        """Who is waited for, where the one that plans shows no sign of life."""
        return None

    def damage(self) -> list[str]:
        """What the database finds wrong with its own files."""
        return []


@contextmanager
def told(shown: str) -> Iterator[None]:
    """The database's errors as `StoreError`, in one line that says what to do."""
    try:
        yield
    except (exc.DBAPIError, sqlite3.Error) as error:
        raise _translated(error, shown) from error
    except (exc.NoResultFound, exc.MultipleResultsFound) as error:
        raise damaged(shown, "a row is missing, or there twice") from error


def damaged(shown: str, reason: str) -> StoreError:
    """What was written is not what is read."""
    return StoreError(f"{shown} is damaged ({reason}); restore it from a backup: nothing was changed")


def _translated(error: Exception, shown: str) -> StoreError:
    cause = getattr(error, "orig", None) or error
    message = str(cause).strip()
    reason = _ADDRESS.sub("***@", message.splitlines()[0]) if message else type(error).__name__
    code = _code(cause)
    if code in _DAMAGED or (code is None and isinstance(cause, sqlite3.OperationalError)):
        return damaged(shown, reason)
    if code in _FORBIDDEN:
        return StoreError(f"{shown} cannot be written ({reason}); make it writable and run again: nothing was lost")
    if code == sqlite3.SQLITE_CANTOPEN:
        return StoreError(
            f"{shown} cannot be opened ({reason}); make sure that its folder is there and writable, and run again: "
            "nothing was lost",
            may_pass=True,
        )
    gone = isinstance(error, exc.DBAPIError) and (
        error.connection_invalidated or isinstance(error, exc.OperationalError)
    )
    passing = (
        code in _PASSING
        or (gone and not isinstance(cause, sqlite3.Error))
        or isinstance(error, exc.IntegrityError)  # what another process, or a commit thought lost, has done already
    )
    return StoreError(f"{shown} failed ({reason}); what was saved is kept, run again to go on", may_pass=passing)


def _code(cause: object) -> int | str | None:
    if isinstance(cause, sqlite3.Error):
        code: int | None = getattr(cause, "sqlite_errorcode", None)
        return None if code is None else code & 0xFF
    return getattr(cause, "sqlstate", None)
