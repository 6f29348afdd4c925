"""Every amount that moves when items are taken up and drawn: by hand, and against the ledger of whole campaigns."""

from decimal import Decimal

import numpy as np
import pytest

from ratewise.campaign import planner as d
from ratewise.campaign.draws import draws_made, new_batch, new_draws
from ratewise.campaign.history import RoundPlan
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.design.rounds import RoundDraw
from ratewise.lab.worlds import calibrated

from ...worlds import unsure_judge

WORST = np.array([[2, 30], [3, 50], [1, 20]])  # weak and strong prices of three items, all different
PLAN = {"policy": "base", "items": None, "spend": 400, "left": 400, "look": 0}


def opened(*batches, first=10, **plan):
    return d.Round(1, first, RoundPlan(**{**PLAN, "weak": True, **plan}), batches)


def rule():
    """Something that is no rule for everyone; its rates are not asked for here."""
    world = calibrated(300, mean=0.7, spread=0.75, rng=np.random.default_rng([3, 8]))
    pool = RehearsalPool.of(world.weak, world.strong, prices=[Decimal("0.05"), Decimal(1)], seed=3)
    game = Rehearsal(pool, pool.terms(budget=Decimal(60)))
    game.play()
    return next(plan.rule for plan in game.plans if plan.rule is not None)


def test_an_ordinary_batch_holds_what_strong_ratings_may_cost():
    new = new_batch(opened(), 10, WORST)
    assert (new.first, new.end, new.cost, new.hold, new.weak.tolist()) == (10, 13, 106, 100, [2, 3, 1])
    drawn = RoundDraw(np.full((3, 1), 0.5), np.array([[True], [False], [True]]))
    made = new_draws(opened(d.Batch(10, 13, False, 106)), 10, drawn, WORST)
    assert (made.release, made.costs, made.prices.tolist()) == (100, ((10, 6 + 50),), [[30], [50], [20]])


def test_strong_ratings_alone_cost_no_weak_ones():
    new = new_batch(opened(weak=False), 10, WORST)
    assert (new.cost, new.hold, new.weak) == (100, 100, None)
    drawn = RoundDraw(np.ones((3, 1)), np.ones((3, 1), dtype=bool))
    made = new_draws(opened(d.Batch(10, 13, False, 100), weak=False), 10, drawn, WORST)
    assert (made.release, made.costs) == (100, ((10, 100),))


def test_the_last_items_of_a_pool_hold_the_round_s_money_at_once_and_weak_ratings_are_paid_from_it():
    exact = {"items": 6, "rule": rule()}
    first = new_batch(opened(**exact), 10, WORST)
    assert (first.cost, first.hold) == (6, 400 - 6)
    one = d.Batch(10, 13, False, 6)
    second = new_batch(opened(one, **exact), 13, 2 * WORST)
    assert (second.cost, second.hold) == (12, -12)
    both = opened(one, d.Batch(13, 16, False, 12), **exact)
    selected = np.array([[True], [False], [False], [False], [True], [False]])
    made = new_draws(both, 10, RoundDraw(np.full((6, 1), 0.4), selected, 0.7), np.concatenate([WORST, 2 * WORST]))
    assert made.release == 400 - 18
    assert made.costs == ((10, 6 + 30 + 100), (13, 12))  # the first batch bears what was drawn
    assert made.factor == 0.7


def pool(items=300, prices=("0.05", "1"), seed=3):
    world = calibrated(items, mean=0.7, spread=0.75, rng=np.random.default_rng([seed, 8]))
    found = RehearsalPool.of(world.weak, world.strong, prices=[Decimal(p) for p in prices], seed=seed)
    own = found.prices + np.random.default_rng(seed).integers(0, 10**7, found.prices.shape)
    return RehearsalPool(found.ratings, found.uniform, own)


def chain(items, prices=("0.01", "0.15", "1"), seed=1):
    found = RehearsalPool.of(*unsure_judge(items, seed), prices=[Decimal(p) for p in prices], seed=seed)
    own = found.prices + np.random.default_rng(seed).integers(0, 10**6, found.prices.shape)
    return RehearsalPool(found.ratings, found.uniform, own)


CASES = {
    "a stream": (pool(2000), {"budget": Decimal(60)}),
    "a pool that ends": (pool(400, ("0.001", "1")), {"budget": Decimal(150)}),
    "alone": (pool(), {"budget": Decimal(60), "alone": True}),
    "a target": (pool(1500), {"target_se": 0.04}),
    "steps": (chain(900), {"budget": Decimal(160)}),
    "steps to a pool's end": (chain(300), {"budget": Decimal(90)}),
    "two who see every item": (chain(900, ("0.001", "0.001", "1")), {"budget": Decimal(90)}),
}


@pytest.mark.parametrize("name", CASES)
def test_after_every_action_the_ledger_has_just_what_the_planner_says(name):
    items, terms = CASES[name]
    game = Rehearsal(items, items.terms(**terms))
    at, seen = 0, set()
    while not isinstance(action := d.decide(game.state()), d.Done):
        if isinstance(action, RoundPlan):
            at = len(game.queue.ledger)
        game.do(action)
        now = game.state().open
        if now is None:
            assert game.queue.totals()[0] == 0  # nothing is held for a closed round
            continue
        moved = [(p, amount if kind == "hold" else -amount)
                 for kind, p, step, _, amount in game.queue.ledger[at:] if step is None]  # fmt: skip
        told = [(b.first, new_batch(now, b.first, items.worst(b.first, b.end)).hold) for b in now.batches]
        for group in now.groups:
            first, end = group[0].first, group[-1].end
            rows, worst = game.queue.item_rows(first, end, game.terms.later_raters), items.worst(first, end)
            made = draws_made(now, group, RoundDraw(rows.rates, rows.selected), worst)
            told += [(first, -one.release) for one in made]
            if all(b.drawn for b in group):
                weak = int(worst[:, 0].sum()) if now.plan.asks_first else 0
                cost = weak + int(worst[:, -rows.selected.shape[1] :][rows.selected].sum())
                assert sum(b.cost for b in group) == sum(each for _, each in made[-1].costs) == cost
        assert sorted(moved) == sorted(told)
        assert game.queue.totals()[0] == sum(amount for _, amount in moved)  # all answers are in
        assert now.left >= 0
        seen |= {now.plan.exact}
    if game.terms.later_raters == 1:
        assert (True in seen) == (name == "a pool that ends")
