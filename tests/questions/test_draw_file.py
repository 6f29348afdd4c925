"""`draw_file`: from file to file in batches, what `draw_pool` gives for a table that is whole."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import ratewise as rw
from ratewise import TableError
from ratewise.questions import drawing
from ratewise.tables import open_relation, relation

from .drawn import r


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "jsonl", "parquet"])
@pytest.mark.parametrize("within_budget", [False, True])
def test_a_file_is_drawn_in_batches_as_a_table_is_drawn_whole(plan, pool, tmp_path, monkeypatch, ending, within_budget):
    monkeypatch.setattr(relation, "MOST_ROWS", 1000)
    monkeypatch.setattr(relation, "_FEWEST_ROWS", 1)
    notes = ["" if i < 3000 else f'é, "{i}"\n' for i in range(8500)]
    place, one, many = (tmp_path / f"{name}.{ending}" for name in ("pool", "one", "many"))
    rw.write_table(rw.read_table({**pool, "n": np.arange(8500), "note": notes}), place)
    whole = rw.draw_pool(place, plan.transfer, seed=4, within_budget=within_budget)
    rw.write_table(whole.table, one)
    drawn = drawing.draw_file(place, plan.transfer, many, seed=4, within_budget=within_budget)
    told = ("drift", "spend", "notes", "items", "asked")
    assert [getattr(drawn, name) for name in told] == [getattr(whole, name) for name in told]
    for name in ("expected_spend", "mean_rate"):
        assert getattr(drawn, name) == pytest.approx(getattr(whole, name), rel=1e-12)
    first, second = rw.read_table(one), rw.read_table(many)
    assert first.columns == second.columns
    for a, b in zip(first.arrays().values(), second.arrays().values(), strict=True):
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist() or np.array_equal(a, b, equal_nan=True)
    if ending in {"csv", "jsonl"}:
        assert many.read_bytes() == one.read_bytes()


def test_a_pool_in_files_that_has_drifted_is_said_as_in_memory(plan, pool, tmp_path, monkeypatch):
    monkeypatch.setattr(relation, "MOST_ROWS", 1000)
    monkeypatch.setattr(relation, "_FEWEST_ROWS", 1)
    place = tmp_path / "pool.parquet"
    rw.write_table(rw.read_table(pool | {"g": pool["g"] ** 3}), place)
    whole = rw.draw_pool(place, plan.transfer, seed=4)
    drawn = drawing.draw_file(place, plan.transfer, tmp_path / "drawn.parquet", seed=4)
    assert drawn.drift == whole.drift
    assert drawn.drift.drifted
    assert drawn.notes == whole.notes
    assert any("drifted" in note for note in drawn.notes)


def test_rows_without_ids_are_numbered_through_all_batches(plan, pool, tmp_path, monkeypatch):
    monkeypatch.setattr(relation, "MOST_ROWS", 1000)
    monkeypatch.setattr(relation, "_FEWEST_ROWS", 1)
    rw.write_table(rw.read_table({"g": pool["g"]}), tmp_path / "pool.csv")
    drawing.draw_file(tmp_path / "pool.csv", plan.transfer, tmp_path / "drawn.csv", seed=4)
    selected = rw.read_table(tmp_path / "drawn.csv").numbers("selected")
    np.testing.assert_array_equal(selected, rw.draw_pool({"g": pool["g"]}, plan.transfer, seed=4).selected)


def test_a_file_that_was_drawn_before_is_refused_and_nothing_is_written(plan, pool, tmp_path):
    rw.write_table(rw.read_table({**pool, "rate": np.ones(8500)}), tmp_path / "pool.csv")
    with pytest.raises(TableError, match="drawn before"):
        drawing.draw_file(tmp_path / "pool.csv", plan.transfer, tmp_path / "drawn.csv", seed=4)
    assert not (tmp_path / "drawn.csv").exists()


def test_a_plan_that_cannot_be_told_about_writes_nothing(plan, pool, tmp_path):
    rw.write_table(rw.read_table(pool), tmp_path / "pool.csv")
    damaged = replace(plan.transfer, reference=replace(plan.transfer.reference, items=0))
    with pytest.raises(ArithmeticError):  # how far the pool has drifted from nothing
        drawing.draw_file(tmp_path / "pool.csv", damaged, tmp_path / "drawn.csv", seed=4)
    assert not (tmp_path / "drawn.csv").exists()


def test_one_long_id_in_a_file_does_not_take_memory_for_all(plan, judged, tmp_path):
    ids = [f"x{i}" for i in range(20_000)]
    ids[4321] = "y" * 200_000
    columns = {"id": np.array(ids, dtype=object), "g": np.resize(judged.weak, 20_000)}
    rw.write_table(rw.read_table(columns), tmp_path / "pool.parquet")
    tracemalloc.start()
    try:
        drawing.draw_file(tmp_path / "pool.parquet", plan.transfer, tmp_path / "drawn.parquet", seed=4)
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert most < 64e6
    drawn = rw.read_table(tmp_path / "drawn.parquet")
    right = np.array([r(4, item) for item in ids]) < drawn.numbers("rate", missing="allow")
    np.testing.assert_array_equal(drawn.numbers("selected"), right)


def drawn_whole(table):
    return [table.numbers(name, missing="allow") for name in ("rate", "selected")]


def test_a_folder_of_uneven_files_is_drawn_into_parts_as_one_table(plan, pool, tmp_path, monkeypatch):
    monkeypatch.setattr(relation, "MOST_ROWS", 900)
    monkeypatch.setattr(relation, "_FEWEST_ROWS", 1)
    (tmp_path / "pool").mkdir()
    for number, (start, stop) in enumerate([(0, 7000), (7000, 7001), (7001, 8500)]):
        rows = {name: values[start:stop] for name, values in pool.items()}
        rw.write_table(rw.read_table(rows), tmp_path / "pool" / f"{number}.parquet")
    out = f"{tmp_path / 'drawn'}/"
    drawn = drawing.draw_file(tmp_path / "pool", plan.transfer, out, seed=4)
    whole = rw.draw_pool(pool, plan.transfer, seed=4)
    assert (drawn.rows, drawn.items, drawn.asked) == (8500, whole.items, whole.asked)
    rate, selected = drawn_whole(open_relation(out).table())
    np.testing.assert_array_equal(rate, whole.rates)
    np.testing.assert_array_equal(selected, whole.selected)


def test_a_plan_by_strata_looks_at_the_same_items_from_file_to_file(judged, tmp_path, monkeypatch):
    monkeypatch.setattr(relation, "MOST_ROWS", 700)
    monkeypatch.setattr(relation, "_FEWEST_ROWS", 1)
    topic = np.where(judged.weak > 0.9, "easy", "hard")
    pilot = {"g": judged.weak[:500], "h": judged.strong[:500], "topic": topic[:500]}
    pool = {"g": judged.weak[500:], "topic": topic[500:]}
    made = rw.plan(pilot, weak="g", strong="h", weak_cost=0.2, strong_cost=1.0, budget=300, strata="topic", pool=pool)
    assert made.transfer.inputs is not None
    rw.write_table(rw.read_table(pool), tmp_path / "pool.parquet")
    whole = rw.draw_pool(pool, made, seed=11)
    drawn = drawing.draw_file(tmp_path / "pool.parquet", made.transfer, tmp_path / "drawn.parquet", seed=11)
    found = rw.read_table(tmp_path / "drawn.parquet")
    for name in ("rate", "selected", "weight"):
        np.testing.assert_array_equal(found.numbers(name, missing="allow"), whole.table.numbers(name, missing="allow"))
    assert drawn.notes == whole.notes
    assert drawn.spend == pytest.approx(whole.spend, rel=1e-12)


def test_learned_models_are_applied_piece_by_piece(judged, tmp_path, monkeypatch):
    monkeypatch.setattr(relation, "MOST_ROWS", 1300)
    monkeypatch.setattr(relation, "_FEWEST_ROWS", 1)
    length = np.random.default_rng(5).integers(5, 500, 9000)
    pilot = {"g": judged.weak[:500], "h": judged.strong[:500], "length": length[:500]}
    pool = {"g": judged.weak[500:], "length": length[500:]}
    options = {"weak_cost": 0.02, "strong_cost": 1.0, "budget": 300, "calibrate": "auto", "features": ["length"]}
    made = rw.plan(pilot, weak="g", strong="h", **options)
    rw.write_table(rw.read_table(pool), tmp_path / "pool.parquet")
    whole = rw.draw_pool(pool, made, seed=11)
    drawing.draw_file(tmp_path / "pool.parquet", made.transfer, tmp_path / "drawn.parquet", seed=11)
    found = rw.read_table(tmp_path / "drawn.parquet")
    np.testing.assert_array_equal(found.numbers("rate", missing="allow"), whole.rates)
    np.testing.assert_array_equal(found.numbers("weak_calibrated"), whole.table.numbers("weak_calibrated"))


def test_an_id_that_two_rows_of_different_files_share_is_refused(plan, pool, tmp_path):
    (tmp_path / "pool").mkdir()
    for number, start in enumerate((0, 4999)):
        rows = {name: values[start : start + 5000][:3501] for name, values in pool.items()}
        rw.write_table(rw.read_table(rows), tmp_path / "pool" / f"{number}.parquet")
    rw.write_table(rw.read_table({"id": ["x7"], "g": [0.5]}), tmp_path / "pool" / "2.parquet")
    with pytest.raises(TableError, match=r"the id 'x7' twice, in rows 8 and 7,003"):
        drawing.draw_file(tmp_path / "pool", plan.transfer, tmp_path / "drawn.parquet", seed=4)
    assert not (tmp_path / "drawn.parquet").exists()
