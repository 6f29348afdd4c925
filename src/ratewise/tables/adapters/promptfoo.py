"""promptfoo's results: `promptfoo eval -o results.json` (version 3), or .jsonl; one row per test, prompt and provider.

    {"evalId": "…", "results": {"version": 3, "prompts": […], "stats": {…}, "results": [
      {"testIdx": 0, "promptIdx": 0, "provider": {"id": "…", "label": "…"}, "vars": {…}, "prompt": {"raw": "…"},
       "response": {"output": "…"}, "success": true, "score": 1, "failureReason": 0, "namedScores": {"tone": 0.5},
       "gradingResult": {"componentResults": […]}, "cost": 0.001}]}, "config": {…}}

failureReason 2 is an error of the provider: the row has no score, which is not a score of 0. The tests are clusters.
"""

from collections.abc import Iterator
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, Row, Scores, damaged, imported, number, shown
from ratewise.tables.adapters.source import Source

VERSION = 3
_ERROR = 2  # of failureReason: 0 none, 1 an assertion, 2 an error
_TOLD = (
    Became("id", "id", "testIdx, promptIdx, and the repeat where there are several"),
    Became("test", "cluster", "testIdx"),
    Became("epoch", "epoch", "the repeat of a test"),
    Became("prompt", "prompt", "prompt.raw"),
    Became("answer", "answer", "response.output"),
    Became("system", "system", "provider.label, else provider.id; and the prompt's label where there are several"),
    Became("score", "judge score", "score; none where failureReason is 2, an error"),
    Became("success", "judge score", "success; none where failureReason is 2, an error"),
)
_LAST = (Became("error", "more", "error"), Became("cost", "more", "cost"))


def looks_like_promptfoo(source: Source) -> bool:
    """Whether it is a document of results, or lines of them."""
    first = source.first
    if not isinstance(first, dict):
        return False
    results = first.get("results")
    return _is_row(first) or (isinstance(results, dict) and "version" in results and ("stats" in results))


def _is_row(value: dict[str, Any]) -> bool:
    return "testIdx" in value and "promptIdx" in value


def read_promptfoo(source: Source) -> Imported:
    """One row per test, prompt and provider, with its score and named scores."""
    metrics = Scores((*_TOLD, *_LAST))
    rows = [_row(value, row, source, metrics) for row, value in _rows(source)]
    prompts = {row.pop("prompt label") for row in rows}
    for row, label in zip(rows, [row.pop("label") for row in rows], strict=True):
        if len(prompts) > 1 and label:
            row["system"] = f"{row['system']}, {label}"
    _name_rows(rows)
    failed = sum(row["score"] is None for row in rows)
    notes = [f"{failed} rows are errors of a provider; they have no score"] if failed else []
    variables = dict.fromkeys(name for row in rows for name in row if name.startswith("vars."))
    told = [*_TOLD, *metrics.values(), *(Became(name, "more", name) for name in variables), *_LAST]
    return imported(source, f"promptfoo results, version {VERSION}", rows, told, notes=notes)


def _rows(source: Source) -> Iterator[tuple[int, Any]]:
    first = source.first
    if isinstance(first, dict) and _is_row(first):
        return source.lines()
    results = source.document.get("results") if isinstance(first, dict) else None
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


def _row(value: Any, row: int, source: Source, metrics: Scores) -> Row:
    if not isinstance(value, dict) or not _is_row(value):
        raise damaged(source, row, "result of promptfoo: each has testIdx and promptIdx")
    provider, prompt, response = (_mapping(value.get(name)) for name in ("provider", "prompt", "response"))
    failed = value.get("failureReason") == _ERROR
    out: Row = {
        "test": value["testIdx"], "label": prompt.get("label"), "prompt label": prompt.get("label"),
        "at": (value["testIdx"], value["promptIdx"]),
        "prompt": prompt.get("raw") or value.get("prompt") if not prompt else prompt.get("raw"),
        "answer": shown(response.get("output")), "system": provider.get("label") or provider.get("id"),
        "score": None if failed else number(value.get("score")),
        "success": None if failed else number(value.get("success")),
        "error": value.get("error") or None, "cost": value.get("cost"),
    }  # fmt: skip
    for name, score in {} if failed else _mapping(value.get("namedScores")).items():
        out[metrics.column(name, f"namedScores.{name}")] = number(score)
    return out | {f"vars.{name}": shown(found) for name, found in _mapping(value.get("vars")).items()}


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _name_rows(rows: list[Row]) -> None:
    """Ids; a test that was repeated is there several times, and each time is an epoch."""
    seen: dict[Any, int] = {}
    for row in rows:
        seen[row["at"]] = row["epoch"] = seen.get(row["at"], 0) + 1
    repeated = max(seen.values(), default=0) > 1
    for row in rows:
        parts = [*row.pop("at"), *([row["epoch"]] if repeated else [])]
        row["id"] = "/".join(map(str, parts))
        row["epoch"] = row["epoch"] if repeated else None
