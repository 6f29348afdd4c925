"""`regress` on tables: limits, what it says of bad input, and an answer for the rest where there is one."""

import json

import numpy as np
import pytest
import statsmodels.api as sm
from scipy import stats

import ratewise as rw
from ratewise.errors import InputError, TableError
from ratewise.questions.regression import regress

from ..worlds import regression_table

NAMES = {"weak": "judge", "strong": "human", "rate": "rate"}


def columns(data, rows=slice(None)):
    topic = data["topic"][rows]
    return np.column_stack([np.ones(topic.size), data["x"][rows], topic == "code", topic == "maths"]).astype(float)


# Limits


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
@pytest.mark.parametrize("method", ["auto", "difference", "power-tuned"])
def test_every_row_rated_is_the_plain_fit(family, method):
    data = regression_table(family=family)
    found = regress(data, weak="judge", strong="truth", on=["x", "topic"], family=family, method=method)
    X, h = columns(data), data["truth"]
    kind = {"linear": sm.families.Gaussian, "logistic": sm.families.Binomial, "poisson": sm.families.Poisson}[family]
    fit = sm.GLM(h, X, family=kind()).fit(tol=1e-14, cov_type="HC0")
    assert [c.name for c in found.coefficients] == ["(intercept)", "x", "topic=code", "topic=maths"]
    np.testing.assert_allclose([c.value for c in found.coefficients], fit.params, rtol=1e-8, atol=1e-10)
    ses = np.sqrt(np.diag(fit.cov_params()) * 800 / 796)
    np.testing.assert_allclose([c.standard_error for c in found.coefficients], ses, rtol=1e-8)
    half = stats.t.ppf(0.975, 796) * ses[1]
    assert (found["x"].low, found["x"].high) == pytest.approx((fit.params[1] - half, fit.params[1] + half))
    assert (found.items, found.labels) == (800, 800)


def test_strong_ratings_alone_are_the_rated_rows():
    data = {name: column for name, column in regression_table(family="linear").items() if name != "rate"}
    found = regress(data, strong="human", on=["x", "topic"])
    rated = ~np.isnan(data["human"])
    fit = sm.OLS(data["human"][rated], columns(data, rated)).fit(cov_type="HC1", use_t=True)
    np.testing.assert_allclose([c.value for c in found.coefficients], fit.params, rtol=1e-9)
    np.testing.assert_allclose([c.low for c in found.coefficients], fit.conf_int()[:, 0], rtol=1e-8)
    assert found.method == "strong ratings alone"


