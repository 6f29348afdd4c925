"""`compare` and `compare_many`: systems on the same items, from the uncertainty of their differences."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.document import Column, DataTable, Part, Sentence, Style, noted
from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.gate import rounded_up
from ratewise.core.intervals import normal_draws, simultaneous_quantile
from ratewise.core.messages import Message, argument
from ratewise.core.names import Estimand, Method, Recalibration
from ratewise.core.result import Result
from ratewise.errors import InputError
from ratewise.questions.rated import Rate, TableColumns
from ratewise.questions.systems import Systems, error_probability, error_quantile, read_systems
from ratewise.tables import TableLike
from ratewise.tables.words import Positive, Scale, meaning_of

_MOST_TIMES = 1000.0  # more than so many times the ratings to tell two systems apart is not worth saying


@dataclass(frozen=True, slots=True, repr=False)
class Ratio(Result):
    """One mean over another, less a part of it for the lift; `None` with the reason where there is no such number."""

    value: float | None
    interval: tuple[float, float] | None
    level: float
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        low, high = self.interval or (None, None)
        return {"value": self.value, "low": low, "high": high, "level": self.level, "reason": self.reason}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Comparison(Result):
    """A against B on the same items; a higher rating counts as better. Undefined is `None` with a reason in `notes`.

    `probability_better` is the confidence distribution of the difference at 0: one minus the one-sided p-value of "A is
    not better". It is above 97.5 % exactly where the 95 % interval is above 0. It is no Bayesian posterior with a prior
    of one's own, and says nothing of how much better A is, nor of a single answer.

    `difference` is estimated from the items' differences, `first` and `second` each from its own ratings; where weak
    ratings are tuned, each for itself, the first less the second is close to the difference and not the same.
    `pairing` is how many times the ratings two separate samples would need for the same precision.
    """

    names: tuple[str, str]
    difference: Estimate
    first: Estimate
    second: Estimate
    probability_better: float | None
    ratio: Ratio
    relative_lift: Ratio
    pairing: float | None
    paired: bool  # False: two samples, each with items of its own
    sentence: str
    notes: tuple[str, ...] = ()

    def named(self) -> list[tuple[str, Estimate]]:
        """Either mean and the difference, by name."""
        return list(zip((*self.names, "difference"), (self.first, self.second, self.difference), strict=True))

    def _rows(self) -> list[dict[str, Any]]:
        return [{"name": name} | e.to_dict() for name, e in self.named()]

    def summary(self) -> str:
        return self.sentence

    def document(self) -> list[Part]:
        table = DataTable([
            Column("", "name"), Column("value"), Column(f"{percent(self.difference.level)} interval"),
            Column("std. error", leaves=1),
        ])  # fmt: skip
        for name, e in self.named():
            error = "–" if e.standard_error is None else f"{e.standard_error:.4f}"
            style: Style = "strong" if e is self.difference else ""
            table.add(name, signed(e.value), between(e.interval), error, style=style)
        for name, r, told in (("ratio", self.ratio, signed), ("relative lift", self.relative_lift, lifted)):
            value = "none" if r.value is None else told(r.value)
            table.add(name, value, "none" if r.interval is None else " to ".join(map(told, r.interval)), "")
        if self.paired:
            d, times = self.difference, self.pairing
            rests = f"Rests on {d.labels:,} items with both strong ratings, of {d.items:,}"
            if times is not None:
                many = f"{times:.1f}" if times < _MANY_TIMES else f"more than {_MANY_TIMES}"
                rests += f"; two separate samples would need {many} times as many"
        else:
            sides = (f"{e.labels:,} strong ratings of {e.items:,} items" for e in (self.first, self.second))
            rests = f"Rests on {' and '.join(sides)}"
        reasons = (self.ratio.reason,) if self.ratio.reason else ()
        rested = Sentence(f"{rests}.", "quiet")
        return [table, Sentence(), Sentence(self.sentence), rested, *noted(reasons + self.notes)]


_MANY_TIMES = 100  # beyond it the figure says only that the two systems hardly ever differ


Verdict = Literal["better", "worse", "undecided"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Rival(Result):
    """One system against the baseline; the difference's interval holds together with those of the others."""

    name: str
    mean: Estimate
    difference: Estimate
    probability_better: float | None  # of this comparison alone
    p_value: float | None  # two-sided, of this comparison alone
    adjusted_p_value: float | None  # that any of all the comparisons would be as far from 0, were there no difference
    verdict: Verdict

    def row(self) -> dict[str, Any]:
        """The numbers side by side, for a table."""
        d = self.difference
        numbers = {"difference": d.value, "standard_error": d.standard_error, "low": d.low, "high": d.high}
        rest = ("probability_better", "p_value", "adjusted_p_value", "verdict")
        return {"name": self.name, "mean": self.mean.value} | numbers | {name: getattr(self, name) for name in rest}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ManyComparisons(Result):
    """Every system against the baseline, best first; all intervals hold together at `level`.

    `each_level` is the level that each interval has alone: higher, so that all of them hold at once.
    """

    baseline: str
    baseline_mean: Estimate
    rivals: tuple[Rival, ...]
    level: float
    each_level: float
    sentence: str
    notes: tuple[str, ...] = ()

    def of(self, name: str) -> Rival:
        """One system's row."""
        rivals = {rival.name: rival for rival in self.rivals}
        if name not in rivals:
            raise InputError(f"no system is called {name!r}; there are {', '.join(rivals)}")
        return rivals[name]

    def _rows(self) -> list[dict[str, Any]]:
        return [rival.row() for rival in self.rivals]

    def summary(self) -> str:
        return self.sentence

    def document(self) -> list[Part]:
        table = DataTable([
            Column("system", "name"), Column("mean", leaves=2), Column("difference"),
            Column(f"{percent(self.level)} interval"), Column("adjusted p", leaves=3), Column("better", leaves=1),
            Column(""),
        ])  # fmt: skip
        styles: dict[Verdict, Style] = {"better": "best", "worse": "warning", "undecided": ""}
        for r in self.rivals:
            p, sure = r.adjusted_p_value, r.probability_better
            table.add(
                r.name, f"{r.mean.value:.4f}", signed(r.difference.value), between(r.difference.interval),
                "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}",
                "–" if sure is None else probability(sure), r.verdict, style=styles[r.verdict],
            )  # fmt: skip
        table.add(self.baseline, f"{self.baseline_mean.value:.4f}", "", "", "", "", "baseline", style="quiet")
        d = self.rivals[0].difference
        legend = (
            f"The intervals hold together: the chance that any of them is wrong is {percent(1 - self.level)}. better: "
            f"the probability of each comparison alone. {d.labels:,} items with strong ratings, of {d.items:,}."
        )
        return [table, Sentence(legend, "quiet"), Sentence(), Sentence(self.sentence), *noted(self.notes)]


