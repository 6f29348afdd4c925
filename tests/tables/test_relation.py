import gc
import gzip
import os
import re
import subprocess
import sys

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ratewise.tables import count_groups, open_relation, read_table, write_table

from .without import NO_FRAMES

ROWS = 1_000
RNG = np.random.default_rng(14)
VALUES = {
    "id": np.array([f"item-{number}" for number in range(ROWS)], dtype=object),
    "judge": RNG.random(ROWS),
    "human": np.where(RNG.random(ROWS) < 0.3, RNG.integers(0, 2, ROWS) * 1.0, np.nan),
    "model": np.array(["b", "a,a", "c\nc", None], dtype=object)[RNG.integers(4, size=ROWS)],
}
SOURCES = ["csv", "csv.gz", "jsonl", "parquet", "folder", "pattern", "csv folder", "jsonl folder"]
SOURCES += ["pandas", "polars", "pyarrow", "lazy polars", "duckdb", "mapping", "table"]
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "lazy polars": pl.LazyFrame}


def parts(folder, ending):
    """The same table in three files of different sizes; beside them what is no part of it."""
    folder.mkdir()
    for number, rows in enumerate((slice(0, 10), slice(10, 700), slice(700, None))):
        part = {name: values[rows] for name, values in VALUES.items()}
        write_table(read_table(part), folder / f"part-{number}.{ending}")
    (folder / "_SUCCESS").touch()
    (folder / ".part-0.crc").touch()
    (folder / "notes.txt").write_text("none")
    return folder


def source(kind, tmp_path):
    if kind in FRAMES:
        model = [None if value is None else str(value) for value in VALUES["model"]]
        return FRAMES[kind]({**VALUES, "model": model})
    if kind == "mapping":
        return VALUES
    if kind == "table":
        return read_table(VALUES)
    if "folder" in kind or kind == "pattern":
        folder = parts(tmp_path / "parts", kind.partition(" ")[0] if " " in kind else "parquet")
        return folder if "folder" in kind else os.path.join(folder, "part-*.parquet")
    path = tmp_path / f"pool.{'parquet' if kind == 'duckdb' else kind}"
    write_table(read_table(VALUES), path)
    return duckdb.connect().sql(f"SELECT * FROM '{path}'") if kind == "duckdb" else path


@pytest.fixture(params=SOURCES)
def kind(request):
    return request.param


@pytest.fixture
def pool(kind, tmp_path):
    return open_relation(source(kind, tmp_path))


def test_every_source_has_the_rows_and_columns(pool):
    assert pool.count() == ROWS
    assert pool.columns == tuple(VALUES)


def asked(pool, answers, groups=""):
    """Answers in SQL, in which n(column) is a number and t(column) a text."""
    sql = re.sub(r"n\((\w+)\)", lambda found: pool.number_in_sql(found[1]).sql, answers)
    sql = re.sub(r"t\((\w+)\)", lambda found: pool.text_in_sql(found[1]), sql)
    return pool.ask(f"SELECT {sql} FROM {pool.source_in_sql()} {groups}")


def test_every_source_answers_questions_in_sql(pool):
    found = asked(
        pool, "count(*) AS n, count(n(human)) AS l, avg(n(judge)) AS m, max(n(judge)) AS b, sum(n(human)) AS s"
    )
    human = VALUES["human"]
    assert {name: values.shape for name, values in found.items()} == dict.fromkeys(found, (1,))
    assert found["n"][0] == ROWS
    assert found["l"][0] == np.count_nonzero(~np.isnan(human))
    assert found["m"][0] == pytest.approx(VALUES["judge"].mean(), rel=1e-12)
    assert found["b"][0] == VALUES["judge"].max()
    assert found["s"][0] == np.nansum(human)


def test_every_source_gives_the_same_groups(pool):
    found = asked(pool, "t(model) AS g, count(*) AS n, sum(n(judge)) AS s", "GROUP BY g ORDER BY g")
    assert found["g"].tolist() == ["", "a,a", "b", "c\nc"]
    assert count_groups(pool, "model") == dict(zip(found["g"].tolist(), found["n"].tolist(), strict=True))
    for name, rows, total in zip(*found.values(), strict=True):
        chosen = VALUES["model"] == name if name else np.equal(VALUES["model"], None)
        assert rows == np.count_nonzero(chosen)
        assert total == pytest.approx(VALUES["judge"][chosen].sum(), rel=1e-12)


