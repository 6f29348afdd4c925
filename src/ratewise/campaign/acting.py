"""Actions of the planner, written into the queue. What they cost is the planner's business, not decided here."""

from dataclasses import replace
from typing import Protocol

from ratewise.campaign import planner as p
from ratewise.campaign.history import Looked
from ratewise.campaign.planner.holds import new_batch, new_draws
from ratewise.core.checks import Floats
from ratewise.store.queue import PlanningQueue, Units


class Items(Protocol):
    """What a draw needs to know about items."""

    def looked(self, first: int, end: int) -> Looked:
        """Items with all that is known of them."""
        ...

    def known(self, first: int, end: int) -> Floats | None:
        """Strong ratings that were there before the campaign, NaN where none; None where it began without any."""
        ...

    def worst(self, first: int, end: int) -> Units:
        """The most that each rater can cost for each item."""
        ...


def carry_out(queue: PlanningQueue, items: Items, state: p.State, action: p.Action) -> bool:
    """Do what the planner says; False where the budget does not hold another batch, or an answer was just undone."""
    now = state.open
    if isinstance(action, p.Done):
        queue.set_meta("ended", action.reason)
    elif isinstance(action, p.Open):
        past = state.history if state.ahead is None or now is None else state.ahead
        queue.open_round(past.rounds + 1, past.items, action.plan.to_json())
    elif now is not None and isinstance(action, p.TakeUp):
        return queue.take_up(new_batch(now, action.first, items.worst(action.first, action.end)), state.terms.budget)
    elif now is not None and isinstance(action, p.Draw):
        worst = items.worst(action.first, action.end)
        drawn = p.draw_batch(state.before or state.history, now, items.looked(action.first, action.end), worst)
        new = new_draws(now, action.first, drawn, worst)
        whole = new.end > drawn.rates.shape[1]  # the last rater is among them
        return queue.draw(replace(new, known=items.known(action.first, action.end) if whole else None))
    elif now is not None and isinstance(action, p.DrawAgain):
        worst = items.worst(0, state.history.items)
        return queue.draw_again(p.second_draw(state.history, now, worst), state.terms.budget)
    elif isinstance(action, p.GiveUp):
        return queue.give_up(action.reason) > 0
    elif state.oldest is not None and isinstance(action, p.Close):
        return queue.close_round(state.oldest.number, state.oldest.end - state.oldest.first)
    return True
