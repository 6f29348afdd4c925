"""What is reported of a method: base in theory, and bootstrap intervals that hold the true error."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from ratewise.lab.results import Base, resamples, results
from ratewise.lab.trials import MethodOutcome

from ..bounds import FALSE_ALARM
from .tables import TABLE


@settings(max_examples=200, deadline=None)
@given(
    V=st.floats(1e-4, 1e4), burn_in=st.integers(0, 500), pool=st.one_of(st.just(math.inf), st.integers(2, 10**6)),
    share=st.floats(0.001, 1),
)  # fmt: skip
def test_error_and_budget_of_base_are_inverse(V, burn_in, pool, share):
    assume(burn_in < pool)
    base = Base(V, burn_in, float(pool))
    budget = share * (1e5 if math.isinf(pool) else pool - burn_in)
    assert base.budget(base.mse(budget)) == pytest.approx(budget, rel=1e-6, abs=1e-6 * (burn_in + budget))


def test_base_in_a_pool_that_is_rated_whole():
    base = Base(0.2, 10, 50.0)
    assert base.mse(40) == base.mse(90) == 0
    assert base.budget(0.0) == pytest.approx(40)


def test_bootstrap_intervals_hold_the_true_error():
    """Of 200 small simulations of base, whose true error is V/n, about 95 %; a binomial bound, false alarm 1e-4."""
    times, h = 200, TABLE["h"]
    truth, base = h.var() / 25, Base(h.var(), 0, math.inf)
    low, high = np.empty(times), np.empty(times)
    for seed in range(times):
        value = np.random.default_rng([7, seed]).choice(h, (100, 25)).mean(axis=1, keepdims=True)
        outcome = MethodOutcome(value, value, value, value, value)
        (r,) = results("base", outcome, (25.0,), theta=h.mean(), scale=1.0, base=base, shares=resamples(100, seed))
        assert r.mse_low < r.mse < r.mse_high
        low[seed], high[seed] = r.mse_low, r.mse_high
    least, most = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], times, 0.95)
    assert least <= np.count_nonzero((low <= truth) & (truth <= high)) <= most
    middle, half = (low + high) / 2, (high - low) / 4
    assert np.count_nonzero(np.abs(truth - middle) <= half) < least  # intervals of half the width would be seen
