"""Plans for regressions: the side-by-side figures by hand, the recommendation, and what units do not change."""

import json

import numpy as np
import pytest

from ratewise.core.formulas import optimal_uniform_rate
from ratewise.errors import InputError
from ratewise.questions.plan import plan
from ratewise.questions.regression import plan_regression

from ..worlds import piloted_regression

COLUMNS = {"weak": "g", "strong": "h"}
COSTS = {"weak_cost": 0.02, "strong_cost": 1.0}


def test_the_figures_by_hand():
    """One column and no calibration: θ by weighted least squares on the pilot's terms, everything else written out."""
    data = piloted_regression()
    made = plan_regression(data, **COLUMNS, **COSTS, on=["x"], budget=300.0, weights={"x": 2.5})
    X = np.column_stack([np.ones(3000), data["x"]])
    W = np.linalg.inv(X.T @ X / 3000)
    ell = 2.5 * ((X @ W)[:, 1]) ** 2
    rated = ~np.isnan(data["h"])
    r2 = (data["h"] - data["g"])[rated] ** 2 * ell[rated]
    beta = np.linalg.lstsq(X[rated], data["h"][rated], rcond=None)[0]
    V = np.mean((data["h"] - X @ beta)[rated] ** 2 * ell[rated])
    assert made.basis["variance"] == pytest.approx(V, rel=0.02)
    assert made.basis["weak_error"] == pytest.approx(r2.mean(), rel=1e-9)
    V, M = made.basis["variance"], made.basis["weak_error"]
    best = optimal_uniform_rate(M, variance=V, weak_cost=0.02, strong_cost=1.0)
    random = made.policies["random"]
    assert random.mean_rate == pytest.approx(best.rate, rel=1e-6)
    assert random.error_times_budget == pytest.approx((0.02 + best.rate) * (V + M * (1 / best.rate - 1)), rel=1e-6)
    base = made.policies["base"]
    assert base.expected_se == pytest.approx(np.sqrt(V / 300), rel=1e-9)
    assert made.expected_ses["x"] * np.sqrt(2.5) == pytest.approx(made.policies["active"].expected_se, rel=0.05)


def test_the_mean_alone_is_the_plan_for_the_mean():
    data = piloted_regression()
    ours = plan_regression(data, **COLUMNS, **COSTS, on=[], budget=300.0)
    mean = plan(data, **COLUMNS, **COSTS, budget=300.0)
    assert ours.weights == {"(intercept)": 1.0}
    assert ours.recommendation == mean.recommendation
    for name in ("base", "random", "active"):
        a, b = ours.policies[name], mean.policies[name]
        assert a.error_ratio == pytest.approx(b.error_ratio, rel=0.02)
        assert a.items == pytest.approx(b.items, rel=0.02)


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_units_do_not_matter(family):
    data = piloted_regression()
    if family != "linear":
        data["h"] = np.where(np.isnan(data["h"]), np.nan, (data["h"] > 1) * 1.0)
        data["g"] = (data["g"] > 1) * 1.0
    other = dict(data, x=1000 * data["x"])
    a, b = (plan_regression(t, **COLUMNS, **COSTS, on=["x", "z"], family=family, budget=300.0) for t in (data, other))
    np.testing.assert_allclose(a.rates, b.rates, rtol=1e-6)
    assert a.policies["active"].expected_se == pytest.approx(b.policies["active"].expected_se, rel=1e-6)
    assert a.weights["(intercept)"] == 0
    assert a.weights["x"] == pytest.approx(np.var(data["x"]))
    assert b.expected_ses["x"] == pytest.approx(a.expected_ses["x"] / 1000, rel=1e-6)


def test_rates_follow_what_moves_the_coefficients():
    """For the slope alone, items in the middle of x count little and are asked for rarely."""
    data = piloted_regression(noise=2.0)
    made = plan_regression(data, **COLUMNS, **COSTS, on=["x"], budget=300.0, weights={"x": 1.0}, floor=0.001)
    assert made.recommendation == "active"
    far = np.abs(data["x"] - np.mean(data["x"]))
    near, away = made.rates[far < 0.3].mean(), made.rates[far > 5].mean()
    assert away > 5 * near
    assert made.rates.shape == (3000,)


def test_base_is_recommended_where_the_weak_rater_is_useless():
    data = piloted_regression()
    data["g"] = np.random.default_rng(0).permutation(data["g"])
    made = plan_regression(data, **COLUMNS, **COSTS, on=["x", "z"], budget=300.0)
    assert made.recommendation == "base"
    assert "not worth buying" in made.reason
    assert np.all(made.rates == 1)
    assert made.policies["base"].spend == pytest.approx(300)


def test_a_target_costs_what_the_budget_for_it_reaches():
    data = piloted_regression()
    by_target = plan_regression(data, **COLUMNS, **COSTS, on=["x", "z"], target_se=0.05)
    best = by_target.policies[by_target.recommendation]
    assert best.expected_se == pytest.approx(0.05)
    by_budget = plan_regression(data, **COLUMNS, **COSTS, on=["x", "z"], budget=best.spend)
    assert by_budget.policies[by_target.recommendation].expected_se == pytest.approx(0.05, rel=1e-6)


