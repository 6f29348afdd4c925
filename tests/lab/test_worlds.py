"""Made-up worlds (METHODS section 10): means and variances of H, U and (H−G)², and what is refused."""

import numpy as np
import pytest
from scipy import stats
from studies.worlds import bernoulli, gaussian

from ratewise import InputError
from ratewise.lab.worlds import calibrated

from ..bounds import FALSE_ALARM

N = 40_000


def mean_is(sample, mean):
    """A z-test of the mean, false alarm 1e-4."""
    return abs(sample.mean() - mean) <= stats.norm.isf(FALSE_ALARM / 2) * sample.std(ddof=1) / np.sqrt(sample.size)


def variance_is(sample, variance, mean):
    return mean_is((sample - mean) ** 2, variance)


@pytest.fixture(scope="module")
def normal():
    return gaussian(N, variance=2.5, weak_error=0.7, error_variance=0.3, mean=11.0, rng=np.random.default_rng(901))


@pytest.fixture(scope="module")
def coins():
    return bernoulli(N, mean=0.85, weak_error=0.12, error_variance=0.02, rng=np.random.default_rng(907))


@pytest.fixture(scope="module")
def judge():
    return calibrated(N, mean=0.7, spread=0.4, rng=np.random.default_rng(911))


def test_gaussian(normal):
    assert mean_is(normal.strong, 11.0)
    assert variance_is(normal.strong, 2.5, 11.0)
    assert mean_is(normal.error, 0.7)
    assert variance_is(normal.error, 0.3, 0.7)
    np.testing.assert_allclose((normal.strong - normal.weak) ** 2, normal.error, rtol=1e-6)
    assert np.all(normal.weak >= normal.strong)  # G = H + sqrt(U)
    assert stats.kstest(normal.strong, stats.norm(11.0, np.sqrt(2.5)).cdf).pvalue > FALSE_ALARM
    assert stats.kstest(normal.error, stats.gamma(0.49 / 0.3, scale=0.3 / 0.7).cdf).pvalue > FALSE_ALARM
    assert abs(np.corrcoef(normal.strong, normal.error)[0, 1]) < stats.norm.isf(FALSE_ALARM / 2) / np.sqrt(N)
    assert (normal.mean, normal.variance) == (11.0, 2.5)


def test_the_checks_would_see_another_world(normal):
    """The same tests on worlds that are a little off."""
    assert not mean_is(normal.strong, 11.05)
    assert not variance_is(normal.strong, 2.4, 11.0)
    assert not mean_is(normal.error, 0.72)
    assert not variance_is(normal.error, 0.35, 0.7)
    assert stats.kstest(normal.error, stats.gamma(0.49 / 0.35, scale=0.35 / 0.7).cdf).pvalue < FALSE_ALARM


def test_bernoulli(coins):
    assert set(np.unique(coins.strong)) == set(np.unique(coins.weak)) == {0.0, 1.0}
    assert mean_is(coins.strong, 0.85)
    assert mean_is(coins.error, 0.12)
    assert variance_is(coins.error, 0.02, 0.12)
    wrong = (coins.strong - coins.weak) ** 2
    assert mean_is(wrong, 0.12)
    assert mean_is(wrong - coins.error, 0.0)
    assert mean_is((wrong - coins.error) * (coins.error - 0.12), 0.0)  # also given U: it is flipped with probability U
    size = 0.12 * 0.88 / 0.02 - 1
    assert stats.kstest(coins.error, stats.beta(0.12 * size, 0.88 * size).cdf).pvalue > FALSE_ALARM
    assert coins.variance == pytest.approx(0.85 * 0.15)
    assert coins.mean == pytest.approx(0.5 + np.sqrt(0.25 - coins.variance))  # as METHODS writes it


def test_calibrated(judge):
    assert mean_is(judge.weak, 0.7)
    assert variance_is(judge.weak, 0.4 * 0.21, 0.7)
    assert mean_is(judge.strong - judge.weak, 0.0)
    assert mean_is((judge.strong - judge.weak) * judge.weak, 0.0)
    np.testing.assert_allclose(judge.error, judge.weak * (1 - judge.weak))
    assert mean_is((judge.strong - judge.weak) ** 2 - judge.error, 0.0)
    assert mean_is(judge.error, 0.6 * 0.21)  # V less the score's own variance
    assert judge.variance == pytest.approx(0.21)


def test_no_spread_is_a_constant():
    rng = np.random.default_rng(919)
    assert np.all(gaussian(5, variance=1, weak_error=0.3, error_variance=0, rng=rng).error == 0.3)
    assert np.all(bernoulli(5, mean=0.5, weak_error=0.3, error_variance=0, rng=rng).error == 0.3)


def test_the_largest_spread_is_an_error_of_none_or_all():
    """METHODS: η ≤ μ(1−μ). At its end U is 0 or 1, where the Bernoulli bound is reached."""
    world = bernoulli(N, mean=0.6, weak_error=0.2, error_variance=0.2 * 0.8, rng=np.random.default_rng(929))
    assert set(np.unique(world.error)) == {0.0, 1.0}
    assert mean_is(world.error, 0.2)


def test_the_generator_decides():
    first, same, other = (
        calibrated(50, mean=0.7, spread=0.4, rng=np.random.default_rng(seed)).weak for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(first, same)
    assert np.any(first != other)


@pytest.mark.parametrize(
    ("make", "options", "words"),
    [
        (gaussian, {"variance": 0, "weak_error": 1, "error_variance": 1}, "variance must be above 0"),
        (gaussian, {"variance": 1, "weak_error": 0, "error_variance": 1}, "weak_error must be above 0"),
        (gaussian, {"variance": 1, "weak_error": 1, "error_variance": -1}, "error_variance must be at least 0"),
        (gaussian, {"variance": np.nan, "weak_error": 1, "error_variance": 1}, "finite"),
        (bernoulli, {"mean": 1.2, "weak_error": 0.1, "error_variance": 0}, "mean must be in"),
        (bernoulli, {"mean": 0.5, "weak_error": 0, "error_variance": 0}, "mean of U must be in"),
        (bernoulli, {"mean": 0.5, "weak_error": 0.1, "error_variance": -0.1}, "variance of U"),
        (bernoulli, {"mean": 0.5, "weak_error": 0.1, "error_variance": 0.1}, "variance of U must be"),
        (calibrated, {"mean": 0.0, "spread": 0.5}, "mean must be in"),
        (calibrated, {"mean": 0.5, "spread": 1.0}, "spread must be in"),
    ],
)
def test_refusals(make, options, words):
    with pytest.raises(InputError, match=words):
        make(10, **options, rng=np.random.default_rng(0))
