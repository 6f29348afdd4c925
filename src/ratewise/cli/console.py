"""What every command shares: JSON to standard output, everything else readable, errors in one line."""

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ratewise.core.messages import Message
from ratewise.errors import RatewiseError, RatewiseWarning, SpecError

if TYPE_CHECKING:
    from ratewise.campaign.status import Status

STOPPED = 130  # exit code after Ctrl-C, as shells count
_TYPED = {  # what is typed here for an argument that has another name in Python, or several parts
    "bounds=(low, high)": "--low and --high", "clusters": "--cluster", "votes": "--ask", "quantile": "--at",
}  # fmt: skip


def print_json(document: dict[str, Any]) -> None:
    """One JSON document, nothing else on standard output; what is not a finite number is null."""
    from ratewise.cli.visible import in_json

    sys.stdout.write(in_json(json.dumps(_plain(document), indent=2, ensure_ascii=False, allow_nan=False)) + "\n")
    sys.stdout.flush()  # a server goes on, and whoever reads its standard output waits for this


def print_rich(text: Any) -> None:
    """Rich text to standard output; plain and 100 columns wide where that is no terminal."""
    from ratewise.cli.visible import console

    screen = console(highlight=False)
    if not screen.is_terminal:
        screen = console(highlight=False, width=120)
    screen.print(text)


def show(found: Any, *, json: bool, picture: str | None = None, pictured: Any = None) -> None:
    """A result on standard output, as JSON or as text; and its picture, or that of a part of it, in a file."""
    if picture is not None:
        from ratewise.report.pictures import picture_of, save

        save(picture_of(found if pictured is None else pictured), picture)
    if json:
        print_json(found.to_dict())
    else:
        from ratewise.report.terminal import text_of

        print_rich(text_of(typed_notes(found)))


def check_picture(path: str | None) -> None:
    """Refuse a picture that cannot be written, before anything is read."""
    if path is None:
        return
    from ratewise.report.pictures import check_ending
    from ratewise.tables.write import check_folder

    check_folder(path)
    check_ending(path)


def print_notes(notes: tuple[str, ...]) -> None:
    """Notes to standard error, where they do not disturb JSON."""
    for note in notes:
        say(f"note: {as_typed(note)}", error=True)


def say(text: str, *, error: bool = False) -> None:
    """The one way to print; what could command a terminal is shown as escapes."""
    from ratewise.cli.visible import say as shown

    shown(text, error=error)


@contextmanager
def progress_bar(unit: str, *, quiet: bool) -> Iterator[Callable[[int, int], None] | None]:
    """A bar on standard error, told (done, in all); nothing with --json or where standard error is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ratewise.cli.visible import console

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:
        task = bar.add_task(unit, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def live(*, quiet: bool) -> "Iterator[Callable[[Status], None] | None]":
    """The status on standard error while a campaign runs; nothing with --json or where that is no terminal."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Group
    from rich.live import Live
    from rich.text import Text

    from ratewise.cli.visible import console
    from ratewise.report.status import Speed
    from ratewise.report.terminal import as_text

    speed = Speed()
    with Live(console=console(stderr=True), transient=True, refresh_per_second=4) as shown:
        yield lambda found: shown.update(Group(as_text(found.document(running=True)), Text(speed.words(found))))


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
            say(f"ratewise: {_told(error)}", error=True)
            raise SystemExit(error.exit_code) from None
        except KeyboardInterrupt:
            say("ratewise: stopped", error=True)
            raise SystemExit(STOPPED) from None


def _told(error: RatewiseError) -> str:
    """The error in one line; the mistakes of a file in a line each."""
    if isinstance(error, SpecError):
        return str(error)
    return " ".join(as_typed(error.args[0] if error.args else str(error)).split())


def as_typed(message: Any) -> str:
    """A message with its arguments as options of the command line."""
    return message.typed(option) if isinstance(message, Message) else str(message)


def option(argument: str) -> str:
    """The option that is typed for an argument of the library."""
    name, _, value = argument.partition(" ")
    return _TYPED.get(argument) or f"--{name.replace('_', '-')}{' ' if value else ''}{value}"


def typed_notes(record: Any) -> Any:
    """A result whose notes name options of the command line."""
    return replace(record, notes=tuple(map(as_typed, record.notes))) if hasattr(record, "notes") else record


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
