"""A file of another tool before it is read: what it begins with, parsed once."""

import csv
import json
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from typing import Any

from ratewise.tables.adapters.json_file import UNREADABLE, opened, read_json, read_lines
from ratewise.tables.engine import LONGEST_LINE, one_line
from ratewise.tables.formats import BYTE_ORDER_MARK

_LINES = (".jsonl", ".ndjson")
_HEADER = 1 << 16
_LARGEST_FOOTER = 1 << 22


class Source:
    """A path and what lies there, packed by gzip or not; everything is read when it is first asked for.

    `name` is what messages call the file.
    """

    def __init__(self, path: str, name: str | None = None) -> None:
        self.path = path
        self.name = name or one_line(os.path.basename(path))
        self.ending = os.path.splitext(path.lower().removesuffix(".gz"))[1]

    @cached_property
    def head(self) -> bytes:
        """The first bytes, without a byte order mark and blanks; empty where there is no such file."""
        if not os.path.isfile(self.path):  # to open a pipe would wait for its other end
            return b""
        start = b""
        with suppress(*UNREADABLE), opened(self.path) as file:  # what was packed and cut off has a beginning
            while len(start) < _HEADER and (more := file.read1(_HEADER - len(start))):
                start += more
        return start.removeprefix(BYTE_ORDER_MARK).lstrip()

    @cached_property
    def is_zip(self) -> bool:
        """Whether it is a zip archive, by its first bytes."""
        return self.head.startswith(b"PK\x03\x04")

    @cached_property
    def first(self) -> Any:
        """The first JSON value: of the first line, or of the whole document; None where there is none."""
        if not self.head.startswith((b"{", b"[")):
            return None
        try:
            return json.loads(self._first_line())
        except (ValueError, RecursionError, *UNREADABLE):  # the first line of a document, or damaged
            return None if self.ending in _LINES else self.document

    @cached_property
    def document(self) -> Any:
        """The file as one JSON document."""
        return read_json(self.path, self.name)

    def lines(self) -> Iterator[tuple[int, Any]]:
        """The file as JSON lines, with their numbers."""
        return read_lines(self.path, self.name)

    def rows(self) -> Iterator[tuple[int, Any]]:
        """The rows of a document that is a list, or of JSON lines, numbered from 1."""
        if isinstance(self.first, list):
            return enumerate(self.document, start=1)
        return self.lines()

    @cached_property
    def columns(self) -> frozenset[str]:
        """The columns of a CSV file, or those names of a Parquet file's footer that adapters ask for; else none."""
        if self.ending in (".parquet", ".pq") and self.head.startswith(b"PAR1"):
            footer = self._footer()
            return frozenset(name for name in ("winner_model_a", "winner_model_b") if name.encode() in footer)
        if self.ending != ".csv":
            return frozenset()
        line = self.head.splitlines()[0].decode("utf-8", "replace") if self.head else ""
        try:
            return frozenset(next(csv.reader([line]), []))
        except csv.Error:
            return frozenset()

    def _first_line(self) -> bytes:
        with opened(self.path) as file:
            for line in iter(lambda: file.readline(LONGEST_LINE + 1), b""):
                if not line.removeprefix(BYTE_ORDER_MARK).isspace():
                    return line.removeprefix(BYTE_ORDER_MARK)
        return b""

    def _footer(self) -> bytes:
        with open(self.path, "rb") as file:
            whole = file.seek(0, os.SEEK_END)
            if whole < 12:
                return b""
            file.seek(-8, os.SEEK_END)
            size = min(int.from_bytes(file.read(4), "little"), _LARGEST_FOOTER, whole - 8)
            file.seek(-8 - size, os.SEEK_END)
            return file.read(size)
