"""Options that several commands share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ratewise.tables import TableLike

SafeCells = Annotated[
    bool, typer.Option("--safe-cells", help="Put ' before texts that a spreadsheet would run as formulas.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output, and nothing else.")]
TableArgument = Annotated[
    str, typer.Argument(help="CSV, JSONL or Parquet file, or one that another tool wrote; - for standard input.")
]
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="Format of TABLE, if its content and ending are not to decide: inspect_ai, lm_eval, helm, openai_evals, "
        "promptfoo, langfuse, braintrust, deepeval, arena, label_studio; csv, jsonl, json, excel, parquet.",
    ),
]
Weak = Annotated[str, typer.Option(help="Column with the weak rating.")]
Strong = Annotated[str, typer.Option(help="Column with the strong rating; empty where there is none.")]
People = Annotated[
    str,
    typer.Option(
        help="Column with the strong rating, empty where there is none; several people's columns separated by commas."
    ),
]
Positive = Annotated[
    str | None, typer.Option(help="Words that count as 1, separated by commas, all others as 0: correct.")
]
Scale = Annotated[
    str | None,
    typer.Option(help="Words from the worst to the best, as 0 to 1: bad,ok,good; or with numbers: bad=0,ok=1,good=3."),
]
Rate = Annotated[
    str | None,
    typer.Option(
        help="Column with the probability each item was drawn with, or one number for all; `rate` if there is such a "
        "column, else one rate for all."
    ),
]
Text = Annotated[str, typer.Option(help="Columns of text to learn from, separated by commas.")]
LearnerOption = Annotated[
    str,
    typer.Option(
        "--learner", help="How texts become numbers: words, vectors (columns of lists), or an embedding model's path."
    ),
]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
Workers = Annotated[int | None, typer.Option(help="Processes to use; as many as there are cores if absent.")]


def in_format(table: str, format: str | None) -> "TableLike":
    """The table as the library takes it: its path, or what was read where a format is insisted on."""
    if format is None:
        return table
    from ratewise.tables import read_table

    return read_table(table, format=format)


def said(positive: str | None, scale: str | None) -> tuple[list[str] | None, Sequence[str] | dict[str, float] | None]:
    """What words mean, as the library takes it."""
    from ratewise.tables.words import scale_in

    return None if positive is None else words(positive), None if scale is None else scale_in(scale)


def words(text: str) -> list[str]:
    """Words separated by commas."""
    return [word.strip() for word in text.split(",") if word.strip()]


def needed(value: str | None, option: str) -> str:
    """The value of an option that this command needs; refuses where it is missing."""
    from ratewise.errors import InputError

    if value is None:
        raise InputError(f"{option.split(maxsplit=1)[0]} is missing; add, for example, {option}")
    return value
