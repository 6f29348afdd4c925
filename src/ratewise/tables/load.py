"""CSV, JSONL and Parquet → the table "data" with the columns c0, c1, … of a database.

A loader takes the path of a plain file, which DuckDB takes literally, and returns the names of the columns.
The rows keep the order of the file.
"""

import csv
import os
import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence

from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables.engine import COUNTED, LONGEST_LINE, no_rows, quoted_text
from ratewise.tables.formats import Kind

_INTEGERS = {"UBIGINT", "BIGINT"}


def load_csv(connection: DuckDBPyConnection, path: str, name: str) -> list[str]:
    """Every cell is kept as its text, so that "007" stays "007"; an empty cell is NULL.

    The file must be a copy of our own: a last row is put behind it. DuckDB leaves out, without a word, what
    follows a quote that is not closed, and a last row that is too long; then our row is missing too.
    """
    names, line_end = _csv_header(path, name)
    last = _put_behind(path, len(_different(names, name)), line_end)
    connection.execute(f"CREATE TABLE data AS SELECT * FROM {_reading_csv(len(names), line_end)}", [path])
    if connection.execute("DELETE FROM data WHERE c0 = ?", [last]).fetchone() != (1,):
        row = count(connection) + 1
        raise TableError(f"{name} cannot be read as CSV: row {row} has a quote that is not closed {COUNTED}")
    return names


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


def count(connection: DuckDBPyConnection) -> int:
    """The rows of the table "data"."""
    (rows,) = connection.execute("SELECT count(*) FROM data").fetchone() or (0,)
    return int(rows)


def load_parquet(connection: DuckDBPyConnection, path: str, name: str) -> list[str]:
    """Every column keeps its type."""
    schema = connection.execute("SELECT name, num_children FROM parquet_schema(?)", [path]).fetchall()
    names = _different(_top_level(schema), name)
    fields = ", ".join(f"c{number}" for number in range(len(names)))
    connection.execute(
        f"CREATE TABLE data AS SELECT * FROM read_parquet(?, hive_partitioning = false) AS file({fields})",
        [path],
    )
    return names


def _top_level(schema: Sequence[tuple[str, int | None]]) -> list[str]:
    """The columns of a schema that lists each node before its children; the first node is the root."""
    names, inside = [], 0
    for node, children in schema[1:]:
        if inside == 0:
            names.append(node)
        inside = max(inside - 1, 0) + (children or 0)
    return names


def load_jsonl(connection: DuckDBPyConnection, path: str, name: str) -> list[str]:
    """A column is of the kind of all its values (truth, whole number, number, text), or else JSON."""
    read = "read_ndjson_objects(?, ignore_errors = true, hive_partitioning = false)"
    connection.execute(f"CREATE TABLE raw AS SELECT json FROM {read}", [path])
    _refuse_other_than_objects(connection, name)
    names = _different(_keys(connection, name), name)
    pointers = ", ".join(quoted_text(_pointer(key)) for key in names)
    fields = [f"c{number}" for number in range(len(names))]
    extracted = ", ".join(f"found[{number}] AS c{number - 1}" for number in range(1, len(names) + 1))
    values = f"SELECT json_extract(json, [{pointers}]) AS found FROM raw"
    connection.execute(f"CREATE TABLE found AS SELECT {extracted} FROM ({values}); DROP TABLE raw")
    typed = ", ".join(f"{_typed(connection, field)} AS {field}" for field in fields)
    connection.execute(f"CREATE TABLE data AS SELECT {typed} FROM found; DROP TABLE found")
    return names


def _refuse_other_than_objects(connection: DuckDBPyConnection, name: str) -> None:
    odd = connection.execute(
        "SELECT min(rowid) FROM raw WHERE NOT"
        " CASE WHEN json IS NULL OR NOT json_valid(json) THEN false ELSE json_type(json) = 'OBJECT' END"
    ).fetchone()
    if odd and odd[0] is not None:
        raise TableError(f"row {odd[0] + 1} of {name} is not a JSON object {COUNTED}; JSONL has one object per line")


def _keys(connection: DuckDBPyConnection, name: str) -> list[str]:
    """All keys in the order in which they first appear."""
    keys: dict[str, None] = {}
    query = "SELECT json_keys(json) AS keys, min(rowid) AS row FROM raw GROUP BY keys ORDER BY row"
    answers = connection.execute(query).fetchall()
    if not answers:
        raise no_rows(name)
    for found, row in answers:
        if len(set(found)) < len(found):
            raise TableError(f"row {row + 1} of {name} has the key {_repeated(found)!r} twice {COUNTED}")
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


def _typed(connection: DuckDBPyConnection, field: str) -> str:
    """The SQL that gives a field the type of its values."""
    kinds = _kinds(connection, field)
    if kinds <= {"VARCHAR"}:
        return f"({field} ->> '$')"
    if kinds == {"BOOLEAN"}:
        return f"CAST({field} AS BOOLEAN)"
    if kinds <= _INTEGERS and _fits(connection, field):
        return f"CAST({field} AS BIGINT)"
    if kinds <= _INTEGERS | {"DOUBLE"} and "DOUBLE" in kinds:
        return f"CAST({field} AS DOUBLE)"
    return field


def _different(names: list[str], table: str) -> list[str]:
    if not names:
        raise TableError(f"{table} has no columns; there is nothing to work on")
    if len(set(names)) < len(names):
        raise TableError(f"{table} has two columns with the name {_repeated(names)!r}; rename one")
    return names


def _repeated(names: Iterable[str]) -> str:
    return Counter(names).most_common(1)[0][0]


LOADERS: dict[Kind, Callable[[DuckDBPyConnection, str, str], list[str]]] = {
    "CSV": load_csv,
    "JSONL": load_jsonl,
    "Parquet": load_parquet,
}
