"""DeepEval's test runs: a row per test case, with the score of every metric.

    {"testCases": [{"name": "test_case_0", "input": "…", "actualOutput": "…", "expectedOutput": "…", "success": true,
      "metricsData": [{"name": "Correctness", "score": 0.8, "threshold": 0.5, "success": true, "reason": "…",
        "evaluationModel": "…", "error": null}], "metadata": {…}, "order": 0}], "conversationalTestCases": […]}

The names are those of the file that a run leaves behind (.deepeval, DEEPEVAL_RESULTS_FOLDER), or, of an
`EvaluationResult` that was dumped in Python (`test_results`), the same with underscores. A metric that ended in an
error has no score, which is not a score of 0.
"""

from collections.abc import Iterator
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import (
    Became,
    Imported,
    Row,
    Scores,
    by_path,
    damaged,
    imported,
    number,
    paths_of,
    shown,
    snake,
)
from ratewise.tables.adapters.source import Source

_TOLD = (
    Became("id", "id", "the test case's number, from 0"),
    Became("name", "more", "name"),
    Became("prompt", "prompt", "input; of a conversation its scenario, else what the user said first"),
    Became("answer", "answer", "actualOutput; of a conversation its turns"),
    Became("target", "target", "expectedOutput, or expectedOutcome"),
    Became("context", "more", "context"),
    Became("retrieval_context", "more", "retrievalContext"),
    Became("success", "judge score", "success: whether every metric passed its threshold"),
)
_LISTS = ("test_cases", "conversational_test_cases", "test_results")


def looks_like_deepeval(source: Source) -> bool:
    """Whether it is a document with test cases that have metrics."""
    return bool(isinstance(source.first, dict) and any(_is_case(case) for case in _cases(source.first)))


def _cases(document: dict[str, Any]) -> Iterator[Any]:
    named = _snake(document)
    for name in _LISTS:
        found = named.get(name)
        yield from found if isinstance(found, list) else ()


def _is_case(value: Any) -> bool:
    return isinstance(value, dict) and "metrics_data" in _snake(value)


def read_deepeval(source: Source) -> Imported:
    """One row per test case; a metric's score is a column of its name."""
    if not isinstance(source.first, dict):
        raise TableError(f"{source.name} is no file of DeepEval; give a test run, with its testCases")
    metrics = Scores(_TOLD)
    rows = [_row(case, row, source, metrics) for row, case in enumerate(_cases(source.document), start=1)]
    failed = sum(row.pop("errors") for row in rows)
    notes = [f"{failed} scores are missing: the metric ended in an error"] if failed else []
    told = [*_TOLD, *metrics.values(), *paths_of(rows, "metadata")]
    return imported(source, "DeepEval test run", rows, told, notes=notes)


def _row(value: Any, row: int, source: Source, metrics: Scores) -> Row:
    if not isinstance(value, dict):
        raise damaged(source, row, "test case of DeepEval")
    case = _snake(value)
    turns = [turn for turn in case.get("turns") or () if isinstance(turn, dict)]
    said = [f"{turn.get('role')}: {turn.get('content')}" for turn in turns]
    first = next((turn.get("content") for turn in turns if turn.get("role") == "user"), None)
    out: Row = {
        "id": row - 1, "name": case.get("name"),
        "prompt": shown(case.get("input") or case.get("scenario") or first),
        "answer": shown(case.get("actual_output")) if not turns else "\n\n".join(said),
        "target": shown(case.get("expected_output") or case.get("expected_outcome")),
        "context": shown(case.get("context")), "retrieval_context": shown(case.get("retrieval_context")),
        "success": number(case.get("success")), "errors": 0,
        **by_path("metadata", case.get("metadata", case.get("additional_metadata")) or None),
    }  # fmt: skip
    for metric in case.get("metrics_data") or ():
        name = str(metric["name"])
        failed = metric.get("error") is not None or metric.get("score") is None
        out["errors"] += failed
        out[metrics.column(name, f"metricsData: score of {name}")] = None if failed else number(metric["score"])
    return out


def _snake(value: dict[str, Any]) -> dict[str, Any]:
    return {snake(str(name)): inside for name, inside in value.items()}
