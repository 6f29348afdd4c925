"""What can be asked of a table without loading it: it lies in Parquet files, one or several, and DuckDB answers.

    pool = open_relation("answers/*.parquet")
    pool.count()
    for part in pool.scan("id", "judge"):
        part.numbers("judge")

Columns are called c0, c1, … inside, as in `cells`, since SQL takes "A" and "a" for the same.
"""

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import duckdb
import numpy as np
import numpy.typing as npt
from duckdb import DuckDBPyConnection

from ratewise.errors import TableError
from ratewise.tables import cells
from ratewise.tables.cells import Array, NumberSql, Range, View, text_sql, unmasked
from ratewise.tables.engine import COUNTED, Own, for_memory, no_rows, quoted_text, reason
from ratewise.tables.files import Folder
from ratewise.tables.frames import table_from_mapping
from ratewise.tables.table import Table, different, refuse_other_columns, refuse_unknown


def parquet_rows(connection: DuckDBPyConnection, paths: list[str]) -> dict[str, int]:
    """The rows of each file."""
    query = "SELECT file_name, num_rows FROM parquet_file_metadata(?)"
    return {str(path): int(rows) for path, rows in connection.execute(query, [paths]).fetchall()}


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
    if rows <= max(_ANY_ROWS, _EACH * size) and rows * len(columns) <= max(_ANY_VALUES, _EACH * size):
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
class Part:
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
    parts: tuple[Part, ...] = field(repr=False)
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
    part: Part
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
            rows = parquet_rows(connection, paths)
            parts = tuple(_part(path, names, own, rows[path]) for path, own in zip(paths, inside, strict=True))
            kinds = _kinds_of(connection, parts, len(names))
        except (duckdb.Error, OSError) as error:
            why = reason(error).replace(paths[0], name)
            raise TableError(f"{name} cannot be read as Parquet: {why}") from error
    if not sum(rows.values()):
        raise no_rows(name)
    return Relation(name, tuple(names), parts, kinds, folder)


def _part(path: str, names: list[str], inside: list[str], rows: int) -> Part:
    return Part(path, tuple(inside.index(column) for column in names), len(inside), rows, _stamp(path))


def _stamp(path: str) -> Stamp | None:
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


def _kinds_of(connection: duckdb.DuckDBPyConnection, parts: Sequence[Part], width: int) -> tuple[str, ...]:
    """The SQL type of each column that holds the values of every part, as DuckDB finds it for a union."""
    union = " UNION ALL ".join(part.select(range(width)) for part in parts)
    return tuple(kind for _, kind, *_ in connection.execute(f"DESCRIBE {union}").fetchall())
