"""Which file ending means which format: one list for reading, one for writing."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ratewise.errors import TableError
from ratewise.tables.engine import one_line

Kind = Literal["CSV", "JSONL", "Parquet"]

READING: Mapping[str, Kind] = {
    ".csv": "CSV",
    ".jsonl": "JSONL",
    ".ndjson": "JSONL",
    ".parquet": "Parquet",
    ".pq": "Parquet",
}
WRITING: Mapping[str, Kind] = dict(READING)
"""A format that is only read is left out here; one that other tools invented has a file in `adapters` instead."""

NAMED: Mapping[str, Kind] = {"csv": "CSV", "jsonl": "JSONL", "parquet": "Parquet"}
"""Plain tables by the name that a user insists on, whatever the ending of the file is."""

_PACKED_INSIDE: frozenset[Kind] = frozenset({"Parquet"})  # which gain nothing from gzip around them
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs put in front of UTF-8 text."""


@dataclass(frozen=True, slots=True)
class Format:
    """How the bytes of a file are to be understood."""

    kind: Kind
    gzipped: bool = False


def format_of(path: str, endings: Mapping[str, Kind] = READING) -> Format:
    """The format that the ending of a path stands for, in capitals or not; pass WRITING for a file to be written."""
    lower = os.path.basename(path).lower()
    packed = _gzipped(endings)
    gzipped = lower.endswith(packed)
    ending = os.path.splitext(lower.removesuffix(".gz") if gzipped else lower)[1]
    if ending not in endings:
        legal = ", ".join((*endings, *packed))
        other = (
            " (a .json file is a list of objects, or one that another tool wrote; this is neither)"
            if ending == ".json"
            else ""
        )
        raise TableError(f"{one_line(path)} is not a table by its ending; the legal endings are {legal}{other}")
    return Format(endings[ending], gzipped)


def _gzipped(endings: Mapping[str, Kind]) -> tuple[str, ...]:
    return tuple(ending + ".gz" for ending, kind in endings.items() if kind not in _PACKED_INSIDE)


def sniffed(data: bytes) -> Format:
    """The format of bytes that came without a name."""
    if data.startswith(b"PAR1"):
        return Format("Parquet")
    return Format("JSONL" if re.match(rb"\s*\{", data) else "CSV")


def ending_of(data: bytes) -> str:
    """The ending that bytes which came without a name would have in a file."""
    if data.startswith(b"PK\x03\x04"):
        return ".eval"
    return ".json" if re.match(rb"\s*[\[{]", data) else "." + sniffed(data).kind.lower()
