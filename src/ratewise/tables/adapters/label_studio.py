"""Label Studio's exports, JSON and JSON_MIN: a row per task, a column for each annotator and question.

    [{"id": 7, "data": {"text": "…"}, "annotations": [{"completed_by": 1, "lead_time": 3.5, "was_cancelled": false,
      "result": [{"from_name": "verdict", "type": "choices", "value": {"choices": ["good"]}}]}]}]
    [{"id": 7, "text": "…", "verdict": "good", "annotator": 1, "annotation_id": 4, "lead_time": 3.5}]

With one annotator a question's column has its own name, with several it has the annotator's behind it, which is what
`--strong verdict_1,verdict_2` takes. An annotation that was cancelled is a missing answer, never 0.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, Row, damaged, free, imported, shown
from ratewise.tables.adapters.source import Source

MIN = frozenset(("annotator", "annotation_id", "lead_time"))
MIN_OWN = MIN | {"id", "created_at", "updated_at", "agreement"}
_NUMBERS = frozenset(("rating", "number"))
_LISTS = ("choices", "text", "labels", "taxonomy")
_PROMPTS = frozenset(("prompt", "question", "input", "instruction"))
_ANSWERS = frozenset(("answer", "response", "output", "completion"))
_SYSTEMS = frozenset(("system", "model", "model_name"))


@dataclass(frozen=True, slots=True)
class _Answer:
    """What one person said to one question of a task; `value` is None where it was cancelled."""

    task: str
    person: str
    question: str
    value: Any


def looks_like_label_studio(source: Source) -> bool:
    """Whether it is a list of tasks with annotations."""
    first = source.first[0] if isinstance(source.first, list) and source.first else None
    return isinstance(first, dict) and (is_task(first) or first.keys() >= MIN)


def is_task(value: dict[str, Any]) -> bool:
    """Whether it is a task of the long form, JSON."""
    return isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list)


def read_label_studio(source: Source) -> Imported:
    """One row per task: its data, the seconds that its annotations took, and what each person said."""
    document = source.document
    if not isinstance(document, list):
        raise TableError(f"{source.name} is no list of tasks; export JSON or JSON_MIN from Label Studio")
    rows: dict[str, Row] = {}
    answers: list[_Answer] = []
    notes: list[str] = []
    for number, value in enumerate(document, start=1):
        if isinstance(value, dict) and is_task(value):
            answers += _task(value, number, rows)
        elif isinstance(value, dict) and value.keys() >= MIN and "id" in value:
            answers += _minimal(value, rows)
        else:
            raise damaged(source, number, "task of Label Studio: each has data and annotations")
    data = dict.fromkeys(name for row in rows.values() for name in row)
    told = _spread(rows, answers, notes)
    shown = [_data(name) for name in data if name not in {"id", "lead_time"}]
    last = [Became("lead_time", "more", "lead_time: seconds of all annotations of the task")]
    every = [Became("id", "id", "the task's id"), *shown, *told, *last]
    return imported(source, "Label Studio annotations", list(rows.values()), every, notes=notes)


def _task(value: dict[str, Any], number: int, rows: dict[str, Row]) -> Iterator[_Answer]:
    task = str(value.get("id", number))
    row = rows.setdefault(task, {"id": task, **{_name(key): shown(cell) for key, cell in value["data"].items()}})
    for annotation in value["annotations"]:
        if not isinstance(annotation, dict):
            continue
        _add_time(row, annotation.get("lead_time"))
        results = annotation.get("result")
        for result in results if isinstance(results, list) else []:
            if isinstance(result, dict) and "from_name" in result:
                given = None if annotation.get("was_cancelled") else said(result.get("value"))
                yield _Answer(task, person_of(annotation.get("completed_by")), str(result["from_name"]), given)


def _minimal(value: dict[str, Any], rows: dict[str, Row]) -> Iterator[_Answer]:
    """A flat row; the file does not say which of its keys are the task's data and which are answers."""
    task = str(value["id"])
    row = rows.setdefault(task, {"id": task})
    _add_time(row, value.get("lead_time"))
    for key, cell in value.items():
        if key in MIN_OWN:
            continue
        if _is_data(key, cell):
            row[_name(key)] = shown(cell)
        else:
            yield _Answer(task, person_of(value.get("annotator")), key, said(cell))


