"""`auto` in simulations: the product's own rounds and estimate, with the table giving the answers."""

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
from ratewise.learn.score_prior import ScorePrior

_STRONG_COST = 1.0


class Trial:
    """One campaign on a fully rated table: items come in the block's order, each with its random number.

    `seen` is what was bought, `position` how far that went in the stream, and `spent` what it cost.
    """

    def __init__(
        self, block: Block, trial: int, budget: float, teacher: Learned | None = None, start: Learned | None = None,
        prior: ScorePrior | None = None,
    ) -> None:  # fmt: skip
        """`trial` is a row of the block; a `teacher` has models of another table, `start` those of the burn-in.

        `prior` is what scores usually mean.
        """
        self.block, self.trial, self.budget, self.teacher, self.start = block, trial, budget, teacher, start
        rows = block.burn_in[trial] if block.setting.burn_in else np.empty(0, dtype=np.intp)
        phases: tuple[Phase[Rule], ...] = (Phase(rows.size),) if rows.size else ()
        self.seen = Seen.of(self._covariates(rows), block.population.strong[rows], phases, prior)
        self.position, self.spent = 0, 0.0

    @property
    def labels(self) -> int:
        """Strong ratings, those of the burn-in among them."""
        return int(np.count_nonzero(self.seen.labelled))

    def play(self) -> Estimate:
        """Spend the budget, round by round; the estimate from what it has bought."""
        while (planned := self._decide()) is not None:
            self._buy(planned)
        return self._estimate()

    def _decide(self) -> NextRound[Rule] | None:
        left = float(self.block.index.shape[1] - self.position) if self.block.ends else float("inf")
        money = Money(self.block.setting.cost_ratio, _STRONG_COST, self.budget - self.spent, left)
        learned = self.start if self.position == 0 and self.seen.by_prior is None else None
        return next_round(self.seen, money, learned=learned, teacher=self.teacher)

    def _covariates(self, rows: Index) -> Covariates:
        return self.block.population.covariates.rows(rows)

    def _next(self, items: int) -> tuple[Index, Floats, Covariates]:
        """The next items of the stream, their random numbers and columns; fewer where a pool ends."""
        index, uniform = self.block.take(self.position + items)
        here = slice(self.position, self.position + items)
        rows = index[self.trial, here]
        return rows, uniform[self.trial, here], self._covariates(rows)

    def _buy(self, planned: NextRound[Rule]) -> None:
        """One round: every item of it, just what a pool has left for it, or until its money is spent."""
        c, rule = self.block.setting.cost_ratio if planned.weak else 0.0, planned.rule
        drawn: RoundDraw | None = None
        if planned.items is not None:
            rows, uniform, x = self._next(planned.items)
            if rule is not None:
                money = planned.spend - c * rows.size
                drawn = draw_exact_round(rule, self.seen, x, uniform, money=money, prices=_STRONG_COST)
        else:
            assert rule is not None
            rows, x, drawn = self._within(planned.spend, rule, c)
        strong, asked = self.block.population.strong[rows], rows.size
        if drawn is None:
            self.seen = pooled(self.seen, x, strong, rule=None, weak=planned.weak, own_rates=planned.own_rates)
        else:
            strong, asked = np.where(drawn.asked, strong, np.nan), int(np.count_nonzero(drawn.asked))
            self.seen = pooled(
                self.seen, x, strong, rule=rule, weak=planned.weak, own_rates=planned.own_rates, factor=drawn.factor,
                before=drawn.before, rates=drawn.rates,
            )  # fmt: skip
        self.position, self.spent = self.position + rows.size, self.spent + c * rows.size + _STRONG_COST * float(asked)

    def _within(self, spend: float, rule: Rule, c: float) -> tuple[Index, Covariates, RoundDraw]:
        """Item by item while the worst that the next one can cost still fits, as campaigns take them up."""
        items = 0.6 * spend / (c + _STRONG_COST * rule.floor) + 50
        while True:
            rows, uniform, x = self._next(int(items))
            drawn = draw_round(rule, self.seen, uniform, x)
            stops, enough = stops_within(np.array([spend]), drawn.asked[None, :], weak_cost=c, strong_cost=_STRONG_COST)
            if enough.all() or rows.size < int(items):
                n = max(int(stops[0, 0]), 1)
                return rows[:n], x.rows(slice(n)), drawn.first(n)
            items *= 1.6

    def _estimate(self) -> Estimate:
        pool = self.block.population.items if self.block.ends else None
        estimand: Estimand = "population" if pool is None else "pool"
        level = self.block.setting.level
        how = EstimateOptions("difference", "auto", level, estimand, pool, RATING_BOUNDS, seed=self.trial)
        return estimate_seen(self.seen, how)


def auto(block: Block, teacher: Learned | None = None) -> MethodOutcome:
    """Every trial of the block at every budget."""
    n, budgets = block.setting.burn_in, block.setting.budgets
    out = np.empty((5, len(block.trials), len(budgets)))
    for i in range(len(block.trials)):
        start = learn_all(block.population.rows(block.burn_in[i])) if n else None
        for k, budget in enumerate(budgets):
            game = Trial(block, i, budget, teacher, start)
            e = game.play()
            low, high = e.interval if e.interval is not None else RATING_BOUNDS  # no interval excludes nothing
            out[:, i, k] = e.value, low, high, without_rounding(game.spent, budget), game.labels - n
    return MethodOutcome(*out)


def learn_all(population: Population) -> Learned:
    """The models that a fully rated table teaches."""
    return Seen.of(population.covariates, population.strong, (Phase(population.items),)).learned
