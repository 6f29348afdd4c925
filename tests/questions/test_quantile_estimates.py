"""Quantiles against numpy, ppi-python, brute-force minimisation of the pinball loss, and order statistics."""

import numpy as np
import pytest
from scipy import stats

from ratewise.core.ratings import ratings
from ratewise.errors import InputError
from ratewise.questions.quantiles import distribution, estimate_quantile

from ..worlds import lopsided_scores

LEVELS = [0.05, 0.3, 0.5, 0.9]


@pytest.mark.parametrize("q", [*LEVELS, 0.001, 0.999, 0.25])
@pytest.mark.parametrize("T", [1, 2, 7, 20, 100, 401])
@pytest.mark.parametrize("digits", [None, 0])
def test_all_rated_is_the_sample_quantile(q, T, digits):
    g, h, _, _ = lopsided_scores(T, T, digits)
    found = estimate_quantile(g, h, 1.0, quantile=q)
    assert found.value == np.quantile(h, q, method="inverted_cdf")


@pytest.mark.parametrize("q", LEVELS)
@pytest.mark.parametrize("digits", [None, 0])
@pytest.mark.parametrize("seed", range(3))
def test_the_estimate_minimises_the_rectified_pinball_loss(q, digits, seed):
    g, h, pi, xi = lopsided_scores(seed, 300, digits)

    def pinball(y, theta):
        return np.where(y > theta, q * (y - theta), (1 - q) * (theta - y))

    def loss(theta):
        return (pinball(g, theta) + np.where(xi, (pinball(h, theta) - pinball(g, theta)) / pi, 0)).mean()

    found = estimate_quantile(g, np.where(xi, h, np.nan), pi, quantile=q)
    values = np.unique(np.concatenate([g, h[xi]]))
    assert loss(found.value) <= min(loss(v) for v in values) + 1e-12
    assert found.contributions.mean() == pytest.approx(
        ((g <= found.value) + np.where(xi, ((h <= found.value) * 1.0 - (g <= found.value)) / pi, 0)).mean()
    )


@pytest.mark.parametrize("q", LEVELS)
def test_all_rated_intervals_are_order_statistics(q):
    """Of the ranks at which a binomial test does not reject: the exact one for few, the mid-p one for many."""
    g, h, _, _ = lopsided_scores(3, 401)
    found = estimate_quantile(g, h, 1.0, quantile=q, level=0.9)
    k, y = np.arange(402), np.sort(h)
    binom = stats.binom(401, q)
    exact = 0.5 + 0.5 / (1 + np.minimum(k, 401 - k) / 5)
    at_most = binom.cdf(k) - (1 - exact) * binom.pmf(k)
    at_least = binom.sf(k - 1) - (1 - exact) * binom.pmf(k)
    assert found.low == y[np.argmax(at_most[1:] >= 0.05)]
    assert found.high == y[np.flatnonzero(at_least[:-1] >= 0.05)[-1]]
    assert found.low < found.value < found.high


@pytest.mark.parametrize("q", [0.2, 0.5, 0.9])
def test_one_rate_is_near_ppi_py(q):
    """Its grid minimises |F̂ − q| with unlabelled weak ratings only (λ = 1 there is λ = T/N here): the two estimates
    differ by little of the interval."""
    from ppi_py import ppi_quantile_pointestimate

    g, h, _, _ = lopsided_scores(5, 3000)
    n = 600
    theirs = ppi_quantile_pointestimate(h[:n], g[:n], g[n:], q, exact_grid=True)
    found = estimate_quantile(g, np.where(np.arange(3000) < n, h, np.nan), n / 3000, quantile=q)
    assert abs(found.value - theirs) < 0.35 * (found.high - found.low)


def test_one_rate_is_ppi_py_s_distribution():
    """F̂ with λ T/N for λ: the very same function, at every rating."""
    from ppi_py.ppi import _rectified_cdf

    from ratewise.core.m_estimation import RectifiedTerms

    g, h, _, _ = lopsided_scores(6, 1000)
    n = 200
    data = ratings(g, np.where(np.arange(1000) < n, h, np.nan), n / 1000)
    terms = RectifiedTerms.of(data, power=1000 / 800)
    grid = np.sort(np.concatenate([g, h[:n]]))
    ours = [terms.sum(lambda y, at=at: (y <= at) * 1.0).mean() for at in grid[::40]]
    np.testing.assert_allclose(ours, _rectified_cdf(h[:n], g[:n], g[n:], grid)[::40], atol=1e-12)


@pytest.mark.parametrize("pool", [np.inf, 300.0, 800.0])
def test_the_variance_of_the_distribution_by_hand(pool):
    g, h, pi, xi = lopsided_scores(7, 300, 0)
    data = ratings(g, np.where(xi, h, np.nan), pi)
    curve = distribution(data, 0.4, codes=None, pool_size=pool)
    odds = np.where(xi, (1 / pi - 1) / pi, 0)
    least = odds[xi].mean()
    for theta, variance in zip(curve.values[::5], curve.variance[::5], strict=True):
        apart = ((h <= theta) != (g <= theta)) * 1.0
        expected = 0.24 * (1 / 300 - 1 / pool) + max((odds * apart).sum(), least) / 300**2
        assert variance == pytest.approx(expected, rel=1e-9)