def compare(
    table: TableLike,
    *,
    weak: tuple[str, str],
    strong: tuple[str, str],
    rate: Rate = None,
    selected: str | None = None,
    names: tuple[str, str] | None = None,
    method: Method = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: str | None = None,
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Comparison:
    """The first system against the second: how much higher its mean strong rating is, and how sure that is.

    `weak` and `strong` name the columns of the two systems' ratings of the same items; `rate` is the probability with
    which an item got both strong ratings. An item with one of the two was asked for the other: that answer is missing,
    and is counted at both ends of the scale (`bounds`, not needed for 0/1 ratings), as are those that the column
    `selected` says were asked for. `clusters` names a column of items that belong together. `names` are what the
    sentence calls the systems (the strong columns' names if absent). Where lower ratings are better, swap the two.
    Ratings may be words, see `estimate_table` for `positive` and `scale`.

    Limiting cases: rates of 1 give the paired t test, for 0/1 ratings with half an item more in favour of either
    system (Agresti and Min 2005); systems that never differ have no interval, unless the scale's ends are known; a
    second mean near 0 gives no interval for the ratio.
    """
    given = strong if names is None else names
    if len(weak) != 2 or len(strong) != 2 or len(given) != 2:
        raise InputError("a comparison is of two systems: give two weak columns, two strong columns and two names")
    draw = TableColumns(None, None, rate, selected, clusters)
    how = EstimateOptions(method, "auto", level, estimand, pool_size, bounds, seed=seed)
    return of_pair(read_systems(table, given, weak, strong, draw, how, recalibrate, meaning_of(positive, scale)))


def compare_many(
    table: TableLike,
    *,
    baseline: str,
    weak: Mapping[str, str],
    strong: Mapping[str, str],
    rate: Rate = None,
    selected: str | None = None,
    method: Method = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: str | None = None,
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> ManyComparisons:
    """All systems against one of them, on the same items, with one probability that any interval is wrong.

    `weak` and `strong` give each system's columns by its name. The intervals come from the joint covariance of the
    differences, which share the baseline and the items (as Dunnett's do): narrower than Bonferroni's. Student's
    correction for few labels is each difference's own. Where answers are missing there is no common covariance, and
    the intervals are Bonferroni's, each with the missing answers at both ends of the scale.

    Limiting case: one system besides the baseline gives `compare`'s interval.
    """
    if set(weak) != set(strong):
        odd = min(set(weak) ^ set(strong))
        raise InputError(f"system {odd!r} needs a weak and a strong column; it is named in one of the two only")
    if len(strong) < 2 and baseline in strong:
        raise InputError("give at least one system besides the baseline")
    order = against(list(strong), baseline)
    draw = TableColumns(None, None, rate, selected, clusters)
    how = EstimateOptions(method, "auto", level, estimand, pool_size, bounds, seed=seed)
    g, h = [weak[name] for name in order], [strong[name] for name in order]
    return of_many(read_systems(table, order, g, h, draw, how, recalibrate, meaning_of(positive, scale)))


def against(names: Sequence[str], baseline: str | None) -> list[str]:
    """The systems' names with the baseline last; of two systems the second is it, where none is named."""
    if baseline is None and len(names) != 2:
        choices = ", ".join(names)
        raise InputError(Message(f"{len(names)} systems need a {argument('baseline')}; choose one of {choices}"))
    last = names[1] if baseline is None else baseline
    if last not in names:
        raise InputError(f"the baseline {last!r} is no system; choose one of {', '.join(names)}")
    return [*(name for name in names if name != last), last]


def of_pair(systems: Systems) -> Comparison:
    """The first of two systems against the second."""
    found = difference, first, second = systems.difference(0, 1), systems.mean(0), systems.mean(1)
    gap, error = abs(first.value - second.value - difference.value), difference.standard_error
    notes = (*systems.notes, *difference.notes)
    if error is not None and gap >= 0.05 * error:
        notes += (
            "the difference is estimated by itself, which is more precise than one mean less the other, and so it is "
            "not quite equal to that",
        )
    names = (systems.names[0], systems.names[1])
    return compared(names, found, error_probability(difference), _ratio(systems, found), notes)


def compared(
    names: tuple[str, str], found: tuple[Estimate, Estimate, Estimate], sure: float | None, ratio: Ratio,
    notes: tuple[str, ...], *, paired: bool = True,
) -> Comparison:  # fmt: skip
    """The comparison of a difference and two means, with what follows from them."""
    difference, first, second = found
    d, a, b = (e.standard_error for e in found)
    pairing = None if d is None or a is None or b is None else (a**2 + b**2) / d**2  # Var(A) + Var(B) over Var(A − B)
    said = sentence(names, difference, sure)
    return Comparison(
        names, difference, first, second, sure, ratio, lift(ratio, second.value), pairing, paired, said, notes
    )


def of_many(systems: Systems) -> ManyComparisons:
    """All systems against the last one."""
    K, how = len(systems.names) - 1, systems.how
    alone = [systems.difference(k, K) for k in range(K)]
    covariance, each = _together(systems, alone)
    sure = [error_probability(e) for e in alone]
    raw = [None if p is None else 2 * min(p, 1 - p) for p in sure]
    adjusted = _adjusted(raw, covariance, seed=how.seed)
    together = [replace(systems.difference(k, K, level=each), level=how.level) for k in range(K)]
    notes = systems.notes
    if systems.missing().any() and K > 1:
        notes += ("answers are missing, so the intervals hold together by Bonferroni's correction",)
    means = [systems.mean(k) for k in range(K + 1)]
    return _of_rivals(systems.names, means, together, sure, raw, adjusted, level=how.level, each=each, notes=notes)


def of_many_apart(
    names: Sequence[str], means: Sequence[Estimate], differences: Sequence[Estimate], sure: Sequence[float | None], *,
    level: float, each: float, notes: tuple[str, ...],
) -> ManyComparisons:  # fmt: skip
    """Systems whose rows were drawn each at rates of their own against the last one, with Bonferroni's correction."""
    raw = [None if p is None else 2 * min(p, 1 - p) for p in sure]
    adjusted = _adjusted(raw, None, seed=0)
    return _of_rivals(names, means, differences, sure, raw, adjusted, level=level, each=each, notes=notes)


def _of_rivals(
    names: Sequence[str], means: Sequence[Estimate], differences: Sequence[Estimate], sure: Sequence[float | None],
    raw: Sequence[float | None], adjusted: Sequence[float | None], *, level: float, each: float,
    notes: tuple[str, ...],
) -> ManyComparisons:  # fmt: skip
    """All differences from the last system, best first."""
    rivals = []
    for k, d in enumerate(differences):
        verdict: Verdict = "undecided"
        if d.interval is not None and not d.interval[0] <= 0 <= d.interval[1]:
            verdict = "better" if d.interval[0] > 0 else "worse"
        rivals.append(Rival(names[k], means[k], d, sure[k], raw[k], adjusted[k], verdict))
    rivals.sort(key=lambda rival: -rival.difference.value)
    said = _many_in_words(names[-1], rivals, level)
    return ManyComparisons(names[-1], means[-1], tuple(rivals), level, each, said, notes + _own_notes(rivals))


# Several differences together


def _together(systems: Systems, found: Sequence[Estimate]) -> tuple[Floats | None, float]:
    """The joint covariance, and the level at which each interval must hold for all to hold at once."""
    level, K = systems.how.level, len(found)
    if systems.missing().any() or all(e.standard_error is None for e in found):
        return None, 1 - (1 - level) / K
    h = systems.items.strong
    unseen = np.array([systems.unseen(h[:, k] - h[:, K]) for k in range(K)])
    covariance = systems.covariance(found, [(k, K) for k in range(K)])
    covariance += 0.5 * (np.diag(unseen) + np.sqrt(np.outer(unseen, unseen)))  # the baseline's half is in all
    if K == 1 or not np.any(np.diag(covariance) > 0):
        return covariance, level
    c = simultaneous_quantile(covariance, level, seed=systems.how.seed)
    return covariance, float(np.clip(2 * special.ndtr(c) - 1, level, 1 - (1 - level) / K))


def _adjusted(raw: list[float | None], covariance: Floats | None, *, seed: int) -> list[float | None]:
    """P(the largest of all |errors| is as far out), each p-value first put on the normal's scale.

    Between the p-value itself and Bonferroni's K times it, whatever the draws say.
    """
    K = len(raw)
    if covariance is None:
        return [None if p is None else min(1.0, K * p) for p in raw]
    sd = np.sqrt(np.diag(covariance))
    use = sd > 0
    if not use.any():
        return [None] * K
    largest = np.abs(normal_draws(covariance[np.ix_(use, use)], seed=seed) / sd[use]).max(axis=1)

    def beyond(p: float) -> float:
        return float(np.mean(largest >= -special.ndtri(max(p, 1e-300) / 2)))

    return [None if p is None else float(np.clip(beyond(p), p, min(1.0, K * p))) for p in raw]


# The ratio of two means


def ratio(first: float, second: float, covariance: Floats, *, quantile: float, level: float) -> Ratio:
    """first / second with the set of all ρ that a test of E[first − ρ second] = 0 does not reject (Fieller).

    (a − ρ b)² ≤ q² (v_aa − 2 ρ v_ab + ρ² v_bb), a parabola in ρ: an interval where b is clearly away from 0, that is
    b² > q² v_bb; else the set is unbounded and there is none. `covariance` is that of the two estimates (2 × 2).

    Limiting cases: v_bb = v_ab = 0 gives the first one's interval over b; no variance at all gives the ratio alone.
    """
    a, b, q2 = first, second, quantile**2
    v_aa, v_ab, v_bb = float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])
    A, B, C = b * b - q2 * v_bb, a * b - q2 * v_ab, a * a - q2 * v_aa
    if b == 0 or not math.isfinite(a / b):
        return Ratio(None, None, level, "the second mean is 0 or too close to it, so there is no ratio to it")
    if A <= 0:
        return Ratio(a / b, None, level, "the second mean is not clearly away from 0, so the ratio has no bounds")
    if v_aa <= 0 and v_bb <= 0:
        return Ratio(a / b, None, level, "the errors of the two means are unknown")
    half = math.sqrt(max(B * B - A * C, 0.0))
    return Ratio(a / b, ((B - half) / A, (B + half) / A), level)


