"""Which file ending means which format, for reading and for writing."""

import os
import re
from dataclasses import dataclass
from typing import Literal

from ratewise.errors import TableError
from ratewise.tables.engine import one_line

Kind = Literal["CSV", "JSONL", "Parquet"]

_ENDINGS: dict[str, Kind] = {
    ".csv": "CSV",
    ".jsonl": "JSONL",
    ".ndjson": "JSONL",
    ".parquet": "Parquet",
    ".pq": "Parquet",
}
_GZIPPED = tuple(ending + ".gz" for ending, kind in _ENDINGS.items() if kind != "Parquet")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""What some programs put in front of UTF-8 text."""


@dataclass(frozen=True, slots=True)
class Format:
    """How the bytes of a file are to be understood."""

    kind: Kind
    gzipped: bool = False


def format_of(path: str) -> Format:
    """The format that the ending of a path stands for, in capitals or not."""
    lower = os.path.basename(path).lower()
    gzipped = lower.endswith(_GZIPPED)
    ending = os.path.splitext(lower.removesuffix(".gz") if gzipped else lower)[1]
    if ending not in _ENDINGS:
        legal = ", ".join((*_ENDINGS, *_GZIPPED))
        raise TableError(f"{one_line(path)} is not a table by its ending; the legal endings are {legal}")
    return Format(_ENDINGS[ending], gzipped)


def sniffed(data: bytes) -> Format:
    """The format of bytes that came without a name."""
    if data.startswith(b"PAR1"):
        return Format("Parquet")
    return Format("JSONL" if re.match(rb"\s*\{", data) else "CSV")
