"""Tables written piece by piece, into files and folders; a place that cannot be written to is refused at once."""

import os

import numpy as np
import pytest

from ratewise.errors import TableError
from ratewise.tables import open_relation, read_table, write_table
from ratewise.tables.relation import check_place, pieces_of, write_pieces


@pytest.fixture
def pieces(tmp_path):
    write_table(read_table({"id": np.arange(95), "x": np.arange(95) / 4}), tmp_path / "in.parquet")
    return pieces_of(open_relation(tmp_path / "in.parquet"), 20)


def added(piece):
    return {"y": np.arange(piece.first, piece.first + piece.size)}


@pytest.mark.parametrize("name", ["out.csv", "out.csv.gz", "out.jsonl", "out.parquet", "out/"])
def test_the_rows_keep_their_order_wherever_they_go(pieces, tmp_path, name):
    place = os.path.join(tmp_path, name)
    write_pieces(pieces, added, place)
    found = open_relation(place).table()
    assert found.columns == ("id", "x", "y")
    np.testing.assert_array_equal(found.numbers("y"), np.arange(95))
    np.testing.assert_array_equal(found.numbers("id"), np.arange(95))
    assert sorted(os.listdir(tmp_path)) == sorted(["in.parquet", name.rstrip("/")])


def test_a_folder_has_a_file_for_each_piece(pieces, tmp_path):
    (tmp_path / "out").mkdir()
    write_pieces(pieces, added, str(tmp_path / "out"))
    assert sorted(os.listdir(tmp_path / "out")) == [f"part-{i:05d}.parquet" for i in range(5)]


def test_nothing_is_left_of_a_folder_that_failed(pieces, tmp_path):
    def broken(piece):
        return {"y": np.zeros(piece.size if piece.first < 60 else 1)}

    with pytest.raises(TableError, match="shape"):
        write_pieces(pieces, broken, str(tmp_path / "out") + "/")
    assert os.listdir(tmp_path) == ["in.parquet"]


def test_places_that_cannot_be_written_to(tmp_path):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "a").write_text("")
    with pytest.raises(TableError, match="holds files already"):
        check_place(str(tmp_path / "full"))
    with pytest.raises(TableError, match="legal endings"):
        check_place(str(tmp_path / "out.txt"))
    with pytest.raises(TableError, match="does not exist"):
        check_place(str(tmp_path / "nowhere" / "out") + "/")
    check_place("-")
