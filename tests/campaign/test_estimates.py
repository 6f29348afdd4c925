"""Estimates from closed rounds: levels that add up, targets, missing answers, and the three routes to each number."""

import math
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pytest
from scipy import special, stats

from ratewise.campaign import estimates as a
from ratewise.campaign import planner as d
from ratewise.campaign.history import History, LookedItems
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.campaign.spec.read import read_spec
from ratewise.core.estimate import EstimateOptions, estimate_rated
from ratewise.core.ratings import Ratings
from ratewise.errors import SpecError
from ratewise.lab.worlds import calibrated
from ratewise.learn.covariates import Covariates
from ratewise.questions.estimation import estimate_mean
from ratewise.questions.rated import widened

from .making import judged, ran, write

WANTED = a.Target(0.95, "pool", 1000, (0.0, 1.0))
TARGET = replace(WANTED, target_se=0.02)


def played(rounds=None, *, items=1500, prices=("0.05", "1"), seed=5, mean=0.7, missing=0, **terms):
    world = calibrated(items, mean=mean, spread=0.75, rng=np.random.default_rng([seed, 41]))
    strong = world.strong.copy()
    if missing:
        strong[::missing] = np.nan
    pool = RehearsalPool.of(world.weak, strong, prices=[Decimal(p) for p in prices], seed=seed)
    game = Rehearsal(pool, pool.terms(**(terms or {"budget": Decimal(100)})))
    while (rounds is None or game.history.rounds < rounds) and not isinstance(action := d.decide(game.state()), d.Done):
        game.do(action)
    return game


@pytest.mark.parametrize("level", [0.5, 0.95, 0.999])
def test_the_errors_of_all_looks_add_up_to_no_more_than_that_of_one(level):
    plain, aimed = replace(WANTED, level=level), replace(TARGET, level=level)
    looks = range(1, 5000)
    assert sum(1 - a.level_of_look(plain, k) for k in looks) <= (1 - level) + 1e-12
    assert sum(1 - a.level_of_look(plain, k) for k in looks) > 0.999 * (1 - level)
    with_stop = sum(1 - a.level_of_look(aimed, k) for k in looks) + 1 - a.level_at_stop(aimed)
    assert 0.99 * (1 - level) < with_stop <= (1 - level) + 1e-12


def test_levels_by_hand():
    assert a.level_of_look(WANTED, 1) == pytest.approx(0.975)
    assert a.level_of_look(WANTED, 4) == pytest.approx(1 - 0.05 / 20)
    assert a.level_of_look(TARGET, 1) == pytest.approx(0.995)
    assert a.level_at_stop(TARGET) == pytest.approx(0.96)


def test_the_anytime_interval_is_the_plain_one_at_a_stricter_level():
    game = played()
    history, wanted = game.history, game.terms.wanted
    assert history.rounds >= 3
    plain, anytime = a.estimate_history(history, wanted), a.anytime_estimate(history, wanted)
    strict = a.estimate_history(history, wanted, level=a.level_of_look(wanted, history.rounds))
    assert anytime.value == plain.value == strict.value
    assert anytime.interval == strict.interval
    assert anytime.interval[0] < plain.interval[0] < plain.interval[1] < anytime.interval[1]
    assert anytime.level == plain.level == 0.95
    assert "anytime" in anytime.interval_method


def test_nothing_is_told_before_there_is_anything():
    game = played(0)
    assert a.estimate_history(game.history, game.terms.wanted) is None
    assert a.anytime_estimate(game.history, game.terms.wanted) is None
    assert not a.is_precise(game.history, replace(game.terms.wanted, target_se=0.9))
    assert a.money_to_precision(game.history, TARGET, 0.0, start=77.0, least=1.0) == 77.0


