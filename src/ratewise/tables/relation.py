"""What can be asked of a table without loading it: it lies in Parquet files, one or several, and DuckDB answers.

    pool = open_relation("answers/*.parquet")
    pool.count()
    for part in pool.scan("id", "judge"):
        part.numbers("judge")

Columns are called c0, c1, … inside, as in `cells`, since SQL takes "A" and "a" for the same.
"""

import math
import os
import shutil
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from types import TracebackType
from typing import Any, BinaryIO, TypeVar

import duckdb
import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables import cells
from ratewise.tables.cells import Array, NumberSql, Range, View, text_sql, unmasked
from ratewise.tables.engine import COUNTED, Own, connect, for_memory, no_rows, one_line, quoted_text, reason
from ratewise.tables.files import Folder, Format, format_of
from ratewise.tables.table import Table, different, refuse_other_columns, refuse_unknown, table_from_mapping
from ratewise.tables.write import copy_table, replacing, to_standard_output


def parquet_names(connection: DuckDBPyConnection, paths: list[str]) -> dict[str, list[str]]:
    """The columns of each file."""
    nodes: dict[str, list[tuple[str, int | None]]] = {path: [] for path in paths}
    query = "SELECT file_name, name, num_children FROM parquet_schema(?)"
    for path, node, children in connection.execute(query, [paths]).fetchall():
        nodes[path].append((node, children))
    return {path: _top_level(schema) for path, schema in nodes.items()}


def _top_level(schema: Sequence[tuple[str, int | None]]) -> list[str]:
    """The columns of a schema that lists each node before its children; the first node is the root."""
    names, inside = [], 0
    for node, children in schema[1:]:
        if inside == 0:
            names.append(node)
        inside = max(inside - 1, 0) + (children or 0)
    return names


_ANY_ROWS, _ANY_VALUES, _EACH = 5_000_000, 50_000_000, 100  # that any files may hold, and larger ones for each byte
_SMALL, _ANY_TEXT = 16 * 2**20, 2**30  # bytes of files whose texts are measured, and of the texts that they may hold


def refuse_bomb(relation: "Relation") -> "Relation":
    """The relation, unless its small files say that they hold what no table does: they would fill the memory.

    A column of one value takes no room in Parquet, however many rows it has; a long text is in memory for every row of
    a batch.
    """
    size, rows, columns = sum(os.path.getsize(part.path) for part in relation.parts), relation.count(), relation.columns
    many = f"{rows:,} rows × {len(columns):,} column{'s' * (len(columns) != 1)}"
    texts = [number for number, kind in enumerate(relation.kinds) if kind in ("VARCHAR", "BLOB")]
    values = rows * len(columns)
    if any(kind.endswith((")", "]")) for kind in relation.kinds):  # lists and structures hold many in a row
        paths = ", ".join(quoted_text(part.path) for part in relation.parts)
        (values,) = relation.ask(f"SELECT CAST(sum(num_values) AS DOUBLE) AS n FROM parquet_metadata([{paths}])")["n"]
        many += f" with {values:,.0f} values"
    if rows <= max(_ANY_ROWS, _EACH * size) and values <= max(_ANY_VALUES, _EACH * size):
        if not texts or size > _SMALL:
            return relation
        each = " + ".join(f"coalesce(sum(strlen(CAST(c{number} AS VARCHAR))), 0)" for number in texts)
        (found,) = relation.ask(f"SELECT CAST({each} AS DOUBLE) AS n FROM {relation.source_in_sql()}")["n"]
        if found <= _ANY_TEXT:
            return relation
        many = f"{found / 2**20:,.0f} MiB of text"
    raise TableError(
        f"{relation.name} says that its {size / 2**20:,.1f} MiB hold {many}, which no table does; it is damaged, or "
        "made to fill the memory"
    )


BATCH = 1 << 19
"""Rows that `scan` hands out at a time."""

