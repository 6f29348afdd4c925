import datetime as dt
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from ratewise.tables import read_table

COUNTED = "(rows are counted from 1, without the header)"


@pytest.fixture
def pool(tmp_path):
    def written(text):
        path = tmp_path / "pool.csv"
        path.write_text(text, encoding="utf-8")
        return read_table(path)

    return written


class TestNumbers:
    def test_text_that_is_a_number_counts_as_one(self, pool):
        cells = ["1", " 2.5 ", "+3", "-4e-3", ".5", "6.", "\t7", "\u00a08", "5e-324", "0.1234567890123456789"]
        table = pool("id,n\n" + "".join(f"x,{cell}\n" for cell in cells))
        assert table.numbers("n").tolist() == [float(cell) for cell in cells]

    def test_truth_is_one_and_falsehood_is_zero(self, pool):
        table = pool("id,n\n1,true\n2,FALSE\n3, True \n4,0\n")
        assert table.numbers("n").tolist() == [1, 0, 1, 0]
        assert read_table({"n": [True, False, True]}).numbers("n").tolist() == [1, 0, 1]

    def test_what_is_missing_is_not_a_number(self, pool):
        table = pool('id,n\n1,2.5\n2,\n3,""\n4,  \n5,NaN\n6,-1\n')
        expected = [2.5, np.nan, np.nan, np.nan, np.nan, -1]
        np.testing.assert_array_equal(table.numbers("n", missing="allow"), expected)
        np.testing.assert_array_equal(read_table({"n": expected}).numbers("n", missing="allow"), expected)

    def test_missing_values_are_refused_unless_allowed(self, pool, complaint):
        table = pool("id,n\n1,2\n2,\n3,4\n4,\n5,\n")
        assert complaint(table.numbers, "n") == (
            f"column 'n' of pool.csv has no value in row 2 {COUNTED}; 3 of 5 rows are empty:"
            " fill them or leave them out"
        )

    @pytest.mark.parametrize("cell", ["n/a", "1,5", "0x10", "1 000", "-", "yes", "12px", "--1", "١"])
    def test_text_is_refused_with_its_row(self, pool, cell, complaint):
        table = pool(f'id,judge\n1,2\n2,\n3,"{cell}"\n4,bad too\n')
        assert complaint(table.numbers, "judge", missing="allow") == (
            f"column 'judge' of pool.csv has text where a number belongs: {cell!r} in row 3"
            f" {COUNTED}; leave the cell empty if the rating is missing"
        )

    def test_hostile_text_is_shown_cut_and_on_one_line(self, pool, complaint):
        table = pool('id,n\n1,"<script>\n\x1b[31m' + "x" * 99 + '"\n')
        shown = "'<script>\\n\\x1b[31m" + "x" * 25 + "…'"
        assert f"belongs: {shown} in row 1 (" in complaint(table.numbers, "n")

    @pytest.mark.parametrize("cell", ["inf", "-Infinity", "1e400"])
    def test_infinity_is_refused(self, pool, cell, complaint):
        table = pool(f"id,n\n1,2\n2,\n3,4\n4,{cell}\n")
        message = f"column 'n' of pool.csv is infinite in row 4 {COUNTED}; give a finite number or an empty cell"
        assert complaint(table.numbers, "n", missing="allow") == message
        memory = read_table({"n": [2, np.nan, 4, float(cell)]}, name="pool.csv")
        assert complaint(memory.numbers, "n", missing="allow") == message

    def test_text_from_memory_must_be_numbers_throughout(self, complaint):
        table = read_table({"n": ["1", None, "2.5"], "t": ["1", "2", "three"]})
        np.testing.assert_array_equal(table.numbers("n", missing="allow"), [1, np.nan, 2.5])
        assert "has text where a number belongs: 'three' in row 3 (" in complaint(table.numbers, "t")

    def test_every_kind_of_number_is_one(self):
        kinds = {
            "small": pl.Series([1, None, -3], dtype=pl.Int8),
            "unsigned": pl.Series([1, None, 2**63], dtype=pl.UInt64),
            "single": pl.Series([0.5, None, -0.25], dtype=pl.Float32),
            "decimal": pl.Series([Decimal("1.25"), None, Decimal("-7.5")]),
            "truth": pl.Series([True, None, False]),
        }
        table = read_table(pl.DataFrame(kinds))
        for name, series in kinds.items():
            found = table.numbers(name, missing="allow")
            assert found.dtype == np.float64
            np.testing.assert_array_equal(found, [float(series[0]), np.nan, float(series[2])])

    def test_times_are_no_numbers(self, complaint):
        table = read_table(pl.DataFrame({"day": [dt.date(2024, 2, 29)]}), name="pool")
        assert complaint(table.numbers, "day") == "column 'day' of pool holds DATE values where numbers belong"

    def test_values_of_several_kinds_are_refused_by_their_text(self, tmp_path, complaint):
        path = tmp_path / "pool.jsonl"
        path.write_text('{"n": 1, "m": 1}\n{"n": "2", "m": {"a": 1}}\n{"n": true}\n{"n": null}\n')
        table = read_table(path)
        np.testing.assert_array_equal(table.numbers("n", missing="allow"), [1, 2, 1, np.nan])
        assert """belongs: '{"a":1}' in row 2 (""" in complaint(table.numbers, "m", missing="allow")


