"""Label Studio's exports, JSON and JSON_MIN: a row per task, a column for each annotator and question.

    [{"id": 7, "data": {"text": "…"}, "annotations": [{"completed_by": 1, "lead_time": 3.5, "was_cancelled": false,
      "result": [{"from_name": "verdict", "type": "choices", "value": {"choices": ["good"]}}]}]}]
    [{"id": 7, "text": "…", "verdict": "good", "annotator": 1, "annotation_id": 4, "lead_time": 3.5}]

With one annotator a question's column has its own name, with several it has the annotator's behind it, which is what
`--strong verdict_1,verdict_2` takes. An annotation that was cancelled is a missing answer, never 0.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import quoteattr

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, Role, Row, TableBuilder, damaged, shown
from ratewise.tables.adapters.source import Source

MIN = frozenset(("annotator", "annotation_id", "lead_time"))
MIN_OWN = MIN | {"id", "created_at", "updated_at", "agreement"}
_NUMBERS = frozenset(("rating", "number"))
_LISTS = ("choices", "text", "labels", "taxonomy")
_PROMPTS = frozenset(("prompt", "question", "input", "instruction"))
_ANSWERS = frozenset(("answer", "response", "output", "completion"))
_WHAT = "task of Label Studio: each has data and annotations"
_LAST = (Became("lead_time", "more", "lead_time: seconds of all annotations of the task"),)
_SYSTEMS = frozenset(("system", "model", "model_name"))


@dataclass(frozen=True, slots=True)
class Annotation:
    """One annotation: its task as the file counts them, the task's data, who answered, and what to which question."""

    number: int
    data: Mapping[str, Any]
    person: str
    answers: Mapping[str, Any]
    seconds: float | None
    cancelled: bool


def looks(source: Source) -> bool:
    """Whether it is a list of tasks with annotations."""
    first = source.first_row()
    return isinstance(source.first, list) and (is_task(first) or first.keys() >= MIN)


def is_task(value: dict[str, Any]) -> bool:
    """Whether it is a task of the long form, JSON."""
    return isinstance(value.get("data"), dict) and isinstance(value.get("annotations"), list)


def _tasks(source: Source) -> Iterator[tuple[int, dict[str, Any], list[Annotation]]]:
    """The tasks of an export, JSON or JSON_MIN, with their numbers and annotations; skipped ones are cancelled.

    Which of the keys of JSON_MIN are data and which are answers, the file does not say: both have all of them.
    """
    document = source.document
    if not isinstance(document, list):
        raise TableError(f"{source.name} is no list of tasks; export JSON or JSON_MIN from Label Studio")
    for number, value in enumerate(document, start=1):
        if isinstance(value, dict) and is_task(value):
            given = [one for one in value["annotations"] if isinstance(one, dict)]
            yield number, value, [_annotation(number, value["data"], one) for one in given]
        elif isinstance(value, dict) and value.keys() >= MIN:
            rest = {key: cell for key, cell in value.items() if key not in MIN_OWN}
            answers = {key: said(cell) for key, cell in rest.items()}
            person, seconds = person_of(value.get("annotator")), _seconds(value.get("lead_time"))
            yield number, value, [Annotation(number, rest, person, answers, seconds, cancelled=False)]
        else:
            raise damaged(source, number, _WHAT)


def _annotation(number: int, data: Mapping[str, Any], one: Mapping[str, Any]) -> Annotation:
    results = one.get("result")
    answers = {
        str(result["from_name"]): said(result.get("value"))
        for result in (results if isinstance(results, list) else [])
        if isinstance(result, dict) and "from_name" in result
    }
    seconds, cancelled = _seconds(one.get("lead_time")), bool(one.get("was_cancelled"))
    return Annotation(number, data, person_of(one.get("completed_by")), answers, seconds, cancelled)


def read_annotations(path: str) -> list[Annotation]:
    """What people said in an export, one record for each annotation, for whoever asked them."""
    return [annotation for _, _, annotations in _tasks(Source(path)) for annotation in annotations]


