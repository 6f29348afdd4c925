"""Old labels and a new draw together, as random quantities: no bias that matters, and intervals that hold.

Every bound states what is allowed and adds noise: where the truth is just at what is allowed, a check fails by chance
with probability 1e-4. A broken version must fail the same check.
"""

from decimal import Decimal
from functools import cache

import numpy as np
import pytest
from scipy import stats

import ratewise as rw
from ratewise.campaign.estimates import estimate_history
from ratewise.campaign.old_labels import Start
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool

from ..bounds import FALSE_ALARM, most, sizes, so_many

Z = stats.norm.isf(FALSE_ALARM / 2)
BIAS = 0.1  # allowed, in standard deviations of the estimate
MISSES = 0.06  # allowed of 95 % intervals
GAMES, TABLES = sizes(180, all=700), sizes(90, all=300)
WAYS = ("at random", "rates", "by hand")


def unbiased(errors):
    return abs(errors.mean()) / errors.std() <= BIAS + Z / np.sqrt(errors.size)


def labelled_pool(how, seed, items):
    """A judge, the truth, who has a label, and the rate that it was drawn with."""
    rng = np.random.default_rng([seed, 91])
    judge = np.round(rng.beta(2.0, 0.7, items), 4)
    truth = (rng.random(items) < judge).astype(float)
    was = np.full(items, 0.15) if how != "rates" else np.clip(0.05 + 0.5 * (1 - judge), 0, 1)
    old = rng.random(items) < was
    if how == "by hand":  # somebody went for mistakes of the judge
        old = np.argsort(np.argsort(-np.abs(truth - judge) + 0.5 * rng.random(items))) < items // 7
    return judge, truth, old, was


# Campaigns


@cache
def played(how, trials):
    """Errors of campaigns with old labels, whether their intervals miss, and errors of one who weighs them wrongly."""
    errors, misses, broken = [], [], []
    for seed in range(trials):
        judge, truth, old, was = labelled_pool(how, seed, 400)
        estimand = ("pool", "population")[seed % 2] if how != "by hand" else "pool"
        start = Start(how, int(old.sum()), float(truth[old].mean()), estimand)
        values = np.where(old, truth, np.nan)
        rates = was if how == "rates" else np.zeros(400)
        order = start.order(values, np.random.default_rng([seed, 92]).random(400))
        g, h, was_old = judge[order], truth[order], old[order]
        prices = (Decimal("0.02"), Decimal(1))
        base = RehearsalPool.of(g, h, prices=prices, seed=seed)
        pool = RehearsalPool(
            base.ratings, base.uniform, base.prices, start=start, old=values[order],
            given=rates[order] if how == "rates" else None,
        )  # fmt: skip
        game = Rehearsal(pool, pool.terms(budget=Decimal(60), estimand=estimand))
        game.play()
        assert game.spent <= 60 * 10**9
        found = estimate_history(game.history, game.terms.wanted)
        goal = h.mean() if estimand == "pool" else 2.0 / 2.7
        errors.append(found.value - goal)
        misses.append(not found.interval[0] - 1e-12 <= goal <= found.interval[1] + 1e-12)
        labels = was_old | game.queue.selected[:, -1]  # all labels alike, however they came
        broken.append(h[labels].mean() - goal)
    return np.array(errors), np.array(misses), np.array(broken)


@pytest.mark.parametrize("trials", GAMES)
@pytest.mark.parametrize("how", WAYS)
def test_campaigns_with_old_labels_are_unbiased_and_their_intervals_hold(how, trials):
    errors, misses, broken = played(how, trials)
    assert unbiased(errors)
    assert misses.mean() <= most(MISSES, trials)
    if how != "at random":
        assert not unbiased(broken)


# Tables


