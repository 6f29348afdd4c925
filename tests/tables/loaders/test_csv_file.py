"""CSV into a database: text stays text, and a file that ends inside quotes is told. More is in ../test_load.py."""

import pytest

from ratewise.errors import TableError
from ratewise.tables.engine import connect
from ratewise.tables.load import copy_csv, count_csv, load_csv


@pytest.fixture
def write(tmp_path):
    def file(text):
        (tmp_path / "copy.csv").write_bytes(text.encode())
        return str(tmp_path / "copy.csv")

    return file


def test_every_cell_is_its_text(write):
    connection = connect()
    assert load_csv(connection, write('id,note\n007,"a\nb"\n,x\n'), "pool") == ["id", "note"]
    assert connection.execute("SELECT * FROM data").fetchall() == [("007", "a\nb"), (None, "x")]


def test_rows_are_counted_and_copied(write, tmp_path):
    assert count_csv(connect(), write("n\r\n1\r\n2\r\n"), "pool") == 2
    target = tmp_path / "out.parquet"
    assert copy_csv(connect(), write("n\n1\n"), "pool", str(target)) == ["n"]
    assert target.exists()


@pytest.mark.parametrize("text", ["n,n\n1,2\n", 'n\n"1\n'])
def test_what_is_no_table_is_told(write, text):
    with pytest.raises(TableError, match="pool"):
        load_csv(connect(), write(text), "pool")


EUROPEAN = '\ufeffid;judge;price;text;day\r\n007;0,5;1.234,5;"a;b, c";1,2 and 3\r\n2;-1e-3;7;;\r\n3;;0,25;x;\r\n'


def test_a_european_spreadsheet_is_read_as_it_was_seen(write, tmp_path):
    connection, rows = connect(), [("007", "0.5", "1234.5", "a;b, c", "1,2 and 3"), ("2", "-1e-3", "7", None, None)]
    names = ["id", "judge", "price", "text", "day"]
    assert load_csv(connection, write(EUROPEAN), "pool") == names
    assert connection.execute("SELECT * FROM data").fetchall() == [*rows, ("3", None, "0.25", "x", None)]
    target = str(tmp_path / "out.parquet")
    assert copy_csv(connect(), write(EUROPEAN), "pool", target) == names
    assert connect().execute(f"SELECT * FROM '{target}'").fetchall()[:2] == rows
    assert count_csv(connect(), write(EUROPEAN), "pool") == 3


def test_points_stay_points_where_no_number_has_a_comma(write):
    connection = connect()
    load_csv(connection, write("id\tjudge\n1\t1.234\n2\t0.5\n"), "pool")
    load = "SELECT c1 FROM data"
    assert connection.execute(load).fetchall() == [("1.234",), ("0.5",)]
    load_csv(other := connect(), write('"a;b"\n1;5\n'), "pool")  # one column, whose name has a semicolon
    assert other.execute("SELECT * FROM data").fetchall() == [("1;5",)]
    load_csv(commas := connect(), write('a;b,c\n"0,5",1\n'), "pool")  # a comma between names decides
    assert commas.execute("SELECT * FROM data").fetchall() == [("0,5", "1")]
