"""Slices: one estimate for every group of a table and one for the whole, and a plan for all of them.

Slices share no items, so each is an estimate of its own. Intervals hold one by one, or, if asked for, all at once. If
asked for, slices borrow from each other: values are shrunk toward the overall mean as far as they may differ by chance.

Whose slice an item is in is known beforehand, so every slice has a plan of its own; with one budget for all, they
share it so that one more unit of money would help each the same (`sum`), or so that all are equally well known
(`worst`).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
import scipy
from scipy import special

from ratewise.core.checks import Floats, choice, number, share
from ratewise.core.document import Column, DataTable, Part, Sentence, as_lines, bar, noted
from ratewise.core.estimate import FITTED, TAIL, Estimate, EstimateOptions, both_ends
from ratewise.core.names import OBJECTIVES, RECALIBRATIONS, Estimand, IntervalMethod, Method, Objective, Recalibration
from ratewise.core.policy import Problem
from ratewise.core.ratings import Mask, Ratings
from ratewise.core.result import Result
from ratewise.errors import InputError, Message, PolicyError, argument
from ratewise.learn.covariates import TextColumns
from ratewise.learn.embeddings import Learner
from ratewise.learn.features import refuse_labels
from ratewise.learn.texts import read_texts
from ratewise.questions.drawing import AnyPlan, SlicePolicies
from ratewise.questions.estimation import (
    estimate_rated,
    in_proportion,
    recalibrated,
    refuse_unused_weights,
    text_notes,
    whole,
    with_text,
    without_second_line,
)
from ratewise.questions.goal import ONE_GOAL, PlanGoal, spend_on, target_of
from ratewise.questions.plan import Plan, plan_mean
from ratewise.questions.policies import Pilot, PilotColumns, PlannedPolicy, read_pilot
from ratewise.questions.rated import (
    Pooled,
    Rate,
    RatedTable,
    Strong,
    TableColumns,
    estimate_pooled,
    large_relation,
    made_ready,
    read_asked,
    read_in_files,
    read_rated,
    read_whole,
    single_draw,
    unseen_kinds,
)
from ratewise.questions.strata import in_order, slice_names
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.cells import Texts
from ratewise.tables.words import Meaning, Positive, Scale, meaning_of

FEWEST_TO_SHRINK = 4  # with fewer means A has no proper posterior
_POINTS = 400  # of the grid over A
FEWEST_TO_CLAIM = 2  # strong ratings of a slice


@dataclass(frozen=True, slots=True)
class Shrunk:
    """One mean after shrinking; `weight` is how much of its own value is left."""

    value: float
    standard_error: float
    interval: tuple[float, float]
    weight: float
    interval_kind = "shrunk"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slice(Result):
    """One group: its estimate, or why there is none; and, if slices were shrunk, what it becomes."""

    name: str
    items: int
    labels: int
    estimate: Estimate | None
    reason: str | None = None  # why there is no estimate, or no interval
    shrunk: Shrunk | None = None

    @property
    def value(self) -> float | None:
        """The mean; the shrunk one if slices were shrunk."""
        return None if (found := self.shrunk or self.estimate) is None else found.value

    @property
    def standard_error(self) -> float | None:
        """Standard error of the value."""
        return None if (found := self.shrunk or self.estimate) is None else found.standard_error

    @property
    def interval(self) -> tuple[float, float] | None:
        """Interval of the value."""
        return None if (found := self.shrunk or self.estimate) is None else found.interval

    @property
    def interval_kind(self) -> str | None:
        """Which kind of interval it is; shrunk, if slices were."""
        return None if (found := self.shrunk or self.estimate) is None else found.interval_kind

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; the unshrunk numbers stand beside shrunk ones."""
        own, (low, high) = self.estimate, self.interval or (None, None)
        out: dict[str, Any] = {
            "name": self.name, "value": self.value, "standard_error": self.standard_error, "low": low, "high": high,
            "items": self.items, "labels": self.labels, "reason": self.reason,
            "method": None if own is None else own.method,
            "interval": self.interval_kind, "interval_kind": self.interval_kind,
            "clusters": None if own is None else own.clusters,
            "notes": [] if own is None else list(own.notes),
        }  # fmt: skip
        if self.shrunk is not None and own is not None:
            out["weight"] = self.shrunk.weight
            out["unshrunk"] = {
                "value": own.value, "standard_error": own.standard_error, "low": own.low, "high": own.high,
                "interval": own.interval_method,
            }  # fmt: skip
        return out


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Slices(Result):
    """Every slice in the order of names, and the whole. `level` holds for each interval, or for all at once."""

    by: str
    slices: tuple[Slice, ...]
    overall: Estimate
    level: float
    simultaneous: bool
    shrink: bool
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> Slice:
        return slice_called(name, {one.name: one for one in self.slices})

    def _rows(self) -> list[dict[str, Any]]:
        rows = [{"by": self.by} | one.to_dict() for one in self.slices]
        return [{name: x for name, x in row.items() if name != "unshrunk"} for row in rows]

    def summary(self) -> str:
        return as_lines(self.document())

    def document(self) -> list[Part]:
        everything: list[Slice | Estimate] = [*self.slices, self.overall]
        known = [x for one in everything for x in (one.value, *(one.interval or ())) if x is not None]
        ends = (min(known), max(known)) if max(known) > min(known) else (min(known) - 0.5, max(known) + 0.5)
        left, right = (f"{end:.3g}" for end in ends)
        at_once = " at once" if self.simultaneous else ""
        table = DataTable([
            Column(self.by, "name"), Column("items", leaves=2), Column("strong"), Column("estimate"),
            Column(f"{self.level:.0%} interval{at_once}"), *[Column("unshrunk", leaves=1)] * self.shrink,
            Column(left + right.rjust(_BAR - len(left)), "bar", 3),
        ])  # fmt: skip
        for one in everything:
            name = one.name if isinstance(one, Slice) else "all"
            own = one.estimate if isinstance(one, Slice) else None
            unshrunk = "" if one is self.overall else "–" if own is None else f"{own.value:.4f}"
            low, high = one.interval or (None, None)
            table.add(
                name, f"{one.items:,}", f"{one.labels:,}", "–" if one.value is None else f"{one.value:.4f}",
                "none" if one.interval is None else f"{low:.4f} to {high:.4f}", *[unshrunk] * self.shrink,
                bar(one.value, low, high, ends, width=_BAR, line="━", ground="·"),
                style="strong" if one is self.overall else "",
            )  # fmt: skip
        spent = [] if self.overall.spend is None else [Sentence(f"spent {self.overall.spend:,.2f}")]
        missing = [Sentence(f"{one.name}: {one.reason}", "warning") for one in self.slices if one.reason is not None]
        return [table, *spent, *missing, *noted(self.notes)]


