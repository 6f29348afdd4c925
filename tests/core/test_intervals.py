"""Intervals: against known formulas and limits; how often they hold the truth is in tests/statistical."""

import math

import numpy as np
import pytest
from scipy import optimize, stats

from ratewise.questions.estimation import estimate_mean


def binary(successes, n):
    return np.concatenate([np.ones(successes), np.zeros(n - successes)])


def uniform_table(seed, n=3000, rate=0.15):
    rng = np.random.default_rng(seed)
    h = rng.normal(4, 2, n)
    g = h + rng.normal(0.5, 1, n)
    return g, np.where(rng.random(n) < rate, h, np.nan), rate


def test_normal_interval_is_z_times_the_standard_error():
    g, h, rate = uniform_table(1)
    for level in (0.5, 0.9, 0.99):
        found = estimate_mean(g, h, rate, method="difference", interval="normal", level=level)
        z = stats.norm.ppf(0.5 + level / 2)
        assert found.standard_error == pytest.approx(found.contributions.std(ddof=1) / math.sqrt(3000))
        assert found.high - found.value == pytest.approx(z * found.standard_error)
        assert found.value - found.low == pytest.approx(z * found.standard_error)


def test_t_interval_with_rates_of_one_is_students():
    h = np.array([2.0, 5.0, 3.0, 9.0, 4.0, 4.5])
    found = estimate_mean(np.zeros(6), h, 1.0, interval="t")
    low, high = stats.t.interval(0.95, 5, loc=h.mean(), scale=stats.sem(h))
    assert found.interval == pytest.approx((low, high))


def test_degrees_of_freedom_count_labels_not_items_and_fall_when_few_labels_carry_the_sum():
    g, h, rate = uniform_table(2, n=400, rate=0.1)
    labels = np.count_nonzero(~np.isnan(h))
    even = estimate_mean(g, h, rate, method="difference", interval="t").degrees_of_freedom
    assert 0.4 * labels < even < 400 - 1
    rates = np.full(400, rate)
    rates[np.flatnonzero(~np.isnan(h))[:2]] = 0.004  # two labels with a weight of 250
    assert estimate_mean(g, h, rates, method="difference", interval="t").degrees_of_freedom < even / 4


def exact(k, n, share=1.0, level=0.95):
    """The exact binomial interval; with a share of 1/2 its mid-p form."""
    tail = (1 - level) / 2

    def low(k):
        return 0.0 if k == 0 else optimize.brentq(lambda p: _at_least(k, n, p, share) - tail, 1e-12, 1 - 1e-12)

    return low(k), 1 - low(n - k)


def _at_least(k, n, p, share):
    return stats.binom.sf(k, n, p) + share * stats.binom.pmf(k, n, p)


@pytest.mark.parametrize(("k", "n"), [(15, 30), (26, 30), (57, 60), (390, 400), (3, 25), (400, 1000)])
def test_score_interval_with_rates_of_one_lies_between_the_exact_binomial_and_its_mid_p_form(k, n):
    found = estimate_mean(np.full(n, 0.5), binary(k, n), 1.0)
    assert found.interval_method == "score"
    (low, high), (mid_low, mid_high) = exact(k, n), exact(k, n, 0.5)
    slack = 1e-3 * (high - low)
    assert low - slack <= found.low <= mid_low + slack
    assert mid_high - slack <= found.high <= high + slack


@pytest.mark.parametrize("n", [1, 5, 19, 100])
def test_score_interval_of_labels_that_all_agree_is_the_exact_binomial_one(n):
    for rate in (1.0, 0.2):
        T = round(n / rate)
        asked = np.where(np.arange(T) < n, 1.0, np.nan)
        found = estimate_mean(np.ones(T), asked, np.full(T, rate), method="difference", interval="score")
        assert found.interval == pytest.approx(exact(n, n), abs=0.02 * (1 - exact(n, n)[0]) + 0.04 / n)


