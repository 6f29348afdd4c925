import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from ratewise.tables import read_table

from .without import NO_FRAMES

VALUES = {
    "id": ["007", "b", "😀", "d"],
    "judge": [0.25, -3.0, 1e-3, 7.5],
    "human": [None, 1.0, None, 0.0],
    "votes": [3, None, 2**60 + 1, 0],
    "good": [True, None, False, True],
    "note": ["a", None, "b,\n", "<script>"],
}


def pandas_frame():
    frame = pd.DataFrame({**VALUES, "votes": pd.array(VALUES["votes"], dtype="Int64")}, index=[4, 4, 1, 9])
    return frame.astype({"human": float})


FRAMES = {
    "pandas": pandas_frame(),
    "pandas, nullable": pandas_frame().convert_dtypes(),
    "polars": pl.DataFrame(VALUES),
    "pyarrow": pa.table(VALUES),
    "mapping": VALUES,
}


@pytest.fixture(params=list(FRAMES))
def frame(request):
    return FRAMES[request.param]


def test_every_frame_is_the_same_table(frame):
    table = read_table(frame)
    assert (table.name, table.rows, table.columns) == ("table", 4, tuple(VALUES))
    assert table.ids().tolist() == VALUES["id"]
    assert table.numbers("judge").tolist() == VALUES["judge"]
    np.testing.assert_array_equal(table.numbers("human", missing="allow"), [np.nan, 1, np.nan, 0])
    np.testing.assert_array_equal(table.numbers("good", missing="allow"), [1, np.nan, 0, 1])
    assert table.texts("votes", missing="allow").tolist() == ["3", "", "1152921504606846977", "0"]
    assert table.texts("note", missing="allow").tolist() == ["a", "", "b,\n", "<script>"]


def test_a_name_may_be_given(frame):
    assert read_table(frame, name="the pool").name == "the pool"


def added(frame):
    new = {"rate": np.array([0.5, 0.25, 1.0, 0.125]), "selected": np.array([True, False, False, True])}
    return (
        read_table(frame)
        .with_columns({**new, "group": np.array(["x", "y", "x", "z"], dtype=np.dtypes.StringDType())})
        .to_native()
    )


def test_pandas_comes_back_with_its_index_and_types():
    frame = FRAMES["pandas, nullable"]
    back = added(frame)
    assert type(back) is pd.DataFrame
    pd.testing.assert_frame_equal(back[list(VALUES)], frame)
    assert back["rate"].tolist() == [0.5, 0.25, 1.0, 0.125]
    assert back["selected"].dtype == bool
    assert back["group"].tolist() == ["x", "y", "x", "z"]
    assert list(frame.columns) == list(VALUES)


def test_polars_comes_back():
    back = added(FRAMES["polars"])
    assert back.drop("rate", "selected", "group").equals(FRAMES["polars"])
    assert back.schema["rate"] == pl.Float64
    assert back.schema["selected"] == pl.Boolean
    assert back["group"].to_list() == ["x", "y", "x", "z"]


def test_pyarrow_comes_back():
    back = added(FRAMES["pyarrow"])
    assert back.select(list(VALUES)).equals(FRAMES["pyarrow"])
    assert back.schema.field("selected").type == pa.bool_()
    assert back["group"].to_pylist() == ["x", "y", "x", "z"]


def test_a_mapping_comes_back():
    back = added(FRAMES["mapping"])
    assert list(back) == [*VALUES, "rate", "selected", "group"]
    assert back["note"].tolist() == VALUES["note"]
    assert back["selected"].tolist() == [True, False, False, True]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_a_column_is_replaced_in_its_place(kind):
    table = read_table(FRAMES[kind]).with_columns({"judge": np.array([4.0, 3.0, 2.0, 1.5])}, replace=True)
    back = read_table(table.to_native())
    assert back.columns == tuple(VALUES)
    assert back.numbers("judge").tolist() == [4.0, 3.0, 2.0, 1.5]


