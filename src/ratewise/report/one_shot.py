"""The report of a result that one command found: its sentence, one picture, the numbers in one unit, and its notes."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import singledispatch
from typing import Any

from ratewise.core.chart import Span, one_span_picture
from ratewise.core.document import (
    Code,
    Column,
    DataTable,
    Heading,
    KeyFigures,
    Note,
    Part,
    Picture,
    Sentence,
    bar,
    noted,
)
from ratewise.core.estimate import Estimate
from ratewise.core.result import Result
from ratewise.questions.check import Check
from ratewise.questions.comparison import Comparison, ManyComparisons, probability, signed
from ratewise.questions.goal import within
from ratewise.questions.leaderboard import Leaderboard
from ratewise.questions.slices import Slice, Slices

_BAR = 28  # signs
_VERDICTS = {"yes": "Yes", "no": "No", "cannot tell": "Cannot tell yet"}


def result_report(found: Result, *, table: str, command: str, made: datetime | None = None) -> list[Part]:
    """All parts of the report: the answer first, and at the end the command that gives it again."""
    made = datetime.now(UTC) if made is None else made
    notes = noted(dict.fromkeys(getattr(found, "notes", ())))
    return [
        Sentence(f"{table}, {made:%d %B %Y}", "quiet"), *answer_parts(found),
        *([Heading("Notes"), *notes] if notes else []),
        Heading("Do it again"), Code(command),
    ]  # fmt: skip


class _Unit:
    """How numbers are told: ratings from 0 to 1 in per cent and their differences in points, others as they are."""

    def __init__(self, *estimates: Estimate | None) -> None:
        known = [e for e in estimates if e is not None]
        self.percent = bool(known) and all(e.bounds == (0.0, 1.0) for e in known)

    def of(self, value: float) -> str:
        """A mean."""
        return f"{100 * value:.1f}%".replace("-", "−") if self.percent else signed(value)

    def apart(self, value: float) -> str:
        """A difference, with its sign."""
        if not self.percent:
            return signed(value)
        return f"{100 * value + 0.0:+.1f} points".replace("-", "−")

    def ends(self, e: Estimate, told: Callable[[float], str] | None = None) -> str:
        """An interval."""
        if e.interval is None:
            return "none"
        low, high = (self.of(x) if told is None else told(x) for x in e.interval)
        return f"{low} to {high}"


@singledispatch
def answer_parts(found: Any) -> list[Part]:
    """The answer of a result: the headline, and what it rests on."""
    first, *rest = found.summary().split("\n")
    body = [part for part in found.document() if not isinstance(part, Note)]
    return [Heading(first, 1), *body] if rest else [Heading(first, 1), *_without(body, first)]


def _without(parts: Sequence[Part], said: str) -> list[Part]:
    return [part for part in parts if not (isinstance(part, Sentence) and part.text == said)]


@answer_parts.register
def _(found: Estimate) -> list[Part]:
    unit = _Unit(found)
    parts: list[Part] = [Heading(f"The mean rating is {unit.of(found.value)}", 1)]
    if found.interval is None:
        parts.append(Sentence("There is no interval; the notes say why.", "lede"))
    else:
        parts.append(Sentence(f"{found.level:.0%} interval: {unit.ends(found)}.", "lede"))
        parts.append(_picture(found, unit.of))
    return [*parts, KeyFigures(_rests(found, unit)), *_how(found)]


def _rests(found: Estimate, unit: _Unit) -> list[tuple[str, str, str]]:
    figures = [("strong ratings", f"{found.labels:,}", f"of {found.items:,} items")]
    if found.spend is not None:
        figures.append(("spent", f"{found.spend:,.2f}", ""))
    if found.interval is not None:
        half = (found.interval[1] - found.interval[0]) / 2
        figures.append(("precision", within(half, points=unit.percent), f"{found.level:.0%} interval"))
    return figures


def _how(found: Estimate) -> list[Part]:
    """How ratings were combined, in a sentence."""
    ways = {
        "difference": "every weak rating, corrected by the strong ratings of drawn items",
        "power-tuned": "every weak rating, as far as it helps, corrected by the strong ratings of drawn items",
        "regression": "a line through weak ratings, corrected by the strong ratings of drawn items",
    }  # fmt: skip
    way = next((text for name, text in ways.items() if name in found.method), found.method)
    pool = "these items themselves" if found.estimand == "pool" else "the population that these items were drawn from"
    return [Sentence(f"It is the mean of {pool}, from {way}.")]


def _picture(e: Estimate, told: Callable[[float], str], mark: tuple[float, str] | None = None) -> Picture:
    assert e.interval is not None
    low, high = e.interval
    said = f"{told(e.value)}, {e.level:.0%} interval {told(low)} to {told(high)}."
    said += "" if mark is None else f" The line is at {mark[1]}."
    return Picture(lambda: one_span_picture(Span("", e.value, low, high), said, told, mark=mark))


def _forest(
    title: str, rows: Sequence[tuple[str, Estimate | Slice | None]], told: Callable[[float], str], level: float, *,
    zero: bool = False, last: bool = False, at_once: bool = False,
) -> DataTable:  # fmt: skip
    """A row for each estimate with its interval drawn on one scale; the last may stand out."""
    known = [x for _, e in rows if e is not None for x in (e.value, *(e.interval or ())) if x is not None] or [0.0]
    known += [0.0] if zero else []
    ends = min(known), max(known)
    table = DataTable([
        Column(title, "name"), Column("strong ratings"), Column("estimate"),
        Column(" ".join(told(end).removesuffix(" points") for end in ends), "bar"),
        Column(f"{level:.0%} interval{' at once' * at_once}"),
    ])  # fmt: skip
    for k, (name, e) in enumerate(rows):
        style = "best" if last and k == len(rows) - 1 else ""
        if e is None or e.value is None:
            table.add(name, "–", "–", "", "too few strong ratings")
            continue
        low, high = e.interval or (None, None)
        drawn = bar(e.value, low, high, ends, width=_BAR, zero=zero)
        shown = "none" if low is None or high is None else f"{told(low).removesuffix(' points')} to {told(high)}"
        table.add(name, f"{e.labels:,}", told(e.value), drawn, shown, style=style)  # type: ignore[arg-type]
    return table


@answer_parts.register
def _(found: Slices) -> list[Part]:
    unit = _Unit(found.overall)
    known = sorted((one.value, one.name) for one in found.slices if one.value is not None)
    said = f"The mean rating is {unit.of(found.overall.value)}"
    if len(known) > 1:
        (low, worst), (high, best) = known[0], known[-1]
        said += f": by {found.by}, from {unit.of(low)} ({worst}) to {unit.of(high)} ({best})"
    missing: list[Part] = [Note(f"{one.name}: {one.reason}") for one in found.slices if one.reason is not None]
    everything: list[tuple[str, Estimate | Slice | None]] = [(one.name, one) for one in found.slices]
    everything.append(("all", found.overall))
    forest = _forest(found.by, everything, unit.of, found.level, last=True, at_once=found.simultaneous)
    told = Sentence("Each interval holds for its slice alone; of twenty slices, one may be off.", "quiet")
    if found.simultaneous:
        told = Sentence("These intervals of the slices hold together.", "quiet")
    if found.shrink:
        own = [(one.name, one.estimate) for one in found.slices]
        alone = _forest(found.by, own, unit.of, found.level)
        told = Sentence("Slices are shrunk toward the mean of all; intervals hold on average over slices.", "quiet")
        return [Heading(said, 1), forest, told, *missing, Heading("Before they were shrunk"), alone]
    return [Heading(said, 1), forest, told, *missing]


def _versus(found: Comparison, unit: _Unit) -> str:
    """Who is ahead of whom, and by how much, as a headline."""
    d, (a, b) = found.difference, found.names
    if d.interval is None or d.interval[0] <= 0 <= d.interval[1]:
        return f"{a} and {b} are not told apart"
    low, high = sorted(abs(x) for x in d.interval)
    size = f"{100 * abs(d.value):.1f}" if unit.percent else signed(abs(d.value))
    ends = f"{100 * low:.1f} to {100 * high:.1f} points" if unit.percent else f"{signed(low)} to {signed(high)}"
    points = " points" if unit.percent else ""
    return f"{a} is {'better' if d.value > 0 else 'worse'} than {b} by {size}{points} ({d.level:.0%} interval {ends})"


def _sides(found: Comparison, unit: _Unit) -> list[Part]:
    """The difference against none, both means, and what they rest on."""
    d, (a, b) = found.difference, found.names
    drawn: list[Part] = []
    if d.interval is not None:
        drawn = [_picture(d, unit.apart, (0.0, "no difference")), Sentence(f"{a} less {b}", "quiet")]
    means = _forest("system", list(zip(found.names, (found.first, found.second), strict=True)), unit.of, d.level)
    sure = found.probability_better
    told = [] if sure is None else [Sentence(f"The probability that {a} is better than {b} is {probability(sure)}.")]
    rests = [part for part in found.document() if isinstance(part, Sentence) and part.style == "quiet"]
    return [*drawn, *told, means, *rests]


@answer_parts.register
def _(found: Comparison) -> list[Part]:
    unit = _Unit(found.first, found.second)
    return [Heading(_versus(found, unit), 1), *_sides(found, unit)]


@answer_parts.register
def _(found: ManyComparisons) -> list[Part]:
    unit = _Unit(found.baseline_mean, *(r.mean for r in found.rivals))
    rows = [(r.name, r.difference) for r in found.rivals]
    means = [*((r.name, r.mean) for r in found.rivals), (found.baseline, found.baseline_mean)]
    together = f"These intervals hold together: {found.level:.0%} of the time, all of them are right."
    return [
        Heading(found.sentence.partition(" (")[0].rstrip("."), 1),
        _forest(f"against {found.baseline}", rows, unit.apart, found.level, zero=True), Sentence(together, "quiet"),
        Heading("Means"), _forest("system", means, unit.of, found.level, last=True),
    ]  # fmt: skip


@answer_parts.register
def _(found: Check) -> list[Part]:
    e, pair = found.estimate, found.comparison
    unit = _Unit(e) if pair is None else _Unit(pair.first, pair.second)
    told = unit.of if pair is None else unit.apart
    asked = f"is the mean at least {told(found.bar)}?" if pair is None else found.question
    parts: list[Part] = [Heading(f"{_VERDICTS[found.verdict]}: {asked}", 1)]
    if e.interval is not None:
        what = "mean rating" if pair is None else "difference"
        ends = f"{told(e.interval[0])} to {told(e.interval[1])}"
        parts.append(Sentence(f"The {what} is {told(e.value)}, {e.level:.0%} interval {ends}.", "lede"))
        parts.append(_picture(e, told, (found.bar, f"the bar, {told(found.bar)}")))
    if found.labels_needed is not None:
        need = f"About {found.labels_needed:,} strong ratings in all would tell, with a chance of 80%"
        parts.append(Sentence(f"{need}, if the mean is as estimated."))
    return [*parts, KeyFigures(_rests(e, unit))]


@answer_parts.register
def _(found: Leaderboard) -> list[Part]:
    best, body = found.rated, [part for part in found.document() if not isinstance(part, Note)]
    if not best:
        return [Heading("No model has a rating", 1), *body]
    tied = [m.name for m in best[1:] if m.rank_low == 1]
    said = f"{best[0].name} is first of {len(best)} models" if not tied else f"{best[0].name} leads {len(best)} models"
    many = f"{len(tied)} other{'s' if len(tied) > 1 else ''} may be first, too: {', '.join(tied[:3])}"
    more = "" if len(tied) < 4 else " and more"
    lede = f"{many}{more}." if tied else "No other model may be first, at this level."
    return [Heading(said, 1), Sentence(lede, "lede"), *body]
