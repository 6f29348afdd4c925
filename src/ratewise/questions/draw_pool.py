"""A plan applied to a pool: one way to draw, whatever was planned and wherever the rows are.

A pool in memory is one part. Files are read, hashed and written piece by piece, in three passes. The first computes
every row's rate, its hash r and its place in the line of who is looked at, keeps them on the disk, and adds up what the
rest hangs on: rows, drift, counts along the line. The second, where not all rows are looked at, finds the exact end of
the line in the one bin that holds it. The third writes.

On Spark every partition is surveyed into one row of sums, which add up here; the result is a DataFrame that is computed
when it is written or asked for. What decides about a row is a function of its own columns and of its id, so that a task
that fails and runs again gives the same rows.
"""

import operator
import os
import pickle
from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from typing import Any, TypeVar, cast

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.draw import LineCounts, bin_of, uniform
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Mask
from ratewise.errors import InputError, TableError
from ratewise.questions.comparison_plan import ComparisonsPlan
from ratewise.questions.drawing import (
    BY_NUMBER,
    Drawn,
    DrawnFile,
    DrawRows,
    DrawWork,
    Survey,
    added,
    draw_transfer,
    end_for,
    in_bin,
    line_ends,
    refuse_drawn,
    survey,
    told,
)
from ratewise.questions.plan import Plan
from ratewise.questions.regression import RegressionPlan
from ratewise.questions.slice_plan import SlicePlan, draw_slices, is_slice_plan
from ratewise.questions.transfer import Transfer, load_transfer
from ratewise.tables import Relation, TableLike, open_relation, read_table
from ratewise.tables.engine import shortened
from ratewise.tables.pieces import Spool, check_place, each, folder_of, pieces_of, shared_id, write_pieces
from ratewise.tables.relation import Piece
from ratewise.tables.spark import SparkTable, SqlTable, is_spark

DrawnFrom = Plan | SlicePlan | RegressionPlan | ComparisonsPlan | Transfer | str | os.PathLike[str]


def draw_pool(
    pool: TableLike, plan: DrawnFrom, *, seed: int, id_column: str | None = None, within_budget: bool = True
) -> Drawn:
    """Give every item of the pool the rate that the plan gives it, and draw by hash of the seed and the item's id.

    `plan` is what any `plan_*` gave, its JSON file, or a saved policy. Only as many items are looked at as the plan
    foresees (chosen by another hash), and fewer where chance would make them dearer than the budget; the rest get no
    rate. With `within_budget=False` all are, and a note says so where that is expected to cost more. A plan by strata
    says itself how many of each are looked at; `weight` is what each of those counts, 1 on average. Plans of
    regressions and of many comparisons know the rows they were made from and no others.

    A DataFrame of Spark gives one back, which is computed when it is needed; only sums come over to this process.
    """
    spark = is_spark(pool)
    if not spark and isinstance(plan, RegressionPlan | ComparisonsPlan):
        return plan.rows.draw(pool, seed=seed, id_column=id_column, within_budget=within_budget)
    by_slices = isinstance(plan, SlicePlan) or (isinstance(plan, str | os.PathLike) and is_slice_plan(plan))
    if not spark and isinstance(plan, SlicePlan | str | os.PathLike) and by_slices:
        return draw_slices(pool, plan, seed=seed, id_column=id_column, within_budget=within_budget)
    found = load_transfer(plan) if isinstance(plan, str | os.PathLike) else plan
    transfer = found.transfer if isinstance(found, Plan) else found
    if not isinstance(transfer, Transfer):
        raise InputError("a table of Spark is drawn by a plan of one mean; plans of slices and others are for files")
    if not spark:
        return draw_transfer(pool, transfer, seed=seed, id_column=id_column, within_budget=within_budget)
    frame, _ = draw_spark(pool, transfer, seed=seed, id_column=id_column, within_budget=within_budget)
    return cast(Drawn, frame)  # a frame of Spark, for who gave one


