"""A campaign in a terminal: where it stands, how fast it goes, how it ended, and what `init --from` guessed."""

import math
import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ratewise.campaign.engine import Paused
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.guess import Begun, scale_words
from ratewise.campaign.status import IF_YOU_LOOK, Status
from ratewise.core.document import FactTable, Sentence
from ratewise.report.terminal import as_text
from ratewise.report.words import amount, counted, ends_of

_BAR = 24
_FEWEST = 5.0  # seconds after which a rate is told
_MOST_NAMED = 3


def beside_the_numbers(now: Snapshot) -> dict[str, Any]:
    """Notes that status, report and run show beside the numbers: the record's head, and what is worth knowing."""
    return {"head": now.head, "told": list(now.told), "seed": now.seed}


def look_text(now: Snapshot) -> RenderableType:
    """A look at a campaign, for a terminal."""
    return status_text(now.status, running=now.is_running, beside=beside_the_numbers(now))


def status_text(
    status: Status, *, running: bool | None = None, beside: Mapping[str, Any] | None = None
) -> RenderableType:
    """A few lines: money as a bar, questions, and the estimate that may be looked at as often as one likes."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")  # a head that is cut is no head
    state = status.ended or ("running" if running else "stopped; go on with `ratewise run`")
    grid.add_row("campaign", Text.assemble((status.name, "bold"), f"  {state}", (f"  {status.campaign}", "dim")))
    if status.waits_for is not None:
        grid.add_row("waits", Text(status.waits_for, style="yellow"))
    for line in status.servers:
        grid.add_row("judge", Text(line, style="yellow"))
    grid.add_row("money", _money(status))
    grid.add_row(
        "items", f"{status.looked:,} of {status.pool:,} looked at, in {counted(status.rounds, 'complete round')}"
    )
    grid.add_row("strong ratings", _ratings(status))
    if status.failed_calls:
        grid.add_row("failed calls", f"{status.failed_calls:,}, of all raters")
    for line in status.votes:
        grid.add_row("votes", line)
    e = status.lead
    if e is None:
        grid.add_row("estimate", "none before the first round is complete")
    else:
        grid.add_row("estimate", Text(f"{e.value:.4f}", style="bold"))
        grid.add_row(f"{e.level:.0%} interval", Text(ends_of(e), style="bold"))
        grid.add_row("", Text(status.lead_words, style="dim"))
    if status.for_looks is not None:
        grid.add_row(IF_YOU_LOOK, Text(ends_of(status.for_looks)))
    if e is not None and status.ended is None and status.final is not None:
        grid.add_row("final", Text(ends_of(status.final)))
        grid.add_row("", Text("if it ended now, and nobody stops it on what they see", style="dim"))
    if status.expected_se is not None and status.ended is None:
        grid.add_row("at the end", f"standard error of about {status.expected_se:.4f}")
    if beside is None:
        return grid
    if beside["seed"] is not None:
        grid.add_row("seed", Text(beside["seed"]))
    grid.add_row("record", Text(beside["head"]))
    return Group(grid, *(Text(line, style="yellow") for line in beside["told"]))


def _money(status: Status) -> Text:
    if status.budget is None:
        return Text(f"{amount(status.spent)} spent, {amount(status.reserved)} promised; no limit")
    share = min(float((status.spent + status.reserved) / status.budget), 1.0)
    bar = "█" * round(share * _BAR)
    left = status.left if status.left is not None else Decimal(0)
    said = f" {amount(status.spent)} of {amount(status.budget)} spent"
    promised = f", {amount(status.reserved)} promised" if status.reserved else ""
    return Text.assemble((bar, "green"), ("░" * (_BAR - len(bar)), "dim"), said, promised, f", {amount(left)} left")


def _ratings(status: Status) -> str:
    said = [f"{status.labels:,} in"]
    if status.pending:
        said.append(f"{status.pending:,} asked for")
    if status.missing:
        said.append(f"{status.missing:,} will not come (counted at both ends of the scale)")
    return ", ".join(said)


def ending_text(status: Status, reason: str, *, beside: Mapping[str, Any] | None = None) -> RenderableType:
    """The end of a run, for a terminal."""
    lines: list[RenderableType] = [status_text(status, beside=beside)]
    if reason == Paused.STOPPED:
        lines.append(Text("stopped; everything is kept: `ratewise run` goes on", style="yellow"))
    if reason == Paused.WAITING:
        lines.append(Text("questions are open; when people have answered, `ratewise run` goes on", style="yellow"))
    elif reason.startswith("waiting for"):
        lines.append(Text(f"{reason}; fill in what you can, then `ratewise run` goes on", style="yellow"))
    return Group(*lines)


# How fast it goes


@dataclass(slots=True)
class Speed:
    """Compares each status with the first one that it saw."""

    clock: Callable[[], float] = time.monotonic
    _first: tuple[float, int, float] | None = field(init=False, default=None)  # (when, ratings, spent)

    def words(self, status: Status) -> str:
        """The speed in words; empty in the first seconds and where nothing moves."""
        now, ratings, spent = self.clock(), status.looked + status.labels, float(status.spent)
        if self._first is None or self._first[1] > ratings:
            self._first = now, ratings, spent
        seconds, more = now - self._first[0], ratings - self._first[1]
        if seconds < _FEWEST or more <= 0:
            return ""
        paid = (spent - self._first[2]) / seconds
        left = min(_left(status, more / seconds), _money_left(status, paid))
        said = f"{60 * more / seconds:,.0f} items and labels a minute, {60 * paid:,.4g} of money a minute"
        return said if math.isinf(left) else f"{said}; at most about {_span(left)} left"


def _left(status: Status, rate: float) -> float:
    """Seconds until every item is looked at and has a label, at this rate."""
    return (2 * status.pool - status.looked - status.labels) / rate


def _money_left(status: Status, rate: float) -> float:
    """Seconds until the money is spent, at this rate; infinite where there is no limit."""
    return math.inf if status.left is None or rate <= 0 else float(status.left + status.reserved) / rate


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


# What `init --from` guessed


def begun_text(begun: Begun) -> RenderableType:
    """The guesses, then what to do next."""
    g = begun.guess
    rows = [
        ("id", g.id or "none: rows are numbered"), ("weak rating", g.weak or "none: the strong rater works alone"),
        ("strong rating", _strong(begun)), ("scale", f"{g.scale.kind}: {_spoken(begun) or scale_words(g)}"),
        ("features", ", ".join(g.features) or "none"),
    ]  # fmt: skip
    left_out = [f"{name}, which {why}" for name, why in g.left_out.items()]
    rows += [("" if k else "left out", why) for k, why in enumerate(left_out)]
    change = f"Look at {_listed(begun.to_change)}; a wrong guess is changed in the file."
    return as_text([
        Sentence(f"Written: {begun.path}, for the {begun.rows:,} rows of {begun.table}. Guessed:"),
        FactTable([(name, " ".join(text.split())) for name, text in rows]),
        Sentence(f"{change} Then: ratewise run {shlex.quote(begun.path)}"),
    ])  # fmt: skip


def _strong(begun: Begun) -> str:
    g = begun.guess
    if g.strong is None:
        told = "no column says that people filled it; people are asked, in a sheet"
        if not g.unsure:
            return told
        return f"{told}. If people filled {' or '.join(g.unsure[:_MOST_NAMED])}, name it with --strong"
    if g.labels < begun.rows:
        return f"{g.strong}, on {g.labels:,} rows, which count and are free; people are asked for more, in a sheet"
    return g.strong


def _spoken(begun: Begun) -> str:
    """What words count; empty where nothing was said about them."""
    if begun.words.positive:
        return f"{' and '.join(begun.words.positive)} counts as 1, every other word as 0"
    return ", ".join(f"{word} counts as {value:g}" for word, value in begun.words.scale)


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
