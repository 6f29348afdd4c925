"""Reading and writing tables: CSV, JSONL and Parquet files, and pandas, Polars and PyArrow frames."""

from ratewise.tables.read import TableLike, read_table
from ratewise.tables.table import Table
from ratewise.tables.write import write_table

__all__ = ["Table", "TableLike", "read_table", "write_table"]
