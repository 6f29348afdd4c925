import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratewise.tables import read_table

COUNTED = "(rows are counted from 1, without the header)"


@pytest.fixture
def file(tmp_path):
    def written(data, name="pool.csv"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return written


class TestCSV:
    def test_cells_are_kept_as_text(self, file):
        table = read_table(file(b'id,t\n007, x \n1e3,"a,""b""\nc"\n,NULL\n#1,"NA"\n'))
        assert table.to_native()["id"].tolist() == ["007", "1e3", None, "#1"]
        assert table.to_native()["t"].tolist() == [" x ", 'a,"b"\nc', "NULL", "NA"]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("last", [True, False])
    def test_line_ends(self, file, end, last):
        text = end.join(["id,n", "a,1", "b,2"]) + end * last
        assert read_table(file(text.encode())).numbers("n").tolist() == [1.0, 2.0]

    def test_names_are_kept_as_they_are(self, file):
        table = read_table(file('A,a,,"q""q, x",é😀, b\n1,2,3,4,5,6\n'.encode()))
        assert table.columns == ("A", "a", "", 'q"q, x', "é😀", " b")
        assert [table.numbers(name)[0] for name in table.columns] == [1, 2, 3, 4, 5, 6]

    def test_a_header_may_have_line_breaks(self, file):
        table = read_table(file(b'"a\nb",c\n1,2\n'))
        assert table.columns == ("a\nb", "c")
        assert table.numbers("c").tolist() == [2.0]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
    @pytest.mark.parametrize("inside", ["\n", "\r\n", "\r"])
    def test_line_breaks_in_cells_need_not_be_those_of_the_file(self, file, end, inside):
        text = end.join([f'"a{inside}b",n', f'"c{inside}{inside}d",1', f'"{inside}",2', ""])
        table = read_table(file(text.encode()))
        assert table.columns == (f"a{inside}b", "n")
        assert table.texts(table.columns[0]).tolist() == [f"c{inside}{inside}d", inside]
        assert table.numbers("n").tolist() == [1, 2]

    def test_an_empty_line_of_a_single_column_is_an_empty_cell(self, file):
        table = read_table(file(b'n\n1\n\n""\n4\n'))
        np.testing.assert_array_equal(table.numbers("n", missing="allow"), [1, np.nan, np.nan, 4])

    def test_a_long_cell_is_read(self, file):
        table = read_table(file(b"id,t\n1," + b"x" * 5_000_000 + b"\n"))
        assert len(table.texts("t")[0]) == 5_000_000

    @pytest.mark.parametrize("start", [b'"x', b'1,"', b'1,"x', b'1, "x,\n3,4', b'1,"x\n2,3\n4,""5""\n'])
    def test_a_quote_that_is_not_closed_loses_no_rows(self, file, start, complaint):
        """DuckDB itself leaves out the rest of the file without a word."""
        assert complaint(read_table, file(b"a,b\n1,2\n3,4\n" + start)) == (
            f"pool.csv cannot be read as CSV: row 3 has a quote that is not closed {COUNTED}"
        )

    def test_a_quote_inside_a_cell_is_text(self, file):
        table = read_table(file(b'a,b\n6" nail,2\nx"y",3\n'))
        assert table.texts("a").tolist() == ['6" nail', 'x"y"']

    def test_the_file_itself_is_left_alone(self, file):
        data = b"a,b\n1,2"
        path = file(data, "a*.csv")
        read_table(path)
        assert path.read_bytes() == data

    def test_line_breaks_in_cells_do_not_shift_rows(self, file):
        """In parallel, DuckDB 1.3 to 2.0 loses its place in such a file: its parts begin inside a cell."""
        cells = ["plain", 'l1\nl2\r\n"x",\n5,6,7\n', ",,,\n,,,\n", '"\n"\n', "x" * 300]
        rng = np.random.default_rng(20)
        rows, picks = 300_000, rng.integers(len(cells), size=300_000).tolist()
        escaped = ['"' + cell.replace('"', '""') + '"' for cell in cells]
        lines = [f"{row},{escaped[pick]},{row}.5" for row, pick in enumerate(picks)]
        table = read_table(file(("id,t,n\n" + "\n".join(lines) + "\n").encode()))
        assert table.rows == rows
        np.testing.assert_array_equal(table.numbers("n"), np.arange(rows) + 0.5)
        assert table.texts("t").tolist() == [cells[pick] for pick in picks]

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"a,b,c\n1,2,3\n4,5\n", f"row 2 has 2 cells where the header has 3 {COUNTED}"),
            (
                b'a,b,c\n1,"2\n2\n2",3\n4,5,6\n7,8,9,10\n',
                f"row 3 has 4 cells where the header has 3 {COUNTED}",
            ),
            (b'a,b\n1,2\n1,"x\n2,3\n', f"row 2 has a quote that is not closed {COUNTED}"),
            (b"a,b\n1,2\n3,4\n5,\xff\xfe\n", f"row 3 is not UTF-8 text {COUNTED}"),
            (b"a,b\r\n1,2\n3,4\r\n", "its line ends are mixed or a quote is not closed"),
            (b"a,b\n1,2\n3," + b"x" * 17 * 2**20 + b"\n", f"row 2 is longer than 16 MiB {COUNTED}"),
            (b"a,b\n1,2\n3," + b"x" * 40 * 2**20, f"row 2 is longer than 16 MiB {COUNTED}"),
        ],
    )
    def test_a_broken_row_is_refused(self, file, data, message, complaint):
        assert complaint(read_table, file(data)) == f"pool.csv cannot be read as CSV: {message}"

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b"a,b\n", "pool.csv has no rows; there is nothing to work on"),
            (b"a,b", "pool.csv has no rows; there is nothing to work on"),
            (b"\na,b\n1,2\n", "pool.csv starts with a blank line; the first line is the header"),
            (b"a,b,a\n1,2,3\n", "pool.csv has two columns with the name 'a'; rename one"),
            (b"a,\xff\n1,2\n", "pool.csv is not UTF-8 text; save it as CSV in UTF-8"),
            ("a,b\n1,2\n".encode("utf-16"), "pool.csv is not UTF-8 text; save it as CSV in UTF-8"),
            (b'a,"b\n1,2\n', "pool.csv cannot be read as CSV: the header is broken (unexpected end of data)"),
            (b"\xef\xbb\xbf", "pool.csv is empty; a table has a header and rows"),
        ],
    )
    def test_a_broken_header_is_refused(self, file, data, message, complaint):
        assert complaint(read_table, file(data)) == message


