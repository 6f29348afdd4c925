"""Estimates from chosen items: by hand, in the limits, and how often their intervals cover."""

import math

import numpy as np
import pytest
from scipy import stats

from ratewise.core.stratified import estimate_stratified, estimate_weighted
from ratewise.errors import InputError
from ratewise.questions.estimation import estimate_mean

from .strata import NAMES, SHARES, sample, weighted_sample


def test_by_hand():
    g, h, q, names = sample(np.random.default_rng(1))
    found = estimate_stratified(g, h, q, names, shares=SHARES, method="difference", interval="normal")
    delta = np.where(np.isnan(h), g, g + (h - g) / q)
    by = {name: delta[names == name] for name in SHARES}
    value = math.fsum(W * by[name].mean() for name, W in SHARES.items())
    variance = math.fsum(W**2 * by[name].var(ddof=1) / by[name].size for name, W in SHARES.items())
    assert found.value == pytest.approx(value)
    assert found.standard_error == pytest.approx(math.sqrt(variance))
    z = stats.norm.ppf(0.975)
    assert found.interval == pytest.approx((value - z * math.sqrt(variance), value + z * math.sqrt(variance)))
    assert found.contributions.mean() == pytest.approx(value)
    assert found.method == "stratified difference"


@pytest.mark.parametrize("interval", ["t", "normal"])
@pytest.mark.parametrize("estimand", ["population", "pool"])
def test_one_stratum_is_estimate_mean(interval, estimand):
    g, h, q, _ = sample(np.random.default_rng(2))
    size = {"sizes": {"all": 400}} if estimand == "pool" else {"shares": {"all": 1.0}}
    one = np.full(g.size, "all")
    words = {"method": "difference", "interval": interval, "estimand": estimand}
    ours = estimate_stratified(g, h, q, one, **size, **words)
    plain = estimate_mean(g, h, q, pool_size=400 if estimand == "pool" else None, **words)
    assert (ours.value, ours.standard_error) == pytest.approx((plain.value, plain.standard_error))
    assert ours.interval == pytest.approx(plain.interval)


def test_one_stratum_of_zeros_and_ones_is_the_score_interval():
    rng = np.random.default_rng(3)
    g = rng.uniform(size=200)
    h = np.where(rng.random(200) < 0.4, rng.random(200) < g, np.nan)
    one, rates = np.full(200, "all"), np.full(200, 0.4)
    ours = estimate_stratified(g, h, rates, one, shares={"all": 1.0}, method="difference")
    plain = estimate_mean(g, h, rates, method="difference")
    assert ours.interval_method == plain.interval_method == "score"
    assert ours.interval == pytest.approx(plain.interval)


def test_items_in_proportion_give_the_plain_value():
    g, h, q, names = sample(np.random.default_rng(4), counts=np.array([120, 60, 20]))
    found = estimate_stratified(g, h, q, names, shares=SHARES, method="difference")
    plain = estimate_mean(g, h, q, method="difference")
    assert found.value == pytest.approx(plain.value)
    assert found.standard_error < 0.75 * plain.standard_error  # differences between strata are gone


def test_a_pool_that_was_rated_whole_is_exact():
    rng = np.random.default_rng(5)
    h, names = rng.normal(size=30), np.repeat(NAMES, 10)
    found = estimate_stratified(
        h, h, np.ones(30), names, sizes=dict.fromkeys(NAMES, 10.0), estimand="pool", method="difference"
    )
    assert found.interval == pytest.approx((h.mean(), h.mean()))
    part = estimate_stratified(
        h, h, np.ones(30), names, sizes={"easy": 10, "hard": 10, "odd": 40}, estimand="pool", method="difference"
    )
    odd = h[20:]
    own = (40 / 60) ** 2 * odd.var(ddof=1) * (1 / 10 - 1 / 40)
    assert part.standard_error == pytest.approx(math.sqrt(own), rel=0.06)  # s² by n or by n − 1


