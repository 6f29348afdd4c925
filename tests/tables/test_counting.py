import gzip
import io
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ratewise.errors import TableError
from ratewise.tables import count_groups, count_rows, open_relation, read_table, write_table
from ratewise.tables import load as loading

VALUES = {"id": [str(number) for number in range(7)], "text": ["a", "b\nb", '"', ",", "", None, "é"]}


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "jsonl.gz", "parquet"])
def test_the_rows_of_a_file_are_counted_without_loading_them(ending, tmp_path, monkeypatch):
    path = tmp_path / f"pool.{ending}"
    write_table(read_table(VALUES), path)
    monkeypatch.setattr(loading, "loaded", None)
    assert count_rows(path) == count_rows(str(path)) == 7


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_the_files_of_a_folder_are_counted_together(ending, tmp_path):
    for number in range(3):
        write_table(read_table(VALUES), tmp_path / f"{number}.{ending}")
    assert count_rows(tmp_path) == 21
    assert count_rows(tmp_path / f"[12].{ending}") == 14


def test_what_is_in_memory_is_counted(monkeypatch):
    frames = [VALUES, pd.DataFrame(VALUES), pl.DataFrame(VALUES), pl.LazyFrame(VALUES), pa.table(VALUES)]
    frames += [read_table(VALUES), open_relation(VALUES), duckdb.sql("SELECT * FROM range(7)")]
    assert [count_rows(frame) for frame in frames] == [7] * len(frames)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a\n1\n2\n")))
    assert count_rows("-") == 2


def test_a_lazy_frame_is_not_collected():
    def refuse(frame):
        raise AssertionError("the rows were asked for")

    lazy = pl.LazyFrame({"n": np.arange(5)})
    assert count_rows(lazy.with_columns(m=pl.col("n").map_batches(refuse, return_dtype=pl.Int64))) == 5


BROKEN = {
    "quote.csv": b'a,b\n1,2\n3,"4\n',
    "cells.csv": b"a,b\n1,2\n3\n",
    "empty.csv": b"a,b\n",
    "twice.csv": b"a,a\n1,2\n",
    "cut.csv.gz": gzip.compress(b"a,b\n1,2\n" * 99)[:-9],
    "line.jsonl": b'{"a": 1}\n[1]\n{"a": 2}\n',
    "null.jsonl": b'{"a": 1}\nnull\n',
    "bytes.jsonl": b'{"a": 1}\n{"a": "\xff"}\n',
    "key.jsonl": b'{"a": 1}\n{"a": 2, "b": 0, "a": 3}\n',
    "keyless.jsonl": b"{}\n{}\n",
    "blank.jsonl": b"\n\n",
    "no.parquet": b"PAR1" + b"x" * 20 + b"PAR1",
    "zero.csv": b"",
    "pool.xlsx": b"x",
}


@pytest.mark.parametrize("name", list(BROKEN))
def test_what_cannot_be_read_is_refused_in_the_same_words(name, tmp_path, complaint):
    path = tmp_path / name
    path.write_bytes(BROKEN[name])
    assert complaint(count_rows, path) == complaint(read_table, path)


def test_nothing_is_no_table(tmp_path, complaint):
    assert complaint(count_rows, tmp_path / "none.csv").endswith("none.csv does not exist; check the path")
    for empty in (pl.LazyFrame({"a": []}), pl.DataFrame({"a": []}), duckdb.sql("SELECT 1 AS a LIMIT 0")):
        assert complaint(count_rows, empty, name="pool") == "pool has no rows; there is nothing to work on"


def test_names_that_differ_in_capitals_are_no_hindrance(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("A,a\n1,2\n")
    assert count_rows(path) == 1


def test_groups_are_counted_where_they_are(tmp_path):
    table = read_table({"topic": ["b", "a", None, "b"], "n": [1.0, 2.0, 2.0, 0.5]})
    for ending in ("parquet", "csv", "jsonl"):
        write_table(table, tmp_path / f"t.{ending}")
        assert count_groups(tmp_path / f"t.{ending}", "topic") == {"": 1, "a": 1, "b": 2}
        assert count_groups(tmp_path / f"t.{ending}", "n")["2" if ending != "csv" else "2.0"] == 2
    assert count_groups(table, "topic") == {"": 1, "a": 1, "b": 2}
    with pytest.raises(TableError, match="no column 'x'"):
        count_groups(tmp_path / "t.parquet", "x")