def test_clusters_are_those_of_statsmodels():
    data = regression_table(family="linear") | {"who": np.arange(800) // 9}
    found = regress(data, strong="truth", on=["x", "topic"], clusters="who")
    fit = sm.OLS(data["truth"], columns(data)).fit(cov_type="cluster", cov_kwds={"groups": data["who"]})
    np.testing.assert_allclose([c.standard_error for c in found.coefficients], fit.bse, rtol=1e-8)


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
@pytest.mark.parametrize("method", ["auto", "difference", "power-tuned"])
def test_drawn_tables_are_near_the_fit_to_all(family, method):
    """Within five standard errors of the pool's own coefficients."""
    data = regression_table(family=family, T=2000)
    found = regress(data, **NAMES, on=["x", "topic"], family=family, method=method, estimand="pool")
    whole = regress(data, strong="truth", on=["x", "topic"], family=family)
    for c in found.coefficients:
        assert abs(c.value - whole[c.name].value) < 5 * c.standard_error
    assert found.labels < 900


def test_auto_learns_and_is_narrower_where_the_weak_rating_is_off():
    data = regression_table(family="linear", T=2000)
    data["judge"] = 7 - 3 * data["judge"]
    widths = {}
    for method in ("difference", "auto"):
        c = regress(data, **NAMES, on=["x"], method=method)["x"]
        widths[method] = c.high - c.low
    assert widths["auto"] < 0.5 * widths["difference"]


def test_learning_does_not_see_its_own_label():
    """A rating far off moves its own prediction nowhere: f of a label comes from the others (and other clusters)."""
    from ratewise.questions.rated import TableColumns, made_ready, read_rated
    from ratewise.questions.regression import with_learned_weak
    from ratewise.tables.words import Meaning

    data = regression_table(family="linear") | {"who": np.arange(800) // 4}
    i = int(np.flatnonzero(~np.isnan(data["human"]))[3])
    moved = dict(data, human=np.where(np.arange(800) == i, data["human"] + 50, data["human"]))
    for clusters in (None, "who"):
        f = []
        for table in (data, moved):
            columns = TableColumns("human", "judge", "rate", clusters=clusters)
            drawn = read_rated(made_ready(table, "human", "judge", Meaning()), columns)
            f.append(with_learned_weak(drawn, features=[], known=None)[0].weak[:, 0])
        assert abs(f[1][i] - f[0][i]) < 1  # the penalty may change, the label itself does not count
        assert np.abs(f[1] - f[0]).max() > 0.01


def test_rows_without_a_rate_do_not_count_and_order_does_not():
    data = regression_table()
    some = {name: values.copy() for name, values in data.items()}
    some["rate"][:100] = np.nan
    some["human"][:100] = np.nan
    found = regress(some, **NAMES, on=["x"], family="logistic")
    order = np.random.default_rng(0).permutation(np.arange(100, 800))
    rest = regress({k: v[order] for k, v in data.items()}, **NAMES, on=["x"], family="logistic")
    assert found.items == 700
    assert any("100 rows" in note for note in found.notes)
    assert found["x"].value == pytest.approx(rest["x"].value, rel=1e-6)


def test_no_rate_column_is_one_rate_for_all():
    data = {name: column for name, column in regression_table().items() if name != "rate"}
    share = float(np.mean(~np.isnan(data["human"])))
    found = regress(data, weak="judge", strong="human", on=["x"], family="logistic", method="difference")
    same = regress(dict(data, rate=np.full(800, share)), **NAMES, on=["x"], family="logistic", method="difference")
    assert found["x"] == same["x"]
    assert any("random draw" in note for note in found.notes)


def test_the_whole_pool_rated_is_exact():
    found = regress(regression_table(), strong="truth", on=["x"], family="logistic", estimand="pool")
    assert found["x"].low == found["x"].value == found["x"].high
    assert any("exact" in note for note in found.notes)


# An answer for the rest


def test_collinear_and_constant_columns_are_left_out_and_named():
    data = regression_table() | {"twice": np.ones(800), "same": np.full(800, 4.0)}
    data["twice"] = 2 * data["x"] + 1
    found = regress(data, **NAMES, on=["x", "twice", "same", "topic"], family="logistic")
    plain = regress(data, **NAMES, on=["x", "topic"], family="logistic")
    assert found["twice"].value is None
    assert "collinear" in found["twice"].reason
    assert found["same"].reason == "is the same on every row"
    assert found["topic=maths"].value == pytest.approx(plain["topic=maths"].value, rel=0.05)
    assert found["x"].low is not None


def test_a_word_column_with_one_level_says_nothing():
    found = regress(
        regression_table() | {"lang": np.full(800, "en", dtype=object)}, **NAMES, on=["x", "lang"], family="logistic"
    )
    assert [c.name for c in found.coefficients] == ["(intercept)", "x"]
    assert any("lang is against 'en'" in note for note in found.notes)


@pytest.mark.parametrize("method", ["auto", "difference", "power-tuned"])
@pytest.mark.parametrize("word", ["maths", "chat"])
def test_a_word_whose_ratings_are_all_alike_is_left_out(method, word):
    """Also where it is the one that the others are compared with."""
    data = regression_table(7)
    alike = data["topic"] == word
    data["human"] = np.where(alike & ~np.isnan(data["human"]), 1.0, data["human"])
    data["judge"] = np.where(alike, 1.0, data["judge"])
    found = regress(data, **NAMES, on=["x", "topic"], family="logistic", method=method)
    kept = {name: values[~alike] for name, values in data.items()}
    plain = regress(kept, **NAMES, on=["x", "topic"], family="logistic", method=method)
    assert found[f"topic={word}"].value is None
    assert "runs away" in found[f"topic={word}"].reason
    assert found["x"].value == pytest.approx(plain["x"].value, rel=1e-6)
    assert found.items == plain.items
    assert any(f"topic={word}" in note for note in found.notes)


@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_an_empty_slice_has_no_coefficient_and_the_rest_have(family):
    data = regression_table(family=family, words=("chat", "code", "rare", "maths"))
    data["human"] = np.where(data["topic"] == "rare", np.nan, data["human"])
    data["rate"] = np.where(data["topic"] == "rare", 0.001, data["rate"])
    found = regress(data, **NAMES, on=["x", "topic"], family=family)
    assert found["topic=rare"].value is None
    assert found["topic=rare"].reason == "no strong rating tells it"
    assert found["topic=maths"].low < found["topic=maths"].value < found["topic=maths"].high
    assert found.items == np.count_nonzero(data["topic"] != "rare")


def test_a_0_or_1_column_without_labels_on_one_side_is_left_out():
    data = regression_table() | {"new": (np.arange(800) % 5 == 0) * 1.0}
    data["human"] = np.where(data["new"] == 1, np.nan, data["human"])
    data["rate"] = np.where(data["new"] == 1, 0.001, data["rate"])
    found = regress(data, **NAMES, on=["x", "new"], family="logistic")
    assert found["new"].value is None
    assert found["x"].low is not None


# One clear line


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({"human": np.full(800, np.nan)}, {}, "no row of .* has a strong rating"),
        ({"rate": np.zeros(800)}, {}, r"row 1 of .* has a rate outside \(0, 1\]"),
        ({"rate": np.full(800, np.nan)}, {}, "strong rating but no rate|no row .* has a rate"),
        ({"rate": np.ones(800)}, {}, "answers that were asked for are missing"),
        ({"judge": np.full(800, np.nan)}, {}, "row 1 of .* has a rate but no weak rating"),
        ({"x": np.r_[np.nan, np.arange(799)]}, {}, "row 1 of .* has no value in column 'x'"),
        ({"x": np.r_[np.inf, np.arange(799)]}, {}, "finite"),
        ({"x": np.array(["oops", *map(str, range(799))], dtype=object)}, {}, "'x'"),
        ({"topic": np.array([str(k) + "th" for k in range(800)], dtype=object)}, {}, "different texts"),
        ({}, {"on": ["x", "x"]}, "named twice"),
        ({}, {"on": ["length"]}, "no column 'length'"),
        ({}, {"on": [], "intercept": False}, "at least one column"),
        ({}, {"family": "probit"}, "unknown family"),
        ({}, {"method": "magic"}, "unknown method"),
        ({}, {"level": 95}, "level must be in"),
        ({"human": np.full(800, 3.0), "rate": np.ones(800)}, {}, "needs strong ratings from 0 to 1"),
        ({"human": np.full(800, -1.0), "rate": np.ones(800)}, {"family": "poisson"}, "counts"),
        ({"human": np.ones(800), "rate": np.ones(800)}, {}, "all 800 strong ratings are 1"),
        ({}, {"estimand": "pool", "pool_size": 10}, "cannot be smaller"),
    ],
)
def test_bad_input_is_one_clear_line(change, options, message):
    how = {"on": ["x", "topic"], "family": "logistic"} | options
    with pytest.raises(InputError, match=message) as caught:
        regress(regression_table() | change, **NAMES, **how)
    assert "\n" not in str(caught.value)


