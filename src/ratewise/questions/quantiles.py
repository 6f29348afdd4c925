"""Quantiles of a table's strong rating, and how to spend for one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratewise.core.checks import number, share
from ratewise.core.document import Column, DataTable, Part, Sentence, as_lines, bar, noted
from ratewise.core.estimate import Estimate, EstimateOptions, both_ends
from ratewise.core.names import Estimand
from ratewise.core.quantiles import estimate_quantile
from ratewise.core.result import Result
from ratewise.errors import InputError, TableError
from ratewise.learn.error_model import ErrorModel, fit_error
from ratewise.questions.export_terms import NO_STRONG, Pooled, read_asked
from ratewise.questions.goal import PlanGoal
from ratewise.questions.people import made_ready, votes_in_words
from ratewise.questions.pilot import PilotColumns, held_out_error, read_pilot
from ratewise.questions.plan import Plan, plan_mean
from ratewise.questions.rated import Rate, Strong, TableColumns, read_rated, refuse_missing
from ratewise.questions.regression import BAR, rounded
from ratewise.questions.transfer import STRONG_BELOW, UNCERTAINTY, WEAK_BELOW, Derived
from ratewise.tables import TableLike, read_table
from ratewise.tables.words import Positive, Scale, meaning_of


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Quantiles(Result):
    """One estimate for each quantile asked for, in that order."""

    quantiles: tuple[float, ...]
    estimates: tuple[Estimate, ...]
    notes: tuple[str, ...] = ()

    def __getitem__(self, quantile: float) -> Estimate:
        try:
            return self.estimates[self.quantiles.index(quantile)]
        except ValueError:
            raise KeyError(quantile) from None

    def to_dict(self) -> dict[str, Any]:
        return {"quantiles": self._rows(), "notes": list(self.notes)}

    def _rows(self) -> list[dict[str, Any]]:
        return [{"quantile": q} | e.to_dict() for q, e in zip(self.quantiles, self.estimates, strict=True)]

    def summary(self) -> str:
        return as_lines(self.document())

    def document(self) -> list[Part]:
        first = self.estimates[0]
        interval = Column(f"{first.level:.0%} interval")
        table = DataTable([Column("quantile", "name"), Column("value"), interval, Column("", "bar", 1)])
        known = [x for e in self.estimates if e.interval is not None for x in e.interval] or [0.0]
        for q, e in zip(self.quantiles, self.estimates, strict=True):
            ends = "none" if e.interval is None else " to ".join(map(rounded, e.interval))
            drawn = "" if e.interval is None else bar(e.value, e.low, e.high, (min(known), max(known)), width=BAR)
            table.add(f"{q:g}", rounded(e.value), ends, drawn)
        rests = f"{first.labels:,} strong ratings on {first.items:,} items, of the {first.estimand}."
        return [table, Sentence(rests, "quiet"), *noted(self.notes)]


def pooled_quantile(pooled: Pooled, at: float) -> Quantiles:
    """A quantile of a campaign's ratings from all rounds as one draw, as the campaign reports it."""
    t, (items, told) = pooled.terms, pooled.came()
    found = estimate_quantile(
        items.weak, items.strong, items.rates, quantile=at, level=t.level_at, estimand=t.estimand,
        pool_size=t.pool_size, clusters=items.clusters, bounds=(t.low, t.high),
    )  # fmt: skip
    if t.anytime:
        found = replace(found, level=t.level, interval_method=f"anytime ({found.interval_method})")
    return Quantiles((at,), (found,), told)