def test_times_may_be_added_to_every_frame():
    days = np.array(["2024-02-29", "2023-01-01", "1970-01-01", "2000-12-31"], dtype="datetime64[D]")
    for frame in FRAMES.values():
        back = read_table(read_table(frame).with_columns({"day": days, "gap": days - days[2]}).to_native())
        assert back.texts("day").tolist()[0].startswith("2024-02-29")
        assert back.texts("gap").tolist()[2] == "00:00:00"


def test_a_lazy_frame_is_collected():
    table = read_table(pl.LazyFrame(VALUES).filter(pl.col("judge") > 0))
    assert table.ids().tolist() == ["007", "😀", "d"]
    assert isinstance(table.to_native(), pl.DataFrame)


def test_gaps_of_categories_stay_gaps():
    text = pa.array(["a", None, "b", "a"])
    for frame in (
        pa.table({"c": text.dictionary_encode()}),
        pd.DataFrame({"c": pd.Categorical(["a", None, "b", "a"])}),
        pl.DataFrame({"c": pl.Series(["a", None, "b", "a"], dtype=pl.Categorical)}),
        pl.DataFrame({"c": pl.Series(["a", None, "b", "a"], dtype=pl.Enum(["a", "b"]))}),
    ):
        assert read_table(frame).texts("c", missing="allow").tolist() == ["a", "", "b", "a"]


def test_a_table_without_rows_or_columns_is_refused(complaint):
    no_rows = "pool has no rows; there is nothing to work on"
    for frame in ({"a": []}, pd.DataFrame({"a": []}), pl.DataFrame({"a": []}), pa.table({"a": pa.array([])})):
        assert complaint(read_table, frame, name="pool") == no_rows
    for frame in ({}, pd.DataFrame(), pl.DataFrame()):
        assert complaint(read_table, frame, name="pool") == "pool has no columns; there is nothing to work on"


def test_repeated_names_are_refused(complaint):
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["b", "a", "a"])
    for frame in (twice, pd.DataFrame([[1, 2, 3]], columns=["b", "a", "a"])):
        message = complaint(read_table, frame, name="pool")
        assert message == "pool has two columns with the name 'a'; rename one"


def test_names_that_are_no_text_are_refused(complaint):
    message = "the column 0 of table is not named by text; name it '0'"
    assert complaint(read_table, pd.DataFrame([[1, 2]])) == message
    assert complaint(read_table, {0: [1]}) == message


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"a": [1, 2], "b": [1, 2, 3]},
            "column 'b' of table has 3 rows, but column 'a' has 2; all columns must",
        ),
        ({"a": [[1, 2], [3, 4]]}, "column 'a' of table has 2 dimensions; a column has one"),
        ({"a": 5}, "column 'a' of table has 0 dimensions; a column has one"),
        ({"a": [[1, 2], [3]]}, "column 'a' of table is not a row of values: "),
    ],
)
def test_a_mapping_of_other_shapes_is_refused(columns, message, complaint):
    assert complaint(read_table, columns).startswith(message)


WITHOUT_FRAMES = (
    NO_FRAMES
    + """
from ratewise.tables import read_table, write_table

folder = sys.argv[1]
table = read_table(f"{folder}/pool.csv").with_columns({"m": [1.5, 2.5], "t": ["x", None]})
for ending in ("csv", "jsonl", "parquet"):
    write_table(table, f"{folder}/out.{ending}")
    back = read_table(f"{folder}/out.{ending}")
    print(back.ids(), back.numbers("n", missing="allow"), back.numbers("m"), back.to_native()["t"])
"""
)


def test_files_and_mappings_need_no_frame_library(tmp_path):
    (tmp_path / "pool.csv").write_text("id,n\na,1\nb,\n")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", WITHOUT_FRAMES, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.stderr == ""
    assert done.stdout == "['a' 'b'] [ 1. nan] [1.5 2.5] ['x' None]\n" * 3
