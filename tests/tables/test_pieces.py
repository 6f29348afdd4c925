"""Pieces of Parquet files: hashes as Python computes them, and rows written back with columns added."""

import hashlib

import numpy as np
import pytest

from ratewise.errors import TableError
from ratewise.tables import open_relation, read_table, write_table
from ratewise.tables.files import Format
from ratewise.tables.relation import each, pieces_of, shared_id, write_piece


def r(seed, text):
    return int(hashlib.md5(f"{seed}:{text}".encode()).hexdigest()[:13], 16) / 2**52


@pytest.fixture
def folder(tmp_path):
    """Three files of very different sizes, one with whole numbers where the others have text."""
    sizes, first = (700, 1, 40), 0
    for number, size in enumerate(sizes):
        ids = np.array([f"é{i}" for i in range(first, first + size)], dtype=object)
        write_table(
            read_table({"id": ids, "n": np.arange(size) / 2, "k": np.arange(size)}), tmp_path / f"{number}.parquet"
        )
        first += size
    return tmp_path


def test_hashes_are_those_of_python_whatever_the_ids_are(folder):
    pieces = pieces_of(open_relation(str(folder)), 100)
    assert [piece.first for piece in pieces] == [0, 100, 200, 300, 400, 500, 600, 700, 701]
    found = np.concatenate([piece.uniforms("id", "7", "7:look") for piece in pieces], axis=1)
    right = [[r(seed, f"é{i}") for i in range(741)] for seed in ("7", "7:look")]
    np.testing.assert_array_equal(found, right)
    whole, halves, rows = (
        np.concatenate([piece.uniforms(column, "7")[0] for piece in pieces]) for column in ("k", "n", None)
    )
    np.testing.assert_array_equal(whole[:700], [r(7, i) for i in range(700)])
    np.testing.assert_array_equal(halves[:4], [r(7, text) for text in ("0", "0.5", "1", "1.5")])
    np.testing.assert_array_equal(rows, [r(7, i) for i in range(741)])


def test_a_row_without_an_id_is_named(tmp_path):
    write_table(read_table({"id": ["a", "b", None]}), tmp_path / "t.parquet")
    with pytest.raises(TableError, match=r"'id' of t\.parquet has no value in row 3"):
        [piece.uniforms("id", "7") for piece in pieces_of(open_relation(tmp_path / "t.parquet"), 2)]


def test_two_rows_with_one_id_are_found_among_rows_with_one_hash(folder):
    pieces = pieces_of(open_relation(str(folder)), 100)
    same = np.array([r(7, "3"), r(7, "12345")])
    assert shared_id(pieces, "k", same, "7") == ("3", 4, 705)
    assert shared_id(pieces, "id", np.array([r(7, "é3")]), "7") is None


@pytest.mark.parametrize("kind", ["Parquet", "CSV", "JSONL"])
def test_a_piece_is_written_with_columns_behind_its_own(folder, kind, tmp_path):
    piece = pieces_of(open_relation(str(folder)), 100)[2]
    ending = {"Parquet": "parquet", "CSV": "csv", "JSONL": "jsonl"}[kind]
    place = tmp_path / f"out.{ending}"
    write_piece(piece, str(place), Format(kind), {"rate": np.arange(100) / 7}, header=True)
    found = read_table(place)
    assert found.columns == ("id", "n", "k", "rate")
    np.testing.assert_array_equal(found.numbers("rate"), np.arange(100) / 7)
    assert found.texts("id").tolist() == [f"é{i}" for i in range(200, 300)]


def test_pieces_are_done_side_by_side_and_come_in_order(folder):
    pieces = pieces_of(open_relation(str(folder)), 50)
    assert list(each(lambda piece: piece.first, pieces, workers=3)) == [piece.first for piece in pieces]
    with pytest.raises(ZeroDivisionError):
        list(each(lambda piece: 1 // (300 - piece.first), pieces, workers=3))


def test_wide_rows_make_small_pieces(tmp_path):
    text = ["x" * 50_000 + str(i) for i in range(4096)]
    write_table(read_table({"text": text}), tmp_path / "wide.parquet")
    assert max(piece.size for piece in pieces_of(open_relation(tmp_path / "wide.parquet"))) < 4096
