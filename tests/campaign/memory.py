"""A campaign played in memory: the planner on the queue in memory, which shows that its decisions are pure."""

from dataclasses import dataclass, field

import numpy as np

from ratewise.campaign import planner as d
from ratewise.campaign.acting import carry_out
from ratewise.campaign.answers import Wanted
from ratewise.campaign.history import History, Looked, RoundPlan
from ratewise.campaign.reader import Reader
from ratewise.models.rating_model import Covariates
from ratewise.queue.memory import MemoryQueue
from ratewise.queue.money import to_units


@dataclass(frozen=True, eq=False)
class Pool:
    """Items in the order they are looked at: what every rater would say (NaN: nothing) and cost, in units."""

    ratings: np.ndarray  # items × raters
    uniform: np.ndarray
    prices: np.ndarray  # items × raters, whole numbers
    features: np.ndarray | None = None
    uncertainty: np.ndarray | None = None

    @classmethod
    def of(cls, *ratings, prices, seed=0, features=None, uncertainty=None):
        """One price for each rater, in money; items keep their order."""
        n = len(ratings[0])
        units = np.tile(np.array([to_units(p) for p in prices], dtype=np.int64), (n, 1))
        uniform = np.random.default_rng([seed, 77]).random(n)
        return cls(np.column_stack(ratings), uniform, units, features, uncertainty)

    @property
    def items(self):
        return self.uniform.size

    def terms(self, *, budget=None, target_se=None, level=0.95, estimand="pool", bounds=(0.0, 1.0), alone=False):
        wanted = Wanted(level, estimand, self.items, bounds, target_se)
        one = alone or self.prices.shape[1] == 1
        return d.Terms(
            tuple(self.prices.mean(axis=0).tolist()), None if budget is None else to_units(budget), wanted, one
        )

    def worst(self, first, end):
        return self.prices[first:end]

    def empty(self, terms):
        columns = None if self.features is None else self.features.shape[1]
        low, high = terms.wanted.bounds
        return History.empty(
            terms.steps, columns=columns, uncertainty=self.uncertainty is not None, middle=0.5 * (low + high)
        )

    def answers(self, steps):
        """What the raters of each step say; where there is one, it is that of step 1."""
        return self.ratings if self.ratings.shape[1] > steps else np.column_stack([self.ratings[:, :1], self.ratings])

    def looked(self, first, rates, selected, *, weak):
        """What the raters that were asked say."""
        here = slice(first, first + rates.shape[0])
        ratings = self.ratings[here]
        g = ratings[:, 0] if weak else np.full(rates.shape[0], np.nan)
        features, own = (None if a is None else a[here] for a in (self.features, self.uncertainty))
        values = np.where(selected, ratings[:, -rates.shape[1] :], np.nan)
        return Looked(Covariates(g, features, own), self.uniform[here], rates, selected, values)


@dataclass(eq=False)
class Game:
    """A campaign on the queue in memory, whose raters answer everything at once."""

    pool: Pool
    terms: d.Terms
    plans: list[RoundPlan] = field(default_factory=list)
    actions: list = field(default_factory=list)

    def __post_init__(self):
        self.queue = MemoryQueue(self.pool.uniform, steps=self.terms.steps)
        self.reader = Reader(self.queue, self, self.terms, self.pool.empty(self.terms))

    @property
    def history(self):
        return self.reader.history

    @property
    def open(self):
        return self.state().open

    @property
    def spent(self):
        return self.queue.totals()[1]

    def looked(self, first, end):
        rows = self.queue.item_rows(first, end, self.terms.steps)
        weak = self.queue.states[first, 0] >= 0
        found = self.pool.looked(first, rows.rates, rows.selected, weak=weak)
        assert (np.isnan(rows.values[:, -1]) == np.isnan(found.values[:, -1])).all()
        return found

    def worst(self, first, end):
        return self.pool.worst(first, end)

    def state(self):
        return self.reader.state()

    def play(self, *, each_round=None, most=100):
        """Until it is done: the reason. `each_round` is told the history after every round."""
        while True:
            state = self.state()
            action = d.decide(state)
            self.actions.append(action)
            if isinstance(action, d.Done):
                return action.reason
            assert not isinstance(action, d.Wait), "nobody is waited for: every answer is there at once"
            self.do(action, state)
            if isinstance(action, d.Close) and each_round is not None:
                each_round(self)
            assert self.history.rounds < most

    def do(self, action, state=None):
        assert carry_out(self.queue, self, self.state() if state is None else state, action)
        if isinstance(action, d.Open):
            self.plans.append(action.plan)
        self.queue.answer_all(self.pool.answers(self.terms.steps))
        if isinstance(action, d.Close):
            self.state()  # takes the round in
