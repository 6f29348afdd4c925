"""`compare_long`: systems in a table with one row per item and system, put side by side by item first."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.messages import Message, argument
from ratewise.core.names import Estimand, Method, Recalibration
from ratewise.errors import InputError, TableError
from ratewise.questions.comparison import Comparison, ManyComparisons, compare, compare_many
from ratewise.questions.rated import POOL_SIZE, RATE, Rate, asked_column
from ratewise.questions.systems import check_names
from ratewise.questions.two_tables import compare_tables
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.words import Positive, Scale, in_numbers, meaning_of

_MOST_SYSTEMS = 50


@dataclass(frozen=True, slots=True, eq=False)
class LongTable:
    """Rows of every system, in the same order of items where each system has all of them."""

    table: Table
    names: tuple[str, ...]
    rows: Mapping[str, NDArray[np.intp]]  # of each system, sorted by item
    aligned: bool  # every system has a row for every item

    def pool_of(self, name: str) -> NDArray[np.float64]:
        """The pool's size as the rows say it, of one system's share of them."""
        sizes = self.table.numbers(POOL_SIZE, missing="allow")[self.rows[name]]
        return np.asarray(sizes * self.rows[name].size / self.table.rows)

    def of(self, name: str) -> Table:
        """One system's rows as a table of their own."""
        at = np.sort(self.rows[name])
        columns = {column: np.asarray(values)[at] for column, values in self.table.arrays().items()}
        if POOL_SIZE in columns:
            columns[POOL_SIZE] = self.pool_of(name)
        return read_table(columns, name=f"{self.table.name}, {name}")


def compare_long(
    table: TableLike,
    *,
    system: str,
    strong: str,
    weak: str | None = None,
    id: str | None = None,
    baseline: str | None = None,
    rate: Rate = None,
    selected: str | None = None,
    clusters: str | None = None,
    method: Method = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Comparison | ManyComparisons:
    """Systems of a table with one row per item and system: column `system` says whose row it is, `id` of which item.

    Where every system has every item, drawn together, the comparison is paired, as `compare` and `compare_many` do it.
    Two systems that were rated apart are compared as two tables, see `compare_tables`. Without a `baseline` the second
    of two systems is it.
    """
    said = meaning_of(positive, scale)
    read, told = in_numbers(read_table(table), strong=(strong,), weak=() if weak is None else (weak,), meaning=said)
    ends = said.bounds if bounds is None else bounds
    found = by_system(read, system, id)
    last = _baseline(found.names, baseline)
    pair = len(found.names) == 2
    names = (*(name for name in found.names if name != last), last)
    wide = _wide(found, weak, strong, rate, asked_column(read, selected), clusters) if found.aligned else None
    if wide is None:
        if not pair:
            raise InputError(
                f"{len(names)} systems were rated apart: every system needs a row for every item, with the same rate "
                "and labels; compare two at a time"
            )
        apart = compare_tables(
            found.of(names[0]), found.of(last), weak=weak, strong=strong, rate=rate, selected=selected,
            clusters=clusters, id="id" if id is None else id, names=(names[0], last), method=method, level=level,
            estimand=estimand, recalibrate=recalibrate, bounds=ends, seed=seed,
        )  # fmt: skip
        return replace(apart, notes=told + apart.notes)
    g, h = ({name: f"{kind} {name}" for name in names} for kind in ("weak", "strong"))
    drawn = RATE if RATE in wide else None
    asked = "selected" if "selected" in wide else None
    groups = None if clusters is None else "clusters"
    whole = read_table(wide, name=read.name)
    if pair:
        two = compare(
            whole, weak=(g[names[0]], g[last]), strong=(h[names[0]], h[last]), names=(names[0], last), rate=drawn,
            selected=asked, clusters=groups, method=method, level=level, estimand=estimand, recalibrate=recalibrate,
            bounds=ends, seed=seed,
        )  # fmt: skip
        return replace(two, notes=told + two.notes)
    many = compare_many(
        whole, baseline=last, weak=g, strong=h, rate=drawn, selected=asked, clusters=groups, method=method,
        level=level, estimand=estimand, recalibrate=recalibrate, bounds=ends, seed=seed,
    )  # fmt: skip
    return replace(many, notes=told + many.notes)


def by_system(table: Table, system: str, id: str | None) -> LongTable:
    """Which rows are whose, checked: one row for an item and a system."""
    column = "id" if id is None else id
    if id is None and "id" not in table.columns:
        raise TableError(Message(f"{table.name} has no column 'id'; name the column of item ids ({argument('id')})"))
    whose, items = table.texts(system).astype(np.str_), table.texts(column).astype(np.str_)
    found, first = np.unique(whose, return_index=True)
    names = tuple(str(name) for name in found[np.argsort(first)])
    if len(names) > _MOST_SYSTEMS:
        raise TableError(f"column {system!r} of {table.name} has {len(names)} different values; is it the system?")
    check_names(names)
    if len(names) < 2:
        raise InputError(f"column {system!r} of {table.name} has one system, {names[0]!r}; a comparison needs two")
    rows = {}
    for name in names:
        at = np.flatnonzero(whose == name)
        at = at[np.argsort(items[at], kind="stable")]
        twice = np.flatnonzero(items[at][1:] == items[at][:-1])
        if twice.size:
            one, two = sorted((int(at[twice[0]]), int(at[twice[0] + 1])))
            raise TableError(
                f"rows {one + 1} and {two + 1} of {table.name} are both item {str(items[one])!r} of system {name!r}; "
                "keep one of them"
            )
        rows[name] = at
    same = [np.array_equal(items[rows[name]], items[rows[names[0]]]) for name in names]
    return LongTable(table, names, rows, all(same))


def _wide(
    long: LongTable, weak: str | None, strong: str, rate: Rate, selected: str | None, clusters: str | None
) -> dict[str, Any] | None:
    """One row per item, a pair of columns per system; `None` where the systems were not drawn together."""
    table, first = long.table, long.rows[long.names[0]]
    h = table.numbers(strong, missing="allow")
    g = np.zeros(table.rows) if weak is None else table.numbers(weak, missing="allow")
    drawn = ~np.isnan(h) if selected is None else table.numbers(selected) != 0
    column = rate if isinstance(rate, str) and rate in table.columns else RATE if rate is None else None
    q = table.numbers(column, missing="allow") if column is not None and column in table.columns else None
    out: dict[str, Any] = {}
    for name, at in long.rows.items():
        if not np.array_equal(drawn[at], drawn[first]) or (
            q is not None and not np.array_equal(q[at], q[first], equal_nan=True)
        ):
            return None
        out |= {f"weak {name}": g[at], f"strong {name}": h[at]}
    if POOL_SIZE in table.columns:
        out[POOL_SIZE] = long.pool_of(long.names[0])
    if q is not None:
        out[RATE] = q[first]
    elif rate is not None:
        out[RATE] = np.full(first.size, float(rate))
    if selected is not None:
        out["selected"] = drawn[first]
    if clusters is not None:
        out["clusters"] = table.texts(clusters)[first]
    return out


def _baseline(names: Sequence[str], baseline: str | None) -> str:
    if baseline is None and len(names) > 2:
        raise InputError(f"{len(names)} systems need a baseline; choose one of {', '.join(names)}")
    if baseline is not None and baseline not in names:
        raise InputError(f"the baseline {baseline!r} is no system; choose one of {', '.join(names)}")
    return names[1] if baseline is None else baseline