_BAR = 32  # signs of an interval's bar


_One = TypeVar("_One")


def slice_called(name: str, slices: Mapping[str, _One]) -> _One:
    """The slice of this name."""
    if name not in slices:
        raise InputError(f"there is no slice {name!r}; there are {', '.join(map(repr, slices))}")
    return slices[name]


def estimate_slices(
    table: TableLike,
    *,
    by: str,
    weak: str | None = None,
    strong: Strong | None = None,
    rate: Rate = None,
    selected: str | None = None,
    clusters: str | None = None,
    bounds: tuple[float | None, float | None] = (None, None),
    positive: Positive = None,
    scale: Scale = None,
    weak_cost: float | None = None,
    strong_cost: float | None = None,
    shrink: bool = False,
    simultaneous: bool = False,
    min_labels: int = 2,
    method: Method = "auto",
    interval: IntervalMethod = "auto",
    level: float = 0.95,
    estimand: Estimand | None = None,
    pool_size: float | None = None,
    recalibrate: Recalibration = "none",
    text: Sequence[str] = (),
    learner: str | Learner = "words",
    floor: float | None = None,
    seed: int = 0,
) -> Slices:
    """The mean strong rating of every group in column `by`, from a drawn and rated table, and of the whole.

    The other options are those of `estimate_table`; a recalibration, also one by `text`, is learned from all slices
    together. A slice with
    fewer than `min_labels` strong ratings has no estimate and says so; rows without a group are the slice "(missing)".
    `simultaneous`: all intervals hold at once with the level (Šidák's, as slices share no items; Bonferroni's where
    they share clusters). `shrink`: values shrunk toward the overall mean by a normal model; their intervals hold on
    average over slices, not for each one of them.

    A campaign's export needs no columns: its own prediction, rates and estimand are taken, as its report does. Of a
    campaign that was asked for these very slices, so are its level and that the intervals hold all at once.

    Limiting cases: one slice is the whole; slices that differ by no more than chance shrink to one value.
    """
    choice(recalibrate, RECALIBRATIONS, name="recalibration")
    recalibrate = with_text(recalibrate, text, weak, strong)
    fewest = int(number(min_labels, name="min_labels", minimum=2))
    if shrink and simultaneous:
        raise InputError("shrunk intervals hold on average over slices, not all at once: choose shrink or simultaneous")
    if by == strong:
        raise InputError(f"slices by {by!r}, the strong rating itself, have no mean to estimate; name another column")
    relation, meaning = large_relation(table), meaning_of(positive, scale)
    factor = 1.0  # of the variance
    if strong is None:
        table, relation = read_whole(table, relation), None
        plain = weak is None and rate is None and not shrink and recalibrate == "none"
        if plain and (exported := _exported(table, by)) is not None:
            return exported
        terms = single_draw(table, weak, rate)
        weak, strong, rate = terms.weak[0], terms.strong, terms.rates[0]
        selected, clusters = terms.selected, terms.clusters
        method, factor, estimand = terms.method, terms.variance_factor, estimand or terms.estimand
        pool_size = terms.pool_size if estimand == "pool" and pool_size is None else pool_size
    estimand = estimand or "population"
    columns = TableColumns(strong, weak, rate, selected, clusters)
    how = EstimateOptions(method, interval, level, estimand, pool_size, both_ends(bounds), floor, factor, seed=seed)
    known: TextColumns | None = None
    plain = recalibrate == "none" and isinstance(strong, str)
    rated = read_in_files(relation, columns, meaning, how, by=by) if plain else None
    if rated is not None and rated.votes is None and not rated.unlooked:
        _, groups = slice_names(rated.table, by)
    else:
        ready = made_ready(read_whole(table, relation), strong, weak, meaning)
        ready.refuse_pool(estimand)
        _, groups = slice_names(ready.table, by)
        refuse_unused_weights(ready.table, rate, groups)
        rated = read_rated(ready, columns, fewest=2)
        texts = read_texts(ready.table, text, learner)
        known = None if texts is None else texts[0][rated.rows]
    how.refuse_idle_pool_size()
    if estimand == "pool" and "weight" in rated.table.columns:  # slices that were looked at in proportions of their own
        rated.pool.refuse_left_out("its slices")
    read_as, own = rated.notes(how), rated.how(how)
    if in_proportion(groups, rated.looked):
        overall = estimate_rated(rated.items, own, recalibrate, known)
    else:  # by the slices' sizes, where they were looked at unevenly
        overall = whole(rated.items, groups[rated.rows], groups, own, recalibrate)
    found, more = _each(rated, groups, how, recalibrate, known, fewest, simultaneous=simultaneous)
    notes = read_as + text_notes(rated.items, text, known) + more + _about_all(rated.items, overall, found)
    if shrink:
        found, more = _shrunk(found, how.level)
        notes += more
    spend = spend_on(overall.items, overall.labels, weak_cost, strong_cost, alone=weak is None)
    overall = replace(overall, spend=spend, notes=read_as + overall.notes)
    return Slices(by, tuple(found), overall, how.level, simultaneous, shrink, notes)