def test_a_stratum_with_an_unknown_spread_borrows_that_of_the_others():
    g, h, q, names = sample(np.random.default_rng(6))
    h = np.where(names == "odd", np.nan, h)
    found = estimate_stratified(g, h, q, names, shares=SHARES, method="difference")
    assert found.interval is not None
    assert any("'odd'" in note for note in found.notes)
    none = estimate_stratified([0.0, 1.0], [0.0, 1.0], 1.0, ["a", "b"], shares={"a": 0.5, "b": 0.5}, interval="t")
    assert none.interval is None
    assert none.standard_error is None
    assert "unknown" in none.notes[-1]


def test_missing_answers_are_counted_at_both_ends():
    rng = np.random.default_rng(7)
    h = (rng.random(60) < 0.5).astype(float)
    names = np.repeat(["a", "b"], 30)
    gone = np.where(np.arange(60) < 4, np.nan, h)
    found = estimate_stratified(np.full(60, 0.5), gone, 1.0, names, shares={"a": 0.9, "b": 0.1}, method="difference")
    ends = [
        estimate_stratified(
            np.full(60, 0.5), np.where(np.isnan(gone), x, gone), 1.0, names, shares={"a": 0.9, "b": 0.1},
            method="difference",
        )
        for x in (0.0, 1.0)
    ]  # fmt: skip
    assert found.interval == pytest.approx((ends[0].interval[0], ends[1].interval[1]))
    assert found.standard_error is None
    assert found.labels == 56
    assert "4 answers" in found.notes[0]


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"shares": None}, "sizes or their shares"),
        ({"estimand": "pool"}, "needs the strata's sizes"),
        ({"shares": {"a": 1.0}}, "item 2 is of stratum 'b'"),
        ({"shares": {"a": 0.5, "b": 0.4, "c": 0.1}}, "no item of stratum 'c'"),
        ({"shares": None, "sizes": {"a": 1, "b": 9}}, "its size is 1"),
        ({"interval": "bootstrap"}, "no bootstrap interval"),
        ({"interval": "score"}, "needs the ends of the rating scale"),
        ({"strata": ["a", "b"]}, "one name per item"),
    ],
)
def test_refusals(keys, message):
    words = {
        "weak": [2.0, 3.0, 4.0, 5.0], "strong": [2.0, 3.0, 4.0, 5.0], "rates": 1.0, "strata": ["a", "a", "b", "b"],
        "shares": {"a": 0.5, "b": 0.5},
    }  # fmt: skip
    with pytest.raises(InputError, match=message):
        estimate_stratified(**{**words, **keys})


# Weights


def test_weighted_by_hand_and_equal_weights():
    g, h, q, w = weighted_sample(np.random.default_rng(8))
    found = estimate_weighted(g, h, q, w, method="difference", interval="normal")
    delta = np.where(np.isnan(h), g, g + (h - g) / q)
    value = (w * delta).sum() / w.sum()
    z = w * (delta - value) / w.mean()
    assert found.value == pytest.approx(value)
    assert found.standard_error == pytest.approx(z.std(ddof=1) / math.sqrt(z.size))
    equal = estimate_weighted(g, h, q, np.full(g.size, 7.0), method="difference", interval="t")
    plain = estimate_mean(g, h, q, method="difference", interval="t")
    assert equal.interval == pytest.approx(plain.interval)
    with pytest.raises(InputError, match="above 0"):
        estimate_weighted(g, h, q, -w)
    with pytest.raises(InputError, match="no score interval"):
        estimate_weighted(g, h, q, w, interval="score")


def test_the_value_is_kept_to_the_scale_as_the_ends_are():
    """A judge that is too strict: the unbiased mean of labels that are all 1 lies above 1."""
    rng = np.random.default_rng(3)
    weak, rates = rng.uniform(0.2, 0.6, 400), np.full(400, 0.1)
    asked = np.arange(400) % 8 == 0
    strata = np.where(np.arange(400) % 16 < 8, "a", "b")
    sizes = {"a": 200, "b": 200}
    found = estimate_stratified(weak, np.where(asked, 1.0, np.nan), rates, strata, sizes=sizes, method="difference")
    assert found.contributions.mean() > 1
    assert found.low <= found.value <= found.high <= 1
