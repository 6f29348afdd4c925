"""A plan applied to a table of Spark: the functions of `drawing` run where the rows are.

Every partition is surveyed into one row of sums, which add up here; the result is a DataFrame that is computed when
it is written or asked for. What decides about a row is a function of its own columns and of its id, so that a task
that fails and runs again gives the same rows.
"""

import operator
import pickle
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.draw import uniform
from ratewise.errors import TableError
from ratewise.questions.draw_file import ids_of
from ratewise.questions.drawing import (
    DrawnFile,
    DrawRows,
    DrawWork,
    LineEnds,
    Survey,
    added,
    line_ends,
    survey,
    told,
)
from ratewise.questions.pool import POOL_SIZE
from ratewise.questions.transfer import Transfer
from ratewise.tables import open_relation, read_table
from ratewise.tables.spark import SparkTable

_SURVEYED = "survey binary"
_IN_BIN = "look double, r double, rate double"
_KINDS = {"rate": "double", "selected": "boolean", POOL_SIZE: "double", "weight": "double", "weak_calibrated": "double"}


@dataclass(frozen=True, slots=True, eq=False)
class DrawnSpark:
    """The drawn pool as a DataFrame that is computed when it is needed, and what was drawn."""

    frame: Any
    told: DrawnFile


def draw_spark(
    pool: Any, transfer: Transfer, *, seed: int, id_column: str | None = None, within_budget: bool = True
) -> DrawnSpark:
    """What `draw_transfer` gives, as a DataFrame of Spark with the columns added."""
    if transfer.old is not None:
        raise TableError("a plan with old labels knows its own rows; draw from the table that it was made of")
    relation = open_relation(pool)
    ids = ids_of(relation, id_column)
    work = DrawWork.of(relation, transfer, seed=seed, within_budget=within_budget, id_column=ids)
    if ids is None:
        raise TableError(f"rows of {relation.name} have no order; name the column with their ids: id_column, or --id")
    table = SparkTable.of(pool, relation.name)
    table.check_ids(ids)
    columns = tuple(dict.fromkeys((ids, *work.columns)))
    parts = table.collected(table.mapped(_surveyor(work), _SURVEYED, columns))
    surveyed: Survey = reduce(operator.add, [pickle.loads(part["survey"]) for part in parts])

    def in_bin(group: int, at: int) -> Floats:
        rows = table.collected(table.mapped(_in_bin(work, group, at), _IN_BIN, columns))
        return np.array([list(row) for row in rows], dtype=np.float64).reshape(-1, 3).T

    found = line_ends(work, surveyed, in_bin)
    names = [name for name in _KINDS if _has(work, found, name)]
    more = ", ".join(f"{name} {_KINDS[name]}" for name in names)
    schema = _with(pool.schema, more)
    return DrawnSpark(table.mapped(_writer(work, found, tuple(names)), schema), told(work, surveyed, found))


def _has(work: DrawWork, found: LineEnds, name: str) -> bool:
    if name in ("rate", "selected"):
        return True
    if name == POOL_SIZE:
        return bool(found.items.sum() < found.rows)
    if name == "weight":
        return work.transfer.inputs is not None
    return work.transfer.calibrates and work.needs_weak


def _with(schema: Any, more: str) -> Any:
    from pyspark.sql.types import StructType

    new: Any = StructType.fromDDL(more)
    return StructType([*schema.fields, *new.fields])


# On the workers: Arrow batches in, Arrow batches out

Mapped = Callable[[Iterator[Any]], Iterator[Any]]


def _rows(work: DrawWork, batch: Any) -> tuple[DrawRows, Survey]:
    import pyarrow as pa

    table = read_table(pa.Table.from_batches([batch]), name="a part of the pool")
    ids = table.texts(work.id_column or "")
    hashes = [uniform(ids, seed=each) for each in work.seeds]
    return survey(work, table if work.columns else None, hashes)


def _surveyor(work: DrawWork) -> Mapped:
    def surveyed(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        total: Survey | None = None
        for batch in batches:
            if batch.num_rows:
                one = _rows(work, batch)[1]
                total = one if total is None else total + one
        if total is not None:
            yield pa.RecordBatch.from_pydict({"survey": pa.array([pickle.dumps(total)], type=pa.binary())})

    return surveyed


def _in_bin(work: DrawWork, group: int, at: int) -> Mapped:
    def rows_in_bin(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                found = zip(("look", "r", "rate"), _rows(work, batch)[0].in_bin(group, at), strict=True)
                yield pa.RecordBatch.from_pydict({name: pa.array(values) for name, values in found})

    return rows_in_bin


def _writer(work: DrawWork, found: LineEnds, names: tuple[str, ...]) -> Mapped:
    def write(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            if batch.num_rows:
                columns = added(found, _rows(work, batch)[0])
                own = [batch.column(i) for i in range(batch.num_columns)]
                more = [pa.array(columns[name], from_pandas=True) for name in names]  # NaN is no rate
                yield pa.RecordBatch.from_arrays([*own, *more], names=[*batch.schema.names, *names])

    return write
