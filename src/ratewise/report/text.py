"""Results as terminal text: one small table and a sentence."""

from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ratewise.core.estimate import Estimate
from ratewise.questions.drawing import Drawn, DrawnFile
from ratewise.questions.plan import Plan
from ratewise.questions.policies import PlannedPolicy
from ratewise.questions.strata import InputPlan
from ratewise.report.pictures import POLICY_TITLES
from ratewise.report.terminal_table import Column, TerminalTable
from ratewise.report.what_if import what_if_text


def text_of(found: Any) -> RenderableType:
    """A result as text for a terminal."""
    from ratewise.report import comparison, leaderboard, regression, simulation, slices

    texts: dict[str, Any] = {
        "Plan": plan_text, "Estimate": estimate_text, "Comparison": comparison.shown,
        "ManyComparisons": comparison.shown, "Leaderboard": leaderboard.leaderboard_text,
        "Regression": regression.regression_text, "Quantiles": regression.quantiles_text,
        "Simulation": simulation.simulation_text, "Slices": slices.slices_text, "SlicePlan": slices.slice_plan_text,
    }  # fmt: skip
    made: RenderableType = texts[type(found).__name__](found)
    return made


def plan_text(plan: Plan) -> RenderableType:
    """Every policy side by side in money, labels and expected interval; then the recommendation."""
    level = plan.basis.get("level", 0.95)
    by_cost = plan.basis.get("target_se") is not None
    table = TerminalTable([
        Column("policy", "name"), Column("items"), Column("strong"), Column("rate", leaves=2), Column("spend"),
        Column("std. error", leaves=1), Column(f"{level:.0%} interval"),
        Column("cost vs base" if by_cost else "sq. error vs base"),
    ])  # fmt: skip
    for name, policy in plan.policies.items():
        style = "bold green" if name == plan.recommendation else ""
        mark = "▶" if name == plan.recommendation else " "
        table.add_row(f"{mark} {name}", *_cells(policy, plan.policies["base"], level, by_cost), style=style)
    legend = "; ".join(f"{name}: {title}" for name, title in POLICY_TITLES.items())
    lines: list[RenderableType] = [table, Text(legend, style="dim"), Text(), Text(plan.reason)]
    if plan.by_stratum is not None:
        lines += [Text(), strata_table(plan.by_stratum)]
    if plan.what_if is not None:
        lines += [Text(), what_if_text(plan.what_if)]
    return Group(*lines, *notes_text(plan.notes))


def strata_table(chosen: InputPlan) -> TerminalTable:
    """How many items of each stratum to look at, and at what rate."""
    table = TerminalTable([
        Column(chosen.column, "name"), Column("share", leaves=1), Column("items"), Column("of them", leaves=2),
        Column("rate"), Column("strong"), Column("mean", leaves=5), Column("variance", leaves=4),
        Column("weak error", leaves=3),
    ])  # fmt: skip
    for s in chosen.strata:
        of = f"{s.items / chosen.items:.0%}"
        rate = f"{s.rate:.3f}" if s.buys_weak else "alone"
        figures = (f"{s.mean:.4g}", f"{s.variance:.4g}", f"{s.weak_error:.4g}")
        table.add_row(s.name, f"{s.share:.1%}", f"{s.items:,.0f}", of, rate, f"{s.strong_labels:,.0f}", *figures)
    return table


def _cells(p: PlannedPolicy, base: PlannedPolicy, level: float, by_cost: bool) -> tuple[str, ...]:
    """One policy's cells. The last is what the sentence below is about: cost at a precision, else squared error."""
    return (
        f"{p.items:,.0f}",
        f"{p.strong_labels:,.0f}",
        f"{p.mean_rate:.3f}",
        f"{p.spend:,.2f}",
        _number(p.expected_se),
        f"± {_number(p.within(level))}",
        _share(p.spend, base.spend) if by_cost else _share(p.expected_se**2, base.expected_se**2),
    )


def _share(of: float, base: float) -> str:
    if not base > 0:
        return "–"
    return f"{of / base:.0%}" if of / base < 100 else f"{of / base:.0e} ×"


def _number(x: float) -> str:
    return f"{x:.4f}" if x < 1000 else f"{x:.1e}"


def estimate_text(estimate: Estimate) -> RenderableType:
    """The estimate and its interval, with what they rest on."""
    grid = Table.grid(padding=(0, 2))
    grid.add_row("estimate", Text(f"{estimate.value:.4f}", style="bold"))
    if estimate.interval is None:
        grid.add_row("interval", "none")
    else:
        low, high = estimate.interval
        grid.add_row(f"{estimate.level:.0%} interval", Text(f"{low:.4f} to {high:.4f}", style="bold"))
    if estimate.standard_error is not None:
        grid.add_row("standard error", f"{estimate.standard_error:.4f}")
    grid.add_row("rests on", f"{estimate.labels:,} strong ratings on {estimate.items:,} items")
    if estimate.spend is not None:
        grid.add_row("spent", f"{estimate.spend:,.2f}")
    grid.add_row("estimand", f"mean of the {estimate.estimand}")
    grid.add_row("method", estimate.method)
    return Group(grid, *notes_text(estimate.notes))


def drawn_text(drawn: Drawn | DrawnFile, where: str) -> RenderableType:
    """How many were drawn and what it will cost."""
    costs = "" if drawn.spend is None else f"; this draw costs {drawn.spend:,.2f}"
    line = (
        f"{drawn.asked:,} of {drawn.items:,} items selected for the strong rater (mean rate {drawn.mean_rate:.3f})"
        f"{costs}. Written to {where}."
    )
    return Group(Text(line), *notes_text(drawn.notes))


def notes_text(notes: tuple[str, ...]) -> list[RenderableType]:
    """Notes, one a line."""
    return [Text(f"note: {note}", style="yellow") for note in notes]


def one_line(name: str) -> Text:
    """A name that may hold anything, as one line of a table."""
    return Text(" ".join(name.split()))