@pytest.mark.parametrize("n", [20, 30, 100])
def test_no_error_seen_is_not_no_error(n):
    """All labels 1: the lower end reaches at least as far as the rule of three less a bit, never the estimate."""
    found = estimate_mean(np.full(n, 0.5), np.ones(n), 1.0)
    assert 1 - 5.5 / n < found.low < 1 - 2.5 / n
    assert found.high == 1


def test_score_interval_is_the_mirror_image_when_ratings_are_swapped():
    rng = np.random.default_rng(3)
    h = (rng.random(500) < 0.9).astype(float)
    g = np.clip(h * 0.7 + rng.random(500) * 0.3, 0, 1)
    asked = np.where(rng.random(500) < 0.2, h, np.nan)
    one, other = estimate_mean(g, asked, 0.2), estimate_mean(1 - g, 1 - asked, 0.2)
    assert (1 - other.high, 1 - other.low) == pytest.approx(one.interval)


def test_score_interval_stays_within_the_scale_and_approaches_normal():
    rng = np.random.default_rng(4)
    h = (rng.random(60_000) < 0.7).astype(float)
    g = np.where(rng.random(60_000) < 0.2, 1 - h, h)
    asked = np.where(rng.random(60_000) < 0.3, h, np.nan)
    score = estimate_mean(g, asked, 0.3, method="difference", interval="score")
    normal = estimate_mean(g, asked, 0.3, method="difference", interval="normal")
    assert score.interval == pytest.approx(normal.interval, abs=0.03 * (normal.high - normal.low))
    few = estimate_mean(np.full(12, 0.9), np.where(np.arange(12) < 6, 1.0, np.nan), 0.5)
    assert 0 <= few.low <= few.high <= 1


def test_score_interval_takes_other_scales():
    """Ratings times four plus one: the same interval, moved along."""
    rng = np.random.default_rng(5)
    h = (rng.random(200) < 0.8).astype(float)
    g = rng.random(200)
    asked = np.where(rng.random(200) < 0.4, h, np.nan)
    one = estimate_mean(g, asked, 0.4, interval="score", bounds=(0, 1))
    other = estimate_mean(1 + 4 * g, 1 + 4 * asked, 0.4, interval="score", bounds=(1, 5))
    assert other.interval == pytest.approx(tuple(1 + 4 * x for x in one.interval))


def test_bootstrap_agrees_with_normal_on_many_items_and_repeats_with_its_seed():
    g, h, rate = uniform_table(6)
    normal = estimate_mean(g, h, rate, method="difference", interval="normal")
    found = estimate_mean(g, h, rate, method="difference", interval="bootstrap", resamples=4000, seed=1)
    assert found.interval == pytest.approx(normal.interval, abs=0.08 * (normal.high - normal.low))
    again = estimate_mean(g, h, rate, method="difference", interval="bootstrap", resamples=4000, seed=1)
    assert found.interval == again.interval
    pool = estimate_mean(g, h, rate, method="difference", interval="bootstrap", estimand="pool", resamples=4000)
    exact = estimate_mean(g, h, rate, method="difference", interval="normal", estimand="pool")
    assert pool.interval == pytest.approx(exact.interval, abs=0.08 * (exact.high - exact.low))


def test_bootstrap_leans_the_way_the_data_lean():
    rng = np.random.default_rng(7)
    h = rng.exponential(1.0, 40)
    found = estimate_mean(np.zeros(40), h, 1.0, interval="bootstrap", resamples=8000)
    assert found.high - found.value > 1.1 * (found.value - found.low)


def test_auto_says_which_interval_it_took():
    g, h, rate = uniform_table(8, n=5000, rate=0.2)
    many = estimate_mean(g, h, rate)
    few = estimate_mean(g[:500], h[:500], rate)
    assert (many.interval_method, few.interval_method) == ("normal", "t")
    assert any("normal" in note for note in many.notes)
    assert any("a t interval" in note for note in few.notes)
    yes = estimate_mean(np.full(50, 0.5), binary(20, 50), 1.0)
    assert any("score" in note for note in yes.notes)


