import dataclasses
import tracemalloc

import numpy as np
import pytest

from ratewise.tables import read_table
from ratewise.tables.cells import View

COUNTED = "(rows are counted from 1, without the header)"


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "pool.csv"
    path.write_text("key,judge,human score\n007,1.5,\n08,-2,1\n9,0.25,\n")
    return read_table(path)


def test_it_prints_what_it_is(table):
    assert repr(table) == "Table(name='pool.csv', rows=3, columns=('key', 'judge', 'human score'))"


def test_it_is_frozen(table):
    with pytest.raises(dataclasses.FrozenInstanceError):
        table.rows = 4
    assert not hasattr(table, "__dict__")


@pytest.mark.parametrize("method", ["numbers", "texts", "ids"])
def test_an_unknown_column_is_refused_with_a_suggestion(table, method, complaint):
    listed = "its columns are 'key', 'judge', 'human score'"
    ask = getattr(table, method)
    assert complaint(ask, "jugde") == f"pool.csv has no column 'jugde'; did you mean 'judge'? {listed}"
    assert complaint(ask, "zzz\n") == f"pool.csv has no column 'zzz\\n'; {listed}"
    assert complaint(ask, "Judge") == f"pool.csv has no column 'Judge'; did you mean 'judge'? {listed}"


def test_a_long_list_of_columns_is_cut(complaint):
    wide = read_table({f"x{number}": [number] for number in range(43)})
    message = complaint(wide.numbers, "y")
    assert message.endswith(" 'x38', 'x39' and 3 more")


class TestIds:
    def test_a_column_gives_its_texts(self, table):
        assert table.ids("key").tolist() == ["007", "08", "9"]

    def test_without_a_column_rows_are_numbered_from_zero(self, table):
        assert table.ids().tolist() == ["0", "1", "2"]
        assert table.ids().dtype == object
        many = read_table({"n": np.arange(12_345)})
        assert many.ids().tolist() == [str(number) for number in range(12_345)]

    def test_the_column_named_id_is_taken_if_there_is_one(self):
        assert read_table({"n": [5, 6], "id": [2.0, 11.0]}).ids().tolist() == ["2", "11"]

    def test_repeated_ids_are_refused(self, complaint):
        table = read_table({"id": ["a", "b", "c", "b", "a"], "n": [7, 1, 1.0, 2, 3]}, name="pool")
        assert complaint(table.ids) == (
            f"column 'id' of pool has the id 'b' twice, in rows 2 and 4 {COUNTED}; ids must be unique"
        )
        assert "has the id '1' twice, in rows 2 and 3 (" in complaint(table.ids, "n")

    def test_the_first_row_that_repeats_is_named(self, complaint):
        ids = np.arange(5_000).astype(object)
        ids[[4_000, 3_000, 2_999]] = 7, 9, 9
        assert "has the id '9' twice, in rows 10 and 3000 (" in complaint(read_table({"id": ids}).ids)

    def test_a_long_id_takes_no_more_room_than_itself(self):
        """As wide as the longest, these ids would take 1.6 GB."""
        ids = [str(number) for number in range(20_000)]
        ids[123] = "x" * 20_000
        tracemalloc.start()
        try:
            assert read_table({"id": ids}).ids()[123] == ids[123]
            assert tracemalloc.get_traced_memory()[1] < 50e6
        finally:
            tracemalloc.stop()

    def test_two_ids_may_have_one_hash(self, monkeypatch, complaint):
        """Which happens to one of 300,000 tables with ten million ids; here it is made to happen."""
        whole = View.fetch

        def fetch(view, **expressions):
            return {
                name: values * 0 if name == "hash" else values for name, values in whole(view, **expressions).items()
            }

        monkeypatch.setattr(View, "fetch", fetch)
        assert read_table({"id": ["b", "a", "c"]}).ids().tolist() == ["b", "a", "c"]
        message = complaint(read_table({"id": ["b", "a", "c", "c", "a"]}).ids)
        assert "has the id 'c' twice, in rows 3 and 4 (" in message

    def test_missing_ids_are_refused(self, table, complaint):
        assert "has no value in row 1 (" in complaint(table.ids, "human score")


class TestWithColumns:
    def test_columns_are_added_at_the_end(self, table):
        wider = table.with_columns({"rate": np.array([0.5, 1.0, 0.1]), "selected": [True, False, True]})
        assert wider.columns == ("key", "judge", "human score", "rate", "selected")
        assert wider.rows == 3
        assert wider.name == "pool.csv"
        assert wider.numbers("rate").tolist() == [0.5, 1.0, 0.1]
        assert wider.numbers("selected").tolist() == [1, 0, 1]
        assert wider.texts("key").tolist() == ["007", "08", "9"]
        assert table.columns == ("key", "judge", "human score")

    def test_a_column_is_not_replaced_by_accident(self, table, complaint):
        assert complaint(table.with_columns, {"new": np.zeros(3), "judge": np.zeros(3)}) == (
            "pool.csv has a column 'judge' already; choose another name, or pass replace=True"
        )

    def test_a_column_is_replaced_in_its_place_on_request(self, table):
        changed = table.with_columns({"judge": np.array([7.0, 8.0, 9.0])}, replace=True)
        assert changed.columns == table.columns
        assert changed.numbers("judge").tolist() == [7, 8, 9]
        assert table.numbers("judge").tolist() == [1.5, -2, 0.25]

    def test_names_differ_by_their_capitals(self, table):
        wider = table.with_columns({"Judge": np.array([7.0, 8.0, 9.0])})
        assert wider.numbers("Judge").tolist() == [7, 8, 9]
        assert wider.numbers("judge").tolist() == [1.5, -2, 0.25]

    @pytest.mark.parametrize("values", [np.zeros(4), np.zeros((3, 1)), 5.0, []])
    def test_another_shape_is_refused(self, table, values, complaint):
        shape = np.shape(values)
        message = f"column 'rate' has the shape {shape}; pool.csv needs a row of 3 values"
        assert complaint(table.with_columns, {"rate": values}) == message

    def test_what_no_file_holds_is_refused_at_once(self, table, complaint):
        message = "column 'z' holds complex128 values; turn them into numbers or text first"
        assert complaint(table.with_columns, {"z": np.zeros(3, complex)}) == message


def test_a_file_becomes_a_dictionary_of_arrays(table):
    native = table.with_columns({"rate": np.array([0.5, np.nan, 0.1])}).to_native()
    assert list(native) == ["key", "judge", "human score", "rate"]
    assert all(isinstance(values, np.ndarray) for values in native.values())
    assert native["key"].tolist() == ["007", "08", "9"]
    assert native["human score"].tolist() == [None, "1", None]
    np.testing.assert_array_equal(native["rate"], [0.5, np.nan, 0.1])
    again = read_table(native)
    assert again.columns == tuple(native)
    np.testing.assert_array_equal(again.numbers("human score", missing="allow"), [np.nan, 1, np.nan])