def lift(found: Ratio, second: float) -> Ratio:
    """(first − second) / |second|: above 0 where the first is higher, also where the second mean is below 0."""
    if found.value is None:
        return found
    sign = math.copysign(1.0, second)
    ends = None if found.interval is None else sorted(sign * (x - 1.0) for x in found.interval)
    return replace(found, value=sign * (found.value - 1.0), interval=None if ends is None else (ends[0], ends[1]))


def _ratio(systems: Systems, found: tuple[Estimate, Estimate, Estimate]) -> Ratio:
    """Fieller's, with the same room for items unlike those seen as the difference has: half of it in either mean.

    Means without a standard error are exact where the whole pool is labelled; else there is no interval.
    """
    (difference, first, second), h = found, systems.items.strong
    unseen = systems.unseen(h[:, 0] - h[:, 1])
    if systems.missing().any():
        return Ratio(None, None, first.level, "answers are missing, so the two means have no common error")
    if first.standard_error is None and second.standard_error is None and unseen <= 0:
        alone = ratio(first.value, second.value, np.zeros((2, 2)), quantile=0.0, level=first.level)
        if alone.value is None or any(e.interval != (e.value, e.value) for e in (first, second)):
            return alone
        return replace(alone, interval=(alone.value, alone.value), reason=None)
    covariance = systems.covariance((first, second), [(0, None), (1, None)]) + 0.5 * unseen * np.eye(2)
    return ratio(first.value, second.value, covariance, quantile=error_quantile(difference), level=first.level)


