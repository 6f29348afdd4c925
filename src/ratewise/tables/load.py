"""Plain CSV, JSONL and Parquet files: into memory, into Parquet files in a temporary folder, or only counted.

A loader makes the table "data" with the columns c0, c1, … of a database out of a plain file, whose path DuckDB takes
literally, and returns the names of the columns. The rows keep the order of the file. A counter keeps no row.
"""

import csv
import os
import secrets
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import duckdb
from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables.engine import (
    COUNTED,
    LONGEST_LINE,
    Own,
    connect,
    count,
    for_memory,
    no_rows,
    one_line,
    quoted_text,
    reason,
)
from ratewise.tables.files import Folder, Format, Kind, checked_file, plain_file
from ratewise.tables.relation import Relation, count_parquet, load_parquet, relation_of_files
from ratewise.tables.table import Table, different, repeated

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


_INTEGERS = {"UBIGINT", "BIGINT"}
_READ_OBJECTS = "read_ndjson_objects(?, ignore_errors = true, hive_partitioning = false)"
_DEEPEST, _MOST_PATHS = 4, 100  # objects in objects, and keys of one; beyond that it is data, such as a map by id
_IS_OBJECT = "CASE WHEN json IS NULL OR NOT json_valid(json) THEN false ELSE json_type(json) = 'OBJECT' END"


def load_jsonl(connection: DuckDBPyConnection, path: str | list[str], name: str) -> list[str]:
    """A column is of the kind of all its values (truth, whole number, number, text), or else JSON.

    Where all values are objects, each of their keys is a column, named by its path: scores.Human.

    Several files are one table: their rows in the order of the paths, and every key that one of them has.
    """
    names, typed = _found(connection, path, name)
    connection.execute(f"CREATE TABLE data AS {typed}; DROP TABLE found")
    return names


def copy_jsonl(connection: DuckDBPyConnection, path: list[str], name: str, target: str) -> list[str]:
    """Copy JSON lines into a Parquet file with the columns c0, c1, …; returns their names."""
    names, typed = _found(connection, path, name)
    connection.execute(f"COPY ({typed}) TO {quoted_text(target)} (FORMAT parquet)")
    return names


def _found(connection: DuckDBPyConnection, path: str | list[str], name: str) -> tuple[list[str], str]:
    """The names, and the SQL of the typed columns of the table "found", which is made here."""
    connection.execute(f"CREATE TABLE raw AS SELECT json FROM {_READ_OBJECTS}", [path])
    _refuse_other_than_objects(connection, name)
    names = different(_keys(connection, "raw", "json", name), name)
    pointers = ", ".join(quoted_text(_pointer(key)) for key in names)
    fields = [f"c{number}" for number in range(len(names))]
    extracted = ", ".join(f"found[{number}] AS c{number - 1}" for number in range(1, len(names) + 1))
    values = f"SELECT json_extract(json, [{pointers}]) AS found FROM raw"
    connection.execute(f"CREATE TABLE found AS SELECT {extracted} FROM ({values}); DROP TABLE raw")
    columns = [
        column
        for key, field in zip(names, fields, strict=True)
        for column in _columns(connection, key, field, frozenset(names), 0)
    ]
    typed = ", ".join(f"{value} AS c{number}" for number, (_, value) in enumerate(columns))
    return different([path for path, _ in columns], name), f"SELECT {typed} FROM found"


def _columns(
    connection: DuckDBPyConnection, path: str, field: str, taken: frozenset[str], depth: int
) -> list[tuple[str, str]]:
    """The path and the typed SQL of a field; of one whose values are all objects, of each of their keys."""
    kinds = _kinds(connection, field)
    if kinds != {"OBJECT"} or depth == _DEEPEST:
        return [(path, _typed(connection, field, kinds))]
    keys = _keys(connection, "found", field, path)
    paths = [f"{path}.{key}" for key in keys]
    if not 0 < len(keys) <= _MOST_PATHS or taken & set(paths):
        return [(path, field)]
    return [
        column
        for key, inside in zip(keys, paths, strict=True)
        for column in _columns(
            connection, inside, f"json_extract({field}, {quoted_text(_pointer(key))})", taken | set(paths), depth + 1
        )
    ]


def count_jsonl(connection: DuckDBPyConnection, path: str | list[str], name: str) -> int:
    """The rows of JSONL files, which are read, but not kept; where one is odd, loading them says which."""
    keys = f"CASE WHEN {_IS_OBJECT} THEN json_keys(json) END"
    query = (
        "SELECT count(*), coalesce(bool_and(len(keys) = len(list_distinct(keys))), false), max(len(keys))"
        f" FROM (SELECT coalesce({keys}, ['', '']) AS keys FROM {_READ_OBJECTS})"
    )
    rows, sound, most = connection.execute(query, [path]).fetchone() or (0, False, 0)
    if not sound or not most:
        load_jsonl(connection, path, name)
    return int(rows)


def _refuse_other_than_objects(connection: DuckDBPyConnection, name: str) -> None:
    odd = connection.execute(f"SELECT min(rowid) FROM raw WHERE NOT {_IS_OBJECT}").fetchone()
    if odd and odd[0] is not None:
        raise TableError(f"row {odd[0] + 1} of {name} is not a JSON object {COUNTED}; JSONL has one object per line")


