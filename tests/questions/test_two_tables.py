"""`compare_tables`: the last release on other items, on some of the same, or on all of them."""

import numpy as np
import pytest

import ratewise as rw

COLUMNS = {"weak": "judge", "strong": "human"}


def table(seed, mean, items, *, rate=0.3, first=0, hard=None, spread=0.3):
    rng = np.random.default_rng(seed)
    hard = rng.random(items) if hard is None else hard
    human = (rng.random(items) < mean + spread * (0.5 - hard)).astype(float)
    judge = np.where(rng.random(items) < 0.1, 1 - human, human)
    asked = rng.random(items) < rate
    return {
        "id": [f"q{first + i}" for i in range(items)],
        "judge": judge,
        "human": np.where(asked, human, np.nan),
        "rate": np.full(items, rate),
    }


def test_two_samples_are_two_estimates():
    new, old = table(1, 0.85, 1200), table(2, 0.7, 700, rate=0.5, first=5000)
    found = rw.compare_tables(new, old, **COLUMNS)
    a, b = (rw.estimate_table(t, **COLUMNS) for t in (new, old))
    assert not found.paired
    assert found.difference.value == pytest.approx(a.value - b.value)
    assert found.difference.standard_error == pytest.approx(np.hypot(a.standard_error, b.standard_error))
    below = np.hypot(a.value - a.low, b.high - b.value)
    assert found.difference.low == pytest.approx(a.value - b.value - below)
    assert (found.probability_better > 0.975) == (found.difference.low > 0)
    assert found.pairing == pytest.approx(1.0)
    assert found.notes[0] == "two samples: the tables have no item in common"
    assert "this is better than last by" in found.sentence


def test_without_ids_all_items_are_taken_as_different():
    new, old = table(1, 0.85, 300), table(2, 0.7, 300)
    del old["id"]
    assert rw.compare_tables(new, old, **COLUMNS).notes[0].startswith("two samples: no column tells which items")


def test_items_in_both_tables_narrow_the_interval():
    hard = np.random.default_rng(3).random(900)
    new, old = table(4, 0.6, 900, hard=hard, spread=1.0), table(5, 0.5, 900, hard=hard, spread=1.0)
    found = rw.compare_tables(new, old, **COLUMNS)
    apart = rw.compare_tables(new, {**old, "id": [f"o{i}" for i in range(900)]}, **COLUMNS)
    assert found.notes[0].startswith("two samples: 900 items are in both tables, each drawn by itself")
    assert found.difference.value == pytest.approx(apart.difference.value)
    assert found.difference.standard_error < apart.difference.standard_error
    assert found.difference.high - found.difference.low < apart.difference.high - apart.difference.low


def test_one_seed_behind_both_draws_is_seen_and_counted():
    """The same items have labels in both tables: what the systems' errors have in common does not average out."""
    rng = np.random.default_rng(8)
    hard = rng.random(1500)
    tables = []
    for k, seed in enumerate((3, 3, 4)):
        human = np.clip(5 + (2 - 4 * (k % 2)) * hard + rng.normal(0, 0.3, 1500), 1, 9)
        rate = np.where(hard > 0.5, 0.4, 0.2 + 0.02 * k)
        drawn = rw.draw(rate, [f"q{i}" for i in range(1500)], seed=seed)
        tables.append({
            "id": [f"q{i}" for i in range(1500)], "judge": np.full(1500, 5.0), "human": np.where(drawn, human, np.nan),
            "rate": rate, "selected": drawn,
        })  # fmt: skip
    first, second, other = tables
    same, apart = (rw.compare_tables(first, last, **COLUMNS, estimand="pool", method="difference") for last in
                   (second, other))  # fmt: skip
    assert "one draw took them for both" in same.notes[0]
    assert "independent" in apart.notes[0]
    alone = np.hypot(same.first.standard_error, same.second.standard_error)
    assert same.difference.standard_error > 1.15 * alone  # one system's error is up where the other one's is down
    assert apart.difference.standard_error == pytest.approx(
        np.hypot(apart.first.standard_error, apart.second.standard_error)
    )


def test_the_same_items_drawn_together_are_paired_whatever_their_order():
    new, old = table(4, 0.8, 600), table(5, 0.75, 600)
    old["human"] = np.where(np.isnan(new["human"]), np.nan, np.random.default_rng(1).integers(0, 2, 600))
    wide = {
        "judge_new": new["judge"], "human_new": new["human"], "judge_old": old["judge"], "human_old": old["human"],
        "rate": new["rate"],
    }  # fmt: skip
    order = np.random.default_rng(6).permutation(600)
    shuffled = {name: np.asarray(column)[order] for name, column in old.items()}
    found = rw.compare_tables(new, shuffled, **COLUMNS)
    same = rw.compare(wide, weak=("judge_new", "judge_old"), strong=("human_new", "human_old"))
    assert found.paired
    assert found.difference.to_dict() == same.difference.to_dict()
    assert "the comparison is paired" in found.notes[0]


def test_columns_may_be_called_differently_and_judges_may_be_absent():
    new, old = table(1, 0.85, 400), table(2, 0.7, 400, first=1000)
    renamed = {"key": old["id"], "score": old["judge"], "gold": old["human"], "pi": old["rate"]}
    found = rw.compare_tables(
        new, renamed, **COLUMNS, last=rw.TableColumns("gold", "score", "pi", id="key"), names=("B", "A")
    )
    assert found.difference.to_dict() == rw.compare_tables(new, old, **COLUMNS).difference.to_dict()
    alone = rw.compare_tables(new, old, strong="human")
    assert alone.first.value == pytest.approx(np.nanmean(new["human"]))
