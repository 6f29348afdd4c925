"""Plain CSV and JSONL files: into memory, into Parquet files in a temporary folder, or only counted.

A loader takes plain files, whose paths DuckDB takes literally, and returns the names of their columns. Their rows are
then `data` in the order of the files, with the columns c0, c1, …: a table, or a view if `keep` says that there is no
memory for them.
"""

import csv
import os
import secrets
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress

import duckdb
from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables.engine import COUNTED, LONGEST_LINE, Own, connect, count, no_rows, quoted_text, reason
from ratewise.tables.files import Folder, Kind, checked_file, name_of, plain_file
from ratewise.tables.relation import Relation, refuse_bomb, relation_of_files
from ratewise.tables.table import Table, different, repeated

_NUMBER = r"\s*[+-]?(\d+|\d{1,3}(\.\d{3})+)(,\d+)?([eE][+-]?\d+)?\s*"  # 0,5 and 1.234,5


def load_csv(connection: DuckDBPyConnection, paths: Sequence[str], name: str, *, keep: bool) -> list[str]:
    """Every cell is kept as its text, so that "007" stays "007"; an empty cell is NULL.

    The one file must be a copy of our own: a last row is put behind it. DuckDB leaves out, without a word, what
    follows a quote that is not closed, and a last row that is too long; then our row is missing too.
    """
    names, delimiter, last, source = _marked_csv(paths, name)
    if keep:
        connection.execute(f"CREATE TABLE data AS FROM {source}")
        source = "data"
    _rows_before(connection, source, last, name)
    others = f"c0 IS DISTINCT FROM {quoted_text(last)}"
    commas = [] if delimiter == "," else _decimal_commas(connection, len(names), f"{source} WHERE {others}")
    points = {field: f"replace(replace(trim({field}), '.', ''), ',', '.')" for field in commas}
    if keep:  # in place: a second table would take as much memory again
        connection.execute(f"DELETE FROM data WHERE NOT ({others})")
        for field, point in points.items():
            connection.execute(f"UPDATE data SET {field} = {point}")
    else:
        changed = ", ".join(f"{point} AS {field}" for field, point in points.items())
        rows = f"SELECT * {f'REPLACE ({changed})' if changed else ''} FROM {source} WHERE {others}"
        connection.execute(f"CREATE VIEW data AS {rows}")
    return names


def count_csv(connection: DuckDBPyConnection, paths: Sequence[str], name: str) -> int:
    """The rows of a file that is as `load_csv` wants it; it is read, but not kept."""
    _, _, last, source = _marked_csv(paths, name)
    return _rows_before(connection, source, last, name)


def _marked_csv(paths: Sequence[str], name: str) -> tuple[list[str], str, str, str]:
    """The names, what is between cells, the first cell of the row that is now the last, and the SQL of all rows."""
    (path,) = paths
    names, delimiter, line_end = _csv_header(path, name)
    last = _put_behind(path, len(different(names, name)), delimiter, line_end)
    return names, delimiter, last, _reading_csv(path, len(names), line_end, delimiter)


def _rows_before(connection: DuckDBPyConnection, source: str, last: str, name: str) -> int:
    """The number of rows before the last one, which must be there."""
    query = f"SELECT count(*), count(*) FILTER (WHERE c0 = {quoted_text(last)}) FROM {source}"
    rows, marks = connection.execute(query).fetchone() or (0, 0)
    if marks != 1:
        raise TableError(f"{name} cannot be read as CSV: row {rows + 1} has a quote that is not closed {COUNTED}")
    return int(rows - 1)


def _decimal_commas(connection: DuckDBPyConnection, columns: int, source: str) -> list[str]:
    """The columns in which every value is a number and some have a decimal comma, as where semicolons are between."""
    fields = [f"c{number}" for number in range(columns)]
    each = ", ".join(
        f"coalesce(bool_and(regexp_full_match({field}, '{_NUMBER}')), false) AND bool_or(contains({field}, ','))"
        for field in fields
    )
    found = connection.execute(f"SELECT {each} FROM {source}").fetchone() or ()
    return [field for field, commas in zip(fields, found, strict=True) if commas]


