"""The items of a campaign as the planner takes them: facts about them, their prices and ratings."""

import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratewise.campaign import planner as p
from ratewise.campaign.estimates import Wanted
from ratewise.campaign.history import History, Looked
from ratewise.campaign.learner import Refits
from ratewise.campaign.old_labels import COLUMNS, Start
from ratewise.campaign.raters import doubtful, knows_nothing
from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.campaign.strata import Inputs
from ratewise.core.checks import Floats
from ratewise.design.teacher import Teacher
from ratewise.learn.covariates import Covariates, TextColumns
from ratewise.raters.people import PeopleSettings
from ratewise.store.money import to_units
from ratewise.store.queue import ItemRows, Units
from ratewise.store.store import Store

_MOST = 2**31 - 1  # items of a campaign: positions are 32 bits


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What was found out when the items were loaded."""

    items: int
    columns: int | None
    prices: tuple[float, ...]
    inputs: Inputs | None = None
    start: Start | None = None
    teacher: Teacher | None = None
    text: int = 0  # columns made from texts
    pool: int = 0  # rows of the pool that the items are the first of

    @property
    def known(self) -> int:
        """Items whose ratings were picked by hand and are counted as they are."""
        return 0 if self.start is None else self.start.known

    @property
    def to_draw_from(self) -> int:
        """Rows of the pool that is drawn from, taken in or not."""
        return max(self.pool, self.items) - self.known

    @classmethod
    def of(cls, store: Store) -> "Facts":
        """The facts as the store has them."""
        names = ("items", "columns", "prices", "strata", "start", "teacher", "text", "pool")
        items, columns, prices, strata, start, taught, text, pool = (store.meta(key) for key in names)
        chosen = None if strata is None else Inputs.from_json(strata)
        begun = None if start is None else Start.from_json(start)
        teacher = None if taught is None else Teacher.from_json(taught)
        many, each = json.loads(columns or "null"), tuple(json.loads(prices or "[]"))
        if int(items or 0) > _MOST:  # whoever goes through them would never end
            raise ValueError(f"it says that it has {int(items or 0):,} items")
        return cls(
            int(items or 0), many, each, chosen, begun, teacher, int(text or 0), int(pool or items or 0)
        )  # fmt: skip


def terms_of(spec: Spec, facts: Facts) -> p.Terms:
    """What decisions need of the TOML and the items."""
    bounds = spec.scale.low, spec.scale.high
    start = facts.start
    known, mean = facts.known, 0.0 if start is None else start.mean
    wanted = Wanted(
        spec.level, spec.estimand, facts.items - known, bounds, spec.target_se, facts.inputs, known, mean,
        rows=facts.to_draw_from,
    )  # fmt: skip
    budget = None if spec.goal.budget is None else to_units(spec.goal.budget)
    alone, gives_up = spec.method == "base" or len(spec.raters) == 1, spec.goal.unanswered == "give up"
    first = 0 if start is None else start.first
    most = 0 if spec.strong.max_price is None else to_units(spec.strong.max_price)
    return p.Terms(
        facts.prices, budget, wanted, alone, spec.goal.deadline, gives_up, most=most, first=first,
        teacher=facts.teacher, votes=_votes(spec), aside=set_aside(spec),
        refit=spec.refits,
    )  # fmt: skip


def _votes(spec: Spec) -> int:
    """Answers that a question to people takes, where they come last and at most one rater comes before; else 0."""
    last = spec.strong.settings
    return last.votes if isinstance(last, PeopleSettings) and len(spec.raters) <= 2 else 0


def set_aside(spec: Spec) -> int | None:
    """Money of the budget for hidden checks and repeats: enough for their share of all questions; None: no such."""
    people = (rater.settings for rater in spec.raters if isinstance(rater.settings, PeopleSettings))
    share = max((settings.hidden_share for settings in people), default=0.0)
    if not share:
        return None
    return 0 if spec.goal.budget is None else int(to_units(spec.goal.budget) * share)


def later_raters(spec: Spec) -> int:
    """How many raters come after the first; 1 where there is just one, who is the strong one."""
    return max(len(spec.raters) - 1, 1)


def empty_history(spec: Spec, facts: Facts, terms: p.Terms) -> History:
    """The history before the first round."""
    middle = 0.5 * (spec.scale.low + spec.scale.high) if facts.inputs is None else facts.inputs.middle
    uncertainty = spec.items.uncertainty is not None or doubtful(spec) is not None
    return History.empty(
        terms.later_raters, columns=facts.columns, uncertainty=uncertainty, middle=middle, text=facts.text,
        doubts=later_doubtful(spec, facts),
    )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class LoggedItems:
    """The items of a campaign as its store has them."""

    spec: Spec
    store: Store
    facts: Facts
    refits: Refits | None = None

    def looked(self, first: int, end: int) -> Looked:
        """Items with all that is known of them."""
        chosen, together = self.facts.inputs, self.spec.items.clusters is not None
        found = looked_of(
            self.store.item_rows(first, end, later_raters(self.spec)),
            uncertainty=self.spec.items.uncertainty is not None, strata=chosen is not None, clusters=together,
            start=self.facts.start, doubtful=doubtful(self.spec), text=self.facts.text,
            later=later_doubtful(self.spec, self.facts),
        )  # fmt: skip
        if self.refits is not None:
            found = replace(found, x=replace(found.x, refits=self.refits.columns(first, end)))
        return found if chosen is None else chosen.scaled(found)

    def known(self, first: int, end: int) -> Floats | None:
        """Strong ratings that were there before the campaign, NaN where none; None where it began without any."""
        if self.facts.start is None:
            return None
        return _known(self.store.item_rows(first, end, later_raters(self.spec)))

    def worst(self, first: int, end: int) -> Units:
        """The most that each rater can cost for each item."""
        own = None
        if any(rater.price is None for rater in self.spec.raters):
            own = [None if text is None else json.loads(text) for text in self.store.item_prices(first, end)]
        columns = [_worst(rater, k, own, end - first) for k, rater in enumerate(self.spec.raters)]
        if end > first and self.facts.start is not None:
            old = _known(self.store.item_rows(first, end, later_raters(self.spec)))
            columns[-1] = np.where(np.isnan(old), columns[-1], 0)
        return np.column_stack(columns) if end > first else np.empty((0, len(self.spec.raters)), dtype=np.int64)


def _known(rows: ItemRows) -> Floats:
    return np.asarray(rows.numbers[:, -COLUMNS])


def later_doubtful(spec: Spec, facts: Facts) -> tuple[float | None, ...]:
    """The same of each rater between the first and the last; none at all where plans do not go by them."""
    if facts.inputs is not None:
        return ()
    return tuple(knows_nothing(spec) if r.settings.doubts else None for r in spec.raters[1:-1])


def looked_of(
    rows: ItemRows, *, uncertainty: bool, strata: bool = False, clusters: bool = False, start: Start | None = None,
    doubtful: float | None = None, text: int = 0, later: tuple[float | None, ...] = (),
) -> Looked:  # fmt: skip
    """Items from their stored numbers: uncertainty, features, texts, stratum or cluster, old label with its rate."""
    numbers, old, given = rows.numbers, None, None
    if start is not None:
        numbers, old, given = numbers[:, :-COLUMNS], numbers[:, -COLUMNS], numbers[:, -1]
    first, end = int(uncertainty), numbers.shape[1] - int(strata or clusters)
    own = numbers[:, 0] if uncertainty else None
    if doubtful is not None and rows.doubts is not None:
        own = _told(rows.doubts[:, 0], doubtful)
    known = numbers[:, first : end - text] if end - text > first else None
    texts = TextColumns.of(numbers[:, end - text : end]) if text else None
    x = Covariates(rows.values[:, 0], known, own, texts, doubts=_later_doubts(rows, later))
    code = numbers[:, end].astype(np.intp) if strata or clusters else None
    values = np.where(rows.selected, rows.values[:, 1:], np.nan)  # without what a second look has brought
    return Looked(
        x, rows.uniform, rows.rates, rows.selected, values, strata=code if strata else None,
        clusters=code if clusters else None, old=old if start is not None and start.pooled else None,
        given=given if start is not None and start.pooled else None,
    )  # fmt: skip


def _later_doubts(rows: ItemRows, unknown: tuple[float | None, ...]) -> tuple[Floats | None, ...]:
    """How unsure each rater between the first and the last is; None for one that does not tell."""
    if rows.doubts is None:
        return ()
    columns = rows.doubts[:, 1 : 1 + len(unknown)].T
    return tuple(None if at is None else _told(one, at) for one, at in zip(columns, unknown, strict=True))


def _told(doubts: Floats, unknown: float) -> Floats:
    return np.where(np.isnan(doubts), unknown, doubts)


def _worst(rater: RaterSpec, k: int, own: list[Any] | None, n: int) -> Units:
    fixed = rater.max_price if rater.max_price is not None else rater.price
    if fixed is not None:
        return np.full(n, to_units(fixed), dtype=np.int64)
    assert own is not None
    return np.array([prices[k] for prices in own], dtype=np.int64)
