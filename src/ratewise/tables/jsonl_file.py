"""JSONL: one object a line; a column is of the kind of all its values, and an object in it is columns by path."""

from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables.engine import COUNTED, no_rows, quoted_text
from ratewise.tables.table import different, repeated

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
