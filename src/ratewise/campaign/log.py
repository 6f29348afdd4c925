"""The log as the planner takes it: the state it says now, and the planner's actions written into it."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import Protocol

from ratewise.campaign import planner as p
from ratewise.campaign.draws import draw_batch, new_batch, new_draws, second_draw
from ratewise.campaign.history import History, LookedItems, RoundPlan
from ratewise.campaign.learner import Refits
from ratewise.core.checks import Floats
from ratewise.store.memory import PlanningQueue
from ratewise.store.queue import Batch, Units


class Items(Protocol):
    """What a draw needs to know about items."""

    def looked(self, first: int, end: int) -> LookedItems: ...

    def known(self, first: int, end: int) -> Floats | None:
        """Strong ratings that were there before the campaign, NaN where none; None where it began without any."""
        ...

    def worst(self, first: int, end: int) -> Units:
        """The most that each rater can cost for each item."""
        ...


_plan = lru_cache(maxsize=4)(RoundPlan.from_json)  # the open round's is read again and again


class Reader:
    """Follows a log, whoever writes it."""

    def __init__(
        self, queue: PlanningQueue, items: Items, terms: p.CampaignTerms, history: History, keeps: bool = False,
        refits: Refits | None = None,
    ) -> None:  # fmt: skip
        """`keeps` what was known after each closed round; `refits` are of a model trained on closed rounds' labels."""
        self.queue, self.items, self.terms, self.history = queue, items, terms, history
        self.keeps, self.refits = keeps, refits
        self.closed: list[History] = []  # what it keeps
        self._ahead: tuple[int, Units] | None = None  # prices of the next items, from which one on

    def state(self, at: float | None = None) -> p.State:
        """What the log says now; rounds that were closed since are added to the history.

        With a time, in seconds since 1970, it tells what people want, too, where they are the last rater.
        """
        opened = self._read_on()
        waiting, last = self.queue.open_by_step(), self.terms.later_raters
        first = opened[-1].end if opened else self.history.items  # that is not taken up
        if self._ahead is None or self._ahead[0] != first:
            self._ahead = first, self.items.worst(first, min(first + p.BATCH, self.terms.pool))
        beside = 0 if self.terms.aside is None else self.queue.paid_beside()
        state = p.State(
            self.terms, self.history, self.queue.totals()[1] - beside, self._ahead[1], tuple(opened),
            weak_open=sum(n for step, n in waiting.items() if step < last), strong_open=waiting.get(last, 0),
            oldest_open=sum(self.queue.open_by_step(opened[0].end).values()) if len(opened) > 1 else 0,
            failed=self._of_history("failed", self.queue.failed_before),
            late=at is not None and self.terms.is_late(at),
        )  # fmt: skip
        if at is None or not self.terms.votes or not opened or opened[-1].plan.again:
            return state
        if not opened[-1].drawn or state.weak_open:
            return state
        people = self.queue.demand(last, self.terms.votes, at)
        if not people:
            return state
        out = sum(each.cost for each in opened)
        ahead = replace(
            state, history=self.with_open(self.history, opened), opened=(),
            closed=self.history, out=out, people=people,
            spent=self._of_history("settled", self.queue.settled_before) + out,
        )  # fmt: skip
        return replace(state, ahead=ahead)

    def carry_out(self, state: p.State, action: p.Action) -> bool:
        """Do what the planner says; False where the budget does not hold a batch, or an answer was just undone."""
        now, queue, items = state.open, self.queue, self.items
        if isinstance(action, p.Done):
            queue.set_meta("ended", str(action))
        elif isinstance(action, RoundPlan):
            past = state.history if state.ahead is None or now is None else state.ahead.history
            queue.open_round(past.rounds + 1, past.items, action.to_json())
        elif now is not None and isinstance(action, p.TakeUp):
            return queue.take_up(
                new_batch(now, action.first, items.worst(action.first, action.end)), state.terms.budget
            )
        elif now is not None and isinstance(action, p.DrawItems):
            worst = items.worst(action.first, action.end)
            drawn = draw_batch(
                self.with_open(state.history, state.opened[:-1]), now, items.looked(action.first, action.end), worst
            )
            new = new_draws(now, action.first, drawn, worst)
            whole = new.end > drawn.rates.shape[1]  # the last rater is among them
            return queue.draw(replace(new, known=items.known(action.first, action.end) if whole else None))
        elif now is not None and action is p.Command.DRAW_AGAIN:
            worst = items.worst(0, state.history.items)
            again = second_draw(state.history, now, worst)
            return queue.draw_again(now.number, now.plan.again, again, state.terms.budget)
        elif action is p.Command.GIVE_UP:
            return queue.give_up(p.LATE) > 0
        elif state.opened and action is p.Command.CLOSE:
            oldest = state.opened[0]
            return queue.close_round(oldest.number, oldest.end - oldest.first)
        return True

    def _read_on(self) -> list[p.Round]:
        """Take in the rounds that were closed since, and return those that are open."""
        opened: list[p.Round] = []
        known = self.history if self.refits is None else self.refits.added_to(self.history)
        if known is not self.history:  # a refit was made since the last round was closed
            self.history = known
            self.closed[-1:] = [known] if self.closed else []
        for row in self.rounds(after=self.history.rounds):
            if row.items is None:
                opened.append(self.opened(row))
                continue
            assert not opened, f"round {row.number} is closed, and one before it is not"
            self.history = self.taken_in(self.history, row)
            if self.keeps:
                self.closed.append(self.history)
        return opened

    def _of_history(self, name: str, sum_before: Callable[[int], int]) -> int:
        """A sum over the items of closed rounds, asked for once."""
        return self.history.once(name, lambda: sum_before(self.history.items))

    def with_open(self, history: History, opened: Sequence[p.Round]) -> History:
        """What may be used of rounds that are open, after those that are closed: their items and rates, no answer."""
        for each in opened:
            history = history.once(("open", each.number, each.end), partial(self._unanswered, history, each))
        return history

    def _unanswered(self, history: History, each: p.Round) -> History:
        return history.joined(each.plan, each.factor, self.items.looked(each.first, each.end).unanswered())

    def taken_in(self, history: History, row: p.Round) -> History:
        """What is known after a round that is closed."""
        assert row.items is not None
        if row.plan.again:
            rows = self.queue.item_rows(0, history.items, self.terms.later_raters)
            known = history.looked_again(row.plan, row.factor, self.queue.again(row.plan.again), rows.values[:, -1])
        else:
            known = history.joined(row.plan, row.factor, self.items.looked(row.first, row.first + row.items))
        return known if self.refits is None else self.refits.added_to(known)

    def rounds(self, after: int = 0) -> list[p.Round]:
        """Rounds with a number above `after`; SQLite keeps anything in any column, and a damaged store may have it."""
        return [
            p.Round(
                operator.index(row.number), operator.index(row.first), _plan(row.plan), factor=row.factor,
                items=None if row.items is None else operator.index(row.items),
            )
            for row in self.queue.rounds(after)
        ]  # fmt: skip

    def opened(self, row: p.Round) -> p.Round:
        """A round with what it has taken up."""
        batches = self.queue.batches(row.number)
        if row.plan.again and self.queue.again(row.plan.again).positions.size:
            batches = (Batch(row.first, row.first, True, row.plan.spend),)  # it takes up no new items
        return replace(row, batches=batches)
