"""`estimate_mean`: the mean strong rating with an interval, from few strong ratings and many weak ones."""

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ratewise.core import contributions, intervals
from ratewise.core.case import Case, Grouping, grouping_of
from ratewise.core.checks import Floats
from ratewise.core.clusters import cluster_folds
from ratewise.core.how import How
from ratewise.core.interval_choice import interval_kind, interval_of, known_ends, scale_ends
from ratewise.core.intervals import Interval
from ratewise.core.messages import Message
from ratewise.core.names import Estimand, IntervalMethod, Method
from ratewise.core.ratings import Mask, Rated, Ratings, pool_of
from ratewise.core.result import FrameKind, Span, frame_of_record, shown, spans_picture
from ratewise.core.tails import tail_note
from ratewise.core.votes import Agreement
from ratewise.errors import InputError, MissingAnswersError

FOLDS = 10


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Estimate:
    """The estimate, its interval, and what they rest on. Undefined is `None` with a reason in `notes`, never 0."""

    value: float
    standard_error: float | None
    interval: tuple[float, float] | None
    level: float
    items: int
    labels: int
    method: str
    interval_method: str
    estimand: str
    seen: tuple[float, float] | None = field(default=None, repr=False)  # least and largest strong rating
    bounds: tuple[float, float] | None = field(default=None, repr=False)  # ends of the scale, where they are known
    pool_size: float | None = None  # N, of the pool whose own mean it is; not of the population's
    degrees_of_freedom: float | None = None
    slope: float | None = None  # of the line put in the weak rating's place, averaged over folds
    spend: float | None = None
    clusters: int | None = None  # how many, where items were said to come in clusters
    agreement: Agreement | None = None  # of several people's votes on an item
    unanswered: float = 0.0  # half of what the missing answers can move it by, from one end of the scale to the other
    notes: tuple[str, ...] = ()
    contributions: Floats = field(repr=False, default_factory=lambda: np.empty(0))

    @property
    def low(self) -> float | None:
        """Lower end of the interval."""
        return None if self.interval is None else self.interval[0]

    @property
    def high(self) -> float | None:
        """Upper end of the interval."""
        return None if self.interval is None else self.interval[1]

    @property
    def interval_kind(self) -> str:
        """Which kind of interval it is: score, t, normal, bootstrap or anytime. JSON has it under the same name."""
        return self.interval_method

    def to_dict(self) -> dict[str, Any]:
        """The numbers, ready for JSON; the contributions stay out.

        The ends are `low` and `high`, and `interval_kind` is the kind of interval, here as on the record. `interval`
        is the kind as well in JSON, and the two ends on the record.
        """
        names = ("value", "standard_error", "low", "high", "level", "items", "labels", "spend", "method")
        out: dict[str, Any] = {name: getattr(self, name) for name in names}
        out |= {"interval": self.interval_method, "interval_kind": self.interval_kind, "estimand": self.estimand}
        out |= {"pool_size": self.pool_size, "degrees_of_freedom": self.degrees_of_freedom, "slope": self.slope}
        out |= {"clusters": self.clusters, "notes": list(self.notes)}
        out |= {} if self.agreement is None else {"agreement": self.agreement.to_dict()}
        return out

    def within(self, bounds: tuple[float, float] | None) -> "Estimate":
        """The estimate kept to a scale with these ends, if they are known: no mean is beyond them."""
        if bounds is None:
            return self
        ends = None if self.interval is None else on_scale(self.interval, bounds)
        return replace(self, value=min(max(self.value, bounds[0]), bounds[1]), interval=ends)

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """One row with the estimate's numbers, as a pandas, Polars or PyArrow frame."""
        return frame_of_record(self.to_dict(), kind)

    def summary(self) -> str:
        """One line for people, the level always said."""
        if self.interval is None:
            return f"{self.value:.4f} (no interval: {'; '.join(self.notes)})"
        low, high = self.interval
        return (
            f"{self.value:.4f}, {self.level:.0%} interval [{low:.4f}, {high:.4f}] "
            f"from {self.labels} strong ratings on {self.items} items ({self.method}, {self.interval_method})"
        )

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        low, high = ("–", "–") if self.interval is None else (f"{x:.4f}" for x in self.interval)
        cells = [("estimate", f"{self.value:.4f}"), (f"{self.level:.0%} interval", f"{low} to {high}")]
        cells += [("strong ratings", str(self.labels)), ("items", str(self.items)), ("method", self.method)]
        head = "".join(f"<th>{name}</th>" for name, _ in cells)
        table = f"<table><tr>{head}</tr><tr>{''.join(f'<td>{x}</td>' for _, x in cells)}</tr></table>"
        if self.interval is None:
            return table
        return table + spans_picture([Span(f"{self.level:.0%} interval", self.value, *self.interval)], self.summary())


