"""`simulate`, `reproduce` and `train`: methods tried on rated tables, the paper's experiments, and fitted raters."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ratewise.cli.console import STOPPED, console, progress_bar, say, tell
from ratewise.cli.options import argument, command, numbers, option, refuse, required, words
from ratewise.core.names import FIGURES, SIMULATED_METHODS, Mode

if TYPE_CHECKING:
    from ratewise.learn.trainer import Step, Tell


@command(
    "table weak strong cost_ratio budgets burn_in methods mode trials features text learner uncertainty transfer_from "
    "fixed_rate level at_rmse csv picture positive scale seed workers format json",
    weak=required("Column with the weak rating."),
    strong=required("Column with the strong rating; every row needs one."),
    cost_ratio=required("Price of a weak rating over that of a strong one.", float),
    budgets=required("Budgets after the burn-in, in strong ratings: 100,200,400.", str, read=numbers("budgets")),
    burn_in=option("Labels given to every method; 200, or 0 with --transfer-from.", int | None),
    methods=option(f"Some of {', '.join(SIMULATED_METHODS)}; separated by commas."),
    mode=option("stream: items drawn with replacement; pool: the table is the whole pool.", Mode, "stream"),
    trials=option("Number of trials.", int, 2000),
    transfer_from=option("Fully rated table with the same columns to learn the policies from."),
    fixed_rate=option("n/N of ppi++ and active-fixed.", float, 0.1),
    at_rmse=option("Also tell the share of base's budget that each method needs for this RMSE: 0.05.", float | None),
    csv=option("File for one row per method and budget."),
)
def simulate(*, methods: str | None, csv: str | None, json: bool, **options: Any) -> Any:
    """Try every method on a table that is fully rated. Shows what each would have achieved.

    Example: ratewise simulate rated.csv --cost-ratio 0.05 --budgets 100,400 --weak judge --strong human
    """
    from ratewise.lab.simulate import simulate as run_simulation
    from ratewise.tables.write import check_folder

    check_folder(csv)
    if methods is not None:
        options["methods"] = words(methods)
    with progress_bar("trials", quiet=json) as progress:
        found = run_simulation(progress=progress, **options)
    if csv is not None:
        found.save_csv(csv)
    return found


@command(
    "output figures data tables trials seed workers json",
    output=required("Folder for the CSV files, pictures and the page.", str, "--output", "-o"),
    figures=argument(
        f"Some of {', '.join(FIGURES)}; if none is named, all but arena-like, which trains a rater.",
        list[str] | None, None,
    ),
    data=option("Folder with your copies of the paper's datasets, one folder each."),
    tables=option("Folder with stand-in tables; $RATEWISE_DATA or ../shared/data if absent."),
    trials=option("Number of trials, for figures on real data.", int, 2000),
)  # fmt: skip
def reproduce(*, output: str, figures: list[str] | None, json: bool, **options: Any) -> int | None:
    """Repeat the paper's experiments. Writes a CSV and a picture each, and a page that says whether its claims hold.

    Example: ratewise reproduce gaussian bernoulli -o figures
    """
    from ratewise.report.reproduction import reproduce_all
    from ratewise.report.terminal import text_of

    with progress_bar("trials", quiet=json) as progress:
        chosen = figures or [name for name in FIGURES if name != "arena-like"]
        made = reproduce_all(chosen, output, progress=progress, **options)
    tell(made.to_dict(), text_of(made), json=json)
    if not json:
        say(f"The page is {output}/index.html.")
    return STOPPED if made.partial else None


@command(
    "table text strong output kind init groups template answers epochs batch longest device seed format json",
    text=required("Columns of text that the rater reads, separated by commas.", str, read=words),
    strong=required("Column with the labels; empty where there is none."),
    output=required("Folder for the rater and its card.", str, "--output", "-o"),
    kind=option("encoder: a small model with a head; causal: a language model with LoRA adapters.", str, "encoder"),
    init=option("Path or name of the model to start from; the installed MiniLM if absent."),
    groups=option("Column of groups that are held out whole: system."),
    template=option("File with the prompt; {column} stands for the item's text in that column."),
    answers=option("Of causal: the answers for a low and a high rating.", str, "no,yes", read=words),
    epochs=option("Most passes over the labels; it stops by itself before.", int, 4),
    batch=option("Labels in one step.", int, 16),
    longest=option("Tokens of an item that are read.", int, 256),
    device=option("auto, cpu or cuda.", str, "auto"),
)
def train(*, answers: list[str], template: str | None, json: bool, **options: Any) -> None:
    """Train a rater on labels that are there, for campaigns with kind = "trained".

    Example: ratewise train rated.csv --text question,answer --strong human --groups system -o judge
    """
    from ratewise.learn.trainer import train_rater
    from ratewise.report.pictures import save_reliability

    refuse(len(answers) != 2, "--answers must be two words, for a low and a high rating, such as no,yes")
    options["template"] = None if template is None else _read(template)
    with _epochs(quiet=json) as progress:
        made = train_rater(words=(answers[0], answers[1]), progress=progress, **options)
    save_reliability(made)
    use = f'use it: write kind = "trained" and path = "{made.folder}" under [[raters]] of a campaign'
    tell(made.to_dict(), f"{made.summary()}\n{use}", json=json)


def _read(path: str) -> str:
    from ratewise.errors import InputError

    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except OSError as error:
        raise InputError(f"the template {path} cannot be read: {error.strerror or error}") from None


@contextmanager
def _epochs(*, quiet: bool) -> "Iterator[Tell | None]":
    """A bar with the loss and the time left; a line for each epoch where standard error is no terminal."""
    if quiet:
        yield None
        return
    if not sys.stderr.isatty():
        yield lambda step: say(news(step), error=True) if step.epoch == int(step.epoch) else None
        return
    from rich.progress import BarColumn, Progress, TextColumn

    with Progress(TextColumn("{task.description}"), BarColumn(), console=console(stderr=True), transient=True) as bar:
        task = bar.add_task("epochs", total=1.0)
        yield lambda step: bar.update(task, completed=step.epoch, total=step.epochs, description=news(step))


def news(step: "Step") -> str:
    """How training goes, in one line."""
    held = "" if step.held_out is None else f", held out {step.held_out:.3f} the epoch before"
    minutes = step.seconds_left / 60
    left = f"{step.seconds_left:.0f} s" if minutes < 2 else f"{minutes:.0f} min"
    return f"epoch {step.epoch:.1f} of at most {step.epochs}: loss {step.loss:.3f}{held}; {left} left at most"