_DIGITS = 13  # hexadecimal, of r
_SURE = 8.0  # standard deviations of room: a second pass over the ids is needed once in 10¹⁵ times
Stamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class FilePart:
    """One file: where the table's columns are in it, its rows, and what tells that it has changed."""

    path: str
    positions: tuple[int, ...]
    width: int
    rows: int
    stamp: Stamp | None

    def select(
        self, columns: Sequence[int], kinds: Sequence[str] = (), rows: range | None = None, *, numbered: bool = False
    ) -> str:
        """The SQL of some of the table's columns, cast to `kinds` if given, and of all rows or a range of them.

        `numbered` adds the rows' numbers in the file.
        """
        values = [f"f{self.positions[column]}" for column in columns]
        if kinds:
            values = [f"CAST({value} AS {kind})" for value, kind in zip(values, kinds, strict=True)]
        fields = ", ".join([*(f"{value} AS c{number}" for number, value in enumerate(values)), *["row"] * numbered])
        names = ", ".join([*(f"f{number}" for number in range(self.width)), "row"])
        reading = f"read_parquet({quoted_text(self.path)}, hive_partitioning = false, file_row_number = true)"
        within = "" if rows is None else f" WHERE row >= {rows.start:d} AND row < {rows.stop:d}"
        return f"SELECT {fields} FROM {reading} AS file({names}){within}"


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """Rows and named columns that stay where they are, in the parts of a table; made by `open_relation`."""

    name: str
    columns: tuple[str, ...]
    parts: tuple[FilePart, ...] = field(repr=False)
    kinds: tuple[str, ...] = field(repr=False)  # the SQL types that hold the values of all parts
    folder: Folder = field(repr=False)  # where what was unpacked lies: it is gone with the last who refers to it

    def count(self) -> int:
        """The number of rows."""
        return sum(part.rows for part in self.parts)

    def table(self, *columns: str) -> Table:
        """The columns (all of them where none is named) in memory, as they are now."""
        columns = columns or self.columns
        return self.load(self.name, columns, self._select(self.numbers_of(columns)), self.count())

    def scan(self, *columns: str, rows: int = BATCH) -> Iterator[Table]:
        """The columns in batches of at most `rows` rows, in the order of the files."""
        columns = columns or self.columns
        self.refuse_unknown(columns)
        if rows < 1:
            raise TableError(f"a batch has at least 1 row; got rows={rows}")
        return (piece.load(columns) for piece in self.pieces(rows))

    def pieces(self, size: int) -> list["Piece"]:
        """The table in pieces of at most so many rows, in the order of its rows."""
        pieces, before = [], 0
        for part in self.parts:
            for start in range(0, part.rows, size):
                rows = range(start, min(start + size, part.rows))
                pieces.append(Piece(self, part, rows, before + start))
            before += part.rows
        return pieces

    def where(self, column: str) -> Table:
        """The rows whose number in this column is not 0, in memory."""
        number = self.number_in_sql(column)
        if number is None:
            raise TableError(f"column {column!r} of {self.name} holds something else than numbers")
        found = f"FROM {self.source_in_sql()} WHERE {number.sql} <> 0"
        rows = int(self.ask(f"SELECT count(*) AS n {found}")["n"][0])
        if not rows:
            raise TableError(f"no row of {self.name} is {column}; there is nothing to ask")
        fields = ", ".join(f"c{number}" for number in range(len(self.columns)))
        return self.load(self.name, self.columns, f"SELECT {fields} {found} ORDER BY row", rows)

    def ask(self, query: str) -> dict[str, Array]:
        """The answer to a question in SQL about `source_in_sql`."""
        with for_memory().cursor() as cursor:
            try:
                return {str(name): values for name, values in cursor.execute(query).fetchnumpy().items()}
            except (duckdb.Error, OSError) as error:
                raise TableError(f"{self.name} cannot answer: {reason(error)}") from error

    @property
    def row_in_sql(self) -> str | None:
        """The SQL of each row's number from 0."""
        return "row"

    def source_in_sql(self) -> str:
        """What a question in SQL selects from: all rows, with the columns c0, c1, … and `row`."""
        self.refuse_changes()
        first = self.parts[0]
        if all((part.positions, part.width) == (first.positions, first.width) for part in self.parts):
            return self._at_once()
        every, before, parts = range(len(self.columns)), 0, []
        fields = ", ".join(f"c{number}" for number in every)
        for part in self.parts:
            rows = part.select(every, self.kinds_of(every), numbered=True)
            parts.append(f"SELECT {fields}, row + {before:d} AS row FROM ({rows})")
            before += part.rows
        return f"({' UNION ALL '.join(parts)})"

    def _at_once(self) -> str:
        """The SQL of files of one layout: a single reader takes a tenth of the memory of many."""
        first, paths = self.parts[0], ", ".join(quoted_text(part.path) for part in self.parts)
        values = [f"CAST(f{at} AS {kind})" for at, kind in zip(first.positions, self.kinds, strict=True)]
        fields = ", ".join(f"{value} AS c{number}" for number, value in enumerate(values))
        before = np.cumsum([0, *(part.rows for part in self.parts[:-1])]).tolist()
        row = f"{before}[CAST(file_index AS BIGINT) + 1] + row" if len(self.parts) > 1 else "row"
        names = ", ".join([*(f"f{number}" for number in range(first.width)), "row"])
        union = ", union_by_name = false, hive_partitioning = false, file_row_number = true"
        return f"(SELECT {fields}, {row} AS row FROM read_parquet([{paths}]{union}) AS file({names}))"

    def number_in_sql(self, column: str) -> NumberSql | None:
        """A column as numbers; nothing where it holds something else."""
        (number,) = self.numbers_of([column])
        found, broken = cells.number_sql(self.kinds[number], f"c{number}") or (None, None)
        if broken and self.ask(f"SELECT count(*) AS n FROM {self.source_in_sql()} WHERE {broken}")["n"][0]:
            return None
        if found is None or found.plain is None:
            return found
        ends, values = self._told(number)
        return replace(found, range=ends, values=values)

    def text_in_sql(self, column: str) -> str:
        """The SQL of a column as text, "" where missing."""
        (number,) = self.numbers_of([column])
        return f"coalesce({cells.text_sql(self.kinds[number], f'c{number}')}, '')"

    def _told(self, number: int) -> tuple[Range | None, int | None]:
        """What the files say of a column at their ends: a range and how many values; nothing if laid out unlike."""
        first, paths = self.parts[0], ", ".join(quoted_text(part.path) for part in self.parts)
        if any(part.positions != first.positions for part in self.parts):
            return None, None
        some = "coalesce(stats_null_count, 0) < num_values"
        least, most = (f"TRY_CAST(stats_{end}_value AS DOUBLE)" for end in ("min", "max"))
        answer = self.ask(
            f"SELECT min({least}) AS a, max({most}) AS b,"
            f" count(*) FILTER (WHERE ({least} IS NULL OR {most} IS NULL) AND {some}) AS u,"
            " CASE WHEN count(stats_null_count) = count(*) THEN sum(num_values - stats_null_count) END AS n"
            f" FROM parquet_metadata([{paths}]) WHERE column_id = {first.positions[number]:d} AND num_values > 0"
        )
        a, b, unknown, values = (float(np.ma.filled(answer[name].astype(np.float64), np.nan)[0]) for name in "abun")
        known = not unknown and math.isfinite(a) and math.isfinite(b)
        return (a, b) if known else None, None if math.isnan(values) else int(values)

    def check_ids(self, column: str) -> None:
        """Refuse a column of ids in which one is missing or repeated."""
        with for_memory().cursor() as connection:
            view = View(connection, ("c0",), f"({self._select(self.numbers_of([column]))})")
            cells.check_ids(view, f"column {column!r} of {self.name}")

    def refuse_unknown(self, columns: Sequence[str]) -> None:
        """Refuse columns that are not there, with the names of those that are."""
        refuse_unknown(self.name, self.columns, columns)

    def refuse_changes(self) -> None:
        """Refuse files that are not what they were when the table was opened."""
        if any(_stamp(part.path) != part.stamp for part in self.parts):
            raise TableError(f"{self.name} has changed since it was opened; open it again")

    def numbers_of(self, columns: Sequence[str]) -> list[int]:
        """Where these columns stand among all."""
        self.refuse_unknown(columns)
        return [self.columns.index(column) for column in columns]

    def first_by(self, column: str, *, seed: str, rows: int) -> "Relation":
        """So many rows with the smallest r of seed and id, in their order here; a file of their own holds them."""
        folder, share = Folder(), (rows + _SURE * math.sqrt(rows) + 1) / self.count()
        picked = folder / "picked.parquet"
        while not self._pick(column, seed, min(share, 1.0), picked, rows):
            share *= 2.0
        early = f"SELECT row FROM read_parquet({quoted_text(picked)}) ORDER BY turn, row LIMIT {rows:d}"
        fields = ", ".join(f"c{number}" for number in range(len(self.columns)))
        target = folder / "first.parquet"
        self._copy(f"SELECT {fields} FROM {self.source_in_sql()} WHERE row IN ({early}) ORDER BY row", target)
        return relation_of_files([target], self.name, folder, columns=[list(self.columns)])

    def _pick(self, column: str, seed: str, share: float, picked: str, most: int) -> bool:
        """Write the numbers and turns of rows whose turn is below `share`; whether there are enough of them."""
        text = self.id_sql(column, f"c{self.numbers_of([column])[0]}")
        turn = f"left(md5({quoted_text(seed + ':')} || {text}), {_DIGITS})"
        early = "true" if share >= 1 else f"turn < {quoted_text(f'{int(share * 16**_DIGITS):0{_DIGITS}x}')}"
        rows = f"SELECT row, {turn} AS turn FROM {self.source_in_sql()}"
        self._copy(f"SELECT row, turn FROM ({rows}) WHERE coalesce({early}, true)", picked)
        found = self.ask(
            f"SELECT count(*) AS n, count(turn) AS known, min(row) FILTER (WHERE turn IS NULL) AS empty FROM "
            f"read_parquet({quoted_text(picked)})"
        )
        if found["n"][0] != found["known"][0]:
            raise self.no_id(column, int(found["empty"][0]))
        return share >= 1 or int(found["n"][0]) >= most

    def id_sql(self, column: str, field: str) -> str:
        """The SQL of a row's id, NULL where it has none."""
        return f"nullif({text_sql(self.kinds[self.columns.index(column)], field)}, '')"

    def no_id(self, column: str | None, row: int) -> TableError:
        """The complaint about a row without an id."""
        return TableError(
            f"column {column!r} of {self.name} has no value in row {row + 1:,} {COUNTED}; give every row an id of its "
            "own"
        )

    def _copy(self, query: str, target: str) -> None:
        with for_memory().cursor() as cursor, self.readable():
            cursor.execute(f"COPY ({query}) TO {quoted_text(target)} (FORMAT parquet)")

    def load(self, name: str, columns: Sequence[str], select: str, rows: int) -> Table:
        """Columns in memory that a question selects."""
        own = Own()
        with self.readable(), own.cursor() as cursor:
            cursor.execute(f"CREATE TABLE data AS {select}")
        return Table(name, rows, tuple(columns), {column: f"c{i}" for i, column in enumerate(columns)}, own)

    @contextmanager
    def readable(self) -> Iterator[None]:
        """Complain about files that cannot be read."""
        try:
            yield
        except (duckdb.Error, OSError) as error:
            raise TableError(f"{self.name} cannot be read as Parquet: {reason(error)}") from error

    def _select(self, picked: Sequence[int]) -> str:
        self.refuse_changes()
        return " UNION ALL ".join(part.select(picked, self.kinds_of(picked)) for part in self.parts)

    def kinds_of(self, picked: Sequence[int]) -> list[str]:
        """The SQL types of some columns."""
        return [self.kinds[number] for number in picked]


