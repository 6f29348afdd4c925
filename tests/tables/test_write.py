import contextlib
import csv
import datetime as dt
import io
import json
import os
import struct
import sys

import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratewise.tables import read_table, write_table
from ratewise.tables import write as writing

NASTY = [
    "plain",
    'say "hi"',
    "a,b",
    "l1\nl2\r\nl3",
    "😀 é",
    "<script>alert('x')</script>",
    " padded ",
    "#no",
    "''",
]
ENDINGS = ["csv", "jsonl", "parquet", "csv.gz", "jsonl.gz"]


@pytest.fixture
def pool(tmp_path):
    path = tmp_path / "pool.csv"
    rows = [[f"{number:03}", text, "" if number % 3 else f"{number / 7}"] for number, text in enumerate(NASTY)]
    with open(path, "w", newline="", encoding="utf-8") as file:
        csv.writer(file, lineterminator="\n").writerows([["id", "text, quoted", "Human"], *rows])
    return path


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_csv_is_written_as_it_was_read(pool, tmp_path):
    copy = tmp_path / "copy.csv"
    write_table(read_table(pool), copy)
    assert rows_of(copy) == rows_of(pool)


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_format_keeps_every_cell(pool, ending, tmp_path):
    table = read_table(pool)
    rates = np.array([0.1 + 0.2, 1 / 3, 5e-324, -0.0, 1e22, 9.999999999999999e49, 2**53 + 2.0, 7, np.nan])
    wider = table.with_columns({"rate": rates, "selected": rates > 1, "n": np.arange(9) + 2**60})
    path = tmp_path / f"out.{ending}"
    write_table(wider, path)
    back = read_table(path)
    assert back.columns == ("id", "text, quoted", "Human", "rate", "selected", "n")
    assert back.ids().tolist() == [f"{number:03}" for number in range(9)]
    assert back.texts("text, quoted").tolist() == NASTY
    human = [str(number / 7) if number % 3 == 0 else "" for number in range(9)]
    assert back.texts("Human", missing="allow").tolist() == human
    found = back.numbers("rate", missing="allow")
    assert found[:-1].tobytes() == rates[:-1].tobytes()  # also the sign of zero
    assert np.isnan(found[-1])
    assert back.numbers("selected").tolist() == (rates > 1).tolist()
    assert back.texts("n").tolist() == [str(2**60 + number) for number in range(9)]


@pytest.mark.parametrize("first", ENDINGS)
@pytest.mark.parametrize("second", ENDINGS)
def test_formats_translate_into_each_other(pool, first, second, tmp_path):
    one, two, back = tmp_path / f"1.{first}", tmp_path / f"2.{second}", tmp_path / "back.csv"
    write_table(read_table(pool), one)
    write_table(read_table(one), two)
    write_table(read_table(two), back)
    assert rows_of(back) == rows_of(pool)


FLOATS = st.lists(st.floats(-1e50, 1e50), min_size=1, max_size=30)  # larger ones are refused


@settings(max_examples=30, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(values=FLOATS, ending=st.sampled_from(["csv", "jsonl", "parquet"]))
def test_any_float_is_read_back_bit_by_bit(values, ending, tmp_path):
    path = tmp_path / f"floats.{ending}"
    write_table(read_table({"x": values, "y": values[::-1]}), path)
    back = read_table(path)
    assert struct.pack(f"{len(values)}d", *back.numbers("x")) == struct.pack(f"{len(values)}d", *values)
    assert back.numbers("y").tolist() == values[::-1]


NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1)
TEXTS = st.lists(st.text(st.characters(codec="utf-8"), min_size=1), min_size=1, max_size=20)


@settings(max_examples=40, deadline=None, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    values=TEXTS,
    name=NAMES,
    ending=st.sampled_from(["csv", "jsonl", "parquet"]),
)
def test_any_text_is_read_back(values, name, ending, tmp_path):
    path = tmp_path / f"texts.{ending}"
    columns = {name: values, "other column": np.arange(len(values))}
    write_table(read_table(columns), path)
    back = read_table(path)
    assert back.columns == tuple(columns)
    assert back.texts(back.columns[0]).tolist() == values