def test_higher_levels_are_wider_for_every_interval():
    rng = np.random.default_rng(9)
    h = (rng.random(300) < 0.8).astype(float)
    g = np.where(rng.random(300) < 0.2, 1 - h, h)
    asked = np.where(rng.random(300) < 0.5, h, np.nan)
    for interval in ("normal", "t", "score", "bootstrap", "anytime"):
        widths = [
            np.diff(estimate_mean(g, asked, 0.5, method="difference", interval=interval, level=level).interval)[0]
            for level in (0.8, 0.95, 0.99)
        ]
        assert widths[0] < widths[1] < widths[2], interval


@pytest.mark.parametrize("n", [20, 30, 60, 100, 400])
def test_score_interval_of_a_plain_proportion_covers_at_every_truth(n):
    """Exact, by summing the binomial over all outcomes: at least 94 % for every p, where Wald falls below 20 %."""
    ends = np.array([estimate_mean(np.full(n, 0.5), binary(k, n), 1.0).interval for k in range(n + 1)])
    normal = [estimate_mean(np.full(n, 0.5), binary(k, n), 1.0, interval="normal") for k in range(n + 1)]
    wald = np.array([e.interval or (e.value, e.value) for e in normal])
    k = np.arange(n + 1)
    for p in np.linspace(0.005, 0.995, 199):
        chance = stats.binom.pmf(k, n, p)
        assert chance[(ends[:, 0] <= p) & (p <= ends[:, 1])].sum() >= 0.94, p
    assert stats.binom.pmf(k, n, 0.995)[(wald[:, 0] <= 0.995) & (wald[:, 1] >= 0.995)].sum() < 0.9


def test_a_chain_of_0_1_ratings_has_a_score_interval_where_the_middle_rater_saw_some_items():
    """Coverage over 600 seeded chains: fewer than 549 hits of 600 at a true 95 % happen once in ten thousand."""
    hits = 0
    for seed in range(600):
        rng = np.random.default_rng(seed)
        h = (rng.random(300) < 0.85) * 1.0
        first, second = (np.where(rng.random(300) < p, 1 - h, h) for p in (0.3, 0.1))
        r, q = rng.random(300), np.tile([0.6, 0.3], (300, 1))
        weak = np.stack([first, np.where(r < 0.6, second, np.nan)], axis=1)
        found = estimate_mean(weak, np.where(r < 0.3, h, np.nan), q, interval="score")
        hits += found.interval[0] <= 0.85 <= found.interval[1]
    assert hits >= 549


def test_an_estimate_beyond_the_scale_has_an_interval_within_it():
    """An unbiased estimate may be above 1; what is shown, and its interval, may not, nor be a single point."""
    rng = np.random.default_rng([62, 3])
    h = (rng.random(200) < 0.97) * 1.0
    rates = np.exp(rng.uniform(np.log(0.05), 0, 200))
    strong = np.where(rng.random(200) < rates, h, np.nan)
    found = estimate_mean(np.full(200, 0.5), strong, rates)
    assert found.contributions.mean() > 1
    assert found.value == 1
    assert 0 <= found.interval[0] < 0.97 < found.interval[1] <= 1
    assert any("beyond the scale" in note for note in found.notes)


def test_ratings_that_are_tiny_do_not_underflow():
    """The same ratings times 1e-100 have the same interval times 1e-100."""
    rng = np.random.default_rng(90)
    h = rng.normal(size=200)
    g, strong = 0.9 * h, np.where(rng.random(200) < 0.3, h, np.nan)
    plain, tiny = (estimate_mean(x * g, x * strong, np.full(200, 0.3)) for x in (1.0, 1e-100))
    assert np.array(tiny.interval) * 1e100 == pytest.approx(np.array(plain.interval), rel=1e-6)
