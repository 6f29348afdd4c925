"""`check`: is the mean at least so much, or no worse than the last one? Yes, no, or how many labels would tell."""

import math
from dataclasses import dataclass
from typing import Any, Literal

from scipy import special

from ratewise.core.checks import number, share, usual_ends
from ratewise.core.document import Heading, Part, Sentence, grid_of, listed
from ratewise.core.estimate import Estimate
from ratewise.core.intervals import Interval
from ratewise.core.names import Estimand, IntervalMethod, Method, Recalibration
from ratewise.core.result import Result
from ratewise.errors import InputError, Message, argument
from ratewise.questions.comparison import Comparison, between, compare_tables, percent, rounded_up, signed
from ratewise.questions.estimation import estimate_table
from ratewise.questions.rated import Rate, Strong, TableColumns
from ratewise.tables import TableLike
from ratewise.tables.words import Positive, Scale, meaning_of

GateVerdict = Literal["yes", "no", "cannot tell"]
POWER = 0.8  # chance that the labels asked for will tell
_MOST_TIMES = 1000.0  # more than so many times the labels is not worth saying


def gate(interval: Interval | None, bar: float) -> GateVerdict:
    """Yes where all of the interval is at or above the bar, no where all of it is below.

    A two-sided interval at level 1 − α is wrong on one side with probability α/2: so often, at most, is a yes wrong
    whatever the truth is below the bar, and a no whatever it is above.
    """
    if interval is None or not interval[0] <= interval[1]:
        return "cannot tell"
    if interval[0] >= bar:
        return "yes"
    return "no" if interval[1] < bar else "cannot tell"


def times_to_tell(
    value: float, interval: Interval, bar: float, *, level: float, bounds: Interval | None = None
) -> float | None:
    """How many times the labels would tell with 80 % chance if the mean is as estimated; `None` if hardly any would.

    Widths fall as one over the root of the labels. On a bounded scale the variance is smaller near its ends: it is
    taken at the bar for the test and at the estimate for the chance, as for a proportion.
    """
    z, more = float(special.ndtri(0.5 + level / 2)), float(special.ndtri(POWER))
    end = interval[0] if value > bar else interval[1]
    gap, width = abs(value - bar), abs(value - end)
    if gap <= 0 or not math.isfinite(width):
        return None
    times = (width * (1 + more / z) / gap) ** 2
    if bounds is not None:
        times = _bounded(value, end, bar, bounds, z, more) or times
    return max(times, 1.0) if times <= _MOST_TIMES else None


def _bounded(value: float, end: float, bar: float, bounds: Interval, z: float, more: float) -> float | None:
    """Factor on the labels by a score test: what the bar takes, over what put the interval's end where it is."""
    low, high = bounds
    v, e, b = (min(max((x - low) / (high - low), 0.0), 1.0) for x in (value, end, bar))
    if not (0 < e < 1 and 0 < b < 1) or v in (e, b):
        return None
    there = z * z * e * (1 - e) / (v - e) ** 2
    return ((z * math.sqrt(b * (1 - b)) + more * math.sqrt(v * (1 - v))) / (v - b)) ** 2 / there


def labels_to_tell(labels: int, times: float, *, pool_size: float = math.inf) -> int:
    """Labels times this factor, rounded up to two digits; at most the pool, for the pool's own mean.

    Its squared error goes with 1/n − 1/N instead of 1/n.
    """
    if math.isfinite(pool_size):
        more = 1.0 / ((1.0 / labels - 1.0 / pool_size) / times + 1.0 / pool_size) if labels < pool_size else labels
        return min(rounded_up(max(more, labels + 1)), max(int(pool_size), labels))
    return rounded_up(max(times * labels, labels + 1))


_MARKS = {"yes": "✅ yes", "no": "❌ no", "cannot tell": "❓ cannot tell yet"}


# The question


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Check(Result):
    """The verdict on one question, the estimate it rests on, and the labels (in all) that would tell.

    `estimate` is the mean, or the difference to the last table: the verdict is yes where its interval is at or above
    `bar`, no where it is below, and otherwise there are too few labels. `labels_needed` is `None` where the verdict is
    clear, and where hardly any number of labels would tell because the estimate is next to the bar.
    """

    verdict: GateVerdict
    question: str
    sentence: str
    bar: float
    estimate: Estimate
    labels_needed: int | None = None
    comparison: Comparison | None = None
    notes: tuple[str, ...] = ()

    @property
    def level(self) -> float:
        """Confidence level of the interval."""
        return self.estimate.level

    def to_dict(self) -> dict[str, Any]:
        return Result.to_dict(self) | {"level": self.level, "labels": self.estimate.labels}

    def summary(self) -> str:
        return self.sentence

    def document(self) -> list[Part]:
        """The verdict, and the estimates that it rests on."""
        means = [("mean", self.estimate)] if self.comparison is None else self.comparison.named()
        rows = ((name, signed(e.value), between(e.interval), f"{e.labels:,}", f"{e.items:,}") for name, e in means)
        table = grid_of(("", "estimate", f"{percent(self.level)} interval", "strong ratings", "items"), rows)
        return [
            Heading(f"{_MARKS[self.verdict]}: {self.question}", 3),
            Sentence(self.sentence),
            table,
            *listed(self.notes),
        ]


