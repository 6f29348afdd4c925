"""CSV: text stays text, and a file that ends inside quotes is told. More is in ../test_load.py."""

import pytest

from ratewise.errors import TableError
from ratewise.tables import open_relation, read_table

EUROPEAN = '\ufeffid;judge;price;text;day\r\n007;0,5;1.234,5;"a;b, c";1,2 and 3\r\n2;-1e-3;7;;\r\n3;;0,25;x;\r\n'
READERS = {"in memory": read_table, "in files": lambda path: open_relation(path).table()}


@pytest.fixture(params=READERS)
def read(request, tmp_path):
    def rows(text):
        (tmp_path / "pool.csv").write_bytes(text.encode())
        columns = READERS[request.param](tmp_path / "pool.csv").arrays()
        return list(columns), list(zip(*(values.tolist() for values in columns.values()), strict=True))

    return rows


def test_every_cell_is_its_text(read):
    assert read('id,note\n007,"a\nb"\n,x\n') == (["id", "note"], [("007", "a\nb"), (None, "x")])


@pytest.mark.parametrize("text", ["n,n\n1,2\n", 'n\n"1\n'])
def test_what_is_no_table_is_told(read, text):
    with pytest.raises(TableError, match="pool"):
        read(text)


def test_a_european_spreadsheet_is_read_as_it_was_seen(read):
    rows = [("007", "0.5", "1234.5", "a;b, c", "1,2 and 3"), ("2", "-1e-3", "7", None, None)]
    names = ["id", "judge", "price", "text", "day"]
    assert read(EUROPEAN) == (names, [*rows, ("3", None, "0.25", "x", None)])


def test_points_stay_points_where_no_number_has_a_comma(read):
    assert read("id\tjudge\n1\t1.234\n2\t0.5\n")[1] == [("1", "1.234"), ("2", "0.5")]
    assert read('"a;b"\n1;5\n')[1] == [("1;5",)]  # one column, whose name has a semicolon
    assert read('a;b,c\n"0,5",1\n')[1] == [("0,5", "1")]  # a comma between names decides
