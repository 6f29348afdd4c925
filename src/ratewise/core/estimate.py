"""`estimate_mean`: the mean strong rating with an interval, from few strong ratings and many weak ones.

It is the mean of contributions Δ, one per item (METHODS section 5). Every method is a straight line f_k = a_k + b_k R_k
put in the weak rater's place, then

    Δ = f_0 + Σ_k (f_k − f_{k−1}) ξ_k / q_k,   f_K = H

which is unbiased whatever the line, as long as the line does not depend on the item's own ξ and H.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray
from scipy import special

from ratewise.core.chart import Span, spans_picture
from ratewise.core.checks import Floats, choice, number, scale_ends, seed_number, share
from ratewise.core.clusters import Codes, cluster_codes, cluster_folds
from ratewise.core.document import Fact, FactTable, Part, Picture, noted
from ratewise.core.intervals import (
    Interval,
    Spread,
    bootstrap,
    confidence_sequence,
    normal,
    spread,
    student,
    widened,
)
from ratewise.core.names import ESTIMANDS, INTERVALS, METHODS, Estimand, IntervalMethod, Method
from ratewise.core.ratings import Ratings, pool_of
from ratewise.core.result import Result
from ratewise.core.score import score_interval
from ratewise.core.votes import Agreement
from ratewise.errors import InputError, Message, MissingAnswersError, argument

_PRIOR_LABELS = 10.0  # labels on a line of slope 1, spread like the pool, that the slope starts from
_PRIOR_LEVEL = 1.0  # labels on f = R that the level starts from: a rater that is off by a constant is soon found out
_FEWEST_LABELS = 5.0  # fewer effective labels than this fit no line
_NO_TRUST, _FULL_TRUST = 1.5, 4.0  # standard errors of the gain at which a fitted line starts and ends to be doubted


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """a + b·R for every item and step (items × steps): one line for all, or one per fold."""

    intercept: Floats
    slope: Floats

    def put(self, weak: Floats) -> Floats:
        return self.intercept + self.slope * weak


def contributions(f: Floats, data: Ratings) -> Floats:
    """Δ of every item for predictions f in the weak raters' place."""
    values = np.concatenate([f, data.strong[:, None]], axis=1)
    steps = np.where(data.rated, np.diff(values, axis=1), 0.0)
    return np.asarray(f[:, 0] + (steps / data.rates).sum(axis=1))


def identity(data: Ratings) -> Lines:
    """The difference estimator: R as it is."""
    return Lines(np.zeros_like(data.weak), np.ones_like(data.weak))


def power_tuned(data: Ratings) -> Lines:
    """b = λ̂, a = 0: the paper's plug-in, step by step along a chain; λ = 1 where nothing can be tuned.

    λ̂ = 1 + Σ (H − R) R odds ξ_K/q_K / Σ R² odds, with odds = 1/π − 1 for two raters.
    """
    odds, last = data.step_odds(), data.rates[:, -1]
    had = data.inverse_rates()[:, :-1] * data.had  # ξ_{k−1}/q_{k−1}: who R_{k−1} is known of, inversely weighted
    R = np.where(data.had, data.weak, 0.0)
    residual = np.where(data.labelled, data.strong, 0.0)[:, None] - R
    top, bottom = power_terms(R, residual, odds, weight=(data.labelled / last)[:, None], had=had)
    squares = data.each(bottom).sum(axis=0) if data.sums is None else np.array([data.sums[2]])
    slope = power_slope(top.sum(axis=0), squares)
    return Lines(np.zeros_like(data.weak), np.broadcast_to(slope, data.weak.shape))


def power_terms(R: Floats, residual: Floats, odds: Floats, *, weight: Floats, had: Floats) -> tuple[Floats, Floats]:
    """Each item's terms in numerator and denominator of λ̂; `weight` is ξ_K/q_K, `had` is ξ_{k−1}/q_{k−1}."""
    return residual * R * odds * weight, R**2 * odds * had


def power_slope(top: Floats, bottom: Floats) -> Floats:
    """λ̂ from the two sums; 1 where nothing can be tuned."""
    return np.asarray(1.0 + np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0))


def regression(data: Ratings) -> Lines:
    """Both control variates, ξ/π − 1 and G (ξ/π − 1), fitted on all labels at once (biased with few of them)."""
    return _fit(data, np.zeros(data.rows, dtype=np.int64), folds=1, shrink=False)


