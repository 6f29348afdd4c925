"""One table of the options that commands share, and how a command is made of them.

A command names its options in the order of its help; those that are its own stand beside it. What a command's function
names itself, it gets; everything else it hands on to the library, under the names and in the form that are used there.
A result that it returns is shown, as text or JSON, with its picture; a number is the exit code.
"""

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ratewise.cli.console import STOPPED, check_outputs, one_line_errors, show, texts_told, write_report
from ratewise.core.names import Estimand, IntervalMethod, Method, Recalibration

if TYPE_CHECKING:
    from ratewise.tables import TableLike


@dataclass(frozen=True, slots=True)
class Option:
    """An option or an argument: its type, its default, how it is typed, and how the library takes it."""

    kind: Any
    default: Any
    typed: Any  # of typer: the help, and the words on the command line where they are not the name's
    read: Callable[[Any], Any] | None = None
    to: str | None = None  # its name in the library, where that is another


def option(
    help: str, kind: Any = str | None, default: Any = None, *words: str,
    read: Callable[[Any], Any] | None = None, to: str | None = None, **more: Any,
) -> Option:  # fmt: skip
    """An option that may be left out."""
    return Option(kind, default, typer.Option(*words, help=help, **more), read, to)


def required(help: str, kind: Any = str, *words: str, read: Callable[[Any], Any] | None = None) -> Option:
    """An option that must be given."""
    return option(help, kind, inspect.Parameter.empty, *words, read=read)


def flag(help: str, word: str) -> Option:
    """Something to switch on."""
    return option(help, bool, False, word)


def argument(help: str, kind: Any = str, default: Any = inspect.Parameter.empty, **more: Any) -> Option:
    """A word without an option before it."""
    return Option(kind, default, typer.Argument(help=help, **more))


def command(names: str, **own: Option) -> Callable[[Callable[..., Any]], Callable[..., None]]:
    """Make a function a command with these options: its own, else those that are shared."""

    def made(function: Callable[..., Any]) -> Callable[..., None]:
        options = {name: own.get(name) or SHARED[name] for name in names.split()}
        wanted = set(inspect.signature(function).parameters)

        def run(**typed: Any) -> None:
            json, picture, report = typed["json"], typed.get("picture"), typed.get("report")
            with one_line_errors(), texts_told(quiet=json) if typed.get("text") else nullcontext():
                check_outputs(picture, report)
                found = function(**_for_the_library(typed, options, wanted))
                if not isinstance(found, int | None):
                    show(found, json=json, picture=picture)
                    if report is not None:
                        write_report(found, report, table=typed["table"])
                    found = STOPPED if getattr(found, "partial", False) else None
            if found:
                raise typer.Exit(found)

        run.__name__, run.__doc__ = function.__name__, function.__doc__
        run.__annotations__ = {name: Annotated[one.kind, one.typed] for name, one in options.items()}
        run.__signature__ = inspect.Signature([  # type: ignore[attr-defined]
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=one.default,
                              annotation=run.__annotations__[name]) for name, one in options.items()
        ])  # fmt: skip
        return run

    return made


def _for_the_library(typed: dict[str, Any], options: dict[str, Option], wanted: set[str]) -> dict[str, Any]:
    """What was typed, as the library takes it, but for the names that the command's function wants as they are."""
    given = {}
    for name, value in typed.items():
        if name in ("json", "picture", "report") and name not in wanted:
            continue
        one = options[name]
        given[name if name in wanted else one.to or name] = value if one.read is None else one.read(value)
    if "low" in given and "low" not in wanted:
        given["bounds"] = given.pop("low"), given.pop("high")
    if "format" in given and "format" not in wanted:
        given["table"] = in_format(given["table"], given.pop("format"))
    return given


def in_format(table: str, format: str | None) -> "TableLike":
    """The table as the library takes it: its path, or what was read where a format is insisted on."""
    if format is None:
        return table
    from ratewise.tables import read_table

    return read_table(table, format=format)


