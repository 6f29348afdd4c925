"""`auto`: what a round decides and spends, the estimate from all rounds, the start, and odd tables."""

import math

import numpy as np
import pytest

from ratewise.core.estimate import EstimateOptions
from ratewise.design import rounds
from ratewise.design.options import Money
from ratewise.design.rounds import estimate_seen, plan_round, start_labels
from ratewise.design.seen import Phase, Seen, mass
from ratewise.learn.covariates import Covariates
from ratewise.questions.estimation import estimate_mean

from .worlds import MONEY, burnt_in, coins, even, useless, varying

# What a round decides


def test_strong_ratings_alone_where_the_weak_rater_is_useless():
    for seed in range(5):
        planned = plan_round(burnt_in(useless(1009 + seed, 150)), MONEY)
        assert (planned.policy, planned.rule, planned.items) == ("base", None, 300)
        assert planned.spend == MONEY.left
        assert planned.own_rates.size == 0


@pytest.mark.parametrize("labels", [20, 60])
def test_labels_that_all_agree_do_not_make_the_weak_rater_look_good(labels):
    """f predicts them all, and so would any other f: nothing is bought on the strength of that.

    Where finding out is cheap the start goes on until some label tells, as long as there is money to act on it.
    """
    rng = np.random.default_rng(1011)
    seen = burnt_in((Covariates(rng.beta(5, 0.2, labels)), np.ones(labels)))
    assert seen.learned.unproven == pytest.approx(1.0)
    dear = plan_round(seen, Money(0.5, 1.0, 300.0))
    assert (dear.policy, dear.weak, dear.spend) == ("base", False, 300.0)
    known = seen.learned
    assert known.mean(known.squared) >= known.variance
    cheap = plan_round(seen, Money(0.01, 1.0, 300.0))
    assert (cheap.policy, cheap.rule, cheap.weak, cheap.items) == ("base", None, True, labels)
    half = plan_round(seen, Money(0.01, 1.0, 1.5 * labels))
    assert (half.weak, half.items) == (True, int(0.75 * labels / 1.01))
    late = plan_round(seen, Money(0.01, 1.0, 0.5 * labels))
    assert not late.weak


def says_yes_or_no(seed, items, *, mean=0.8, wrong=0.1):
    """A judge of two words that is wrong on a share of the items: R² is about 0.4."""
    rng = np.random.default_rng(seed)
    h = (rng.random(items) < mean).astype(np.float64)
    return Covariates(np.where(rng.random(items) < wrong, 1 - h, h)), h


def test_a_good_judge_is_not_given_up_after_twenty_labels():
    """Few labels may make it look useless: at a small price the start goes on, and decides on more of them."""
    planned = [
        plan_round(burnt_in(says_yes_or_no(3000 + seed, 20)), Money(0.001, 1.0, 80.0, 20_000.0)) for seed in range(60)
    ]
    assert all(p.weak for p in planned)
    assert 5 <= sum(p.rule is None for p in planned) <= 55  # and labels that are clear are acted on at once


def test_a_useless_judge_is_given_up_at_once_where_labels_are_sure():
    """Each label is compared with itself, so that the scatter of labels is none of the comparison's."""
    planned = [plan_round(burnt_in(useless(3100 + seed, 60)), Money(0.05, 1.0, 240.0, 20_000.0)) for seed in range(40)]
    assert sum(not p.weak for p in planned) >= 30


@pytest.mark.parametrize("labels", [20, 60])
def test_a_weak_rater_that_costs_nothing_is_never_given_up(labels):
    for seed in range(20):
        for made in (useless(3200 + seed, labels), says_yes_or_no(3300 + seed, labels)):
            assert plan_round(burnt_in(made), Money(0.0, 1.0, 4.0 * labels, 5_000.0)).weak
    whole = plan_round(burnt_in(useless(3400, labels)), Money(0.0, 1.0, 400.0, 400.0))
    assert not whole.weak  # everything gets its strong rating, and nothing is left to estimate


@pytest.mark.parametrize("dear", [0.7, 2.0])
def test_strong_ratings_alone_where_the_weak_rater_is_too_dear(dear):
    seen = burnt_in(even(1013, 150))
    assert plan_round(seen, Money(dear, 1.0, 300.0)).policy == "base"
    cheap = plan_round(seen, Money(0.01, 1.0, 300.0))
    assert cheap.policy != "base"
    assert cheap.expected_ratio < 0.6
    assert plan_round(seen, Money(dear, 1.0, 300.0), base_allowed=False).rule is not None


