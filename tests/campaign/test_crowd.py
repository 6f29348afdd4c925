"""Nobody waits: rounds that overlap, played in memory on a clock of their own."""

from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from functools import cache

import numpy as np
import pytest

from ratewise.campaign import planner as p
from ratewise.campaign.history import RoundPlan
from ratewise.campaign.log import Reader
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.lab.worlds import calibrated

from ..crowd import Crowd

HOUR = 3600.0


def crowd(seed=1, *, votes=1, people=8, leaves=((1, 200.0, HOUR),), items=2000, prices=("0.02", "1"), **goal):
    world = calibrated(items, mean=0.7, spread=0.8, rng=np.random.default_rng([seed, 5]))
    ratings = (world.weak, world.strong)[-len(prices) :]
    pool = RehearsalPool.of(*ratings, prices=[Decimal(each) for each in prices], seed=seed)
    game = Rehearsal(pool, pool.terms(votes=votes, **(goal or {"budget": Decimal(250)})))
    rng = np.random.default_rng([seed, 6])
    return Crowd(game, seconds=lambda person, item: rng.lognormal(3.0, 0.8), people=people, leaves=leaves)


@cache
def played(seed=1, **how):
    game = crowd(seed, **how)
    game.play()
    return game


def opened(game):
    return [(plan.policy, plan.look, plan.people) for plan in game.game.plans]


def test_with_eight_people_and_one_who_leaves_for_an_hour_nobody_waits_until_the_last_round():
    """Below 2 % of people's time; when every round waits for its last answer it is a quarter and more."""
    assert played().idle_share < 0.02
    assert played(leaves=()).idle_share < 0.02
    assert played(votes=0).idle_share > 0.2
    assert played().reason == played(votes=0).reason
    assert played().game.spent <= 250 * 10**9
    assert played().now < played(votes=0).now


def test_a_planner_that_looks_once_a_second_keeps_nobody_waiting_either():
    game = crowd(2)
    game.look = 1.0
    game.play()
    assert game.idle_share < 0.02
    assert game.overlaps > 0


def test_a_round_says_which_closed_rounds_it_was_learned_from():
    plans = played().game.plans
    assert plans[0].look == plans[0].people == 0
    ahead = [(n, plan) for n, plan in enumerate(plans, 1) if plan.people]
    assert len(ahead) == played().overlaps > 2
    assert all(plan.look < n - 1 for n, plan in ahead)
    assert all(plan.look == n - 1 for n, plan in enumerate(plans, 1) if not plan.people)
    read = RoundPlan.from_json(ahead[-1][1].to_json())
    assert (read.look, read.people) == (ahead[-1][1].look, ahead[-1][1].people)


def test_what_is_out_decides_nothing():
    """Until the first round closes, other answers lead to the same rounds, draws and money."""
    changed = crowd()
    pool = changed.game.pool
    first = played().game.plans[0].items
    pool.ratings[:first, -1] = 1 - pool.ratings[:first, -1]
    changed.play()
    plans = [plan for plan in played().game.plans if plan.look == 0]
    assert len(plans) > 2
    for a, b in zip(plans, changed.game.plans, strict=False):
        assert a.to_json() == b.to_json()
    assert played().game.plans[len(plans)].to_json() != changed.game.plans[len(plans)].to_json()


def test_one_person_alone_and_raters_who_are_not_people_have_no_rounds_that_overlap():
    alone = played(people=1, leaves=())
    assert alone.overlaps == 0
    assert opened(alone) == opened(played(people=1, leaves=(), votes=0))
    assert alone.game.spent == played(people=1, leaves=(), votes=0).game.spent
    assert played(votes=0).overlaps == 0


def test_a_long_round_is_planned_only_when_little_is_out():
    game = played(leaves=()).game
    looked, at = game.history.looked, 0
    asked = []
    for row in game.reader.rounds():
        asked.append(int(looked.selected[at : at + row.items, -1].sum()))
        at += row.items
    for n, plan in enumerate(game.plans):
        out, closed = sum(asked[plan.look : n]), sum(asked[: plan.look])
        if plan.people and out > 0.5 * closed:
            assert asked[n] <= 2 * plan.people * 2 ** (n - plan.look - 1)
    assert max(asked) > 2 * 8  # others are longer


def test_strong_ratings_alone_towards_a_precision_do_not_wait_either():
    game = played(prices=("1",), leaves=(), target_se=0.04)
    assert game.reason == "the precision asked for is reached"
    assert game.idle_share < 0.02
    assert game.overlaps > 0


def test_towards_a_precision_no_round_is_opened_once_what_is_out_is_expected_to_reach_it():
    game = played(target_se=0.05, leaves=())
    assert game.reason == "the precision asked for is reached"
    without = played(target_se=0.05, leaves=(), votes=0)
    assert game.game.spent < 1.6 * without.game.spent


def stopped_with_an_open_round_behind():
    game = crowd()
    for moment in range(0, 4000, 5):
        game.play(most=float(moment))
        state = game.game.state()
        if len(state.opened) > 1 and not state.weak_open:
            return game, state
    raise AssertionError("no rounds overlapped")


def test_rounds_close_in_their_order_and_draws_do_not_wait_for_answers():
    game, state = stopped_with_an_open_round_behind()
    assert state.oldest_open > 0
    action = p.decide(state)
    assert action is not p.Command.CLOSE
    assert not isinstance(action, p.Done)
    assert state.opened[0].number == state.history.rounds + 1
    before = game.game.reader.with_open(state.history, state.opened[:-1])
    assert before.rounds == state.open.number - 1
    assert before.labels == state.history.labels  # without answers of what is open
    assert not game.game.queue.close_round(state.open.number, state.open.end - state.open.first)


def test_after_the_deadline_open_rounds_are_given_up_and_closed_one_after_the_other():
    game, _ = stopped_with_an_open_round_behind()
    game.game.queue.workers[:] = 0
    terms = replace(game.game.terms, deadline=datetime(2026, 1, 1, tzinfo=UTC), gives_up=True)
    game.game.terms = game.game.reader.terms = terms
    actions = []
    for _ in range(20):
        state = game.game.reader.state(datetime(2026, 2, 1, tzinfo=UTC).timestamp())
        action = p.decide(state)
        actions.append(action)
        if isinstance(action, p.Done):
            break
        assert game.game.reader.carry_out(state, action)
    assert actions[0] is p.Command.GIVE_UP
    assert actions.count(p.Command.CLOSE) >= 2
    assert game.game.state().open is None


@pytest.mark.parametrize("kept", [False, True])
def test_a_reader_that_comes_later_reads_the_same_rounds(kept):
    """Killed in between: what a new process reads from the queue is what the old one knew."""
    game, state = stopped_with_an_open_round_behind()
    rehearsal = game.game
    anew = Reader(rehearsal.queue, rehearsal, rehearsal.terms, rehearsal.pool.empty(rehearsal.terms), kept)
    found = anew.state()
    assert [each.number for each in found.opened] == [each.number for each in state.opened]
    ahead = [
        reader.with_open(one.history, one.opened[:-1]) for reader, one in ((anew, found), (rehearsal.reader, state))
    ]
    assert np.array_equal(ahead[0].seen.mass, ahead[1].seen.mass)
    rehearsal.reader = anew
    game.play()
    assert game.reason == played().reason
    assert opened(game) == opened(played())
    assert game.game.history.labels == played().game.history.labels
    assert np.array_equal(game.game.history.seen.mass, played().game.history.seen.mass)