def _each(
    rated: RatedTable, all_groups: Texts, how: EstimateOptions, recalibrate: Recalibration, text: TextColumns | None,
    fewest: int, *, simultaneous: bool,
) -> tuple[list[Slice], tuple[str, ...]]:  # fmt: skip
    """Every slice, and what there is to say about their levels; one with less than `fewest` labels has no estimate."""
    items, how, groups = rated.items, rated.how(how), all_groups[rated.rows]
    if recalibrate != "none":  # learned from all slices together
        items = replace(items, weak=recalibrated(items, kind=recalibrate, seed=how.seed, text=text))
        how = without_second_line(how)
    names, code = np.unique(groups.astype(np.str_), return_inverse=True)
    number_of = {str(name): k for k, name in enumerate(names)}
    parts = {name: items.part(np.asarray(code == number_of[name])) for name in in_order(number_of)}
    notes: tuple[str, ...] = ()
    if simultaneous:
        level, notes = _each_level(
            how.level, sum(part.labels >= fewest for part in parts.values()), items.clusters, groups
        )  # fmt: skip
        how = replace(how, level=level)
    found = []
    for name, part in parts.items():
        own = how
        if how.pool_size is not None:
            others = int(np.count_nonzero(all_groups[~rated.rows] == name))
            own = replace(how, pool_size=how.pool_size / rated.pool.rows * (part.items + others))
        found.append(_slice(name, part, own, recalibrate, fewest))
    return found, notes


def _exported(table: Table, by: str) -> Slices | None:
    """The slices of a campaign from its export, where it was asked for these."""
    own = read_asked(table, "slices", (by,))
    return None if own is None else pooled_slices(own.pooled, slice_names(table, by)[1][own.looked], by, own.sizes)


def pooled_slices(pooled: Pooled, groups: Texts, by: str, sizes: Mapping[str, float]) -> Slices:
    """The slices of a campaign's rounds as one draw, as it reports them; their intervals hold all at once.

    `sizes` are how many items of the pool each slice has.
    """
    t, items = pooled.terms, pooled.items
    answered = {name: items.part(np.asarray(groups == name)) for name in sizes}
    level, notes = _each_level(t.level_at, len(sizes), items.clusters, groups)
    found = []
    for name, part in answered.items():
        if part.labels < FEWEST_TO_CLAIM:
            found.append(Slice(name, part.items, part.labels, None, f"at least {FEWEST_TO_CLAIM} ratings are needed"))
            continue
        terms = replace(
            t, level_at=level, unseen=unseen_kinds(part) if t.unseen else 0.0, anytime=False,
            pool_size=float(sizes[name]) if t.estimand == "pool" else None,
        )  # fmt: skip
        try:
            one = estimate_pooled(Pooled(terms, part)).within((t.low, t.high))
        except InputError as error:  # such as missing answers only
            found.append(Slice(name, part.items, part.labels, None, str(error)))
            continue
        if t.anytime:
            one = replace(one, level=t.level, interval_method=f"anytime ({one.interval_method})")
        found.append(Slice(name, part.items, part.labels, one, None if one.interval else "; ".join(one.notes)))
    return Slices(by, tuple(found), estimate_pooled(pooled), t.level, simultaneous=True, shrink=False, notes=notes)


def _slice(name: str, part: Ratings, how: EstimateOptions, recalibrate: Recalibration, fewest: int) -> Slice:
    count, labels = part.items, part.labels
    if labels < fewest:
        many = "no strong rating" if labels == 0 else f"only {labels} strong rating{'s' if labels > 1 else ''}"
        return Slice(name, count, labels, None, f"{many}; at least {fewest} are needed")
    try:
        found = estimate_rated(part, how)
    except InputError as error:  # this slice's own data; the others are answered all the same
        return Slice(name, count, labels, None, str(error))
    found = found.within(found.bounds)
    if recalibrate != "none":
        found = replace(found, method=f"{found.method}, {recalibrate} recalibrated")
    return Slice(name, count, labels, found, None if found.interval is not None else "; ".join(found.notes))