# Files, piece by piece


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

    def of(piece: Piece) -> tuple[DrawRows, Survey]:
        table = piece.table(work.columns) if work.columns else None
        return survey(work, table, piece.uniforms(work.id_column, *work.seeds))

    with Spool(folder_of(place)) as spool:
        surveyed = _surveyed(relation, pieces, ids, spool, seed, of)
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
    pieces = pieces_of(relation)

    def of(piece: Piece) -> tuple[DrawRows, LineCounts]:
        (r,) = piece.uniforms(id_column, f"{seed}")
        return {"r": r}, LineCounts.of(r, r, r)

    with Spool(folder_of(place)) as spool:
        line = _surveyed(relation, pieces, id_column, spool, seed, of)

        def rows_in(_: int, at: int) -> Floats:
            here = np.concatenate([r[bin_of(r) == at] for r in (batch["r"] for batch in spool.batches())])
            return np.stack([here] * 3)

        cut, rate = end_for(line, 0, BY_NUMBER, count, rows_in)[0], count / rows

        def drawn(piece: Piece) -> dict[str, Floats | Mask]:
            r = spool.read(piece.first, piece.size)["r"]
            return {"rate": np.full(piece.size, rate), "selected": cut.keeps(r, r)}

        write_pieces(pieces, drawn, place)
    return DrawnFile(rows, rows, count, rate, None, None, None, ())


def ids_of(relation: SqlTable, id_column: str | None) -> str | None:
    """The column of ids; nothing where the rows' numbers stand for them."""
    if id_column is None and "id" in relation.columns:
        id_column = "id"
    relation.refuse_unknown([] if id_column is None else [id_column])
    return id_column


Sums = TypeVar("Sums", Survey, LineCounts)


def _surveyed(
    relation: Relation, pieces: Sequence[Piece], ids: str | None, spool: Spool, seed: int,
    of: Callable[[Piece], tuple[DrawRows, Sums]],
) -> Sums:  # fmt: skip
    """The sums of all pieces, whose rows are kept on the disk; ids must be unique."""
    total: Sums | None = None
    for rows, sums in each(of, pieces):
        spool.append(dict(rows))
        if ids is not None:
            spool.put(rows["r"])
        total = sums if total is None else total + sums
    if ids is not None:
        _refuse_shared(relation, pieces, ids, spool, seed)
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


# Spark: Arrow batches in, Arrow batches out, on the workers


def draw_spark(
    pool: Any, transfer: Transfer, *, seed: int, id_column: str | None = None, within_budget: bool = True
) -> tuple[Any, DrawnFile]:
    """What `draw_transfer` gives, as a DataFrame of Spark that is computed when it is needed, and what was drawn."""
    import pyarrow as pa
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

    def parts(batches: Iterator[Any]) -> Iterator[tuple[Any, DrawRows, Survey]]:
        """Every batch that has rows, surveyed."""
        for batch in batches:
            if batch.num_rows:
                part = read_table(pa.Table.from_batches([batch]), name="a part of the pool")
                texts = part.texts(ids)
                yield batch, *survey(work, part if work.columns else None, [uniform(texts, seed=x) for x in work.seeds])

    def sums(batches: Iterator[Any]) -> Iterator[Any]:
        each = (one for _, _, one in parts(batches))
        first = next(each, None)
        if first is not None:
            total = pickle.dumps(reduce(operator.add, each, first))
            yield pa.RecordBatch.from_pydict({"survey": pa.array([total], type=pa.binary())})

    surveyed: Survey = reduce(
        operator.add,
        [pickle.loads(part["survey"]) for part in table.collected(table.mapped(sums, "survey binary", columns))],
    )

    def rows_in(group: int, at: int) -> Floats:
        def of_bin(batches: Iterator[Any]) -> Iterator[Any]:
            for _, rows, _ in parts(batches):
                found = zip(("look", "r", "rate"), in_bin(rows, group, at), strict=True)
                yield pa.RecordBatch.from_pydict({name: pa.array(values) for name, values in found})

        rows = table.collected(table.mapped(of_bin, "look double, r double, rate double", columns))
        return np.array([list(row) for row in rows], dtype=np.float64).reshape(-1, 3).T

    found, none = line_ends(work, surveyed, rows_in), np.empty(0)
    empty = {"r": none, "look": none, "rate": none} | ({} if found.weights is None else {"group": none})
    names = tuple(added(found, empty | ({"weak": none} if transfer.calibrates and work.needs_weak else {})))

    def written(batches: Iterator[Any]) -> Iterator[Any]:
        for batch, rows, _ in parts(batches):
            made = added(found, rows)
            own = [batch.column(i) for i in range(batch.num_columns)]
            new = [pa.array(made[name], from_pandas=True) for name in names]  # NaN is no rate
            yield pa.RecordBatch.from_arrays([*own, *new], names=[*batch.schema.names, *names])

    more: Any = StructType.fromDDL(", ".join(f"{x} {'boolean' if x == 'selected' else 'double'}" for x in names))
    schema = StructType([*pool.schema.fields, *more.fields])
    return table.mapped(written, schema), told(transfer, found, work.drift(surveyed))
