"""Opens DuckDB databases, with everything switched off that is not needed.

To start a database takes longer than to read most files, so a process has one for its tables: in memory, without
network, extensions or Python variables in reach. A file that is read has a schema of its own there, which goes with the
table; columns in memory are lent to a cursor for the length of a question. Threads may share a table, because each
question is asked on a cursor of its own.
"""

import contextlib
import functools
import os
import re
import secrets
import tempfile
import weakref
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection

from ratewise.errors import TableError

LONGEST_LINE = 16 * 2**20
"""The longest CSV row or JSONL object that is read, in bytes."""

_SETTINGS = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
    # Guessing the kind of an object array from a sample goes wrong on the rest of it: `held` decides instead.
    "pandas_analyze_sample": "0",
}
_CSV_COMPLAINTS = (
    (r"Expected Number of Columns: (\d+) Found: (\d+)", "row {row} has {1} cells where the header has {0}"),
    (r"unterminated quote", "row {row} has a quote that is not closed"),
    (r"Invalid unicode", "row {row} is not UTF-8 text"),
    (r"Maximum line size", f"row {{row}} is longer than {LONGEST_LINE // 2**20} MiB"),
)
COUNTED = "(rows are counted from 1, without the header)"


def connect(database: str = ":memory:", *, threads: int | None = None) -> DuckDBPyConnection:
    """A database of one table; what does not fit into memory goes to a folder that is gone afterwards.

    `threads` are as many as the machine has, unless said.
    """
    spill = Path(tempfile.gettempdir(), f"ratewise-spill-{secrets.token_hex(8)}")
    settings = _SETTINGS if threads is None else _SETTINGS | {"threads": str(threads)}
    connection = duckdb.connect(database, config={**settings, "temp_directory": str(spill)})
    connection.execute("SET GLOBAL TimeZone = 'UTC'")
    return connection


def for_memory() -> DuckDBPyConnection:
    """The one database of this process, to be asked on a cursor of one's own. A forked process starts its own."""
    return _started(os.getpid())


@functools.cache
def _started(_process: int) -> DuckDBPyConnection:
    return connect()


class Own:
    """A schema of one's own in the process's database: what is called `data` there, nobody else sees."""

    def __init__(self) -> None:
        self._database, self._schema = for_memory(), f"s{secrets.token_hex(8)}"
        with self._database.cursor() as cursor:
            cursor.execute(f"CREATE SCHEMA {self._schema}")
        weakref.finalize(self, _drop, self._database, self._schema, os.getpid()).atexit = False

    def cursor(self) -> DuckDBPyConnection:
        """A cursor that finds names in the schema."""
        cursor = self._database.cursor()
        cursor.execute(f"USE {self._schema}")
        return cursor


def _drop(database: DuckDBPyConnection, schema: str, process: int) -> None:
    """Let go of what a table held; not in a forked process, whose copy of the database nobody may touch."""
    if process == os.getpid():
        with contextlib.suppress(duckdb.Error), database.cursor() as cursor:
            cursor.execute(f"DROP SCHEMA {schema} CASCADE")


def count(connection: DuckDBPyConnection) -> int:
    """The rows of the table "data"."""
    (rows,) = connection.execute("SELECT count(*) FROM data").fetchone() or (0,)
    return int(rows)


def no_rows(name: str) -> TableError:
    """The complaint about a table with columns only."""
    return TableError(f"{name} has no rows; there is nothing to work on")


def quoted_name(name: str) -> str:
    """A name as SQL spells it, whatever it holds."""
    return '"' + name.replace('"', '""') + '"'


def quoted_text(text: str) -> str:
    """A text as SQL spells it, whatever it holds."""
    return "'" + text.replace("'", "''") + "'"


def one_line(text: str) -> str:
    """The text with everything that would break or recolour a line of a terminal spelled out."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def shortened(text: str, *, length: int = 40) -> str:
    """The text in quotes, on one line, cut where it is long."""
    return repr(text if len(text) <= length else text[: length - 1] + "…")


def reason(error: Exception) -> str:
    """What DuckDB or the system complains about, in one line: its paragraphs of advice are left out."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    message = str(error)
    numbered = re.match(r"Invalid Input Error: CSV Error on Line: (\d+)", message)
    if numbered:
        return _csv_reason(message, row=int(numbered[1]) - 1)
    if '"maximum_object_size"' in message:
        return f"an object is longer than {LONGEST_LINE // 2**20} MiB"
    if "state machine reached an invalid state" in message:
        return "its line ends are mixed or a quote is not closed"
    first = re.sub(r"^[A-Za-z -]*Error: ", "", message.strip()).split("\n")[0]
    return one_line(first[:200]).rstrip(". ")


def _csv_reason(message: str, *, row: int) -> str:
    """DuckDB's "line" counts records, the header too: a cell with line breaks is one record."""
    for pattern, sentence in _CSV_COMPLAINTS:
        found = list(re.finditer(pattern, message))
        if found:  # the last: an earlier one may stand in the offending row, which is quoted
            return f"{sentence.format(*found[-1].groups(), row=row)} {COUNTED}"
    return f"row {row} is not CSV {COUNTED}"
