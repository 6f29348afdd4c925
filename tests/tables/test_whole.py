"""Tables in several files that are read whole, and what is said of their memory."""

import pytest

from ratewise.errors import RatewiseWarning
from ratewise.tables import open_relation, read, read_table


@pytest.fixture
def folder(tmp_path):
    for name, first in (("a", 0), ("b", 2)):
        (tmp_path / f"{name}.csv").write_text(f"id,x\n{first},1\n{first + 1},\n")
    return tmp_path


def test_the_files_of_a_folder_or_a_pattern_are_one_table(folder):
    for table in (read_table(folder), read.in_memory(open_relation(f"{folder}/[ab].csv"))):
        assert table.ids().tolist() == ["0", "1", "2", "3"]
    assert read_table(folder, name="answers").name == "answers"
    assert read_table(folder / "a.csv").rows == 2


def test_a_folder_without_a_table_says_so(tmp_path, complaint):
    (tmp_path / "readme.txt").write_text("nothing here")
    assert "has no table in it; the legal endings are .csv" in complaint(read_table, tmp_path)


def test_many_rows_are_read_with_a_word_on_their_memory(folder, monkeypatch):
    monkeypatch.setattr(read, "_MANY", 3)
    monkeypatch.setattr(read, "_BYTES", 1e9)
    with pytest.warns(RatewiseWarning, match="has 4 rows and is read whole, which takes about 4 GB of memory"):
        assert read.in_memory(open_relation(folder)).rows == 4
