"""Parquet: every column keeps its type."""

from collections.abc import Sequence

from duckdb import DuckDBPyConnection

from ratewise.tables.loaders.names import different


def load_parquet(connection: DuckDBPyConnection, path: str, name: str) -> list[str]:
    """Every column keeps its type."""
    names = different(parquet_names(connection, [path])[path], name)
    fields = ", ".join(f"c{number}" for number in range(len(names)))
    connection.execute(
        f"CREATE TABLE data AS SELECT * FROM read_parquet(?, hive_partitioning = false) AS file({fields})",
        [path],
    )
    return names


def count_parquet(connection: DuckDBPyConnection, path: str, name: str) -> int:
    """The rows that the file says it has, without reading them."""
    different(parquet_names(connection, [path])[path], name)
    return parquet_rows(connection, [path])[path]


def parquet_rows(connection: DuckDBPyConnection, paths: list[str]) -> dict[str, int]:
    """The rows of each file."""
    query = "SELECT file_name, num_rows FROM parquet_file_metadata(?)"
    return {str(path): int(rows) for path, rows in connection.execute(query, [paths]).fetchall()}


def parquet_names(connection: DuckDBPyConnection, paths: list[str]) -> dict[str, list[str]]:
    """The columns of each file."""
    nodes: dict[str, list[tuple[str, int | None]]] = {path: [] for path in paths}
    query = "SELECT file_name, name, num_children FROM parquet_schema(?)"
    for path, node, children in connection.execute(query, [paths]).fetchall():
        nodes[path].append((node, children))
    return {path: _top_level(schema) for path, schema in nodes.items()}


def _top_level(schema: Sequence[tuple[str, int | None]]) -> list[str]:
    """The columns of a schema that lists each node before its children; the first node is the root."""
    names, inside = [], 0
    for node, children in schema[1:]:
        if inside == 0:
            names.append(node)
        inside = max(inside - 1, 0) + (children or 0)
    return names
