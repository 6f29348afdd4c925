"""A campaign played in memory: `decide` with arrays in the store's place, which shows that the decision is pure."""

from dataclasses import dataclass, field, replace

import numpy as np

from ratewise.campaign import planner as d
from ratewise.campaign.answers import Wanted
from ratewise.campaign.history import History, Looked, RoundPlan
from ratewise.learn.rating_model import Covariates
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
    """The log of a campaign in memory."""

    pool: Pool
    terms: d.Terms
    history: History = None
    spent: int = 0
    open: d.OpenRound | None = None
    parts: list = field(default_factory=list)  # (rates, selected) of the open round's batches
    plans: list[RoundPlan] = field(default_factory=list)
    actions: list = field(default_factory=list)

    def __post_init__(self):
        self.history = self.pool.empty(self.terms)

    def state(self):
        at = self.history.items if self.open is None else self.open.end
        worst = self.pool.worst(at, min(at + d.BATCH, self.pool.items))
        return d.State(self.terms, self.history, self.spent, self.open, worst=worst)

    def play(self, *, each_round=None, most=100):
        """Until it is done: the reason. `each_round` is told the history after every round."""
        while True:
            action = d.decide(self.state())
            self.actions.append(action)
            if isinstance(action, d.Done):
                return action.reason
            assert not isinstance(action, d.Wait), "nobody is waited for: every answer is there at once"
            self.do(action)
            if isinstance(action, d.Close) and each_round is not None:
                each_round(self)
            assert self.history.rounds < most

    def do(self, action):
        now = self.open
        if isinstance(action, d.Open):
            self.open = d.OpenRound(self.history.rounds + 1, self.history.items, action.plan)
            self.plans.append(action.plan)
            self.parts = []
        elif isinstance(action, d.TakeUp):
            assert action.first == now.end < action.end <= self.pool.items
            worst = self.pool.worst(action.first, action.end)
            weak = worst[:, 0] if now.plan.weak else np.zeros(worst.shape[0], dtype=np.int64)
            cost = weak if now.plan.exact else worst.sum(axis=1) if now.plan.weak else worst[:, -1]
            assert cost.sum() <= now.left
            self.open = replace(now, batches=(*now.batches, d.Batch(action.first, action.end, False, int(cost.sum()))))
        elif isinstance(action, d.Draw):
            self.draw(action)
        elif isinstance(action, d.Close):
            rates, selected = (np.concatenate(part) for part in zip(*self.parts, strict=True))
            looked = self.pool.looked(now.first, rates, selected, weak=now.plan.weak)
            self.history = self.history.joined(now.plan, now.factor, looked)
            self.open = None

    def draw(self, action):
        """Rates, draws and what they cost; raters that are asked are paid at once."""
        now, n = self.open, action.end - action.first
        nothing = np.zeros((n, self.terms.steps), dtype=bool)
        asked = self.pool.looked(action.first, np.ones(nothing.shape), nothing, weak=now.plan.weak)
        worst = self.pool.worst(action.first, action.end)
        drawn = d.draw_batch(self.history, now, asked, worst)
        self.parts.append((drawn.rates, drawn.selected))
        weak = int(worst[:, 0].sum()) if now.plan.weak else 0
        cost = weak + int((worst[:, -self.terms.steps :] * drawn.selected).sum())
        self.spent += cost
        ours = [b for b in now.batches if action.first <= b.first < action.end]
        others = [b for b in now.batches if b not in ours]
        done = d.Batch(action.first, action.end, True, cost)
        self.open = replace(now, batches=(*others, done), factor=drawn.factor)
