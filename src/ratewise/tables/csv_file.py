"""CSV: every cell is kept as its text, except that a European spreadsheet's decimal commas become points."""

import csv
import os
import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables.engine import COUNTED, LONGEST_LINE, count, quoted_text
from ratewise.tables.table import different

_NUMBER = r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?\s*"  # 0,5 and 1.234,5


def load_csv(connection: DuckDBPyConnection, path: str, name: str) -> list[str]:
    """Every cell is kept as its text, so that "007" stays "007"; an empty cell is NULL.

    The file must be a copy of our own: a last row is put behind it. DuckDB leaves out, without a word, what
    follows a quote that is not closed, and a last row that is too long; then our row is missing too.
    """
    made = _marked_csv(path, name)
    connection.execute(f"CREATE TABLE data AS SELECT * FROM {made.reading}", [path])
    if connection.execute("DELETE FROM data WHERE c0 = ?", [made.last]).fetchone() != (1,):
        raise _not_closed(name, count(connection))
    for number in _decimal_commas(connection, made, "data", []):
        connection.execute(f"UPDATE data SET c{number} = {_with_point(number)}")
    return made.names


def count_csv(connection: DuckDBPyConnection, path: str, name: str) -> int:
    """The rows of a CSV file, which must be a copy of our own; they are read, but not kept."""
    return _checked_count(connection, path, name, _marked_csv(path, name))


def copy_csv(connection: DuckDBPyConnection, path: str, name: str, target: str) -> list[str]:
    """A CSV file, which must be a copy of our own, as a Parquet file with the columns c0, c1, …: the names it had.

    It is read twice, once to see that nothing of it is left out: to keep it meanwhile would take memory.
    """
    made = _marked_csv(path, name)
    _checked_count(connection, path, name, made)
    source = f"(SELECT * FROM {made.reading} WHERE c0 IS DISTINCT FROM ?)"
    commas = _decimal_commas(connection, made, source, [path, made.last])
    changed = ", ".join(f"{_with_point(number)} AS c{number}" for number in commas)
    rows = f"SELECT * {f'REPLACE ({changed})' if changed else ''} FROM {source}"
    connection.execute(f"COPY ({rows}) TO {quoted_text(target)} (FORMAT parquet)", [path, made.last])
    return made.names


def _checked_count(connection: DuckDBPyConnection, path: str, name: str, made: "_Marked") -> int:
    query = f"SELECT count(*), count(*) FILTER (WHERE c0 = ?) FROM {made.reading}"
    rows, marks = connection.execute(query, [made.last, path]).fetchone() or (0, 0)
    if marks != 1:
        raise _not_closed(name, rows)
    return int(rows - 1)


@dataclass(frozen=True, slots=True)
class _Marked:
    """The names of a CSV file, what is between cells, the first cell of the row that is now its last, and the SQL that
    reads a path."""

    names: list[str]
    delimiter: str
    last: str
    reading: str


def _marked_csv(path: str, name: str) -> _Marked:
    names, delimiter, line_end = _csv_header(path, name)
    last = _put_behind(path, len(different(names, name)), delimiter, line_end)
    return _Marked(names, delimiter, last, _reading_csv(len(names), line_end, delimiter))


def _decimal_commas(connection: DuckDBPyConnection, made: _Marked, source: str, values: list[str]) -> list[int]:
    """The columns in which every value is a number and some have a decimal comma, as where semicolons are between."""
    if made.delimiter == ",":
        return []
    each = ", ".join(
        f"coalesce(bool_and(regexp_full_match(c{number}, '{_NUMBER}')), false) AND bool_or(contains(c{number}, ','))"
        for number in range(len(made.names))
    )
    found = connection.execute(f"SELECT {each} FROM {source}", values).fetchone() or ()
    return [number for number, commas in enumerate(found) if commas]


def _with_point(number: int) -> str:
    return f"replace(replace(trim(c{number}), '.', ''), ',', '.')"


def _not_closed(name: str, rows: int) -> TableError:
    return TableError(f"{name} cannot be read as CSV: row {rows + 1} has a quote that is not closed {COUNTED}")


def _reading_csv(cells: int, line_end: str, delimiter: str) -> str:
    """The SQL that leaves DuckDB nothing to guess.

    Not in parallel: where DuckDB (1.3 to 2.0) cuts a file into parts, it misreads cells with line breaks.
    """
    columns = ", ".join(f"c{number}: 'VARCHAR'" for number in range(cells))
    return (
        f"read_csv(?, columns = {{{columns}}}, auto_detect = false, header = true, delim = {quoted_text(delimiter)},"
        f" quote = '\"', escape = '\"', new_line = {quoted_text(repr(line_end)[1:-1])}, parallel = false,"
        f" max_line_size = {LONGEST_LINE}, buffer_size = {2 * LONGEST_LINE})"
    )


def _csv_header(path: str, name: str) -> tuple[list[str], str, str]:
    """The names, what is between them and what ends the line; what is not UTF-8 in the rows is left for later."""
    lines: list[str] = []
    try:
        with open(path, newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            names = next(csv.reader(_noted(file, lines), strict=True), None)
        "".join(lines).encode()
        delimiter, names = _delimited(names, lines)
    except UnicodeEncodeError as error:
        raise TableError(f"{name} is not UTF-8 text; save it as CSV in UTF-8") from error
    except csv.Error as error:
        raise TableError(f"{name} cannot be read as CSV: the header is broken ({error})") from error
    if names is None:
        raise TableError(f"{name} is empty; a table has a header and rows")
    if not names:
        raise TableError(f"{name} starts with a blank line; the first line is the header")
    return names, delimiter, lines[-1][len(lines[-1].rstrip("\r\n")) :] or "\n"


def _delimited(names: list[str] | None, lines: list[str]) -> tuple[str, list[str] | None]:
    """Commas, or what a header without any has between its names: semicolons or tabs."""
    if names is not None and len(names) == 1:
        for delimiter in (";", "\t"):
            found = next(csv.reader(lines, delimiter=delimiter, strict=True), [])
            if len(found) > 1:
                return delimiter, found
    return ",", names


def _noted(file: Iterable[str], lines: list[str]) -> Iterator[str]:
    for line in file:
        lines.append(line)
        yield line


def _put_behind(path: str, cells: int, delimiter: str, line_end: str) -> str:
    """Adds a row to the file; its first cell, which is returned, is found nowhere else."""
    mark = f"ratewise-{secrets.token_hex(16)}"
    end = line_end.encode()
    with open(path, "r+b") as file:
        file.seek(-1, os.SEEK_END)
        ended = file.read(1) in b"\r\n"
        file.write((b"" if ended else end) + mark.encode() + delimiter.encode() * (cells - 1) + end)
    return mark