def test_every_source_gives_a_few_columns_as_arrays(pool):
    table = pool.table("human", "id")
    assert table.columns == ("human", "id")
    np.testing.assert_array_equal(table.texts("id"), VALUES["id"])
    np.testing.assert_array_equal(table.numbers("human", missing="allow"), VALUES["human"])


def test_every_source_is_scanned_in_its_order(pool):
    batches = list(pool.scan("judge", "id", rows=300))
    assert max(batch.rows for batch in batches) == 300
    assert {batch.columns for batch in batches} == {("judge", "id")}
    np.testing.assert_array_equal(np.concatenate([batch.texts("id") for batch in batches]), VALUES["id"])
    np.testing.assert_array_equal(np.concatenate([batch.numbers("judge") for batch in batches]), VALUES["judge"])


def test_every_source_checks_ids(pool, complaint):
    pool.check_ids("id")
    assert "column 'model' of " in complaint(pool.check_ids, "model")


def test_the_first_repeated_id_is_named(tmp_path, complaint):
    for ending in ("csv", "parquet"):
        path = tmp_path / f"pool.{ending}"
        write_table(read_table({"id": ["a", "b", "c", "b", "a"]}), path)
        assert "has the id 'b' twice, in rows 2 and 4 (" in complaint(open_relation(path).check_ids, "id")


def test_an_unknown_column_is_refused_with_a_suggestion(pool, complaint):
    ending = "has no column 'jugde'; did you mean 'judge'? its columns are 'id', 'judge', 'human', 'model'"
    for ask in (pool.table, pool.scan, pool.check_ids, pool.text_in_sql):
        assert complaint(ask, "jugde").endswith(ending)


def test_words_and_blanks_are_the_numbers_of_a_table(tmp_path):
    cells = [" True", "false", "", " 1e-2\t", "-3", "nan"]
    path = tmp_path / "pool.csv"
    path.write_text("n,m\n" + "".join(f"{cell},x\n" for cell in cells))
    expected = read_table(path).numbers("n", missing="allow")
    for relation in (open_relation(path), open_relation(pl.DataFrame({"n": cells, "m": ["x"] * 6}))):
        found = asked(relation, "count(n(n)) AS n, sum(n(n)) AS s")
        assert found["n"][0] == np.count_nonzero(~np.isnan(expected))
        assert found["s"][0] == pytest.approx(np.nansum(expected), rel=1e-12)


@pytest.mark.parametrize("kind", ["csv", "polars", "lazy polars"])
def test_whatever_an_engine_complains_about_is_one_line(kind, tmp_path, complaint):
    relation = open_relation(source(kind, tmp_path), name="pool")
    assert complaint(relation.ask, "SELECT nothing").startswith("pool cannot answer: ")
    lazy = pl.LazyFrame({"a": ["x"]}).with_columns(pl.col("a").cast(pl.Int64))
    assert complaint(open_relation, lazy, name="pool").startswith("pool cannot answer: ")


def test_what_is_no_number_has_no_sql():
    assert open_relation(pl.DataFrame({"l": [[1], [2]]})).number_in_sql("l") is None