def test_the_cells_of_each_format(tmp_path):
    table = read_table(
        {
            "x": np.array([0.1, np.nan, 3.0]),
            "b": np.array([True, False, True]),
            "t": ["a", None, "007"],
            "n": [1, None, -3],
        }
    )
    write_table(table, tmp_path / "o.csv")
    assert (tmp_path / "o.csv").read_text() == "x,b,t,n\n0.1,true,a,1\n,false,,\n3.0,true,007,-3\n"
    write_table(table, tmp_path / "o.jsonl")
    assert list(map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())) == [
        {"x": 0.1, "b": True, "t": "a", "n": 1},
        {"x": None, "b": False, "t": None, "n": None},
        {"x": 3.0, "b": True, "t": "007", "n": -3},
    ]
    write_table(table, tmp_path / "o.parquet")
    arrow = pq.read_table(tmp_path / "o.parquet")
    assert list(map(str, arrow.schema.types)) == ["double", "bool", "string", "int64"]
    assert arrow["x"].to_pylist() == [0.1, None, 3.0]
    assert arrow["n"].to_pylist() == [1, None, -3]


def test_not_a_number_in_a_file_is_written_as_missing(tmp_path):
    pl.DataFrame({"x": [1.5, float("nan"), None]}).write_parquet(tmp_path / "in.parquet")
    table = read_table(tmp_path / "in.parquet")
    for ending, expected in (("csv", 'x\n1.5\n""\n""\n'), ("jsonl", '{"x":1.5}\n{"x":null}\n{"x":null}\n')):
        write_table(table, tmp_path / f"o.{ending}")
        assert (tmp_path / f"o.{ending}").read_text() == expected


def test_an_empty_cell_of_a_single_column_stays_a_row(tmp_path):
    write_table(read_table({"x": [1.5, np.nan, np.nan]}), tmp_path / "o.csv")
    assert rows_of(tmp_path / "o.csv") == [["x"], ["1.5"], [""], [""]]
    assert read_table(tmp_path / "o.csv").rows == 3


def test_types_of_parquet_survive(tmp_path):
    frame = pl.DataFrame(
        {
            "day": [dt.date(2024, 2, 29), None],
            "at": pl.Series([dt.datetime(2024, 2, 29, 1, 2), None]).dt.replace_time_zone("Asia/Tokyo"),
            "took": [dt.timedelta(hours=25), None],
            "l": [[1, 2], None],
            "s": [{"a": "x"}, None],
        }
    )
    frame.write_parquet(tmp_path / "in.parquet")
    write_table(read_table(tmp_path / "in.parquet").with_columns({"n": [1, 2]}), tmp_path / "o.parquet")
    back = pl.read_parquet(tmp_path / "o.parquet")
    assert back["day"].to_list() == frame["day"].to_list()
    assert back["at"].to_list() == frame["at"].to_list()
    assert back["l"].to_list() == [[1, 2], None]
    assert back["s"].to_list()[0] == {"a": "x"}
    assert back["n"].to_list() == [1, 2]


def test_json_values_of_several_kinds_survive(tmp_path):
    lines = [
        {"m": 1, "z": {"a": [1.5, None]}},
        {"m": "x", "z": None},
        {"m": [True], "z": {}},
        {"m": None, "z": 2},
    ]
    path = tmp_path / "in.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    write_table(read_table(path), tmp_path / "o.jsonl")
    assert list(map(json.loads, (tmp_path / "o.jsonl").read_text().splitlines())) == lines
    write_table(read_table(path), tmp_path / "o.csv")
    assert rows_of(tmp_path / "o.csv") == [
        ["m", "z"], ["1", '{"a":[1.5,null]}'], ["x", ""], ["[true]", "{}"], ["", "2"],
    ]  # fmt: skip
    write_table(read_table(path), tmp_path / "o.parquet")
    assert pl.read_parquet(tmp_path / "o.parquet")["m"].to_list() == ["1", "x", "[true]", None]


