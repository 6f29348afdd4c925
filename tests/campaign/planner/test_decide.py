"""The decision: state in, next action out. Every state a campaign can be in, and that nothing else decides."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from itertools import pairwise

import numpy as np
import pytest

from ratewise.campaign import planner as d
from ratewise.campaign.history import RoundPlan
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.design.rounds import start_labels
from ratewise.lab.worlds import calibrated

E9 = 10**9


def pool(items=300, prices=("0.05", "1"), seed=3, **columns):
    world = calibrated(items, mean=0.7, spread=0.75, rng=np.random.default_rng([seed, 8]))
    ratings = (world.weak, world.strong)[-len(prices) :]
    return RehearsalPool.of(*ratings, prices=[Decimal(p) for p in prices], seed=seed, **columns)


def played(game, rounds):
    """The game between two rounds."""
    while game.history.rounds < rounds or game.open is not None:
        game.do(d.decide(game.state()))
    return game


def stopped(game, kind, rounds=0):
    """The state in which the next action is of this kind, after so many rounds; and the action."""
    for _ in range(2000):
        action = d.decide(game.state())
        if isinstance(action, kind) and game.history.rounds >= rounds:
            return game.state(), action
        game.do(action)
    raise AssertionError(f"no {kind.__name__} came")


def opened(plan, *batches, first=0, factor=None):
    return d.Round(1, first, plan, tuple(batches), factor)


START = RoundPlan("base", True, 20, 60 * E9, 60 * E9, 0)
ALONE = RoundPlan("base", False, 20, 60 * E9, 60 * E9, 0)


def state(now, game=None, **keys):
    game = Rehearsal(pool(), pool().terms(budget=Decimal(60))) if game is None else game
    at = game.history.items if now is None else now.end
    worst = game.pool.worst(at, min(at + d.BATCH, game.pool.items))
    return d.State(game.terms, game.history, game.spent, worst, () if now is None else (now,), **keys)


# A start: everyone is asked


@pytest.mark.parametrize(
    ("now", "keys", "action"),
    [
        (opened(START), {}, d.TakeUp(0, 20)),
        (opened(START, d.Batch(0, 20, False, 21 * E9)), {"weak_open": 20}, d.Command.WAIT),
        (opened(START, d.Batch(0, 20, False, 21 * E9)), {"weak_open": 1}, d.Command.WAIT),
        (opened(START, d.Batch(0, 20, False, 21 * E9)), {}, d.DrawItems(0, 20)),
        (opened(START, d.Batch(0, 20, True, 21 * E9)), {"strong_open": 20}, d.Command.WAIT),
        (opened(START, d.Batch(0, 20, True, 21 * E9)), {"strong_open": 1}, d.Command.WAIT),
        (opened(START, d.Batch(0, 20, True, 21 * E9)), {}, d.Command.CLOSE),
        (opened(START, d.Batch(0, 12, True, 12 * E9)), {}, d.TakeUp(12, 20)),
        (opened(START, d.Batch(0, 12, True, 12 * E9)), {"strong_open": 3}, d.TakeUp(12, 20)),
        (opened(START, d.Batch(0, 12, True, 12 * E9)), {"cut": True, "strong_open": 3}, d.Command.WAIT),
        (opened(START, d.Batch(0, 12, True, 12 * E9)), {"cut": True}, d.Command.CLOSE),
        (opened(START, d.Batch(0, 12, False, 12 * E9)), {"cut": True}, d.DrawItems(0, 12)),
        (opened(START), {"cut": True}, d.Done("the next item costs more than is left")),
        (opened(replace(START, spend=int(10.6 * E9))), {}, d.TakeUp(0, 10)),  # ten times 1.05, not eleven
        (opened(replace(START, spend=int(10.5 * E9))), {}, d.TakeUp(0, 10)),  # to the last unit
        (opened(replace(START, spend=int(10.5 * E9) - 1)), {}, d.TakeUp(0, 9)),
        (opened(ALONE), {}, d.TakeUp(0, 20)),
        (opened(replace(ALONE, spend=7 * E9)), {}, d.TakeUp(0, 7)),  # weak ratings are not bought
        (opened(ALONE, d.Batch(0, 20, False, 20 * E9)), {}, d.DrawItems(0, 20)),
        (opened(replace(START, items=5000)), {}, d.TakeUp(0, 57)),
        (opened(replace(START, items=5000, spend=10**6 * E9)), {}, d.TakeUp(0, 300)),  # there are no more
    ],
)
def test_a_round_in_which_everyone_is_asked(now, keys, action):
    assert d.decide(state(now, **keys)) == action


# Rounds with a rule


def test_batches_of_a_round_with_a_rule_are_drawn_one_by_one_and_as_many_as_fit_at_worst():
    many = pool(3000, seed=4)
    game = played(Rehearsal(many, many.terms(budget=Decimal(60))), 1)
    at, action = stopped(game, d.DrawItems)
    assert isinstance(action, d.DrawItems)
    now, taken = at.open, at.open.batches[-1]
    assert now.plan.rule is not None
    assert now.plan.items is None
    room = now.plan.spend - sum(b.cost for b in now.batches[:-1])
    assert taken.end - taken.first == room // (1_050_000_000)
    assert d.decide(replace(at, weak_open=1)) == d.Command.WAIT
    assert d.decide(replace(at, cut=True)) == d.DrawItems(taken.first, taken.end)  # taken up is drawn, whatever comes
    before = now.left
    game.do(action)
    after = game.state()
    assert after.open.left > before  # who was not drawn costs less than was held
    assert isinstance(d.decide(after), d.TakeUp)
    assert d.decide(replace(after, strong_open=2, cut=True)) == d.Command.WAIT
    assert d.decide(replace(after, cut=True)) == d.Command.CLOSE


def test_a_pool_that_ends_takes_up_all_its_items_before_any_is_drawn():
    many = pool(9000, ("0.001", "1"))
    game = Rehearsal(many, many.terms(budget=Decimal(900)))
    at, _ = stopped(game, d.DrawItems, rounds=3)
    now = at.open
    assert now.plan.exact
    assert [b.drawn for b in now.batches] == [False] * len(now.batches)
    assert len(now.batches) >= 2
    assert now.end - now.first == now.plan.items
    assert d.decide(at) == d.DrawItems(now.first, now.end)
    assert d.decide(replace(at, weak_open=1)) == d.Command.WAIT
    part = replace(
        at, opened=(replace(now, batches=now.batches[:1]),), worst=many.worst(now.batches[0].end, many.items)
    )
    assert isinstance(d.decide(part), d.TakeUp)  # weak answers are not waited for
    assert d.decide(replace(part, cut=True)) == d.DrawItems(now.first, now.batches[0].end)
    assert isinstance(d.decide(replace(part, weak_open=2000)), d.TakeUp)
    game.do(d.DrawItems(now.first, now.end))
    assert d.decide(game.state()) == d.Command.CLOSE
    assert d.decide(replace(game.state(), strong_open=1)) == d.Command.WAIT


@pytest.mark.parametrize("items", [993, 5000])
def test_a_plan_for_more_items_than_there_are_does_not_wait_for_them(items):
    """A share of the pool that was rounded up by one made such a round, which then waited for ever."""
    game = played(Rehearsal(pool(400), pool(400).terms(budget=Decimal(150))), 2)
    plan = d.next_plan(game.state())
    assert plan.exact
    game.do(replace(plan, items=items))
    first = game.history.items
    assert d.decide(game.state()) == d.TakeUp(first, 400)
    game.do(d.TakeUp(first, 400))
    assert d.decide(game.state()) == d.DrawItems(first, 400)
    game.do(d.DrawItems(first, 400))
    assert d.decide(game.state()) == d.Command.CLOSE


def test_weak_prices_above_the_round_s_money_end_an_exact_round_early():
    """Prices by item: those of the last items are far above the mean that the round was planned with."""
    world = pool(400, ("0.05", "1"))
    prices = world.prices.copy()
    prices[250:, 0] = 2 * E9
    game = played(Rehearsal(world, world.terms(budget=Decimal(150))), 2)
    assert d.next_plan(game.state()).exact
    game.pool = replace(world, prices=prices)
    assert game.play() in ("the budget is spent", "the next item costs more than is left")
    assert game.spent <= 150 * E9
    assert 250 <= game.history.items < 400


# Between rounds


def test_a_budget_starts_with_labels_for_a_fifth_of_it():
    game = Rehearsal(pool(), pool().terms(budget=Decimal(60)))
    action = d.decide(game.state())
    assert isinstance(action, RoundPlan)
    plan = action
    assert (plan.policy, plan.weak, plan.rule, plan.left, plan.look) == ("base", True, None, 60 * E9, 0)
    assert plan.items == start_labels(60 / 1.05, 300) == 20


@pytest.mark.parametrize(
    ("budget", "items", "weak", "reason"),
    [
        ("0.99", None, False, "the budget is spent"),
        ("1", 1, False, None),
        ("7.99", 7, False, None),
        ("8.3", 8, False, None),  # less than eight items with both ratings: nothing can be learned
        ("8.4", 4, True, None),
        ("250", 47, True, None),
        ("299.999", 57, True, None),
        ("300", 300, False, None),  # enough for everything
        ("9000", 300, False, None),
    ],
)
def test_starts_by_budget(budget, items, weak, reason):
    game = Rehearsal(pool(), pool().terms(budget=Decimal(budget)))
    action = d.decide(game.state())
    if reason is not None:
        assert action == d.Done(reason)
    else:
        assert (action.items, action.weak) == (items, weak)
        assert action.spend <= Decimal(budget) * E9


def test_strong_ratings_alone_where_that_was_asked_for_or_there_is_one_rater():
    for game in (
        Rehearsal(pool(), pool().terms(budget=Decimal("60.7"), alone=True)),
        Rehearsal(pool(prices=("1",)), pool(prices=("1",)).terms(budget=Decimal("60.7"))),
    ):
        assert game.play() == "the budget is spent"
        assert (game.history.items, game.history.labels, game.spent) == (60, 60, 60 * E9)
        assert {plan.weak for plan in game.plans} == {False}


def test_the_end_of_the_pool_and_of_the_money():
    game = Rehearsal(pool(2000), pool(2000).terms(budget=Decimal(60)))
    assert game.play() == "the budget is spent"
    assert 60 - 1.05 < game.spent / E9 <= 60
    game = Rehearsal(pool(), pool().terms(budget=Decimal(200)))
    assert game.play() == "every item has been looked at"
    assert game.history.items == 300
    assert 199 <= game.spent / E9 <= 200


def test_a_target_ends_when_it_is_reached_and_not_before():
    game = Rehearsal(pool(3000), pool(3000).terms(target_se=0.04))
    reached = []
    reason = game.play(each_round=lambda g: reached.append(d.decide(g.state())))
    assert reason == "the precision asked for is reached"
    assert [isinstance(action, d.Done) for action in reached] == [False] * (len(reached) - 1) + [True]
    both = Rehearsal(pool(3000), pool(3000).terms(target_se=0.04, budget=Decimal(30)))
    assert both.play() == "the budget is spent"
    assert both.spent <= 30 * E9


def test_a_target_in_a_pool_of_free_weak_ratings_is_reached_before_the_pool_is_used_up():
    """With weak ratings for nothing the best plan looks at everything at once; then nothing more could be asked."""
    free = pool(1500, ("0", "1"))
    game = Rehearsal(free, free.terms(target_se=0.025))
    assert game.play() == "the precision asked for is reached"
    assert game.history.labels < 600
    loose = pool(120, ("0", "1"))
    game = Rehearsal(loose, loose.terms(target_se=0.005))  # takes all but everything
    assert game.play() in ("the precision asked for is reached", "every item has been looked at")
    assert game.history.labels > 90


def test_a_target_with_strong_ratings_alone_doubles_them_and_stops_soon_after_it_is_reached():
    game = Rehearsal(pool(3000), pool(3000).terms(target_se=0.03, alone=True))
    counts = []
    assert game.play(each_round=lambda g: counts.append(g.history.labels)) == "the precision asked for is reached"
    assert counts[0] == 50
    assert all(b <= 2.3 * a for a, b in pairwise(counts))
    assert counts[-1] < 1.5 * 0.21 / 0.03**2


def test_plans_come_from_closed_rounds_alone():
    """Whatever the open round has bought, asked or heard, the plan that follows is that of the rounds before it."""
    game = played(Rehearsal(pool(), pool().terms(budget=Decimal(60))), 1)
    plan = d.next_plan(game.state()).to_json()
    game.do(d.decide(game.state()))
    while game.open is not None:
        at = replace(game.state(), spent=played(Rehearsal(game.pool, game.terms), 1).spent)
        assert d.next_plan(at).to_json() == plan
        game.do(d.decide(game.state()))
    assert d.next_plan(game.state()).to_json() != plan


def test_the_same_state_gives_the_same_action():
    """Twice the same call, and a game that was played again: no clock, no hidden state, no random numbers."""
    one, two = (Rehearsal(pool(400), pool(400).terms(budget=Decimal(150))) for _ in range(2))

    def told(action):
        return action.to_json() if isinstance(action, RoundPlan) else action

    while True:
        a, b, again = (d.decide(game.state()) for game in (one, two, one))
        assert told(a) == told(b) == told(again)
        if isinstance(a, d.Done):
            break
        one.do(a)
        two.do(b)
    assert one.history.rounds > 3


def test_a_next_item_that_costs_more_than_the_round_s_money_is_still_taken_up():
    """Rounds of 20 labels' worth, and an item in a hundred costs 30."""
    world = pool(300)
    prices = world.prices.copy()
    prices[25::25, 1] = 30 * E9
    dear = replace(world, prices=prices)
    game = Rehearsal(dear, dear.terms(budget=Decimal(500)))
    assert game.play() in (
        "the budget is spent",
        "the next item costs more than is left",
        "every item has been looked at",
    )
    assert 440 < game.spent / E9 <= 500