def quantile_table(
    table: TableLike,
    *,
    strong: Strong | None = None,
    at: Sequence[float] = (0.5,),
    weak: str | None = None,
    rate: Rate = None,
    selected: str | None = None,
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: str | None = None,
    bounds: tuple[float | None, float | None] | None = None,
    positive: Positive = None,
    scale: Scale = None,
) -> Quantiles:
    """Quantiles of the strong rating from a drawn and rated table; each interval holds by itself.

    `rate` is the column with the probability each row was drawn with, or one number for all rows; without it the rated
    rows are taken as a random draw. Without `weak` the strong ratings stand alone: from a draw at one rate for all.
    `bounds` are the ends of the scale, for quantiles near them. Ratings may be words, and `strong` several people's
    columns, as for `estimate_table`: the quantiles are then those of the mean vote of an item. The export of a campaign
    that was asked for a quantile needs no columns.
    """
    if not len(at):
        raise InputError("name at least one quantile, between 0 and 1")
    asked = tuple(share(q, name="quantile") for q in at)
    if strong is None:
        exported = read_asked(read_table(table), "quantile")
        if exported is None or weak is not None or asked not in ((0.5,), (exported.at,)):
            raise InputError(NO_STRONG)
        return pooled_quantile(exported.pooled, exported.at)
    ready = made_ready(table, strong, weak, meaning_of(positive, scale))
    ready.refuse_pool(estimand)
    rated = read_rated(ready, TableColumns(strong, weak, rate, selected, clusters))
    refuse_missing(rated)
    asked_how = EstimateOptions(level=level, estimand=estimand, pool_size=pool_size, bounds=both_ends(bounds))
    how = rated.how(asked_how)
    items, codes = rated.items, rated.codes()
    found = tuple(
        estimate_quantile(
            items.weak, items.strong, items.rates, quantile=q, level=how.level, estimand=estimand,
            pool_size=how.pool_size, clusters=codes, bounds=how.bounds,
        )
        for q in asked
    )  # fmt: skip
    own = tuple(dict.fromkeys(note for e in found for note in e.notes))
    if rated.votes is not None:
        spread = "the quantiles are those of the mean vote of an item: disagreement spreads it out"
        own += (*votes_in_words(rated), spread)
    return Quantiles(asked, found, rated.notes(asked_how) + own)


def plan_quantile(
    table: TableLike,
    *,
    weak: str,
    strong: Strong,
    quantile: float = 0.5,
    weak_cost: float,
    strong_cost: float,
    budget: float | None = None,
    target_se: float | None = None,
    pool_size: float | None = None,
    floor: float | None = None,
    estimand: Estimand = "population",
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Plan:
    """`plan` for a quantile θ: that of the mean of 1{H ≤ θ}, at the pilot's own θ, where the density cancels.

    V is q(1−q) and u(x) the probability that the two ratings lie on different sides of θ, learned from the pilot as a
    function of the weak rating. `target_se` is that of the share at or below θ, not of θ.
    """
    q = share(quantile, name="quantile")
    goal = PlanGoal.of(
        weak_cost, strong_cost, budget=budget, target_se=target_se, pool_size=pool_size, estimand=estimand, floor=floor
    )
    words = meaning_of(positive, scale)
    ready = made_ready(table, strong, weak, words)
    read = ready.table
    g, h = read.numbers(weak), read.numbers(ready.strong, missing="allow")
    rated = ~np.isnan(h)
    if np.count_nonzero(rated) < 2:
        raise TableError(f"{int(rated.sum())} rows of {read.name} have a strong rating; a plan needs two at least")
    theta = float(np.quantile(h[rated], q, method="inverted_cdf"))
    below = np.where(rated, (h <= theta).astype(np.float64), np.nan)
    if np.ptp(below[rated]) == 0:
        raise InputError(
            f"all strong ratings of the pilot are at or below their {q:g} quantile ({theta:g}); plan for a smaller one"
        )
    claimed = (g <= theta).astype(np.float64)
    differs = (below - claimed)[rated]
    model, least = fit_error(g[rated], differs), 1.0 / (int(rated.sum()) + 2)
    u = model.predict(g)
    u[rated] = held_out_error(g[rated], differs, int(number(seed, name="seed", minimum=0)))
    if not u.max() > 0:  # no disagreement was seen: one in as many as there are, and two more
        u = np.full(u.size, least)
    if not model.predict(g).max() > 0:
        model = ErrorModel("fitted", knots=(0.0,), values=(least,))
    read = read.with_columns({WEAK_BELOW: claimed, STRONG_BELOW: below, UNCERTAINTY: u})
    columns = PilotColumns(WEAK_BELOW, STRONG_BELOW, UNCERTAINTY, seed=seed)
    derived = Derived("at or below", (weak,), theta, model)
    note = f"planned for the share of strong ratings at or below {theta:g}, the pilot's {q:g} quantile"
    told = {"quantile": q, "at": theta, "weak": weak, "strong": ready.typed, "uncertainty": None}
    return plan_mean(
        read, read_pilot(read, columns), columns, goal, words=words, told=told,
        notes=(*ready.notes, note), derived=derived,
        hints=False,  # a quantile takes weak ratings as they are, so calibrating them is not hinted at
    )  # fmt: skip