def test_chains_are_unbiased_for_the_distribution():
    rng = np.random.default_rng(8)
    T = 60_000
    h = rng.standard_normal(T)
    small, large = h + rng.standard_normal(T), h + 0.3 * rng.standard_normal(T)
    q = np.column_stack([np.full(T, 0.5), np.full(T, 0.2)])
    xi = rng.random(T)[:, None] < q
    found = estimate_quantile(
        np.column_stack([small, np.where(xi[:, 0], large, np.nan)]), np.where(xi[:, 1], h, np.nan), q, quantile=0.8
    )
    assert found.low <= stats.norm.ppf(0.8) <= found.high
    assert found.high - found.low < 0.1


def test_clusters_widen_the_interval():
    rng = np.random.default_rng(9)
    codes = np.repeat(np.arange(40), 25)
    h = np.repeat(rng.standard_normal(40), 25) + 0.3 * rng.standard_normal(1000)
    alone = estimate_quantile(h, h, 1.0, quantile=0.5)
    together = estimate_quantile(h, h, 1.0, quantile=0.5, clusters=codes)
    assert together.high - together.low > 3 * (alone.high - alone.low)
    each = estimate_quantile(h, h, 1.0, quantile=0.5, clusters=np.arange(1000))
    assert each.high - each.low == pytest.approx(alone.high - alone.low, rel=0.1)


def test_no_disagreement_seen_is_not_none():
    """Thirty labels that all agree do not make ten thousand weak ratings true."""
    rng = np.random.default_rng(10)
    g = rng.choice([3.0, 4.0], 10_000, p=[0.52, 0.48])
    few, many = (np.where(np.arange(10_000) < n, g, np.nan) for n in (30, 3000))
    assert estimate_quantile(g, few, 0.003, quantile=0.5).interval == (3.0, 4.0)
    sure = estimate_quantile(g, many, 0.3, quantile=0.5)
    assert sure.interval == (3.0, 3.0)
    assert sure.standard_error is None
    assert "one value" in sure.notes[0]


def test_order_matters_and_monotone_maps_do_not():
    g, h, pi, xi = lopsided_scores(11)
    strong = np.where(xi, h, np.nan)
    plain = estimate_quantile(g, strong, pi, quantile=0.7)
    order = np.random.default_rng(0).permutation(g.size)
    assert estimate_quantile(g[order], strong[order], pi[order], quantile=0.7).interval == plain.interval
    found = estimate_quantile(3 * g - 7, 3 * strong - 7, pi, quantile=0.7)
    assert found.interval == pytest.approx((3 * plain.low - 7, 3 * plain.high - 7))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"quantile": 0.0}, "quantile must be in"),
        ({"quantile": 1.0}, "quantile must be in"),
        ({"strong": [np.nan] * 3}, "no item has a strong rating"),
        ({"rates": [0.5, 0.0, 0.5]}, "rate"),
        ({"rates": [1.0, 1.0, 1.0]}, "rate 1 have no strong rating"),
        ({"weak": [1.0, np.inf, 2.0]}, "finite"),
        ({"clusters": ["a", "a", "a"]}, "one cluster"),
        ({"level": 1.5}, "level must be in"),
        ({"estimand": "pool", "pool_size": 2}, "cannot be smaller"),
    ],
)
def test_bad_input_is_one_clear_line(given, message):
    usual = {"weak": [1.0, 2.0, 3.0], "strong": [1.0, np.nan, 4.0], "rates": [0.5, 0.5, 0.5]}
    given = usual | given
    with pytest.raises(InputError, match=message):
        estimate_quantile(given.pop("weak"), given.pop("strong"), given.pop("rates"), **given)


def test_one_label_gives_a_value_and_no_interval():
    found = estimate_quantile([1.0, 2.0, 3.0], [np.nan, 2.5, np.nan], 0.4, quantile=0.5)
    assert found.interval is None
    assert found.standard_error is None
    assert "at least two" in found.notes[0]


@pytest.mark.parametrize(("quantile", "said"), [(0.995, "largest rating seen, and it is at least"), (0.004, "least")])
def test_a_quantile_that_may_lie_beyond_all_ratings_has_no_interval(quantile, said):
    h = np.random.default_rng(2).normal(size=150)
    found = estimate_quantile(np.zeros(150), h, 1.0, quantile=quantile)
    assert found.interval is None
    assert said in found.notes[0]
    bounded = estimate_quantile(np.zeros(150), h, 1.0, quantile=quantile, bounds=(-9.0, 9.0))
    assert 9.0 in (-bounded.interval[0], bounded.interval[1])


def test_zeros_and_ones_end_at_their_scale():
    h = np.r_[np.zeros(3), np.ones(197)]
    assert estimate_quantile(h, h, 1.0, quantile=0.99).interval == (1.0, 1.0)
    assert estimate_quantile(h, h, 1.0, quantile=0.01).interval[0] == 0.0


def test_bounds_must_hold_the_ratings():
    with pytest.raises(InputError, match="must be in order and hold every strong rating"):
        estimate_quantile(np.zeros(9), np.arange(9.0), 1.0, bounds=(0.0, 5.0))