def test_a_campaign_that_stops_tells_the_interval_it_stopped_at():
    game = played(target_se=0.03)
    history, wanted = game.history, game.terms.wanted
    assert a.is_precise(history, wanted)
    low, high = a.anytime_estimate(history, wanted).interval
    z = stats.norm.ppf(0.975)
    assert 0.5 * (high - low) <= z * 0.03 * (1 + 1e-12)
    # by the other route: at 96 %; 0/1 ratings have a score interval, which allows for mistakes not seen by itself
    assert (low, high) == a.estimate_history(history, wanted, level=0.96).interval
    early = played(1, target_se=0.03)
    assert not a.is_precise(early.history, early.terms.wanted)
    wide = a.anytime_estimate(early.history, early.terms.wanted).interval
    assert wide == a.estimate_history(early.history, early.terms.wanted, level=0.995).interval


def test_ratings_without_a_score_interval_have_room_for_answers_unlike_any_seen():
    """Squared half-widths add up, on each side that the scale leaves room for; a score interval needs no more."""
    rng = np.random.default_rng(6)
    h = rng.normal(5, 2, 1500).clip(0, 10)
    asked = np.where(rng.random(1500) < 0.1, h, np.nan)
    found, score = (
        estimate_mean(h + rng.normal(0, 1, 1500), asked, np.full(1500, 0.1), interval=kind, bounds=(0.0, 10.0))
        for kind in ("t", "score")
    )
    wide = widened(found, 0.95, 0.04, (0.0, 10.0))
    middle, half = 0.5 * (found.low + found.high), 0.5 * (found.high - found.low)
    more = math.hypot(half, 0.2 * stats.norm.ppf(0.975))
    assert wide.interval == pytest.approx((middle - more, middle + more))
    assert widened(score, 0.95, 0.04, (0.0, 10.0)) is score
    assert widened(found, 0.95, 9.0, (4.0, 10.0)).low == 4.0


def test_an_end_without_the_target_is_an_end_too():
    """The budget ended it, not somebody who liked what he saw: one interval at the level kept for the end."""
    game = played(target_se=0.001, budget=Decimal(60))
    history, wanted = game.history, game.terms.wanted
    open_ended, ended = (a.final_estimate(history, wanted, a.Look(True, ended=e)).interval for e in (False, True))
    assert open_ended[0] < ended[0] < ended[1] < open_ended[1]


def test_money_to_a_precision_with_strong_ratings_alone_is_what_the_textbook_says():
    """n = V / (ε² + V/N) for a pool of N; here z is that of 96 %."""
    for estimand in ("population", "pool"):
        game = played(3, alone=True, target_se=0.03, estimand=estimand, items=2000)
        history, wanted, spent = game.history, game.terms.wanted, float(game.spent)
        h = history.looked.values[:, 0]
        more = a.money_to_precision(history, wanted, spent, start=0.0, least=0.0)
        z = stats.norm.ppf(0.98) / stats.norm.ppf(0.975)
        V = h.var(ddof=1)
        lost = z**2 * V / 2000 if estimand == "pool" else 0.0
        right = z**2 * V / (0.03**2 + lost)
        assert (spent + more / 1.05) / 1e9 == pytest.approx(right, rel=0.05)


@pytest.mark.parametrize("target", [1e-300, 1e-12, 1e9])
def test_absurd_targets_give_numbers(target):
    game = played(2, budget=Decimal(60))
    more = a.money_to_precision(game.history, replace(game.terms.wanted, target_se=target), 1e9, start=1.0, least=5.0)
    assert np.isfinite(more)
    assert more >= 5.0
    game = played(target_se=target, items=60)
    assert d.decide(game.state()) in ("every item has been looked at", "the precision asked for is reached")


# Missing answers


