"""Excel's workbooks, .xlsx."""

import zipfile
from datetime import date, time, timedelta
from typing import Any

import numpy as np

from ratewise.errors import TableError
from ratewise.tables.adapters.imported import Became, Imported, text
from ratewise.tables.adapters.source import LARGEST_DOCUMENT, Source
from ratewise.tables.cells import Array
from ratewise.tables.engine import no_rows, one_line
from ratewise.tables.table import different, table_from_mapping

_CONTENTS = b"[Content_Types].xml"


def looks(source: Source) -> bool:
    """Whether it is a workbook: a zip archive with the contents of one."""
    return source.is_zip and (source.ending == ".xlsx" or _CONTENTS in source.head)


def read(source: Source) -> Imported:
    """A row per row of the first sheet; empty rows are left out, as spreadsheets leave them at the end."""
    rows = [row for row in _cells(source) if any(cell != "" for cell in row)]
    if not rows:
        raise TableError(f"the first sheet of {source.name} is empty; a table has a header and rows")
    header, *below = rows
    used = [number for number, cell in enumerate(header) if cell != "" or any(row[number] != "" for row in below)]
    unnamed = next((number for number in used if header[number] == ""), None)
    if unnamed is not None:
        raise TableError(f"column {unnamed + 1} of {source.name} has values and no name in the first row; name it")
    if not below:
        raise no_rows(source.name)
    names = different([str(_plain(header[number])) for number in used], source.name)
    columns = {name: _column([row[number] for row in below]) for name, number in zip(names, used, strict=True)}
    table = table_from_mapping(columns, name=source.name)
    return Imported(table, "Excel workbook", tuple(Became(name, "more", name) for name in names))


def _cells(source: Source) -> list[list[Any]]:
    try:
        import python_calamine
    except ImportError:
        raise TableError(
            f"{source.name} needs the extra xlsx: pip install 'ratewise[xlsx]'; or save it as CSV"
        ) from None
    try:
        with zipfile.ZipFile(source.path) as archive:
            size = sum(member.file_size for member in archive.infolist())
        if size > LARGEST_DOCUMENT:
            raise TableError(
                f"{source.name} would unpack to {size / 2**20:,.0f} MiB; a workbook is read whole, up to "
                f"{LARGEST_DOCUMENT // 2**20} MiB: save it as CSV"
            )
        with open(source.path, "rb") as file, python_calamine.CalamineWorkbook.from_filelike(file) as book:
            return list(book.get_sheet_by_index(0).to_python(skip_empty_area=False)) if book.sheet_names else []
    except (OSError, zipfile.BadZipFile, python_calamine.CalamineError) as error:
        raise TableError(f"{source.name} cannot be read as a workbook: {one_line(str(error))}") from error


def _column(cells: list[Any]) -> Array:
    """Numbers where all cells are numbers, NaN where empty; else texts, None where empty."""
    if all(cell == "" or (isinstance(cell, int | float) and not isinstance(cell, bool)) for cell in cells):
        numbers = [np.nan if cell == "" else float(cell) for cell in cells]
        if any(cell != "" for cell in cells):
            return np.array(numbers, dtype=np.float64)
    return np.array([None if cell == "" else text(_plain(cell)) for cell in cells], dtype=object)


def _plain(cell: Any) -> Any:
    """A cell as people see it: whole numbers without a point, truth in small letters, days as 2026-11-18."""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, date | time):
        return cell.isoformat()
    return str(cell) if isinstance(cell, timedelta) else cell