def test_an_item_that_no_budget_pays_for_ends_the_campaign_without_opening_a_round():
    world = pool(300)
    prices = world.prices.copy()
    prices[0, 1] = 61 * E9
    dear = replace(world, prices=prices)
    game = Rehearsal(dear, dear.terms(budget=Decimal(60)))
    assert d.decide(game.state()) == d.Done("the next item costs more than is left")
    richer = Rehearsal(dear, dear.terms(budget=Decimal(90)))
    assert isinstance(d.decide(richer.state()), RoundPlan)


@pytest.mark.parametrize("prices", [("0", "1"), ("0", "0"), ("1", "0")])
@pytest.mark.parametrize("goal", [{"budget": Decimal(60)}, {"target_se": 0.05}])
def test_ratings_for_nothing(prices, goal):
    free = pool(300, prices)
    game = Rehearsal(free, free.terms(**goal))
    reason = game.play()
    assert reason in ("every item has been looked at", "the precision asked for is reached")
    assert game.history.labels >= 55
    if prices[-1] == "0" and "budget" in goal:
        assert game.history.labels == 300


# Money for calls that fail


@pytest.mark.parametrize(
    ("spent", "failed", "left"), [(0, 0, 60), (20, 0, 40), (20, 5, 30), (20, 20, 0), (30, 10, 20), (7, 1, None)]
)
def test_a_part_is_kept_back_for_calls_that_fail(spent, failed, left):
    """As large as their part in what was spent; rounded so that it is never too small."""
    before = replace(state(None), spent=spent * E9, failed=failed * E9)
    found = d.draft(before).left
    assert found == (left * E9 if left is not None else 53 * E9 - (53 * E9 + 6) // 7)


# The deadline


DRAWN = opened(START, d.Batch(0, 20, True, 21 * E9))


@pytest.mark.parametrize(
    ("now", "keys", "action"),
    [
        (opened(START), {}, d.Done("the deadline has passed")),
        (opened(START, d.Batch(0, 20, False, 21 * E9)), {"weak_open": 20}, d.Done("the deadline has passed")),
        (opened(START, d.Batch(0, 20, False, 21 * E9)), {}, d.Done("the deadline has passed")),  # drawing would ask
        (DRAWN, {"strong_open": 3}, d.Done("the deadline has passed")),
        (DRAWN, {}, d.Command.CLOSE),
        (opened(START, d.Batch(0, 12, True, 12 * E9)), {}, d.Command.CLOSE),  # with what there is
        (None, {}, d.Done("the deadline has passed")),
    ],
)
def test_nothing_is_asked_after_the_deadline(now, keys, action):
    """A round closes if all its answers are in, and stays as it is otherwise."""
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    before = state(now, **keys)
    terms = replace(before.terms, deadline=moment)
    assert d.decide(replace(before, terms=terms, late=terms.is_late(moment.timestamp()))) == action
    early = d.decide(replace(before, terms=terms, late=terms.is_late(moment.timestamp() - 1)))
    assert type(early) is type(d.decide(before))
    assert not isinstance(early, d.Done)


@pytest.mark.parametrize(
    ("now", "keys", "action"),
    [
        (DRAWN, {"strong_open": 3}, d.Command.GIVE_UP),
        (opened(START, d.Batch(0, 20, False, 21 * E9)), {"weak_open": 2}, d.Command.GIVE_UP),
        (DRAWN, {}, d.Command.CLOSE),
        (opened(START), {}, d.Done("the deadline has passed")),
    ],
)
def test_questions_without_an_answer_at_the_deadline_may_be_given_up(now, keys, action):
    moment = datetime(2030, 1, 1, tzinfo=UTC)
    before = state(now, **keys)
    terms = replace(before.terms, deadline=moment, gives_up=True)
    assert d.decide(replace(before, terms=terms, late=True)) == action
    assert d.decide(replace(before, terms=terms)) is not d.Command.GIVE_UP
