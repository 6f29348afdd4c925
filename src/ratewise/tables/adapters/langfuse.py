"""Langfuse's score exports, CSV, JSON or JSONL: a row per trace (and observation), a column per name of score.

    id, timestamp, trace_id, observation_id, name, value, string_value, data_type, source, comment

`value` is a number of NUMERIC and BOOLEAN scores only: of CATEGORICAL ones it is an index, and of TEXT ones 0. Those
columns hold their `string_value`. Scores of source ANNOTATION are people's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, Row, damaged, imported, number, snake
from ratewise.tables.adapters.source import Source
from ratewise.tables.load import load_file

_NEEDED = frozenset(("trace_id", "name", "value", "data_type", "source"))
_NUMBERS = frozenset(("NUMERIC", "BOOLEAN"))
_TOLD = (
    Became("id", "id", "trace_id, and observation_id where there is one"),
    Became("trace_id", "cluster", "trace_id"),
    Became("observation_id", "more", "observation_id"),
)


def looks_like_langfuse(source: Source) -> bool:
    """Whether its rows have the fields of a score."""
    if source.columns:
        return {snake(name) for name in source.columns} >= _NEEDED
    return {snake(name) for name in source.first_row("data")} >= _NEEDED


def read_langfuse(source: Source) -> Imported:
    """One row per trace and observation; of a score that was given again, the latest counts."""
    rows: dict[tuple[str, str], Row] = {}
    scores: dict[str, Became] = {}
    given: dict[tuple[str, str, str], str] = {}
    again = 0
    for row, score in enumerate(_scores(source), start=1):
        if not score.keys() >= _NEEDED or score["trace_id"] in {None, ""}:
            raise damaged(source, row, f"score of Langfuse: each has {', '.join(sorted(_NEEDED))}")
        trace, observation = str(score["trace_id"]), str(score.get("observation_id") or "")
        told = _column(score, row, source)
        key, when = (trace, observation, told.column), str(score.get("timestamp") or "")
        again += key in given
        if when < given.get(key, ""):
            continue
        given[key] = when
        scores.setdefault(told.column, told)
        name = f"{trace}/{observation}" if observation else trace
        place = {"id": name, "trace_id": trace, "observation_id": observation or None}
        rows.setdefault((trace, observation), place)[told.column] = _value(score, row, source)
    notes = [f"{again} scores were given again for the same trace; the latest counts"] if again else []
    return imported(source, "Langfuse scores", list(rows.values()), [*_TOLD, *scores.values()], notes=notes)


def _scores(source: Source) -> Iterator[dict[str, Any]]:
    """The scores under the names of the export, whichever way they were spelled."""
    if source.first is None:
        arrays = load_file(source.path, source.name).arrays()
        found: Any = (dict(zip(arrays, cells, strict=True)) for cells in zip(*arrays.values(), strict=True))
    elif isinstance(source.first, dict) and isinstance(source.first.get("data"), list):
        found = iter(source.document["data"])
    else:
        found = (value for _, value in source.rows())
    for number_, score in enumerate(found, start=1):
        if not isinstance(score, Mapping):
            raise damaged(source, number_, "score of Langfuse")
        yield {snake(str(name)): value for name, value in score.items()}


def _column(score: Mapping[str, Any], row: int, source: Source) -> Became:
    kind, human = str(score["data_type"]).upper(), str(score["source"]).upper() == "ANNOTATION"
    if kind not in _NUMBERS | {"CATEGORICAL", "TEXT", "CORRECTION"}:
        raise TableError(
            f"row {row} of {source.name} is a score of the unknown data_type {kind!r}; leave such rows out"
        )
    name = str(score["name"]) + (" (human)" if human else "")
    taken = {each.column for each in _TOLD}
    column = f"{name} score" if name in taken else name
    where = "value" if kind in _NUMBERS else "string_value"
    role = "more" if kind in {"TEXT", "CORRECTION"} else "human score" if human else "judge score"
    return Became(column, role, f"{where} of {kind} scores {score['name']!r} of source {score['source']}")  # type: ignore[arg-type]


def _value(score: Mapping[str, Any], row: int, source: Source) -> Any:
    if str(score["data_type"]).upper() not in _NUMBERS:
        return score.get("string_value")
    value = score["value"]
    found = number(None if value == "" else value)
    if found is None:
        raise TableError(f"row {row} of {source.name} has the value {value!r}, which is no number; leave such rows out")
    return found
