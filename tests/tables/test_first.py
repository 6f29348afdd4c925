"""The first rows of a table in a seed's order: those that sorting all of it by `uniform` would bring first."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ratewise.core.draw import uniform
from ratewise.tables import open_relation, relation


@pytest.fixture
def folder(tmp_path):
    """Two files whose columns stand in different orders, and differ in capitals."""
    ids = [f"é{i}" for i in range(500)]
    values = np.arange(500)
    pq.write_table(pa.table({"id": ids[:120], "x": values[:120], "X": values[:120]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"X": values[120:], "x": values[120:], "id": ids[120:]}), tmp_path / "b.parquet")
    return tmp_path


@pytest.mark.parametrize("most", [1, 60, 499])
def test_they_are_those_that_sorting_brings_first(folder, most):
    pool = open_relation(folder)
    found = pool.first_by("id", seed="7:order", rows=most)
    turns = uniform([f"é{i}" for i in range(500)], seed="7:order")
    right = np.sort(np.argsort(turns)[:most])
    table = found.table()
    assert table.columns == pool.columns
    assert table.numbers("x").tolist() == table.numbers("X").tolist() == right.tolist()
    assert table.ids().tolist() == [f"é{i}" for i in right]


def test_too_narrow_a_first_look_is_widened(folder, monkeypatch):
    monkeypatch.setattr(relation, "_SURE", -6.0)
    assert open_relation(folder).first_by("id", seed="1", rows=60).count() == 60


def test_numbers_are_ids_as_texts_and_missing_ones_are_refused(tmp_path, complaint):
    pq.write_table(pa.table({"id": [1.0, 2.0, 3.0]}), tmp_path / "a.parquet")
    ids = open_relation(tmp_path / "a.parquet").first_by("id", seed="1", rows=2).table().ids().tolist()
    assert set(ids) == set(sorted(["1", "2", "3"], key=lambda id: uniform([id], seed="1")[0])[:2])
    pq.write_table(pa.table({"id": ["a", "b", None]}), tmp_path / "b.parquet")
    pool = open_relation(tmp_path / "b.parquet")
    assert complaint(pool.first_by, "id", seed="1", rows=1) == (
        "column 'id' of b.parquet has no value in row 3 (rows are counted from 1, without the header); give every row "
        "an id of its own"
    )
