"""What items cost and what is held for them: every amount that moves when a round takes items up and draws them.

`worst` is the most that each rater can cost for each item, items × raters. Money is held for all that an item could
still cost before it is taken up. A round over a pool's last items holds its whole money with its first batch, and weak
ratings are paid out of that.
"""

from collections.abc import Callable, Iterator

import numpy as np

from ratewise.campaign.planner.costs import item_costs, weak_costs
from ratewise.campaign.planner.draw import Drawn
from ratewise.campaign.planner.state import OpenRound
from ratewise.core.ratings import Mask
from ratewise.store.money import total
from ratewise.store.queue import Batch, NewBatch, NewDraws, Units

Worst = Callable[[int, int], Units]  # of items from the first number to before the second
Selected = Callable[[int, int], Mask]  # of these items: who was asked, items × raters after the first


def new_batch(now: OpenRound, first: int, worst: Units) -> NewBatch:
    """Taking up the items from `first` on, as many as there are prices."""
    plan, weak = now.plan, total(weak_costs(now.plan, worst))
    cost = total(item_costs(plan, worst))
    hold = cost - weak
    if plan.exact:
        hold = (plan.spend if first == now.first else 0) - weak
    return NewBatch(now.number, first, first + len(worst), cost, hold, worst[:, 0] if plan.asks_first else None)


def new_draws(now: OpenRound, first: int, drawn: Drawn, worst: Units) -> NewDraws:
    """Writing down who is asked next among the items from `first` on.

    Money for raters before the last is taken from what is held; the draw of the last one gives the rest back. The first
    batch bears the cost of all of them.
    """
    plan, prices = now.plan, worst[:, -drawn.rates.shape[1] :]
    weak = weak_costs(plan, worst)
    ours = [b for b in now.batches if first <= b.first < first + len(worst)]
    columns, earlier = _next_columns(now, ours, drawn)
    asked = total(np.where(drawn.selected, prices, 0)[:, columns])
    step, rates, selected = columns.start + 1, drawn.rates[:, columns], drawn.selected[:, columns]
    if columns.stop < drawn.rates.shape[1]:
        return NewDraws(now.number, first, rates, selected, prices[:, columns], asked, (), None, step=step)
    before = total(np.where(drawn.selected, prices, 0)[:, earlier])
    more = total(prices[drawn.selected])
    costs = tuple((b.first, total(weak[b.first - first : b.end - first]) + (more if b is ours[0] else 0)) for b in ours)
    release = (plan.spend if plan.exact else total(item_costs(plan, worst))) - total(weak) - before
    return NewDraws(now.number, first, rates, selected, prices[:, columns], release, costs, drawn.factor, step=step)


def _next_columns(now: OpenRound, ours: list[Batch], drawn: Drawn) -> tuple[slice, slice]:
    """Columns of the raters who are drawn now, and of those before them."""
    done = min((b.steps for b in ours if not b.drawn), default=0)
    stages = now.plan.stages(drawn.rates.shape[1])
    columns = next((each for each in stages if each.start >= done), stages[-1])
    if all(b.drawn for b in ours):
        columns = stages[-1]  # as it was when they were drawn
    return columns, slice(0, columns.start)


def holdings(now: OpenRound, worst: Worst, selected: Selected) -> Iterator[tuple[int, int]]:
    """(first item, amount) of everything a round has held so far; amounts below 0 were given back."""
    held = {b.first: new_batch(now, b.first, worst(b.first, b.end)).hold for b in now.batches}
    yield from held.items()
    groups: list[list[Batch]] = [list(now.batches)] if now.plan.exact else [[b] for b in now.batches]
    for group in groups:
        if group:
            yield from _given_back(now, group, sum(held[b.first] for b in group), worst, selected)


def _given_back(
    now: OpenRound, group: list[Batch], held: int, worst: Worst, selected: Selected
) -> Iterator[tuple[int, int]]:
    """What was taken from the money held for batches that are drawn together, stage by stage."""
    first, end = group[0].first, group[-1].end
    prices, asked = worst(first, end), selected(first, end)
    prices = prices[:, -asked.shape[1] :]
    done, whole = min(b.steps for b in group), all(b.drawn for b in group)
    for columns in now.plan.stages(asked.shape[1])[:-1]:
        if whole or columns.stop <= done:
            amount = total(np.where(asked, prices, 0)[:, columns])
            held -= amount
            yield first, -amount
    if whole:
        yield first, -held


def drawn_together(now: OpenRound) -> list[tuple[int, int]]:
    """(first, end) of items whose draws were made together, where all of them are made."""
    groups: list[list[Batch]] = [list(now.batches)] if now.plan.exact else [[b] for b in now.batches]
    return [(g[0].first, g[-1].end) for g in groups if g and all(b.drawn for b in g)]