def words(text: str) -> list[str]:
    """Words separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def words_or_none(text: str | None) -> list[str] | None:
    """Words separated by commas, where there are any."""
    return None if text is None else words(text)


def scale_or_none(text: str | None) -> Any:
    """A scale of words as the library takes it, where there is one."""
    from ratewise.tables.words import scale_in

    return None if text is None else scale_in(text)


def numbers(name: str) -> Callable[[str], list[float]]:
    """A reader of numbers separated by commas; `name` is what a wrong one is called."""

    def read(text: str) -> list[float]:
        from ratewise.core.checks import number

        return [number(word, name=name) for word in words(text)]

    return read


def refuse(wrong: bool, message: str) -> None:
    """Refuse what does not go together."""
    from ratewise.errors import InputError

    if wrong:
        raise InputError(message)


def refuse_two_outputs(output: str | None, *, json: bool) -> None:
    """Refuse a table and a JSON document on the one standard output."""
    refuse(json and output == "-", "--json and -o - both want standard output; write the table to a file")


def both_ends(low: float | None, high: float | None) -> tuple[float, float] | None:
    """The ends of a rating scale of which both are known, or neither."""
    refuse((low is None) != (high is None), "give both ends of the rating scale (--low and --high), or neither")
    return None if low is None or high is None else (low, high)


TABLE = "CSV, JSONL or Parquet file, or one that another tool wrote; - for standard input."

EXPORTED: dict[str, Option] = {
    "strong": option(
        "Column with the strong rating, empty where there is none; several people's columns separated by commas. A "
        "campaign and its export name it themselves."
    ),
    "estimand": option(
        "The mean of what: the population that the items come from (the default), or the pool of items itself. A "
        "campaign's export says it.",
        Estimand | None,
    ),
}
"""Options of commands that read a campaign's export, too, which knows them itself."""

SHARED = {
    "table": argument(TABLE),
    "campaign": argument("The campaign's TOML; `ratewise init` writes one.", metavar="CAMPAIGN.toml"),
    "weak": option("Column with the weak rating; leave it out to use strong ratings alone."),
    "strong": required(
        "Column with the strong rating, empty where there is none; several people's columns separated by commas."
    ),
    "rate": option(
        "Column with the chance that each item had of being drawn, or one number for all. Default: the column "
        "`rate` if there is one, else all had the same chance."
    ),
    "selected": option("Column that says which items were asked about, so that answers that never came are counted."),
    "cluster": option(
        "Column that says which items belong together: conversation, document, person.", to="clusters"
    ),
    "method": option("How the ratings are combined.", Method, "auto"),
    "interval": option("Kind of interval; auto picks one, and a note says which.", IntervalMethod, "auto"),
    "level": option("Confidence level of each interval.", float, 0.95),
    "estimand": option(
        "The mean of what: the population the items come from, or the pool of items itself.", Estimand, "population"
    ),
    "pool_size": option("Size of the pool, if larger than the table.", float | None),
    "recalibrate": option(
        "First learn from the labels what a weak rating means in strong ones.", Recalibration, "none"
    ),
    "low": option("Lowest possible rating; not needed for 0/1 ratings.", float | None),
    "high": option("Highest possible rating.", float | None),
    "positive": option(
        "Words that count as 1, separated by commas, such as correct,fine; all others count as 0.", read=words_or_none
    ),
    "scale": option(
        "Words from the worst to the best, as 0 to 1: bad,ok,good; or with numbers: bad=0,ok=1,good=3.",
        read=scale_or_none,
    ),
    "uncertainty": option("Column with the weak rater's expected squared error."),
    "features": option("Columns to learn from, separated by commas; for auto.", str, "", read=words),
    "text": option("Columns of text to learn from, separated by commas.", str, "", read=words),
    "learner": option(
        "How texts become numbers: words, vectors (columns of lists), or an embedding model's path.", str, "words",
        "--learner",
    ),
    "output": required("File to write; - for CSV on standard output.", str, "--output", "-o"),
    "picture": option("File for a picture, .svg or .png."),
    "report": option("File for a report to forward, .html or .md."),
    "id": option("Column with the items' ids; `id`, else the row number."),
    "safe_cells": flag("Put ' before texts that a spreadsheet would run as formulas.", "--safe-cells"),
    "seed": option("The same seed gives the same result.", int, 0, min=0),
    "workers": option("Processes to use; as many as there are cores if absent.", int | None),
    "format": option(
        "Format of TABLE; found out if absent. One of inspect_ai, lm_eval, helm, openai_evals, "
        "promptfoo, langfuse, braintrust, deepeval, arena, label_studio; csv, jsonl, json, excel, parquet.",
        str | None, None, "--format",
    ),
    "json": flag("Print one JSON document on standard output, and nothing else.", "--json"),
}  # fmt: skip
