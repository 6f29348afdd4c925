"""The items of a campaign as the planner takes them: facts about them, their prices and ratings."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from ratewise.campaign import planner as p
from ratewise.campaign.answers import Goals
from ratewise.campaign.estimates import MEAN, Target
from ratewise.campaign.history import History, LookedItems
from ratewise.campaign.learner import Refits
from ratewise.campaign.old_labels import Start
from ratewise.campaign.raters import doubtful, knows_nothing
from ratewise.campaign.spec.spec import LearnerSpec, Spec
from ratewise.campaign.strata import Inputs
from ratewise.core.checks import Floats
from ratewise.design.rounds import score_prior
from ratewise.design.teacher import Teacher
from ratewise.errors import InputError
from ratewise.learn.covariates import Covariates, TextColumns
from ratewise.learn.score_prior import ScorePrior
from ratewise.questions.question import CampaignQuestion
from ratewise.questions.strata import Codes
from ratewise.raters.people import PeopleSettings
from ratewise.store.money import to_units
from ratewise.store.queue import ItemRows, Units
from ratewise.store.store import Store

_MOST = 2**31 - 1  # items of a campaign: positions are 32 bits


@dataclass(frozen=True, slots=True)
class Parts:
    """The numbers that the store keeps of each item: named parts, side by side."""

    widths: Mapping[str, int]  # columns of each part

    @classmethod
    def of(cls, items: int, **parts: ArrayLike | None) -> tuple["Parts", Floats]:
        """The parts that there are, and all of them together, items × columns."""
        whole = {name: np.asarray(part).reshape(items, -1) for name, part in parts.items() if part is not None}
        widths = {name: part.shape[1] for name, part in whole.items() if part.shape[1]}
        return cls(widths), np.column_stack([np.empty((items, 0)), *whole.values()])

    def part(self, numbers: Floats, name: str) -> Floats | None:
        """One part of these numbers, items × columns; `None` where there is none."""
        if name not in self.widths:
            return None
        names = list(self.widths)
        first = sum(self.widths[one] for one in names[: names.index(name)])
        return numbers[:, first : first + self.widths[name]]

    def column(self, numbers: Floats, name: str) -> Floats | None:
        part = self.part(numbers, name)
        return None if part is None else part[:, 0]

    def codes(self, numbers: Floats, name: str) -> Codes | None:
        part = self.column(numbers, name)
        return None if part is None else part.astype(np.intp)


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What was found out when the items were loaded."""

    items: int
    parts: Parts
    prices: tuple[float, ...]
    inputs: Inputs | None = None
    start: Start | None = None
    teacher: Teacher | None = None
    pool: int = 0  # rows of the pool that the items are the first of
    question: CampaignQuestion = MEAN
    looks: int = 0  # rounds that were planned when it began, where something is to be decided

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
        names = ("items", "columns", "prices", "strata", "start", "teacher", "pool", "question", "looks")
        said, columns, prices, strata, start, taught, pool, asked, looks = (store.meta(key) for key in names)
        items = int(said or 0)
        if items > _MOST:  # whoever goes through them would never end
            raise ValueError(f"it says that it has {items:,} items")
        return cls(
            items, Parts(json.loads(columns or "{}")), tuple(json.loads(prices or "[]")),
            None if strata is None else Inputs.from_json(strata), None if start is None else Start.from_json(start),
            None if taught is None else Teacher.from_dict(json.loads(taught)), int(pool or items),
            MEAN if asked is None else CampaignQuestion.from_json(asked), int(looks or 0),
        )  # fmt: skip


def terms_of(spec: Spec, facts: Facts) -> p.CampaignTerms:
    """What decisions need of the TOML and the items."""
    bounds = spec.scale.low, spec.scale.high
    start = facts.start
    known, mean = facts.known, 0.0 if start is None else start.mean
    wanted = Target(
        spec.level, spec.estimand, facts.items - known, bounds, spec.target_se, facts.inputs, known, mean,
        rows=facts.to_draw_from, question=facts.question, goals=goals_of(spec, facts.question),
        looks=facts.looks,
    )  # fmt: skip
    budget = None if spec.goal.budget is None else to_units(spec.goal.budget)
    alone, gives_up = spec.method == "base" or len(spec.raters) == 1, spec.goal.unanswered == "give up"
    most = 0 if spec.strong.max_price is None else to_units(spec.strong.max_price)
    return p.CampaignTerms(
        facts.prices, budget, wanted, alone, spec.goal.deadline, gives_up, most=most,
        first=0 if start is None else start.first, teacher=facts.teacher, votes=_votes(spec), aside=set_aside(spec),
        refit=spec.refits,
    )  # fmt: skip


def goals_of(spec: Spec, question: CampaignQuestion) -> Goals:
    """What the answers of a question are to reach; the mean's precision is not among them."""
    goal, asked = spec.goal, spec.question
    within: dict[str, float] = {}
    if isinstance(goal.within, dict):
        within = dict(goal.within)
    elif goal.within is not None and question.kind != "mean":
        within = dict.fromkeys(question.answers, goal.within)
    for key, named in (("goal.within", within), ("question.weights", (asked and asked.weights) or {})):
        for name in named:
            if name not in question.answers:
                raise InputError(f"{key} names {name!r}; the answers are {', '.join(question.answers)}")
    weights = () if asked is None or asked.weights is None else tuple(asked.weights.items())
    return Goals(tuple(within.items()), goal.decide, weights)


