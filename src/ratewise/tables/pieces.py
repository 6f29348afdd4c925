"""A table in its Parquet files, piece by piece: read, hashed and written back with columns added, in fixed memory.

Pieces come in the order of the rows and are small enough to be held several at a time; what is done with them may run
on several threads, because DuckDB and NumPy both let go of Python meanwhile.
"""

import os
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables.cells import Array
from ratewise.tables.engine import connect, one_line, quoted_text
from ratewise.tables.files import Format, format_of
from ratewise.tables.relation import Piece, Relation
from ratewise.tables.table import Table
from ratewise.tables.write import copy_table, replacing, to_standard_output

MOST_ROWS = 1 << 19
"""Rows of a piece, where they are narrow."""
_MOST_BYTES = 96 * 2**20  # of a piece, unpacked
_FEWEST_ROWS = 1 << 10
_WORKERS = max(1, min(4, os.cpu_count() or 1))
_own = threading.local()

Floats = npt.NDArray[np.float64]
Found = TypeVar("Found")


def _of_this_thread() -> DuckDBPyConnection:
    """A database for one piece after the other: to start one takes as long as to write many rows."""
    if getattr(_own, "process", None) != os.getpid():
        _own.connection, _own.process = connect(threads=1), os.getpid()
    found: DuckDBPyConnection = _own.connection
    return found


def write_piece(piece: Piece, path: str, form: Format, added: Mapping[str, Array], *, header: bool) -> None:
    """All columns of a piece with others behind them, as a file of its own; rows are not loaded for it."""
    files, connection = piece.files, _of_this_thread()
    with files.readable():
        connection.execute(f"CREATE OR REPLACE VIEW data AS {piece.select(files.columns)}")
    cells = {column: f"c{number}" for number, column in enumerate(files.columns)}
    table = Table(files.name, piece.size, files.columns, cells, connection)
    copy_table(table.with_columns(added), path, form, header=header)


def pieces_of(files: Relation, rows: int | None = None) -> list[Piece]:
    """The pieces of a table in the order of its rows: as many rows each as given, or as fit a fixed size unpacked."""
    if rows is None:
        paths = ", ".join(quoted_text(part.path) for part in files.parts)
        size = files.ask(f"SELECT coalesce(sum(total_uncompressed_size), 0) AS n FROM parquet_metadata([{paths}])")[
            "n"
        ][0]
        rows = max(_FEWEST_ROWS, min(MOST_ROWS, int(_MOST_BYTES / max(float(size) / files.count(), 1e-3))))
    return files.pieces(rows)


def each(do: Callable[[Piece], Found], pieces: Sequence[Piece], *, workers: int = _WORKERS) -> Iterator[Found]:
    """What `do` makes of every piece, in their order, a few of them at a time."""
    if workers == 1 or len(pieces) == 1:
        yield from map(do, pieces)
        return
    with ThreadPoolExecutor(workers) as pool:
        coming = iter(pieces)
        waiting: deque[Future[Found]] = deque(pool.submit(do, piece) for piece in islice(coming, workers + 1))
        try:
            while waiting:
                done = waiting.popleft().result()
                waiting.extend(pool.submit(do, piece) for piece in islice(coming, 1))
                yield done
        finally:
            for future in waiting:
                future.cancel()


def shared_id(pieces: Sequence[Piece], column: str, suspects: Floats, seed: str) -> tuple[str, int, int] | None:
    """An id that two rows share, and their numbers from 1, among rows whose r is one of these; mostly there is none."""
    seen: dict[str, int] = {}
    for piece in pieces:
        at = np.flatnonzero(np.isin(piece.uniforms(column, seed)[0], suspects))
        texts: Any = piece.table([column]).texts(column) if at.size else ()
        for row in at.tolist():
            if texts[row] in seen:
                return str(texts[row]), seen[texts[row]] + 1, piece.first + row + 1
            seen[texts[row]] = piece.first + row
    return None


# A table written piece by piece


Added = Callable[[Piece], Mapping[str, Array]]
"""The columns that are added to a piece."""


def is_folder(place: str) -> bool:
    """Whether a path to write is that of a folder: it ends like one, or is one and does not end like a table."""
    if place.endswith((os.sep, "/")):
        return True
    return os.path.isdir(place) and not os.path.splitext(place)[1]


def folder_of(place: str) -> str | None:
    """The folder that a path to write is in; none for standard output."""
    return None if place == "-" else os.path.dirname(os.path.realpath(place.rstrip("/" + os.sep) or place))


def check_place(place: str) -> None:
    """Refuse a place that cannot be written to, before long work is done for it."""
    if place == "-":
        return
    above = folder_of(place)
    if not is_folder(place):
        format_of(place)
    elif os.path.isdir(place) and os.listdir(place):
        raise TableError(f"the folder {one_line(place)} holds files already; name a new or an empty one")
    if above is not None and not os.path.isdir(above):
        raise TableError(f"{one_line(place)} cannot be written: the folder {one_line(above)} does not exist")


def write_pieces(pieces: Sequence[Piece], added: Added, place: str) -> None:
    """The pieces with columns added, in their order; a folder gets Parquet files named part-00000.parquet and so on.

    File or folder, it is put in place when it is complete.
    """
    if place == "-":
        to_standard_output(lambda path: _to_file(pieces, added, path, Format("CSV")))
    elif is_folder(place):
        with replacing(place, folder=True) as folder:
            _write_each(pieces, added, folder, Format("Parquet"), ending=".parquet")
    else:
        with replacing(place) as temporary:
            _to_file(pieces, added, temporary, format_of(place))


def _to_file(pieces: Sequence[Piece], added: Added, path: str, form: Format) -> None:
    """Pieces of text follow each other, as compressed ones may; those of Parquet are put together at the end."""
    with tempfile.TemporaryDirectory(prefix=".ratewise-", dir=os.path.dirname(path)) as folder:
        parts = _write_each(pieces, added, folder, form, onto=None if form.kind == "Parquet" else path)
        if form.kind == "Parquet" and len(parts) == 1:
            os.replace(parts[0], path)
        elif form.kind == "Parquet":
            whole = f"read_parquet([{', '.join(map(quoted_text, parts))}], hive_partitioning = false)"
            with connect(threads=1) as connection:  # of several, all but one would wait with their rows in memory
                connection.execute(f"COPY (FROM {whole}) TO {quoted_text(path)} (FORMAT parquet, USE_TMP_FILE false)")


def _write_each(
    pieces: Sequence[Piece], added: Added, folder: str, form: Format, *, ending: str = "", onto: str | None = None
) -> list[str]:
    """A file for each piece; `onto` is the file they are put behind at once, where there is to be one."""
    paths = [os.path.join(folder, f"part-{number:05d}{ending}") for number in range(len(pieces))]
    number_of = {piece.first: number for number, piece in enumerate(pieces)}

    def write(piece: Piece) -> str:
        number = number_of[piece.first]
        write_piece(piece, paths[number], form, added(piece), header=number == 0)
        return paths[number]

    for path in each(write, pieces):
        if onto is not None:
            with open(onto, "ab") as whole, open(path, "rb") as part:
                shutil.copyfileobj(part, whole, 1 << 20)
            os.unlink(path)
    return paths


# Numbers of every row on the disk


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
