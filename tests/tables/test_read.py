import gzip
import io
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ratewise.tables import read_table, write_table

POSIX = pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
POOL = b"id,judge,human\n007,0.25,\nb,0.5,1\n\xf0\x9f\x98\x80,-3e-2,0\n"


def piped(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def check_pool(table):
    assert (table.rows, table.columns) == (3, ("id", "judge", "human"))
    assert table.ids().tolist() == ["007", "b", "😀"]
    assert table.numbers("judge").tolist() == [0.25, 0.5, -0.03]
    np.testing.assert_array_equal(table.numbers("human", missing="allow"), [np.nan, 1.0, 0.0])


@pytest.fixture
def pool(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_bytes(POOL)
    return path


def test_a_path_may_be_text_or_an_object(pool):
    for source in (str(pool), pool):
        table = read_table(source)
        check_pool(table)
        assert table.name == "pool.csv"
    assert read_table(pool, name="the pool").name == "the pool"


def test_a_relative_path_starts_at_the_current_directory(pool, monkeypatch):
    monkeypatch.chdir(pool.parent)
    check_pool(read_table("pool.csv"))


def test_a_table_is_returned_as_it_is(pool):
    table = read_table(pool)
    assert read_table(table) is table


def test_a_file_is_read_once(pool):
    table = read_table(pool)
    pool.unlink()
    check_pool(table)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "ndjson", "parquet", "pq", "csv.gz", "jsonl.gz", "CSV"])
def test_every_format_gives_the_same_table(pool, ending, tmp_path):
    path = tmp_path / f"copy.{ending}"
    write_table(read_table(pool), path)
    check_pool(read_table(path))


def test_standard_input_is_sniffed(pool, tmp_path, monkeypatch):
    for ending in ("csv", "jsonl", "parquet"):
        path = tmp_path / f"copy.{ending}"
        write_table(read_table(pool), path)
        piped(monkeypatch, path.read_bytes())
        table = read_table("-")
        check_pool(table)
        assert table.name == "standard input"


def test_a_byte_order_mark_belongs_to_no_name(pool, tmp_path, monkeypatch):
    mark = b"\xef\xbb\xbf"
    jsonl = tmp_path / "pool.jsonl"
    write_table(read_table(pool), jsonl)
    for path in (pool, jsonl):
        path.write_bytes(mark + path.read_bytes())
        check_pool(read_table(path))
        piped(monkeypatch, path.read_bytes())
        check_pool(read_table("-"))


@pytest.mark.parametrize("data", [b"", b" \n\n"])
def test_empty_standard_input_is_refused(data, monkeypatch, complaint):
    piped(monkeypatch, data)
    assert complaint(read_table, "-") == "standard input is empty; pass a CSV, JSONL or Parquet table to it"


def test_closed_standard_input_is_refused(monkeypatch, complaint):
    monkeypatch.setattr(sys, "stdin", None)
    assert complaint(read_table, "-").startswith("standard input is empty")


HOSTILE = ["a*", "a?", "[ab]", "a\\*", "a\\", "it's", 'say "a"', "a=1", "new\nline", "é😀", "{a,b}", "**", " "]
HOSTILE += ["-", "%41", "'; DROP TABLE data; --", "s3:", "~"]


@POSIX
@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("stem", HOSTILE)
def test_a_hostile_name_is_taken_literally(stem, ending, tmp_path):
    folder = tmp_path / "k=v"  # hive partitioning would add a column k
    folder.mkdir()
    decoys = [f"{decoy}.{ending}" for decoy in ("a1", "a", "b", "ab")]
    for decoy in decoys:
        write_table(read_table({"n": [0, 0], "m": [0, 0]}), folder / decoy)
    path = folder / f"{stem}.{ending}"
    write_table(read_table({"n": [11.5, -2.0, 4.25]}), path)
    table = read_table(path)
    assert table.columns == ("n",)
    assert table.numbers("n").tolist() == [11.5, -2.0, 4.25]
    assert sorted(os.listdir(folder)) == sorted([*decoys, path.name])


