"""Files that other tools wrote, read with limits: a hostile or damaged file is one line, not all of the memory."""

import csv
import json
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from io import BufferedReader
from types import TracebackType
from typing import Any

import duckdb

from ratewise.errors import TableError
from ratewise.tables.engine import LONGEST_LINE, connect, one_line, reason
from ratewise.tables.files import ALWAYS, BYTE_ORDER_MARK, opened_gzip

LARGEST_DOCUMENT = 256 * 2**20
"""The largest JSON document that is read, in bytes: it is read whole."""

MOST_VALUES = 8_000_000
"""The most values of one document: a short text can hold very many empty lists, and each takes memory."""


GZIPPED = b"\x1f\x8b"
"""What a file begins with that gzip has packed."""

UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a file ends in where it is gone, or packed and cut off."""


def opened(path: str) -> BufferedReader:
    """The bytes of a file, unpacked on the way where gzip has packed it: by its first bytes, whatever its name is."""
    with open(path, "rb") as file:
        packed = file.read(len(GZIPPED)) == GZIPPED
    return opened_gzip(path) if packed else open(path, "rb")


def parsed(data: bytes | str, name: str) -> Any:
    """The value of a text; `name` is what messages call it."""
    if len(data) > LARGEST_DOCUMENT:
        raise too_large(name, len(data))
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        many = sum(text.count(sign) for sign in ",[{") > MOST_VALUES
        value = None if many else json.loads(text)
    except UnicodeDecodeError as error:
        raise TableError(f"{name} is not JSON: it is not UTF-8 text") from error
    except RecursionError as error:
        raise TableError(f"{name} is not JSON that can be read: it is nested too deeply") from error
    except ValueError as error:
        raise TableError(f"{name} is not JSON: {one_line(str(error))[:200]}") from error
    if many:
        raise TableError(f"{name} holds more than {MOST_VALUES:,} JSON values; export fewer rows at a time")
    return value


def too_large(name: str, size: int) -> TableError:
    """The complaint about a document that would have to be read whole."""
    return TableError(
        f"{name} is {size / 2**20:,.0f} MiB; a JSON document is read whole, up to {LARGEST_DOCUMENT // 2**20} MiB:"
        " export fewer rows at a time, or JSONL"
    )


# A file of another tool before it is read


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
        self.row = 0  # that is being read, from 1

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

    def first_row(self, *names: str) -> dict[str, Any]:
        """The first object: of a list, of the list that a document has under one of these names, or all there is."""
        first = self.first
        if isinstance(first, dict):
            first = next((first[name] for name in names if isinstance(first.get(name), list)), first)
        first = first[0] if isinstance(first, list) and first else first
        return first if isinstance(first, dict) else {}

    @cached_property
    def document(self) -> Any:
        """The file as one JSON document; a missing, broken or overlong one is one clear line."""
        with self._told():
            size = os.path.getsize(self.path)
            if size > LARGEST_DOCUMENT:
                raise too_large(self.name, size)
            with opened(self.path) as file:
                return parsed(file.read(LARGEST_DOCUMENT + 1), self.name)

    def lines(self) -> Iterator[tuple[int, Any]]:
        """The value of every line that is not blank, with the line's number."""
        with self._told(), opened(self.path) as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
                if len(line) > LONGEST_LINE:
                    raise TableError(f"line {number} of {self.name} is longer than {LONGEST_LINE // 2**20} MiB")
                if not line.isspace():
                    yield number, parsed(line, f"line {number} of {self.name}")

    def rows(self, *names: str) -> Iterator[tuple[int, Any]]:
        """The rows of a list, of the list that a document has under one of these names, or of JSON lines, from 1."""
        if isinstance(self.first, list):
            return enumerate(self.document, start=1)
        for name in names:
            if isinstance(self.first, dict) and isinstance(self.first.get(name), list):
                return enumerate(self.document[name], start=1)
        return self.lines()

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except UNREADABLE as error:
            raise TableError(f"{self.name} cannot be read: {reason(error)}") from error

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


# JSON documents in a zip archive, with limits.