def _about_all(items: Ratings, overall: Estimate, found: Sequence[Slice]) -> tuple[str, ...]:
    """Notes that concern both the slices and the whole."""
    notes = [note for note in overall.notes if note.startswith("the whole is ")]
    each = (overall, *(one.estimate for one in found if one.estimate is not None))
    for doubt in (FITTED, TAIL):
        notes += [note for one in each for note in one.notes if note.startswith(doubt)][:1]  # one line for all
    missing = 0 if items.selected is None else int(np.count_nonzero(items.selected & np.isnan(items.strong)))
    if missing:
        held = "the intervals hold whatever they would have been"
        notes.append(f"{missing:,} answers that were asked for are missing; {held}")
    return tuple(notes)


def _each_level(
    level: float, count: int, clusters: Texts | None, groups: Texts
) -> tuple[float, tuple[str, ...]]:  # fmt: skip
    """The level of each interval for all of them to hold: level^(1/k) where slices are independent."""
    if count < 2:
        return level, ()
    shared = clusters is not None and len(set(zip(clusters, groups, strict=True))) > len(set(clusters))
    each = 1 - (1 - level) / count if shared else level ** (1 / count)
    why = "Bonferroni, because some clusters are in several slices" if shared else "Šidák"
    return each, (f"each of the {count} intervals has a level of {each:.2%}, so that all hold at once ({why})",)


def _shrunk(found: list[Slice], level: float) -> tuple[list[Slice], tuple[str, ...]]:
    """Values and intervals by the model for all slices; slices without an interval stay as they are."""
    use = [one for one in found if one.estimate is not None and one.estimate.interval is not None]
    if len(use) < FEWEST_TO_SHRINK:
        return found, (f"not shrunk: that needs {FEWEST_TO_SHRINK} slices with an interval, and there are {len(use)}",)
    estimates = [one.estimate for one in use if one.estimate is not None]
    value, se = np.array([e.value for e in estimates]), np.array([e.standard_error or 0.0 for e in estimates])
    half = np.array([np.ptp(e.interval) / 2 for e in estimates if e.interval is not None])
    # The standard error that an interval speaks of counts few labels, and ratings that are all alike.
    mean, between, shrunk = shrunk_means(value, np.maximum(half / special.ndtri(0.5 + level / 2), se), level=level)
    known = [e.bounds for e in estimates if e.bounds is not None]
    if len(known) == len(use):
        ends = min(low for low, _ in known), max(high for _, high in known)
        shrunk = [replace(s, interval=(max(s.interval[0], ends[0]), min(s.interval[1], ends[1]))) for s in shrunk]
    by_name = {one.name: s for one, s in zip(use, shrunk, strict=True)}
    note = (
        f"shrunk toward {mean:.4f}; slices differ by a standard deviation of about {between:.4f} beyond chance; "
        "intervals hold on average over slices, and the values before are told as well"
    )
    return [replace(one, shrunk=by_name.get(one.name)) for one in found], (note,)


# Shrinkage: y_s ~ N(θ_s, v_s) with v_s known, θ_s ~ N(μ, A). μ and A have flat priors and are integrated out, so the
# intervals count that both are estimated; Morris's (1983) formulas approximate the same. A flat prior on A is his too:
# it shrinks a little less than the best guess of A would, which is what makes the intervals hold on average.


def shrunk_means(values: Floats, errors: Floats, *, level: float) -> tuple[float, float, list[Shrunk]]:
    """Posterior mean of μ, median of sqrt(A), and mean, standard deviation and interval of every θ_s.

    Limiting cases: equal values shrink to one value; values far apart for their errors stay as they are.
    """
    share(level, name="level")
    if values.size < FEWEST_TO_SHRINK:
        raise InputError(f"shrinkage needs at least {FEWEST_TO_SHRINK} means; got {values.size}")
    if not np.all(errors > 0):
        raise InputError("shrinkage needs a positive standard error of every mean")
    y, v = values, errors**2
    # A grid over A in equal steps of x = A/(A + scale), which ends where A does not, with its posterior probabilities.
    scale = float(np.median(v)) + float(np.var(y))
    x = (np.arange(_POINTS) + 0.5) / _POINTS
    A = scale * x / (1 - x)
    inverse = 1.0 / (v + A[:, None])  # grid × means
    total = inverse.sum(axis=1)
    mu = (inverse @ y) / total
    Q = (inverse * (y - mu[:, None]) ** 2).sum(axis=1)
    log = 0.5 * np.log(inverse).sum(axis=1) - 0.5 * np.log(total) - 0.5 * Q - 2 * np.log(1 - x)  # dA = scale dx/(1−x)²
    p = np.exp(log - log.max())
    p /= p.sum()
    kept = A[:, None] * inverse  # 1 − B: the weight of a mean's own value, given A
    centre = kept * y + (1 - kept) * mu[:, None]
    variance = kept * v + (1 - kept) ** 2 / total[:, None]
    value = p @ centre
    sd = np.sqrt(p @ (variance + (centre - value) ** 2))
    ends = [_interval(p, centre[:, s], np.sqrt(variance[:, s]), level) for s in range(y.size)]
    shrunk = [Shrunk(float(value[s]), float(sd[s]), ends[s], float(p @ kept[:, s])) for s in range(y.size)]
    return float(p @ mu), math.sqrt(float(A[int(np.searchsorted(np.cumsum(p), 0.5))])), shrunk


