"""A file as DuckDB can be told of it: unpacked, and under a path that means nothing but itself."""

import gzip
import os
import re
import shutil
import zlib

from ratewise.errors import TableError
from ratewise.tables.engine import one_line, reason
from ratewise.tables.formats import BYTE_ORDER_MARK, Format, Kind, format_of

PATTERN = re.compile(r"[*?\[]")
"""What DuckDB, and a shell, take for a pattern of several names."""


def checked_file(path: str, kind: Kind | None = None) -> Format:
    """The format of a file that is there and has something in it: of `kind`, else by its ending."""
    shown = one_line(path)
    if os.path.isdir(path):
        raise TableError(f"{shown} is a directory; give the path of a table in it")
    if not os.path.exists(path):
        raise TableError(f"{shown} does not exist; check the path")
    form = format_of(path) if kind is None else Format(kind, path.lower().endswith(".gz"))
    if not os.path.isfile(path):
        raise TableError(f"{shown} is not a regular file; give - and pass the table to standard input")
    if os.path.getsize(path) == 0:
        raise TableError(f"{shown} is empty; a table has a header and rows")
    return form


def plain_file(path: str, form: Format, name: str, target: str) -> str:
    """The path of the same table for DuckDB: the file's own, or `target`, where a link or an unpacked copy is put.

    DuckDB would take *, ? and [ for a pattern and stumble over a byte order mark in JSONL, and some of its
    versions read a gzip file that is cut off as if it were whole. A CSV file is always copied: its loader puts a
    row behind it.
    """
    path = os.path.abspath(path)
    try:
        if form.gzipped or form.kind == "CSV" or (form.kind == "JSONL" and _marked(path)):
            unpack(path, target, gzipped=form.gzipped)
        elif PATTERN.search(path) or not path.isprintable():
            _link(path, target)
        else:
            return path
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{name} cannot be read: {reason(error)}") from error
    return target


def _marked(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK


def unpack(path: str, plain: str, *, gzipped: bool) -> None:
    """Copy a file without its byte order mark."""
    with gzip.open(path) if gzipped else open(path, "rb") as packed, open(plain, "wb") as file:
        file.write(packed.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK))
        shutil.copyfileobj(packed, file, 1 << 20)


def _link(path: str, plain: str) -> None:
    try:
        os.symlink(path, plain)
    except (OSError, NotImplementedError):  # Windows gives links to administrators only
        shutil.copyfile(path, plain)
