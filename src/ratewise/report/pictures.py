"""Pictures of results with matplotlib, which is an extra, in one style.

Colours are told apart by colour-blind readers, and never alone: lines and rows have their names beside them, axes say
which way is better, and an SVG says in words what it shows.
"""

import html
import io
import os
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ratewise.core.estimate import Estimate
from ratewise.core.formulas import WhatIf
from ratewise.errors import InputError
from ratewise.lab.results import MethodResult, Simulation
from ratewise.learn.trainer import Trained
from ratewise.questions.comparison import Comparison, ManyComparisons, percent, signed
from ratewise.questions.leaderboard import Leaderboard
from ratewise.questions.plan import Plan
from ratewise.questions.policies import POLICY_TITLES
from ratewise.questions.regression import MEANINGS, Regression, rounded
from ratewise.questions.slices import Slices

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LONGEST_NAME = 32
INK, ACCENT, QUIET, WORSE = "#1f2937", "#0f766e", "#8b95a5", "#c2410c"
LINES = (ACCENT, "#0072b2", "#c2410c", "#aa3377", "#5f6368")  # one after the other
_GRID = "#e5e7eb"

Interval = tuple[str, float | None, tuple[float, float] | None, str]  # name, value, ends, colour


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
    axes.set_title(
        "Expected 95% interval of the mean strong rating: narrower is better", loc="left", color=INK, fontsize=11
    )
    return made


def _intervals(axes: "Axes", rows: Sequence[Interval]) -> None:
    """Values with their intervals one below the other, the first on top."""
    for y, (_, value, ends, colour) in enumerate(reversed(rows)):
        if value is None:
            axes.annotate(" no estimate", (0.0, y), xycoords=("axes fraction", "data"), va="center", color=QUIET)
            continue
        if ends is not None:
            axes.plot(ends, (y, y), color=colour, linewidth=4, solid_capstyle="butt")
        axes.plot(value, y, marker="o", color=INK)
    axes.set_yticks(range(len(rows)), [name for name, *_ in rows][::-1])
    axes.set_ylim(-0.7, len(rows) - 0.3)


def _against_zero(rows: Sequence[Interval], told: Callable[[float], str], label: str) -> "Figure":
    """Values with their intervals against the line of no difference."""
    made, axes = figure(height=1.1 + 0.4 * max(len(rows), 1))
    _intervals(axes, rows)
    for y, (_, value, *_) in enumerate(reversed(rows)):
        axes.annotate(
            "" if value is None else told(value), (value or 0.0, y), xytext=(0, 9), textcoords="offset points",
            ha="center", va="center", fontsize=8, bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8},
        )  # fmt: skip
    axes.axvline(0, color=INK, linewidth=0.8, zorder=0)
    axes.margins(x=0.08)
    axes.set_xlabel(label, fontsize=9)
    return made


def plot_estimates(estimates: Mapping[str, Estimate], *, truth: float | None = None) -> "Figure":
    """Estimates one below the other, each with its interval; a line where the truth is known."""
    made, axes = figure(height=0.8 + 0.45 * len(estimates))
    _intervals(axes, [(name, e.value, e.interval, ACCENT) for name, e in estimates.items()])
    if truth is not None:
        axes.axvline(truth, color=QUIET, linestyle="--", zorder=0)
        axes.annotate(" truth", (truth, len(estimates) - 0.6), color=INK)
    levels = " and ".join(sorted({f"{e.level:.0%}" for e in estimates.values()}))
    axes.set_xlabel(f"mean strong rating →  ({levels} intervals)")
    return made


def check_ending(path: str | os.PathLike[str] | None) -> None:
    """Refuse a picture format that cannot be written; `None` means no picture."""
    if path is not None and os.path.splitext(os.fspath(path))[1].lower() not in (".svg", ".png"):
        raise InputError(f"pictures are .svg or .png; got {os.fspath(path)!r}")