def _votes(spec: Spec) -> int:
    """Answers that a question to people takes, where they come last and at most one rater comes before; else 0."""
    last = spec.strong
    return last.votes if isinstance(last, PeopleSettings) and len(spec.raters) <= 2 else 0


def set_aside(spec: Spec) -> int | None:
    """Money of the budget for hidden checks and repeats: enough for their share of all questions; None: no such."""
    share = max(rater.hidden_share for rater in spec.raters)
    if not share:
        return None
    return 0 if spec.goal.budget is None else int(to_units(spec.goal.budget) * share)


def empty_history(spec: Spec, facts: Facts, terms: p.CampaignTerms) -> History:
    """The history before the first round."""
    middle = 0.5 * (spec.scale.low + spec.scale.high) if facts.inputs is None else facts.inputs.middle
    first, *later = unsure(spec, facts)
    uncertainty = spec.items.uncertainty is not None or first is not None
    return History.empty(
        terms.later_raters, columns=facts.parts.widths.get("features"), uncertainty=uncertainty, middle=middle,
        text=facts.parts.widths.get("text", 0),
        doubts=tuple(later), places=facts.parts.widths.get("place", 0), prior=_prior(spec, facts, terms),
    )  # fmt: skip


def _prior(spec: Spec, facts: Facts, terms: p.CampaignTerms) -> ScorePrior | None:
    """What the weak rater's scores usually mean, where ratings are verdicts and there is nothing else to go by."""
    kind = (spec.learner or LearnerSpec()).prior
    more = facts.parts.widths.keys() & {"features", "text"} or spec.items.uncertainty is not None or spec.refits
    known = facts.start is not None or facts.teacher is not None or facts.inputs is not None
    more = more or known or facts.question.kind != "mean"
    if kind == "none" or spec.scale.kind != "binary" or len(spec.raters) != 2 or terms.alone or more:
        return None
    return score_prior(kind, terms.weak_cost, terms.costs[-1])


@dataclass(frozen=True, slots=True, eq=False)
class LoggedItems:
    """The items of a campaign as its store has them."""

    spec: Spec
    store: Store
    facts: Facts
    refits: Refits | None = None

    def looked(self, first: int, end: int) -> LookedItems:
        chosen = self.facts.inputs
        found = looked_of(
            self.store.item_rows(first, end, self.spec.steps[-1]), self.facts.parts, start=self.facts.start,
            unsure=unsure(self.spec, self.facts),
        )  # fmt: skip
        if self.refits is not None:
            found = replace(found, x=replace(found.x, refits=self.refits.columns(first, end)))
        return found if chosen is None else chosen.scaled(found)

    def known(self, first: int, end: int) -> Floats | None:
        rows = self.store.item_rows(first, end, self.spec.steps[-1])
        return self.facts.parts.column(rows.numbers, "label")

    def worst(self, first: int, end: int) -> Units:
        own = None
        if any(rater.price is None for rater in self.spec.raters):
            own = [json.loads(text or "[]") for text in self.store.item_prices(first, end)]
        columns = []
        for k, rater in enumerate(self.spec.raters):
            fixed = rater.max_price if rater.max_price is not None else rater.price
            each = [prices[k] for prices in own or ()] if fixed is None else [to_units(fixed)] * (end - first)
            columns.append(np.array(each, dtype=np.int64))
        old = self.known(first, end) if end > first and self.facts.start is not None else None
        if old is not None:
            columns[-1] = np.where(np.isnan(old), columns[-1], 0)
        return np.column_stack(columns) if end > first else np.empty((0, len(self.spec.raters)), dtype=np.int64)


def unsure(spec: Spec, facts: Facts) -> tuple[float | None, ...]:
    """How unsure each rater but the last is without a rating; None for one that does not tell, or in vain."""
    later = spec.raters[1:-1] if len(spec.raters) > 1 else ()
    told = [facts.inputs is None and rater.doubts for rater in later]  # plans by strata do not go by them
    return doubtful(spec), *(knows_nothing(spec) if tells else None for tells in told)


def looked_of(
    rows: ItemRows, parts: Parts, *, start: Start | None = None, unsure: tuple[float | None, ...]
) -> LookedItems:  # fmt: skip
    """Items from their stored numbers."""
    doubts = () if rows.doubts is None else tuple(
        None if at is None else np.where(np.isnan(one), at, one)
        for one, at in zip(rows.doubts.T, unsure, strict=False)
    )  # fmt: skip
    own = doubts[0] if doubts and doubts[0] is not None else parts.column(rows.numbers, "uncertainty")
    texts, pooled = parts.part(rows.numbers, "text"), start is not None and start.pooled
    x = Covariates(
        rows.values[:, 0], parts.part(rows.numbers, "features"), own, None if texts is None else TextColumns.of(texts),
        doubts=doubts[1:], place=parts.part(rows.numbers, "place"),
    )  # fmt: skip
    values = np.where(rows.selected, rows.values[:, 1:], np.nan)  # without what a second look has brought
    return LookedItems(
        x, rows.uniform, rows.rates, rows.selected, values, strata=parts.codes(rows.numbers, "stratum"),
        clusters=parts.codes(rows.numbers, "cluster"), old=parts.column(rows.numbers, "label") if pooled else None,
        given=parts.column(rows.numbers, "label_rate") if pooled else None,
    )  # fmt: skip