@cache
def drawn(how, trials):
    """The same by `plan`, `draw` and `estimate`; the broken one forgets that old labels had a chance of their own."""
    table = rw.read_table({"id": [f"q{i}" for i in range(300)], "was": np.zeros(300)})
    errors, misses, broken = [], [], []
    for seed in range(trials):
        judge, truth, old, was = labelled_pool(how, seed, 300)
        judge = 0.75 * judge  # a strict one: who weighs labels wrongly is off
        pool = table.with_columns({"judge": judge, "human": np.where(old, truth, np.nan), "was": was}, replace=True)
        plan = rw.plan(
            pool, weak="judge", strong="human", weak_cost=0, strong_cost=1, budget=50, estimand="pool",
            drawn="was" if how == "rates" else how,
        )  # fmt: skip
        made = rw.draw_pool(pool, plan, seed=seed)
        rated = made.table.with_columns({"human": np.where(made.selected, truth, np.nan)}, replace=True)
        found = rw.estimate_table(rated, weak="judge", strong="human", estimand="pool", method="difference")
        errors.append(found.value - truth.mean())
        misses.append(not found.low <= truth.mean() <= found.high)
        new = np.nan_to_num(made.table.numbers("rate_new", missing="allow"), nan=float(np.mean(made.rates[~old])))
        broken.append(np.mean(judge + made.selected * (truth - judge) / np.maximum(new, 1e-3)) - truth.mean())
    return np.array(errors), np.array(misses), np.array(broken)


@pytest.mark.parametrize("trials", TABLES)
@pytest.mark.parametrize("how", WAYS)
def test_plan_draw_and_estimate_with_old_labels_are_unbiased_and_their_intervals_hold(how, trials):
    errors, misses, broken = drawn(how, trials)
    assert unbiased(errors)
    assert misses.mean() <= most(MISSES, trials)
    if how != "by hand":
        assert not unbiased(broken)


# More money after the end

LOOKS = so_many(300, some=150)


@cache
def looked_again():
    """Errors and misses of pools whose passed-over items were drawn again; and of one who forgets the second chance.

    A judge that is cheap and often right is asked about every item at once, so that more money can only buy second
    looks. It is a strict one: who weighs labels wrongly is off.
    """
    errors, misses, broken, widths = [], [], [], []
    for seed in range(LOOKS):
        rng = np.random.default_rng([seed, 91])
        truth = (rng.random(160) < 0.74).astype(float)
        judge = 0.75 * np.clip(0.15 + 0.7 * truth + rng.normal(0, 0.2, 160), 0, 1)
        estimand = ("pool", "population")[seed % 2]
        pool = RehearsalPool.of(judge, truth, prices=(Decimal("0.005"), Decimal(1)), seed=seed)
        game = Rehearsal(pool, pool.terms(budget=Decimal(45), estimand=estimand))
        game.play()
        first = estimate_history(game.history, game.terms.wanted)
        game.raise_budget(Decimal(80))
        game.play()
        assert game.spent <= 80 * 10**9
        history = game.history
        if not history.again:
            continue
        found = estimate_history(history, game.terms.wanted)
        goal = truth.mean() if estimand == "pool" else 0.74
        errors.append(found.value - goal)
        misses.append(not found.interval[0] - 1e-12 <= goal <= found.interval[1] + 1e-12)
        widths.append((found.interval[1] - found.interval[0]) / (first.interval[1] - first.interval[0]))
        use = history.seen.labelled
        pi = np.clip(history.seen.mass / history.items, 1e-6, 1.0)
        broken.append(np.mean(judge) + np.sum((truth - judge)[use] / pi[use]) / history.items - goal)
    return np.array(errors), np.array(misses), np.array(widths), np.array(broken)


def test_a_second_look_is_unbiased_and_its_interval_holds_and_is_narrower():
    errors, misses, widths, broken = looked_again()
    assert errors.size > 0.97 * LOOKS  # nearly every pool was looked at whole, so that there was a second look
    assert unbiased(errors)
    assert misses.mean() <= most(MISSES, errors.size)
    assert np.mean(widths) < 0.9
    assert not unbiased(broken)
