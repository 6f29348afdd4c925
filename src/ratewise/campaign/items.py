"""The items of a campaign as the planner takes them: what was found out about them, their prices and ratings."""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratewise.campaign import planner as p
from ratewise.campaign.answers import Wanted
from ratewise.campaign.history import History, Looked
from ratewise.campaign.inputs import Inputs
from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.models.rating_model import Covariates
from ratewise.queue.money import to_units
from ratewise.queue.records import ItemRows, Units
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


def terms_of(spec: Spec, facts: Facts) -> p.Terms:
    """What decisions need of the TOML and the items."""
    bounds = spec.scale.low, spec.scale.high
    wanted = Wanted(spec.level, spec.estimand, facts.items, bounds, spec.target_se, facts.inputs)
    budget = None if spec.goal.budget is None else to_units(spec.goal.budget)
    alone, gives_up = spec.method == "base" or len(spec.raters) == 1, spec.goal.unanswered == "give up"
    return p.Terms(facts.prices, budget, wanted, alone, spec.goal.deadline, gives_up)


def later_steps(spec: Spec) -> int:
    """Raters after the first; 1 where there is just one, who is the strong one."""
    return max(len(spec.raters) - 1, 1)


def empty_history(spec: Spec, facts: Facts, terms: p.Terms) -> History:
    """Before the first round."""
    middle = 0.5 * (spec.scale.low + spec.scale.high) if facts.inputs is None else facts.inputs.middle
    uncertainty = spec.items.uncertainty is not None
    return History.empty(terms.steps, columns=facts.columns, uncertainty=uncertainty, middle=middle)


@dataclass(frozen=True, slots=True, eq=False)
class LoggedItems:
    """The items of a campaign as its store has them."""

    spec: Spec
    store: Store
    facts: Facts

    def looked(self, first: int, end: int) -> Looked:
        """Items with all that is known of them."""
        chosen, together = self.facts.inputs, self.spec.items.clusters is not None
        found = _looked(
            self.store.item_rows(first, end, later_steps(self.spec)),
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
        return np.column_stack(columns) if end > first else np.empty((0, len(self.spec.raters)), dtype=np.int64)


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
