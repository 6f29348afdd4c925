"""Langfuse's score exports, CSV, JSON or JSONL: a row per trace (and observation), a column per name of score.

    id, timestamp, trace_id, observation_id, name, value, string_value, data_type, source, comment

`value` is a number of NUMERIC and BOOLEAN scores only: of CATEGORICAL ones it is an index, and of TEXT ones 0. Those
columns hold their `string_value`. Scores of source ANNOTATION are people's.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, Role, TableBuilder, damaged, number, snake
from ratewise.tables.adapters.source import Source
from ratewise.tables.load import load_file

_NEEDED = ("data_type", "name", "source", "trace_id", "value")
_NUMBERS = frozenset(("NUMERIC", "BOOLEAN"))


def _item(score: Mapping[str, Any]) -> str:
    return "/".join(str(score[name]) for name in ("trace_id", "observation_id") if score.get(name))


_COLUMNS = (
    Became("id", "id", "trace_id, and observation_id where there is one", _item),
    Became("trace_id", "cluster", "trace_id", lambda score: str(score["trace_id"])),
    Became("observation_id", "more", "observation_id", lambda score: str(score.get("observation_id") or "") or None),
)


def looks(source: Source) -> bool:
    """Whether its rows have the fields of a score."""
    return {snake(name) for name in source.columns or source.first_row("data")} >= set(_NEEDED)


def read(source: Source) -> Imported:
    """One row per trace and observation; of a score that was given again, the latest counts."""
    made = TableBuilder(source, "Langfuse scores", _COLUMNS)
    given: dict[tuple[str, str], str] = {}
    again, what = 0, f"score of Langfuse: each has {', '.join(_NEEDED)}"
    for score in made.objects(_scores(source), what, *_NEEDED):
        trace, row, kind = score["trace_id"], source.row, str(score["data_type"]).upper()
        if trace in {None, ""}:
            raise damaged(source, row, what)
        if kind not in _NUMBERS | {"CATEGORICAL", "TEXT", "CORRECTION"}:
            raise TableError(
                f"row {row} of {source.name} is a score of the unknown data_type {kind!r}; leave such rows out"
            )
        value = number(None if score["value"] == "" else score["value"]) if kind in _NUMBERS else None
        if kind in _NUMBERS and value is None:
            raise TableError(
                f"row {row} of {source.name} has the value {score['value']!r}, which is no number; leave such rows out"
            )
        human = str(score["source"]).upper() == "ANNOTATION"
        role: Role = "more" if kind in {"TEXT", "CORRECTION"} else "human score" if human else "judge score"
        name = str(score["name"]) + (" (human)" if human else "")
        where = f"{'value' if kind in _NUMBERS else 'string_value'} of {kind} scores {score['name']!r} of source"
        item, when = _item(score), str(score.get("timestamp") or "")
        into, key = made.row(score, item), (item, name)
        again += key in given
        if when >= given.get(key, ""):
            given[key] = when
            cell = value if kind in _NUMBERS else score.get("string_value")
            made.score(into, name, cell, f"{where} {score['source']}", role)
    made.note(again, "scores were given again for the same trace; the latest counts")
    return made.imported()


def _scores(source: Source) -> Iterator[tuple[int, Any]]:
    """The scores under the names of the export, whichever way they were spelled."""
    if source.first is None:
        arrays = load_file(source.path, source.name).arrays()
        rows = (dict(zip(arrays, cells, strict=True)) for cells in zip(*arrays.values(), strict=True))
        found: Iterator[tuple[int, Any]] = enumerate(rows, start=1)
    else:
        found = source.rows("data")
    for row, score in found:
        yield row, {snake(str(name)): cell for name, cell in score.items()} if isinstance(score, dict) else score