def test_the_pool_s_own_coefficients_are_cheaper():
    data = piloted_regression()
    goal = {"on": ["x", "z"], "budget": 300.0, "pool_size": 1000}
    own = plan_regression(data, **COLUMNS, **COSTS, **goal, estimand="pool")
    all_of_them = plan_regression(data, **COLUMNS, **COSTS, **goal)
    assert own.policies["active"].expected_se < all_of_them.policies["active"].expected_se
    assert own.policies["active"].spend == pytest.approx(300, rel=1e-6)
    assert own.expected_ses["x"] < all_of_them.expected_ses["x"]


def test_calibration_pays_where_the_weak_rating_is_on_another_scale():
    data = piloted_regression()
    data["g"] = 9 - 4 * data["g"]
    plain = plan_regression(data, **COLUMNS, **COSTS, on=["x"], budget=300.0)
    learned = plan_regression(data, **COLUMNS, **COSTS, on=["x"], budget=300.0, calibrate="auto", features=["z"])
    assert learned.recommendation == "active"
    assert learned.policies["active"].error_ratio < 0.6 * plain.policies["active"].error_ratio


def test_the_record_prints_and_is_json():
    made = plan_regression(
        piloted_regression() | {"one": np.ones(3000)}, **COLUMNS, **COSTS, on=["x", "one"], budget=300.0
    )
    back = json.loads(json.dumps(made.to_dict(), allow_nan=False))
    assert set(back["policies"]) == {"base", "random", "active"}
    assert str(made) == made.reason
    assert "<table" in made._repr_html_()
    assert any("one is the same on every row" in note for note in made.notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"budget": None}, "budget or a target"),
        ({"target_se": 0.1}, "budget or a target"),
        ({"weights": {"y": 1.0}}, "no coefficient 'y'"),
        ({"weights": {"x": 0.0}}, "every weight is 0"),
        ({"weights": {"x": -1.0}}, "weights must be at least 0"),
        ({"family": "probit"}, "unknown family"),
        ({"strong_cost": 0.0}, "strong_cost must be above 0"),
        ({"calibrate": "magic"}, "unknown calibration"),
    ],
)
def test_bad_input_is_one_clear_line(options, message):
    given = {"on": ["x"], "budget": 300.0} | COSTS | options
    with pytest.raises(InputError, match=message):
        plan_regression(piloted_regression(), **COLUMNS, **given)


def test_pilots_that_cannot_be_used():
    data = piloted_regression()
    few = np.flatnonzero(~np.isnan(data["h"]))[:2]
    with pytest.raises(InputError, match="larger pilot"):
        plan_regression(
            dict(data, h=np.where(np.isin(np.arange(3000), few), data["h"], np.nan)),
            **COLUMNS, **COSTS, on=["x", "z"], budget=300.0,
        )  # fmt: skip
    sure = dict(data, h=np.where(np.isnan(data["h"]), np.nan, (data["x"] > 1) * 1.0), g=(data["x"] > 1) * 1.0)
    with pytest.raises(InputError, match="pilot that can be fitted"):
        plan_regression(sure, **COLUMNS, **COSTS, on=["x"], family="logistic", budget=300.0)


def test_rates_beat_one_rate_in_earnest():
    """Drawn and fitted many times, on items that are not the pilot: less error than one rate for the same money."""
    from ratewise.core.m_estimation import LINEAR, fit_m_estimator
    from ratewise.core.ratings import ratings

    data = piloted_regression(2, T=4000, pilot=0.3)
    made = plan_regression(data, **COLUMNS, **COSTS, on=["x"], budget=300.0, weights={"x": 1.0}, pool_size=2000)
    assert made.recommendation == "active"
    fresh = piloted_regression(3, T=2000, pilot=1.0)
    X = np.column_stack([np.ones(2000), fresh["x"]])
    # The plan's rule on other items: rates by their u (that of the pilot's bins) and influence.
    again = plan_regression(
        {k: np.concatenate([data[k], fresh[k] if k != "h" else np.full(2000, np.nan)]) for k in data},
        **COLUMNS, **COSTS, on=["x"], budget=300.0, weights={"x": 1.0}, pool_size=2000,
    )  # fmt: skip
    pi = again.rates[4000:]
    rng = np.random.default_rng(4)
    errors = {"active": [], "random": []}
    for name, rates in (("active", pi), ("random", np.full(2000, again.policies["random"].mean_rate))):
        for _ in range(300):
            strong = np.where(rng.random(2000) < rates, fresh["h"], np.nan)
            fit = fit_m_estimator(X, LINEAR, ratings(fresh["g"], strong, rates))
            errors[name].append(fit.coefficients[1])
    drawn = {name: np.var(values) for name, values in errors.items()}
    assert pi.mean() < 1.1 * again.policies["random"].mean_rate
    assert drawn["active"] < 0.8 * drawn["random"]


def test_a_target_is_reached_where_the_pool_ends_first():
    """Rates that follow u(x) rise until the target is met, however wrong the model of u is."""
    data = piloted_regression(noise=2.0)
    tight = {"estimand": "pool", "pool_size": 700.0, "on": ["x"]}
    wanted = 0.9 * plan_regression(data, **COLUMNS, **COSTS, **tight, budget=350.0).policies["active"].expected_se
    made = plan_regression(data, **COLUMNS, **COSTS, **tight, target_se=wanted)
    for name in ("base", "random", "active"):
        assert made.policies[name].expected_se == pytest.approx(wanted, rel=1e-6), name
