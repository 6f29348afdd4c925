"""OpenAI evals' JSONL: a `spec` line, events, and a `final_report` line; one row per sample.

{"spec": {"completion_fns": ["gpt"], "eval_name": "test-match.s1.v0", "run_id": "…"}}
{"run_id": "…", "event_id": 0, "sample_id": "s.1", "type": "sampling", "data": {"prompt": …, "sampled": ["…"]}}
{"run_id": "…", "event_id": 1, "sample_id": "s.1", "type": "match", "data": {"correct": true, "expected": …}}
{"final_report": {"accuracy": 0.5}}
"""

from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, Row, Scores, damaged, imported, number, shown
from ratewise.tables.adapters.source import Source

_TOLD = (
    Became("id", "id", "sample_id"),
    Became("prompt", "prompt", "sampling: prompt, the last one"),
    Became("answer", "answer", "sampling: sampled, the last one"),
    Became("target", "target", "match: expected"),
    Became("system", "system", "spec.completion_fns"),
)


def looks_like_openai_evals(source: Source) -> bool:
    """Whether its first line is a run's specification."""
    first = source.first
    return isinstance(first, dict) and isinstance(first.get("spec"), dict) and "run_id" in first["spec"]


def read_openai_evals(source: Source) -> Imported:
    """One row per sample, a column for each thing that its events measured."""
    rows: dict[str, Row] = {}
    metrics = Scores(_TOLD)
    system, ended, broken = None, False, 0
    for number_, event in source.lines():
        if not isinstance(event, dict):
            raise damaged(source, number_, "event of OpenAI evals")
        spec = event.get("spec")
        if isinstance(spec, dict):
            functions = spec.get("completion_fns")
            system = ",".join(map(str, functions)) if isinstance(functions, list) else None
        ended |= "final_report" in event
        broken += event.get("type") == "error"
        if event.get("sample_id") is not None and isinstance(event.get("data"), dict):
            row = rows.setdefault(str(event["sample_id"]), {"id": str(event["sample_id"]), "system": system})
            _add(row, str(event.get("type")), event["data"], metrics)
    if not rows:
        raise TableError(f"{source.name} has no event of a sample; give the JSONL that `oaieval` records")
    notes = [] if ended else ["there is no final_report: the run was stopped before its end"]
    notes += [f"{broken} events are errors; their samples have no score"] if broken else []
    return imported(source, "OpenAI evals record", list(rows.values()), [*_TOLD, *metrics.values()], notes=notes)


def _add(row: Row, kind: str, data: dict[str, Any], metrics: Scores) -> None:
    """What one event says of its sample; a later event of the same kind counts."""
    if kind == "sampling":
        row["prompt"] = _shown(data.get("prompt"))
        row["answer"] = _shown(data.get("sampled"))
        return
    if kind == "match":
        row["target"] = _shown(data.get("expected"))
        row.setdefault("answer", _shown(data.get("picked")))
        data = {"correct": data.get("correct")}
    for name, value in data.items():
        found = None if isinstance(value, str) or value is None else number(value)
        if found is not None and kind in {"match", "metrics"}:
            row[metrics.column(name, f"{kind}: {name}")] = found


def _shown(value: Any) -> str | None:
    """A text as it is; messages of a chat one below the other."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    if isinstance(value, list) and value and all(isinstance(each, dict) and "content" in each for each in value):
        return "\n\n".join(f"{each.get('role', 'user')}: {each['content']}" for each in value)
    return shown(value)