def save(picture: "Figure", path: str | os.PathLike[str], *, words: str = "") -> None:
    """Write a figure as SVG or PNG by its ending, without date or chance so that the same data give the same file.

    An SVG says for those who do not see it what it shows: these words, or its titles and axes.
    """
    from matplotlib import rc_context

    check_ending(path)
    if not os.fspath(path).lower().endswith(".svg"):
        picture.savefig(path, metadata={"Software": None}, dpi=160)
        return
    target = io.StringIO()
    with rc_context({"svg.hashsalt": "ratewise", "svg.fonttype": "none"}):
        picture.savefig(target, format="svg", metadata={"Date": None})
    told = html.escape(words or _words_of(picture), quote=True)
    drawn = target.getvalue().replace("<svg ", f"<svg role='img' aria-label='{told}' ", 1)
    begin = drawn.index(">", drawn.index("<svg ")) + 1
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"{drawn[:begin]}\n<title>{told}</title>{drawn[begin:]}")


def _words_of(picture: "Figure") -> str:
    """What a figure's titles and axes say it shows."""
    said = [
        text.replace("\\$", "$")
        for ax in picture.axes
        for text in (ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel())
        if text
    ]
    return "; ".join(dict.fromkeys(" ".join(text.split()) for text in said))


def plain_name(name: str) -> str:
    """A name that leaves room for the picture, and that matplotlib does not take for a formula."""
    short = name if len(name) <= _LONGEST_NAME else name[: _LONGEST_NAME - 1] + "…"
    return short.replace("$", r"\$")


def plot_comparison(found: Comparison | ManyComparisons) -> "Figure":
    """Each difference with its interval, against the line of no difference."""
    if isinstance(found, ManyComparisons):
        differences = [(r.name, r.difference) for r in found.rivals]
        level, against = found.level, found.baseline
    else:
        differences, level, against = [(found.names[0], found.difference)], found.difference.level, found.names[1]
    rows = [(plain_name(name), e.value, e.interval, _side(e)) for name, e in differences]
    together = ", all hold together" if len(rows) > 1 else ""
    told = f"difference to {plain_name(against)}: better →  ({percent(level)} intervals{together})"
    return _against_zero(rows, signed, told)


def _side(e: Estimate) -> str:
    """The colour of a difference by the side of 0 that its interval is on."""
    if e.interval is None or e.interval[0] <= 0 <= e.interval[1]:
        return QUIET
    return ACCENT if e.interval[0] > 0 else WORSE


def plot_leaderboard(board: Leaderboard) -> "Figure":
    """Ratings with intervals that hold at once, best on top; the ranks that each may have stand beside."""
    rated = board.rated
    made, axes = figure(width=8.0, height=0.9 + 0.27 * len(rated))
    ends = [x for m in rated for x in (m.low, m.rating, m.high) if x is not None]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low) or 1.0
    for y, m in enumerate(reversed(rated)):
        sure = m.rank_low == m.rank_high
        assert m.rating is not None
        if m.low is not None and m.high is not None:
            axes.plot([m.low, m.high], [y, y], color=QUIET, linewidth=2, solid_capstyle="round", zorder=1)
        axes.plot([m.rating], [y], "o", color=ACCENT if sure else INK, markersize=5, zorder=2)
        ranks = f"{m.rank_low}" if sure else f"{m.rank_low}–{m.rank_high}"
        axes.annotate(ranks, (high + room, y), va="center", color=ACCENT if sure else INK, fontsize=8)
    axes.annotate("rank", (high + room, len(rated) - 0.3), color=INK, fontsize=8, fontweight="bold")
    axes.set_yticks(range(len(rated)), [plain_name(m.name) for m in reversed(rated)], fontsize=8)
    axes.set_ylim(-0.6, len(rated) + 0.2)
    axes.set_xlim(low - room, high + 3 * room)
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x", color=_GRID, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("rating: better →  (400 points are tenfold odds)", color=INK, fontsize=8)
    title = f"Ratings with {board.level:.0%} intervals that hold at once, from {board.labels:,} strong votes"
    axes.set_title(title, loc="left", color=INK, fontsize=10)
    return made


def plot_regression(found: Regression) -> "Figure":
    """Every coefficient with its interval against 0; the intercept, which has another meaning, is left out."""
    known = [c for c in found.coefficients if c.value is not None]
    rows: list[Interval] = []
    for c in [c for c in known if c.name != "(intercept)"] or known:
        ends = None if c.low is None or c.high is None else (c.low, c.high)
        sure = ends is not None and (ends[0] > 0 or ends[1] < 0)
        rows.append((plain_name(c.name), c.value, ends, ACCENT if sure else QUIET))
    return _against_zero(rows, rounded, f"{MEANINGS[found.family]}, {found.level:.0%} intervals")


