"""CSV, JSONL and Parquet → the table "data" with the columns c0, c1, … of a database; one file for each format.

A loader takes the path of a plain file, which DuckDB takes literally, and returns the names of the columns.
The rows keep the order of the file. A counter reads the rows and keeps none.
"""

from collections.abc import Callable

from duckdb import DuckDBPyConnection

from ratewise.tables.formats import Kind
from ratewise.tables.loaders.csv_file import count_csv, load_csv
from ratewise.tables.loaders.jsonl_file import count_jsonl, load_jsonl
from ratewise.tables.loaders.parquet_file import count_parquet, load_parquet

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