def cross_fitted(data: Ratings, fold: NDArray[np.int64], *, folds: int) -> Lines:
    """The regression line, fitted on the other folds and shrunk toward R itself as far as it may be noise."""
    return _fit(data, fold, folds=folds, shrink=True)


LINES = {"difference": identity, "power-tuned": power_tuned, "regression": regression}
"""How each method that has a name fits its line."""


def _fit(data: Ratings, fold: NDArray[np.int64], *, folds: int, shrink: bool) -> Lines:
    """Weighted least squares of H on (1, R_{k−1}) for every step: minimises E[(H − f)² (1/q_k − 1/q_{k−1})]."""
    use = data.labelled
    odds = data.step_odds()[use] / data.rates[use, -1:]
    lines = identity(data)
    for k in range(data.weak.shape[1]):
        x, y, w = data.weak[use, k], data.strong[use], odds[:, k]
        a, b = _stacked(x, y, w, fold[use], folds, _pool_moments(data, k)) if shrink else _least_squares(x, y, w)
        lines.intercept[:, k], lines.slope[:, k] = _by_fold(a, fold), _by_fold(b, fold)
    return lines


def _by_fold(values: Floats, fold: NDArray[np.int64]) -> Floats:
    """Each item's value by its fold; the mean of all folds for an item that is in none (docs/statistics.md)."""
    return np.where(fold < 0, values.mean(), values[fold])


def _least_squares(x: Floats, y: Floats, w: Floats) -> tuple[Floats, Floats]:
    """One line for all; R itself where no rate is below 1, a constant where R does not vary."""
    total = w.sum()
    if not total > 0:
        return np.zeros(1), np.ones(1)
    mx, my = np.dot(w, x) / total, np.dot(w, y) / total
    dx = x - mx
    sxx = np.dot(w, dx * dx)
    slope = np.dot(w, dx * (y - my)) / sxx if sxx > 1e-12 * total * (mx**2 + 1e-300) else 0.0
    return np.array([my - slope * mx]), np.array([slope])