def test_csv_holds_any_name(tmp_path):
    names = ["", "A", "a", 'q"', "x,\ny", "\r", " pad ", "#", "'"]
    path = tmp_path / "o.csv"
    write_table(read_table({name: [number, 5.5] for number, name in enumerate(names)}), path)
    assert rows_of(path)[:2] == [names, [str(number) + ".0" for number in range(9)]]
    assert read_table(path).columns == tuple(names)
    for name in [*names, "\ufeffx"]:
        write_table(read_table({name: ["x"]}), path)
        assert read_table(path).columns == (name,)


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_names_that_a_format_cannot_hold_are_refused(ending, tmp_path, complaint):
    kind = {"jsonl": "JSONL", "parquet": "Parquet"}[ending]
    table = read_table({"Judge": [1], "x": [2], "judge": [3]}, name="pool")
    assert complaint(write_table, table, tmp_path / f"o.{ending}") == (
        f"columns 'Judge' and 'judge' of pool differ in capitals only; rename one, or write CSV instead of {kind}"
    )
    unnamed = read_table({"": [1], "x": [2]}, name="pool")
    assert complaint(write_table, unnamed, tmp_path / f"o.{ending}") == (
        f"a column of pool has no name; name it, or write CSV instead of {kind}"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_name_that_no_format_can_hold_is_refused(ending, tmp_path, complaint):
    table = read_table({"a": [1], "x\0y": [2]}, name="pool")
    assert complaint(write_table, table, tmp_path / f"o.{ending}") == (
        "the name of column 'x\\x00y' of pool cannot be written; rename it"
    )


def test_standard_output_is_csv(monkeypatch):
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out))
    write_table(read_table({"id": ["007", "é"], "ok": [True, False], "x": [None, 0.5]}), "-")
    assert out.getvalue().decode() == "id,ok,x\n007,true,\né,false,0.5\n"


def test_closed_standard_output_is_refused(monkeypatch, complaint):
    read_end, write_end = os.pipe()
    os.close(read_end)
    closed = os.fdopen(write_end, "w")
    monkeypatch.setattr(sys, "stdout", closed)
    assert complaint(write_table, read_table({"x": [1]}), "-") == "standard output cannot be written: broken pipe"
    with contextlib.suppress(BrokenPipeError):  # what could not be written is tried once more
        closed.close()


def test_a_file_is_replaced_also_while_it_is_the_source(pool):
    table = read_table(pool)
    write_table(table.with_columns({"rate": np.linspace(0, 1, 9)}), pool)
    assert rows_of(pool)[0] == ["id", "text, quoted", "Human", "rate"]
    assert read_table(pool).numbers("rate").tolist() == np.linspace(0, 1, 9).tolist()
    assert os.listdir(pool.parent) == ["pool.csv"]


def test_a_link_stays_a_link(pool, tmp_path):
    link = tmp_path / "link.csv"
    link.symlink_to(pool)
    write_table(read_table({"x": [1, 2]}), link)
    assert link.is_symlink()
    assert rows_of(pool) == [["x"], ["1"], ["2"]]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_failure_leaves_everything_as_it_was(ending, tmp_path, monkeypatch, complaint):
    path = tmp_path / f"o.{ending}"
    path.write_bytes(b"precious")

    def full(source, target):
        assert os.path.getsize(source) > 0
        assert os.path.dirname(source) == os.path.dirname(target)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(writing.os, "replace", full)
    message = complaint(write_table, read_table({"x": [1.5, 2.5]}), path)
    assert message == f"{path} cannot be written: no space left on device"
    assert path.read_bytes() == b"precious"
    assert os.listdir(tmp_path) == [path.name]


def test_an_interruption_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupted(source, target):
        raise KeyboardInterrupt

    monkeypatch.setattr(writing.os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_table(read_table({"x": [1.5, 2.5]}), tmp_path / "o.csv")
    assert os.listdir(tmp_path) == []


def test_a_file_may_be_read_by_others_as_far_as_the_system_allows(tmp_path):
    plain = tmp_path / "plain"
    plain.touch()
    write_table(read_table({"x": [1]}), tmp_path / "o.csv")
    assert (tmp_path / "o.csv").stat().st_mode == plain.stat().st_mode


def test_places_that_cannot_be_written_are_refused(tmp_path, complaint):
    table = read_table({"x": [1]})
    missing = tmp_path / "no" / "such" / "o.csv"
    expected = f"{missing} cannot be written: the folder {missing.parent} does not exist"
    assert complaint(write_table, table, missing) == expected
    (tmp_path / "dir.csv").mkdir()
    folder = tmp_path / "dir.csv"
    assert complaint(write_table, table, folder) == f"{folder} is a directory; give the path of a file"
    assert complaint(write_table, table, tmp_path / "o.xlsx").startswith(
        f"{tmp_path / 'o.xlsx'} is not a table by its ending; the legal endings are .csv,"
    )


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is a folder in which nobody may write")
def test_a_folder_without_permission_is_refused(complaint):
    message = complaint(write_table, read_table({"x": [1]}), "/proc/o.csv")
    assert message.startswith("/proc/o.csv cannot be written: ")
    assert ".tmp" not in message
