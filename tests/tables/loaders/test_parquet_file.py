"""Parquet into a database: types stay, and counting reads no rows."""

import pyarrow as pa
import pyarrow.parquet as pq

from ratewise.tables.engine import connect
from ratewise.tables.relation import count_parquet, load_parquet, parquet_names, parquet_rows


def test_types_counts_and_names(tmp_path):
    path = str(tmp_path / "a.parquet")
    pq.write_table(pa.table({"n": [2**60 + 1, None], "s": [{"x": 1}, {"x": 2}]}), path)
    connection = connect()
    assert load_parquet(connection, path, "pool") == ["n", "s"]
    assert connection.execute("SELECT c0 FROM data").fetchall() == [(2**60 + 1,), (None,)]
    assert count_parquet(connect(), path, "pool") == 2
    assert parquet_rows(connect(), [path]) == {path: 2}
    assert parquet_names(connect(), [path]) == {path: ["n", "s"]}  # not the fields within s