ZSTD = 93
_ENCRYPTED = 0x1
_LOCAL = struct.Struct("<26xHH")  # of the header before a member's bytes: the lengths of its name and of what follows
_MOST_RATIO = 2000  # logs of one line over and over pack 500 to 1


class Archive:
    """A zip archive whose members are JSON; to be closed."""

    def __init__(self, path: str, name: str) -> None:
        self._name = name
        try:
            self._zip = zipfile.ZipFile(path)
        except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError, struct.error) as error:
            raise TableError(f"{name} is a damaged or incomplete zip archive; copy it once more") from error
        self._folder = tempfile.TemporaryDirectory(prefix="ratewise-")
        self._database: duckdb.DuckDBPyConnection | None = None
        self._refuse_bomb(os.path.getsize(path))

    def __enter__(self) -> "Archive":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._zip.close()
        self._folder.cleanup()
        if self._database is not None:
            self._database.close()

    @property
    def names(self) -> list[str]:
        """The members, each once; of two with one name the last counts."""
        return list(self._zip.NameToInfo)

    def json(self, member: str) -> Any:
        """The document in a member."""
        info = self._zip.NameToInfo[member]
        shown = f"{one_line(member)} in {self._name}"
        if info.flag_bits & _ENCRYPTED:
            raise TableError(f"{shown} is encrypted; give an archive without a password")
        if max(info.file_size, info.compress_size) > LARGEST_DOCUMENT:
            raise too_large(shown, max(info.file_size, info.compress_size))
        try:
            unpacked = self._unpacked(info)
        except duckdb.Error as error:
            raise TableError(
                f"{shown} is damaged, or longer than the archive says; copy the archive once more"
            ) from error
        except (OSError, EOFError, zipfile.BadZipFile, zlib.error, struct.error, ValueError) as error:
            raise TableError(f"{shown} is damaged; copy the archive once more") from error
        except NotImplementedError as error:
            raise TableError(f"{shown} is packed by method {info.compress_type}, which cannot be read") from error
        return parsed(unpacked, shown)

    def _unpacked(self, info: zipfile.ZipInfo) -> bytes | str:
        if info.compress_type == ZSTD:
            return self._zstd(info)
        with self._zip.open(info) as file:
            data = file.read(info.file_size + 1)
        if len(data) != info.file_size:
            raise zipfile.BadZipFile("its length is not the one it says")
        return data

    def _zstd(self, info: zipfile.ZipInfo) -> str:
        """The text of a member packed by zstd. DuckDB reads no further than the size that the archive says."""
        path = os.path.join(self._folder.name, "member.zst")
        with open(path, "wb") as file:
            file.write(self._packed(info))
        if self._database is None:
            self._database = connect()
            self._database.execute("SET threads = 1")
        reading = "read_json_objects(?, format = 'unstructured', compression = 'zstd', maximum_object_size = ?)"
        found = self._database.execute(f"SELECT json FROM {reading} LIMIT 2", [path, info.file_size + 16]).fetchall()
        if len(found) != 1 or len(found[0][0]) > info.file_size:
            raise zipfile.BadZipFile("it is no single document")
        return str(found[0][0])

    def _packed(self, info: zipfile.ZipInfo) -> bytes:
        """The bytes of a member as they lie in the archive."""
        file = self._zip.fp
        if file is None:
            raise zipfile.BadZipFile("it is closed")
        file.seek(info.header_offset)
        name, extra = _LOCAL.unpack(file.read(_LOCAL.size))
        file.seek(name + extra, os.SEEK_CUR)
        data = file.read(info.compress_size)
        if len(data) != info.compress_size:
            raise zipfile.BadZipFile("it ends too early")
        return data

    def _refuse_bomb(self, size: int) -> None:
        whole = sum(info.file_size for info in self._zip.infolist())
        if whole > max(ALWAYS, _MOST_RATIO * size):
            self.__exit__(None, None, None)
            raise TableError(
                f"{self._name} says that its {size / 2**20:,.1f} MiB unpack to {whole / 2**20:,.0f} MiB, which no log"
                " does; it is damaged, or made to fill the memory"
            )
