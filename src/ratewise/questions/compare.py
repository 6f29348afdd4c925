"""`compare`: two systems on the same items, from the uncertainty of their difference."""

import html
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.names import Estimand, Method, Recalibration
from ratewise.core.result import FrameKind, frame_of_rows, shown
from ratewise.errors import InputError
from ratewise.questions.fieller import Ratio, lift, no_ratio, ratio
from ratewise.questions.rated import DrawColumns, Rate
from ratewise.questions.systems import Systems, check_names, error_probability, error_quantile, systems_of
from ratewise.tables import TableLike
from ratewise.tables.words import Positive, Scale, meaning_of

_MOST_TIMES = 1000.0  # more than so many times the ratings to tell two systems apart is not worth saying


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
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
    sentence: str
    notes: tuple[str, ...] = ()
    paired: bool = True  # False: two samples, each with items of its own

    def to_dict(self) -> dict[str, Any]:
        """The numbers, ready for JSON."""
        return {
            "names": list(self.names),
            "difference": self.difference.to_dict(),
            "first": self.first.to_dict(),
            "second": self.second.to_dict(),
            "probability_better": self.probability_better,
            "ratio": self.ratio.to_dict(),
            "relative_lift": self.relative_lift.to_dict(),
            "pairing": self.pairing,
            "paired": self.paired,
            "sentence": self.sentence,
            "notes": list(self.notes),
        }

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A row for either system and one for the difference, as a pandas, Polars or PyArrow frame."""
        named = zip((*self.names, "difference"), (self.first, self.second, self.difference), strict=True)
        return frame_of_rows([{"name": name} | e.to_dict() for name, e in named], kind)

    def summary(self) -> str:
        """The result in plain words."""
        return self.sentence

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        rows = zip((*self.names, "difference"), (self.first, self.second, self.difference), strict=True)
        head = f"<tr><th></th><th>mean</th><th>{percent(self.difference.level)} interval</th></tr>"
        body = "".join(
            f"<tr><td>{html.escape(name)}</td><td>{e.value:.4f}</td><td>{html.escape(between(e.interval))}</td></tr>"
            for name, e in rows
        )
        return f"<table>{head}{body}</table><p>{html.escape(self.sentence)}</p>"


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
    check_names(given)
    columns = (dict(zip(given, x, strict=True)) for x in (weak, strong))
    systems = systems_of(
        table, weak=next(columns), strong=next(columns), draw=DrawColumns(rate, selected, clusters),
        how=EstimateOptions(method, "auto", level, estimand, pool_size, bounds, seed=seed), recalibrate=recalibrate,
        meaning=meaning_of(positive, scale),
    )  # fmt: skip
    return compare_systems(systems, 0, 1)


def compare_systems(systems: Systems, i: int, j: int) -> Comparison:
    """System i against system j of those that were read."""
    difference, first, second = systems.difference(i, j), systems.mean(i), systems.mean(j)
    names = (systems.names[i], systems.names[j])
    quantile = error_quantile(difference, difference.level)
    found = _ratio(systems, (first, second), (i, j), quantile)
    sure = error_probability(difference)
    return Comparison(
        names=names,
        difference=difference,
        first=first,
        second=second,
        probability_better=sure,
        ratio=found,
        relative_lift=lift(found, second.value),
        pairing=_pairing(difference, first, second),
        sentence=sentence(names, difference, sure),
        notes=(*systems.notes, *difference.notes, *_why_no_sum(difference, first, second)),
    )


def _ratio(systems: Systems, means: tuple[Estimate, Estimate], of: tuple[int, int], quantile: float) -> Ratio:
    """Fieller's, with the same room for items unlike those seen as the difference has: half of it in either mean."""
    (first, second), unseen = means, systems.unseen(*of)
    if systems.missing.any():
        return Ratio(None, None, first.level, "answers are missing, so the two means have no common error")
    if first.standard_error is None and second.standard_error is None and unseen <= 0:
        return _ratio_alone(first, second)
    covariance = systems.covariance(means, systems.strong[:, list(of)], [(one, None) for one in of])
    covariance += 0.5 * unseen * np.eye(2)
    return ratio(first.value, second.value, covariance, quantile=quantile, level=first.level)