def estimate_mean(
    weak: ArrayLike,
    strong: ArrayLike,
    rates: ArrayLike,
    *,
    method: Method = "auto",
    interval: IntervalMethod = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    selected: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    floor: float | None = None,
    variance_factor: float = 1.0,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Mean strong rating of the population the items come from, or of the pool they are.

    `strong` is NaN where not rated and `rates` holds the probability each item was drawn with; for a chain, `weak` and
    `rates` are items × steps. `selected` says which items were asked for: an answer asked for but missing is reported
    with worst-case bounds, never dropped. `clusters` names, for every item, the conversation, document or person it
    comes from: the interval then counts those, and folds keep them together. `bounds` are the ends of the rating scale
    (not needed for 0/1 ratings); `floor` is the least rate any item could have had, which `anytime` needs.
    `variance_factor` widens the interval for what the variance cannot see, such as rates that were learned from the
    labels. `seed` makes folds and bootstrap.

    Limiting cases: rates of 1 give the plain mean of the strong ratings; a constant weak rating gives the
    inverse-rate mean (`difference`) or the ratio mean (`regression`); one label gives no interval, nor does one
    cluster; every item its own cluster gives what no clusters give.
    """
    rated = Rated.of(weak, strong, rates, selected=selected, clusters=clusters)
    how = How(
        method, interval, level, estimand, pool_size, bounds, floor, variance_factor=variance_factor,
        resamples=resamples, seed=seed,
    )  # fmt: skip
    return estimate_rated(rated, how)


def estimate_rated(rated: Rated, how: How) -> Estimate:
    """`estimate_mean` of a rated table and how to estimate, each as one record."""
    data = rated.ratings()
    N = pool_of(how.estimand, how.pool_size, data.items)
    case = Case(how, N, grouping_of(rated.clusters, data, N, how.interval), rated.folds)
    missing = _missing(data, rated.selected)
    if missing.any():
        return _with_missing(data, missing, case)
    if data.labels == 0:
        raise InputError("no item has a strong rating; at least one is needed for an estimate, two for an interval")
    return _estimate(data, case)


def _estimate(data: Ratings, case: Case) -> Estimate:
    kind, notes = interval_kind(data, case)
    method, lines = _lines(data, case, kind)
    f = lines.put(data.weak)
    delta = contributions.contributions(f, data)
    s = intervals.spread(delta, f, data, pool_size=case.pool_size, codes=case.codes)
    alone = case.grouping is not None and case.grouping.clusters == 1 and case.pool_size > data.items
    ends, why = (None, None) if alone else interval_of(s, f, delta, data, kind, case)
    bounds = known_ends(data, case, kind)
    if case.how.bounds is not None and bounds is not None and ends is not None:
        ends = on_scale(ends, bounds)
    known = s.variance > 0 and data.labels > 1 and not alone
    notes += _cluster_notes(s, case.grouping)
    strong = data.strong[data.labelled]
    return Estimate(
        value=s.value if kind != "score" or ends is None else min(max(s.value, ends[0]), ends[1]),
        seen=(float(strong.min()), float(strong.max())),
        bounds=bounds,
        standard_error=math.sqrt(case.how.variance_factor * s.variance) if known else None,
        interval=ends,
        level=case.how.level,
        items=data.items,
        labels=data.labels,
        method=method,
        interval_method=kind,
        estimand=case.how.estimand,
        pool_size=None if math.isinf(case.pool_size) else case.pool_size,
        degrees_of_freedom=s.degrees_of_freedom if kind == "t" else None,
        slope=data.mean(lines.slope[:, 0]),
        clusters=None if case.grouping is None else case.grouping.clusters,
        notes=(*notes, *((why,) if why else ()), *(tail_note(s, data, kind, case) if ends else ())),
        contributions=delta,
    )


def on_scale(interval: Interval, bounds: Interval) -> Interval:
    """An interval without what is beyond the scale; one that is wholly beyond it is moved to its end."""
    (low, high), (least, most) = interval, bounds
    if low >= most or high <= least:
        width = min(high - low, most - least)
        return (most - width, most) if low >= most else (least, least + width)
    return max(low, least), min(high, most)


def _cluster_notes(s: intervals.Spread, grouping: Grouping | None) -> list[str]:
    if grouping is None:
        return []
    c = s.clustering
    if c is None:
        return [grouping.note]
    return [f"{grouping.note} (design effect {c.design_effect:.2f}, {s.degrees_of_freedom:.1f} degrees of freedom)"]


def _lines(data: Ratings, case: Case, kind: str) -> tuple[str, contributions.Lines]:
    """The line put in the weak rating's place; `auto` says which it took."""
    if case.how.method == "difference" or kind == "anytime":
        return "difference", contributions.identity(data)
    if case.how.method == "power-tuned":
        return "power-tuned", contributions.power_tuned(data)
    if case.how.method == "regression":
        return "regression", contributions.regression(data)
    fold = _folds(data, case)
    lines = contributions.cross_fitted(data, fold, folds=FOLDS)
    plain = bool(np.all(lines.intercept == 0) and np.all(lines.slope == 1))
    return "auto (difference)" if plain else "auto (cross-fitted regression)", lines


def _folds(data: Ratings, case: Case) -> NDArray[np.int64]:
    """A fold from 0 for every row: as given, at random, or by cluster."""
    if case.folds is not None:
        return case.folds
    rng = np.random.default_rng(case.how.seed)
    return rng.permutation(data.rows) % FOLDS if case.codes is None else cluster_folds(case.codes, FOLDS, rng)


# Answers that were asked for and did not come


def _missing(data: Ratings, selected: ArrayLike | None) -> Mask:
    """Items that were surely asked for and have no strong rating; a rate of 1 means asked for."""
    asked = data.rates[:, -1] == 1
    if selected is not None:
        mask = np.asarray(selected)
        if mask.shape != asked.shape:
            raise InputError(f"selected must have one entry per item ({asked.size}); got shape {mask.shape}")
        if np.any(data.labelled & ~mask.astype(bool)):
            raise InputError("an item that was not selected has a strong rating; check the selected column")
        asked = asked | mask.astype(bool)
    return np.asarray(asked & ~data.labelled)


def _with_missing(data: Ratings, missing: Mask, case: Case) -> Estimate:
    """The interval over both extremes of the missing answers: it holds whatever they would have been."""
    try:
        ends = scale_ends(data, case, "an estimate with answers still missing")
    except InputError as error:
        many = f"{int(missing.sum())} answers that were asked for are missing, and "
        said = error.args[0]
        raise MissingAnswersError(said.within(many) if isinstance(said, Message) else many + str(error)) from None
    found = [_estimate(_filled(data, missing, x), case) for x in ends]
    first, last = found
    both = None if first.interval is None or last.interval is None else (first.interval[0], last.interval[1])
    note = (
        f"{int(missing.sum())} answers that were asked for are missing; they are counted at both ends of the scale "
        f"[{ends[0]:g}, {ends[1]:g}]: the estimate lies between {first.value:.4g} and {last.value:.4g}"
    )
    return Estimate(
        value=0.5 * (first.value + last.value),
        seen=ends,
        bounds=ends,
        standard_error=None,
        interval=both,
        level=case.how.level,
        items=data.items,
        labels=data.labels,
        method=first.method,
        interval_method=first.interval_method,
        estimand=case.how.estimand,
        pool_size=None if math.isinf(case.pool_size) else case.pool_size,
        slope=None,
        clusters=first.clusters,
        unanswered=0.5 * (last.value - first.value),
        notes=(note, *first.notes),
        contributions=0.5 * (first.contributions + last.contributions),
    )


def _filled(data: Ratings, missing: Mask, rating: float) -> Ratings:
    strong = np.where(missing, rating, data.strong)
    rated = data.rated.copy()
    rated[:, -1] |= missing
    return replace(data, strong=strong, rated=rated)
