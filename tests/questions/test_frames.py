"""pandas, Polars and PyArrow go in everywhere, and out of `draw_pool` comes the same kind."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import ratewise as rw
from ratewise.lab.worlds import calibrated

FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table, "mapping": dict}
PRICES = {"weak": "judge", "strong": "human", "weak_cost": 0.02, "strong_cost": 1.0, "budget": 50}


def with_nulls(values):
    return [None if np.isnan(x) else float(x) for x in values]


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(809)
    world = calibrated(500, mean=0.8, spread=0.5, rng=rng)
    rate = rng.choice([0.3, 0.7], 500)
    human = np.where(rng.random(500) < rate, world.strong, np.nan)
    return {
        "id": [f"n{i}" for i in range(500)],
        "judge": world.weak.tolist(),
        "human": with_nulls(human),
        "rate": rate.tolist(),
    }


@pytest.fixture(scope="module")
def reference(columns):
    arrays = {**columns, "human": np.array([np.nan if x is None else x for x in columns["human"]])}
    plan = rw.plan(arrays, **PRICES)
    pool = {"id": columns["id"], "judge": np.array(columns["judge"])}
    return plan, rw.draw_pool(pool, plan.transfer, seed=3), rw.estimate_table(arrays, weak="judge", strong="human")


@pytest.mark.parametrize("kind", list(FRAMES))
def test_plan_and_estimate(columns, reference, kind):
    frame = FRAMES[kind](columns)
    plan, _, estimate = reference
    assert rw.plan(frame, **PRICES).to_dict() == plan.to_dict()
    assert rw.estimate_table(frame, weak="judge", strong="human").to_dict() == estimate.to_dict()
    assert plan.basis["labels"] < 500


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_draw_pool_gives_back_what_came_in(columns, reference, kind):
    frame = FRAMES[kind]({name: columns[name] for name in ("id", "judge")})
    plan, drawn, _ = reference
    table = rw.draw_pool(frame, plan.transfer, seed=3).table
    native = table.to_native()
    assert type(native) is type(frame)
    names = native.column_names if kind == "pyarrow" else list(native.columns)
    assert names == ["id", "judge", "rate", "selected", "pool_size"]
    rates, selected = (
        (native[name].to_pylist() if kind == "pyarrow" else native[name].to_list()) for name in ("rate", "selected")
    )
    np.testing.assert_array_equal(rates, drawn.rates)
    assert selected == drawn.selected.tolist()
    assert all(type(x) is bool for x in selected)
    left = frame.column_names if kind == "pyarrow" else list(frame.columns)
    assert left == ["id", "judge"]  # the caller's own frame is as it was


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow"])
def test_the_whole_flow_in_frames(columns, kind):
    frame = FRAMES[kind]({name: columns[name] for name in ("id", "judge")})
    plan = rw.plan(FRAMES[kind](columns), **PRICES)
    drawn = rw.draw_pool(frame, plan.transfer, seed=3, within_budget=True)
    native = drawn.table.to_native()
    looked = native.to_pandas() if kind != "pandas" else native
    answers = np.where(drawn.selected, (np.array(columns["judge"]) > 0.7).astype(float), np.nan)
    rated = rw.estimate_table(looked.assign(human=answers), weak="judge", strong="human", selected="selected")
    assert rated.items == int(plan.transfer.items) < 500
    assert rated.labels == drawn.selected.sum()


def test_a_lazy_polars_frame(columns, reference):
    lazy = pl.DataFrame(columns).lazy()
    assert rw.plan(lazy, **PRICES).to_dict() == reference[0].to_dict()
