"""Every method of `simulate` against the obvious loop, and every interval against production's."""

import dataclasses
import math

import numpy as np
import pytest
from scipy import stats
from studies import obvious_loop as loop

from ratewise.core.names import SIMULATED_METHODS
from ratewise.lab.methods import Lab
from ratewise.lab.trials import Setting, on_one_scale
from ratewise.questions.estimation import estimate_mean

from .tables import MODES, OTHER, SCORES, TABLE, population_of

CASES = {  # burn-in, table, table to transfer from
    "burn-in": (40, TABLE, None),
    "transfer": (0, TABLE, OTHER),
    "transfer and burn-in": (25, TABLE, OTHER),
    "known": (0, TABLE, None),
    "Likert, burn-in": (60, SCORES, None),
    "Likert, known": (0, SCORES, None),
}
TRIALS = range(4, 7)
WITHOUT_AUTO = tuple(m for m in SIMULATED_METHODS if m not in {"auto", "limit"})  # which have no loop to compare with


def lab_of(case, mode, *, cost_ratio=0.05, fixed_rate=0.2, level=0.9, trials_budgets=(9.05, 31.0, 80.0, 2000.0)):
    burn_in, table, other = CASES[case]
    budgets = trials_budgets if mode == "pool" else trials_budgets[:-1]
    tables = [{"weak": one["g"], "strong": one["h"]} for one in (table, other) if one is not None]
    population, transfer = [*on_one_scale(tables), None][:2]
    setting = Setting(cost_ratio, budgets, burn_in, mode, level, fixed_rate, 17)
    return Lab.of(population, setting, WITHOUT_AUTO, transfer), transfer


def fixed_policy(method, known, rate):
    """ppi++ and active-fixed by hand."""
    if method == "ppi++":
        return lambda _, __: rate
    unit = sum(math.sqrt(g * (1 - g)) for g in known.weak) / len(known.weak)

    def mixed(share):
        return lambda _, g: share * rate + (1 - share) * min(rate * math.sqrt(g * (1 - g)) / unit, 1.0)

    def added(share):
        rates = [mixed(share)(None, g) for g in known.weak]
        return sum(u * (1 / p - 1) for u, p in zip(known.squared_error, rates, strict=True))

    return mixed(min((k / 10 for k in range(11)), key=added))


def fixed_rate_of(lab, budget):
    """n/N: the given one, or as much of a pool as the money is enough for."""
    s = lab.setting
    if s.mode == "stream":
        return s.fixed_rate
    return min(max(budget / (lab.population.items - s.burn_in) - s.cost_ratio, s.fixed_rate), 1.0)


@dataclasses.dataclass(frozen=True)
class One:
    """One method in one trial at one budget, by the loop."""

    value: float
    low: float
    high: float
    spend: float
    labels: int


def by_the_loop(lab, transfer):
    """Method → trials × budgets."""
    s, table = lab.setting, (lab.population.weak.tolist(), lab.population.strong.tolist())
    whole = loop.learned(*table)
    found = {method: [] for method in lab.methods}
    for burn_in, stream in loop.items_of(lab.population, s, TRIALS):
        given = [table[1][i] for i in burn_in]
        if transfer is not None:
            known = loop.learned(transfer.weak.tolist(), transfer.strong.tolist())
        else:
            known = loop.learned([table[0][i] for i in burn_in], given) if burn_in else whole
        for method in lab.methods:
            row = [one(lab, method, B, known, whole, given, stream, table) for B in s.budgets]
            found[method].append(row)
    return found