def _interval(p: Floats, centre: Floats, sd: Floats, level: float) -> tuple[float, float]:
    """Quantiles of the mixture of normals."""

    def beyond(x: float, tail: float) -> float:
        return float(p @ special.ndtr((x - centre) / sd)) - tail

    tail = (1 - level) / 2
    far = -float(special.ndtri(tail / p.size)) * float(sd.max()) + math.ulp(1.0)
    low, high = float(centre.min()) - far, float(centre.max()) + far
    first, last = (float(scipy.optimize.brentq(beyond, low, high, args=(t,), xtol=1e-12)) for t in (tail, 1 - tail))
    return first, last


_ROUNDS = 4  # of sharing the money, each by what the plans of the last one expect
_TOLERANCE = 1e-12
_RANGE = 1e9  # how far around a first guess the multiplier or the common target may lie


# A plan for every slice


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PlannedSlice(Result):
    """One slice's plan; `reached` is False where its target cannot be, and the plan is then the best there is."""

    name: str
    pool_size: float | None
    target_se: float | None
    plan: Plan | None
    reached: bool
    reason: str | None = None  # why there is no plan, or why the target is out of reach

    @property
    def policy(self) -> PlannedPolicy | None:
        """The policy recommended for this slice."""
        return None if self.plan is None else self.plan.policies[self.plan.recommendation]

    def to_dict(self) -> dict[str, Any]:
        numbers = ("expected_se", "items", "strong_labels", "spend", "mean_rate")
        taken = {"recommendation": None if self.plan is None else self.plan.recommendation}
        taken |= {name: None if self.policy is None else getattr(self.policy, name) for name in numbers}
        return Result.to_dict(self) | taken


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SlicePlan(AnyPlan):
    """A plan for every slice, and what they come to together."""

    by: str
    slices: tuple[PlannedSlice, ...]
    basis: dict[str, Any]  # arguments and the figures found; "inputs" in JSON
    notes: tuple[str, ...] = ()
    shares: Mapping[str, float] = field(repr=False, default_factory=dict)  # of the table's rows

    @property
    def spend(self) -> float:
        """Money for all slices that have a plan."""
        return sum(p.spend for p in self._policies())

    @property
    def strong_labels(self) -> float:
        """Strong labels of all slices that have a plan."""
        return sum(p.strong_labels for p in self._policies())

    @property
    def items(self) -> float:
        """Items of all slices that have a plan."""
        return sum(p.items for p in self._policies())

    @property
    def worst_se(self) -> float | None:
        """The largest standard error of a slice that has a plan."""
        return max((p.expected_se for p in self._policies()), default=None)

    @property
    def overall_se(self) -> float | None:
        """Standard error of the whole, its slices weighted by their shares; `None` where a slice has no plan."""
        if any(one.policy is None for one in self.slices):
            return None
        return math.sqrt(sum((self.shares[one.name] * p.expected_se) ** 2 for one in self.slices if (p := one.policy)))

    def _policies(self) -> list[PlannedPolicy]:
        return [p for one in self.slices if (p := one.policy) is not None]

    @property
    def drawn_by(self) -> SlicePolicies:
        return self.by, {one.name: None if one.plan is None else one.plan.transfer for one in self.slices}

    def __getitem__(self, name: str) -> PlannedSlice:
        return slice_called(name, {one.name: one for one in self.slices})

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; `draw` takes it back."""
        overall = {
            "spend": self.spend, "items": self.items, "strong_labels": self.strong_labels,
            "worst_se": self.worst_se, "expected_se": self.overall_se,
        }  # fmt: skip
        return AnyPlan.to_dict(self) | {"overall": overall}

    def _rows(self) -> list[dict[str, Any]]:
        return [{name: x for name, x in one.to_dict().items() if name != "plan"} for one in self.slices]

    def summary(self) -> str:
        out = [one.name for one in self.slices if not one.reached]
        short = f"; out of reach: {', '.join(out)}" if out else ""
        return (
            f"{self.strong_labels:,.0f} strong ratings on {self.items:,.0f} items of {len(self.slices)} slices for "
            f"{self.spend:,.2f}{short}"
        )

    def document(self) -> list[Part]:
        """What to buy in every slice, and what it comes to."""
        table = DataTable([
            Column(self.by, "name"), Column("policy", leaves=1), Column("items"), Column("strong"),
            Column("rate", leaves=2), Column("spend"), Column("std. error"),
        ])  # fmt: skip
        for one in self.slices:
            p, cells = one.policy, ("none", *["–"] * 5)
            if p is not None and one.plan is not None:
                counts = (f"{p.items:,.0f}", f"{p.strong_labels:,.0f}", f"{p.mean_rate:.3f}")
                cells = (one.plan.recommendation, *counts, f"{p.spend:,.2f}", f"{p.expected_se:.4f}")
            table.add(one.name, *cells, style="" if one.reached else "warning")
        whole = "–" if self.overall_se is None else f"{self.overall_se:.4f}"
        cells = ("", f"{self.items:,.0f}", f"{self.strong_labels:,.0f}", "", f"{self.spend:,.2f}", whole)
        table.add("all", *cells, style="strong")
        short = [Sentence(f"{one.name}: {one.reason}", "warning") for one in self.slices if one.reason is not None]
        return [table, *short, *noted(self.notes)]


def plan_slices(
    table: TableLike,
    *,
    by: str,
    weak: str,
    strong: Strong,
    weak_cost: float,
    strong_cost: float,
    target_se: float | Mapping[str, float] | None = None,
    within: float | Mapping[str, float] | None = None,
    level: float = 0.95,
    budget: float | None = None,
    objective: Objective = "sum",
    weights: Mapping[str, float] | None = None,
    pool_sizes: Mapping[str, float] | Literal["table"] | None = None,
    pool_size: float | None = None,
    uncertainty: str | None = None,
    floor: float | None = None,
    calibrate: Recalibration = "none",
    features: Sequence[str] = (),
    text: Sequence[str] = (),
    learner: str | Learner = "words",
    estimand: Estimand = "population",
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> SlicePlan:
    """The cheapest way to a standard error in every slice, or the best use of one budget for all of them.

    `target_se` (or `within`, the half-width of an interval at `level`) is one for all slices or one for each by name.
    With `budget` instead, `objective` says what to make small: the sum of the slices' squared standard errors (times
    `weights`, 1 if absent) or the worst slice's standard error. `pool_sizes` are the numbers of items there
    are, by name, or "table" where the table is the pool; `pool_size` is that of all slices together, shared like the
    table's rows. Without either, slices have no end. The rest is as in `plan`, which makes every slice's plan
    from its own rows.

    A slice whose target is out of reach gets the best plan there is and says so; one without a usable pilot says why;
    the others are planned all the same.
    """
    choice(objective, OBJECTIVES, name="objective")
    target_se = target_of(target_se, within, level)
    if (budget is None) == (target_se is None):
        raise InputError(ONE_GOAL)
    refuse_labels((*features, *text), strong)
    words = meaning_of(positive, scale)
    ready = made_ready(table, strong, weak, words)
    read = ready.table
    names, groups = slice_names(read, by)
    counts = {name: int(np.count_nonzero(groups == name)) for name in names}
    sizes = _pool_sizes(counts, pool_sizes, pool_size)
    columns = PilotColumns(
        weak, ready.strong, uncertainty, calibrate, tuple(features), seed, tuple(text), Learner.said(learner)
    )
    asked = {"weak_cost": weak_cost, "strong_cost": strong_cost, "floor": floor, "estimand": estimand}
    parts = [
        _SliceRows(name, _rows(read, columns, np.asarray(groups == name)), columns, words, sizes[name], asked)
        for name in names
    ]
    notes: tuple[str, ...] = ()
    if budget is not None:
        made, notes = _shared(parts, number(budget, name="budget", above=0), objective, weights)
    else:
        targets = _by_name(target_se, names, "target_se", above=0)
        made = [one.planned(target_se=targets[one.name]) for one in parts]
    few = [one.name for one in made if one.plan is not None and one.plan.basis["labels"] < 50]
    if few:
        notes += (f"fewer than 50 labels in the pilot of {', '.join(few)}: take these figures as rough",)
    basis: dict[str, Any] = {"table": read.name, "rows": read.rows} | columns.to_dict()
    basis |= {"weak_cost": weak_cost, "strong_cost": strong_cost, "budget": budget, "estimand": estimand}
    basis |= {"target_se": target_se, "within": within, "level": level}
    basis["objective"] = None if budget is None else objective
    shares = {name: count / read.rows for name, count in counts.items()}
    return SlicePlan(by, tuple(made), basis, ready.notes + notes, shares)


@dataclass(frozen=True, eq=False)
class _SliceRows:
    """One slice's rows, and what is asked of every slice."""

    name: str
    table: Table
    columns: PilotColumns
    words: Meaning
    size: float | None
    asked: dict[str, Any]  # prices, floor and estimand

    @cached_property
    def pilot(self) -> Pilot:
        """What the labels of the slice say, learned once, however often money is shared out."""
        return read_pilot(self.table, self.columns, imagine=True)

    def planned(self, *, budget: float | None = None, target_se: float | None = None) -> PlannedSlice:
        """The slice's plan, the best there is where its target is out of reach, or why there is none."""
        try:
            return PlannedSlice(self.name, self.size, target_se, self._plan(budget, target_se), True)
        except InputError as error:
            if target_se is None or self.size is None or not isinstance(error, PolicyError):
                return PlannedSlice(self.name, self.size, target_se, None, False, str(error))
        best = self._plan(self.size * (self.asked["weak_cost"] + self.asked["strong_cost"]), None)
        se = best.policies[best.recommendation].expected_se
        why = (
            f"{target_se:g} cannot be reached with {self.size:,.0f} items: strong ratings on all of them give {se:.4g}"
        )
        return PlannedSlice(self.name, self.size, target_se, best, False, why)

    def _plan(self, budget: float | None, target_se: float | None) -> Plan:
        goal = PlanGoal.of(budget=budget, target_se=target_se, pool_size=self.size, **self.asked)
        return plan_mean(self.table, self.pilot, self.columns, goal, words=self.words)

    def curve(self) -> "Curve":
        """What money buys in the slice."""
        return Curve.of(
            self.pilot.error, variance=self.pilot.variance, weak_cost=self.asked["weak_cost"],
            strong_cost=self.asked["strong_cost"], pool_size=math.inf if self.size is None else self.size,
            own_mean=self.asked["estimand"] == "pool",
        )  # fmt: skip