def test_random_where_errors_are_the_same_everywhere():
    found = [plan_round(burnt_in(even(1019 + seed, 300)), MONEY) for seed in range(8)]
    assert sum(p.policy == "random" for p in found) >= 6
    for p in found:
        assert (p.policy == "random") == (p.rule is None or p.rule.error.kind == "constant")


@pytest.mark.parametrize("u", [False, True])
def test_active_where_errors_vary(u):
    """And there is money left to act on it: a burn-in that makes up half of all labels has settled most rates."""
    found = [plan_round(burnt_in(varying(1031 + seed, 400, u=u)), Money(0.05, 1.0, 3000.0)) for seed in range(8)]
    assert sum(p.policy == "active" for p in found) >= 7
    for p in found:
        rates = p.rule.rates(varying(1, 2000, u=u)[0], np.full(2000, 0.0))
        assert rates.max() > 1.5 * rates.min()
        assert rates.min() >= p.rule.floor * (1 - 1e-12)
    if u:
        assert sum(p.rule is not None and p.rule.error.kind == "given" for p in found) >= 6


def test_active_beats_random_in_expectation_only_where_it_is_chosen():
    """V, E[(H−f)²] and the ratio are those of METHODS section 1 for the chosen rates, by hand.

    V counts one more label at either end; the labels' squared residuals may be raised by what few labels cannot show.
    """
    x, h = varying(1033, 600, u=True)
    planned = plan_round(burnt_in((x, h)), Money(0.05, 1.0, 3000.0))
    known = burnt_in((x, h)).learned
    V = np.append(h, [h.min(), h.max()]).var()
    assert known.variance == pytest.approx(V)
    M = np.mean((h - known.unseen) ** 2)
    assert M <= known.mean(known.squared) < M + 0.02 * V
    u = planned.rule.error.kind, planned.rule.error.predict(known.model.predict(x), x)
    assert u[0] == "given"
    pi = np.clip(planned.rule.scale * np.sqrt(u[1]), planned.rule.floor, 1)
    worth = 3000 + 600 + 0.05 * 600
    items = worth / (0.05 + pi.mean())
    assert planned.rule.total == pytest.approx(items, rel=0.02)  # policies are solved in bins
    expected = (V + np.mean(known.squared * (1 / pi - 1))) / items
    assert planned.expected_ratio == pytest.approx(expected / (V / 3600), rel=0.02)
    uniform = [(V + known.squared.mean() * (1 / p - 1)) / (worth / (0.05 + p)) for p in np.linspace(0.01, 1, 500)]
    assert expected < min(uniform)


@pytest.mark.parametrize(
    ("labels", "left", "spend"),
    [(50, 200, 50), (50, 66, 50), (50, 65, 65), (50, 20, 20), (200, 1000, 200), (200, 260, 260), (12, 500, 12)],
)
def test_a_round_spends_what_was_bought_and_the_last_all(labels, left, spend):
    planned = plan_round(burnt_in(even(1039, labels)), Money(0.01, 1.0, left), base_allowed=False)
    assert planned.spend == pytest.approx(spend)


def test_a_round_after_very_few_labels_buys_ten_items_at_least():
    planned = plan_round(burnt_in(even(1049, 4)), Money(0.01, 1.0, 500.0), base_allowed=False)
    assert planned.spend == pytest.approx(10.1)


def test_strong_ratings_alone_are_no_option_once_weak_ones_were_bought():
    x, h = useless(1051, 200)
    first = Seen.of(x.rows(slice(0, 100)), h[:100], (Phase(100),))
    rule = plan_round(first, MONEY, base_allowed=False).rule
    strong = np.where(np.arange(100) % 2, h[100:], np.nan)
    seen = first.joined(x.rows(slice(100, 200)), strong, np.full(100, 100.0), Phase(100, rule))
    planned = plan_round(seen, MONEY)
    assert planned.rule is not None
    assert math.isnan(planned.expected_ratio)


def test_a_pool_that_ends_first_is_looked_at_whole():
    """The last round takes all that is left of it; an earlier one the share of its money."""
    seen = burnt_in(even(1061, 100))
    last = plan_round(seen, Money(0.01, 1.0, 120.0, 300))
    assert last.spend == 120
    assert last.items == 300
    first = plan_round(seen, Money(0.01, 1.0, 250.0, 400))
    assert first.spend == 100
    assert first.items == math.ceil(400 * 100 / 250)
    assert plan_round(seen, Money(0.01, 1.0, 120.0, 100_000)).items is None
    assert plan_round(seen, Money(0.01, 1.0, 120.0)).items is None


