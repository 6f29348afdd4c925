"""Braintrust's exports of experiments and logs, JSON or JSONL: a row per trace, with the scores of its root.

    {"id": "…", "span_id": "…", "root_span_id": "…", "is_root": true, "span_parents": null, "input": {…}, "output": "…",
     "expected": "…", "scores": {"Factuality": 0.6, "Human": 1}, "metadata": {…}, "metrics": {…}, "tags": […]}

The interface exports a list, its API `{"events": […]}` and its queries `{"data": […]}`. Braintrust does not say who
gave a score; one that is named after people (Human, expert, …) is taken for theirs.
"""

from collections.abc import Iterator
from typing import Any

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
)
from ratewise.tables.adapters.source import Source
from ratewise.tables.blind import of_people

_TOLD = (
    Became("id", "id", "id, else span_id"),
    Became("root_span_id", "cluster", "root_span_id"),
    Became("prompt", "prompt", "input"),
    Became("answer", "answer", "output"),
    Became("target", "target", "expected"),
)
_LAST = (Became("tags", "more", "tags"), Became("error", "more", "error"), Became("created", "more", "created"))
_SPAN = frozenset(("span_id", "root_span_id", "_xact_id", "span_parents"))


def looks_like_braintrust(source: Source) -> bool:
    """Whether its rows are spans with scores."""
    first = source.first_row("events", "data")
    return {"input", "scores"} <= first.keys() and bool(_SPAN & first.keys())


def read_braintrust(source: Source) -> Imported:
    """One row per trace: what lies below its root, such as the spans of scorers, is no item."""
    rows, below = [], 0
    scores = Scores()
    for row, value in _events(source):
        if not isinstance(value, dict) or "input" not in value:
            raise damaged(source, row, "event of Braintrust: each has input")
        if value.get("is_root") is False or value.get("span_parents"):
            below += 1
            continue
        rows.append(_row(value, scores))
    notes = [f"{below} spans below the root of a trace are left out"] if below else []
    told = [*_TOLD, *scores.values(), *paths_of(rows, "metadata"), *_LAST]
    return imported(source, "Braintrust export", rows, told, notes=notes)


def _events(source: Source) -> Iterator[tuple[int, Any]]:
    first = source.first
    if isinstance(first, dict):
        for name in ("events", "data"):
            if isinstance(first.get(name), list):
                return enumerate(source.document[name], start=1)
    return source.rows()


def _row(value: dict[str, Any], scores: Scores) -> Row:
    out: Row = {
        "id": value.get("id") or value.get("span_id"), "root_span_id": value.get("root_span_id"),
        "prompt": shown(value["input"]), "answer": shown(value.get("output")), "target": shown(value.get("expected")),
        "tags": shown(value.get("tags") or None), "error": shown(value.get("error")), "created": value.get("created"),
        **by_path("metadata", value.get("metadata") or None),
    }  # fmt: skip
    given = value.get("scores")
    for name, score in given.items() if isinstance(given, dict) else ():
        column = f"scores.{name}"
        out[scores.column(column, column, "human score" if of_people(name) else "judge score")] = number(score)
    return out
