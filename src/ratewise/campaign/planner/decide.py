"""What a campaign does next: a pure function of what its log says. Whoever asks it only does as it is told.

A round is planned from closed rounds alone. It takes up items in batches: weak ratings are asked for, then rates and
draws are written down, then strong ratings are asked for. A batch is taken up only if everything it could cost still
fits into the round's money, and prices count as they are listed; so what a round buys does not depend on who answers
first, and a campaign that was killed goes on as if it had not been.

Where people answer, nobody waits for the last answers of a round: while they are out and people are short of
questions, the next round is opened by what closed rounds say. Rounds close in their order.
"""

from ratewise.campaign.estimates import is_precise
from ratewise.campaign.planner.plan import next_item, next_plan, overlapping, refit_is_due
from ratewise.campaign.planner.state import (
    Action,
    Close,
    Done,
    DrawAgain,
    DrawItems,
    GiveUp,
    Open,
    OpenRound,
    State,
    TakeUp,
    Train,
    Wait,
)
from ratewise.store.money import how_many_fit

BATCH = 2000  # items taken up at once, at most: answers come in before all questions are out
_TOO_DEAR = "the next item costs more than is left"
_LATE = "the deadline has passed"


def decide(state: State) -> Action:
    """The next action."""
    if state.behind and not state.oldest_open:
        return Close()
    if state.terms.refit and refit_is_due(state.history):
        return Train()
    action = _between_rounds(state) if state.open is None else _within_round(state, state.open)
    if isinstance(action, Wait) and state.ahead is not None and not state.late:
        action = _ahead(state) or action
    return _after_deadline(state, action) if state.late else action


def _after_deadline(state: State, action: Action) -> Action:
    """What to do after the deadline: close the round if all its answers are in, else leave it or give it up."""
    if isinstance(action, Close) or (isinstance(action, Done) and state.open is None):
        return action
    if state.terms.gives_up and (state.weak_open or state.strong_open):
        return GiveUp(_LATE)
    return Done(_LATE)


def _within_round(state: State, now: OpenRound) -> Action:
    plan = now.plan
    if plan.again and not now.batches:
        return Done(_TOO_DEAR) if state.cut else DrawAgain()
    waiting = next((batch for batch in now.batches if not batch.drawn), None)
    more = None if state.cut or state.late else _take_up(state, now)
    if plan.exact:
        drawn = bool(now.batches) and waiting is None
        if more is not None and not drawn:
            return more
        if waiting is not None:
            return Wait() if state.weak_open else DrawItems(now.first, now.end)
    elif waiting is not None:
        return Wait() if state.weak_open else DrawItems(waiting.first, waiting.end)
    elif more is not None:
        return more
    if state.strong_open or state.weak_open:
        return Wait()
    return Close() if now.batches else Done(_TOO_DEAR)


def _between_rounds(state: State) -> Action:
    if is_precise(state.history, state.terms.wanted):
        return Done("the precision asked for is reached")
    plan = next_plan(state)
    if plan is None:
        whole = state.history.items >= state.terms.pool
        if whole and state.terms.again and state.history.seen is not None:
            whole = not state.history.passed_over.any()  # else they could be drawn again, with more money
        return Done("every item has been looked at" if whole else "the budget is spent")
    return Open(plan) if plan.spend >= next_item(state, plan) else Done(_TOO_DEAR)


def _ahead(state: State) -> Open | None:
    """The next round while answers of others are out; None where these are to be waited for.

    It is planned from closed rounds. That it is opened now depends on how many answers are out, not on what they say.
    """
    if is_precise(state.history, state.terms.wanted):
        return None
    planned = overlapping(state)
    plan = next_plan(planned)
    return None if plan is None or plan.spend < next_item(planned, plan) else Open(plan)


def _take_up(state: State, now: OpenRound) -> TakeUp | None:
    """Take up as many items as the round still wants and the money covers at their highest prices."""
    assert state.worst is not None
    wanted = min(BATCH, state.terms.pool - now.end, state.worst.shape[0])
    if now.plan.items is not None:
        wanted = min(wanted, now.first + now.plan.items - now.end)
    cost = now.plan.item_costs(state.worst[: max(wanted, 0)])
    fits = how_many_fit(cost, now.left)
    return TakeUp(now.end, now.end + fits) if fits > 0 else None
