"""lm-evaluation-harness: samples_<task>_<time>.jsonl, one row per document and filter; and results_<time>.json.

    {"doc_id": 3, "doc": {…}, "target": "42", "arguments": {"gen_args_0": {"arg_0": "Q: …", "arg_1": {…}}},
     "resps": [["…"]], "filtered_resps": ["42"], "filter": "none", "metrics": ["exact_match"], "exact_match": 1.0}

The key of a row is (doc_id, filter): several filters score one answer, and are one cluster. A metric that is no number,
such as the parts from which a corpus measure is computed, is left out, with a note. A document's fields are columns:
doc.subject.
"""

import math
from collections.abc import Mapping
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, Role, TableBuilder, at, mapping, number
from ratewise.tables.adapters.source import Source


def _arguments(value: Mapping[str, Any]) -> list[list[Any]]:
    """The arguments of each request: a mapping of mappings in newer files, a list of lists in older ones."""
    given = value.get("arguments")
    if isinstance(given, dict):
        given = [list(each.values()) if isinstance(each, dict) else each for each in given.values()]
    return [each for each in given if isinstance(each, list) and each] if isinstance(given, list) else []


def _prompt(value: Mapping[str, Any]) -> str | None:
    requests = _arguments(value)
    return requests[0][0] if requests and isinstance(requests[0][0], str) else None


def _answer(value: Mapping[str, Any]) -> str | None:
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


_COLUMNS = (
    Became("id", "id", "doc_id, and filter where there are several"),
    Became("doc_id", "cluster", "doc_id"),
    Became("filter", "more", "filter"),
    Became("prompt", "prompt", "arguments: the first one's context", _prompt),
    Became("answer", "answer", "filtered_resps: the text, or the likeliest choice", _answer),
    Became("target", "target", "target"),
)
_OWN = {
    "doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics", "doc_hash", "prompt_hash",
    "target_hash",
}  # fmt: skip
_OF_RESULTS = (
    Became("id", "id", "results: task and filter"),
    Became("task", "more", "results: task"),
    Became("filter", "more", "the name behind the comma"),
    Became("system", "system", "model_name, else config.model"),
)


def looks(source: Source) -> bool:
    """Whether it is a file of samples or of results."""
    first = mapping(source.first)
    return _is_sample(first) or _is_results(first)


def _is_sample(value: dict[str, Any]) -> bool:
    return "doc_id" in value and "doc" in value and ("resps" in value or "filtered_resps" in value)


def _is_results(value: dict[str, Any]) -> bool:
    return isinstance(value.get("results"), dict) and "configs" in value and ("versions" in value or "n-shot" in value)


def read(source: Source) -> Imported:
    """The samples, a row each; or the results, a row for each task and filter."""
    first = mapping(source.first)
    if _is_results(first):
        return _results(source, source.document)
    if not _is_sample(first):
        raise TableError(f"{source.name} is no file of lm-eval; give its samples_….jsonl, or its results_….json")
    made = TableBuilder(source, "lm-eval samples", _COLUMNS)
    left_out: set[str] = set()
    for value in made.objects(source.lines(), "sample of lm-eval: each has doc_id", "doc_id"):
        row = made.row(value)
        made.inside(row, "doc", value.get("doc"), "input")
        named = value.get("metrics")  # in older files, metrics are all keys that are nothing else
        names = map(str, named) if isinstance(named, list) else (name for name in value if name not in _OWN)
        for name in names:
            found = _metric(value.get(name))
            if found is None:
                left_out.add(name)
            else:
                made.score(row, name, found)
    several = len({row["filter"] for row in made.rows.values()}) > 1
    for row in made.rows.values():
        row["id"] = f"{row['doc_id']}/{row['filter']}" if several else str(row["doc_id"])
    left_out -= {one.source for one in made.scores.values()}
    made.notes += [f"{name} is no number for each item, and is left out" for name in sorted(left_out)]
    return made.imported()


def _metric(value: Any) -> float | None:
    return None if isinstance(value, str) else number(value)


def _results(source: Source, document: dict[str, Any]) -> Imported:
    made = TableBuilder(source, "lm-eval results", _OF_RESULTS)
    system = document.get("model_name") or at(document, "config.model")
    for task, found in document["results"].items():
        if not isinstance(found, dict):
            raise TableError(f"results of {source.name} has no metrics for the task {task!r}; run lm-eval once more")
        for key, value in found.items():
            name, _, filter = key.partition(",")
            mean = _metric(value)
            if not filter or mean is None or math.isnan(mean):
                continue
            id = f"{task}/{filter}"
            row = made.row({}, id)
            row |= {"id": id, "task": task, "filter": filter, "system": system}
            role: Role = "more" if name.endswith("_stderr") else "judge score"
            made.score(row, name, mean, f"{name} of the whole task", role)
    note = "these are means over whole tasks; the scores of items are in samples_….jsonl (lm-eval --log_samples)"
    made.notes.append(note)
    return made.imported()
