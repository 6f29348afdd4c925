"""A leaderboard as terminal text and as a picture."""

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from ratewise.questions.leaderboard import Leaderboard, RankedModel
from ratewise.questions.votes import Asked
from ratewise.report.pictures import ACCENT, INK, QUIET, figure, plain_name
from ratewise.report.terminal_table import Column, TerminalTable
from ratewise.report.text import notes_text, one_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BAR = 28  # characters


def leaderboard_text(board: Leaderboard) -> RenderableType:
    """Ranks, ratings and intervals, with a bar for each; models without a rating below, with the reason."""
    columns = (
        Column("rank"), Column("model", "name"), Column("rating"), Column(f"{board.level:.0%} interval"),
        Column("", "bar", 4), Column("may rank", leaves=1), Column("best", leaves=3), Column("votes", leaves=2),
    )  # fmt: skip
    table = TerminalTable(columns)
    ends = _range(board)
    for m in board.rated:
        table.add_row(
            str(m.rank), one_line(m.name), f"{m.rating:.0f}", _interval(m), _bar(m, ends),
            f"{m.rank_low}–{m.rank_high}", _percent(m.best), f"{m.strong_votes:,}",
        )  # fmt: skip
    rest: list[RenderableType] = [Text(f"–  {m.name}: {m.reason}") for m in board.models if m.rating is None]
    line = (
        f"{board.labels:,} strong votes on {board.items:,} comparisons ({board.method}). "
        "Intervals and ranks each hold for all models at once."
    )
    told = tuple(note for note in board.notes if not any(note == f"{m.name}: {m.reason}" for m in board.models))
    return Group(table, *rest, Text(), Text(line), *notes_text(told))


def _interval(m: RankedModel) -> str:
    return "none" if m.low is None else f"{m.low:.0f} to {m.high:.0f}"


def _percent(share: float | None) -> str:
    """A share in percent: empty where it is next to impossible, and never 100 % where it is not certain."""
    if share is None or share < 0.005:
        return ""
    return ">99%" if share > 0.995 else f"{share:.0%}"


def asked_text(asked: Asked, where: str) -> RenderableType:
    """How many comparisons are to be asked, and where they were written."""
    return Group(Text(f"{asked.summary()}. Written to {where}."), *notes_text(asked.notes))


def _range(board: Leaderboard) -> tuple[float, float]:
    ends = [x for m in board.rated for x in (m.low, m.rating, m.high) if x is not None]
    return min(ends), max(ends)


def _bar(m: RankedModel, ends: tuple[float, float]) -> Text:
    assert m.rating is not None
    if m.low is None or m.high is None:
        return Text("")
    width = max(ends[1] - ends[0], 1e-9)
    low, at, high = (round((x - ends[0]) / width * (_BAR - 1)) for x in (m.low, m.rating, m.high))
    cells = ["─" if low <= k <= high else " " for k in range(_BAR)]
    cells[at] = "●"
    return Text("".join(cells), style="cyan")


def plot_leaderboard(board: Leaderboard) -> "Figure":
    """Ratings with intervals that hold at once, best on top; the ranks that each may have stand beside."""
    rated = board.rated
    made, axes = figure(width=8.0, height=0.9 + 0.27 * len(rated))
    low, high = _range(board)
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
    axes.grid(axis="x", color="#e5e7eb", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("rating; 400 points are tenfold odds", color=INK, fontsize=8)
    title = f"Ratings with {board.level:.0%} intervals that hold at once, from {board.labels:,} strong votes"
    axes.set_title(title, loc="left", color=INK, fontsize=10)
    return made
