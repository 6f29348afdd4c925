"""OpenAI evals' JSONL: a `spec` line, events, and a `final_report` line; one row per sample.

{"spec": {"completion_fns": ["gpt"], "eval_name": "test-match.s1.v0", "run_id": "…"}}
{"run_id": "…", "event_id": 0, "sample_id": "s.1", "type": "sampling", "data": {"prompt": …, "sampled": ["…"]}}
{"run_id": "…", "event_id": 1, "sample_id": "s.1", "type": "match", "data": {"correct": true, "expected": …}}
{"final_report": {"accuracy": 0.5}}
"""

from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, TableBuilder, at, mapping, number, shown
from ratewise.tables.adapters.source import Source

_COLUMNS = (
    Became("id", "id", "sample_id"),
    Became("prompt", "prompt", "sampling: prompt, the last one"),
    Became("answer", "answer", "sampling: sampled, the last one"),
    Became("target", "target", "match: expected"),
    Became("system", "system", "spec.completion_fns"),
)


def looks(source: Source) -> bool:
    """Whether its first line is a run's specification."""
    return "run_id" in mapping(mapping(source.first).get("spec"))


def read(source: Source) -> Imported:
    """One row per sample, a column for each thing that its events measured; a later event of the same kind counts."""
    made = TableBuilder(source, "OpenAI evals record", _COLUMNS)
    system, ended, broken = None, False, 0
    for event in made.objects(source.lines(), "event of OpenAI evals"):
        if "spec" in event:
            functions = at(event, "spec.completion_fns")
            system = ",".join(map(str, functions)) if isinstance(functions, list) else None
        ended |= "final_report" in event
        kind, data = str(event.get("type")), event.get("data")
        broken += kind == "error"
        if event.get("sample_id") is None or not isinstance(data, dict):
            continue
        row = made.row(event, str(event["sample_id"]))
        row["system"] = system
        if kind == "sampling":
            row |= {"prompt": _shown(data.get("prompt")), "answer": _shown(data.get("sampled"))}
        elif kind == "match":
            row["target"] = _shown(data.get("expected"))
            row["answer"] = _shown(data.get("picked")) if row["answer"] is None else row["answer"]
            data = {"correct": data.get("correct")}
        for name, value in data.items() if kind in {"match", "metrics"} else ():
            found = None if isinstance(value, str) or value is None else number(value)
            if found is not None:
                made.score(row, name, found, f"{kind}: {name}")
    if not made.rows:
        raise TableError(f"{source.name} has no event of a sample; give the JSONL that `oaieval` records")
    if not ended:
        made.notes.append("there is no final_report: the run was stopped before its end")
    made.note(broken, "events are errors; their samples have no score")
    return made.imported()


def _shown(value: Any) -> str | None:
    """A text as it is; messages of a chat one below the other."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], str):
        return value[0]
    if isinstance(value, list) and value and all(isinstance(each, dict) and "content" in each for each in value):
        return "\n\n".join(f"{each.get('role', 'user')}: {each['content']}" for each in value)
    return shown(value)
