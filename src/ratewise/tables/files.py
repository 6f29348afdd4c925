"""Files that hold tables: which format, where they lie, and how DuckDB can be told of them."""

import glob
import gzip
import io
import os
import re
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ratewise.errors import TableError
from ratewise.tables.engine import one_line, reason

Kind = Literal["CSV", "JSONL", "Parquet"]

ENDINGS: Mapping[str, Kind] = {
    ".csv": "CSV",
    ".jsonl": "JSONL",
    ".ndjson": "JSONL",
    ".parquet": "Parquet",
    ".pq": "Parquet",
}
"""Formats that other tools invented have a file in `adapters` instead."""

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


def format_of(path: str) -> Format:
    """The format that the ending of a path stands for, in capitals or not."""
    lower = os.path.basename(path).lower()
    packed = tuple(ending + ".gz" for ending, kind in ENDINGS.items() if kind not in _PACKED_INSIDE)
    gzipped = lower.endswith(packed)
    ending = os.path.splitext(lower.removesuffix(".gz") if gzipped else lower)[1]
    if ending not in ENDINGS:
        legal = ", ".join((*ENDINGS, *packed))
        other = (
            " (a .json file is a list of objects, or one that another tool wrote; this is neither)"
            if ending == ".json"
            else ""
        )
        raise TableError(f"{one_line(path)} is not a table by its ending; the legal endings are {legal}{other}")
    return Format(ENDINGS[ending], gzipped)


def sniffed(data: bytes) -> Kind:
    """The format of bytes that came without a name."""
    if data.startswith(b"PAR1"):
        return "Parquet"
    return "JSONL" if re.match(rb"\s*\{", data) else "CSV"


def ending_of(data: bytes) -> str:
    """The ending that bytes which came without a name would have in a file."""
    if data.startswith(b"PK\x03\x04"):
        return ".eval"
    return ".json" if re.match(rb"\s*[\[{]", data) else "." + sniffed(data).lower()


# A file as DuckDB can be told of it


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
        with open(path, "rb") as file:
            marked = file.read(len(BYTE_ORDER_MARK)) == BYTE_ORDER_MARK
        if form.gzipped or form.kind == "CSV" or (form.kind == "JSONL" and marked):
            unpack(path, target, gzipped=form.gzipped)
        elif PATTERN.search(path) or not path.isprintable():
            try:
                os.symlink(path, target)
            except (OSError, NotImplementedError):  # Windows gives links to administrators only
                shutil.copyfile(path, target)
        else:
            return path
    except (OSError, EOFError, zlib.error) as error:
        raise TableError(f"{name} cannot be read: {reason(error)}") from error
    return target


def unpack(path: str, plain: str, *, gzipped: bool) -> None:
    """Copy a file without its byte order mark."""
    with opened_gzip(path) if gzipped else open(path, "rb") as packed, open(plain, "wb") as file:
        file.write(packed.read(len(BYTE_ORDER_MARK)).removeprefix(BYTE_ORDER_MARK))
        shutil.copyfileobj(packed, file, 1 << 20)


ALWAYS = 64 * 2**20
"""The bytes that any packed file may unpack to."""

_MOST_RATIO = 100  # by which larger ones may grow: tables and logs pack 5 to 30 to 1, and gzip can pack 1000 to 1


def opened_gzip(path: str) -> io.BufferedReader:
    """The unpacked bytes of a file that gzip has packed; an OSError where they are too many for a table."""
    return io.BufferedReader(_Unpacked(path))


class _Unpacked(io.RawIOBase):
    def __init__(self, path: str) -> None:
        self._packed = gzip.GzipFile(path)
        self._size = os.path.getsize(path)
        self._most = self._left = max(ALWAYS, _MOST_RATIO * self._size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "bytearray | memoryview") -> int:  # type: ignore[override]
        found = self._packed.read1(len(buffer))  # what is there, also before a place where it is cut off
        buffer[: len(found)] = found
        self._left -= len(found)
        if self._left < 0:
            raise OSError(
                f"its {self._size / 2**20:,.1f} MiB unpack to more than {self._most / 2**20:,.0f} MiB, which no table "
                "does; it is damaged, or made to fill the memory (if it is neither, unpack it first)"
            )
        return len(found)

    def close(self) -> None:
        self._packed.close()
        super().close()


# Where a table lies


class Folder:
    """A folder of our own for as long as this object is referred to."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="ratewise-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __truediv__(self, name: str) -> str:
        return os.path.join(self.path, name)


def files_of(path: str) -> tuple[str, ...]:
    """The files of a table in the order of their names, at least one, all of one format."""
    found = files_among(path)
    if found is None:
        return (path,)
    files = [file for file in found if is_table(os.path.basename(file))]
    if not files:
        raise TableError(
            f"the folder {one_line(path)} has no table in it; the legal endings are {', '.join(ENDINGS)}"
            if os.path.isdir(path)
            else f"no table matches {one_line(path)}; check the pattern"
        )
    kinds = {format_of(file).kind: os.path.splitext(file.removesuffix(".gz"))[1] for file in files}
    if len(kinds) > 1:
        example = os.path.join(path if os.path.isdir(path) else os.path.dirname(path), f"*{next(iter(kinds.values()))}")
        raise TableError(
            f"{one_line(path)} holds {' and '.join(sorted(kinds))} files; name those of one format,"
            f" such as {one_line(example)}"
        )
    return tuple(files)


def files_among(path: str) -> tuple[str, ...] | None:
    """The files of a folder, or those that a pattern finds, in the order of their names; None of a single path.

    What other programs hide or leave beside them (".…", "_…") is no part of it.
    """
    if os.path.isdir(path):
        found = [os.path.join(path, name) for name in os.listdir(path)]
    elif PATTERN.search(path) and not os.path.lexists(path):
        found = glob.glob(path, recursive=True)
    else:
        return None
    return tuple(sorted(file for file in found if os.path.isfile(file) and os.path.basename(file)[0] not in "._"))


def kind_of(files: tuple[str, ...]) -> Kind:
    """The format of the files, each of which is there and has something in it."""
    kinds = [checked_file(file).kind for file in files]
    return kinds[0]


def plain_files(files: tuple[str, ...], name: str, folder: Folder) -> list[str]:
    """Paths that DuckDB takes literally, as `plain_file` makes them, in a folder that must outlive their use."""
    return [
        plain_file(file, format_of(file), shown(file, files, name), folder / f"file-{number}")
        for number, file in enumerate(files)
    ]


def name_of(path: str) -> str:
    """What messages call the table at a path, unless it is given a name."""
    return one_line(os.path.basename(os.path.normpath(path)))


def shown(file: str, files: tuple[str, ...], name: str) -> str:
    """What messages call a file: the table's name where it is the only one."""
    return name if len(files) == 1 else name_of(file)


def is_table(name: str) -> bool:
    """Whether a file's name has the ending of a table."""
    try:
        format_of(name)
    except TableError:
        return False
    return True