def _is_data(key: str, cell: Any) -> bool:
    """Whether a cell of JSON_MIN is text to be judged: what people answer is a choice, a number or a list."""
    known = key.lower() in _PROMPTS | _ANSWERS | _SYSTEMS | {"text", "reference", "target", "context"}
    return known or (isinstance(cell, str) and len(cell) > 60)


def _spread(rows: dict[str, Row], answers: list[_Answer], notes: list[str]) -> list[Became]:
    """Put every answer into its column; a person's later answer to the same question counts."""
    people = sorted({answer.person for answer in answers})
    taken = {name for row in rows.values() for name in row} | {"lead_time"}
    told: dict[str, Became] = {}
    again = 0
    for answer in answers:
        own = answer.question if len(people) == 1 else f"{answer.question}_{answer.person}"
        column = free(own, sorted(taken))
        told.setdefault(column, Became(column, "human score", f"{answer.question} of annotator {answer.person}"))
        row = rows[answer.task]
        again += row.get(column) is not None
        if answer.value is not None or column not in row:
            row[column] = answer.value
    if again:
        notes.append(f"{again} answers were given again by the same person; the last counts")
    return list(told.values())


def said(value: Any) -> Any:
    """A choice, a rating, a number or a text; several choices are separated by commas."""
    if isinstance(value, dict):
        if "rating" in value or "number" in value:
            return value.get("rating", value.get("number"))
        value = next((value[name] for name in _LISTS if name in value), None)
        if value is None:
            return None
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], dict) and _NUMBERS & value[0].keys():
        return said(value[0])  # as JSON_MIN has a number or stars
    if isinstance(value, list):
        return ",".join(item if isinstance(item, str) else json.dumps(item, ensure_ascii=False) for item in value)
    if isinstance(value, dict) and "choices" in value:
        return said(value["choices"])
    return value


def person_of(value: Any) -> str:
    """`completed_by` is a number, or an object with the person's address."""
    if isinstance(value, dict):
        value = value.get("email") or value.get("id")
    return "?" if value is None else str(value)


def _add_time(row: Row, seconds: Any) -> None:
    if isinstance(seconds, int | float):
        row["lead_time"] = row.get("lead_time", 0) + seconds


def _name(key: str) -> str:
    return f"data.{key}" if key in {"id", "lead_time"} else key


def _data(name: str) -> Became:
    lower = name.lower()
    if lower in _PROMPTS:
        return Became(name, "prompt", f"data.{name}")
    if lower in _ANSWERS:
        return Became(name, "answer", f"data.{name}")
    return Became(name, "system" if lower in _SYSTEMS else "more", f"data.{name}")


# What people said in Label Studio, one record for each annotation, for whoever asked them.


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation: its task as the file counts them, the task's data, who answered, and what to which question."""

    number: int
    data: Mapping[str, Any]
    person: str
    answers: Mapping[str, Any]
    seconds: float | None
    cancelled: bool


def read_annotations(path: str) -> list[Annotation]:
    """All annotations of an export, JSON or JSON_MIN; those that were skipped are cancelled."""
    source = Source(path)
    document = source.document
    if not isinstance(document, list):
        raise TableError(f"{source.name} is no list of tasks; export JSON or JSON_MIN from Label Studio")
    out: list[Annotation] = []
    for number, value in enumerate(document, start=1):
        if isinstance(value, dict) and is_task(value):
            out += _annotations_of(number, value)
        elif isinstance(value, dict) and value.keys() >= MIN:
            out.append(_flat_annotation(number, value))
        else:
            raise damaged(source, number, "task of Label Studio: each has data and annotations")
    return out


def _annotations_of(number: int, value: dict[str, Any]) -> Iterator[Annotation]:
    for one in value["annotations"]:
        if not isinstance(one, dict):
            continue
        results = one.get("result")
        answers = {
            str(result["from_name"]): said(result.get("value"))
            for result in (results if isinstance(results, list) else [])
            if isinstance(result, dict) and "from_name" in result
        }
        cancelled = bool(one.get("was_cancelled"))
        person = person_of(one.get("completed_by"))
        yield Annotation(number, value["data"], person, answers, _seconds(one.get("lead_time")), cancelled)


def _flat_annotation(number: int, value: dict[str, Any]) -> Annotation:
    """A flat row: what is data and what is an answer, only the reader of it can tell."""
    rest = {key: cell for key, cell in value.items() if key not in MIN_OWN}
    answers = {key: said(cell) for key, cell in rest.items()}
    return Annotation(
        number, rest, person_of(value.get("annotator")), answers, _seconds(value.get("lead_time")), cancelled=False
    )


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
