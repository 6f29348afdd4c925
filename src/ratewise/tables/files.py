"""Writing small text files as safely as tables."""

import csv
import io
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.write import replacing


def check_folder(path: str | os.PathLike[str] | None) -> None:
    """Refuse a file whose folder is not there, before long work is done for it; `None` is no file."""
    name = "" if path is None else os.fspath(path)
    folder = os.path.dirname(name)
    if folder and not os.path.isdir(folder):
        raise TableError(f"{name!r} cannot be written: the folder {folder!r} does not exist; make it first")


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file or leave what was there."""
    with replacing(os.fsdecode(path)) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)


def write_rows(path: str | os.PathLike[str], rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows with the same names each, as CSV; numbers with all their digits."""
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_text(path, text.getvalue())
