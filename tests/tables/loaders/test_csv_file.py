"""CSV into a database: text stays text, and a file that ends inside quotes is told. More is in ../test_load.py."""

import pytest

from ratewise.errors import TableError
from ratewise.tables.engine import connect
from ratewise.tables.loaders.csv_file import copy_csv, count_csv, load_csv


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
