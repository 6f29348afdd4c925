"""A plan applied to a pool that does not fit into memory, from file to file or by Spark.

Files are read, hashed and written piece by piece, in three passes. The first computes every row's rate, its hash r and
its place in the line of who is looked at, keeps them on the disk, and adds up what the rest hangs on: rows, drift,
counts along the line. The second, where not all rows are looked at, finds the exact end of the line in the one bin that
holds it. The third writes.

On Spark every partition is surveyed into one row of sums, which add up here; the result is a DataFrame that is computed
when it is written or asked for. What decides about a row is a function of its own columns and of its id, so that a task
that fails and runs again gives the same rows.
"""

import operator
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.draw import BINS, bin_of, cut_after, uniform
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Mask
from ratewise.errors import InputError, TableError
from ratewise.questions.drawing import (
    DrawnFile,
    DrawRows,
    DrawWork,
    LineEnds,
    Survey,
    added,
    in_bin,
    line_ends,
    refuse_drawn,
    survey,
    told,
)
from ratewise.questions.transfer import Transfer
from ratewise.tables import Relation, open_relation, read_table
from ratewise.tables.engine import shortened
from ratewise.tables.pieces import Spool, check_place, each, folder_of, pieces_of, shared_id, write_pieces
from ratewise.tables.relation import Piece
from ratewise.tables.spark import SparkTable, SqlTable


def draw_file(
    pool: str | os.PathLike[str] | Relation,
    transfer: Transfer,
    output: str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
    within_budget: bool = True,
) -> DrawnFile:
    """What `draw_transfer` gives, written to `output` as `write_table` writes it, or as the parts of a folder.

    Memory does not grow with the rows. On the disk, beside the output, at most 48 bytes a row are needed meanwhile.
    """
    place = os.fsdecode(output)
    check_place(place)
    relation = open_relation(pool)
    ids = ids_of(relation, id_column)
    work = DrawWork.of(relation, transfer, seed=seed, within_budget=within_budget, id_column=ids)
    pieces = pieces_of(relation)
    with Spool(folder_of(place)) as spool:
        surveyed = _survey(work, pieces, spool)
        if ids is not None:
            _refuse_shared(relation, pieces, ids, spool, seed)
        found = line_ends(
            work, surveyed, lambda group, at: np.concatenate([in_bin(b, group, at) for b in spool.batches()], axis=1)
        )
        drawn = told(transfer, found, work.drift(surveyed))  # before anything is written: a damaged plan may fail here
        write_pieces(pieces, lambda piece: added(found, spool.read(piece.first, piece.size)), place)
    return drawn


def draw_at_random(
    pool: str | os.PathLike[str] | Relation,
    count: int,
    output: str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
) -> DrawnFile:
    """A simple random sample of `count` rows, written to `output` as `draw_file` writes: all rows, each with its rate.

    No plan and no price is needed. The sample is the `count` rows with the smallest r of seed and id, so every row has
    the rate count/rows, and a larger sample of the same seed holds the smaller one.
    """
    place = os.fsdecode(output)
    check_place(place)
    relation = open_relation(pool)
    refuse_drawn(relation)
    id_column, rows = ids_of(relation, id_column), relation.count()
    if not 1 <= count <= rows:
        number = argument(f"at_random {count}")
        raise InputError(Message(f"{number}: {relation.name} has {rows:,} rows; give a number from 1 to {rows}"))
    pieces, in_bins = pieces_of(relation), np.zeros(BINS, dtype=np.int64)
    with Spool(folder_of(place)) as spool:
        for (r,) in each(lambda piece: piece.uniforms(id_column, f"{seed}"), pieces):
            spool.append({"r": r})
            if id_column is not None:
                spool.put(r)
            in_bins += np.bincount(bin_of(r), minlength=BINS)
        if id_column is not None:
            _refuse_shared(relation, pieces, id_column, spool, seed)
        at = int(np.searchsorted(np.cumsum(in_bins), count))
        here = np.concatenate([r[bin_of(r) == at] for r in (batch["r"] for batch in spool.batches())])
        last = cut_after(here, here, count - int(in_bins[:at].sum())).r
        rate = count / rows

        def drawn(piece: Piece) -> dict[str, Floats | Mask]:
            r = spool.read(piece.first, piece.size)["r"]
            return {"rate": np.full(piece.size, rate), "selected": np.asarray(r <= last)}

        write_pieces(pieces, drawn, place)
    return DrawnFile(rows, rows, count, rate, None, None, None, ())


def ids_of(relation: SqlTable, id_column: str | None) -> str | None:
    """The column of ids; nothing where the rows' numbers stand for them."""
    if id_column is None and "id" in relation.columns:
        id_column = "id"
    relation.refuse_unknown([] if id_column is None else [id_column])
    return id_column


