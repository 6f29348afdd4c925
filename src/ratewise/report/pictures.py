"""Pictures with matplotlib (an extra): what a policy buys, and estimates with their intervals."""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ratewise.core.estimate import Estimate
from ratewise.errors import InputError
from ratewise.questions.plan import Plan

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

POLICY_TITLES = {"base": "strong ratings alone", "random": "one rate for all", "active": "rate by uncertainty"}

_LONGEST_NAME = 32
INK, ACCENT, QUIET = "#1f2937", "#0f766e", "#9ca3af"


def figure(*, width: float = 7.0, height: float = 2.6) -> tuple["Figure", "Axes"]:
    """A figure that belongs to no global state, in the house's plain style."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InputError("pictures need matplotlib; install it with: pip install 'ratewise[plot]'") from None
    made = Figure(figsize=(width, height), layout="constrained")
    axes = made.add_subplot()
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=INK)
    return made, axes


def grid(rows: int, columns: int, *, width: float = 3.4, height: float = 2.9) -> tuple["Figure", list[list["Axes"]]]:
    """Rows of axes side by side."""
    made, first = figure(width=width * columns, height=height * rows)
    made.delaxes(first)
    axes = [[made.add_subplot(rows, columns, r * columns + c + 1) for c in range(columns)] for r in range(rows)]
    for ax in (ax for row in axes for ax in row):
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(which="both", colors=INK, labelsize=8)
    return made, axes


def picture_of(found: Any) -> "Figure":
    """The picture of a result."""
    from ratewise.report import comparison, leaderboard, regression, simulation, slices, what_if

    plots: dict[str, Any] = {
        "WhatIf": what_if.plot_what_if, "Comparison": comparison.plot_comparison,
        "ManyComparisons": comparison.plot_comparison, "Leaderboard": leaderboard.plot_leaderboard,
        "Regression": regression.plot_regression, "Simulation": simulation.plot_simulation,
        "Slices": slices.plot_slices,
    }  # fmt: skip
    made: Figure = plots[type(found).__name__](found)
    return made


def plot_plan(plan: Plan) -> "Figure":
    """Expected 95 % interval of each policy for the same goal; the recommended one stands out."""
    made, axes = figure()
    widest = max(p.within(0.95) for p in plan.policies.values())
    for y, (name, policy) in enumerate(reversed(list(plan.policies.items()))):
        half = policy.within(0.95)
        axes.barh(y, 2 * half, left=-half, color=ACCENT if name == plan.recommendation else QUIET, height=0.55)
        label = f"± {half:.3f}: {policy.strong_labels:,.0f} strong ratings, {policy.spend:,.0f} spent"
        axes.annotate(label, (1.08 * widest, y), va="center", color=INK)
    axes.set_yticks(range(len(plan.policies)), [POLICY_TITLES[name] for name in plan.policies][::-1])
    axes.set_xlim(-1.05 * widest, 3.1 * widest)
    axes.set_xticks([-widest, 0, widest], [f"−{widest:.3f}", "estimate", f"+{widest:.3f}"])
    axes.spines["bottom"].set_bounds(-widest, widest)
    axes.set_title("Expected 95 % interval of the mean strong rating", loc="left", color=INK, fontsize=11)
    return made


def plot_estimates(estimates: Mapping[str, Estimate], *, truth: float | None = None) -> "Figure":
    """Estimates one below the other, each with its interval; a line where the truth is known."""
    made, axes = figure(height=0.8 + 0.45 * len(estimates))
    for y, (_, e) in enumerate(reversed(list(estimates.items()))):
        if e.interval is not None:
            axes.plot(e.interval, (y, y), color=ACCENT, linewidth=4, solid_capstyle="butt")
        axes.plot(e.value, y, marker="o", color=INK)
    if truth is not None:
        axes.axvline(truth, color=QUIET, linestyle="--", zorder=0)
        axes.annotate(" truth", (truth, len(estimates) - 0.6), color=INK)
    axes.set_yticks(range(len(estimates)), list(estimates)[::-1])
    axes.set_ylim(-0.7, len(estimates) - 0.3)
    axes.set_xlabel(f"mean strong rating, {_levels(estimates)} intervals")
    return made


def _levels(estimates: Mapping[str, Estimate]) -> str:
    return " and ".join(sorted({f"{e.level:.0%}" for e in estimates.values()}))


def check_ending(path: str | os.PathLike[str] | None) -> None:
    """Refuse a picture format that cannot be written; `None` means no picture."""
    if path is not None and os.path.splitext(os.fspath(path))[1].lower() not in (".svg", ".png"):
        raise InputError(f"pictures are .svg or .png; got {os.fspath(path)!r}")


def save(picture: "Figure", path: str | os.PathLike[str]) -> None:
    """Write a figure as SVG or PNG by its ending, without date or chance so that the same data give the same file."""
    from matplotlib import rc_context

    check_ending(path)
    metadata = {"Date": None} if os.fspath(path).lower().endswith(".svg") else {"Software": None}
    with rc_context({"svg.hashsalt": "ratewise"}):
        picture.savefig(path, metadata=metadata, dpi=160)


def plain_name(name: str) -> str:
    """A name that leaves room for the picture, and that matplotlib does not take for a formula."""
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")
