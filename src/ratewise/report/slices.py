"""Slices as terminal text and as a picture: one line each, with its interval on one scale for all."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ratewise.questions.slice_plan import PlannedSlice, SlicePlan
from ratewise.questions.slices import Slice, Slices
from ratewise.report.pictures import ACCENT, INK, QUIET, figure, plain_name
from ratewise.report.terminal_table import Column, TerminalTable
from ratewise.report.text import notes_text, one_line

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH = 32  # characters of an interval's bar

Interval = tuple[float, float]


def slices_text(found: Slices) -> RenderableType:
    """One line for each slice, the whole last, intervals drawn on one scale; then what is missing and the notes."""
    scale = _scale(found)
    at_once = " at once" if found.simultaneous else ""
    ends = f"{scale[0]:.3g}{f'{scale[1]:.3g}':>{_WIDTH - len(f'{scale[0]:.3g}')}}"
    table = TerminalTable([
        Column(found.by, "name"), Column("items", leaves=2), Column("strong"), Column("estimate"),
        Column(f"{found.level:.0%} interval{at_once}"), *[Column("unshrunk", leaves=1)] * found.shrink,
        Column(ends, "bar", 3),
    ])  # fmt: skip
    for one in found.slices:
        own = [] if not found.shrink else ["–" if one.estimate is None else f"{one.estimate.value:.4f}"]
        cells = _cells(one.items, one.labels, one.value, one.interval)
        table.add_row(one_line(one.name), *cells, *own, _bar(one.value, one.interval, scale))
    whole = found.overall
    cells = _cells(whole.items, whole.labels, whole.value, whole.interval)
    table.add_row("all", *cells, *[""] * found.shrink, _bar(whole.value, whole.interval, scale), style="bold")
    missing = [Text(f"{one.name}: {one.reason}", style="yellow") for one in found.slices if one.reason is not None]
    spent = [] if whole.spend is None else [Text(f"spent {whole.spend:,.2f}")]
    return Group(table, *spent, *missing, *notes_text(found.notes))


def _cells(items: int, labels: int, value: float | None, interval: Interval | None) -> tuple[str, ...]:
    return (
        f"{items:,}",
        f"{labels:,}",
        "–" if value is None else f"{value:.4f}",
        "none" if interval is None else f"{interval[0]:.4f} to {interval[1]:.4f}",
    )


def _scale(found: Slices) -> Interval:
    """The range of all that is shown."""
    shown = [x for one in found.slices for x in (one.value, *(one.interval or ())) if x is not None]
    shown += [found.overall.value, *(found.overall.interval or ())]
    low, high = min(shown), max(shown)
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _bar(value: float | None, interval: Interval | None, scale: Interval) -> str:
    """──━━●━━── : where the interval and the value lie on the scale."""
    if value is None:
        return ""
    marks = ["·"] * _WIDTH

    def at(x: float) -> int:
        return round((x - scale[0]) / (scale[1] - scale[0]) * (_WIDTH - 1))

    if interval is not None:
        first, last = at(interval[0]), at(interval[1])
        marks[first : last + 1] = ["━"] * (last + 1 - first)
    marks[at(value)] = "●"
    return "".join(marks)


def slice_plan_text(plan: SlicePlan) -> RenderableType:
    """What to buy in every slice, and what it comes to."""
    table = TerminalTable([
        Column(plan.by, "name"), Column("policy", leaves=1), Column("items"), Column("strong"),
        Column("rate", leaves=2), Column("spend"), Column("std. error"),
    ])  # fmt: skip
    for one in plan.slices:
        table.add_row(one_line(one.name), *_plan_cells(one), style="" if one.reached else "yellow")
    whole = "–" if plan.overall_se is None else f"{plan.overall_se:.4f}"
    cells = ("", f"{plan.items:,.0f}", f"{plan.strong_labels:,.0f}", "", f"{plan.spend:,.2f}", whole)
    table.add_row("all", *cells, style="bold")
    short = [Text(f"{one.name}: {one.reason}", style="yellow") for one in plan.slices if one.reason is not None]
    return Group(table, *short, *notes_text(plan.notes))


def _plan_cells(one: PlannedSlice) -> tuple[str, ...]:
    p = one.policy
    if p is None or one.plan is None:
        return ("none", *["–"] * 5)
    return (
        one.plan.recommendation,
        f"{p.items:,.0f}",
        f"{p.strong_labels:,.0f}",
        f"{p.mean_rate:.3f}",
        f"{p.spend:,.2f}",
        f"{p.expected_se:.4f}",
    )


def plot_slices(found: Slices) -> "Figure":
    """Slices one below the other with their intervals; the whole as a band; where shrunk, hollow: what they were."""
    count = len(found.slices)
    made, axes = figure(height=1.0 + 0.36 * (count + 1))
    if found.overall.interval is not None:
        axes.axvspan(*found.overall.interval, color=QUIET, alpha=0.25, linewidth=0)
    axes.axvline(found.overall.value, color=QUIET, linewidth=1)
    for k, one in enumerate(found.slices):
        _plot_one(axes, count - 1 - k, one)
    names = [f"{plain_name(one.name)}  ({one.labels:,})" for one in found.slices]
    axes.set_yticks(range(count), names[::-1])
    axes.set_ylim(-0.7, count - 0.3)
    how = "shrunk, " if found.shrink else "all at once, " if found.simultaneous else ""
    axes.set_xlabel(f"mean strong rating, {how}{found.level:.0%} intervals (strong ratings in brackets)")
    axes.set_title(f"By {found.by}; the band is the whole", loc="left", color=INK, fontsize=11)
    return made


def _plot_one(axes: "Axes", y: int, one: Slice) -> None:
    if one.value is None:
        axes.annotate(" no estimate", (0.0, y), xycoords=("axes fraction", "data"), va="center", color=QUIET)
        return
    if one.interval is not None:
        axes.plot(one.interval, (y, y), color=ACCENT, linewidth=4, solid_capstyle="butt")
    if one.shrunk is not None and one.estimate is not None:
        axes.plot(one.estimate.value, y, marker="o", color=INK, markerfacecolor="none")
    axes.plot(one.value, y, marker="o", color=INK)
