"""Labels that are taken as a random draw and were not: told by weak ratings, and by the table's other columns."""

import warnings

import numpy as np
import pytest

import ratewise as rw
from ratewise.questions.rated import warn_of_choice

COLUMNS = {"weak": "judge", "strong": "human"}


def judged_pool(seed=2, items=2000):
    rng = np.random.default_rng(seed)
    return {
        "judge": rng.random(items), "length": rng.gamma(2, 50, items), "topic": rng.choice(["a", "b", "c"], items),
    }  # fmt: skip


def labelled(table, chosen):
    rng = np.random.default_rng(7)
    return {**table, "human": np.where(chosen, rng.integers(0, 2, chosen.size), np.nan)}


def told(function, *arguments, **options):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        function(*arguments, **options)
    return [str(one.message) for one in found]


def test_labels_picked_where_the_judge_is_low_are_warned_of():
    table = judged_pool()
    picked = {"judge": table["judge"], "human": np.where(table["judge"] < 0.2, 0.0, np.nan)}
    with pytest.warns(rw.RatewiseWarning, match="clearly lower values in column 'judge'.*not drawn at random"):
        rw.estimate_table(picked, **COLUMNS)
    unsure = {"judge": table["judge"], "human": np.where(abs(table["judge"] - 0.5) < 0.1, 0.0, np.nan)}
    unsure["human"][np.flatnonzero(~np.isnan(unsure["human"]))[::2]] = 1.0
    with pytest.warns(rw.RatewiseWarning, match="clearly less far out values"):
        rw.estimate_table(unsure, **COLUMNS)
    both = {**picked, "judge_2": picked["judge"], "human_2": picked["human"]}
    with pytest.warns(rw.RatewiseWarning, match="column 'judge'"):
        rw.compare(both, weak=("judge", "judge_2"), strong=("human", "human_2"))


def test_labels_drawn_at_random_are_not_warned_of():
    rng = np.random.default_rng(3)
    human = np.where(rng.random(2000) < 0.1, rng.integers(0, 2, 2000), np.nan)
    table = {
        "judge": rng.random(2000),
        "human": human,
        "length": rng.random(2000),
        "topic": rng.choice(["a", "b"], 2000),
    }
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        rw.estimate_table(table, **COLUMNS)
    assert told == []


def test_labels_picked_by_a_feature_are_warned_of_though_the_judge_looks_the_same():
    table, rng = judged_pool(), np.random.default_rng(4)
    long = labelled(table, (table["length"] > 150) & (rng.random(2000) < 0.5))
    (said,) = told(rw.estimate_table, long, **COLUMNS)
    assert "rows of table with a strong rating have clearly higher values in column 'length' than the others" in said
    (said,) = told(rw.estimate_table, long, strong="human")  # strong ratings alone
    assert "column 'length'" in said
    topic = labelled(table, (table["topic"] == "c") & (rng.random(2000) < 0.3))
    (said,) = told(rw.estimate_table, topic, **COLUMNS)
    assert "a smaller share of 'a' in column 'topic'" in said
    both = {**long, "judge_2": long["judge"], "human_2": long["human"]}
    assert "column 'length'" in told(rw.compare, both, weak=("judge", "judge_2"), strong=("human", "human_2"))[0]
    assert "column 'length'" in told(rw.regress, long, **COLUMNS, on=["topic"])[0]
    assert "column 'length'" in told(rw.quantile_table, long, **COLUMNS)[0]


def test_a_plan_with_old_labels_at_random_is_warned_as_well():
    table = judged_pool()
    pool = labelled(table, table["length"] > 200)
    options = {"weak_cost": 0, "strong_cost": 1, "budget": 50}
    (said,) = told(rw.plan, pool, **COLUMNS, drawn="at random", **options)
    assert said.endswith("say how they were drawn (drawn): 'by hand', or a column of rates")
    assert told(rw.plan, pool, **COLUMNS, drawn="by hand", **options) == []


def test_what_labelling_itself_writes_down_is_no_sign_of_choice():
    table = judged_pool()
    chosen = np.random.default_rng(5).random(2000) < 0.1
    more = {
        "annotator": np.where(chosen, "ann", ""), "state": np.where(chosen, "done", "open"), "votes": chosen * 1,
        "minutes": np.where(chosen, 3.0, np.nan), "id": np.argsort(~chosen, kind="stable"),
    }  # fmt: skip
    assert told(rw.estimate_table, labelled({**table, **more}, chosen), **COLUMNS) == []


def test_rates_that_are_given_are_believed():
    table = judged_pool()
    rates = np.where(table["length"] > 150, 0.8, 0.1)
    chosen = np.random.default_rng(8).random(2000) < rates
    assert told(rw.estimate_table, labelled({**table, "rate": rates}, chosen), **COLUMNS) == []
    assert "column 'length'" in told(rw.estimate_table, labelled(table, chosen), **COLUMNS)[0]


def test_random_draws_are_not_taken_for_picked_ones_where_there_are_many_features():
    """6 features, 40 random draws: at 1 in 10,000, more than one warning comes once in 120,000 runs."""
    rng = np.random.default_rng(6)
    columns = {f"x{k}": rng.random(400) for k in range(4)} | {f"w{k}": rng.choice(list("abc"), 400) for k in range(2)}
    table, judge = rw.read_table(columns), rng.random(400)
    alarms = sum(bool(told(warn_of_choice, table, rng.random(400) < 0.1, {"judge": judge})) for _ in range(40))
    assert alarms <= 1
