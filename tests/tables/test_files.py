import csv

import pytest

from ratewise.errors import TableError
from ratewise.tables.write import check_folder, write_rows, write_text


def test_a_folder_that_is_not_there_is_told_before_the_work(tmp_path):
    check_folder(None)
    check_folder("here.csv")
    check_folder(tmp_path / "x.csv")
    with pytest.raises(TableError, match="does not exist; make it first"):
        check_folder(tmp_path / "gone" / "x.csv")


def test_text_and_rows_are_written_whole(tmp_path):
    write_text(tmp_path / "a.txt", "é\n")
    write_text(tmp_path / "a.txt", "ü\n")
    assert (tmp_path / "a.txt").read_bytes() == "ü\n".encode()
    write_rows(tmp_path / "b.csv", [{"a": 0.1 + 0.2, "b": 'say "x", y'}])
    with open(tmp_path / "b.csv", encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert (float(row["a"]), row["b"]) == (0.1 + 0.2, 'say "x", y')
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["a.txt", "b.csv"]  # nothing is left beside them