class TestFiles:
    def test_parts_may_have_other_types_and_another_order(self, tmp_path):
        """By the first file alone, 0.5 would be read as a whole number."""
        write_table(read_table({"id": [1, 2], "n": [3, 4]}), tmp_path / "a.parquet")
        write_table(read_table({"n": [0.5], "id": ["x"]}), tmp_path / "b.parquet")
        found = open_relation(tmp_path)
        assert found.table("n").numbers("n").tolist() == [3, 4, 0.5]
        assert found.table("id").texts("id").tolist() == ["1", "2", "x"]
        assert [part.numbers("n").tolist() for part in found.scan("n", rows=1)] == [[3], [4], [0.5]]
        assert {part.arrays()["n"].dtype.kind for part in found.scan("n", rows=1)} == {"f"}  # in every batch
        assert asked(found, "sum(n(n)) AS n")["n"].tolist() == [7.5]

    def test_a_column_of_jsonl_is_of_one_kind_in_all_files(self, tmp_path):
        (tmp_path / "a.jsonl").write_text('{"a": 1}\n{"a": true}\n')
        (tmp_path / "b.jsonl").write_text('{"a": "x", "b": 2}\n')
        table = open_relation(tmp_path).table()
        assert table.texts("a").tolist() == ["1", "true", "x"]
        np.testing.assert_array_equal(table.numbers("b", missing="allow"), [np.nan, np.nan, 2])

    @pytest.mark.parametrize("ending", ["csv", "parquet"])
    def test_parts_have_the_same_columns(self, ending, tmp_path, complaint):
        write_table(read_table({"id": [1], "n": [3]}), tmp_path / f"a.{ending}")
        write_table(read_table({"id": [2], "m": [3]}), tmp_path / f"b.{ending}")
        assert complaint(open_relation, tmp_path) == (
            f"a.{ending} has no column 'm', which b.{ending} has; add it, or leave the file out"
        )

    def test_formats_are_not_mixed(self, tmp_path, complaint):
        for ending in ("csv", "parquet"):
            write_table(read_table({"id": [1]}), tmp_path / f"a.{ending}")
        message = complaint(open_relation, tmp_path)
        assert message.startswith(f"{tmp_path} holds CSV and Parquet files; name those of one format, such as ")
        assert open_relation(tmp_path / "*.csv").count() == 1

    def test_nothing_is_refused(self, tmp_path, complaint):
        assert "has no table in it; the legal endings are .csv," in complaint(open_relation, tmp_path)
        pattern = tmp_path / "*.csv"
        assert complaint(open_relation, pattern) == f"no table matches {pattern}; check the pattern"
        assert complaint(open_relation, tmp_path / "a.csv").endswith("a.csv does not exist; check the path")
        write_table(read_table({"id": [1]}), tmp_path / "a.csv")
        (tmp_path / "a.csv").write_text("id\n")
        assert complaint(open_relation, tmp_path / "a.csv") == "a.csv has no rows; there is nothing to work on"

    def test_a_name_that_looks_like_a_pattern_is_a_name(self, tmp_path):
        for stem, value in (("a[1]", 1), ("a1", 2)):
            write_table(read_table({"n": [value]}), tmp_path / f"{stem}.parquet")
        assert open_relation(tmp_path / "a[1].parquet").table().numbers("n").tolist() == [1]

    def test_names_that_differ_in_capitals_are_two_columns(self, tmp_path):
        path = tmp_path / "pool.csv"
        path.write_text("A,a\n1,2\n")
        relation = open_relation(path)
        assert relation.count() == 1
        assert [relation.table("a").numbers("a")[0], relation.table("A").numbers("A")[0]] == [2, 1]

    def test_a_file_that_changed_is_refused(self, tmp_path, complaint):
        path = tmp_path / "pool.parquet"
        write_table(read_table({"n": [1, 2]}), path)
        relation = open_relation(path)
        kept = relation.table()
        write_table(read_table({"n": [3, 4, 5]}), path)
        assert complaint(relation.table) == "pool.parquet has changed since it was opened; open it again"
        assert complaint(relation.source_in_sql).endswith("open it again")
        path.unlink()
        assert complaint(lambda: list(relation.scan())).endswith("open it again")
        assert kept.numbers("n").tolist() == [1, 2]

    def test_broken_text_is_refused_as_by_read_table(self, tmp_path, complaint):
        (tmp_path / "a.csv").write_text("a,b\n1,2\n")
        (tmp_path / "b.csv").write_text('a,b\n1,2\n3,"4\n')
        message = complaint(open_relation, tmp_path)
        assert message == complaint(read_table, tmp_path / "b.csv")
        (tmp_path / "c.parquet").write_bytes(b"PAR1" + b"x" * 20 + b"PAR1")
        message = complaint(open_relation, tmp_path / "c.parquet")
        assert message.startswith("c.parquet cannot be read as Parquet: ")
        assert str(tmp_path) not in message
        (tmp_path / "d.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n" * 99)[:-9])
        assert complaint(open_relation, tmp_path / "d.csv.gz").startswith("d.csv.gz cannot be read: ")


