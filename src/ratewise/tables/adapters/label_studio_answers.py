"""What people said in Label Studio, one record for each annotation, for whoever asked them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import damaged
from ratewise.tables.adapters.label_studio import MIN, MIN_OWN, is_task, person_of, said
from ratewise.tables.adapters.source import Source


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
            out += _task(number, value)
        elif isinstance(value, dict) and value.keys() >= MIN:
            out.append(_minimal(number, value))
        else:
            raise damaged(source, number, "task of Label Studio: each has data and annotations")
    return out


def _task(number: int, value: dict[str, Any]) -> Iterator[Annotation]:
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


def _minimal(number: int, value: dict[str, Any]) -> Annotation:
    """A flat row: what is data and what is an answer, only the reader of it can tell."""
    rest = {key: cell for key, cell in value.items() if key not in MIN_OWN}
    answers = {key: said(cell) for key, cell in rest.items()}
    return Annotation(
        number, rest, person_of(value.get("annotator")), answers, _seconds(value.get("lead_time")), cancelled=False
    )


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