_AS_ARRAYS = frozenset(("DOUBLE", "FLOAT", "BIGINT", "INTEGER", "BOOLEAN", "VARCHAR"))
_LOW_HALF = "18446744073709551615::UHUGEINT"  # DuckDB numbers a digest from its last byte: the first eight are lowest


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Rows of one file that follow each other; `first` is the first one's number in the whole table, from 0."""

    files: Relation
    part: FilePart
    rows: range
    first: int

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def select(self, columns: Sequence[str], *, numbered: bool = False) -> str:
        """The SQL of these columns, and of the rows' numbers in their file if wanted."""
        self.files.refuse_changes()
        picked = self.files.numbers_of(columns)
        return self.part.select(picked, self.files.kinds_of(picked), self.rows, numbered=numbered)

    def load(self, columns: Sequence[str]) -> Table:
        """These columns in memory, of the kinds that they have in the file."""
        return self.files.load(
            f"{self.files.name} from row {self.first + 1:,} on", columns, self.select(columns), self.size
        )

    def table(self, columns: Sequence[str]) -> Table:
        """These columns in memory, as arrays where those hold their kinds."""
        if not columns or not set(self.files.kinds_of(self.files.numbers_of(columns))) <= _AS_ARRAYS:
            return self.load(columns)
        found = self.files.ask(self.select(columns))
        arrays = {column: unmasked(found[f"c{number}"]) for number, column in enumerate(columns)}
        return table_from_mapping(arrays, name=f"{self.files.name} from row {self.first + 1:,} on")

    def uniforms(self, column: str | None, *seeds: str) -> list[npt.NDArray[np.float64]]:
        """r of every row for each seed, as `core.draw.uniform` computes it from the texts of the column.

        Without a column the row's number in the whole table stands for it.
        """
        text = f"CAST(row + {self.first - self.rows.start:d} AS VARCHAR)"
        if column is not None:
            text = self.files.id_sql(column, "c0")
        digests = [f"md5_number({quoted_text(seed + ':')} || {text}) & {_LOW_HALF}" for seed in seeds]
        values = ", ".join(f"CAST({digest} AS UBIGINT) AS h{number}" for number, digest in enumerate(digests))
        rows = self.select([] if column is None else [column], numbered=True)
        found = self.files.ask(f"SELECT {values} FROM ({rows})")
        missing = np.ma.getmaskarray(found["h0"])
        if missing.any():
            raise self.files.no_id(column, self.first + int(np.argmax(missing)))
        digits = (np.ma.getdata(found[f"h{number}"]).byteswap() >> np.uint64(12) for number in range(len(seeds)))
        return [each.astype(np.float64) / 2.0**52 for each in digits]