def test_nothing_is_left_in_the_temporary_folder(tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    path = tmp_path / "more.csv"
    path.write_text("id,n\na,1\nb,2\n")
    relation = open_relation(path)
    assert list(relation.scan("n", rows=1))[1].numbers("n").tolist() == [2]
    assert len(list(temporary.iterdir())) == 1
    del relation
    gc.collect()
    assert list(temporary.iterdir()) == []


def test_a_relation_is_returned_as_it_is(tmp_path):
    relation = open_relation({"a": [1]}, name="pool")
    assert open_relation(relation) is relation
    assert repr(relation) == "Relation(name='pool', columns=('a',))"


def test_an_empty_batch_is_refused(complaint):
    assert complaint(open_relation({"a": [1]}).scan, "a", rows=0) == "a batch has at least 1 row; got rows=0"


MEMORY = """
import re, sys
from ratewise.tables import open_relation

def peak():
    return int(re.findall(r"VmHWM:\\s*(\\d+) kB", open("/proc/self/status").read())[0]) / 1024

before = peak()
pool = open_relation(sys.argv[1])
assert pool.ask(f"SELECT avg(c1) AS m, count(*) AS n FROM {pool.source_in_sql()} GROUP BY c2")["n"].sum() == 3_000_000
total = sum(part.numbers("judge").sum() for part in pool.scan("judge", "id", rows=100_000))
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read where only Linux has it")
def test_memory_does_not_grow_with_the_file(tmp_path):
    path = tmp_path / "pool.parquet"
    query = "SELECT 'item-' || range AS id, hash(range) / 2.0**64 AS judge, 'm' || (range % 5) AS model"
    duckdb.sql(f"COPY ({query} FROM range(3000000)) TO '{path}'")
    done = subprocess.run([sys.executable, "-c", MEMORY, path], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 120  # loaded, the three columns take 200 MB and as Python texts twice that


WITHOUT_FRAMES = (
    NO_FRAMES
    + """
from ratewise.tables import open_relation

pool = open_relation(sys.argv[1])
print([part.numbers("n").tolist() for part in pool.scan("n", rows=2)])
pool.check_ids("id")
"""
)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files_need_no_frame_library(ending, tmp_path):
    path = tmp_path / f"pool.{ending}"
    write_table(read_table({"id": ["c", "a", "b"], "n": [1.5, 2, 3], "g": ["x", "y", "x"]}), path)
    command = [sys.executable, "-W", "error", "-c", WITHOUT_FRAMES, path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[[1.5, 2.0], [3.0]]",
    ]


def test_rows_that_a_column_picks(tmp_path, complaint):
    columns = {"id": ["a", "b", "c", "d"], "selected": [True, False, None, True]}
    write_table(read_table(columns), tmp_path / "a.parquet")
    pool = open_relation(tmp_path)
    assert pool.where("selected").ids().tolist() == ["a", "d"]
    assert open_relation(columns).where("selected").rows == 2
    assert complaint(open_relation({"x": [0, 0]}).where, "x") == "no row of table is x; there is nothing to ask"
    assert complaint(pool.where, "id").endswith("holds something else than numbers")


def test_nan_in_a_file_of_polars_is_no_value(tmp_path):
    """Its statistics leave NaN out, and DuckDB believes them."""
    pl.DataFrame({"h": [np.nan, 1.0, np.nan, 0.5]}).write_parquet(tmp_path / "a.parquet")
    pool = open_relation(tmp_path / "a.parquet")
    number = pool.number_in_sql("h")
    for given in (f"{number.sql} IS NOT NULL", number.given, number.true):
        found = pool.ask(f"SELECT count(*) AS n, sum(c0) AS s FROM {pool.source_in_sql()} WHERE {given}")
        assert (found["n"][0], found["s"][0]) == (2, 1.5)
    assert pool.table("h").texts("h", missing="allow").tolist() == ["", "1", "", "0.5"]
