"""What `ratewise init --from` guessed, for people: each role with its column, and what to change."""

import shlex

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ratewise.campaign.spec.guess import Begun, scale_words
from ratewise.report.text import one_line

_MOST_NAMED = 3


def begun_text(begun: Begun) -> RenderableType:
    """The guesses, then what to do next."""
    g = begun.guess
    grid = Table.grid(padding=(0, 2))
    grid.add_row("id", one_line(g.id or "none: rows are numbered"))
    grid.add_row("weak rating", one_line(g.weak or "none: the strong rater works alone"))
    grid.add_row("strong rating", _strong(begun))
    grid.add_row("scale", one_line(f"{g.scale.kind}: {_spoken(begun) or scale_words(g)}"))
    grid.add_row("features", one_line(", ".join(g.features) or "none"))
    for k, (name, why) in enumerate(g.left_out.items()):
        grid.add_row("left out" if k == 0 else "", one_line(f"{name}, which {why}"))
    first = Text(f"Written: {begun.path}, for the {begun.rows:,} rows of {begun.table}. Guessed:")
    change = f"Look at {_listed(begun.to_change)}; a wrong guess is changed in the file."
    return Group(first, grid, Text(f"{change} Then: ratewise run {shlex.quote(begun.path)}"))


def _strong(begun: Begun) -> Text:
    g = begun.guess
    if g.strong is None:
        told = "no column says that people filled it; people are asked, in a sheet"
        if not g.unsure:
            return Text(told)
        return one_line(f"{told}. If people filled {' or '.join(g.unsure[:_MOST_NAMED])}, name it with --strong")
    if g.labels < begun.rows:
        return one_line(
            f"{g.strong}, on {g.labels:,} rows, which count and are free; people are asked for more, in a sheet"
        )
    return one_line(g.strong)


def _spoken(begun: Begun) -> str:
    """What words count; empty where nothing was said about them."""
    if begun.words.positive:
        return f"{' and '.join(begun.words.positive)} counts as 1, every other word as 0"
    return ", ".join(f"{word} counts as {value:g}" for word, value in begun.words.scale)


def _listed(words: tuple[str, ...]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