def relation_of_files(
    paths: list[str], name: str, folder: Folder, *, columns: Sequence[list[str]] = (), shown: Sequence[str] = ()
) -> Relation:
    """The table in these files, whose paths DuckDB takes literally.

    `columns` are the names in each file, if not those written there; `shown` is what messages call each.
    """
    with for_memory().cursor() as connection:
        try:
            inside = columns or list(parquet_names(connection, paths).values())
            names = different(inside[0], name)
            refuse_other_columns(list(zip(shown or paths, inside, strict=True)))
            query = "SELECT file_name, num_rows FROM parquet_file_metadata(?)"
            rows = {str(path): int(n) for path, n in connection.execute(query, [paths]).fetchall()}
            parts = tuple(_part(path, names, own, rows[path]) for path, own in zip(paths, inside, strict=True))
            union = " UNION ALL ".join(part.select(range(len(names))) for part in parts)  # kinds that hold all values
            kinds = tuple(kind for _, kind, *_ in connection.execute(f"DESCRIBE {union}").fetchall())
        except (duckdb.Error, OSError) as error:
            why = reason(error).replace(paths[0], name)
            raise TableError(f"{name} cannot be read as Parquet: {why}") from error
    if not sum(rows.values()):
        raise no_rows(name)
    return Relation(name, tuple(names), parts, kinds, folder)


def _part(path: str, names: list[str], inside: list[str], rows: int) -> FilePart:
    return FilePart(path, tuple(inside.index(column) for column in names), len(inside), rows, _stamp(path))


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


MOST_ROWS = 1 << 19
"""Rows of a piece, where they are narrow."""
_MOST_BYTES = 96 * 2**20  # of a piece, unpacked
_FEWEST_ROWS = 1 << 10
_WORKERS = max(1, min(4, os.cpu_count() or 1))
_own = threading.local()

Floats = npt.NDArray[np.float64]
Found = TypeVar("Found")


# Written back with columns added, piece by piece and in fixed memory. Pieces come in the order of the rows and are
# small enough to be held several at a time; what is done with them may run on several threads, because DuckDB and NumPy
# both let go of Python meanwhile.


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
