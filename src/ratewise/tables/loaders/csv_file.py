"""CSV: every cell is kept as its text."""

import csv
import os
import secrets
from collections.abc import Iterable, Iterator

from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables.engine import COUNTED, LONGEST_LINE, count, quoted_text
from ratewise.tables.loaders.names import different


def load_csv(connection: DuckDBPyConnection, path: str, name: str) -> list[str]:
    """Every cell is kept as its text, so that "007" stays "007"; an empty cell is NULL.

    The file must be a copy of our own: a last row is put behind it. DuckDB leaves out, without a word, what
    follows a quote that is not closed, and a last row that is too long; then our row is missing too.
    """
    names, last, reading = _marked_csv(path, name)
    connection.execute(f"CREATE TABLE data AS SELECT * FROM {reading}", [path])
    if connection.execute("DELETE FROM data WHERE c0 = ?", [last]).fetchone() != (1,):
        raise _not_closed(name, count(connection))
    return names


def count_csv(connection: DuckDBPyConnection, path: str, name: str) -> int:
    """The rows of a CSV file, which must be a copy of our own; they are read, but not kept."""
    _, last, reading = _marked_csv(path, name)
    return _checked_count(connection, path, name, last, reading)


def copy_csv(connection: DuckDBPyConnection, path: str, name: str, target: str) -> list[str]:
    """A CSV file, which must be a copy of our own, as a Parquet file with the columns c0, c1, …: the names it had.

    It is read twice, once to see that nothing of it is left out: to keep it meanwhile would take memory.
    """
    names, last, reading = _marked_csv(path, name)
    _checked_count(connection, path, name, last, reading)
    rows = f"SELECT * FROM {reading} WHERE c0 IS DISTINCT FROM ?"
    connection.execute(f"COPY ({rows}) TO {quoted_text(target)} (FORMAT parquet)", [path, last])
    return names


def _checked_count(connection: DuckDBPyConnection, path: str, name: str, last: str, reading: str) -> int:
    query = f"SELECT count(*), count(*) FILTER (WHERE c0 = ?) FROM {reading}"
    rows, marks = connection.execute(query, [last, path]).fetchone() or (0, 0)
    if marks != 1:
        raise _not_closed(name, rows)
    return int(rows - 1)


def _marked_csv(path: str, name: str) -> tuple[list[str], str, str]:
    """The names of a CSV file, the first cell of the row that is now its last, and the SQL that reads a path."""
    names, line_end = _csv_header(path, name)
    last = _put_behind(path, len(different(names, name)), line_end)
    return names, last, _reading_csv(len(names), line_end)


def _not_closed(name: str, rows: int) -> TableError:
    return TableError(f"{name} cannot be read as CSV: row {rows + 1} has a quote that is not closed {COUNTED}")


def _reading_csv(cells: int, line_end: str) -> str:
    """The SQL that leaves DuckDB nothing to guess.

    Not in parallel: where DuckDB (1.3 to 2.0) cuts a file into parts, it misreads cells with line breaks.
    """
    columns = ", ".join(f"c{number}: 'VARCHAR'" for number in range(cells))
    return (
        f"read_csv(?, columns = {{{columns}}}, auto_detect = false, header = true, delim = ',', quote = '\"',"
        f" escape = '\"', new_line = {quoted_text(repr(line_end)[1:-1])}, parallel = false,"
        f" max_line_size = {LONGEST_LINE}, buffer_size = {2 * LONGEST_LINE})"
    )


def _csv_header(path: str, name: str) -> tuple[list[str], str]:
    """The names and what ends the line; what is not UTF-8 in the rows below is left for later."""
    lines: list[str] = []
    try:
        with open(path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            names = next(csv.reader(_noted(file, lines), strict=True), None)
        "".join(lines).encode()
    except UnicodeEncodeError as error:
        raise TableError(f"{name} is not UTF-8 text; save it as CSV in UTF-8") from error
    except csv.Error as error:
        raise TableError(f"{name} cannot be read as CSV: the header is broken ({error})") from error
    if names is None:
        raise TableError(f"{name} is empty; a table has a header and rows")
    if not names:
        raise TableError(f"{name} starts with a blank line; the first line is the header")
    return names, lines[-1][len(lines[-1].rstrip("\r\n")) :] or "\n"


def _noted(file: Iterable[str], lines: list[str]) -> Iterator[str]:
    for line in file:
        lines.append(line)
        yield line


def _put_behind(path: str, cells: int, line_end: str) -> str:
    """Adds a row to the file; its first cell, which is returned, is found nowhere else."""
    mark = f"ratewise-{secrets.token_hex(16)}"
    end = line_end.encode()
    with open(path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        ended = file.read(1) in b"\r\n"
        file.write((b"" if ended else end) + mark.encode() + b"," * (cells - 1) + end)
    return mark
