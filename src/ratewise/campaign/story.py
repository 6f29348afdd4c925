"""A campaign told round by round, for reports."""

from collections.abc import Sequence
from dataclasses import dataclass

from ratewise.campaign.answers import Wanted, anytime_estimate
from ratewise.campaign.history import History, RoundPlan
from ratewise.campaign.reader import Closed
from ratewise.core.estimate import Estimate
from ratewise.core.result import shown
from ratewise.store import audit
from ratewise.store.store import Store


@shown
@dataclass(frozen=True, slots=True)
class Chapter:
    """One closed round, and what was known after it."""

    number: int
    policy: str
    items: int
    labels: int
    mean_rate: float
    spent: int  # in units, by all rounds so far
    estimate: Estimate | None  # with the interval that may be looked at after every round
    by_features: bool = False  # weak ratings were not bought, and rates go by the features


def _drawn_from(history: History, labels: int) -> int:
    """Items that a second look drew from."""
    return max(int(history.passed_over.sum()) + labels, 1)


def tell_story(
    closed: Sequence[Closed], opened: Sequence[RoundPlan], store: Store, wanted: Wanted
) -> list[Chapter]:  # fmt: skip
    """Every closed round, from the log; `opened` are the plans of those that are not closed yet."""
    out: list[Chapter] = []
    before, plans = 0, [*(each.round.plan for each in closed), *opened]
    for each in closed:
        row, history = each.round, each.history
        policy = "start" if row.number == 1 and row.plan.weak else row.plan.policy
        items, labels = history.items - row.first, history.labels - before
        rate = float(history.looked.rates[row.first :, -1].mean()) if items else labels / _drawn_from(history, labels)
        spent = audit.settled_before(store, history.items, history.again)
        more = any(plan.look < row.number for plan in plans[row.number :])
        found = anytime_estimate(history, wanted, more=more)
        out.append(Chapter(row.number, policy, items, labels, rate, spent, found, row.plan.by_features))
        before = history.labels
    return out