class TestJSONL:
    def test_a_column_has_the_kind_of_its_values(self, file, tmp_path):
        lines = [
            {"id": "007", "whole": 1, "real": 1, "yes": True, "any": 1, "gone": None, "day": "2024-01-01"},
            {"whole": -(2**62), "real": 0.1, "yes": None, "any": "x", "nested": {"a": [1, 2]}},
            {"id": None, "whole": None, "real": None, "any": [True], "late": 5, "day": ""},
        ]
        table = read_table(file("\n\n".join(map(json.dumps, lines)).encode(), "pool.jsonl"))
        assert table.columns == ("id", "whole", "real", "yes", "any", "gone", "day", "nested.a", "late")
        native = {name: values.tolist() for name, values in table.to_native().items()}
        assert native["id"] == ["007", None, None]
        assert native["whole"] == [1, -(2**62), None]
        np.testing.assert_array_equal(native["real"], [1.0, 0.1, np.nan])
        assert native["yes"] == [True, None, None]
        assert native["any"] == ["1", "x", "[true]"]
        assert native["gone"] == [None, None, None]
        assert native["day"] == ["2024-01-01", None, ""]
        assert native["nested.a"] == [None, "[1,2]", None]
        assert native["late"] == [None, None, 5]

    def test_any_key_is_found(self, file):
        keys = ["", "a/b", "a~c", "~1", "0", "a.b", "*", 'q"', "'", "$", "é😀", "A", "a", "#-1", "[0]", "\n"]
        line = {key: number + 0.5 for number, key in enumerate(keys)}
        table = read_table(file(json.dumps(line).encode(), "pool.jsonl"))
        assert list(table.columns) == keys
        assert [table.numbers(key)[0] for key in keys] == list(line.values())

    def test_whole_numbers_keep_all_digits(self, file):
        table = read_table(file(b'{"n": 18446744073709551615}\n{"n": 9007199254740993}\n{"n": null}', "pool.jsonl"))
        assert table.texts("n", missing="allow").tolist() == ["18446744073709551615", "9007199254740993", ""]
        assert table.numbers("n", missing="allow")[:2].tolist() == [2.0**64, 2.0**53]

    def test_not_a_number_is_missing(self, file, complaint):
        path = file(b'{"n": NaN}\n{"n": 2}\n{"n": 3.5}\n', "pool.jsonl")
        np.testing.assert_array_equal(read_table(path).numbers("n", missing="allow"), [np.nan, 2, 3.5])
        path.write_bytes(b'{"n": 1}\n{"n": -Infinity}\n')
        assert "is infinite in row 2" in complaint(read_table(path).numbers, "n")

    @pytest.mark.parametrize(
        "line",
        [b"hello", b"[1, 2]", b"3", b'{"a":', b'{"a": 1} {"a": 2}', b'{"a": "\xff"}', b'"text"', b"null"],
    )
    def test_another_line_than_an_object_is_refused(self, file, line, complaint):
        path = file(b'{"a": 1}\n\n{"a": 2}\n' + line + b'\n{"a": 3}\n', "pool.jsonl")
        assert complaint(read_table, path) == (
            f"row 3 of pool.jsonl is not a JSON object {COUNTED}; JSONL has one object per line"
        )

    def test_a_long_object_is_refused(self, file, complaint):
        path = file(b'{"a": 1}\n{"a": "' + b"x" * 40 * 2**20 + b'"}\n', "pool.jsonl")
        message = "pool.jsonl cannot be read as JSONL: an object is longer than 16 MiB"
        assert complaint(read_table, path) == message

    @pytest.mark.parametrize(
        ("data", "message"),
        [
            (b" \n\n", "pool.jsonl has no rows; there is nothing to work on"),
            (b"{}\n{}\n", "pool.jsonl has no columns; there is nothing to work on"),
            (b'{"b": 1}\n{"a": 1, "b": 2, "a": 3}', f"row 2 of pool.jsonl has the key 'a' twice {COUNTED}"),
        ],
    )
    def test_nothing_and_repeated_keys_are_refused(self, file, data, message, complaint):
        assert complaint(read_table, file(data, "pool.jsonl")) == message


