"""What wrong beliefs would cost a plan, as a table and as a picture."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ratewise.core.wrong_policy import BELIEFS, WhatIf
from ratewise.report.pictures import ACCENT, INK, QUIET, grid
from ratewise.report.terminal_table import Column, TerminalTable

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MOST = 1000.0  # a ratio above this is shown as such


def what_if_text(found: WhatIf) -> RenderableType:
    """Squared error for the same money, over that of a plan that knows better: by belief, and by burn-in."""
    factors = sorted({b.factor for b in found.beliefs})
    of = {(b.what, b.factor): b for b in found.beliefs}
    table = TerminalTable([Column("believed too low or too high", "name"), *(Column(f"× {f:g}") for f in factors)])
    for what in dict.fromkeys(b.what for b in found.beliefs):
        cells = [
            _cell(of[what, f].ratio, of[what, f].recommendation, found) if (what, f) in of else "" for f in factors
        ]
        table.add_row(BELIEFS[what], *cells)
    legend = "squared error for the same money, over that of the right plan; in brackets: another policy is taken"
    burnt = TerminalTable([Column(name) for name in ("burn-in", "on average", "one in twenty", "same policy")])
    for b in found.burn_ins:
        burnt.add_row(f"{b.labels:,} labels", _ratio(b.mean_ratio), _ratio(b.worst_ratio), f"{b.right:.0%}")
    below = "the same, for V and the weak rater's error taken from so many labels"
    dim, empty = "dim", Text()
    return Group(table, Text(legend, dim), empty, burnt, Text(below, dim), empty, Text(found.summary()))


def _cell(ratio: float, policy: str, found: WhatIf) -> str:
    return _ratio(ratio) + ("" if policy == found.recommendation else f" ({policy})")


def _ratio(ratio: float) -> str:
    return f"{ratio:.3f}" if ratio < _MOST else f"> {_MOST:,.0f}"


def plot_what_if(found: WhatIf) -> "Figure":
    """Two pictures side by side: wrong beliefs, and burn-ins."""
    made, [[left, right]] = grid(1, 2, width=4.2, height=3.0)
    for number, what in enumerate(dict.fromkeys(b.what for b in found.beliefs)):
        points = sorted([(b.factor, b.ratio) for b in found.beliefs if b.what == what] + [(1.0, 1.0)])
        left.plot(
            *zip(*points, strict=True), marker="o", markersize=3, label=what, linestyle=("-", "--", ":")[number % 3]
        )
    left.set_xscale("log", base=2)
    left.set_xlabel("believed, as a multiple of what it is", fontsize=8)
    left.set_ylabel("squared error for the same money", fontsize=8)
    left.legend(fontsize=7, frameon=False)
    labels = [b.labels for b in found.burn_ins]
    right.plot(labels, [b.mean_ratio for b in found.burn_ins], marker="o", markersize=3, color=INK, label="on average")
    worst = [b.worst_ratio for b in found.burn_ins]
    right.plot(labels, worst, marker="o", markersize=3, color=ACCENT, label="one in twenty")
    right.axhline(1.0, color=QUIET, linewidth=1, zorder=0)
    right.set_xscale("log")
    right.set_xlabel("labels of the burn-in", fontsize=8)
    right.legend(fontsize=7, frameon=False)
    return made
