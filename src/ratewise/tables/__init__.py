"""Reading and writing tables: CSV, JSONL and Parquet files, and pandas, Polars and PyArrow frames.

`read_table` takes a table into memory; `open_relation` asks it where it is; `count_rows` only counts.
"""

from ratewise.tables.read import TableLike, count_groups, count_rows, open_relation, read_table
from ratewise.tables.relation import Relation
from ratewise.tables.table import Table
from ratewise.tables.write import write_table

__all__ = [
    "Relation",
    "Table",
    "TableLike",
    "count_groups",
    "count_rows",
    "open_relation",
    "read_table",
    "write_table",
]