def check(
    table: TableLike,
    *,
    strong: Strong | None = None,
    weak: str | None = None,
    at_least: float | str | None = None,
    no_worse_than: TableLike | None = None,
    margin: float | str | None = None,
    last: TableColumns | None = None,
    rate: Rate = None,
    selected: str | None = None,
    clusters: str | None = None,
    id: str | None = None,
    method: Method = "auto",
    interval: IntervalMethod = "auto",
    level: float = 0.95,
    estimand: Estimand | None = None,
    pool_size: float | None = None,
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Check:
    """Is the mean strong rating at least `at_least`, or no more than `margin` below that of the table `no_worse_than`?

    The answer is yes only if the whole two-sided interval at `level` is at or above the bar, and no only if all of it
    is below: at 95 %, either answer is wrong in at most about 2.5 % of cases. Otherwise the verdict is "cannot tell",
    with the number of labels that would tell in four of five cases if the mean is as estimated. Items of the last
    table may be the same or others, see `compare_tables`; `last` names its columns where they are called differently.
    Of ratings from 0 to 1, the bar may be "97%" and the margin "1pp". A bar beyond the ratings' scale, or a margin as
    wide as it, is refused. The export of a campaign needs no columns.
    """
    share(level, name="level")
    stated = meaning_of(positive, scale).bounds if bounds is None else bounds
    if (at_least is None) == (no_worse_than is None):
        raise _refused(
            f"ask one thing: {argument('at_least')} (such as 0.8), or {argument('no_worse_than')} (a table) with "
            f"{argument('margin')}"
        )
    if no_worse_than is None:
        if margin is not None or last is not None:
            raise _refused(f"a margin and the last table's columns go with {argument('no_worse_than')}; leave them out")
        found = estimate_table(
            table, weak=weak, strong=strong, rate=rate, selected=selected, clusters=clusters, method=method,
            interval=interval, level=level, estimand=estimand, pool_size=pool_size, recalibrate=recalibrate,
            bounds=(None, None) if bounds is None else bounds, positive=positive, scale=scale, seed=seed,
        )  # fmt: skip
        ends, (low, high, room) = (found.bounds if stated is None else stated), _scale(stated, found)
        bar = _number(at_least, "at_least", "%", "in percent", low, high)
        if not low - room <= bar <= high + room:
            meant = f"; give {argument('bounds=(low, high)')} where the scale goes further"
            if high == 1 and 1 < bar <= 100:
                meant = f": did you mean {bar / 100:g} ({bar:g}%)?"
            outside = f"is outside the ratings, which are from {low:g} to {high:g}{meant}"
            raise _refused(f"{argument('at_least')} {bar:g} {outside}")
        return _check_mean(found, bar, ends)
    if margin is None:
        raise _refused(
            f"{argument('no_worse_than')} needs a margin: how much lower is still no worse; give "
            f"{argument('margin')}, such as 0.02"
        )
    if interval != "auto" or pool_size is not None:
        raise _refused(
            f"{argument('interval')} and {argument('pool_size')} are for {argument('at_least')}; leave them out"
        )
    compared = compare_tables(
        table, no_worse_than, weak=weak, strong=strong, rate=rate, selected=selected, clusters=clusters, id=id,
        last=last, method=method, level=level, estimand=estimand, recalibrate=recalibrate, bounds=bounds,
        positive=positive, scale=scale, seed=seed,
    )  # fmt: skip
    low, high, room = _scale(stated, compared.first, compared.second)
    drop = number(_number(margin, "margin", "pp", "in pp", low, high), name="margin", minimum=0)
    if not drop < high - low + 2 * room:
        meant = f": did you mean {drop / 100:g} ({drop:g}pp)?" if high == 1 and drop < 100 else "; give a smaller one"
        ratings = f"the ratings are from {low:g} to {high:g}{meant}"
        raise _refused(f"{argument('margin')} {drop:g} lets everything pass, since {ratings}")
    return _check_difference(compared, drop)


def _refused(message: str) -> InputError:
    return InputError(Message(message))


# What was asked, in the ratings' own units


def _scale(bounds: tuple[float, float] | None, *means: Estimate) -> tuple[float, float, float]:
    """The ends of the ratings' scale, and how far it may go on beyond them.

    As stated; else from 0 to 1 where all ratings are; else from 1 to 5, 7 or 10 where the least and the greatest are
    whole numbers on it; else those seen, and as much again on either side.
    """
    seen = [mean.seen for mean in means if mean.seen is not None]
    if bounds is not None:
        return *bounds, 0.0
    if not seen:
        return -math.inf, math.inf, math.inf
    low, high = min(low for low, _ in seen), max(high for _, high in seen)
    if low >= 0 and high <= 1:
        return 0.0, 1.0, 0.0
    usual = usual_ends(low, high)
    return (low, high, high - low) if usual is None else (*usual, 0.0)


def _number(given: float | str | None, name: str, unit: str, said: str, low: float, high: float) -> float:
    """A number, or a text of one; with this unit it is in hundredths of a scale from 0 to 1."""
    text = given.strip() if isinstance(given, str) else ""
    ending = next((each for each in ("%", "pp") if text.endswith(each)), "")
    if ending not in ("", unit):
        raise _refused(f"{argument(name)} {text!r} is not clear; write {text.removesuffix(ending)}{unit}")
    value = number(text.removesuffix(ending) if text else given, name=name)
    if ending and (low, high) != (0.0, 1.0):
        ratings = f"these are from {low:g} to {high:g}"
        raise _refused(f"{argument(name)} {said} is for ratings from 0 to 1, and {ratings}; give a number")
    return value / 100 if ending else value


# Verdicts


def _check_mean(found: Estimate, bar: float, ends: tuple[float, float] | None) -> Check:
    """Whether a mean of ratings on a scale with these ends is at least `bar`."""
    needed = None
    if found.interval is not None:
        times = times_to_tell(found.value, found.interval, bar, level=found.level, bounds=ends)
        pool = math.inf if found.pool_size is None else found.pool_size
        needed = None if times is None else labels_to_tell(found.labels, times, pool_size=pool)
    yes, no = f"the mean is at least {bar:g}", f"the mean is below {bar:g}"
    return _checked(found, bar, f"is the mean at least {bar:g}?", yes, no, needed, _in_all(found, needed))


def _check_difference(compared: Comparison, margin: float) -> Check:
    """Whether the first mean is no more than `margin` below the second."""
    d, (a, b) = compared.difference, compared.names
    needed, whose = _labels_for_difference(compared, -margin)
    if margin:
        question, no = f"is {a} no worse than {b}, within {margin:g}?", f"{a} is worse than {b} by more than {margin:g}"
        yes = f"{a} is no more than {margin:g} worse than {b}"
    else:
        question, yes, no = f"is {a} no worse than {b}?", f"{a} is no worse than {b}", f"{a} is worse than {b}"
    return _checked(d, -margin, question, yes, no, needed, whose, compared)


def _checked(
    e: Estimate, bar: float, question: str, yes: str, no: str, needed: int | None, whose: str,
    compared: Comparison | None = None,
) -> Check:  # fmt: skip
    """The verdict on whether a mean or a difference is at least `bar`, and how many labels would tell."""
    verdict = gate(e.interval, bar)
    from_labels = f"{percent(e.level)} interval {between(e.interval)}, from {e.labels:,} strong ratings"
    seen = f"the estimate is {signed(e.value)} ({from_labels})"
    if verdict != "cannot tell":
        needed, said = None, f"Yes: {yes}; {seen}." if verdict == "yes" else f"No: {no}; {seen}."
    else:
        what = "mean" if compared is None else "difference"
        hint = (
            (
                f"About {needed:,} strong ratings{whose}, at the same rates, would tell with a chance of "
                f"{percent(POWER)} if the {what} is as estimated."
            )
            if needed is not None
            else "The estimate is so close to the bar that hardly any number of labels would tell."
        )
        if e.interval is None:
            hint = f"There is no interval: {'; '.join(e.notes)}."
        said = f"Cannot tell yet whether {yes}: {seen}. {hint}"
    notes = e.notes if compared is None else tuple(dict.fromkeys((*compared.notes, *e.notes)))
    return Check(verdict, question, said, bar, e, needed, compared, notes)


def _in_all(e: Estimate, needed: int | None) -> str:
    """That ratings are counted in all, and where they are more than there are items, that it takes more of those."""
    more = needed is not None and needed > e.items
    return (
        f" in all (more than the {e.items:,} items that were looked at, so it takes more items)" if more else " in all"
    )


def _labels_for_difference(c: Comparison, bar: float) -> tuple[int | None, str]:
    """Labels in all, and whose: those of both tables, unless the last one's own error leaves room without them."""
    d, first, second = c.difference, c.first, c.second
    times = None if d.interval is None else times_to_tell(d.value, d.interval, bar, level=d.level)
    if times is None:
        return None, ""
    needed = labels_to_tell(d.labels, times)
    if c.paired:
        return needed, _in_all(d, needed)
    if first.interval is not None and second.interval is not None:
        up = d.value > bar
        own = first.value - first.interval[0] if up else first.interval[1] - first.value
        N = math.inf if first.pool_size is None else first.pool_size
        theirs = second.interval[1] - second.value if up else second.value - second.interval[0]
        reach = abs(d.value - bar) / (1 + float(special.ndtri(POWER)) / float(special.ndtri(0.5 + d.level / 2)))
        if reach > 1.1 * theirs:
            needed = labels_to_tell(first.labels, own**2 / (reach**2 - theirs**2), pool_size=N)
            more = f" on {first.items:,} items, so it takes more items" if needed > first.items else ""
            return needed, f" of the new table in all (it has {first.labels:,}{more})"
    return needed, f" of both tables{_in_all(d, needed)}"
