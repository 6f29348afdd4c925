"""What items cost and what is held for them: every amount that moves when a round takes items up and draws them.

`worst` is the most that each rater can cost for each item, items × raters. Money is held for all that an item could
still cost before it is taken up. A round over a pool's last items holds its whole money with its first batch, and weak
ratings are paid out of that.
"""

from collections.abc import Callable, Iterator

from ratewise.campaign.planner.costs import item_costs, weak_costs
from ratewise.campaign.planner.draw import Drawn
from ratewise.campaign.planner.state import OpenRound
from ratewise.queue.money import total
from ratewise.queue.records import Batch, NewBatch, NewDraws, Units

Worst = Callable[[int, int], Units]  # of items from the first number to before the second


def new_batch(now: OpenRound, first: int, worst: Units) -> NewBatch:
    """Taking up the items from `first` on, as many as there are prices."""
    plan, weak = now.plan, total(weak_costs(now.plan, worst))
    cost = total(item_costs(plan, worst))
    hold = cost - weak
    if plan.exact:
        hold = (plan.spend if first == now.first else 0) - weak
    return NewBatch(now.number, first, first + len(worst), cost, hold, worst[:, 0] if plan.weak else None)


def new_draws(now: OpenRound, first: int, drawn: Drawn, worst: Units) -> NewDraws:
    """Writing down who is asked among the items from `first` on; the first batch bears the cost of all of them."""
    plan, prices = now.plan, worst[:, -drawn.rates.shape[1] :]
    weak = weak_costs(plan, worst)
    more = total(prices[drawn.selected])
    ours = [b for b in now.batches if first <= b.first < first + len(worst)]
    costs = tuple((b.first, total(weak[b.first - first : b.end - first]) + (more if b is ours[0] else 0)) for b in ours)
    release = (plan.spend if plan.exact else total(item_costs(plan, worst))) - total(weak)
    return NewDraws(now.number, first, drawn.rates, drawn.selected, prices, release, costs, drawn.factor)


def holdings(now: OpenRound, worst: Worst) -> Iterator[tuple[int, int]]:
    """(first item, amount) of everything a round has held so far; amounts below 0 were given back."""
    for b in now.batches:
        new = new_batch(now, b.first, worst(b.first, b.end))
        yield b.first, new.hold
        if b.drawn and not now.plan.exact:
            yield b.first, -new.hold
    if now.plan.exact and any(b.drawn for b in now.batches):
        weak = sum(total(weak_costs(now.plan, worst(b.first, b.end))) for b in now.batches)
        yield now.first, weak - now.plan.spend


def drawn_together(now: OpenRound) -> list[tuple[int, int]]:
    """(first, end) of items whose draws were made together, where all of them are made."""
    groups: list[list[Batch]] = [list(now.batches)] if now.plan.exact else [[b] for b in now.batches]
    return [(g[0].first, g[-1].end) for g in groups if g and all(b.drawn for b in g)]
