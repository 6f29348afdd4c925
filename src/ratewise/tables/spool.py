"""Numbers of every row on the disk: written once, in the order of the rows, and read back a piece at a time."""

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
_SHELVES = 256  # on which numbers are sorted out before each shelf is looked through for the same one twice
_AT_ONCE = 1 << 20
_BYTES = 8


class Spool:
    """Columns of float64 in files of a folder that is gone afterwards; all columns have the same length."""

    def __init__(self, beside: str | None = None) -> None:
        self._folder = tempfile.mkdtemp(prefix=".ratewise-", dir=beside)
        self._files: dict[str, BinaryIO] = {}
        self._columns: tuple[str, ...] = ()
        self.rows = 0

    def __enter__(self) -> "Spool":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:  # fmt: skip
        for file in self._files.values():
            file.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def append(self, columns: Mapping[str, Floats]) -> None:
        """The next rows; the same columns each time."""
        self._columns = tuple(columns)
        for name, values in columns.items():
            self._file(name).write(np.ascontiguousarray(values, dtype=np.float64).tobytes())
        self.rows += next(iter(columns.values())).size

    def put(self, values: Floats) -> None:
        """Sort out numbers in [0, 1), to be looked through by `repeated`."""
        shelf = (values * _SHELVES).astype(np.uint8)
        order = np.argsort(shelf, kind="stable")
        ends = np.cumsum(np.bincount(shelf, minlength=_SHELVES))
        for number, some in enumerate(np.split(values[order], ends[:-1])):
            self._file(f"shelf-{number}").write(some.tobytes())

    def repeated(self) -> Floats:
        """The numbers that were put in more than once."""
        found = []
        for number in range(_SHELVES):
            ordered = np.sort(np.frombuffer(self._bytes(f"shelf-{number}"), dtype=np.float64))
            found.append(ordered[1:][ordered[1:] == ordered[:-1]])
        return np.unique(np.concatenate(found))

    def read(self, first: int, rows: int) -> dict[str, Floats]:
        """Every column from the row `first`, counted from 0, on. Threads may read at the same time."""
        return {name: self._some(name, first, rows) for name in self._columns}

    def batches(self) -> Iterator[dict[str, Floats]]:
        """Every column, some rows at a time."""
        for first in range(0, self.rows, _AT_ONCE):
            yield self.read(first, min(_AT_ONCE, self.rows - first))

    def _some(self, name: str, first: int, rows: int) -> Floats:
        file = self._files[name]
        file.flush()
        return np.frombuffer(os.pread(file.fileno(), rows * _BYTES, first * _BYTES), dtype=np.float64)

    def _file(self, name: str) -> BinaryIO:
        if name not in self._files:
            self._files[name] = open(os.path.join(self._folder, name), "w+b")  # noqa: SIM115 (closed on exit)
        return self._files[name]

    def _bytes(self, name: str) -> bytes:
        file = self._file(name)
        file.seek(0)
        return file.read()