def read(source: Source) -> Imported:
    """One row per task: its data, the seconds that its annotations took, and what each person said.

    A person's later answer to the same question counts.
    """
    made = TableBuilder(source, "Label Studio annotations", (Became("id", "id", "the task's id"),), _LAST)
    answers: list[tuple[Row, str, str, Any]] = []  # task, person, question, value
    for number, task, annotations in _tasks(source):
        whole = is_task(task)
        if not whole and "id" not in task:
            raise damaged(source, number, _WHAT)
        data = task["data"] if whole else {key: x for key, x in annotations[0].data.items() if _is_data(key, x)}
        row = made.row({}, str(task.get("id", number)))
        row["id"] = str(task.get("id", number))
        for key, cell in data.items():
            name = f"data.{key}" if key in {"id", "lead_time"} else key
            made.others.setdefault(name, Became(name, _role(name), f"data.{name}"))
            if not whole or name not in row:
                row[name] = shown(cell)
        for one in annotations:
            if one.seconds is not None:
                row["lead_time"] = (row["lead_time"] or 0) + one.seconds
            for question, value in one.answers.items():
                if whole or question not in data:
                    answers.append((row, one.person, question, None if one.cancelled else value))
    made.columns, made.others = (*made.columns, *made.others.values()), {}
    alone, again = len({person for _, person, _, _ in answers}) == 1, 0
    for row, person, question, value in answers:
        name = question if alone else f"{question}_{person}"
        told = f"{question} of annotator {person}"
        before = row.get(made.score_column(name, told, "human score"))
        again += before is not None
        made.score(row, name, before if value is None else value, told, "human score")
    made.note(again, "answers were given again by the same person; the last counts")
    return made.imported()


def _is_data(key: str, cell: Any) -> bool:
    """Whether a cell of JSON_MIN is text to be judged: what people answer is a choice, a number or a list."""
    known = key.lower() in _PROMPTS | _ANSWERS | _SYSTEMS | {"text", "reference", "target", "context"}
    return known or (isinstance(cell, str) and len(cell) > 60)


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


def _role(name: str) -> Role:
    lower = name.lower()
    return (
        "prompt" if lower in _PROMPTS else "answer" if lower in _ANSWERS else "system" if lower in _SYSTEMS else "more"
    )


def _seconds(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


# Out: tasks, and the labelling config that shows them


KEY, RATING, COMMENT, CANNOT_TELL = "ratewise_key", "rating", "comment", "cannot_tell"  # names in tasks and answers


def field_names(columns: Sequence[str]) -> dict[str, str]:
    """A name for each column that Label Studio takes for a variable: letters, digits and underscores, none twice."""
    out: dict[str, str] = {}
    for column in columns:
        name = re.sub(r"\W", "_", column, flags=re.ASCII).strip("_") or "text"
        name = f"_{name}" if name[0].isdigit() or name in {KEY, "id", RATING, COMMENT, CANNOT_TELL} else name
        while name in out.values():
            name += "_"
        out[column] = name
    return out


def tasks_of(questions: Sequence[tuple[str, Mapping[str, Any]]], columns: Sequence[str]) -> str:
    """The tasks as JSON: keys and shown columns."""
    names = field_names(columns)
    tasks = [
        {"data": {KEY: key, **{names[column]: _told(item[column]) for column in columns}}} for key, item in questions
    ]
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def _told(value: Any) -> str:
    """Text as it is; anything else as JSON, since a config shows texts."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def config_of(
    columns: Sequence[str], words: Sequence[str], *, ends: tuple[float, float], whole: bool, criterion: str, sides: bool
) -> str:
    """The labelling config: the texts one below the other, two that are compared side by side, then the answer.

    There is a button for each of the words, of which the last says that one cannot tell; where it is the only one, a
    number between the ends is asked for.
    """
    names = field_names(columns)
    compared = [column for column in columns if sides and column in ("a", "b")]
    parts = [_part(column, names[column]) for column in columns if column not in compared]
    if compared:
        parts.append('  <View style="display: grid; grid-template-columns: 1fr 1fr; gap: 1rem">')
        parts += [f"  {line}" for column in compared for line in ("<View>", _part(column, names[column]), "</View>")]
        parts.append("  </View>")
    told = [f"  <Header value={quoteattr(criterion)}/>"] if criterion else []
    to, step = f'toName="{names[columns[0]]}"', "1" if whole else "any"
    answer = [
        f'  <Number name="{RATING}" {to} min="{ends[0]:g}" max="{ends[1]:g}" step="{step}"/>',
        f'  <Choices name="{CANNOT_TELL}" {to} choice="multiple">',
    ]
    if len(words) > 1:
        answer = [f'  <Choices name="{RATING}" {to} choice="single" required="true" showInline="true">']
    keys = [f' hotkey="{n}"' if n < 10 and len(words) > 1 else "" for n in range(1, len(words) + 1)]
    answer += [f"    <Choice value={quoteattr(word)}{key}/>" for word, key in zip(words, keys, strict=True)]
    comment = f'  <TextArea name="{COMMENT}" {to} placeholder="Comment" maxSubmissions="1" editable="true"/>'
    return "\n".join(["<View>", *parts, *told, *answer, "  </Choices>", comment, "</View>"]) + "\n"


def _part(column: str, name: str) -> str:
    title = column.upper() if column in ("a", "b") else column.replace("_", " ").strip().capitalize() or column
    return f'  <Header value={quoteattr(title)} size="4"/>\n  <Text name="{name}" value="${name}"/>'
