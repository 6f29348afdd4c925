"""`convert` and `judge`: other tools' files as flat tables, and an LLM judge's ratings as columns."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

from ratewise.cli.console import STOPPED, live, print_notes, tell
from ratewise.cli.options import argument, command, option, refuse, refuse_two_outputs, required, words


@command(
    "table output format scores safe_cells json",
    table=argument(
        "File that another tool wrote, a folder of such files, or a CSV, JSONL or Parquet table; - for standard input."
    ),
    scores=option("Write this column's ratings instead, as .json or .jsonl for inspect_ai's precomputed_scores."),
)
def convert(*, table: str, output: str, format: str | None, scores: str | None, safe_cells: bool, json: bool) -> None:
    """Turn a file that another tool wrote into a flat table. It says what became which column.

    Known by their content: logs of inspect_ai (.eval, .json), samples and results of lm-evaluation-harness, HELM's
    per_instance_stats.json, records of OpenAI evals, results of promptfoo (.json, .jsonl), scores of Langfuse, exports
    of Braintrust, test runs of DeepEval, votes of Chatbot Arena and MT-Bench, annotations of Label Studio (JSON,
    JSON_MIN). Any other command takes these files, too, also packed (.gz), in folders, and from standard input.

    Example: ratewise convert logs/run.eval -o items.parquet
    """
    from ratewise.core.document import Column, DataTable, Part, Row, Sentence
    from ratewise.core.result import fields_in_json
    from ratewise.tables import write_table
    from ratewise.tables.read import check_format, opened_file
    from ratewise.tables.table import Table
    from ratewise.tables.write import check_folder, write_precomputed_scores
    from ratewise.tables.write import safe_cells as make_safe

    refuse_two_outputs(output, json=json)
    check_folder(output)
    check_format(table, format)
    opened = opened_file(table, format=format)
    found = None if isinstance(opened, Table) else opened
    flat = opened if isinstance(opened, Table) else opened.table
    if scores is not None:
        written = write_precomputed_scores(flat, scores, output)
        said = f"{written:,} scores written to {output}, for precomputed_scores of inspect_ai."
        tell({"output": output, "scores": written}, said, json=json)
        return
    write_table(make_safe(flat) if safe_cells else flat, output)
    parts: list[Part]
    columns = [{"column": name, "role": "more", "source": name} for name in flat.columns]
    if found is None:
        parts = [
            Sentence(f"{flat.name} is a plain table: {flat.rows:,} rows written to {output}, its columns as they are.")
        ]
    else:
        columns = [fields_in_json(each) for each in found.became] or columns
        rows = [
            Row((one.column, "" if one.role in {"input", "more"} else one.role, one.source)) for one in found.became
        ]
        table_of = DataTable([Column(title, "name") for title in ("column", "is", "from")], rows)
        parts = [Sentence(f"{found.tool}: {flat.rows:,} rows written to {output}."), Sentence(""), table_of]
    tool, notes = (None, ()) if found is None else (found.tool, found.notes)
    if json or output != "-":
        document = {"output": output, "tool": tool, "rows": flat.rows, "columns": columns, "notes": list(notes)}
        tell(document, parts, json=json)
    if not json:
        print_notes(notes)


@command(
    "table output judge model base_url show criterion a b key_env samples probability structured prices low high "
    "budget id concurrency per_minute tokens_per_minute timeout format json",
    output=required("File to write; an unfinished one is gone on with.", str, "--output", "-o"),
    judge=required("binary, likert, score or pairwise, or the path of a template."),
    model=required("Name of the model, as its server knows it."),
    base_url=required("Address of an OpenAI-compatible endpoint: http://127.0.0.1:8000/v1"),
    show=option("Columns that the judge sees, separated by commas.", str, "", read=words),
    criterion=option("What is judged, in a sentence.", str, "The answer is correct."),
    a=option("Of pairwise: column of one answer."),
    b=option("Of pairwise: column of the other answer."),
    key_env=option("Environment variable that holds the key."),
    samples=option("Times that the judge is asked; of pairwise: in each order.", int, 1),
    probability=option("Source of the uncertainty: auto, decisions, logprobs, samples, verbal or none.", str, "auto"),
    structured=option("Whether the server may be asked to enforce the form of answers.", bool, True),
    prices=option("Per million tokens: input=0.15,output=0.60. Default: a dated price list."),
    low=option("Of likert and score: the lowest rating.", float | None),
    high=option("Of likert and score: the highest rating.", float | None),
    budget=option("Most money to spend; default: what all rows can cost."),
    concurrency=option("Calls at once.", int, 8),
    per_minute=option("Calls a minute.", float | None),
    tokens_per_minute=option("Tokens a minute.", float | None),
    timeout=option("Seconds that a call may take.", float, 60.0),
)
def judge(
    *, table: str, output: str, format: str | None, low: float | None, high: float | None, budget: str | None,
    id: str | None, prices: str | None, json: bool, **settings: Any,
) -> int | None:  # fmt: skip
    """Rate every row with an LLM judge. Adds the columns `judge` and `judge_uncertainty`.

    Example: ratewise judge items.csv -o judged.csv --judge binary --model small-judge --show question,answer
    --base-url http://127.0.0.1:8000/v1 --prices input=0,output=0
    """
    from ratewise.campaign.engine import Paused
    from ratewise.campaign.judges import judge_table, parsed_prices

    both = table == "-" or output == "-"
    refuse(both, "judge needs files, so that it can go on where it was; name a table and an output")
    settings["prices"] = None if prices is None else parsed_prices(prices)
    settings = {name: value for name, value in settings.items() if value is not None}
    with live(quiet=json) as progress, redirect_stdout(sys.stderr):
        done = judge_table(
            table, output, settings=settings, low=low, high=high, id_column=id, budget=budget, format=format,
            progress=progress,
        )  # fmt: skip
    tell(done.to_dict(), done.summary(), json=json)
    return STOPPED if done.reason == Paused.STOPPED else None


def write_judge(kind: str, place: str) -> str:
    """Write a judge's template to change; returns its path. Nothing is overwritten."""
    from ratewise.campaign.spec.example import check_new, make_folder
    from ratewise.judges.template import KINDS, built_in
    from ratewise.tables.write import write_text

    refuse(kind not in KINDS, f"there is no judge {kind[:40]!r}; choose one of {', '.join(KINDS)}")
    path = Path(place) if place.endswith(".txt") else Path(place, f"{kind}-judge.txt")
    check_new(str(path))
    make_folder(str(path.parent))
    write_text(str(path), built_in(kind))
    return str(path)