@pytest.mark.parametrize("terms", [{"budget": Decimal(120)}, {"budget": Decimal(120), "alone": True}])
def test_missing_answers_bracket_whatever_they_would_have_been(terms):
    """With every missing answer filled in at random, the estimate on the same draws lies within the bounds told."""
    game = played(missing=7, **terms)
    history, wanted = game.history, game.terms.wanted
    found = a.estimate_history(history, wanted)
    missing = history.looked.missing
    assert missing.sum() > 5
    assert found.standard_error is None
    rng = np.random.default_rng(3)
    ends = []
    for share in (0.0, 1.0, *rng.random(20)):
        fill = (rng.random(missing.sum()) < share).astype(float)
        value, interval = _filled(history, wanted, fill)
        assert found.interval[0] <= interval[0] + 1e-9
        assert interval[1] - 1e-9 <= found.interval[1]
        assert found.interval[0] <= value <= found.interval[1]
        ends.append(value)
    assert found.value == pytest.approx(0.5 * (ends[0] + ends[1]), abs=1e-9)


def _filled(history, wanted, fill):
    """The difference estimator on the very same f and rates, the missing answers filled in."""
    seen, missing = history.seen, history.looked.missing
    strong = seen.strong.copy()
    strong[missing] = fill
    alike = {"method": "difference", "estimand": "pool", "pool_size": float(wanted.pool), "bounds": (0, 1)}
    if (seen.labelled | missing).all():
        found = estimate_mean(np.zeros(strong.size), strong, 1.0, **alike)
        return found.value, found.interval
    known = seen.learned
    f = known.model.predict(seen.x)
    f[seen.labelled] = known.unseen
    asked = seen.labelled | missing
    rates = np.where(asked, seen.rates(), np.minimum(seen.rates(), 1 - 1e-12))
    factor = 1 + 25 / (seen.labelled.sum() + 100)  # for what was learned
    how = EstimateOptions(variance_factor=factor, **alike)
    found = estimate_rated(Ratings(f, strong, rates, selected=asked), how)
    return found.value, found.interval


def test_a_chain_whose_middle_rater_gave_up_goes_on_with_what_the_first_said():
    """Δ by hand: R_0 + (R_1 − R_0) ξ_1/q_1 + (H − R_1) ξ_2/q_2 with R_1 = R_0 where it did not come."""
    r0, r1 = np.array([2.0, 4.0, 6.0, 5.0]), np.array([3.0, np.nan, np.nan, 4.0])
    h = np.array([3.5, 5.0, np.nan, np.nan])
    rates = np.array([[0.5, 0.25], [0.8, 0.4], [0.5, 0.2], [0.9, 0.3]])
    selected = np.array([[1, 1], [1, 1], [0, 0], [1, 0]], dtype=bool)
    looked = LookedItems(Covariates(r0), np.zeros(4), rates, selected, np.column_stack([r1, h]))
    wanted = a.Target(0.95, "population", 4, (0.0, 10.0))
    found = a.estimate_history(History(looked, rounds=1, middle=5.0), wanted)
    by_hand = [2 + 1 / 0.5 + 0.5 / 0.25, 4 + 0 + 1 / 0.4, 6, 5 - 1 / 0.9]
    assert found.value == pytest.approx(np.mean(by_hand))
    assert found.labels == 2


# `within = 0.05` in a campaign: it stops where the interval reaches that far, as with the standard error of it.


def test_a_campaign_stops_within(tmp_path):
    columns = judged(1500)
    found = ran(tmp_path / "a", columns, goal="within = 0.06", level=0.9).estimate()
    assert 0.5 * (found.high - found.low) <= 0.06
    assert found.labels < 1500
    z = float(special.ndtri(0.95))
    same = ran(tmp_path / "b", columns, goal=f"target_se = {0.06 / z!r}", level=0.9).estimate()
    assert (same.value, *same.interval) == pytest.approx((found.value, *found.interval))


def test_two_precisions_are_one_too_many(tmp_path):
    with pytest.raises(
        SpecError, match=r"goal\.within and target_se are both given; keep the one that says how precise"
    ):
        read_spec(write(tmp_path, judged(20), goal="within = 0.02\ntarget_se = 0.01"))
