"""Cells that a spreadsheet would run as formulas, made plain text and brought back."""

import re
from collections.abc import Callable
from typing import Any

import numpy as np

from ratewise.tables.read import read_table
from ratewise.tables.table import Table

# apostrophes before the sign count too, so that every text can be told from the one that was made safe
_FORMULA = re.compile(r"'*[=+\-@\t\r]")


def safe_cells(table: Table) -> Table:
    """The table with an apostrophe before every text that begins like a formula; numbers stay numbers."""
    return _changed(table, _safe)


def plain_cells(table: Table) -> Table:
    """The table before `safe_cells`; one that a spreadsheet has taken the apostrophes from already is the same."""
    return _changed(table, plain_text)


def plain_text(text: str) -> str:
    """The text before an apostrophe was put before it."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text


def _safe(text: str) -> str:
    return f"'{text}" if _FORMULA.match(text) else text


def _changed(table: Table, change: Callable[[str], str]) -> Table:
    columns = {change(name): _column(values, change) for name, values in table.arrays().items()}
    return read_table(columns, name=table.name)


def _column(values: Any, change: Callable[[str], str]) -> Any:
    if values.dtype.kind not in "OUST":
        return values
    out = np.empty(len(values), dtype=object)
    out[:] = [change(value) if isinstance(value, str) else value for value in values.tolist()]
    return out