class TestParquet:
    def test_a_column_keeps_its_type(self, tmp_path):
        columns = {
            "A": pa.array([2**60 + 1, None, 3]),
            "a": pa.array([0.1, float("nan"), None]),
            "l": pa.array([[1, 2], None, []]),
            "s": pa.array([{"x": 1, "y": {"z": "q"}}, None, None]),
            "d": pa.array(["a", None, "b"]).dictionary_encode(),
            "t": pa.array(["x", "", None]),
            "b": pa.array([True, None, False]),
            "n": pa.array([None, None, None]),
            "e": pa.array([1, 2, 3], pa.decimal128(9, 2)),
        }
        path = tmp_path / "pool.parquet"
        pq.write_table(pa.table(columns), path)
        table = read_table(path)
        assert table.columns == tuple(columns)
        assert table.texts("A", missing="allow").tolist() == ["1152921504606846977", "", "3"]
        np.testing.assert_array_equal(table.numbers("a", missing="allow"), [0.1, np.nan, np.nan])
        assert table.texts("d", missing="allow").tolist() == ["a", "", "b"]
        np.testing.assert_array_equal(table.numbers("b", missing="allow"), [1, np.nan, 0])
        assert np.isnan(table.numbers("n", missing="allow")).all()
        assert table.numbers("e").tolist() == [1, 2, 3]

    @pytest.mark.parametrize("data", [b"id,n\n1,2\n" * 9, b"PAR1", b"PAR1" + b"x" * 20 + b"PAR1"])
    def test_what_is_no_parquet_is_refused(self, file, data, tmp_path, complaint):
        message = complaint(read_table, file(data, "pool.parquet"))
        assert message.startswith("pool.parquet cannot be read as Parquet: ")
        assert str(tmp_path) not in message
        assert "LINE" not in message

    def test_a_file_that_is_cut_off_is_refused(self, tmp_path, complaint):
        path = tmp_path / "pool.parquet"
        pq.write_table(pa.table({"a": list(range(999))}), path)
        path.write_bytes(path.read_bytes()[:-100])
        assert complaint(read_table, path).startswith("pool.parquet cannot be read as Parquet: ")

    def test_no_rows_and_repeated_names_are_refused(self, tmp_path, complaint):
        path = tmp_path / "pool.parquet"
        pq.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
        assert complaint(read_table, path) == "pool.parquet has no rows; there is nothing to work on"
        pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
        assert complaint(read_table, path) == "pool.parquet has two columns with the name 'a'; rename one"
