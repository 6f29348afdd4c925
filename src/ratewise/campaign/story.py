"""A campaign told round by round, for reports."""

from dataclasses import dataclass

from ratewise.campaign.answers import anytime_estimate
from ratewise.campaign.reader import Reader, empty_history
from ratewise.core.estimate import Estimate
from ratewise.queue import audit


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


def tell_story(reader: Reader) -> list[Chapter]:
    """Every closed round, from the log."""
    history = empty_history(reader.spec, reader.facts, reader.terms)
    out: list[Chapter] = []
    for row in reader.rounds():
        if row.items is None:
            break
        looked = reader.looked(row.first, row.first + row.items)
        before, history = history.labels, history.joined(row.plan, row.factor, looked)
        spent = audit.settled_before(reader.store, row.first + row.items)
        policy = "start" if row.number == 1 and row.plan.weak else row.plan.policy
        found = anytime_estimate(history, reader.terms.wanted)
        rate = float(looked.rates[:, -1].mean())
        labels = history.labels - before
        out.append(Chapter(row.number, policy, row.items, labels, rate, spent, found, row.plan.by_features))
    return out