def _reading_csv(path: str, cells: int, line_end: str, delimiter: str) -> str:
    """The SQL that leaves DuckDB nothing to guess.

    Not in parallel: where DuckDB (1.3 to 2.0) cuts a file into parts, it misreads cells with line breaks.
    """
    columns = ", ".join(f"c{number}: 'VARCHAR'" for number in range(cells))
    return (
        f"read_csv({quoted_text(path)}, columns = {{{columns}}}, auto_detect = false, header = true,"
        f" delim = {quoted_text(delimiter)}, quote = '\"', escape = '\"',"
        f" new_line = {quoted_text(repr(line_end)[1:-1])}, parallel = false,"
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


def load_jsonl(connection: DuckDBPyConnection, paths: Sequence[str], name: str, *, keep: bool) -> list[str]:
    """A column is of the kind of all its values (truth, whole number, number, text), or else JSON.

    Where all values are objects, each of their keys is a column, named by its path: scores.Human.

    Several files are one table: their rows in the order of the paths, and every key that one of them has.
    """
    connection.execute(f"CREATE TABLE raw AS SELECT json FROM {_READ_OBJECTS}", [list(paths)])
    odd = connection.execute(f"SELECT min(rowid) FROM raw WHERE NOT {_IS_OBJECT}").fetchone()
    if odd and odd[0] is not None:
        raise TableError(f"row {odd[0] + 1} of {name} is not a JSON object {COUNTED}; JSONL has one object per line")
    names = different(_keys(connection, "raw", "json", name), name)
    pointers = ", ".join(quoted_text(_pointer(key)) for key in names)
    extracted = ", ".join(f"found[{number + 1}] AS c{number}" for number in range(len(names)))
    values = f"SELECT json_extract(json, [{pointers}]) AS found FROM raw"
    connection.execute(f"CREATE TABLE found AS SELECT {extracted} FROM ({values}); DROP TABLE raw")
    columns = [
        column
        for number, key in enumerate(names)
        for column in _columns(connection, key, f"c{number}", frozenset(names), 0)
    ]
    typed = ", ".join(f"{value} AS c{number}" for number, (_, value) in enumerate(columns))
    connection.execute(f"CREATE {'TABLE' if keep else 'VIEW'} data AS SELECT {typed} FROM found")
    if keep:
        connection.execute("DROP TABLE found")
    return different([path for path, _ in columns], name)


def count_jsonl(connection: DuckDBPyConnection, paths: Sequence[str], name: str) -> int:
    """The rows of JSONL files, which are read, but not kept; where one is odd, loading them says which."""
    query = (
        "SELECT count(*), coalesce(bool_and(len(keys) = len(list_distinct(keys))), false), max(len(keys))"
        f" FROM (SELECT CASE WHEN {_IS_OBJECT} THEN json_keys(json) ELSE ['', ''] END AS keys FROM {_READ_OBJECTS})"
    )
    rows, sound, most = connection.execute(query, [list(paths)]).fetchone() or (0, False, 0)
    if not sound or not most:
        load_jsonl(connection, paths, name, keep=False)
    return int(rows)


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


def _typed(connection: DuckDBPyConnection, field: str, kinds: set[str]) -> str:
    """The SQL that gives a field the type of its values, which are of these kinds."""
    if kinds <= {"VARCHAR"}:
        return f"({field} ->> '$')"
    if kinds == {"BOOLEAN"}:
        return f"CAST({field} AS BOOLEAN)"
    beyond = f"json_type({field}) <> 'NULL' AND TRY_CAST({field} AS BIGINT) IS NULL"  # 64 bits with a sign
    if kinds <= _INTEGERS and not connection.execute(f"SELECT 1 FROM found WHERE {beyond} LIMIT 1").fetchone():
        return f"CAST({field} AS BIGINT)"
    if kinds <= _INTEGERS | {"DOUBLE"} and "DOUBLE" in kinds:
        return f"CAST({field} AS DOUBLE)"
    return field


LOADERS = {"CSV": load_csv, "JSONL": load_jsonl}
COUNTERS = {"CSV": count_csv, "JSONL": count_jsonl}
"""Those of text; Parquet files are asked where they are."""

_SMALL = 16 * 2**20  # bytes of files whose rows may be in memory several times over


def load_file(path: str, name: str | None = None, kind: Kind | None = None) -> Table:
    """The table of a file in memory, read once; its format is `kind`, else that of its ending."""
    form = checked_file(path, kind)
    name, folder = name or name_of(path), Folder()
    return loaded(plain_file(path, form, name, folder / "table"), form.kind, name, folder)


def loaded(path: str, kind: Kind, name: str, folder: Folder) -> Table:
    """The table of a file that is unpacked already, under a path that DuckDB takes literally."""
    if kind == "Parquet":
        return refuse_bomb(relation_of_files([path], name, folder)).table()
    own = Own()
    with _telling(name, kind, path), own.cursor() as cursor:
        names = LOADERS[kind](cursor, [path], name, keep=True)
        rows = count(cursor)
    if rows == 0:
        raise no_rows(name)
    return Table(name, rows, tuple(names), {column: f"c{number}" for number, column in enumerate(names)}, own)


def staged(kind: Kind, paths: list[str], name: str, folder: Folder, shown: Sequence[str]) -> Relation:
    """Files whose paths DuckDB takes literally, those of text as Parquet files in a folder; `shown` is what messages
    call each.
    """
    if kind == "Parquet":
        return refuse_bomb(relation_of_files(paths, name, folder, shown=shown))
    groups = _groups(kind, paths, name, shown)
    targets = [folder / f"part-{number}" for number in range(len(groups))]
    names = []
    for (some, called), target in zip(groups, targets, strict=True):
        with _telling(called, kind, *some), _database(folder, some, 1 if kind == "CSV" else None) as connection:
            names.append(LOADERS[kind](connection, some, called, keep=False))
            connection.execute(f"COPY data TO {quoted_text(target)} (FORMAT parquet)")
        if kind == "CSV":
            os.unlink(*some)  # a copy of our own
    return relation_of_files(targets, name, folder, columns=names, shown=[called for _, called in groups])


def counted(kind: Kind, paths: list[str], name: str, folder: Folder, shown: Sequence[str]) -> int:
    """The rows of files, at least 1, that are given as to `staged`; no row of text is kept."""
    if kind == "Parquet":
        return relation_of_files(paths, name, folder, shown=shown).count()
    rows = 0
    for some, called in _groups(kind, paths, name, shown):
        own = Own()
        with _telling(called, kind, *some), own.cursor() as cursor:
            rows += COUNTERS[kind](cursor, some, called)
    if rows == 0:
        raise no_rows(name)
    return rows


def _groups(kind: Kind, paths: list[str], name: str, shown: Sequence[str]) -> list[tuple[list[str], str]]:
    """Files that are loaded together, and what messages call them: all of JSONL, since the kind of a column is that of
    its values in every file.
    """
    return [(paths, name)] if kind == "JSONL" else [([path], one) for path, one in zip(paths, shown, strict=True)]


@contextmanager
def _database(folder: Folder, paths: Sequence[str], threads: int | None) -> Iterator[DuckDBPyConnection]:
    """A database to work in: the process's own for small files, else one on the disk that is gone afterwards.

    CSV is read by one of its threads: all others would wait with their rows in memory for those before them.
    """
    if sum(map(os.path.getsize, paths)) <= _SMALL:
        own = Own()  # to be held: its schema goes with it
        with own.cursor() as connection:
            yield connection
        return
    place = folder / "load.db"
    try:
        with connect(place, threads=threads) as connection:
            yield connection
    finally:
        for leftover in (place, place + ".wal"):
            with suppress(OSError):
                os.unlink(leftover)


@contextmanager
def _telling(name: str, kind: Kind, *paths: str) -> Iterator[None]:
    try:
        yield
    except (duckdb.Error, OSError) as error:
        why = reason(error)
        for path in paths:
            why = why.replace(path, name)
        raise TableError(f"{name} cannot be read as {kind}: {why}") from error