def _rows(table: Table, one: PilotColumns, mask: Mask) -> Table:
    """One slice's rows, with the columns that a plan needs."""
    columns: dict[str, Any] = {
        one.weak: table.numbers(one.weak),
        one.strong: table.numbers(one.strong, missing="allow"),
    }
    if one.uncertainty is not None:
        columns[one.uncertainty] = table.numbers(one.uncertainty)
    named = (*one.features, *one.text)
    native = table.to_native() if named else {}
    for name in named:
        table.texts(name, missing="allow")  # a name that is not there is one clear error
        columns[name] = np.asarray(native[name])
    return read_table({name: np.asarray(values)[mask] for name, values in columns.items()})


def _pool_sizes(
    counts: Mapping[str, int], sizes: Mapping[str, float] | str | None, total: float | None
) -> dict[str, float | None]:
    if sizes is not None and total is not None:
        raise InputError("give pool_sizes or pool_size, not both")
    if total is not None:
        N = number(total, name="pool_size", minimum=1)
        rows = sum(counts.values())
        return {name: max(N * count / rows, 1.0) for name, count in counts.items()}
    if sizes is None:
        return dict.fromkeys(counts)
    if isinstance(sizes, str):
        choice(sizes, ("table",), name="pool_sizes")
        return {name: float(count) for name, count in counts.items()}
    return dict(_by_name(sizes, list(counts), "pool_sizes", minimum=1))