def _ratio_alone(first: Estimate, second: Estimate) -> Ratio:
    """Ratio of means without a standard error: exact where the whole pool is labelled, else without an interval."""
    none = no_ratio(first.value, second.value)
    if none is not None:
        return Ratio(None, None, first.level, none)
    value = first.value / second.value
    if first.interval == (first.value, first.value) and second.interval == (second.value, second.value):
        return Ratio(value, (value, value), first.level)
    return Ratio(value, None, first.level, "the errors of the two means are unknown")


def _pairing(difference: Estimate, first: Estimate, second: Estimate) -> float | None:
    """Var(A) + Var(B) over Var(A − B)."""
    errors = (difference.standard_error, first.standard_error, second.standard_error)
    if errors[0] is None or errors[1] is None or errors[2] is None:
        return None
    return (errors[1] ** 2 + errors[2] ** 2) / errors[0] ** 2


def _why_no_sum(difference: Estimate, first: Estimate, second: Estimate) -> tuple[str, ...]:
    gap = abs(first.value - second.value - difference.value)
    if difference.standard_error is None or gap < 0.05 * difference.standard_error:
        return ()
    return (
        "the difference is estimated directly, with weak ratings tuned to it, so it is not exactly "
        f"{first.value:.4f} − {second.value:.4f}",
    )


# In words


def sentence(names: tuple[str, str], difference: Estimate, sure: float | None) -> str:
    """What the comparison found, for people."""
    a, b = names
    if difference.interval is None:
        why = "; ".join(difference.notes)
        return f"{a} is {_above(difference.value)} {b}; how sure that is cannot be said ({why})."
    low, high = difference.interval
    likely = "" if sure is None else f"; the probability that {a} is better is {probability(sure)}"
    level = f"{percent(difference.level)} interval"
    if low > 0:
        return f"{a} is better than {b} by {signed(difference.value)} ({level} {between((low, high))}){likely}."
    if high < 0:
        gap = f"{signed(-difference.value)} ({level} {between((-high, -low))})"
        return f"{a} is worse than {b} by {gap}{likely}."
    return (
        f"{a} and {b} cannot be told apart: the difference is {signed(difference.value)} "
        f"({level} {between((low, high))}){likely}.{_needed(difference)}"
    )


def _needed(difference: Estimate) -> str:
    """A sentence on how many more ratings would decide; empty unless the population is asked about."""
    if difference.estimand != "population" or difference.interval is None or difference.standard_error is None:
        return ""
    n = difference.labels
    half = 0.5 * (difference.interval[1] - difference.interval[0])
    times = (half / abs(difference.value)) ** 2 if difference.value else math.inf
    halve = f" About {_round(3 * n):,} more items with strong ratings, at the same rates, would halve the interval"
    if times > _MOST_TIMES:
        return halve + "."
    return f"{halve}, and about {_round((times - 1) * n):,} would show a difference as large as this one."


def _round(x: float) -> int:
    """The number rounded up to two digits, at least one: more would pretend to be exact."""
    if x <= 1:
        return 1
    unit = 10 ** max(math.floor(math.log10(x)) - 1, 0)
    return int(math.ceil(x / unit - 1e-9) * unit)


def _above(value: float) -> str:
    if value == 0:
        return "level with"
    return f"{signed(abs(value))} {'above' if value > 0 else 'below'}"


def percent(level: float) -> str:
    """A level as people write it."""
    return f"{100 * level:g} %"


def probability(p: float) -> str:
    """A probability in percent, never 0 or 100."""
    if p > 0.999:
        return "above 99.9 %"
    if p < 0.001:
        return "below 0.1 %"
    return f"{100 * p:.1f} %"


def signed(x: float) -> str:
    """Four digits after the point, with a minus sign that is one; more for small numbers."""
    digits = 4 if abs(x) >= 0.001 or x == 0 else 3 - math.floor(math.log10(abs(x)))
    return f"{x + 0.0:.{digits}f}".replace("-", "−")  # no minus before a zero


def between(interval: tuple[float, float] | None) -> str:
    """An interval as people write it."""
    if interval is None:
        return "none"
    return f"{signed(interval[0])} to {signed(interval[1])}"
