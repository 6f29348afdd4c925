"""A campaign in a terminal: where it stands, how fast it goes, how it ended, and what `init --from` guessed."""

import math
import shlex
import time
from collections.abc import Callable
from typing import Any

from rich.console import RenderableType

from ratewise.campaign.engine import Paused
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.guess import Begun, scale_words
from ratewise.campaign.status import Status
from ratewise.core.document import FactTable, Part, Sentence
from ratewise.report.terminal import as_text
from ratewise.store.money import in_currency

_FEWEST = 5.0  # seconds after which a rate is told
_MOST_NAMED = 3


def beside_the_numbers(now: Snapshot) -> dict[str, Any]:
    """Notes that status, report and run show beside the numbers: the record's head, and what is worth knowing."""
    return {"head": now.head, "told": list(now.told), "seed": now.seed}


def look_parts(now: Snapshot, *, reason: str = "") -> list[Part]:
    """A look at a campaign, for a terminal; after a run, with the reason why it ended."""
    parts, record = now.status.document(running=now.is_running and not reason), [("record", now.head)]
    parts.append(FactTable(record if now.seed is None else [("seed", now.seed), *record]))
    parts += [Sentence(line, "warning") for line in now.told]
    if reason == Paused.STOPPED:
        parts.append(Sentence("stopped; everything is kept: `ratewise run` goes on", "warning"))
    if reason == Paused.WAITING:
        parts.append(Sentence("questions are open; when people have answered, `ratewise run` goes on", "warning"))
    elif reason.startswith("waiting for"):
        parts.append(Sentence(f"{reason}; fill in what you can, then `ratewise run` goes on", "warning"))
    return parts


# How fast it goes


def speed_words(clock: Callable[[], float] = time.monotonic) -> Callable[[Status], str]:
    """Tells of each status how fast it went since the first; nothing in the first seconds and where nothing moves."""
    first: tuple[float, int, float] | None = None  # (when, ratings, spent)

    def words(status: Status) -> str:
        nonlocal first
        now, ratings, spent = clock(), status.looked + status.labels, float(status.spent)
        if first is None or first[1] > ratings:
            first = now, ratings, spent
        seconds, more = now - first[0], ratings - first[1]
        if seconds < _FEWEST or more <= 0:
            return ""
        paid = (spent - first[2]) / seconds
        left = min(_left(status, more / seconds), _money_left(status, paid))
        cost = f", {in_currency(f'{60 * paid:,.2f}', status.currency)} a minute" if paid > 0 else ""
        said = f"{60 * more / seconds:,.0f} ratings a minute{cost}"
        return said if math.isinf(left) else f"{said}; at most about {_span(left)} left"

    return words


def _left(status: Status, rate: float) -> float:
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