def _survey(work: DrawWork, pieces: Sequence[Piece], spool: Spool) -> Survey:
    total: Survey | None = None

    def of(piece: Piece) -> tuple[DrawRows, Survey]:
        table = piece.table(work.columns) if work.columns else None
        return survey(work, table, piece.uniforms(work.id_column, *work.seeds))

    for rows, surveyed in each(of, pieces):
        spool.append(dict(rows))
        if work.id_column is not None:
            spool.put(rows["r"])
        total = surveyed if total is None else total + surveyed
    assert total is not None  # a table has rows
    return total


def _refuse_shared(relation: Relation, pieces: Sequence[Piece], column: str, spool: Spool, seed: int) -> None:
    """Ids are compared by the hash that draws them, and as texts only where hashes agree."""
    suspects = spool.repeated()
    shared = shared_id(pieces, column, suspects, f"{seed}") if suspects.size else None
    if shared is not None:
        text, first, second = shared
        raise TableError(
            f"column {column!r} of {relation.name} has the id {shortened(text)} twice, in rows {first:,} and "
            f"{second:,} (rows are counted from 1, without the header); ids must be unique"
        )


_SURVEYED = "survey binary"
_IN_BIN = "look double, r double, rate double"


def draw_spark(
    pool: Any, transfer: Transfer, *, seed: int, id_column: str | None = None, within_budget: bool = True
) -> tuple[Any, DrawnFile]:
    """What `draw_transfer` gives, as a DataFrame of Spark that is computed when it is needed, and what was drawn."""
    from pyspark.sql.types import StructType

    if transfer.old is not None:
        raise TableError("a plan with old labels knows its own rows; draw from the table that it was made of")
    table = SparkTable.of(pool, "table")
    ids = ids_of(table, id_column)
    work = DrawWork.of(table, transfer, seed=seed, within_budget=within_budget, id_column=ids)
    if ids is None:
        raise TableError(f"rows of {table.name} have no order; name the column with their ids: id_column, or --id")
    table.check_ids(ids)
    columns = tuple(dict.fromkeys((ids, *work.columns)))
    parts = table.collected(table.mapped(_surveyor(work), _SURVEYED, columns))
    surveyed: Survey = reduce(operator.add, [pickle.loads(part["survey"]) for part in parts])

    def rows_in(group: int, at: int) -> Floats:
        rows = table.collected(table.mapped(_bin_finder(work, group, at), _IN_BIN, columns))
        return np.array([list(row) for row in rows], dtype=np.float64).reshape(-1, 3).T

    found, none = line_ends(work, surveyed, rows_in), np.empty(0)
    empty = {"r": none, "look": none, "rate": none} | ({} if found.weights is None else {"group": none})
    names = tuple(added(found, empty | ({"weak": none} if transfer.calibrates and work.needs_weak else {})))
    more: Any = StructType.fromDDL(", ".join(f"{x} {'boolean' if x == 'selected' else 'double'}" for x in names))
    schema = StructType([*pool.schema.fields, *more.fields])
    return table.mapped(_writer(work, found, names), schema), told(transfer, found, work.drift(surveyed))


# On the workers: Arrow batches in, Arrow batches out

Mapped = Callable[[Iterator[Any]], Iterator[Any]]


def _parts(work: DrawWork, batches: Iterator[Any]) -> Iterator[tuple[Any, DrawRows, Survey]]:
    """Every batch that has rows, surveyed."""
    import pyarrow as pa

    for batch in batches:
        if batch.num_rows:
            table = read_table(pa.Table.from_batches([batch]), name="a part of the pool")
            ids = table.texts(work.id_column or "")
            hashes = [uniform(ids, seed=each) for each in work.seeds]
            yield batch, *survey(work, table if work.columns else None, hashes)


def _surveyor(work: DrawWork) -> Mapped:
    def surveyed(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        parts = (one for _, _, one in _parts(work, batches))
        first = next(parts, None)
        if first is not None:
            total = pickle.dumps(reduce(operator.add, parts, first))
            yield pa.RecordBatch.from_pydict({"survey": pa.array([total], type=pa.binary())})

    return surveyed


def _bin_finder(work: DrawWork, group: int, at: int) -> Mapped:
    def rows_in_bin(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for _, rows, _ in _parts(work, batches):
            found = zip(("look", "r", "rate"), in_bin(rows, group, at), strict=True)
            yield pa.RecordBatch.from_pydict({name: pa.array(values) for name, values in found})

    return rows_in_bin


def _writer(work: DrawWork, found: LineEnds, names: tuple[str, ...]) -> Mapped:
    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch, rows, _ in _parts(work, batches):
            columns = added(found, rows)
            own = [batch.column(i) for i in range(batch.num_columns)]
            more = [pa.array(columns[name], from_pandas=True) for name in names]  # NaN is no rate
            yield pa.RecordBatch.from_arrays([*own, *more], names=[*batch.schema.names, *names])

    return write