def _stacked(
    x: Floats, y: Floats, w: Floats, fold: NDArray[np.int64], folds: int, pool: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Per fold: the line fitted on the other folds, taken as far as it predicts labels it has not seen.

    The slope starts from a few labels on a line of slope 1, spread like the pool, and the level from one label on
    f = R; the fit's weight against R itself is the one that minimises the squared error of leave-one-out predictions
    (stacking), between 0 and 1.
    """
    others = (fold[:, None] != np.arange(folds)) * w[:, None]  # labels × folds
    total = others.sum(axis=0)
    effective = np.divide(total**2, (others**2).sum(axis=0), out=np.zeros(folds), where=total > 0)
    one = np.divide(total, effective, out=np.zeros(folds), where=effective > 0)  # weight of a label
    level, prior = _PRIOR_LEVEL * one, _PRIOR_LABELS * one
    W = np.where(total > 0, total + level, 1.0)
    P, v = pool
    mx = (x @ others + level * P) / W
    my = (y @ others + level * P) / W
    dx, dy = x[:, None] - mx, y[:, None] - my
    sxx = (others * dx**2).sum(axis=0) + prior * v
    sxy = (others * dx * dy).sum(axis=0) + prior * v
    spread = sxx > 1e-12 * W * (P**2 + v) + 1e-300
    slope = np.divide(sxy, sxx, out=np.ones(folds), where=spread)
    leverage = others * (1.0 / W + np.divide(dx**2, sxx, out=np.zeros_like(dx), where=spread))
    unseen = (dy - slope * dx) / np.maximum(1.0 - leverage, 1e-6)
    keep = _stacking_weight(others, (y - x)[:, None], unseen) * (effective >= _FEWEST_LABELS)
    return keep * (my - slope * mx), 1.0 + keep * (slope - 1.0)


def _stacking_weight(w: Floats, raw: Floats, unseen: Floats) -> Floats:
    """The k in [0, 1] of least Σ w ((1 − k) raw + k unseen)²; nothing of it while the gain may be noise."""
    scale = float(np.abs(raw).max(initial=0.0))
    raw, unseen = (x / scale if scale > 0 else x for x in (raw, unseen))  # their fourth powers would underflow
    step = raw - unseen
    gain, size = (w * raw * step).sum(axis=0), (w * step**2).sum(axis=0)
    noise = np.sqrt((w**2 * (raw * step) ** 2).sum(axis=0))
    best = np.divide(gain, size, out=np.zeros_like(gain), where=size > 0)
    errors = np.divide(gain, noise, out=np.zeros_like(gain), where=noise > 0)
    trust = (errors - _NO_TRUST) / (_FULL_TRUST - _NO_TRUST)
    return np.asarray(np.clip(best, 0.0, 1.0) * np.clip(trust, 0.0, 1.0))


def _pool_moments(data: Ratings, k: int) -> tuple[float, float]:
    """Mean and variance of R_k over the pool, weighted as the fit weights labels."""
    if data.sums is not None and data.sums[0] > 0:
        mean = data.sums[1] / data.sums[0]
        return mean, max(data.sums[2] / data.sums[0] - mean**2, 0.0)
    had = data.had[:, k]
    weight = data.each(data.step_odds()[:, k] * data.inverse_rates()[:, k])[had]
    if not weight.sum() > 0:
        return 0.0, 0.0
    x = data.weak[had, k]
    mean = float(np.dot(weight, x) / weight.sum())
    return mean, float(np.dot(weight, (x - mean) ** 2) / weight.sum())


FOLDS = 10
MANY_LABELS = 400  # from here on Student-t and normal agree to 0.3 % of the width
_MOST_LEVELS, _SAME = 11, 1e-9  # of a scale whose ends can be seen; levels that differ by less are one

TAIL = "ratings have a long tail"  # as the note begins
FITTED = "coefficients of method"  # as the note begins
_PLAIN_KINDS = ("t", "normal", "bootstrap")
_FEWEST_TO_FIT = 100  # labels
_SKEWED = 0.2  # skewness of the estimate's error: Cochran's n > 25 γ² for a plain mean, where it is γ/√n
_FEWEST_APART = 10  # labels
_BY_CHANCE = 3.0 * math.sqrt(6.0)  # over n: three standard errors of that skewness for normal ratings
_STEPS = 60  # in 1: ratings of a scale are whole numbers, tenths, or means of a few votes
_LONGEST_SCALE = 100.0

_REHEARSALS = 11  # their median moves by a tenth of the width or less from one seed to the next
_MOST_ROWS = 400  # different items; more would not move the median
_MOST_LABELS = 2000  # with more of them nothing hides


# The estimate


@dataclass(frozen=True, slots=True)
class EstimateOptions:
    """Every option of an estimate that is no column of the table; its defaults are those of `estimate_mean`.

    The words and numbers are legal once the record exists.
    """

    method: Method = "auto"
    interval: IntervalMethod = "auto"
    level: float = 0.95
    estimand: Estimand = "population"
    pool_size: float | None = None  # for the estimand pool; none: as many as there are items
    bounds: tuple[float, float] | None = None  # ends of the rating scale
    floor: float | None = None  # least rate that any item could have had; for `anytime`
    variance_factor: float = 1.0  # for what the variance cannot see, such as rates that were learned from the labels
    resamples: int = 2000
    seed: int = 0

    def __post_init__(self) -> None:
        choice(self.method, METHODS, name="method")
        choice(self.interval, INTERVALS, name="interval")
        choice(self.estimand, ESTIMANDS, name="estimand")
        set_once = object.__setattr__
        set_once(self, "level", share(self.level, name="level"))
        set_once(self, "variance_factor", number(self.variance_factor, name="variance_factor", above=0))
        set_once(self, "seed", seed_number(self.seed))
        if self.bounds is not None:
            set_once(self, "bounds", scale_ends(*self.bounds))
        set_once(self, "resamples", int(number(self.resamples, name="resamples", minimum=100)))

    @property
    def plain(self) -> bool:
        """Whether nothing but an estimand, a level and a seed was asked for."""
        return self == EstimateOptions(level=self.level, estimand=self.estimand, seed=self.seed)

    def refuse_idle_pool_size(self) -> None:
        """Refuse a pool size for the population's mean: whoever gives it means the pool's own."""
        if self.pool_size is not None and self.estimand == "population":
            raise InputError(
                Message(
                    f"{argument('pool_size')} matters only for the pool's own mean; add {argument('estimand pool')}, "
                    "or leave it out"
                )
            )


DEFAULTS = EstimateOptions()


def both_ends(bounds: tuple[float | None, float | None] | None) -> tuple[float, float] | None:
    """The ends of the rating scale, or neither."""
    low, high = (None, None) if bounds is None else bounds
    if (low is None) != (high is None):
        raise InputError("give both ends of the rating scale (low and high), or neither")
    return None if low is None or high is None else (low, high)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Estimate(Result):
    """The estimate, its interval, and what they rest on. Undefined is `None` with a reason in `notes`, never 0."""

    json_names = (
        "value", "standard_error", "low", "high", "level", "items", "labels", "spend", "method", "interval",
        "interval_kind", "estimand", "pool_size", "degrees_of_freedom", "slope", "clusters", "notes",
    )  # fmt: skip
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
        """The numbers, ready for JSON: the interval's ends are `low` and `high`, its kind is `interval_kind`.

        The contributions stay out. JSON has the kind under `interval`, too, as scripts expect it there.
        """
        votes = {} if self.agreement is None else {"agreement": self.agreement.to_dict()}
        return Result.to_dict(self) | {"interval": self.interval_kind} | votes

    def within(self, bounds: tuple[float, float] | None) -> "Estimate":
        """The estimate kept to a scale with these ends, if they are known: no mean is beyond them."""
        if bounds is None:
            return self
        ends = None if self.interval is None else on_scale(self.interval, bounds)
        return replace(self, value=min(max(self.value, bounds[0]), bounds[1]), interval=ends)

    def summary(self) -> str:
        if self.interval is None:
            return f"{self.value:.4f} (no interval: {'; '.join(self.notes)})"
        low, high = self.interval
        return (
            f"{self.value:.4f}, {self.level:.0%} interval [{low:.4f}, {high:.4f}] "
            f"from {self.labels} strong ratings on {self.items} items ({self.method}, {self.interval_method})"
        )

    def document(self) -> list[Part]:
        rows: list[Fact] = [("estimate", f"{self.value:.4f}", "strong")]
        title, spans = f"{self.level:.0%} interval", []
        if self.interval is None:
            rows.append(("interval", "none"))
        else:
            low, high = self.interval
            rows.append((title, f"{low:.4f} to {high:.4f}", "strong"))
            spans.append(Span(title, self.value, low, high))
        if self.standard_error is not None:
            rows.append(("standard error", f"{self.standard_error:.4f}"))
        rows.append(("rests on", f"{self.labels:,} strong ratings on {self.items:,} items"))
        if self.spend is not None:
            rows.append(("spent", f"{self.spend:,.2f}"))
        rows += [("estimand", f"mean of the {self.estimand}"), ("method", self.method)]
        return [FactTable(rows), Picture(lambda: spans_picture(spans, self.summary())), *noted(self.notes)]


def estimate_rated(rated: Ratings, how: EstimateOptions = DEFAULTS) -> Estimate:
    """`ratewise.estimate_mean` of records: the mean strong rating of the population, or of the pool, with an interval.

    Limiting cases: rates of 1 give the plain mean of the strong ratings; a constant weak rating gives the
    inverse-rate mean (`difference`) or the ratio mean (`regression`); one label gives no interval, nor does one
    cluster; every item its own cluster gives what no clusters give.
    """
    return with_missing(rated.checked(), how, _estimate)


def _clusters(data: Ratings, how: EstimateOptions, pool_size: float) -> tuple[int | None, Codes | None, str]:
    """How many clusters were named, a note on them, and their codes where there are several that change something."""
    if data.clusters is None:
        return None, None, ""
    if how.interval == "anytime":
        raise InputError("the anytime interval goes item by item and knows no clusters; leave out one of the two")
    codes = cluster_codes(data.clusters, data.rows)
    count = int(codes.max()) + 1
    many = f"{count:,} cluster{'s' if count > 1 else ''}"
    if count == data.items > 1:
        return count, None, f"{many}; each is a single item, so they change nothing"
    if data.items == pool_size:
        return count, None, f"{many}; they change nothing: the whole pool was looked at, and drawn item by item"
    if count == 1:
        return 1, None, f"{many}; an interval needs at least two, because items of one cluster are alike"
    return count, codes, f"{many}; the interval counts them, not items"


def _estimate(data: Ratings, how: EstimateOptions) -> Estimate:
    N = pool_of(how.estimand, how.pool_size, data.items)
    clusters, codes, cluster_note = _clusters(data, how, N)
    kind, *notes = interval_kind(data, how, None if codes is None else clusters)
    method, lines = fitted_lines(data, replace(how, method="difference") if kind == "anytime" else how, codes)
    f = lines.put(data.weak)
    delta = contributions(f, data)
    s = spread(delta, f, data, pool_size=N, codes=codes)
    alone = clusters == 1 and data.items < N
    ends, why = (None, None) if alone else interval_of(s, f, delta, data, kind, how, N)
    bounds = known_ends(data, how, kind)
    if how.bounds is not None and bounds is not None and ends is not None:
        ends = on_scale(ends, bounds)
    if clusters is not None:
        c = s.clustering
        told = f" (design effect {c.design_effect:.2f}, {s.degrees_of_freedom:.1f} degrees of freedom)" if c else ""
        notes.append(cluster_note + told)
    strong = data.strong[data.labelled]
    doubts = fitted_note(data, kind, how) + tail_note(s, data, kind, how) if ends else ()
    return Estimate(
        value=s.value if kind != "score" or ends is None else min(max(s.value, ends[0]), ends[1]),
        seen=(float(strong.min()), float(strong.max())),
        bounds=bounds,
        standard_error=math.sqrt(how.variance_factor * s.variance)
        if s.variance > 0 and data.labels > 1 and not alone
        else None,
        interval=ends,
        level=how.level,
        items=data.items,
        labels=data.labels,
        method=method,
        interval_method=kind,
        estimand=how.estimand,
        pool_size=None if math.isinf(N) else N,
        degrees_of_freedom=s.degrees_of_freedom if kind == "t" else None,
        slope=data.mean(lines.slope[:, 0]),
        clusters=clusters,
        notes=(*notes, *((why,) if why else ()), *doubts),
        contributions=delta,
    )


def fitted_lines(data: Ratings, how: EstimateOptions, codes: Codes | None = None) -> tuple[str, Lines]:
    """The line put in the weak rating's place, fitted in folds that keep clusters together; `auto` says which it took.

    Items' folds are those given, or made at random.
    """
    if data.labels == 0:
        raise InputError("no item has a strong rating; at least one is needed for an estimate, two for an interval")
    if how.method != "auto":
        return how.method, LINES[how.method](data)
    fold = data.folds
    if fold is None:
        rng = np.random.default_rng(how.seed)
        fold = rng.permutation(data.rows) % FOLDS if codes is None else cluster_folds(codes, FOLDS, rng)
    lines = cross_fitted(data, fold, folds=FOLDS)
    plain = bool(np.all(lines.intercept == 0) and np.all(lines.slope == 1))
    return "auto (difference)" if plain else "auto (cross-fitted regression)", lines


def with_missing(
    data: Ratings, how: EstimateOptions, estimate: Callable[[Ratings, EstimateOptions], Estimate]
) -> Estimate:
    """The estimate; where answers that were asked for did not come, with an interval over both of their extremes.

    It holds whatever they would have been. An item was asked for where `selected` says so, or its rate is 1.
    """
    asked = data.rates[:, -1] == 1
    if data.selected is not None:
        if data.selected.shape != asked.shape:
            raise InputError(f"selected must have one entry per item ({asked.size}); got shape {data.selected.shape}")
        mask = data.selected.astype(np.bool_)
        if np.any(data.labelled & ~mask):
            raise InputError("an item that was not selected has a strong rating; check the selected column")
        asked = asked | mask
    missing = asked & ~data.labelled
    if not missing.any():
        return estimate(data, how)
    many = f"{int(missing.sum())} answers that were asked for are missing"
    try:
        ends = needed_ends(data, how, "an estimate with answers still missing")
    except InputError as error:
        said = error.args[0]
        why = said.within(f"{many}, and ") if isinstance(said, Message) else f"{many}, and {error}"
        raise MissingAnswersError(why) from None
    filled = [replace(data, strong=np.where(missing, x, data.strong)) for x in ends]
    first, last = (estimate(each, how) for each in filled)
    counted = dict(zip(interval_kind(filled[0], how, None)[1:], interval_kind(data, how, None)[1:], strict=True))
    note = (
        f"{many}; the interval holds whatever they would have been, from {ends[0]:g} to {ends[1]:g}: the estimate lies "
        f"between {first.value:.4g} and {last.value:.4g}"
    )
    return replace(
        first, value=0.5 * (first.value + last.value), standard_error=None, seen=ends, bounds=ends,
        interval=None if first.low is None or last.high is None else (first.low, last.high), labels=data.labels,
        degrees_of_freedom=None, slope=None, unanswered=0.5 * (last.value - first.value),
        notes=(note, *(counted.get(said, said) for said in first.notes)),  # which count labels that are there
        contributions=0.5 * (first.contributions + last.contributions),
    )  # fmt: skip


# Which interval an estimate gets, and whether there can be one


def interval_kind(data: Ratings, how: EstimateOptions, clusters: int | None) -> tuple[str, ...]:
    """The kind of interval, and where `auto` chose it, why; `clusters` are those that it counts."""
    if how.interval == "anytime" and how.method not in ("auto", "difference"):
        raise InputError("the anytime interval needs method 'difference': tuning on later labels would void it")
    if how.interval != "auto":
        return (how.interval,)
    ends = None if how.bounds is not None else levels_seen(data)
    if is_binary(data):
        kind, why = "score", f"ratings are 0 or 1 ({data.labels} labels)"
    elif how.bounds is not None:
        kind, why = "score", "the ends of the scale are known"
    elif ends is not None:
        return "score", f"a score interval, on the scale from {ends[0]:g} to {ends[1]:g} that the ratings show"
    elif data.labels < MANY_LABELS:
        kind, why = "t", f"there are fewer than {MANY_LABELS} labels ({data.labels})"
    elif clusters is not None and clusters < MANY_LABELS:
        kind, why = "t", f"there are fewer than {MANY_LABELS} clusters ({clusters})"
    else:
        kind, why = "normal", f"there are {data.labels} labels"
    return kind, f"a {kind} interval, because {why}"


def levels_seen(data: Ratings) -> Interval | None:
    """Ends of a scale of a few even levels, as its ratings show them; none where they are no such levels."""
    levels = np.unique(data.strong[data.labelled])
    if not 2 <= levels.size <= _MOST_LEVELS or not in_steps(levels):
        return None
    step = float(np.diff(levels).min())
    at = (levels - levels[0]) / step
    low, high = min(levels[0], data.weak[:, 0].min()), max(levels[-1], data.weak[:, 0].max())
    if np.abs(at - np.round(at)).max() > _SAME or at[-1] > _MOST_LEVELS:
        return None
    if high - low > _MOST_LEVELS * step:
        low, high = levels[0], levels[-1]
    return float(low), float(high)


def is_binary(data: Ratings) -> bool:
    """Whether all strong ratings are 0 or 1: both of them, or one while the weak ones know no others."""
    h, g = data.strong[data.labelled], data.weak[:, 0]
    both = h.size > 0 and h.min() == 0 and h.max() == 1
    return bool(np.all((h == 0) | (h == 1)) and (both or (g.min() >= -_SAME and g.max() <= 1 + _SAME)))


def known_ends(data: Ratings, how: EstimateOptions, kind: str) -> Interval | None:
    """The ends of the rating scale as given, or as ratings show them that this kind of interval goes by."""
    if how.bounds is not None:
        return needed_ends(data, how, "the interval")
    if is_binary(data):
        return 0.0, 1.0
    return levels_seen(data) if kind == "score" and how.interval == "auto" else None


def needed_ends(data: Ratings, how: EstimateOptions, what: str) -> Interval:
    """The ends of the rating scale, as given or as 0/1 ratings show them; `what` needs them."""
    if how.bounds is None:
        if is_binary(data):
            return 0.0, 1.0
        raise InputError(Message(f"{what} needs the ends of the rating scale; give {argument('bounds=(low, high)')}"))
    low, high = how.bounds
    h = data.strong[data.labelled]
    if low >= high or (h.size and (h.min() < low or h.max() > high)):
        raise InputError(f"bounds ({low:g}, {high:g}) must be in order and hold every strong rating")
    return low, high


def interval_of(
    s: Spread, f: Floats, delta: Floats, data: Ratings, kind: str, how: EstimateOptions, pool_size: float
) -> tuple[Interval | None, str | None]:
    """The ends, or none; and what there is to say about them."""
    if kind == "anytime":
        told = how.floor is not None
        why = None if told else "anytime: no floor was given, so the least rate seen is taken for it"
        return _anytime(delta, data, how), why
    if how.estimand == "pool" and np.all(data.rates == 1) and pool_size == data.items:
        return (s.value, s.value), "every item of the pool has its strong rating: the value is exact"
    if kind == "score":
        ends = known_ends(data, how, kind) or needed_ends(data, how, "the score interval")
        beyond = "beyond the scale: the end of the scale is shown instead"
        why = None if ends[0] <= s.value <= ends[1] else f"the unbiased estimate is {s.value:.4g}, {beyond}"
        return score_interval(
            s, f, data, how.level, bounds=ends, pool_size=pool_size, factor=how.variance_factor
        ), why  # fmt: skip
    s = widened(s, how.variance_factor)
    if data.labels < 2:
        return None, "one strong rating gives no interval; get at least two"
    if s.variance <= 0:
        return None, "all contributions are equal, so their spread is unknown; give bounds and interval 'score'"
    if kind == "bootstrap":
        return bootstrap(s, how.level, resamples=how.resamples, rng=np.random.default_rng(how.seed)), None
    return {"t": student, "normal": normal}[kind](s, how.level), None


def _anytime(delta: Floats, data: Ratings, how: EstimateOptions) -> Interval:
    if data.counts is not None:
        raise InputError(
            "the anytime interval goes item by item, and rows of a large table were put together; take another interval"
        )
    if how.estimand == "pool" or data.weak.shape[1] > 1:
        raise InputError("the anytime interval is for the population's mean with one weak rater")
    low, high = needed_ends(data, how, "the anytime interval")
    g = data.weak[:, 0]
    if g.min() < low or g.max() > high:
        raise InputError(f"the anytime interval needs weak ratings within the bounds [{low:g}, {high:g}]")
    least = float(data.rates.min()) if how.floor is None else share(how.floor, name="floor", one=True)
    if data.rates.min() < least:
        raise InputError(f"a rate of {data.rates.min():g} is below the floor {least:g} the anytime interval was told")
    return confidence_sequence(delta, bounds=(low, high), floor=least, level=how.level)


def on_scale(interval: Interval, bounds: Interval) -> Interval:
    """An interval without what is beyond the scale; one that is wholly beyond it is moved to its end."""
    (low, high), (least, most) = interval, bounds
    if low >= most or high <= least:
        width = min(high - low, most - least)
        return (most - width, most) if low >= most else (least, least + width)
    return max(low, least), min(high, most)


# What an interval of Student's t, and those like it, may not hold for


def fitted_note(data: Ratings, kind: str, how: EstimateOptions) -> tuple[str, ...]:
    """The note on coefficients that are fitted on few labels and then used on the same (METHODS section 5)."""
    uneven = how.method == "regression" and np.ptp(data.rates[:, -1]) > 0  # where a few labels lead the fit
    enough = data.labels >= (MANY_LABELS if uneven and kind != "score" else _FEWEST_TO_FIT)
    kinds = (*_PLAIN_KINDS, "score") if uneven else _PLAIN_KINDS
    if how.method not in ("power-tuned", "regression") or kind not in kinds or enough:
        return ()
    return (
        f"{FITTED} {how.method!r} are fitted on the {data.labels} labels that they are used on, which are few: the "
        f"interval may miss the mean more often than {1 - how.level:.0%} of the time; method 'auto' fits them apart",
    )


# Ratings with a long tail: nothing that is computed from labels bounds what is not among them, so there is a note


def tail_note(s: Spread, data: Ratings, kind: str, how: EstimateOptions) -> tuple[str, ...]:
    """The note on a long tail; empty where the scale has ends, or the interval needs no symmetry."""
    if kind not in _PLAIN_KINDS or how.bounds is not None:
        return ()
    strong = data.strong[data.labelled]
    skewed = abs(s.skewness) > max(_SKEWED, _BY_CHANCE / max(s.labels, 1))
    if of_a_scale(strong) or not (skewed or _few_differ(strong)):
        return ()
    return (
        Message(
            f"{TAIL} (a few are far from the rest): the interval may miss the mean more often than "
            f"{1 - how.level:.0%} of the time, because the largest ratings may not be among the labels. Label "
            f"more; if the scale has ends, give {argument('bounds=(low, high)')}"
        ),
    )


def _few_differ(strong: Floats) -> bool:
    """Whether most ratings are one number, such as 0, and fewer than ten are others, on which the mean rests."""
    often = int(np.unique(strong, return_counts=True)[1].max())
    return 2 * often > strong.size and strong.size - often < _FEWEST_APART


def of_a_scale(strong: Floats) -> bool:
    """Whether ratings look like those of a scale: all from −1 to 1, or in steps over a range of at most 100."""
    if not strong.size or np.abs(strong).max() <= 1.0:
        return True
    return bool(np.ptp(strong) <= _LONGEST_SCALE and in_steps(strong))


def in_steps(strong: Floats) -> bool:
    """Whether all ratings are whole numbers, tenths, or means of a few votes."""
    steps = strong * _STEPS
    return bool(np.all(np.abs(steps - np.round(steps)) < 1e-6))


# The width that an interval will have, rehearsed before anything is bought. Near the ends of the scale an interval is
# as wide as the mistakes that may hide where labels are few, which no variance says: labels are drawn by the planned
# rates from ratings that are likely, and the estimate says how wide it gets. A pilot leaves open what the mean is and
# how often its weak ratings come up elsewhere, so each rehearsal draws both as well.


def expected_half_width(
    weak: Floats,
    chance: Floats,
    rates: Floats,
    *,
    ends: tuple[float, float],
    items: float,
    labels: float | None,
    pool_size: float | None,
    level: float,
) -> float | None:
    """Median half-width of the interval for 0/1 ratings when `items` are looked at, rows standing for as many each.

    `chance` is that of a 1, `rates` are those of the draw, `ends` are how many zeros and ones a pilot has, and `labels`
    are the most there is money for. `pool_size` is given where the pool's own mean is asked for. `None` where labels
    are so many that ± z standard errors say it, or too few to draw one.
    """
    if items * float(rates.mean()) > _MOST_LABELS or items * float(rates.mean()) < 1:
        return None
    rng = np.random.default_rng(17)
    at = np.argsort(rates + 1e-9 * weak, kind="stable")
    at = at[np.linspace(0, at.size - 1, int(min(at.size, _MOST_ROWS, items))).round().astype(np.intp)]
    g, odds, pi = weak[at], special.logit(chance[at]), rates[at]
    found = []
    for _ in range(_REHEARSALS):
        share = rng.gamma(rates.size / at.size, size=at.size)  # Bayesian bootstrap (Rubin 1981)
        share /= share.sum()
        looked = items if labels is None else min(items, labels / float(share @ pi))
        p = _moved_to(odds, share, float(rng.beta(ends[1] + 1.0, ends[0] + 1.0)))
        found.append(_rehearsed(g, p, pi, looked * share, pool_size, level, rng))
    known = [half for half in found if half is not None]
    return float(np.median(known)) if known else None


def _moved_to(odds: Floats, share: Floats, mean: float) -> Floats:
    """Chances whose log-odds are all moved alike, until their mean over these shares of the items is `mean`."""
    low, high = float(special.logit(mean) - odds.max()), float(special.logit(mean) - odds.min())
    if high > low:
        low = scipy.optimize.brentq(lambda move: float(share @ special.expit(odds + move)) - mean, low - 1, high + 1)
    return np.asarray(special.expit(odds + low))


def _rehearsed(
    g: Floats, p: Floats, pi: Floats, often: Floats, pool_size: float | None, level: float, rng: np.random.Generator
) -> float | None:
    stands = np.floor(often + rng.random(g.size)).astype(np.int64)  # for whole items
    drawn = rng.binomial(stands, pi)
    each, rest = np.repeat(np.arange(g.size), drawn), np.flatnonzero(stands - drawn)
    if each.size < 2:
        return None
    rows = np.concatenate([each, rest])
    strong = np.concatenate([(rng.random(each.size) < p[each]) * 1.0, np.full(rest.size, np.nan)])
    counts = np.concatenate([np.ones(each.size), (stands - drawn)[rest].astype(np.float64)])
    looked = float(counts.sum())
    how = EstimateOptions(
        level=level, estimand="population" if pool_size is None else "pool",
        pool_size=None if pool_size is None else max(pool_size, looked),
    )  # fmt: skip
    found = estimate_rated(Ratings(g[rows], strong, pi[rows], counts=counts), how)
    return None if found.low is None or found.high is None else (found.high - found.low) / 2