def test_a_pool_that_can_be_rated_whole_is():
    planned = plan_round(burnt_in(even(1063, 100)), Money(0.01, 1.0, 300.0, 300))
    assert planned.policy == "base"
    both = plan_round(burnt_in(even(1063, 100)), Money(0.01, 1.0, 303.0, 300), base_allowed=False)
    assert both.items is not None
    np.testing.assert_allclose(both.rule.rates(even(1, 50)[0], np.full(50, 100.0)), 1)


def test_free_weak_ratings_in_a_pool():
    """c_g = 0: everything is looked at, and the strong ratings are spread by u."""
    planned = plan_round(burnt_in(varying(1069, 150, u=True)), Money(0.0, 1.0, 100.0, 500))
    assert planned.items == 500
    assert planned.spend == 100
    rates = planned.rule.rates(varying(2, 5000, u=True)[0], np.full(5000, 150.0))
    assert np.all((rates >= 0) & (rates <= 1))
    assert 50 < 500 * rates.mean() < 200


def test_a_teacher_stands_in_while_there_are_no_labels():
    known = burnt_in(varying(1087, 400, u=True)).learned
    x, _ = varying(3, 300, u=True)
    nothing = Seen.of(x.rows(slice(0, 0)), np.empty(0), ())
    planned = plan_round(nothing, MONEY, teacher=known)
    assert planned.policy == "active"
    assert planned.own_rates.size == 0
    rates = planned.rule.rates(x, np.zeros(300))
    assert np.all(rates >= planned.rule.floor * (1 - 1e-12))
    bad = burnt_in(useless(1091, 300)).learned
    assert plan_round(Seen.of(Covariates(np.empty(0)), np.empty(0), ()), MONEY, teacher=bad).policy == "base"


def test_a_teacher_goes_on_after_a_round_without_a_label():
    """Chance may draw nobody: the next round is planned by the same teacher."""
    known = burnt_in(even(1093, 200)).learned
    x, _ = even(4, 30)
    nothing = Seen.of(x.rows(slice(0, 0)), np.empty(0), ())
    rule = plan_round(nothing, MONEY, teacher=known).rule
    unlucky = nothing.joined(x, np.full(30, np.nan), np.zeros(30), Phase(30, rule))
    planned = plan_round(unlucky, MONEY, teacher=known)
    assert planned.rule is not None
    assert planned.own_rates.size == 0


# The estimate


def test_everything_labelled_is_the_plain_mean():
    x, h = coins(1103, 80)
    plain = estimate_mean(np.zeros(80), h, np.ones(80), method="difference")
    found = estimate_seen(burnt_in((x, h)))
    assert found.value == pytest.approx(h.mean(), abs=1e-15)
    assert found.interval == pytest.approx(plain.interval)
    three = Seen.of(x, h, (Phase(50), Phase(30)))
    assert estimate_seen(three).value == pytest.approx(h.mean())
    pool = estimate_seen(burnt_in((x, h)), EstimateOptions(estimand="pool", pool_size=80))
    assert pool.value == pytest.approx(h.mean())
    assert pool.standard_error is None or pool.standard_error == pytest.approx(0, abs=1e-12)


def half_labelled(seed=1109, n=400, world=varying):
    """A burn-in of 60 and a phase by a rule: labels drawn by it, weights unequal."""
    x, h = world(seed, n)
    first = Seen.of(x.rows(slice(0, 60)), h[:60], (Phase(60),))
    planned = plan_round(first, Money(0.05, 1.0, 100.0), base_allowed=False)
    more = x.rows(slice(60, n))
    before = mass(first.phases, more)
    drawn = np.random.default_rng(seed).random(n - 60) < planned.rule.rates(more, before)
    return first.joined(more, np.where(drawn, h[60:], np.nan), before, Phase(n - 60, planned.rule), planned.own_rates)


def test_the_estimate_is_the_pooled_formula():
    """mean(f) + (1/T) Σ (H − f)/π̄, f of a label from the others."""
    seen = half_labelled()
    use, known = seen.labelled, seen.learned
    pi = seen.mass / seen.items
    f = known.model.predict(seen.x)
    f[use] = known.unseen
    by_hand = math.fsum(f) / 400 + math.fsum((seen.strong[use] - f[use]) / pi[use]) / 400
    found = estimate_seen(seen)
    assert found.value == pytest.approx(by_hand, rel=1e-12)
    assert (found.items, found.labels) == (400, np.count_nonzero(use))
    np.testing.assert_allclose(known.weights, 1 / pi[use])


