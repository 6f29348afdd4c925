"""`auto` in simulations: the product's own rounds and estimate, with the table giving the answers."""

from dataclasses import dataclass

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.names import Estimand
from ratewise.core.running import stops_within, without_rounding
from ratewise.design.options import Money
from ratewise.design.rounds import NextRound, RoundDraw, draw_exact_round, draw_round, estimate_seen, next_round, pooled
from ratewise.design.seen import Learned, Phase, Rule, Seen
from ratewise.lab.trials import RATING_BOUNDS, Block, Index, MethodOutcome, Population
from ratewise.learn.covariates import Covariates

_STRONG_COST = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class Bought:
    """What was bought, how far that went in the stream, and what it cost."""

    seen: Seen
    position: int = 0
    spent: float = 0.0

    @property
    def labels(self) -> int:
        """Strong ratings, those of the burn-in among them."""
        return int(np.count_nonzero(self.seen.labelled))


@dataclass(frozen=True, slots=True, eq=False)
class Trial:
    """One campaign on a fully rated table: items come in the block's order, each with its random number."""

    block: Block
    trial: int  # row of the block
    budget: float
    teacher: Learned | None = None  # models from another table, to start with instead of a burn-in
    start: Learned | None = None  # what the burn-in teaches, where that is known already

    def play(self) -> tuple[Bought, Estimate]:
        """What the budget has bought, round by round, and the estimate from it."""
        bought = self._start()
        while (planned := self._decide(bought)) is not None:
            bought = self._buy(bought, planned)
        return bought, self._estimate(bought)

    def _start(self) -> Bought:
        """What the burn-in has bought, which every method is given."""
        rows = self.block.burn_in[self.trial] if self.block.setting.burn_in else np.empty(0, dtype=np.intp)
        phases: tuple[Phase[Rule], ...] = (Phase(rows.size),) if rows.size else ()
        return Bought(Seen.of(self._covariates(rows), self.block.population.strong[rows], phases))

    def _decide(self, bought: Bought) -> NextRound[Rule] | None:
        left = float(self.block.index.shape[1] - bought.position) if self.block.ends else float("inf")
        money = Money(self.block.setting.cost_ratio, _STRONG_COST, self.budget - bought.spent, left)
        learned = self.start if bought.position == 0 else None
        return next_round(bought.seen, money, learned=learned, teacher=self.teacher)

    def _covariates(self, rows: Index) -> Covariates:
        return self.block.population.covariates.rows(rows)

    def _next(self, bought: Bought, items: int) -> tuple[Index, Floats]:
        """The next items of the stream and their random numbers; fewer where a pool ends."""
        index, uniform = self.block.take(bought.position + items)
        here = slice(bought.position, bought.position + items)
        return index[self.trial, here], uniform[self.trial, here]

    def _buy(self, bought: Bought, planned: NextRound[Rule]) -> Bought:
        """One round: every item of it, just what a pool has left for it, or until its money is spent."""
        c, rule = self.block.setting.cost_ratio if planned.weak else 0.0, planned.rule
        drawn: RoundDraw | None = None
        if planned.items is not None:
            rows, uniform = self._next(bought, planned.items)
            x = self._covariates(rows)
            if rule is not None:
                money = planned.spend - c * rows.size
                drawn = draw_exact_round(rule, bought.seen, x, uniform, money=money, prices=_STRONG_COST)
        else:
            assert rule is not None
            rows, x, drawn = self._within(bought, planned, rule, c)
        strong, asked = self.block.population.strong[rows], rows.size
        if drawn is None:
            seen = pooled(bought.seen, x, strong, rule=None, weak=planned.weak, own_rates=planned.own_rates)
        else:
            strong, asked = np.where(drawn.asked, strong, np.nan), int(np.count_nonzero(drawn.asked))
            seen = pooled(
                bought.seen, x, strong, rule=planned.rule, weak=planned.weak, own_rates=planned.own_rates,
                factor=drawn.factor, before=drawn.before, rates=drawn.rates,
            )  # fmt: skip
        spent = bought.spent + c * rows.size + _STRONG_COST * float(asked)
        return Bought(seen, bought.position + rows.size, spent)

    def _within(
        self, bought: Bought, planned: NextRound[Rule], rule: Rule, c: float
    ) -> tuple[Index, Covariates, RoundDraw]:
        """Item by item while the worst that the next one can cost still fits, as campaigns take them up."""
        items = 0.6 * planned.spend / (c + _STRONG_COST * rule.floor) + 50
        while True:
            rows, uniform = self._next(bought, int(items))
            x = self._covariates(rows)
            drawn = draw_round(rule, bought.seen, uniform, x)
            money = np.array([planned.spend])
            stops, enough = stops_within(money, drawn.asked[None, :], weak_cost=c, strong_cost=_STRONG_COST)
            if enough.all() or rows.size < int(items):
                n = max(int(stops[0, 0]), 1)
                return rows[:n], x.rows(slice(n)), drawn.first(n)
            items *= 1.6

    def _estimate(self, bought: Bought) -> Estimate:
        pool = self.block.population.items if self.block.ends else None
        estimand: Estimand = "population" if pool is None else "pool"
        level = self.block.setting.level
        how = EstimateOptions("difference", "auto", level, estimand, pool, RATING_BOUNDS, seed=self.trial)
        return estimate_seen(bought.seen, how)


def auto(block: Block, teacher: Learned | None = None) -> MethodOutcome:
    """Every trial of the block at every budget."""
    n, budgets = block.setting.burn_in, block.setting.budgets
    out = np.empty((5, len(block.trials), len(budgets)))
    for i in range(len(block.trials)):
        start = learn_all(block.population.rows(block.burn_in[i])) if n else None
        for k, budget in enumerate(budgets):
            bought, e = Trial(block, i, budget, teacher, start).play()
            low, high = e.interval if e.interval is not None else RATING_BOUNDS  # no interval excludes nothing
            out[:, i, k] = e.value, low, high, without_rounding(bought.spent, budget), bought.labels - n
    return MethodOutcome(*out)


def learn_all(population: Population) -> Learned:
    """The models that a fully rated table teaches."""
    return Seen.of(population.covariates, population.strong, (Phase(population.items),)).learned
