"""Braintrust's exports of experiments and logs, JSON or JSONL: a row per trace, with the scores of its root.

    {"id": "…", "span_id": "…", "root_span_id": "…", "is_root": true, "span_parents": null, "input": {…}, "output": "…",
     "expected": "…", "scores": {"Factuality": 0.6, "Human": 1}, "metadata": {…}, "metrics": {…}, "tags": […]}

The interface exports a list, its API `{"events": […]}` and its queries `{"data": […]}`. Braintrust does not say who
gave a score; one that is named after people (Human, expert, …) is taken for theirs.
"""

from ratewise.tables.adapters.imported import Became, Imported, TableBuilder, mapping, number
from ratewise.tables.adapters.source import Source
from ratewise.tables.blind import of_people

_LISTS = ("events", "data")
_COLUMNS = (
    Became("id", "id", "id, else span_id", lambda event: event.get("id") or event.get("span_id")),
    Became("root_span_id", "cluster", "root_span_id"),
    Became("prompt", "prompt", "input"),
    Became("answer", "answer", "output"),
    Became("target", "target", "expected"),
)
_LAST = (
    Became("tags", "more", "tags", lambda event: event.get("tags") or None),
    Became("error", "more", "error"),
    Became("created", "more", "created"),
)
_SPAN = frozenset(("span_id", "root_span_id", "_xact_id", "span_parents"))


def looks(source: Source) -> bool:
    """Whether its rows are spans with scores."""
    first = source.first_row(*_LISTS)
    return {"input", "scores"} <= first.keys() and bool(_SPAN & first.keys())


def read(source: Source) -> Imported:
    """One row per trace: what lies below its root, such as the spans of scorers, is no item."""
    made, below = TableBuilder(source, "Braintrust export", _COLUMNS, _LAST), 0
    for event in made.objects(source.rows(*_LISTS), "event of Braintrust: each has input", "input"):
        if event.get("is_root") is False or event.get("span_parents"):
            below += 1
            continue
        row = made.row(event)
        made.inside(row, "metadata", event.get("metadata"))
        for name, score in mapping(event.get("scores")).items():
            made.score(row, f"scores.{name}", number(score), role="human score" if of_people(name) else "judge score")
    made.note(below, "spans below the root of a trace are left out")
    return made.imported()