# In words


def sentence(names: tuple[str, str], difference: Estimate, sure: float | None) -> str:
    """The result of a comparison in plain words."""
    (a, b), value = names, difference.value
    if difference.interval is None:
        above = f"{signed(abs(value))} {'above' if value > 0 else 'below'}" if value else "level with"
        return f"{a} is {above} {b}; how sure that is cannot be said ({'; '.join(difference.notes)})."
    low, high = difference.interval
    likely = "" if sure is None else f"; the probability that {a} is better is {probability(sure)}"
    level = f"{percent(difference.level)} interval"
    if low > 0:
        return f"{a} is better than {b} by {signed(value)} ({level} {between((low, high))}){likely}."
    if high < 0:
        return f"{a} is worse than {b} by {signed(-value)} ({level} {between((-high, -low))}){likely}."
    return (
        f"{a} and {b} cannot be told apart: the difference is {signed(value)} "
        f"({level} {between((low, high))}){likely}.{_needed(difference)}"
    )


def _needed(difference: Estimate) -> str:
    """A sentence on how many more ratings would decide; empty unless the population is asked about."""
    if difference.estimand != "population" or difference.interval is None or difference.standard_error is None:
        return ""
    n = difference.labels
    half = 0.5 * (difference.interval[1] - difference.interval[0])
    times = (half / abs(difference.value)) ** 2 if difference.value else math.inf
    halve = f" About {rounded_up(3 * n):,} more items with strong ratings, at the same rates, would halve the interval"
    if times > _MOST_TIMES:
        return halve + "."
    return f"{halve}, and about {rounded_up(max((times - 1) * n, 1.0)):,} would show a difference as large as this one."


