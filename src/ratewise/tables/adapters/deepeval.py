"""DeepEval's test runs: a row per test case, with the score of every metric.

    {"testCases": [{"name": "test_case_0", "input": "…", "actualOutput": "…", "expectedOutput": "…", "success": true,
      "metricsData": [{"name": "Correctness", "score": 0.8, "threshold": 0.5, "success": true, "reason": "…",
        "evaluationModel": "…", "error": null}], "metadata": {…}, "order": 0}], "conversationalTestCases": […]}

The names are those of the file that a run leaves behind (.deepeval, DEEPEVAL_RESULTS_FOLDER), or, of an
`EvaluationResult` that was dumped in Python (`test_results`), the same with underscores. A metric that ended in an
error has no score, which is not a score of 0.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, TableBuilder, number, snake
from ratewise.tables.adapters.source import Source


def _prompt(case: Mapping[str, Any]) -> Any:
    first = next((turn.get("content") for turn in _turns(case) if turn.get("role") == "user"), None)
    return case.get("input") or case.get("scenario") or first


def _answer(case: Mapping[str, Any]) -> Any:
    said = [f"{turn.get('role')}: {turn.get('content')}" for turn in _turns(case)]
    return "\n\n".join(said) if said else case.get("actual_output")


def _turns(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [turn for turn in case.get("turns") or () if isinstance(turn, dict)]


_COLUMNS = (
    Became("id", "id", "the test case's number, from 0"),
    Became("name", "more", "name"),
    Became("prompt", "prompt", "input; of a conversation its scenario, else what the user said first", _prompt),
    Became("answer", "answer", "actualOutput; of a conversation its turns", _answer),
    Became(
        "target", "target", "expectedOutput, or expectedOutcome",
        lambda case: case.get("expected_output") or case.get("expected_outcome"),
    ),
    Became("context", "more", "context"),
    Became("retrieval_context", "more", "retrievalContext", lambda case: case.get("retrieval_context")),
    Became(
        "success", "judge score", "success: whether every metric passed its threshold",
        lambda case: number(case.get("success")),
    ),
)  # fmt: skip


def looks(source: Source) -> bool:
    """Whether it is a document with test cases that have metrics."""
    return isinstance(source.first, dict) and any(
        isinstance(case, dict) and "metrics_data" in _snake(case) for case in _cases(source.first)
    )


def _cases(document: dict[str, Any]) -> Iterator[Any]:
    named = _snake(document)
    for name in ("test_cases", "conversational_test_cases", "test_results"):
        found = named.get(name)
        yield from found if isinstance(found, list) else ()


def _snake(value: dict[str, Any]) -> dict[str, Any]:
    return {snake(str(name)): inside for name, inside in value.items()}


def read(source: Source) -> Imported:
    """One row per test case; a metric's score is a column of its name."""
    if not isinstance(source.first, dict):
        raise TableError(f"{source.name} is no file of DeepEval; give a test run, with its testCases")
    made, errors = TableBuilder(source, "DeepEval test run", _COLUMNS), 0
    for place, value in enumerate(made.objects(enumerate(_cases(source.document), 1), "test case of DeepEval")):
        case = _snake(value)
        row = made.row(case)
        row["id"] = place
        made.inside(row, "metadata", case.get("metadata", case.get("additional_metadata")))
        for metric in case.get("metrics_data") or ():
            name = str(metric["name"])
            failed = metric.get("error") is not None or metric.get("score") is None
            errors += failed
            made.score(row, name, None if failed else number(metric["score"]), f"metricsData: score of {name}")
    made.note(errors, "scores are missing: the metric ended in an error")
    return made.imported()
