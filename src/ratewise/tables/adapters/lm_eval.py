"""lm-evaluation-harness: samples_<task>_<time>.jsonl, one row per document and filter; and results_<time>.json.

    {"doc_id": 3, "doc": {…}, "target": "42", "arguments": {"gen_args_0": {"arg_0": "Q: …", "arg_1": {…}}},
     "resps": [["…"]], "filtered_resps": ["42"], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0}

The key of a row is (doc_id, filter): several filters score one answer, and are one cluster. A metric that is no number,
such as the parts from which a corpus measure is computed, is left out, with a note. A document's fields are columns:
doc.subject.
"""

import math
from collections.abc import Sequence
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import (
    Became,
    Imported,
    Role,
    Row,
    Scores,
    by_path,
    damaged,
    imported,
    number,
    paths_of,
)
from ratewise.tables.adapters.source import Source

_TOLD = (
    Became("id", "id", "doc_id, and filter where there are several"),
    Became("doc_id", "cluster", "doc_id"),
    Became("filter", "more", "filter"),
    Became("prompt", "prompt", "arguments: the first one's context"),
    Became("answer", "answer", "filtered_resps: the text, or the likeliest choice"),
    Became("target", "target", "target"),
)
_OWN = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
    "target_hash",
}  # fmt: skip
_RESULTS = (
    Became("id", "id", "results: task and filter"),
    Became("task", "more", "results: task"),
    Became("filter", "more", "the name behind the comma"),
    Became("system", "system", "model_name, else config.model"),
)


def looks_like_lm_eval(source: Source) -> bool:
    """Whether it is a file of samples or of results."""
    first = source.first
    return isinstance(first, dict) and (_is_sample(first) or _is_results(first))


def _is_sample(value: dict[str, Any]) -> bool:
    return "doc_id" in value and "doc" in value and ("resps" in value or "filtered_resps" in value)


def _is_results(value: dict[str, Any]) -> bool:
    return isinstance(value.get("results"), dict) and "configs" in value and ("versions" in value or "n-shot" in value)


def read_lm_eval(source: Source) -> Imported:
    """The samples, a row each; or the results, a row for each task and filter."""
    first = source.first
    if isinstance(first, dict) and _is_results(first):
        return _results(source, source.document)
    if not isinstance(first, dict) or not _is_sample(first):
        raise TableError(f"{source.name} is no file of lm-eval; give its samples_….jsonl, or its results_….json")
    left_out: set[str] = set()
    metrics = Scores(_TOLD)
    rows = [_sample(value, row, source, metrics, left_out) for row, value in source.lines()]
    several = len({row["filter"] for row in rows}) > 1
    for row in rows:
        row["id"] = f"{row['doc_id']}/{row['filter']}" if several else str(row["doc_id"])
    notes = [
        f"{name} is no number for each item, and is left out"
        for name in sorted(left_out - {one.source for one in metrics.values()})
    ]
    return imported(source, "lm-eval samples", rows, [*_TOLD, *metrics.values(), *paths_of(rows, "doc")], notes=notes)


def _sample(value: Any, row: int, source: Source, metrics: Scores, left_out: set[str]) -> Row:
    if not isinstance(value, dict) or "doc_id" not in value:
        raise damaged(source, row, "sample of lm-eval: each has doc_id")
    out: Row = {
        "doc_id": value["doc_id"], "filter": value.get("filter"), "prompt": _prompt(value),
        "answer": _answer(value), "target": value.get("target"),
        **by_path("doc", value.get("doc") or None),
    }  # fmt: skip
    for name in _metrics(value):
        found = _metric(value.get(name))
        if found is None:
            left_out.add(name)
            continue
        out[metrics.column(name, name)] = found
    return out


def _metrics(value: dict[str, Any]) -> Sequence[str]:
    """The keys that are metrics: those named so, or, in older files, all that are nothing else."""
    named = value.get("metrics")
    return [str(name) for name in named] if isinstance(named, list) else [name for name in value if name not in _OWN]


def _metric(value: Any) -> float | None:
    return None if isinstance(value, str) else number(value)


def _arguments(value: dict[str, Any]) -> list[list[Any]]:
    """The arguments of each request: a mapping of mappings in newer files, a list of lists in older ones."""
    given = value.get("arguments")
    if isinstance(given, dict):
        given = [list(each.values()) if isinstance(each, dict) else each for each in given.values()]
    return [each for each in given if isinstance(each, list) and each] if isinstance(given, list) else []


def _prompt(value: dict[str, Any]) -> str | None:
    requests = _arguments(value)
    return requests[0][0] if requests and isinstance(requests[0][0], str) else None


def _answer(value: dict[str, Any]) -> str | None:
    """The generated text; of choices that were weighed, the likeliest."""
    found = value.get("filtered_resps") or value.get("resps")
    chosen = _likeliest(found, _arguments(value))
    if chosen is not None:
        return chosen
    while isinstance(found, list) and len(found) == 1:
        found = found[0]
    if isinstance(found, list) and found and all(isinstance(each, str) for each in found):
        found = found[0]
    return found if isinstance(found, str) else None


def _likeliest(found: Any, requests: list[list[Any]]) -> str | None:
    """Of answers that are pairs (log-likelihood, whether greedy), one for each request, the best request's text."""
    if not isinstance(found, list) or len(found) != len(requests) or len(found) < 2:
        return None
    likelihoods = [number(each[0]) if isinstance(each, list) and len(each) == 2 else None for each in found]
    if any(each is None or math.isnan(each) for each in likelihoods):
        return None
    best = requests[max(range(len(found)), key=lambda place: likelihoods[place] or 0.0)]
    return best[1].strip() if len(best) > 1 and isinstance(best[1], str) else None


def _results(source: Source, document: dict[str, Any]) -> Imported:
    rows: dict[str, Row] = {}
    metrics = Scores(_RESULTS)
    config = document.get("config")
    system = document.get("model_name") or (config.get("model") if isinstance(config, dict) else None)
    for task, found in document["results"].items():
        if not isinstance(found, dict):
            raise TableError(f"results of {source.name} has no metrics for the task {task!r}; run lm-eval once more")
        for key, value in found.items():
            name, _, filter = key.partition(",")
            mean = _metric(value)
            if not filter or mean is None or math.isnan(mean):
                continue
            id = f"{task}/{filter}"
            row = rows.setdefault(id, {"id": id, "task": task, "filter": filter, "system": system})
            role: Role = "more" if name.endswith("_stderr") else "judge score"
            row[metrics.column(name, f"{name} of the whole task", role)] = mean
    note = "these are means over whole tasks; the scores of items are in samples_….jsonl (lm-eval --log_samples)"
    return imported(source, "lm-eval results", list(rows.values()), [*_RESULTS, *metrics.values()], notes=[note])
