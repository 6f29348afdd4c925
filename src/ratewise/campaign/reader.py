"""The log as the decision takes it: facts, terms, prices, and the history of closed rounds."""

import json
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ratewise.campaign import planner as d
from ratewise.campaign.answers import Wanted
from ratewise.campaign.history import History, Looked, RoundPlan
from ratewise.campaign.inputs import Inputs
from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.learn.rating_model import Covariates
from ratewise.queue.money import to_units
from ratewise.queue.records import Claim, ItemRows, Units
from ratewise.queue.store import Store


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What was found out when the items were loaded."""

    items: int
    columns: int | None
    prices: tuple[float, ...]
    inputs: Inputs | None = None

    @classmethod
    def of(cls, store: Store) -> "Facts":
        """From the store."""
        items, columns, prices, strata = (store.meta(key) for key in ("items", "columns", "prices", "strata"))
        chosen = None if strata is None else Inputs.from_json(strata)
        return cls(int(items or 0), json.loads(columns or "null"), tuple(json.loads(prices or "[]")), chosen)


def terms_of(spec: Spec, facts: Facts) -> d.Terms:
    """What decisions need of the TOML and the items."""
    bounds = spec.scale.low, spec.scale.high
    wanted = Wanted(spec.level, spec.estimand, facts.items, bounds, spec.goal.target_se, facts.inputs)
    budget = None if spec.goal.budget is None else to_units(spec.goal.budget)
    return d.Terms(facts.prices, budget, wanted, spec.method == "base" or spec.steps == 1, spec.goal.deadline)


def empty_history(spec: Spec, facts: Facts, terms: d.Terms) -> History:
    """Before the first round."""
    middle = 0.5 * (spec.scale.low + spec.scale.high) if facts.inputs is None else facts.inputs.middle
    uncertainty = spec.items.uncertainty is not None
    return History.empty(terms.steps, columns=facts.columns, uncertainty=uncertainty, middle=middle)


@dataclass(frozen=True, slots=True, eq=False)
class Round:
    """A round of the log, with its plan as the planner reads it."""

    number: int
    first: int
    plan: RoundPlan
    factor: float | None
    items: int | None  # looked at; None while it is open


@dataclass(slots=True, eq=False)
class Reader:
    """The log as the decision takes it; reads only what is new."""

    spec: Spec
    store: Store
    facts: Facts
    terms: d.Terms
    history: History
    _ahead: tuple[int, Units] | None = field(init=False, default=None)  # prices of the next items, from which one on
    _failed: tuple[int, int] = field(
        init=False, default=(0, 0)
    )  # paid for failed calls, by closed rounds to which item

    @classmethod
    def of(cls, spec: Spec, store: Store) -> "Reader":
        """Nothing is read yet but the facts."""
        facts = Facts.of(store)
        terms = terms_of(spec, facts)
        return cls(spec, store, facts, terms, empty_history(spec, facts, terms))

    def state(self) -> d.State:
        """What the log says now; rounds that were closed since are added to the history."""
        current = None
        for row in self.rounds(after=self.history.rounds):
            if row.items is None:
                current = self.opened(row)
            else:
                looked = self.looked(row.first, row.first + row.items)
                self.history = self.history.joined(row.plan, row.factor, looked)
        weak, strong = self.store.open_questions()
        spent = self.store.totals()[1]
        at = self.history.items if current is None else current.end
        if self._ahead is None or self._ahead[0] != at:
            self._ahead = at, self.worst(at, min(at + d.BATCH, self.facts.items))
        if self._failed[0] != self.history.items:
            self._failed = self.history.items, self.store.failed_before(self.history.items)
        return d.State(self.terms, self.history, spent, current, weak, strong, self._ahead[1], self._failed[1])

    def rounds(self, after: int = 0) -> list[Round]:
        """Rounds with a number above `after`, in order."""
        return [
            Round(r.number, r.first, RoundPlan.from_json(r.plan), r.factor, r.items) for r in self.store.rounds(after)
        ]

    def opened(self, row: Round) -> d.OpenRound:
        """A round with what it has taken up."""
        return d.OpenRound(row.number, row.first, row.plan, self.store.batches(row.number), row.factor)

    def looked(self, first: int, end: int) -> Looked:
        """Items with all that is known of them."""
        chosen, together = self.facts.inputs, self.spec.items.clusters is not None
        found = _looked(
            self.store.item_rows(first, end, self.terms.steps),
            uncertainty=self.spec.items.uncertainty is not None,
            features=chosen is not None or together or self.facts.columns is not None,  # strata are among them
        )
        if chosen is not None:
            return chosen.scaled(found)
        return _clustered(found) if together else found

    def worst(self, first: int, end: int) -> Units:
        """The most that each rater can cost for each item."""
        own = None
        if any(rater.price_column is not None for rater in self.spec.raters):
            own = [None if text is None else json.loads(text) for text in self.store.item_prices(first, end)]
        columns = [_worst(rater, k, own, end - first) for k, rater in enumerate(self.spec.raters)]
        return np.column_stack(columns) if end > first else np.empty((0, self.spec.steps), dtype=np.int64)


def _looked(rows: ItemRows, *, uncertainty: bool, features: bool) -> Looked:
    """The first of the numbers is the user's own uncertainty, if there is one; the others are features."""
    own = rows.numbers[:, 0] if uncertainty else None
    x = Covariates(rows.values[:, 0], rows.numbers[:, int(uncertainty) :] if features else None, own)
    return Looked(x, rows.uniform, rows.rates, rows.selected, rows.values[:, 1:])


def _clustered(looked: Looked) -> Looked:
    """With the number of the cluster taken from the last column of the features."""
    assert looked.x.features is not None
    *_, features, codes = np.split(looked.x.features, [looked.x.features.shape[1] - 1], axis=1)
    x = replace(looked.x, features=features if features.shape[1] else None)
    return replace(looked, x=x, clusters=codes[:, 0].astype(np.intp))


def _worst(rater: RaterSpec, k: int, own: list[Any] | None, n: int) -> Units:
    fixed = rater.max_price if rater.max_price is not None else rater.price
    if fixed is not None:
        return np.full(n, to_units(fixed), dtype=np.int64)
    assert own is not None
    return np.array([prices[k] for prices in own], dtype=np.int64)


def list_price(rater: RaterSpec, k: int, claim: Claim) -> int:
    """What one call costs unless it says otherwise."""
    if rater.price is not None:
        return to_units(rater.price)
    assert claim.prices is not None
    return claim.prices[k]


def worst_price(rater: RaterSpec, k: int, claim: Claim) -> int:
    """What is reserved for one call."""
    return to_units(rater.max_price) if rater.max_price is not None else list_price(rater, k, claim)