def _by_name(
    given: float | Mapping[str, float] | None, names: Sequence[str], what: str, **limit: float
) -> dict[str, float]:
    """A number for every slice: its own, by name, or one for all."""
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, number(given, name=what, **limit))
    lost, extra = [name for name in names if name not in given], [name for name in given if name not in names]
    if lost or extra:
        raise InputError(
            f"{what} must name every slice and no other; "
            + (f"missing: {', '.join(lost)}" if lost else f"not in the table: {', '.join(extra)}")
        )
    return {name: number(given[name], name=f"{what}[{name!r}]", **limit) for name in names}


def _shared(
    parts: Sequence[_SliceRows], budget: float, objective: Objective, weights: Mapping[str, float] | None
) -> tuple[list[PlannedSlice], tuple[str, ...]]:
    """One budget for all slices that have a usable pilot, shared again by what the plans expect from residuals."""
    each = _by_name(1.0 if weights is None else weights, [one.name for one in parts], "weights", above=0)
    if weights is not None and objective == "worst":
        raise InputError("weights are for objective 'sum'; the worst slice is the worst whatever it weighs")
    curves: dict[str, Curve] = {}
    made: dict[str, PlannedSlice] = {}
    for one in parts:
        try:
            curves[one.name] = one.curve()
        except InputError as error:
            made[one.name] = PlannedSlice(one.name, one.size, None, None, False, str(error))
    if not curves:
        raise InputError(f"no slice has a pilot to plan from; the first says: {made[parts[0].name].reason}")
    w = [each[name] for name in curves]
    for _ in range(_ROUNDS):
        spends = dict(zip(curves, shared_budgets(list(curves.values()), budget, w, objective), strict=True))
        made |= {one.name: one.planned(budget=spends[one.name]) for one in parts if one.name in curves}
        for name, spend in spends.items():
            policy = made[name].policy
            if policy is not None and policy.expected_se > 0:
                curves[name] = curves[name].corrected(spend, policy.expected_se**2)
    left = budget - sum(spends.values())
    note = f"{left:,.2f} of the budget are left: every item of every slice has its strong rating"
    return [made[one.name] for one in parts], (note,) if left > 1e-6 * budget else ()


