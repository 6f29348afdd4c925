"""JSON documents in a zip archive, with limits. Nothing is ever unpacked under a name that the archive gives.

The standard library cannot read zstd (method 93) before Python 3.14; DuckDB can, also in several frames, so that
nothing else has to be installed.
"""

import os
import struct
import tempfile
import zipfile
import zlib
from types import TracebackType
from typing import Any

import duckdb

from ratewise.errors import TableError
from ratewise.tables.adapters.json_file import LARGEST_DOCUMENT, parsed, too_large
from ratewise.tables.engine import connect, one_line

ZSTD = 93
_ENCRYPTED = 0x1
_LOCAL = struct.Struct("<26xHH")  # of the header before a member's bytes: the lengths of its name and of what follows
_MOST_RATIO = 2000  # logs of one line over and over pack 500 to 1
_ALWAYS = 64 * 2**20


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
        if whole > max(_ALWAYS, _MOST_RATIO * size):
            self.__exit__(None, None, None)
            raise TableError(
                f"{self._name} says that its {size / 2**20:,.1f} MiB unpack to {whole / 2**20:,.0f} MiB, which no log"
                " does; it is damaged, or made to fill the memory"
            )