def test_the_interval_counts_what_learning_adds():
    """Wider than by the variance alone, by the square root of 1 + a constant over the labels."""
    seen = half_labelled()
    n = int(np.count_nonzero(seen.labelled))
    known = seen.learned
    f = known.model.predict(seen.x)
    f[seen.labelled] = known.unseen
    plain = estimate_mean(f, seen.strong, seen.rates(), method="difference", interval="normal")
    found = estimate_seen(seen, EstimateOptions(interval="normal"))
    factor = (found.interval[1] - found.interval[0]) / (plain.interval[1] - plain.interval[0])
    assert factor == pytest.approx(math.sqrt(1 + rounds._LEARNING_LABELS / n), rel=1e-9)
    assert found.standard_error == pytest.approx(factor * plain.standard_error)


# Starting


@pytest.mark.parametrize(
    ("budget", "pool", "labels"),
    [
        (30, math.inf, 15), (60, math.inf, 20), (120, math.inf, 24), (1000, math.inf, 200), (50_000, math.inf, 200),
        (1000, 90, 45), (1000, 3, 2), (3, math.inf, 2), (60, 31, 15), (8, math.inf, 4),
    ],
)  # fmt: skip
def test_labels_to_start_from(budget, pool, labels):
    """A fifth from 20 to 200, at most half of budget and pool, never below two."""
    assert start_labels(budget, pool) == labels


# Degenerate tables


def finite(planned, left):
    assert 0 < planned.spend <= left
    assert math.isfinite(planned.expected_variance)
    assert planned.expected_variance >= 0
    assert math.isfinite(planned.expected_ratio)
    assert np.all(np.isfinite(planned.own_rates))
    if planned.rule is not None:
        assert math.isfinite(planned.rule.total)
        assert np.all((planned.own_rates >= 0) & (planned.own_rates <= 1 + 1e-12))


def odd_tables():
    rng = np.random.default_rng(1123)
    g = rng.random(40)
    yield "all labels 1", Covariates(g), np.ones(40)
    yield "all labels 3.5", Covariates(g), np.full(40, 3.5)
    yield "constant weak", Covariates(np.full(40, 0.3)), (rng.random(40) < 0.5).astype(float)
    yield "two labels", Covariates(g[:2]), np.array([0.0, 1.0])
    yield "two equal labels", Covariates(g[:2]), np.array([1.0, 1.0])
    yield "weak is strong", Covariates(g), g.copy()
    yield "zero uncertainty", Covariates(g, None, np.zeros(40)), (rng.random(40) < g).astype(float)
    yield "one feature for all", Covariates(g, np.ones((40, 1))), (rng.random(40) < g).astype(float)
    yield "far from zero", Covariates(1e9 + g), 1e9 + g + 0.1 * rng.random(40)
    yield "tiny", Covariates(1e-9 * g), 1e-9 * (g + 0.1 * rng.random(40))


@pytest.mark.parametrize(("x", "h"), [t[1:] for t in odd_tables()], ids=[t[0] for t in odd_tables()])
@pytest.mark.parametrize(
    "money", [Money(0.05, 1.0, 90.0), Money(0.05, 1.0, 90.0, 60), Money(0.0, 1.0, 30.0, 200), Money(3.0, 7.0, 200.0)]
)
def test_odd_tables_give_a_plan_and_an_estimate(x, h, money):
    seen = Seen.of(x, h, (Phase(h.size),))
    for base_allowed in (True, False):
        planned = plan_round(seen, money, base_allowed=base_allowed)
        if base_allowed:
            finite(planned, money.left)
    more = x.joined(x)
    before = mass(seen.phases, more)
    rates = planned.rule.rates(more, before)
    assert np.all((rates >= 0) & (rates <= 1))
    drawn = np.arange(more.items) % 3 == 0
    strong = np.where(drawn, np.concatenate([h, h]), np.nan)
    found = estimate_seen(seen.joined(more, strong, before, Phase(more.items, planned.rule), planned.own_rates))
    assert math.isfinite(found.value)
    if found.interval is not None:
        assert found.interval[0] <= found.value <= found.interval[1]


@pytest.mark.parametrize("labels", [8, 20, 60])
def test_labels_that_are_all_equal_do_not_make_the_weak_rater_perfect(labels):
    """No error among n labels is no proof of none: strong ratings must go on to be bought with the money.

    A weak rating of 0.05 bought alone for a hundred units of money is two thousand ratings and no answer.
    """
    rng = np.random.default_rng(1129)
    g = rng.beta(9, 1, labels)
    money = Money(0.05, 1.0, 100.0)
    planned = plan_round(burnt_in((Covariates(g), np.ones(labels))), money)
    if planned.rule is not None:
        x = Covariates(rng.beta(9, 1, 5000))
        rates = planned.rule.rates(x, np.full(5000, float(labels)))
        for_labels = rates.mean() / (0.05 + rates.mean())
        assert for_labels > 0.2
