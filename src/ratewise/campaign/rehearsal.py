"""A campaign rehearsed in memory: the planner on the queue in memory, with raters who answer everything at once.

    pool = RehearsalPool.of(weak, strong, prices=(Decimal("0.05"), Decimal(1)))
    rehearsal = Rehearsal(pool, pool.terms(budget=Decimal(60)))
    rehearsal.play()
    rehearsal.history

Whatever a campaign decides it decides here: the same planner, the same queue's rules, no file and no waiting.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np

from ratewise.campaign import planner as p
from ratewise.campaign.answers import Goals
from ratewise.campaign.estimates import MEAN, NO_GOALS, Target
from ratewise.campaign.history import History, LookedItems, RoundPlan
from ratewise.campaign.items import Parts, looked_of
from ratewise.campaign.learner import Refits, refit_of
from ratewise.campaign.log import Reader
from ratewise.campaign.old_labels import Start
from ratewise.campaign.strata import Inputs
from ratewise.core.checks import Floats
from ratewise.core.names import Estimand
from ratewise.design.rounds import rounds_planned
from ratewise.design.teacher import Teacher
from ratewise.learn.cross_fit import Rows, Trainer
from ratewise.questions.question import CampaignQuestion
from ratewise.questions.strata import Codes
from ratewise.store.memory import MemoryQueue
from ratewise.store.money import to_units
from ratewise.store.queue import Units


@dataclass(frozen=True, slots=True, eq=False)
class RehearsalPool:
    """Items in the order they are looked at: what every rater would say (NaN: nothing) and cost, in units."""

    ratings: Floats  # items × raters
    uniform: Floats
    prices: Units  # items × raters
    features: Floats | None = None
    uncertainty: Floats | None = None
    inputs: Inputs | None = None  # where items are chosen by strata,
    strata: Codes | None = None  # the number of each one's
    start: Start | None = None  # labels that are there already,
    old: Floats | None = None  # NaN where none, in the order of the items,
    given: Floats | None = None  # and the rates that they were drawn with
    texts: Rows = ()  # where a model is trained on the labels of closed rounds, by
    trainer: Trainer | None = None
    doubts: tuple[Floats | None, ...] = ()  # of each rater between the first and the last, None where it tells nothing
    question: CampaignQuestion = MEAN  # what is asked,
    place: Floats | None = None  # and where each item stands in it
    clusters: Codes | None = None  # of items that belong together

    @classmethod
    def of(
        cls, *ratings: Floats, prices: tuple[Decimal, ...], seed: int = 0, features: Floats | None = None,
        uncertainty: Floats | None = None, doubts: tuple[Floats | None, ...] = (), question: CampaignQuestion = MEAN,
        place: Floats | None = None,
    ) -> "RehearsalPool":  # fmt: skip
        """One price for each rater, in money; items keep their order."""
        n = len(ratings[0])
        units = np.tile(np.array([to_units(price) for price in prices], dtype=np.int64), (n, 1))
        uniform = np.random.default_rng([seed, 77]).random(n)
        own = None if place is None else question.features(place)
        parts = [part for part in (features, own) if part is not None]
        return cls(
            np.column_stack(ratings), uniform, units, np.column_stack(parts) if parts else None, uncertainty,
            doubts=doubts, question=question, place=place,
        )  # fmt: skip

    @property
    def items(self) -> int:
        return int(self.uniform.size)

    def terms(
        self, *, budget: Decimal | None = None, target_se: float | None = None, level: float = 0.95,
        estimand: Estimand = "pool", bounds: tuple[float, float] = (0.0, 1.0), alone: bool = False,
        teacher: Teacher | None = None, votes: int = 0, goals: Goals = NO_GOALS,
    ) -> p.CampaignTerms:  # fmt: skip
        """What decisions need to know of a campaign on this pool."""
        known, mean = (0, 0.0) if self.start is None else (self.start.known, self.start.mean)
        first = 0 if self.start is None else self.start.first
        prices = tuple(self.prices.mean(axis=0).tolist())
        money = None if budget is None else to_units(budget)
        each = prices[-1] if alone else sum(prices)
        looks = 0 if goals.decide is None or money is None else rounds_planned(money / each, self.items, first)
        wanted = Target(
            level, estimand, self.items - known, bounds, target_se, self.inputs, known, mean, question=self.question,
            goals=goals, looks=looks,
        )  # fmt: skip
        return p.CampaignTerms(
            prices, money, wanted, alone or len(prices) == 1, first=first, teacher=teacher, votes=votes,
            refit=self.trainer is not None,
        )  # fmt: skip

    def empty(self, terms: p.CampaignTerms) -> History:
        """The rehearsal before the first round."""
        columns = None if self.features is None else self.features.shape[1]
        middle = 0.5 * sum(terms.wanted.bounds) if self.inputs is None else self.inputs.middle
        own, unknown = self.uncertainty is not None, self.unknown(terms.wanted.bounds)
        return History.empty(
            terms.later_raters, columns=columns, uncertainty=own, middle=middle, doubts=unknown,
            places=0 if self.place is None else self.place.shape[1],
        )  # fmt: skip

    def unknown(self, bounds: tuple[float, float]) -> tuple[float | None, ...]:
        """Of each rater between the first and the last: its uncertainty without a rating; None: it tells none."""
        return tuple(None if own is None else (0.5 * (bounds[1] - bounds[0])) ** 2 for own in self.doubts)

    def worst(self, first: int, end: int) -> Units:
        return self.prices[first:end]

    def answers(self, later_raters: int) -> Floats:
        """The answers of the raters of each step; a single rater answers step 1."""
        if self.ratings.shape[1] > later_raters:
            return self.ratings
        return np.column_stack([self.ratings[:, :1], self.ratings])


class Rehearsal:
    """A campaign on the queue in memory."""

    def __init__(self, pool: RehearsalPool, terms: p.CampaignTerms) -> None:
        self.pool, self.terms = pool, terms
        self.plans: list[RoundPlan] = []
        self.actions: list[p.Action] = []
        given = pool.given if pool.given is not None or pool.old is None else np.zeros(pool.items)
        self.parts, numbers = Parts.of(
            pool.items, uncertainty=pool.uncertainty, features=pool.features, stratum=pool.strata, label=pool.old,
            label_rate=given, place=pool.place, cluster=pool.clusters,
        )  # fmt: skip
        self.queue = MemoryQueue(pool.uniform, later_raters=terms.later_raters, numbers=numbers)
        self.refits = Refits(self.queue)
        self.reader = Reader(self.queue, self, terms, pool.empty(terms), refits=self.refits)

    @property
    def history(self) -> History:
        return self.reader.history

    @property
    def open(self) -> p.Round | None:
        return self.state().open

    @property
    def spent(self) -> int:
        return self.queue.totals()[1]

    def looked(self, first: int, end: int) -> LookedItems:
        rows = self.queue.item_rows(first, end, self.terms.later_raters)
        pool = self.pool
        found = looked_of(rows, self.parts, start=pool.start, unsure=(None, *pool.unknown(self.terms.wanted.bounds)))
        if pool.trainer is not None:
            found = replace(found, x=replace(found.x, refits=self.refits.columns(first, end)))
        return found if pool.inputs is None else pool.inputs.scaled(found)

    def known(self, first: int, end: int) -> Floats | None:
        return None if self.pool.old is None else self.pool.old[first:end]

    def worst(self, first: int, end: int) -> Units:
        found, old = self.pool.worst(first, end), self.known(first, end)
        if old is not None:
            found = found.copy()
            found[~np.isnan(old), -1] = 0
        return found

    def raise_budget(self, budget: Decimal) -> None:
        """More money after the end: items that were passed over may be drawn again."""
        self.terms = replace(self.terms, budget=to_units(budget), again=True)
        self.reader.terms = self.terms

    def state(self) -> p.State:
        return self.reader.state()

    def play(self, *, each_round: "Callable[[Rehearsal], None] | None" = None, most: int = 100) -> str:
        """Play until done and return the reason; `each_round` is called after every round."""
        while True:
            state = self.state()
            action = p.decide(state)
            self.actions.append(action)
            if isinstance(action, p.Done):
                return str(action)
            assert action is not p.Command.WAIT, "nobody is waited for: every answer is there at once"
            self.do(action, state)
            if action is p.Command.CLOSE and each_round is not None:
                each_round(self)
            assert self.history.rounds < most

    def do(self, action: p.Action, state: p.State | None = None) -> None:
        """Carry out what the planner decides in this state (by default the present one), and answer what it asks."""
        state = self.state() if state is None else state
        assert self.reader.carry_out(state, action)
        if action is p.Command.TRAIN:
            assert self.pool.trainer is not None
            self.queue.keep_refit(refit_of(state.history, self.pool.texts, self.pool.trainer))
        if isinstance(action, RoundPlan):
            self.plans.append(action)
        silent, doubts = np.full(self.pool.items, np.nan), None
        if self.pool.doubts:
            told = (silent if own is None else own for own in self.pool.doubts)
            doubts = np.column_stack([silent, *told, silent])
        self.queue.answer_all(self.pool.answers(self.terms.later_raters), doubts=doubts)
        if action is p.Command.CLOSE:
            self.state()  # takes the round in
