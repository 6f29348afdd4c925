"""What is reported of a method: base in theory, bootstrap intervals that hold the true error, and sentences."""

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import stats

from ratewise.lab.results import Base, in_words, resamples, results
from ratewise.lab.simulate import simulate
from ratewise.lab.trials import MethodOutcome
from ratewise.lab.worlds import calibrated

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


WORLD = calibrated(600, mean=0.75, spread=0.7, rng=np.random.default_rng(71))
MADE = {"g": WORLD.weak, "h": WORLD.strong}


@pytest.fixture(scope="module")
def found():
    return simulate(
        MADE, weak="g", strong="h", cost_ratio=0.02, budgets=[40, 90], burn_in=30, trials=60, workers=1, mode="pool",
        methods=("base", "oracle", "auto", "limit", "ppi++"),
    )  # fmt: skip


def words(found, **changes):
    """With other errors of some methods, as shares of base's, and enough trials to be sure."""
    given = {"burn_in": 0, "items": 600} | {k: v for k, v in changes.items() if k in {"burn_in", "partial"}}
    results = []
    for r in found.results:
        if r.method in changes:
            share = changes[r.method]
            ends = {"": share, "_low": share * 0.95, "_high": share * 1.05}
            shares = {f"of_base{end}": x for end, x in ends.items()}
            r = dataclasses.replace(r, **shares, **{f"mse{end}": x * r.base_mse for end, x in ends.items()})  # noqa: PLW2901
            r = dataclasses.replace(r, effective_budget=r.budget / share, savings=r.budget / share - r.budget)  # noqa: PLW2901
        results.append(dataclasses.replace(r, trials=changes.get("trials", 2000)))
    return in_words(results, budget=90, **given)


def test_a_sentence_for_a_mail(found):
    said = words(found, auto=0.6, limit=0.5, burn_in=30)
    assert said == (
        "With money for 90 strong ratings and 30 free labels to begin with, auto has 60.0% of the squared error of "
        "strong ratings alone: strong ratings alone would need 150 for the same error, 60 more. Were the weak rater's "
        "errors known beforehand, it would be 50.0%: the rest is left to gain. (2,000 trials on 600 items.)"
    )
    assert "free labels" not in words(found, auto=0.6)


def test_what_nobody_can_run_is_never_recommended(found):
    """The oracle and the limit are best, and ppi++ is better than auto."""
    said = words(found, auto=0.8, oracle=0.1, limit=0.2, **{"ppi++": 0.5})
    assert "auto has 80.0%" in said
    assert "oracle" not in said


def test_base_saves_nothing(found):
    said = words(found, auto=1.3, base=0.5)
    assert "nothing that was tried beats strong ratings alone: run base, which saves 0." in said
    for r in found.of("base"):
        assert (r.savings, r.savings_low, r.savings_high, r.effective_budget) == (0, 0, 0, r.budget)


def test_few_trials_say_so(found):
    assert "So few trials only show that the share is between 57.0% and 63.0%" in words(found, auto=0.6, trials=20)
    assert "So few" not in words(found, auto=0.6)
    assert "no difference that these trials could show" in words(found, auto=0.97)
    assert "(2,000 trials on 600 items, partial.)" in words(found, auto=0.6, partial=True)


def test_the_printed_and_the_written_ratio_are_the_same_number(found):
    """In a pool, too, where strong ratings alone do better than V/n."""
    for r in found.results:
        written = r.to_dict()
        assert written["of_base"] == r.of_base == r.mse / r.base_mse
        assert (written["of_base_low"], written["of_base_high"]) == (r.mse_low / r.base_mse, r.mse_high / r.base_mse)
    auto = found.of("auto")[-1]
    assert auto.of_base > auto.error_ratio  # the share of what a stream would have; the pool is what was simulated
    assert f"{auto.of_base:.1%}" in found.summary() or "run base" in found.summary()


def test_a_limit_that_is_no_better_leaves_nothing_to_gain(found):
    said = words(found, auto=0.6, limit=0.65)
    assert "it would not be less: nothing is left to gain by learning." in said
    assert "the rest is left to gain" not in said
