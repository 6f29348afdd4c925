"""Quantiles on tables, and plans for them."""

import json

import numpy as np
import pytest

from ratewise.errors import InputError, TableError
from ratewise.questions.quantiles import estimate_quantile, plan_quantile, quantile_table

from ..worlds import gamma_scores


def test_a_table_is_its_columns():
    data = gamma_scores()
    found = quantile_table(data, weak="g", strong="h", rate="rate", at=[0.5, 0.9], level=0.9)
    for q in (0.5, 0.9):
        same = estimate_quantile(data["g"], data["h"], data["rate"], quantile=q, level=0.9)
        assert (found[q].value, found[q].interval) == (same.value, same.interval)
    clustered = quantile_table(data, weak="g", strong="h", rate="rate", clusters="who")
    same = estimate_quantile(data["g"], data["h"], data["rate"], clusters=data["who"])
    assert clustered[0.5].interval == same.interval
    with pytest.raises(KeyError):
        found[0.7]


def test_strong_ratings_alone():
    data = {name: column for name, column in gamma_scores().items() if name != "rate"}
    rated = data["h"][~np.isnan(data["h"])]
    found = quantile_table(data, strong="h", at=[0.9])
    assert found[0.9].value == np.quantile(rated, 0.9, method="inverted_cdf")
    pool = quantile_table(dict(data, rate=np.full(2000, 0.25)), strong="h", rate="rate", at=[0.9], estimand="pool")
    assert pool[0.9].high - pool[0.9].low < found[0.9].high - found[0.9].low
    with pytest.raises(InputError, match="one rate for all"):
        quantile_table(gamma_scores(), strong="h", rate="rate")


def test_everything_rated_is_the_sample_quantile():
    found = quantile_table(gamma_scores(), weak="g", strong="truth", at=[0.25])
    assert found[0.25].value == np.quantile(gamma_scores()["truth"], 0.25, method="inverted_cdf")


def test_the_record_prints_and_is_json():
    found = quantile_table(gamma_scores(), weak="g", strong="h", rate="rate", at=[0.5, 0.9])
    assert [line.split()[0] for line in str(found).splitlines()[:3]] == ["quantile", "0.5", "0.9"]
    back = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert [row["quantile"] for row in back["quantiles"]] == [0.5, 0.9]
    assert "<table" in found._repr_html_()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"at": []}, "at least one quantile"),
        ({"at": [1.5]}, "quantile must be in"),
        ({"strong": "no"}, "no column 'no'"),
        ({"rate": "h"}, "rate"),
    ],
)
def test_bad_input_is_one_clear_line(options, message):
    with pytest.raises(InputError, match=message):
        quantile_table(gamma_scores(), **({"weak": "g", "strong": "h", "rate": "rate"} | options))


# Plans


COSTS = {"weak_cost": 0.02, "strong_cost": 1.0}


def test_the_plan_is_that_of_the_indicator():
    data = gamma_scores()
    made = plan_quantile(data, weak="g", strong="h", quantile=0.9, **COSTS, budget=300)
    assert made.basis["variance"] == pytest.approx(0.09, abs=0.002)
    rated = ~np.isnan(data["h"])
    theta = np.quantile(data["h"][rated], 0.9, method="inverted_cdf")
    assert made.basis["at"] == theta
    apart = ((data["h"] <= theta) != (data["g"] <= theta))[rated].mean()
    assert made.basis["weak_error"] == pytest.approx(apart)
    assert made.recommendation == "active"
    near = np.abs(data["g"] - theta) < 0.3
    assert made.rates[near].mean() > 3 * made.rates[~near].mean()
    assert not any("calibrate" in note for note in made.notes)


def test_a_useless_weak_rater_is_not_bought():
    data = gamma_scores()
    data["g"] = np.random.default_rng(0).permutation(data["g"])
    assert plan_quantile(data, weak="g", strong="h", **COSTS, budget=300).recommendation == "base"


def test_a_weak_rater_that_is_always_right_still_has_a_plan():
    data = gamma_scores()
    made = plan_quantile(data, weak="truth", strong="h", **COSTS, budget=300, pool_size=2000)
    assert made.policies["active"].expected_se > 0
    assert np.all((made.rates > 0) & (made.rates <= 1))


def test_pilots_that_cannot_be_used():
    with pytest.raises(TableError, match="two at least"):
        plan_quantile({"g": [1.0, 2.0], "h": [1.0, np.nan]}, weak="g", strong="h", **COSTS, budget=300)
    with pytest.raises(InputError, match="smaller one"):
        plan_quantile({"g": [1.0, 2.0, 3.0], "h": [1.0, 1.0, 1.0]}, weak="g", strong="h", **COSTS, budget=300)
