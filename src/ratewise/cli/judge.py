"""`judge`: an LLM judge's ratings as two columns of a table; and `init --judge`, which writes a template to change."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from ratewise.cli.console import one_line_errors, print_json, say
from ratewise.cli.options import FormatOption, Json, TableArgument, words


def judge(
    table: TableArgument,
    output: Annotated[str, typer.Option("--output", "-o", help="File to write; an unfinished one is gone on with.")],
    judge: Annotated[str, typer.Option(help="binary, likert, score or pairwise, or the path of a template.")],
    model: Annotated[str, typer.Option(help="Name of the model, as its server knows it.")],
    base_url: Annotated[str, typer.Option(help="Address of an OpenAI-compatible endpoint: http://127.0.0.1:8000/v1")],
    show: Annotated[str, typer.Option(help="Columns that the judge sees, separated by commas.")] = "",
    criterion: Annotated[str, typer.Option(help="What is judged, in a sentence.")] = "The answer is correct.",
    a: Annotated[str | None, typer.Option(help="Of pairwise: column of one answer.")] = None,
    b: Annotated[str | None, typer.Option(help="Of pairwise: column of the other answer.")] = None,
    key_env: Annotated[str | None, typer.Option(help="Environment variable that holds the key.")] = None,
    samples: Annotated[int, typer.Option(help="Times that the judge is asked; of pairwise: in each order.")] = 1,
    probability: Annotated[
        str, typer.Option(help="Source of the uncertainty: auto, decisions, logprobs, samples, verbal or none.")
    ] = "auto",
    structured: Annotated[
        bool, typer.Option(help="Whether the server may be asked to enforce the form of answers.")
    ] = True,
    prices: Annotated[
        str | None, typer.Option(help="Per million tokens: input=0.15,output=0.60. Default: a dated price list.")
    ] = None,
    low: Annotated[float | None, typer.Option(help="Of likert and score: the lowest rating.")] = None,
    high: Annotated[float | None, typer.Option(help="Of likert and score: the highest rating.")] = None,
    budget: Annotated[str | None, typer.Option(help="Most money to spend; default: what all rows can cost.")] = None,
    id: Annotated[str | None, typer.Option(help="Column with the items' ids; `id`, else the row number.")] = None,
    concurrency: Annotated[int, typer.Option(help="Calls at once.")] = 8,
    per_minute: Annotated[float | None, typer.Option(help="Calls a minute.")] = None,
    tokens_per_minute: Annotated[float | None, typer.Option(help="Tokens a minute.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that a call may take.")] = 60.0,
    format: FormatOption = None,
    json: Json = False,
) -> None:
    """Rate every row with an LLM judge. Adds the columns `judge` and `judge_uncertainty`.

    Example: ratewise judge items.csv -o judged.csv --judge binary --model small-judge --show question,answer
    --base-url http://127.0.0.1:8000/v1 --prices input=0,output=0
    """
    with one_line_errors():
        from ratewise.campaign.engine import Paused
        from ratewise.campaign.judges import judge_table, parsed_prices
        from ratewise.cli.campaign import live
        from ratewise.cli.console import STOPPED
        from ratewise.errors import InputError

        if table == "-" or output == "-":
            raise InputError("judge needs files, so that it can go on where it was; name a table and an output")
        given: dict[str, Any] = {
            "judge": judge, "model": model, "base_url": base_url, "show": words(show), "criterion": criterion, "a": a,
            "b": b, "key_env": key_env, "samples": samples, "probability": probability, "structured": structured,
            "concurrency": concurrency, "per_minute": per_minute, "tokens_per_minute": tokens_per_minute,
            "timeout": timeout, "prices": None if prices is None else parsed_prices(prices),
        }  # fmt: skip
        settings = {name: value for name, value in given.items() if value is not None}
        with live(quiet=json) as progress, redirect_stdout(sys.stderr):
            done = judge_table(
                table, output, settings=settings, low=low, high=high, id_column=id, budget=budget, format=format,
                progress=progress,
            )  # fmt: skip
        if json:
            print_json(done.to_dict())
        else:
            say(done.summary())
    if done.reason == Paused.STOPPED:
        raise typer.Exit(STOPPED)


def write_judge(kind: str, place: str) -> str:
    """Write a judge's template to change; returns its path. Nothing is overwritten."""
    from ratewise.campaign.spec.example import check_new, make_folder
    from ratewise.errors import InputError
    from ratewise.judges.template import KINDS, built_in
    from ratewise.tables.write import write_text

    if kind not in KINDS:
        raise InputError(f"there is no judge {kind[:40]!r}; choose one of {', '.join(KINDS)}")
    path = Path(place) if place.endswith(".txt") else Path(place, f"{kind}-judge.txt")
    check_new(str(path))
    make_folder(str(path.parent))
    write_text(str(path), built_in(kind))
    return str(path)
