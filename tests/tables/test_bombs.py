"""Small files that say they hold very much: one line of error, before they are read."""

import gzip

import duckdb
import pytest

from ratewise.errors import TableError
from ratewise.tables import open_relation, read_table


def _parquet(path, select):
    duckdb.sql(f"COPY ({select}) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 100000000)")
    return str(path)


@pytest.mark.parametrize(("rows", "columns"), [(6_000_000, 1), (4_000_000, 13)])
def test_a_parquet_file_of_very_many_rows_is_refused(tmp_path, rows, columns):
    path = _parquet(tmp_path / "b.parquet", f"SELECT {', '.join(['true'] * columns)} FROM range({rows})")
    said = rf"b\.parquet says that its 0\.. MiB hold {rows:,} rows × {columns} column"
    for read in (read_table, open_relation):
        with pytest.raises(TableError, match=said):
            read(path)
        with pytest.raises(TableError, match=f"rows × {columns} column"):
            read(str(tmp_path))


def test_a_parquet_file_of_long_lists_is_refused(tmp_path):
    path = _parquet(tmp_path / "l.parquet", "SELECT range AS id, list_resize([0], 1_000_000, 0) AS x FROM range(60)")
    for read in (read_table, open_relation):
        with pytest.raises(TableError, match=r"60 rows × 2 columns with 60,000,060 values, which no table does"):
            read(path)


def test_a_parquet_file_of_one_long_text_in_many_rows_is_refused(tmp_path):
    path = _parquet(tmp_path / "t.parquet", "SELECT repeat('x', 1_000_000) AS answer FROM range(1100)")
    for read in (read_table, open_relation):
        with pytest.raises(TableError, match="hold 1,049 MiB of text, which no table does"):
            read(path)


@pytest.mark.parametrize(("name", "line"), [("b.csv.gz", b"1,2\n"), ("b.jsonl.gz", b'{"a": 1}\n'), ("x.csv.gz", b" ")])
def test_a_packed_file_is_unpacked_up_to_a_limit(tmp_path, name, line):
    with gzip.open(tmp_path / name, "wb", compresslevel=1) as file:
        file.write(b"a,b\n" if line == b"1,2\n" else b"")
        for _ in range(70):
            file.write(line * (2**20 // len(line)))
    for read in (read_table, open_relation):
        with pytest.raises(TableError, match=r"its 0\.. MiB unpack to more than 64 MiB, which no table does"):
            read(str(tmp_path / name))