def test_separable_data_are_named():
    data = regression_table()
    data["truth"] = (data["x"] > 3.1) * 1.0
    with pytest.raises(InputError, match=r"runs away along 'x'.*separable"):
        regress(data, strong="truth", on=["x", "topic"], family="logistic")


def test_fewer_labels_than_columns():
    data = regression_table() | {f"z{k}": np.random.default_rng(k).random(800) for k in range(6)}
    few = np.flatnonzero(~np.isnan(data["human"]))[:5]
    data["human"] = np.where(np.isin(np.arange(800), few), data["human"], np.nan)
    data["rate"] = np.full(800, 5 / 800)
    with pytest.raises(InputError, match="5 strong ratings cannot tell 7 coefficients"):
        regress(data, **NAMES, on=[f"z{k}" for k in range(6)])


def test_one_item():
    with pytest.raises(InputError, match="1 strong ratings cannot tell 1 coefficients"):
        regress({"h": [1.0], "x": [2.0]}, strong="h", on=[])


def test_ratings_that_do_not_vary_have_no_error():
    found = regress({"h": np.full(30, 2.0), "x": np.arange(30.0)}, strong="h", on=["x"])
    assert found["(intercept)"].value == pytest.approx(2.0)
    assert found["x"].standard_error is None
    assert found["x"].low is None
    assert "say nothing of its error" in found["x"].reason


