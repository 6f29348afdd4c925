"""Regressions and quantiles as terminal text with small interval bars, and regressions as a picture."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ratewise.questions.quantiles import Quantiles
from ratewise.questions.regression import Coefficient, Regression
from ratewise.report.pictures import ACCENT, INK, QUIET, figure, plain_name
from ratewise.report.terminal_table import Column, TerminalTable
from ratewise.report.text import notes_text, one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BAR = 25  # signs
_SCALES = {
    "linear": "change of the strong rating for one unit more",
    "logistic": "change of the log-odds for one unit more",
    "poisson": "change of the log of the mean for one unit more",
}


def regression_text(found: Regression) -> RenderableType:
    """A row for each coefficient, with a bar for its interval against 0, and what it rests on."""
    table = TerminalTable([
        Column("column", "name"), Column("coefficient"), Column(f"{found.level:.0%} interval"),
        Column("std. error", leaves=1), Column("", "bar", 2),
    ])  # fmt: skip
    told = [c for c in found.coefficients if c.low is not None and c.high is not None]
    ends = _ends([(c.low, c.high) for c in told if c.low is not None and c.high is not None], zero=True)
    for c in found.coefficients:
        table.add_row(one_line(c.name), *_cells(c), _bar(c.value, c.low, c.high, ends, zero=True), style=_style(c))
    rests = (
        f"{found.family.capitalize()} regression; {_SCALES[found.family]}. {found.labels:,} strong ratings on "
        f"{found.items:,} items, {found.method}, of the {found.estimand}."
    )
    reasons = tuple(f"{c.name}: {c.reason}" for c in found.coefficients if c.value is not None and c.reason)
    return Group(table, Text(rests, style="dim"), *notes_text(found.notes + reasons))


def quantiles_text(found: Quantiles) -> RenderableType:
    """A row for each quantile, with a bar for its interval."""
    first = found.estimates[0]
    interval = Column(f"{first.level:.0%} interval")
    table = TerminalTable([Column("quantile", "name"), Column("value"), interval, Column("", "bar", 1)])
    ends = _ends([e.interval for e in found.estimates if e.interval is not None], zero=False)
    for q, e in zip(found.quantiles, found.estimates, strict=True):
        ends_told = "none" if e.interval is None else f"{_number(e.interval[0])} to {_number(e.interval[1])}"
        table.add_row(f"{q:g}", _number(e.value), ends_told, _bar(e.value, e.low, e.high, ends, zero=False))
    rests = f"{first.labels:,} strong ratings on {first.items:,} items, of the {first.estimand}."
    return Group(table, Text(rests, style="dim"), *notes_text(found.notes))


def _cells(c: Coefficient) -> tuple[str, str, str]:
    if c.value is None:
        return "none", "none", "–"
    interval = "none" if c.low is None or c.high is None else f"{_number(c.low)} to {_number(c.high)}"
    return _number(c.value), interval, "–" if c.standard_error is None else _number(c.standard_error)


def _style(c: Coefficient) -> str:
    if c.low is None or c.high is None:
        return "dim"
    return "bold" if c.low > 0 or c.high < 0 else ""


def _number(x: float) -> str:
    return f"{x:.4g}".replace("-", "−")


def _ends(intervals: Sequence[tuple[float, float]], *, zero: bool) -> tuple[float, float]:
    """The range of the bars; it includes 0 where 0 matters."""
    values = [x for interval in intervals for x in interval] + ([0.0] if zero else [])
    return (min(values), max(values)) if values else (0.0, 0.0)


def _bar(value: float | None, low: float | None, high: float | None, ends: tuple[float, float], *, zero: bool) -> Text:
    """──●── on a line from the least to the largest end, with │ at 0."""
    left, right = ends
    if value is None or low is None or high is None or not right > left:
        return Text("")

    def at(x: float) -> int:
        return min(max(round((x - left) / (right - left) * (_BAR - 1)), 0), _BAR - 1)

    signs = [" "] * _BAR
    if zero:
        signs[at(0.0)] = "│"
    for k in range(at(low), at(high) + 1):
        signs[k] = "─"
    signs[at(value)] = "●"
    return Text("".join(signs))


def plot_regression(found: Regression) -> "Figure":
    """Every coefficient with its interval against 0; the intercept, which has another meaning, is left out."""
    rows = [c for c in found.coefficients if c.value is not None and c.name != "(intercept)"]
    rows = rows or [c for c in found.coefficients if c.value is not None]
    made, axes = figure(height=1.1 + 0.36 * max(len(rows), 1))
    for y, c in enumerate(reversed(rows)):
        assert c.value is not None
        sure = c.low is not None and c.high is not None and (c.low > 0 or c.high < 0)
        if c.low is not None and c.high is not None:
            axes.plot((c.low, c.high), (y, y), color=ACCENT if sure else QUIET, linewidth=4, solid_capstyle="butt")
        axes.plot(c.value, y, marker="o", color=INK, markersize=5)
        axes.annotate(
            _number(c.value), (c.value, y), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8
        )
    axes.axvline(0, color=INK, linewidth=0.8, zorder=0)
    axes.set_yticks(range(len(rows)), [plain_name(c.name) for c in rows][::-1])
    axes.set_ylim(-0.6, len(rows) - 0.3)
    axes.margins(x=0.08)
    axes.set_xlabel(f"{_SCALES[found.family]}, {found.level:.0%} intervals", fontsize=9)
    return made