def plot_slices(found: Slices) -> "Figure":
    """Slices one below the other with their intervals; the whole as a band; where shrunk, hollow: what they were."""
    count = len(found.slices)
    made, axes = figure(height=1.0 + 0.36 * (count + 1))
    if found.overall.interval is not None:
        axes.axvspan(*found.overall.interval, color=QUIET, alpha=0.25, linewidth=0)
    axes.axvline(found.overall.value, color=QUIET, linewidth=1)
    _intervals(
        axes, [(f"{plain_name(one.name)}  ({one.labels:,})", one.value, one.interval, ACCENT) for one in found.slices]
    )
    for y, one in enumerate(reversed(found.slices)):
        if one.shrunk is not None and one.estimate is not None:
            axes.plot(one.estimate.value, y, marker="o", color=INK, markerfacecolor="none")
    how = "shrunk, " if found.shrink else "all at once, " if found.simultaneous else ""
    axes.set_xlabel(f"mean strong rating →  ({how}{found.level:.0%} intervals; strong ratings in brackets)")
    axes.set_title(f"By {plain_name(found.by)}; the band is the whole", loc="left", color=INK, fontsize=11)
    return made


METHOD_COLOURS = {
    "base": "#5f6368", "paper-random": "#c2410c", "paper-active": "#0072b2", "oracle": "#332288", "ppi++": "#aa3377",
    "active-fixed": "#8a6d00", "auto": ACCENT, "limit": "#b45f6d",
}  # fmt: skip


def plot_simulation(found: Simulation) -> "Figure":
    """The paper's three panels: error, effective budget and savings against the budget, with 95 % intervals."""
    made, axes = grid(1, 3)
    draw_simulation(axes[0], found)
    return made


def draw_simulation(axes: "list[Axes]", found: Simulation) -> None:
    """The three panels on given axes."""
    rows = (
        ("mse", "mean squared error  (↓ better)"), ("effective_budget", "effective budget  (↑ better)"),
        ("savings", "cost savings  (↑ better)"),
    )  # fmt: skip
    for ax, (name, label) in zip(axes, rows, strict=True):
        for k, method in enumerate(found.methods):
            _curve(ax, found.of(method), name, 2.2 * (k - (len(found.methods) - 1) / 2))
        ax.set_xlabel("budget after the burn-in" if found.settings["burn_in"] else "budget", fontsize=9)
        ax.set_title(label, loc="left", fontsize=9)
    axes[0].set_yscale("log")
    axes[2].set_xscale("log")
    axes[2].set_xlabel("mean squared error", fontsize=9)
    axes[2].invert_xaxis()
    for ax in axes:
        named_at_the_end(ax)


def named_at_the_end(ax: "Axes") -> None:
    """The name of each line beside its last point, as far apart as they can be read; what has no name gets none."""
    low, high = (ax.transData.transform((0, y))[1] for y in ax.get_ylim())
    ends = []
    for line in ax.get_lines():
        name, y = str(line.get_label()), np.asarray(line.get_ydata(), dtype=float)
        if name.startswith("_") or not y.size:
            continue
        at = (ax.transData.transform((0, y[-1]))[1] - low) / (high - low)
        ends.append((min(max(at, 0.0), 1.0) if np.isfinite(at) else 0.0, name, line.get_color()))  # 0 has no logarithm
    least = min(0.075, 1 / max(len(ends), 1))
    places: list[float] = []
    for at, *_ in sorted(ends, key=lambda one: one[0]):
        places.append(max(at, places[-1] + least) if places else at)
    over = max(places[-1] - 1, 0.0) if places else 0.0
    for place, (_, name, colour) in zip(places, sorted(ends, key=lambda one: one[0]), strict=True):
        ax.annotate(
            name, (1.02, place - over), xycoords="axes fraction", color=colour, fontsize=8, va="center",
            annotation_clip=False,
        )  # fmt: skip