def one(lab, method, budget, known, whole, given, stream, table):
    s = lab.setting
    if method == "base":
        return base_by_hand(lab, budget, given, stream, table[1])
    if method == "oracle":
        known = whole
    if method in ("ppi++", "active-fixed"):
        rate = fixed_policy(method, known, fixed_rate_of(lab, budget))
    else:
        rate = loop.policy_of(method, known, s.cost_ratio)
    spent = loop.follow(
        known, rate, stream, table, budget=budget, cost_ratio=s.cost_ratio, tuned=method != "oracle"
    )  # fmt: skip
    expected = [rate(i, g) for i, g in enumerate(known.weak)]
    value = loop.combined(known, expected, given, spent)
    rows = stream[: spent.items]
    g = [loop.score(known.platt, table[0][i]) for i, _ in rows]
    pi = np.array([rate(i, x) for (i, _), x in zip(rows, g, strict=True)])
    strong = np.where([r < p for (_, r), p in zip(rows, pi, strict=True)], [table[1][i] for i, _ in rows], np.nan)
    error = standard_error(
        g, strong, pi, s, lab.population.items, "difference" if method == "oracle" else "power-tuned"
    )
    if given:
        added = np.mean([u * (1 / p - 1) for u, p in zip(known.squared_error, expected, strict=True)])
        first, second = known.variance / len(given), (known.variance + added) / spent.items
        share = second / (first + second)
        error = math.hypot(share * np.std(given, ddof=1) / math.sqrt(len(given)), (1 - share) * error)
    half = stats.norm.ppf(0.5 + s.level / 2) * error
    return One(value, value - half, value + half, s.cost_ratio * spent.items + spent.labels, spent.labels)


def standard_error(g, strong, pi, s, items, method):
    """As production says it; NaN where it says nothing."""
    pool = {} if s.mode == "stream" else {"estimand": "pool", "pool_size": items}
    if np.isnan(strong).all():
        return math.nan
    found = estimate_mean(g, strong, pi, method=method, interval="normal", **pool)
    if found.standard_error is not None:
        return found.standard_error
    return 0.0 if s.mode == "pool" and np.all(pi == 1) and len(g) == items else math.nan


def base_by_hand(lab, budget, given, stream, strong):
    s, N = lab.setting, lab.population.items
    ratings = given + [strong[i] for i, _ in stream[: math.floor(budget)]]
    n, value = len(ratings), sum(ratings) / len(ratings)
    pool = {} if s.mode == "stream" else {"estimand": "pool", "pool_size": N}
    found = estimate_mean(np.zeros(n), ratings, 1.0, level=s.level, bounds=(0, 1), **pool)
    return One(value, *found.interval, n - len(given), n - len(given))


@pytest.fixture(scope="module")
def both(request):
    """What the library and the loop find; computed once for each case."""
    made = {}

    def find(case, mode):
        if (case, mode) not in made:
            lab, transfer = lab_of(case, mode)
            expected = {
                method: {name: np.array([[getattr(x, name) for x in row] for row in rows]) for name in names_of(One)}
                for method, rows in by_the_loop(lab, transfer).items()
            }
            made[case, mode] = lab, lab.run(TRIALS), expected
        return made[case, mode]

    return find


def names_of(record):
    return [field.name for field in dataclasses.fields(record)]


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("mode", MODES)
def test_every_method_is_the_obvious_loop(both, mode, case):
    lab, found, expected = both(case, mode)
    for method in lab.methods:
        for name in ("value", "labels", "spend"):
            np.testing.assert_allclose(
                getattr(found[method], name), expected[method][name], rtol=0, atol=1e-9, err_msg=f"{method} {name}"
            )
        assert np.all(expected[method]["spend"] <= np.array(lab.setting.budgets) + 1e-9)


@pytest.mark.parametrize("case", list(CASES))
@pytest.mark.parametrize("mode", MODES)
def test_every_interval_is_that_of_production(both, mode, case):
    """By `estimate_mean` on the same items: its default for base, normal for the paper's methods."""
    lab, found, expected = both(case, mode)
    for method in lab.methods:
        low, high = expected[method]["low"], expected[method]["high"]
        there = np.isfinite(low)
        assert there.mean() > 0.5
        # In pools, the variance of running_estimates is not that of estimate_mean; see tests/core/test_running.py.
        np.testing.assert_allclose(found[method].low[there], low[there], atol=1e-9, err_msg=method)
        np.testing.assert_allclose(found[method].high[there], high[there], atol=1e-9, err_msg=method)


def test_the_benchmark_compares_the_same_numbers():
    """The loop as it is timed, against the library."""
    population = population_of(TABLE)
    setting = Setting(0.05, (20.0, 45.0), 30, "stream", 0.95, 0.1, 3)
    lab = Lab.of(population, setting, loop.LOOPED_METHODS, None)
    expected = loop.estimates(lab, range(2), loop.learned(population.weak.tolist(), population.strong.tolist()))
    found = lab.run(range(2))
    for method in loop.LOOPED_METHODS:
        np.testing.assert_allclose(found[method].value, expected[method], atol=1e-9)