class TestTexts:
    def test_text_is_kept_as_it_is(self, pool):
        table = pool('id,t\n007,"a ""b"", c"\n1.0, x \n1e3,<script>alert(1)</script>\n-0,😀\n')
        assert table.texts("id").tolist() == ["007", "1.0", "1e3", "-0"]
        assert table.texts("t").tolist() == ['a "b", c', " x ", "<script>alert(1)</script>", "😀"]
        assert table.texts("t").dtype == object
        assert {type(text) for text in table.texts("t")} == {str}

    def test_whole_numbers_have_no_point(self):
        table = read_table(
            {
                "whole": np.array([7, -12, 2**62]),
                "gaps": np.array([7.0, np.nan, 12.0]),
                "real": np.array([0.1, 1e300, -3e9]),
                "single": np.array([7, 0.1, 2], dtype=np.float32),
                "truth": np.array([True, False, True]),
            }
        )
        assert table.texts("whole").tolist() == ["7", "-12", str(2**62)]
        assert table.texts("gaps", missing="allow").tolist() == ["7", "", "12"]
        assert table.texts("real").tolist() == ["0.1", "1e+300", "-3000000000"]
        assert table.texts("single").tolist() == ["7", "0.1", "2"]
        assert table.texts("truth").tolist() == ["true", "false", "true"]

    def test_missing_texts_are_refused_unless_allowed(self, pool, complaint):
        table = pool("id,t\n1,x\n2,\n3,z\n4,\n")
        assert table.texts("t", missing="allow").tolist() == ["x", "", "z", ""]
        assert complaint(table.texts, "t") == (
            f"column 't' of pool.csv has no value in row 2 {COUNTED}; 2 of 4 rows are empty:"
            " fill them or leave them out"
        )
        memory = read_table({"t": ["x", "", None]})
        assert "has no value in row 2 (" in complaint(memory.texts, "t")
        assert memory.texts("t", missing="allow").tolist() == ["x", "", ""]

    def test_moments_are_written_as_iso(self):
        moment = dt.datetime(2024, 2, 29, 12, 30)
        zoned = pl.Series([moment]).dt.replace_time_zone("Asia/Tokyo")
        table = read_table(pl.DataFrame({"day": [moment.date()], "at": [moment], "zoned": zoned}))
        assert table.texts("day").tolist() == ["2024-02-29"]
        assert table.texts("at").tolist() == ["2024-02-29 12:30:00"]
        assert table.texts("zoned").tolist() == ["2024-02-29 03:30:00+00"]
