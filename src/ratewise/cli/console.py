"""What every command shares: JSON to standard output, everything else readable, errors in one line.

What came from outside cannot command the terminal, and what may be a secret is not shown. Ids, names and messages of
raters are other people's text. An escape sequence in one of them could write over the line that tells of it, so control
characters are shown as escapes: \\x1b[2K.
"""

import json
import math
import os
import re
import shlex
import shutil
import sys
import textwrap
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ratewise.errors import Message, RatewiseError, RatewiseWarning, SpecError

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderableType
    from rich.segment import Segment

    from ratewise.campaign.status import Status
    from ratewise.core.document import Part

STOPPED = 130  # exit code after Ctrl-C, as shells count
_TYPED = {  # what is typed here for an argument that has another name in Python, or several parts
    "bounds=(low, high)": "--low and --high", "clusters": "--cluster", "votes": "--ask", "quantile": "--at",
}  # fmt: skip

_HARMLESS = frozenset("\n\t\u200c\u200d")  # the last two join letters of scripts and emoji
_HIDDEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))
_PLAIN = re.compile(r"[\n\t -~]*")
_IN_JSON = re.compile(r"[\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """The text with everything that a terminal would obey shown as escapes."""
    if _PLAIN.fullmatch(text):
        return text
    return "".join(_shown(sign) for sign in text)


def _shown(sign: str) -> str:
    if sign in _HARMLESS or unicodedata.category(sign) not in _HIDDEN:
        return sign
    number = ord(sign)
    return f"\\x{number:02x}" if number < 256 else f"\\u{number:04x}" if number < 65536 else f"\\U{number:08x}"


def in_json(text: str) -> str:
    """JSON whose text holds no such sign either; it stays the same JSON."""
    return _IN_JSON.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def console(**options: Any) -> "Console":
    """A console whose texts cannot command the terminal; its own colours still do."""
    from rich.console import Console
    from rich.segment import Segment

    class Plain(Console):
        def render(self, renderable: "RenderableType", options: "ConsoleOptions | None" = None) -> "Iterable[Segment]":
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(visible(segment.text), segment.style)

    return Plain(**options)


def print_json(document: dict[str, Any]) -> None:
    """One JSON document, nothing else on standard output; what is not a finite number is null."""
    sys.stdout.write(in_json(json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)) + "\n")
    sys.stdout.flush()  # a server goes on, and whoever reads its standard output waits for this


def print_rich(text: Any) -> None:
    """Rich text to standard output; plain and 100 columns wide where that is no terminal."""
    screen = console(highlight=False)
    if not screen.is_terminal:
        screen = console(highlight=False, width=120)
    screen.print(text)


def show(found: Any, *, json: bool, picture: str | None) -> None:
    """A result on standard output, as JSON or as text; and its picture, of a plan that of what if, in a file."""
    if picture is not None:
        from ratewise.report.pictures import picture_of, save

        save(picture_of(getattr(found, "what_if", found)), picture, words=" ".join(found.summary().split()))
    if json:
        print_json(found.to_dict())
    else:
        from ratewise.report.terminal import text_of

        typed = replace(found, notes=tuple(map(as_typed, found.notes))) if hasattr(found, "notes") else found
        print_rich(text_of(typed))


def write_report(found: Any, path: str, *, table: str) -> None:
    """A result's report, as HTML or Markdown by the file's ending; it ends with the command that was typed."""
    from ratewise.report.one_shot import result_report
    from ratewise.report.page import written
    from ratewise.tables.write import write_text

    typed = replace(found, notes=tuple(map(as_typed, found.notes))) if hasattr(found, "notes") else found
    name = "standard input" if table == "-" else os.path.basename(table)
    parts = result_report(typed, table=name, command=shlex.join(["ratewise", *sys.argv[1:]]))
    write_text(path, written(path, name, parts))


def check_outputs(picture: str | None, report: str | None) -> None:
    """Refuse a picture or a report that cannot be written, before anything is read."""
    if picture is None and report is None:
        return
    from ratewise.report.page import check_report
    from ratewise.report.pictures import check_ending
    from ratewise.tables.write import check_folder

    for path, check in ((picture, check_ending), (report, check_report)):
        if path is not None:
            check_folder(path)
            check(path)


def print_notes(notes: tuple[str, ...]) -> None:
    """Notes to standard error, where they do not disturb JSON."""
    for note in notes:
        say(f"note: {as_typed(note)}", error=True)


def say(text: str, *, error: bool = False) -> None:
    """One line or several to standard output, or standard error."""
    stream = sys.stderr if error else sys.stdout
    print(_wrapped(visible(text)) if stream.isatty() else visible(text), file=stream)


def _wrapped(text: str) -> str:
    """Lines no wider than the terminal, broken between words only; a long path or command stays whole."""
    width = shutil.get_terminal_size().columns
    keep: dict[str, Any] = {"break_long_words": False, "break_on_hyphens": False}
    lines = (
        textwrap.fill(line, width, subsequent_indent=" " * len("note: ") if line.startswith("note: ") else "", **keep)
        for line in text.split("\n")
    )
    return "\n".join(lines)


def tell(found: dict[str, Any], said: Any, *, json: bool) -> None:
    """What a command did, as JSON, or in words, rich text or parts of a document."""
    if json:
        print_json(found)
    elif isinstance(said, str):
        say(said)
    elif isinstance(said, list):
        from ratewise.report.terminal import as_text

        print_rich(as_text(said))
    else:
        print_rich(said)


def written(summary: str, output: str, notes: "Sequence[str | Message]") -> "list[Part]":
    """What was written where, and what is to be noted of it."""
    from ratewise.core.document import Sentence, noted

    return [Sentence(f"{summary}. Written to {output}."), *noted(map(as_typed, notes))]


@contextmanager
def progress_bar(unit: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error, told (done, in all); nothing with --json or where standard error is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    bar = Progress(*columns, console=console(stderr=True), transient=True)
    task = bar.add_task(unit, total=None)

    def tell(done: int, total: int) -> None:
        bar.start()  # at the first news: a bar of nothing says nothing
        bar.update(task, completed=done, total=total)

    try:
        yield tell
    finally:
        bar.stop()


@contextmanager
def live(*, quiet: bool) -> "Iterator[Callable[[Status], None] | None]":
    """The status on standard error while a campaign runs; nothing with --json or where that is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from ratewise.report.status import speed_words
    from ratewise.report.terminal import as_text

    speed = speed_words()
    with Live(console=console(stderr=True), transient=True, refresh_per_second=4) as shown:
        yield lambda found: shown.update(Group(as_text(found.document(running=True)), Text(speed(found))))


@contextmanager
def texts_told(*, quiet: bool) -> Iterator[None]:
    """A bar for texts that are embedded meanwhile."""
    from ratewise.learn.embeddings import embedding_progress

    with progress_bar("texts", quiet=quiet) as tell, embedding_progress(tell):
        yield


@contextmanager
def texts_in_lines(*, quiet: bool) -> Iterator[None]:
    """A line for every batch of texts that is embedded, where a bar of another kind is shown already."""
    from ratewise.learn.embeddings import embedding_progress

    silent = quiet or not sys.stderr.isatty()

    def tell(done: int, total: int) -> None:
        say(f"texts: {done:,} of {total:,} embedded", error=True)

    with embedding_progress(None if silent else tell):
        yield


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Ratewise's own errors end the program with one line and their exit code; warnings become one line each.

    A warning is shown at once: `run` may take days, and what it warns of is to be known before money is spent.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("always", RatewiseWarning)
        warnings.showwarning = _show
        try:
            yield
        except RatewiseError as error:
            several = isinstance(error, SpecError)  # the mistakes of a file in a line each
            told = str(error) if several else " ".join(as_typed(error.args[0] if error.args else error).split())
            say(f"ratewise: {told}", error=True)
            raise SystemExit(error.exit_code) from None
        except KeyboardInterrupt:
            say("ratewise: stopped", error=True)
            raise SystemExit(STOPPED) from None


def as_typed(message: Any) -> str:
    """A message with its arguments as options of the command line."""
    return message.typed(option) if isinstance(message, Message) else str(message)


def option(argument: str) -> str:
    """The option that is typed for an argument of the library."""
    name, _, value = argument.partition(" ")
    return _TYPED.get(argument) or f"--{name.replace('_', '-')}{' ' if value else ''}{value}"


def _show(message: Warning | str, *_: object, **__: object) -> None:
    said = message.args[0] if isinstance(message, RatewiseWarning) else message
    say(f"ratewise: warning: {as_typed(said)}", error=True)


def _plain(value: Any) -> Any:
    if isinstance(value, Message):
        return as_typed(value)
    if isinstance(value, dict):
        return {key: _plain(x) for key, x in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(x) for x in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
