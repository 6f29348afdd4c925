"""Ratings for inspect_ai's `precomputed_scores`: a list of records with id, epoch and value.

inspect score run.eval --scorer inspect_ai/precomputed_scores -S scores=scores.json
"""

import json
import math
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.files import write_text
from ratewise.tables.table import Table

_LINES = (".jsonl", ".ndjson")


def write_precomputed_scores(table: Table, column: str, path: str) -> int:
    """Write one record for every row that has a rating; returns how many there are.

    The sample's id is in `sample_id` where the table was read from a log, else in `id`; `epoch` is written where the
    table has it.
    """
    lower = path.lower()
    if not lower.endswith((".json", ".jsonl")):
        raise TableError(f"{path!r} is no place for scores; inspect_ai reads .json and .jsonl: name the file so")
    ids = table.texts("sample_id") if "sample_id" in table.columns else table.ids()
    epochs = table.numbers("epoch") if "epoch" in table.columns else None
    records = []
    for row, value in enumerate(_values(table, column)):
        if value is not None:
            epoch = {} if epochs is None else {"epoch": int(epochs[row])}
            records.append({"id": str(ids[row]), **epoch, "value": value})
    if not records:
        raise TableError(f"column {column!r} of {table.name} has no rating; rate some rows first")
    lines = [json.dumps(record, ensure_ascii=False) for record in records]
    text = "\n".join(lines) if lower.endswith(_LINES) else "[\n" + ",\n".join(lines) + "\n]"
    write_text(path, text + "\n")
    return len(records)


def _values(table: Table, column: str) -> list[Any]:
    """Numbers where all are, else words; None where there is no rating."""
    try:
        return [None if math.isnan(value) else value for value in table.numbers(column, missing="allow").tolist()]
    except TableError:
        return [text or None for text in table.texts(column, missing="allow")]