def _keys(connection: DuckDBPyConnection, table: str, field: str, name: str) -> list[str]:
    """All keys of a field's objects in the order in which they first appear."""
    keys: dict[str, None] = {}
    query = f"SELECT json_keys({field}) AS keys, min(rowid) AS row FROM {table} GROUP BY keys ORDER BY row"
    answers = connection.execute(query).fetchall()
    if not answers:
        raise no_rows(name)
    for found, row in answers:
        if found is None:  # no object there
            continue
        if len(set(found)) < len(found):
            raise TableError(f"row {row + 1} of {name} has the key {repeated(found)!r} twice {COUNTED}")
        keys.update(dict.fromkeys(found))
    return list(keys)


def _pointer(key: str) -> str:
    """The JSON Pointer (RFC 6901) of a key: unlike a path, it can spell any key."""
    return "/" + key.replace("~", "~0").replace("/", "~1")


def _kinds(connection: DuckDBPyConnection, field: str) -> set[str]:
    query = f"SELECT DISTINCT json_type({field}) FROM found"
    return {kind for (kind,) in connection.execute(query).fetchall()} - {None, "NULL"}


def _fits(connection: DuckDBPyConnection, field: str) -> bool:
    """Whether whole numbers fit into 64 bits with a sign."""
    beyond = f"json_type({field}) <> 'NULL' AND TRY_CAST({field} AS BIGINT) IS NULL"
    return connection.execute(f"SELECT 1 FROM found WHERE {beyond} LIMIT 1").fetchone() is None


def _typed(connection: DuckDBPyConnection, field: str, kinds: set[str]) -> str:
    """The SQL that gives a field the type of its values, which are of these kinds."""
    if kinds <= {"VARCHAR"}:
        return f"({field} ->> '$')"
    if kinds == {"BOOLEAN"}:
        return f"CAST({field} AS BOOLEAN)"
    if kinds <= _INTEGERS and _fits(connection, field):
        return f"CAST({field} AS BIGINT)"
    if kinds <= _INTEGERS | {"DOUBLE"} and "DOUBLE" in kinds:
        return f"CAST({field} AS DOUBLE)"
    return field


LOADERS: dict[Kind, Callable[[DuckDBPyConnection, str, str], list[str]]] = {
    "CSV": load_csv,
    "JSONL": load_jsonl,
    "Parquet": load_parquet,
}
COUNTERS: dict[Kind, Callable[[DuckDBPyConnection, str, str], int]] = {
    "CSV": count_csv,
    "JSONL": count_jsonl,
    "Parquet": count_parquet,
}


# A plain CSV, JSONL or Parquet file → a `Table`, read whole, once.


def load_file(path: str, name: str | None = None, kind: Kind | None = None) -> Table:
    """The table of a file, whose format is `kind`, else that of its ending."""
    form = checked_file(path, kind)
    name = name or one_line(os.path.basename(path))
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        return loaded(plain_file(path, form, name, os.path.join(folder, "table")), form, name)


def loaded(path: str, form: Format, name: str) -> Table:
    """The table of a file that is unpacked already, under a path that DuckDB takes literally."""
    own = Own()
    with own.cursor() as cursor:
        try:
            names = LOADERS[form.kind](cursor, path, name)
        except (duckdb.Error, OSError) as error:
            why = reason(error).replace(path, name)
            raise TableError(f"{name} cannot be read as {form.kind}: {why}") from error
        rows = count(cursor)
    if rows == 0:
        raise no_rows(name)
    cells = {column: f"c{number}" for number, column in enumerate(names)}
    return Table(name, rows, tuple(names), cells, own)


# CSV and JSONL files → Parquet files in a temporary folder, checked as `read_table` checks them.


_SMALL = 16 * 2**20  # bytes of a file whose rows may be in memory several times over


def staged(kind: Kind, paths: list[str], name: str, folder: Folder, shown: Sequence[str]) -> Relation:
    """The table of these files of text, whose paths DuckDB takes literally; `shown` is what messages call each."""
    return _staged_jsonl(paths, name, folder) if kind == "JSONL" else _staged_csv(paths, name, folder, shown)


def _staged_jsonl(paths: list[str], name: str, folder: Folder) -> Relation:
    """One Parquet file of all: the kind of a column is that of its values in every file."""
    target = folder / "part-0"
    with _database(folder / "load.db", name, "JSONL") as connection:
        names = copy_jsonl(connection, paths, name, target)
    return relation_of_files([target], name, folder, columns=[names])


def _staged_csv(paths: list[str], name: str, folder: Folder, shown: Sequence[str]) -> Relation:
    """A Parquet file of each."""
    targets = [folder / f"part-{number}" for number in range(len(paths))]
    names = []
    for path, called, target in zip(paths, shown, targets, strict=True):
        with _memory(path, called) as connection:
            names.append(copy_csv(connection, path, called, target))
        os.unlink(path)  # a copy of our own
    return relation_of_files(targets, name, folder, columns=names, shown=shown)


@contextmanager
def _memory(path: str, name: str) -> Iterator[DuckDBPyConnection]:
    """The process's own database for a small file; for a large one, one with a single thread.

    Of several threads all but one would wait with their rows for those before them.
    """
    small = os.path.getsize(path) <= _SMALL
    with _telling(name, "CSV"), for_memory().cursor() if small else connect(threads=1) as connection:
        yield connection


@contextmanager
def _database(place: str, name: str, kind: Kind) -> Iterator[DuckDBPyConnection]:
    """A database to work in, whose file is gone afterwards."""
    try:
        with _telling(name, kind), connect(place) as connection:
            yield connection
    finally:
        for leftover in (place, place + ".wal"):
            with suppress(OSError):
                os.unlink(leftover)


@contextmanager
def _telling(name: str, kind: Kind) -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, OSError) as error:
        raise TableError(f"{name} cannot be read as {kind}: {reason(error)}") from error