def _many_in_words(baseline: str, rivals: Sequence[Rival], level: float) -> str:
    said = []
    for verdict, words in (("better", "better than"), ("worse", "worse than"), ("undecided", "not told apart from")):
        names = [r.name for r in rivals if r.verdict == verdict]
        if names:
            said.append(f"{_listed(names)} {'is' if len(names) == 1 else 'are'} {words} {baseline}")
    return f"{'; '.join(said)} ({percent(level)} intervals that hold together)."


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _own_notes(rivals: Sequence[Rival]) -> tuple[str, ...]:
    """Every note of the comparisons once; a note of only some of them names these."""
    notes: dict[str, list[str]] = {}
    for rival in rivals:
        for note in rival.difference.notes:
            notes.setdefault(note, []).append(rival.name)
    return tuple(note if len(names) == len(rivals) else f"{_listed(names)}: {note}" for note, names in notes.items())


def percent(level: float) -> str:
    """A level as people write it."""
    return f"{100 * level:g} %"


def probability(p: float) -> str:
    """A probability in percent, never 0 or 100."""
    if p > 0.999:
        return "above 99.9 %"
    return "below 0.1 %" if p < 0.001 else f"{100 * p:.1f} %"


def signed(x: float) -> str:
    """Four digits after the point, with a minus sign that is one; more for small numbers."""
    digits = 4 if abs(x) >= 0.001 or x == 0 else 3 - math.floor(math.log10(abs(x)))
    return f"{x + 0.0:.{digits}f}".replace("-", "−")  # no minus before a zero


def lifted(x: float) -> str:
    """A lift in percent, with its sign."""
    return f"{100 * x:+.1f} %".replace("-", "−")


def between(interval: tuple[float, float] | None) -> str:
    """An interval as people write it."""
    return "none" if interval is None else f"{signed(interval[0])} to {signed(interval[1])}"