def test_a_name_with_a_pattern_does_not_find_other_files(tmp_path, complaint):
    (tmp_path / "a1.csv").write_text("n\n1\n")
    assert complaint(read_table, tmp_path / "a?.csv").endswith("a?.csv does not exist; check the path")


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has file names that are no text")
def test_a_name_that_is_no_text_is_read(pool, tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff.csv"
    os.rename(pool, path)
    table = read_table(Path(os.fsdecode(path)))
    check_pool(table)
    assert table.name == "\\udcff.csv"


def test_a_missing_file_is_refused(tmp_path, complaint):
    path = tmp_path / "pol.csv"
    assert complaint(read_table, path) == f"{path} does not exist; check the path"
    assert complaint(read_table, "http://localhost:1/pool.csv").endswith("pool.csv does not exist; check the path")


def test_a_directory_is_refused(tmp_path, complaint):
    folder = tmp_path / "pool.csv"
    folder.mkdir()
    assert complaint(read_table, folder) == f"{folder} is a directory; give the path of a table in it"


def test_an_empty_file_is_refused(tmp_path, complaint):
    for name in ("pool.csv", "pool.jsonl", "pool.parquet"):
        path = tmp_path / name
        path.touch()
        assert complaint(read_table, path) == f"{path} is empty; a table has a header and rows"


def test_another_ending_is_refused(tmp_path, complaint):
    path = tmp_path / "pool.xlsx"
    path.write_bytes(POOL)
    assert complaint(read_table, path).startswith(f"{path} is not a table by its ending; the legal endings are .csv,")


@POSIX
def test_a_pipe_with_a_name_is_refused(tmp_path, complaint):
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    assert "is not a regular file; give - and pass the table to standard input" in complaint(read_table, path)


def test_a_broken_gzip_file_is_refused(tmp_path, complaint):
    path = tmp_path / "pool.csv.gz"
    path.write_bytes(POOL)
    assert complaint(read_table, path).startswith("pool.csv.gz cannot be read: Not a gzipped file")
    path.write_bytes(gzip.compress(POOL * 1000)[:-9])
    assert complaint(read_table, path).startswith("pool.csv.gz cannot be read: Compressed file ended before")
    whole = bytearray(gzip.compress(POOL * 1000, mtime=0))
    whole[20] ^= 0xFF
    path.write_bytes(whole)
    assert complaint(read_table, path).startswith("pool.csv.gz cannot be read: ")


@pytest.mark.parametrize("source", [None, 7, [1, 2], np.zeros(3), object()])
def test_what_is_no_table_is_refused(source, complaint):
    assert complaint(read_table, source) == (
        f"{type(source).__name__} is not a table; give a path, - for standard input,"
        " a pandas, Polars or PyArrow table, or a mapping of column names to values"
    )


@POSIX
def test_nothing_is_left_in_the_temporary_folder(pool, tmp_path, monkeypatch):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    hostile = pool.rename(pool.with_name("a*.csv"))
    check_pool(read_table(hostile))
    piped(monkeypatch, POOL)
    check_pool(read_table("-"))
    assert list(temporary.iterdir()) == []


def test_threads_may_share_a_table(tmp_path):
    rows = 20_000
    values = {f"n{shift}": np.arange(rows) * 1.5 + shift for shift in range(4)}
    path = tmp_path / "wide.csv"
    write_table(read_table(values), path)
    table = read_table(path)
    columns = [f"n{turn % 4}" for turn in range(64)]
    with ThreadPoolExecutor(8) as pool:
        for column, found in zip(columns, pool.map(table.numbers, columns), strict=True):
            np.testing.assert_array_equal(found, values[column])


def test_standard_input_is_known_by_its_content(monkeypatch):
    def read_piped(data, **options):
        piped(monkeypatch, data)
        return read_table("-", **options)

    fixtures = Path(__file__).parent / "adapters" / "fixtures"
    for name in ("inspect_ai.eval", "inspect_ai.json", "promptfoo.json", "promptfoo.jsonl"):
        data, read = (fixtures / name).read_bytes(), read_table(fixtures / name)
        assert read_piped(data).columns == read.columns
        assert read_piped(gzip.compress(data)).rows == read.rows
    assert read_piped(data, format="promptfoo").name == "standard input"
    assert read_piped(gzip.compress(b"a,b\n1,2\n")).numbers("b").tolist() == [2.0]
    assert read_piped(b'{"a"\n1\n', format="csv").rows == 1


def test_a_plain_format_is_insisted_on(tmp_path, complaint):
    """Votes that would be read as Arena's; and endings that say nothing."""
    votes = tmp_path / "votes.csv"
    votes.write_text("winner_model_a,winner_model_b\n1,0\n")
    assert "winner" in read_table(votes).columns
    assert read_table(votes, format="csv").columns == ("winner_model_a", "winner_model_b")
    other = votes.rename(tmp_path / "votes.txt")
    assert read_table(other, format="csv").rows == 1
    assert "row 1 of votes.txt is not a JSON object" in complaint(read_table, other, format="jsonl")
