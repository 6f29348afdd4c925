"""Comparisons of systems as terminal text and as a picture."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ratewise.core.estimate import Estimate
from ratewise.questions.comparison import (
    Comparison,
    ManyComparisons,
    Ratio,
    Rival,
    between,
    percent,
    probability,
    signed,
)
from ratewise.report.pictures import ACCENT, INK, QUIET, figure, plain_name
from ratewise.report.terminal_table import Column, TerminalTable
from ratewise.report.text import notes_text, one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WORSE = "#b45309"
_COLOURS = {"better": ACCENT, "worse": _WORSE, "undecided": QUIET}
_STYLES = {"better": "bold green", "worse": "yellow", "undecided": ""}


def shown(found: Comparison | ManyComparisons) -> RenderableType:
    """The text of a comparison, of two systems or many."""
    return comparison_text(found) if isinstance(found, Comparison) else many_text(found)


def comparison_text(found: Comparison) -> RenderableType:
    """Both means, their difference, ratio and lift; then the sentence."""
    table = TerminalTable([
        Column("", "name"), Column("value"), Column(f"{percent(found.difference.level)} interval"),
        Column("std. error", leaves=1),
    ])  # fmt: skip
    for name, e in zip(found.names, (found.first, found.second), strict=True):
        table.add_row(one_line(name), *_cells(e))
    table.add_row(Text("difference"), *_cells(found.difference), style="bold")
    table.add_row(Text("ratio"), *_ratio_cells(found.ratio, percents=False))
    table.add_row(Text("relative lift"), *_ratio_cells(found.relative_lift, percents=True))
    lines: list[RenderableType] = [table, Text(), Text(found.sentence), Text(_rests_on(found), style="dim")]
    reasons = (found.ratio.reason,) if found.ratio.reason else ()
    return Group(*lines, *notes_text(reasons + found.notes))


_MANY_TIMES = 100  # beyond it the figure says only that the two systems hardly ever differ


def _rests_on(found: Comparison) -> str:
    if not found.paired:
        sides = (f"{e.labels:,} strong ratings of {e.items:,} items" for e in (found.first, found.second))
        return f"Rests on {' and '.join(sides)}."
    d = found.difference
    rests = f"Rests on {d.labels:,} items with both strong ratings, of {d.items:,}"
    if found.pairing is not None:
        times = f"{found.pairing:.1f}" if found.pairing < _MANY_TIMES else f"more than {_MANY_TIMES}"
        rests += f"; two separate samples would need {times} times as many"
    return rests + "."


def many_text(found: ManyComparisons) -> RenderableType:
    """A row for every system, best first, and what can be said of all of them together."""
    table = TerminalTable([
        Column("system", "name"), Column("mean", leaves=2), Column("difference"),
        Column(f"{percent(found.level)} interval"), Column("adjusted p", leaves=3), Column("better", leaves=1),
        Column(""),
    ])  # fmt: skip
    for r in found.rivals:
        table.add_row(one_line(r.name), *_rival_cells(r), style=_STYLES[r.verdict])
    table.add_row(Text(found.baseline), f"{found.baseline_mean.value:.4f}", "", "", "", "", "baseline", style="dim")
    d = found.rivals[0].difference
    legend = (
        f"The intervals hold together: the chance that any of them is wrong is {percent(1 - found.level)}. better: the "
        f"probability of each comparison alone. {d.labels:,} items with strong ratings, of {d.items:,}."
    )
    return Group(table, Text(legend, style="dim"), Text(), Text(found.sentence), *notes_text(found.notes))


def _cells(e: Estimate) -> tuple[str, str, str]:
    return signed(e.value), between(e.interval), "–" if e.standard_error is None else f"{e.standard_error:.4f}"


def _ratio_cells(r: Ratio, *, percents: bool) -> tuple[str, str, str]:
    def shown(x: float) -> str:
        return f"{100 * x:+.1f} %".replace("-", "−") if percents else signed(x)

    value = "none" if r.value is None else shown(r.value)
    return value, "none" if r.interval is None else " to ".join(map(shown, r.interval)), ""


def _rival_cells(r: Rival) -> tuple[str, ...]:
    sure = "–" if r.probability_better is None else probability(r.probability_better)
    p = r.adjusted_p_value
    shown = "–" if p is None else "< 0.0001" if p < 0.0001 else f"{p:.4f}"
    return f"{r.mean.value:.4f}", signed(r.difference.value), between(r.difference.interval), shown, sure, r.verdict


def plot_comparison(found: Comparison | ManyComparisons) -> "Figure":
    """Each difference with its interval, against the line of no difference."""
    rows = _rows(found)
    made, axes = figure(height=1.1 + 0.42 * len(rows))
    for y, (_, e) in enumerate(reversed(rows)):
        colour = _COLOURS[_side(e)]
        if e.interval is not None:
            axes.plot(e.interval, (y, y), color=colour, linewidth=4, solid_capstyle="butt")
        axes.plot(e.value, y, marker="o", color=INK, markersize=5)
        axes.annotate(
            signed(e.value), (e.value, y), xytext=(0, 9), textcoords="offset points", ha="center", va="center",
            fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(rows)), [plain_name(name) for name, _ in rows][::-1])
    axes.set_ylim(-0.6, len(rows) - 0.3)
    axes.margins(x=0.08)
    together = " (all hold together)" if isinstance(found, ManyComparisons) and len(rows) > 1 else ""
    level = found.level if isinstance(found, ManyComparisons) else found.difference.level
    against = found.baseline if isinstance(found, ManyComparisons) else found.names[1]
    axes.set_xlabel(f"difference to {plain_name(against)}, {percent(level)} intervals{together}", fontsize=9)
    return made


def _rows(found: Comparison | ManyComparisons) -> list[tuple[str, Estimate]]:
    if isinstance(found, Comparison):
        return [(found.names[0], found.difference)]
    return [(r.name, r.difference) for r in found.rivals]


def _side(e: Estimate) -> str:
    if e.interval is None or e.interval[0] <= 0 <= e.interval[1]:
        return "undecided"
    return "better" if e.interval[0] > 0 else "worse"
