"""Cells that a spreadsheet would run as formulas, made plain text."""

from typing import Any

import numpy as np

from ratewise.tables.read import read_table
from ratewise.tables.table import Table

_STARTS = ("=", "+", "-", "@", "\t", "\r")


def safe_cells(table: Table) -> Table:
    """The table with an apostrophe before every text that begins like a formula; numbers stay numbers."""
    return read_table({_safe(name): _column(values) for name, values in table.arrays().items()})


def _column(values: Any) -> Any:
    if values.dtype.kind not in "OUST":
        return values
    out = np.empty(len(values), dtype=object)
    out[:] = [_safe(value) if isinstance(value, str) else value for value in values.tolist()]
    return out


def _safe(text: str) -> str:
    return f"'{text}" if text.startswith(_STARTS) else text
