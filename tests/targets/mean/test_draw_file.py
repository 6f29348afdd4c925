"""`draw_file`: from file to file in batches, what `draw_pool` gives for a table that is whole."""

import tracemalloc

import numpy as np
import pytest

import ratewise as rw
from ratewise import TableError
from ratewise.targets.mean import draw_file

from .drawn import r


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet"])
@pytest.mark.parametrize("within_budget", [False, True])
def test_a_file_is_drawn_in_batches_as_a_table_is_drawn_whole(plan, pool, tmp_path, monkeypatch, ending, within_budget):
    monkeypatch.setattr(draw_file, "_ROWS", 1000)
    notes = ["" if i < 3000 else f'é, "{i}"\n' for i in range(8500)]
    place, one, many = (tmp_path / f"{name}.{ending}" for name in ("pool", "one", "many"))
    rw.write_table(rw.read_table({**pool, "n": np.arange(8500), "note": notes}), place)
    whole = rw.draw_pool(place, plan.transfer, seed=4, within_budget=within_budget)
    rw.write_table(whole.table, one)
    drawn = draw_file.draw_file(place, plan.transfer, many, seed=4, within_budget=within_budget)
    for name in ("rates", "selected"):
        np.testing.assert_array_equal(getattr(drawn, name), getattr(whole, name))
    told = ("drift", "expected_spend", "spend", "notes")
    assert [getattr(drawn, name) for name in told] == [getattr(whole, name) for name in told]
    first, second = rw.read_table(one), rw.read_table(many)
    assert first.columns == second.columns
    for a, b in zip(first.arrays().values(), second.arrays().values(), strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist() or np.array_equal(a, b, equal_nan=True)
    if ending in {"csv", "jsonl"}:
        assert many.read_bytes() == one.read_bytes()


def test_rows_without_ids_are_numbered_through_all_batches(plan, pool, tmp_path, monkeypatch):
    monkeypatch.setattr(draw_file, "_ROWS", 1000)
    rw.write_table(rw.read_table({"g": pool["g"]}), tmp_path / "pool.csv")
    drawn = draw_file.draw_file(tmp_path / "pool.csv", plan.transfer, tmp_path / "drawn.csv", seed=4)
    np.testing.assert_array_equal(drawn.selected, rw.draw_pool({"g": pool["g"]}, plan.transfer, seed=4).selected)


def test_a_file_that_was_drawn_before_is_refused_and_nothing_is_written(plan, pool, tmp_path):
    rw.write_table(rw.read_table({**pool, "rate": np.ones(8500)}), tmp_path / "pool.csv")
    with pytest.raises(TableError, match="drawn before"):
        draw_file.draw_file(tmp_path / "pool.csv", plan.transfer, tmp_path / "drawn.csv", seed=4)
    assert not (tmp_path / "drawn.csv").exists()


def test_one_long_id_in_a_file_does_not_take_memory_for_all(plan, judged, tmp_path):
    ids = [f"x{i}" for i in range(20_000)]
    ids[4321] = "y" * 200_000
    columns = {"id": np.array(ids, dtype=object), "g": np.resize(judged.weak, 20_000)}
    rw.write_table(rw.read_table(columns), tmp_path / "pool.parquet")
    tracemalloc.start()
    try:
        drawn = draw_file.draw_file(tmp_path / "pool.parquet", plan.transfer, tmp_path / "drawn.parquet", seed=4)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 64e6
    right = np.array([r(4, item) for item in ids]) < drawn.rates
    np.testing.assert_array_equal(drawn.selected, right)
    np.testing.assert_array_equal(rw.read_table(tmp_path / "drawn.parquet").numbers("selected"), right)
