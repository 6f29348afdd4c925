"""Rows of a table as raters get them and as the store keeps them: plain values, None where there is none."""

import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ratewise.tables import Table


def plain_rows(rows: Table) -> Iterator[dict[str, Any]]:
    """Each row as raters get it."""
    columns = {name: cells(values) for name, values in rows.arrays().items()}
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def cells(values: Any) -> list[Any]:
    """Python values for JSON; missing values and NaN become None."""
    if values.dtype.kind == "f":
        return [None if not math.isfinite(x) else x for x in values.tolist()]
    if values.dtype.kind in "mM":
        return [None if np.isnat(x) else str(x) for x in values]
    return list(values.tolist())


def contents_of(rows: Table) -> list[str]:
    """Each row as JSON, as the store keeps it."""
    columns = {name: cells(values) for name, values in rows.arrays().items()}
    names = list(columns)
    as_json = json.JSONEncoder(ensure_ascii=False, default=str).encode
    return [as_json(dict(zip(names, row, strict=True))) for row in zip(*columns.values(), strict=True)]
