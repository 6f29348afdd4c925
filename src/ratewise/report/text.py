"""Results as terminal text: one small table and a sentence."""

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ratewise.core.estimate import Estimate
from ratewise.learn.drawing import Drawn
from ratewise.learn.plan import Plan, PlannedPolicy
from ratewise.report.pictures import POLICY_TITLES


def plan_text(plan: Plan, *, level: float = 0.95) -> RenderableType:
    """Every policy side by side in money, labels and expected interval; then the recommendation."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("policy", min_width=27)
    for name in (
        "items",
        "strong ratings",
        "rate",
        "spend",
        "std. error",
        f"{level:.0%} interval",
        "squared error",
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for name, policy in plan.policies.items():
        style = "bold green" if name == plan.recommendation else ""
        mark = "▶ " if name == plan.recommendation else "  "
        table.add_row(f"{mark}{name}: {POLICY_TITLES[name]}", *_cells(policy), style=style)
    lines: list[RenderableType] = [table, Text(), Text(plan.reason)]
    return Group(*lines, *notes_text(plan.notes))


def _cells(p: PlannedPolicy) -> tuple[str, ...]:
    half = 1.96 * p.expected_se
    return (
        f"{p.items:,.0f}",
        f"{p.strong_labels:,.0f}",
        f"{p.mean_rate:.3f}",
        f"{p.spend:,.2f}",
        f"{p.expected_se:.4f}",
        f"± {half:.4f}",
        f"{p.error_ratio:.0%} of base",
    )


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
    grid.add_row("mean of the", estimate.estimand)
    grid.add_row("method", estimate.method)
    return Group(grid, *notes_text(estimate.notes))


def drawn_text(drawn: Drawn, where: str) -> RenderableType:
    """How many were drawn and what it will cost."""
    looked = int((drawn.rates > 0).sum())
    line = (
        f"{int(drawn.selected.sum()):,} of {looked:,} items selected for the strong rater "
        f"(mean rate {float(drawn.rates[drawn.rates > 0].mean()):.3f}); this draw costs {drawn.spend:,.2f}. "
        f"Written to {where}."
    )
    return Group(Text(line), *notes_text(drawn.notes))


def notes_text(notes: tuple[str, ...]) -> list[RenderableType]:
    """Notes, one a line."""
    return [Text(f"note: {note}", style="yellow") for note in notes]
