"""`estimate_slices`: one estimate for every group of a table, and one for the whole.

Slices share no items, so each is an estimate of its own. Intervals hold one by one, or, if asked for, all at once. If
asked for, slices borrow from each other: values are shrunk toward the overall mean as far as they may differ by chance.
"""

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np
import scipy
from scipy import special

from ratewise.core.checks import Floats, choice, number, share
from ratewise.core.document import Column, DataTable, Part, Sentence, as_lines, bar, noted
from ratewise.core.estimate import FITTED, TAIL, Estimate, EstimateOptions, both_ends
from ratewise.core.names import RECALIBRATIONS, Estimand, IntervalMethod, Method, Recalibration
from ratewise.core.ratings import Ratings
from ratewise.core.result import Result
from ratewise.errors import InputError, TableError
from ratewise.learn.covariates import TextColumns
from ratewise.learn.embeddings import Learner
from ratewise.learn.texts import read_texts
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
from ratewise.questions.export_terms import Pooled, estimate_pooled, read_asked, single_draw, unseen_kinds
from ratewise.questions.goal import spend_on
from ratewise.questions.large import large_relation, read_in_files, read_whole
from ratewise.questions.people import made_ready
from ratewise.questions.rated import Rate, RatedTable, Strong, TableColumns, read_rated
from ratewise.tables import Table, TableLike, count_groups
from ratewise.tables.cells import Texts
from ratewise.tables.words import Positive, Scale, meaning_of

FEWEST_TO_SHRINK = 4  # with fewer means A has no proper posterior
_POINTS = 400  # of the grid over A
NO_GROUP = "(missing)"
FEWEST_TO_CLAIM = 2  # strong ratings of a slice
_MOST_SLICES = 1000


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
        return slice_called(name, self.slices)

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


class _Named(Protocol):
    @property
    def name(self) -> str: ...


_One = TypeVar("_One", bound=_Named)


def slice_called(name: str, slices: Sequence[_One]) -> _One:
    """The slice of this name."""
    for one in slices:
        if one.name == name:
            return one
    raise InputError(f"there is no slice {name!r}; there are {', '.join(repr(one.name) for one in slices)}")


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
        notes.append(f"{missing:,} answers that were asked for are missing; they are counted at both ends of the scale")
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
    return each, (f"all {count} intervals hold at once with {level:.0%}: each has {each:.2%} ({why})",)


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
        f"shrunk toward {mean:.4f}; slices differ by a standard deviation of about {between:.4f} beyond chance; the "
        "intervals hold on average over slices, the unshrunk values stand beside"
    )
    return [replace(one, shrunk=by_name.get(one.name)) for one in found], (note,)


# The slices by the names in a column


def slice_names(table: Table, by: str) -> tuple[list[str], Texts]:
    """The slices in the order of names, and every row's; rows without a group are the slice "(missing)", the last."""
    groups = table.texts(by, missing="allow")
    return _names_of(table.name, by, set(groups.tolist())), np.where(groups == "", NO_GROUP, groups)


def _names_of(table: str, by: str, found: set[str]) -> list[str]:
    if {NO_GROUP, ""} <= found:
        raise TableError(f"column {by!r} of {table} has both rows without a group and a group named {NO_GROUP}")
    names = in_order([name or NO_GROUP for name in found])
    if len(names) > _MOST_SLICES:
        raise TableError(
            f"column {by!r} of {table} has {len(names):,} different values; slices are at most {_MOST_SLICES:,}"
        )
    return names


def slice_sizes(table: TableLike, by: str) -> dict[str, float]:
    """How many rows every slice of a table has."""
    counts = count_groups(table, by)
    named = os.path.basename(os.fsdecode(table)) if isinstance(table, str | os.PathLike) else "table"
    return {name: float(counts["" if name == NO_GROUP and "" in counts else name])
            for name in _names_of(named, by, set(counts))}  # fmt: skip


def in_order(groups: Iterable[str]) -> list[str]:
    """Groups in alphabetical order, or by size where all are numbers; rows without a group last."""
    names = sorted(set(groups), key=lambda name: (name == NO_GROUP, name))
    try:
        return sorted(names, key=lambda name: (name == NO_GROUP, 0.0 if name == NO_GROUP else float(name)))
    except ValueError:
        return names


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
