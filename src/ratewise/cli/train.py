"""`ratewise train`: a rater fitted to labels."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from ratewise.cli.console import one_line_errors, print_json, say
from ratewise.cli.options import FormatOption, Json, Seed, TableArgument, in_format, words

if TYPE_CHECKING:
    from ratewise.learn.training.loop import Step, Tell


def train(
    table: TableArgument,
    text: Annotated[str, typer.Option(help="Columns of text that the rater reads, separated by commas.")],
    strong: Annotated[str, typer.Option(help="Column with the labels; empty where there is none.")],
    output: Annotated[str, typer.Option("--output", "-o", help="Folder for the rater and its card.")],
    kind: Annotated[
        str, typer.Option(help="encoder: a small model with a head; causal: a language model with LoRA adapters.")
    ] = "encoder",
    init: Annotated[
        str | None, typer.Option(help="Path or name of the model to start from; the installed MiniLM if absent.")
    ] = None,
    groups: Annotated[str | None, typer.Option(help="Column of groups that are held out whole: system.")] = None,
    template: Annotated[
        str | None, typer.Option(help="File with the prompt; {column} stands for the item's text in that column.")
    ] = None,
    answers: Annotated[str, typer.Option(help="Of causal: the answers for a low and a high rating.")] = "no,yes",
    epochs: Annotated[int, typer.Option(help="Most passes over the labels; it stops by itself before.")] = 4,
    batch: Annotated[int, typer.Option(help="Labels in one step.")] = 16,
    longest: Annotated[int, typer.Option(help="Tokens of an item that are read.")] = 256,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    seed: Seed = 0,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Train a rater on labels that are there, for campaigns with kind = "trained".

    Example: ratewise train rated.csv --text question,answer --strong human --groups system -o judge
    """
    with one_line_errors():
        from ratewise.errors import InputError
        from ratewise.learn.training.train import train_rater

        pair = words(answers)
        if len(pair) != 2:
            raise InputError("--answers must be two words, for a low and a high rating, such as no,yes")
        with _progress(quiet=json) as tell:
            made = train_rater(
                in_format(table, format), text=words(text), strong=strong, output=output, kind=kind, init=init,  # type: ignore[arg-type]
                groups=groups, template=None if template is None else _read(template), words=(pair[0], pair[1]),
                epochs=epochs, batch=batch, longest=longest, device=device, seed=seed, progress=tell,
            )  # fmt: skip
        from ratewise.report.trained import save_reliability

        save_reliability(made)
        if json:
            print_json(made.to_dict())
        else:
            say(made.summary())
            say(f'use it: write kind = "trained" and path = "{made.folder}" under [[raters]] of a campaign')


def _read(path: str) -> str:
    from ratewise.errors import InputError

    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"the template {path} cannot be read: {error.strerror or error}") from None


@contextmanager
def _progress(*, quiet: bool) -> "Iterator[Tell | None]":
    """A bar with the loss and the time left; a line for each epoch where standard error is no terminal."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield _line
        return
    from rich.progress import BarColumn, Progress, TextColumn

    from ratewise.cli.visible import console

    with Progress(TextColumn("{task.description}"), BarColumn(), console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("epochs", total=1.0)
        yield lambda step: bar.update(task, completed=step.epoch, total=step.epochs, description=said(step))


def _line(step: "Step") -> None:
    if step.epoch == int(step.epoch):
        say(said(step), error=True)


def said(step: "Step") -> str:
    """News in one line."""
    held = "" if step.held_out is None else f", held out {step.held_out:.3f} the epoch before"
    minutes = step.seconds_left / 60
    left = f"{step.seconds_left:.0f} s" if minutes < 2 else f"{minutes:.0f} min"
    return f"epoch {step.epoch:.1f} of at most {step.epochs}: loss {step.loss:.3f}{held}; {left} left at most"