def _curve(ax: "Axes", curve: tuple[MethodResult, ...], name: str, aside: float) -> None:
    """A line with an interval at each budget; these stand some points aside, so that none hides another."""
    from matplotlib.transforms import ScaledTranslation

    method = curve[0].method
    x = [(r.mse or np.nan) if name == "savings" else r.budget for r in curve]  # what is saved at an error
    colour = METHOD_COLOURS[method]
    marker = "o" if len(curve) < 3 else None
    if method == "base" and name != "mse":  # by definition: its own budget, and nothing saved
        y = x if name == "effective_budget" else [0.0] * len(x)
        ax.plot(x, y, color=colour, label=method, marker=marker, markersize=3)
        return
    ax.plot(x, [getattr(r, name) for r in curve], color=colour, label=method, marker=marker, markersize=3)
    low, high = ([getattr(r, name + end) for r in curve] for end in ("_low", "_high"))
    moved = ax.transData + ScaledTranslation(aside / 72, 0, ax.figure.dpi_scale_trans)
    ax.vlines(x, low, high, color=colour, linewidth=0.9, transform=moved)
    ends = np.array([*zip(x, low, strict=True), *zip(x, high, strict=True)], dtype=float)
    ax.update_datalim(ends[np.isfinite(ends).all(axis=1)])
    ax.autoscale_view()


def plot_what_if(found: WhatIf) -> "Figure":
    """Two pictures side by side: wrong beliefs, and burn-ins."""
    made, [[left, right]] = grid(1, 2, width=4.2, height=3.0)
    factors = sorted({b.factor for b in found.beliefs} | {1.0})
    for number, what in enumerate(dict.fromkeys(b.what for b in found.beliefs)):
        points = sorted([(b.factor, b.ratio) for b in found.beliefs if b.what == what] + [(1.0, 1.0)])
        left.plot(
            *zip(*points, strict=True),
            marker="o",
            markersize=3,
            label=what,
            color=LINES[number % len(LINES)],
            linestyle=("-", "--", ":")[number % 3],
        )
    left.set_xscale("log", base=2)
    left.set_xticks(factors, [f"×{f:g}" for f in factors])
    left.set_xlabel("believed, as a multiple of what it is", fontsize=8)
    left.set_title("squared error for the same money  (↓ better)", loc="left", fontsize=9)
    named_at_the_end(left)
    labels = [b.labels for b in found.burn_ins]
    right.plot(labels, [b.mean_ratio for b in found.burn_ins], marker="o", markersize=3, color=INK, label="on average")
    worst = [b.worst_ratio for b in found.burn_ins]
    right.plot(labels, worst, marker="o", markersize=3, color=ACCENT, label="one in twenty")
    right.axhline(1.0, color=QUIET, linewidth=1, zorder=0)
    right.set_xscale("log")
    right.set_xticks(labels, [f"{n:,}" for n in labels])
    right.minorticks_off()
    right.set_xlabel("labels of the burn-in", fontsize=8)
    named_at_the_end(right)
    return made


def save_reliability(made: Trained) -> Path | None:
    """The picture in the rater's folder; None where there is no plot library or nothing was held out."""
    bins = made.card["held_out"]["reliability"]
    if not bins or find_spec("matplotlib") is None:
        return None
    drawn, axes = figure(width=4, height=4)
    axes.plot([0, 1], [0, 1], color=QUIET, linewidth=1)
    axes.plot([b["said"] for b in bins], [b["found"] for b in bins], marker="o", linewidth=1, color=ACCENT)
    axes.set(xlabel="probability that the rater says", ylabel="mean label", xlim=(0, 1), ylim=(0, 1))
    axes.set_title(f"{made.card['held_out']['items']:,} labels held out", loc="left", color=INK, fontsize=11)
    path = Path(made.folder) / "reliability.svg"
    save(drawn, str(path))
    return path


def picture_of(found: Any) -> "Figure":
    """The picture of a result that a command found."""
    made: Figure = _PICTURES[type(found)](found)
    return made


_PICTURES: dict[type, Any] = {
    Comparison: plot_comparison, ManyComparisons: plot_comparison, Leaderboard: plot_leaderboard, Plan: plot_plan,
    Regression: plot_regression, Simulation: plot_simulation, Slices: plot_slices, WhatIf: plot_what_if,
}  # fmt: skip