# Sharing one budget: squared error as a function of spend has the slope −1/(s T²) along the optimal policy (s as in
# METHODS section 2): of a slice that need not be looked at whole, s is its own best; of one that is, s grows with the
# money. At the best sharing all slopes, times the slices' weights, are equal. Strong ratings alone have error c_h V/b
# with slope −c_h V/b².


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Least squared error for the money in one slice."""

    problem: Problem
    strong_cost: float
    pool_size: float
    best: float  # scale of least J; 0 where looking at more items always pays
    lost: float = 0.0  # V/N where the pool's own mean is wanted: its error is less by this, whatever is bought
    factor: float = 1.0  # how much larger the error turns out than u(x) has it

    @classmethod
    def of(
        cls, error: Floats, *, variance: float, weak_cost: float, strong_cost: float, pool_size: float,
        own_mean: bool = False,
    ) -> "Curve":  # fmt: skip
        """The curve from u(x) of the slice's items; costs are per item. `own_mean` asks for the pool's own mean."""
        root = np.sqrt(error / strong_cost)
        problem = Problem(root, strong_cost / root.size, variance, weak_cost, 0.0)
        best = problem.best_scale()
        if best == 0 and math.isinf(pool_size):
            raise PolicyError(
                Message(
                    f"with {argument('weak_cost')} 0 and an unlimited pool there is no best policy; give pool sizes"
                )
            )
        return cls(problem, strong_cost, pool_size, best, variance / pool_size if own_mean else 0.0)

    @property
    def most(self) -> float:
        """Money that can be spent: a strong rating of every item, and no weak one."""
        return self.strong_cost * self.pool_size

    def spend_at(self, multiplier: float) -> float:
        """The spend b of least error(b) + multiplier·b."""
        m, J = multiplier / self.factor, self.strong_cost * self.problem.variance
        alone = min(math.sqrt(J / m), self.most)
        spend, error = self._weak_at(m)
        return alone if J / alone + m * alone < error + m * spend else spend

    def spend_for(self, error: float) -> float:
        """Least money for this squared error; infinite where it cannot be reached."""
        error = (error + self.lost) / self.factor
        if error < self.problem.variance / self.pool_size * (1 - _TOLERANCE):
            return math.inf
        alone = min(self.strong_cost * self.problem.variance / error, self.most)
        return min(alone, self._weak_spend(error))

    def error_for(self, spend: float) -> float:
        """Least squared error for this money: the inverse of `spend_for`."""
        least = self.factor * self.problem.variance / self.pool_size - self.lost
        high = self.factor * self.strong_cost * self.problem.variance / min(spend, self.most) - self.lost
        if math.isfinite(self.pool_size) and (high <= least or spend >= self.spend_for(least)):
            return least
        low, high = max(least, high * 1e-6), high * (1 + 1e-9)  # rounding must not put the root outside
        return float(
            scipy.optimize.brentq(lambda e: self.spend_for(e) - spend, low, high, xtol=1e-300, rtol=_TOLERANCE)
        )

    def corrected(self, spend: float, error: float) -> "Curve":
        """The curve moved so that it gives this squared error for this money."""
        return replace(self, factor=self.factor * (error + self.lost) / (self.error_for(spend) + self.lost))

    def _weak_at(self, multiplier: float) -> tuple[float, float]:
        """The spend with the weak rater where this is the slope, and the error."""
        N = self.pool_size
        if self.best > 0:
            cost, variance = self.problem.cost(self.best), self.problem.item_variance(self.best)
            b = math.sqrt(cost * variance / multiplier)
            if b <= N * cost:
                return b, cost * variance / b
        t = max(self.best, 1.0 / (math.sqrt(multiplier) * N))  # 1/(s N²) = multiplier, s = t²
        return N * self.problem.cost(t), self.problem.item_variance(t) / N

    def _weak_spend(self, error: float) -> float:
        N, problem = self.pool_size, self.problem
        if self.best > 0:
            variance = problem.item_variance(self.best)
            if variance / error <= N:
                return problem.cost(self.best) * variance / error
        if N * error <= problem.variance * (1 + _TOLERANCE):  # a strong rating wherever it can change anything
            return N * (problem.weak_cost + problem.total_mass - problem.idle_mass)
        return N * problem.cost(problem.scale_for_variance(N * error, low=self.best))


def shared_budgets(curves: Sequence[Curve], budget: float, weights: Sequence[float], objective: str) -> list[float]:
    """The budget of each slice, together `budget`; less where all slices can be rated whole."""
    if sum(curve.most for curve in curves) <= budget:
        return [curve.most for curve in curves]
    fewest = sum(curve.strong_cost for curve in curves)
    if budget < fewest:
        raise InputError(f"budget {budget:g} is too small for one strong rating in every slice ({fewest:g})")
    J = [curve.strong_cost * curve.problem.variance for curve in curves]
    if objective == "sum":  # least Σ w error(b): every slice spends until w times its slope is the common multiplier
        guess = 2 * math.log(sum(math.sqrt(w * x) for x, w in zip(J, weights, strict=True)) / budget)
    else:  # one squared error for all; a slice that cannot reach it is rated whole
        guess = math.log(sum(J) / budget)

    def spends(log: float) -> list[float]:
        x = math.exp(log)
        if objective == "sum":
            return [curve.spend_at(x / w) for curve, w in zip(curves, weights, strict=True)]
        return [min(curve.spend_for(x), curve.most) for curve in curves]

    def left(log: float) -> float:
        return budget - sum(spends(log))

    low, high = guess - math.log(_RANGE), guess + math.log(_RANGE)
    if left(low) >= 0:
        found = low
    else:
        found = high if left(high) <= 0 else float(scipy.optimize.brentq(left, low, high, xtol=_TOLERANCE))
    return _exactly([max(b, c.strong_cost) for b, c in zip(spends(found), curves, strict=True)], curves, budget)


def _exactly(spends: list[float], curves: Sequence[Curve], budget: float) -> list[float]:
    """Budgets that add up exactly: what is left over, or short, is shared in proportion."""
    for _ in range(len(curves)):
        total, room = sum(spends), [b < c.most for b, c in zip(spends, curves, strict=True)]
        loose = sum(b for b, r in zip(spends, room, strict=True) if r)
        if abs(total - budget) <= _TOLERANCE * budget or loose <= 0:
            break
        factor = (loose + budget - total) / loose
        spends = [min(b * factor, c.most) if r else b for b, c, r in zip(spends, curves, room, strict=True)]
    return spends
