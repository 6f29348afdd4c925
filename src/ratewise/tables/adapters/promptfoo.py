"""promptfoo's results: `promptfoo eval -o results.json` (version 3), or .jsonl; one row per test, prompt and provider.

    {"evalId": "…", "results": {"version": 3, "prompts": […], "stats": {…}, "results": [
      {"testIdx": 0, "promptIdx": 0, "provider": {"id": "…", "label": "…"}, "vars": {…}, "prompt": {"raw": "…"},
       "response": {"output": "…"}, "success": true, "score": 1, "failureReason": 0, "namedScores": {"tone": 0.5},
       "gradingResult": {"componentResults": […]}, "cost": 0.001}]}, "config": {…}}

failureReason 2 is an error of the provider: the row has no score, which is not a score of 0. The tests are clusters.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, TableBuilder, at, mapping, number, shown
from ratewise.tables.adapters.source import Source

VERSION = 3
_ROW = ("testIdx", "promptIdx")


def _failed(row: Mapping[str, Any]) -> bool:
    return row.get("failureReason") == 2  # 0 none, 1 an assertion, 2 an error


_COLUMNS = (
    Became("id", "id", "testIdx, promptIdx, and the repeat where there are several"),
    Became("test", "cluster", "testIdx"),
    Became("epoch", "epoch", "the repeat of a test"),
    Became(
        "prompt", "prompt", "prompt.raw", lambda row: at(row, "prompt.raw") if at(row, "prompt") else row.get("prompt")
    ),
    Became("answer", "answer", "response.output"),
    Became(
        "system", "system", "provider.label, else provider.id; and the prompt's label where there are several",
        lambda row: at(row, "provider.label") or at(row, "provider.id"),
    ),
    Became(
        "score", "judge score", "score; none where failureReason is 2, an error",
        lambda row: None if _failed(row) else number(row.get("score")),
    ),
    Became(
        "success", "judge score", "success; none where failureReason is 2, an error",
        lambda row: None if _failed(row) else number(row.get("success")),
    ),
)  # fmt: skip
_LAST = (Became("error", "more", "error", lambda row: row.get("error") or None), Became("cost", "more", "cost"))


def looks(source: Source) -> bool:
    """Whether it is a document of results, or lines of them."""
    first = mapping(source.first)
    return first.keys() >= set(_ROW) or mapping(first.get("results")).keys() >= {"version", "stats"}


def read(source: Source) -> Imported:
    """One row per test, prompt and provider, with its score and named scores; a test's repeats are epochs."""
    made = TableBuilder(source, f"promptfoo results, version {VERSION}", _COLUMNS, _LAST)
    places, labels, times = [], [], Counter[tuple[Any, Any]]()
    for value in made.objects(_rows(source), "result of promptfoo: each has testIdx and promptIdx", *_ROW):
        row = made.row(value)
        labels.append(at(value, "prompt.label"))
        places.append((value["testIdx"], value["promptIdx"]))
        times[places[-1]] += 1
        row["epoch"] = times[places[-1]]
        for name, score in {} if _failed(value) else mapping(value.get("namedScores")).items():
            made.score(row, name, number(score), f"namedScores.{name}")
        for name, said in mapping(value.get("vars")).items():
            made.others.setdefault(f"vars.{name}", Became(f"vars.{name}", "input", f"vars.{name}"))
            row[f"vars.{name}"] = shown(said)
    repeated = max(times.values(), default=0) > 1
    for row, place, label in zip(made.rows.values(), places, labels, strict=True):
        row["id"] = "/".join(map(str, (*place, row["epoch"]) if repeated else place))
        row["epoch"] = row["epoch"] if repeated else None
        if label and len(set(labels)) > 1:
            row["system"] = f"{row['system']}, {label}"
    errors = sum(row["score"] is None for row in made.rows.values())
    made.note(errors, "rows are errors of a provider; they have no score")
    return made.imported()


def _rows(source: Source) -> Iterator[tuple[int, Any]]:
    if mapping(source.first).keys() >= set(_ROW):
        return source.lines()
    results = mapping(source.document).get("results") if isinstance(source.first, dict) else None
    if not isinstance(results, dict):
        raise TableError(f"{source.name} is no file of promptfoo; give what `promptfoo eval -o results.json` writes")
    version = results.get("version")
    if version != VERSION:
        raise TableError(
            f"{source.name} is of promptfoo's version {version!r}; version {VERSION} can be read:"
            " write it with `promptfoo eval -o results.json`, or as results.jsonl"
        )
    found = results.get("results")
    if not isinstance(found, list):
        raise TableError(f"{source.name} has no list of results; write it with `promptfoo eval -o results.json`")
    return enumerate(found, start=1)
