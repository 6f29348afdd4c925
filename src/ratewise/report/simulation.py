"""Simulations as terminal text and as the paper's three panels."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ratewise.lab.results import YARDSTICKS, MethodResult, Simulation
from ratewise.report.pictures import grid
from ratewise.report.terminal_table import Column, TerminalTable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

METHOD_COLOURS = {
    "base": "#6b7280", "paper-random": "#d97706", "paper-active": "#2563eb", "oracle": "#9333ea", "ppi++": "#db2777",
    "active-fixed": "#65a30d", "auto": "#0f766e", "limit": "#0891b2",
}  # fmt: skip


def simulation_text(found: Simulation) -> RenderableType:
    """A row per budget and method: error, what it is worth, coverage, spend; the best of each budget stands out."""
    table = TerminalTable([
        Column("budget"), Column("method", "name"), Column("RMSE"), Column("of base"), Column("95% interval", leaves=2),
        Column("worth"), Column("saves", leaves=3), Column("width"), Column("covers"), Column("spend", leaves=4),
    ])  # fmt: skip
    for budget in found.settings["budgets"]:
        rows = [r for r in found.results if r.budget == budget]
        best = min((r for r in rows if r.method not in YARDSTICKS), key=lambda r: r.mse, default=None)
        for k, r in enumerate(rows):
            style = "bold green" if r is best else "dim" if r.method in YARDSTICKS else ""
            table.add_row(f"{budget:g}" if k == 0 else "", r.method, *_cells(r), style=style)
    legend = (
        "of base: squared error over that of strong ratings alone, with a 95% interval over "
        f"{found.settings['trials']:,} trials; worth: the budget at which strong ratings alone are as good; saves: "
        "that budget less this one; width: of its own interval, on average; covers: how often that held the truth"
    )
    lines: list[RenderableType] = [table, Text(legend, style="dim"), Text(), Text(found.summary())]
    return Group(*lines, *(Text(note, style="yellow") for note in _notes(found)))


def _cells(r: MethodResult) -> tuple[str, ...]:
    ratios = ("–", "–")  # where base knows the pool exactly there is nothing to compare with
    if r.base_mse > 0:
        low, high = r.of_base_low, r.of_base_high
        ratios = (f"{r.of_base:.3f}", f"{low:.3f}–{high:.3f}")
    return (
        f"{r.mse**0.5:.4f}",
        *ratios,
        f"{r.effective_budget:,.0f}",
        f"{r.savings:+,.0f}",
        f"{r.width:.4f}",
        f"{r.coverage:.1%}",
        f"{r.spend_mean:,.0f}",
    )


def _notes(found: Simulation) -> list[str]:
    notes = []
    if found.partial:
        notes.append(f"note: partial, stopped after {found.settings['trials']:,} trials")
    if found.settings["burn_in"] == 0 and not found.settings["transfer"]:
        notes.append("note: without a burn-in the methods know the whole table's parameters")
    return notes


def plot_simulation(found: Simulation) -> "Figure":
    """The paper's three panels: error, effective budget and savings against the budget, 95 % intervals shaded."""
    made, axes = grid(1, 3)
    draw_simulation(axes[0], found)
    legend_below(made, axes[0][0])
    return made


def draw_simulation(axes: "list[Axes]", found: Simulation) -> None:
    """The three panels on given axes."""
    rows = (
        ("mse", "mean squared error"), ("effective_budget", "effective budget"), ("savings", "cost savings"),
    )  # fmt: skip
    for ax, (name, label) in zip(axes, rows, strict=True):
        for method in found.methods:
            _curve(ax, found.of(method), name)
        ax.set_xlabel("budget after the burn-in" if found.settings["burn_in"] else "budget", fontsize=9)
        ax.set_title(label, loc="left", fontsize=9)
    axes[0].set_yscale("log")


def legend_below(picture: "Figure", ax: "Axes") -> None:
    """One legend for all panels, where it hides no curve."""
    lines, names = ax.get_legend_handles_labels()
    picture.legend(lines, names, loc="outside lower center", ncols=len(names), frameon=False, fontsize=8)


def _curve(ax: "Axes", curve: tuple[MethodResult, ...], name: str) -> None:
    method = curve[0].method
    x = [r.budget for r in curve]
    colour = METHOD_COLOURS[method]
    marker = "o" if len(curve) < 3 else None
    if method == "base" and name != "mse":  # by definition: its own budget, and nothing saved
        y = x if name == "effective_budget" else [0.0] * len(x)
        ax.plot(x, y, color=colour, label=method, marker=marker, markersize=3)
        return
    ax.plot(x, [getattr(r, name) for r in curve], color=colour, label=method, marker=marker, markersize=3)
    low, high = ([getattr(r, name + end) for r in curve] for end in ("_low", "_high"))
    ax.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