def test_asked_for_and_missing():
    data = regression_table()
    asked = (~np.isnan(data["human"])) * 1.0
    asked[int(np.flatnonzero(asked == 0)[0])] = 1.0
    with pytest.raises(TableError, match="1 answers that were asked for are missing"):
        regress(data | {"selected": asked}, **NAMES, on=["x"], family="logistic", selected="selected")


# The record


def test_the_record_prints_and_is_json():
    data = regression_table() | {"same": np.ones(800)}
    found = regress(data, **NAMES, on=["x", "same"], family="logistic", level=0.9)
    text = str(found)
    assert "90% interval" in text
    assert "same" in text
    assert any("is the same on every row" in note for note in found.notes)
    back = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert back["coefficients"][1]["name"] == "x"
    assert back["labels"] == found.labels
    assert "<table" in found._repr_html_()
    with pytest.raises(KeyError):
        found["nothing"]
    assert found.covariance.shape == (2, 2)


@pytest.mark.parametrize("method", ["auto", "difference", "power-tuned"])
@pytest.mark.parametrize("family", ["linear", "logistic", "poisson"])
def test_units_and_origins_of_columns_do_not_matter(method, family):
    """Unix time, and the same in hours from the mean."""
    rng = np.random.default_rng(4)
    hours = rng.normal(size=400)
    h = (rng.random(400) < 0.4 + 0.1 * np.tanh(hours)) * 1.0
    g = np.clip(0.2 + 0.6 * h + 0.1 * rng.normal(size=400), 0, 1)
    table = {"t": 1.7e9 + 3600 * hours, "hours": hours, "g": g, "h": np.where(rng.random(400) < 0.5, h, np.nan)}
    one, two = (
        rw.regress(table, strong="h", weak="g", on=[column], family=family, method=method)[column]
        for column in ("t", "hours")
    )
    assert 3600 * one.value == pytest.approx(two.value, rel=1e-6)
    assert 3600 * one.standard_error == pytest.approx(two.standard_error, rel=1e-6)


def test_tiny_ratings_on_huge_columns_have_intervals():
    rng = np.random.default_rng(5)
    x = rng.normal(size=200)
    found = rw.regress({"x": 1e12 * x, "h": 1e-9 * (x + rng.normal(size=200))}, strong="h", on=["x"])["x"]
    assert found.low * 1e21 < 1 < found.high * 1e21


def test_rates_and_who_was_asked_are_taken_from_columns_of_these_names():
    rng = np.random.default_rng(6)
    x = rng.normal(size=500)
    rates = np.where(x > 0, 0.9, 0.15)
    asked = rng.random(500) < rates
    h = x + rng.normal(size=500)
    table = {"x": x, "g": x, "h": np.where(asked, h, np.nan), "rate": rates, "selected": asked}
    named = rw.regress(table, strong="h", weak="g", on=["x"], rate="rate")
    np.testing.assert_array_equal(rw.regress(table, strong="h", weak="g", on=["x"]).covariance, named.covariance)
    table["h"][np.flatnonzero(asked)[0]] = np.nan
    with pytest.raises(rw.TableError, match="1 answers that were asked for are missing"):
        rw.regress(table, strong="h", weak="g", on=["x"])
