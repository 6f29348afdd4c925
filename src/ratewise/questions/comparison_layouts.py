"""Comparisons of systems that are not side by side in columns: a table each, or a row for each item and system."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.messages import Message, argument
from ratewise.core.names import Estimand, Method, Recalibration
from ratewise.core.ratings import Ratings
from ratewise.core.two_samples import Half, difference_interval, looks_like_one_draw, pool_covariance, shared_covariance
from ratewise.errors import InputError, TableError
from ratewise.questions.comparison import (
    Comparison,
    ManyComparisons,
    Ratio,
    against,
    compared,
    of_many,
    of_many_apart,
    of_pair,
    ratio,
    sentence,
)
from ratewise.questions.estimation import estimate_rated, refuse_unused_weights
from ratewise.questions.export_terms import (
    NO_STRONG,
    Pooled,
    estimate_pooled,
    read_asked,
    read_terms,
    reported,
    unseen_kinds,
)
from ratewise.questions.people import made_ready
from ratewise.questions.rated import (
    POOL_SIZE,
    RATE,
    Rate,
    RatedTable,
    Strong,
    TableColumns,
    TablePool,
    asked_column,
    read_rated,
)
from ratewise.questions.systems import Systems, check_names, error_probability, is_binary, read_systems
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.cells import Texts
from ratewise.tables.words import Meaning, Positive, Scale, in_numbers, meaning_of

_MOST_SYSTEMS = 50


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One of the two tables: its rows, its mean, and the name of what each row comes from (an item or a cluster)."""

    items: Ratings
    mean: Estimate
    bounds: tuple[float, float] | None
    ids: Texts | None  # of the items; None where nothing tells them apart
    rated: RatedTable | None = None  # None: from a campaign, whose own estimate the mean is

    @property
    def half(self) -> Half:
        """What the covariance with the other one rests on."""
        items = self.items
        assert self.mean.pool_size is not None, "a pool's own mean knows its pool"
        return Half(self.mean.contributions, items.strong, items.rates, self.mean.pool_size)


def compare_tables(
    table: TableLike,
    with_table: TableLike,
    *,
    strong: Strong | None = None,
    weak: str | None = None,
    rate: Rate = None,
    selected: str | None = None,
    clusters: str | None = None,
    id: str | None = None,
    last: TableColumns | None = None,
    names: tuple[str, str] = ("this", "last"),
    method: Method = "auto",
    level: float = 0.95,
    estimand: Estimand | None = None,
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> Comparison:
    """How much higher the mean strong rating of `table` is than that of `with_table`, and how sure that is.

    The columns are called alike in both tables, unless `last` says what they are called in the second one. Items are
    told by the column `id` (`id`, if both tables have one). Where both tables have the same items with the same rates
    and labels, the comparison is paired, as `compare` does it. Else each mean keeps its own interval and the difference
    is made of the two (Newcombe 1998); items in both tables count by what their contributions have in common.

    The export of a campaign needs no columns: its mean is what the campaign reports, and so is whose mean it is, unless
    `estimand` says it (else: the population's).

    Limiting cases: no item in common gives two independent samples; all of them, drawn together, gives `compare`.
    """
    check_names(names)
    tables = read_table(table), read_table(with_table)
    if estimand is None:
        exports = [terms.estimand for terms in map(read_terms, tables) if terms is not None]
        estimand = exports[0] if exports else "population"
    how = EstimateOptions(method, "auto", level, estimand, None, bounds, seed=seed)
    own, meaning = TableColumns(strong, weak, rate, selected, clusters, id), meaning_of(positive, scale)
    first, second = (
        _side(one, columns, how, recalibrate, meaning)
        for one, columns in zip(tables, (own, own if last is None else last), strict=True)
    )
    paired = _paired(names, first, second, how, recalibrate)
    return _unpaired(names, first, second) if paired is None else of_pair(paired)


def _side(
    table: Table, columns: TableColumns, how: EstimateOptions, recalibrate: Recalibration, meaning: Meaning
) -> _Side:
    """One table with its mean; a campaign's export with the mean that the campaign reports."""
    terms, plain = read_terms(table), how.plain and recalibrate == "none" and meaning == Meaning()
    if terms is not None and plain and terms.named(columns):
        mean, pooled = reported(table, terms, level=how.level, estimand=how.estimand)
        looked = ~np.isnan(table.numbers(terms.rates[-1], missing="allow"))
        items = pooled.items
        weak, rates = (x.reshape(items.strong.size, -1)[:, -1] for x in (items.weak, items.rates))
        items = replace(items, weak=weak, rates=rates)
        rated = RatedTable(table, items, looked, looked, (), False, TablePool.of(table, table.rows))
        return _Side(items, mean, (terms.low, terms.high), _ids(table, columns.id, rated))
    if columns.strong is None:
        raise InputError("name the column with the strong rating: strong, or --strong on the command line")
    ready = made_ready(table, columns.strong, columns.weak, meaning)
    ready.refuse_pool(how.estimand)
    refuse_unused_weights(ready.table, columns.rate)
    rated = read_rated(ready, columns, fewest=2)
    own = rated.how(how)
    mean = estimate_rated(rated.items, own, recalibrate)
    mean = replace(mean, notes=rated.notes(how) + mean.notes)
    return _Side(rated.items, mean, own.bounds, _ids(ready.table, columns.id, rated), rated)


def _ids(table: Table, column: str | None, rated: RatedTable) -> Texts | None:
    if column is None and "id" not in table.columns:
        return None
    found: Texts = table.ids(column)[rated.rows]
    return found


def _paired(
    names: tuple[str, str], a: _Side, b: _Side, how: EstimateOptions, recalibrate: Recalibration
) -> Systems | None:  # fmt: skip
    """Both tables as one, where they have the same items, rates and labels: then these were drawn once, for both."""
    if a.rated is None or b.rated is None or a.rated.alone or b.rated.alone:
        return None
    if a.ids is None or b.ids is None or a.ids.size != b.ids.size:
        return None
    order = np.empty(a.ids.size, dtype=np.intp)  # of the second one's rows, to be that of the first one's
    order[np.argsort(a.ids)] = np.argsort(b.ids)
    x, y = a.items, b.items
    strong = np.stack([x.strong, y.strong[order]], axis=1)
    rated = ~np.isnan(strong)
    alike = np.array_equal(a.ids, b.ids[order]) and np.array_equal(x.rates, y.rates[order])
    if not alike or not np.array_equal(rated[:, 0], rated[:, 1]):
        return None
    drawn = rated.any(axis=1) | (x.rates == 1)
    for selected in (x.selected, None if y.selected is None else y.selected[order]):
        drawn = drawn if selected is None else drawn | selected
    clusters = None if x.clusters is None else x.clusters.astype(np.str_)
    items = Ratings(np.stack([x.weak, y.weak[order]], axis=1), strong, x.rates, np.asarray(drawn), clusters)
    ends = (0.0, 1.0) if a.bounds is None and is_binary(strong) else a.bounds
    told = ("both tables have the same items, drawn together: the comparison is paired", *a.rated.notes(how))
    return Systems(names, items, a.rated.how(replace(how, bounds=ends)), recalibrate, told)


# Two samples


def _unpaired(names: tuple[str, str], a: _Side, b: _Side, shared: tuple[float, str] | None = None) -> Comparison:
    covariance, told = shared or _common(a, b)
    x, y, level = a.mean.standard_error, b.mean.standard_error, a.mean.level
    difference = _difference(a.mean, b.mean, covariance)
    if x is None or y is None:
        of_both = Ratio(None, None, level, "the error of one of the two means is unknown")
    else:
        both, z = np.array([[x**2, covariance], [covariance, y**2]]), float(special.ndtri(0.5 + level / 2))
        of_both = ratio(a.mean.value, b.mean.value, both, quantile=z, level=level)
    notes = [f"{name}: {note}" for name, side in zip(names, (a, b), strict=True) for note in side.mean.notes]
    # The interval says how sure it is, whether or not both means have a standard error.
    sure = error_probability(replace(difference, standard_error=difference.standard_error or 0.0))
    return compared(names, (difference, a.mean, b.mean), sure, of_both, (told, *notes), paired=False)


def _common(a: _Side, b: _Side, *, one_draw: bool = False) -> tuple[float, str]:
    """Covariance through shared items, and what there is to say about them; `one_draw`: it is known to be one."""
    if a.ids is None or b.ids is None:
        return 0.0, (
            "two samples: no column tells which items are the same in both tables, so all are taken as different"
        )
    shared, *rows = np.intersect1d(a.ids.astype(np.str_), b.ids.astype(np.str_), return_indices=True)
    if not shared.size:
        return 0.0, "two samples: the tables have no item in common"
    said = f"two samples: {shared.size:,} items are in both tables, each drawn by itself; "
    if one_draw:
        said = f"{shared.size:,} prompts have rows of both systems, drawn by one random number: "
    if a.mean.estimand == "population":
        x, y = (
            ids if clusters is None else clusters
            for ids, clusters in ((a.ids, a.items.clusters), (b.ids, b.items.clusters))
        )
        both = shared_covariance((a.mean.contributions, b.mean.contributions), (x, y))
        return both, said + "the interval allows for items that both have"
    ours, theirs = a.half.at(rows[0]), b.half.at(rows[1])
    same = one_draw or looks_like_one_draw(ours, theirs)
    found = pool_covariance(a.half, b.half, ours, theirs, one_draw=same)
    one = "one draw took them for both (the same seed), and the interval allows for it"
    return found, said + (one if same else "their draws are independent")


def _difference(a: Estimate, b: Estimate, covariance: float) -> Estimate:
    """One mean less the other; the interval is Newcombe's."""
    known = a.standard_error is not None and b.standard_error is not None
    variance = (a.standard_error or 0.0) ** 2 + (b.standard_error or 0.0) ** 2 - 2 * covariance
    r, ends = 0.0, None
    if a.standard_error and b.standard_error:
        r = float(np.clip(covariance / (a.standard_error * b.standard_error), -1.0, 1.0))
    if a.interval is not None and b.interval is not None:
        ends = difference_interval((a.value, b.value), (a.interval, b.interval), r)
    kinds = ", ".join(dict.fromkeys((a.interval_method, b.interval_method)))
    return Estimate(
        value=a.value - b.value,
        standard_error=math.sqrt(variance) if known and variance > 0 else None,
        interval=ends,
        level=a.level,
        items=a.items + b.items,
        labels=a.labels + b.labels,
        method="; ".join(dict.fromkeys((a.method, b.method))),
        interval_method=f"two samples ({kinds})",
        estimand=a.estimand,
        notes=() if ends is not None else ("one of the two means has no interval",),
    )


# A campaign's systems, each row drawn at its own rate and all rows of an item by one random number


def compare_pooled(
    pooled: Pooled, systems: Texts, sizes: Mapping[str, float], baseline: str, ids: Texts | None
) -> Comparison | ManyComparisons:
    """Systems of a campaign against its baseline, from all rounds as one draw; differences hold all at once.

    `systems` and `ids` say whose row each item is and of which prompt, `sizes` how many rows each system has.
    """
    t, names = pooled.terms, against(list(sizes), baseline)
    level = 1 - (1 - t.level_at) / (len(names) - 1)
    sides = []
    for name in names:
        here = np.asarray(systems == name)
        part = pooled.items.part(here)
        if part.labels < 2:
            raise InputError(f"system {name!r} has {part.labels} strong ratings; a comparison needs two at least")
        part = replace(part, clusters=None) if ids is not None else part  # one row of each prompt
        size = float(sizes[name]) if t.estimand == "pool" else None
        unseen = unseen_kinds(part) if t.unseen else 0.0
        terms = replace(t, level_at=level, level=level, unseen=unseen, anytime=False, pool_size=size)
        mean = estimate_pooled(Pooled(terms, part)).within((t.low, t.high))
        sides.append(_Side(part, mean, (t.low, t.high), None if ids is None else ids[here]))
    last = sides[-1]  # the baseline's
    shared = [_common(one, last, one_draw=True) for one in sides[:-1]]
    told = tuple(dict.fromkeys(words for _, words in shared))

    def shown(e: Estimate) -> Estimate:
        kind = f"anytime ({e.interval_method})" if t.anytime else e.interval_method
        return replace(e, level=t.level, interval_method=kind)

    if len(names) == 2:
        found = _unpaired((names[0], names[1]), sides[0], last, shared[0])
        d, a, b = map(shown, (found.difference, found.first, found.second))
        return replace(
            found, difference=d, first=a, second=b, sentence=sentence(found.names, d, found.probability_better)
        )
    apart = [_difference(one.mean, last.mean, both) for one, (both, _) in zip(sides, shared, strict=False)]
    sure = [error_probability(replace(d, standard_error=d.standard_error or 0.0)) for d in apart]
    means = [shown(side.mean) for side in sides]
    return of_many_apart(names, means, [shown(d) for d in apart], sure, level=t.level, each=level, notes=told)


# A row for each item and system


def compare_long(
    table: TableLike,
    *,
    system: str,
    strong: str | None = None,
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
    of two systems is it. The export of a campaign that compares these systems needs no columns.
    """
    if strong is None:
        if weak is not None:
            raise InputError(NO_STRONG)
        return _exported(read_table(table), system, baseline)
    said = meaning_of(positive, scale)
    read, told = in_numbers(read_table(table), strong=(strong,), weak=() if weak is None else (weak,), meaning=said)
    ends = said.bounds if bounds is None else bounds
    if id is None and "id" not in read.columns:
        raise TableError(Message(f"{read.name} has no column 'id'; name the column of item ids ({argument('id')})"))
    id = "id" if id is None else id
    rows = _rows_by_system(read, system, id)
    names = against(list(rows), baseline)
    wide = _wide(read, rows, id, TableColumns(strong, weak, rate, asked_column(read, selected), clusters))
    if wide is not None:
        how = EstimateOptions(method, "auto", level, estimand, None, ends, seed=seed)
        asked, groups = ("selected" if "selected" in wide else None), (None if clusters is None else "clusters")
        draw = TableColumns(None, None, RATE if RATE in wide else None, asked, groups)
        g, h = ([f"{kind} {name}" for name in names] for kind in ("weak", "strong"))
        systems = read_systems(read_table(wide, name=read.name), names, g, h, draw, how, recalibrate)
        systems = replace(systems, notes=told + systems.notes)
        return of_pair(systems) if len(names) == 2 else of_many(systems)
    if len(names) > 2:
        raise InputError(
            f"{len(names)} systems were rated apart: every system needs a row for every item, with the same rate and "
            "labels; compare two at a time"
        )
    first, last = (_table_of(read, name, rows[name]) for name in names)
    apart = compare_tables(
        first, last, weak=weak, strong=strong, rate=rate, selected=selected, clusters=clusters,
        id=id, names=(names[0], names[1]), method=method, level=level, estimand=estimand,
        recalibrate=recalibrate, bounds=ends, seed=seed,
    )  # fmt: skip
    return replace(apart, notes=told + apart.notes)


def _exported(table: Table, system: str, baseline: str | None) -> Comparison | ManyComparisons:
    """The comparison of a campaign from its export."""
    own = read_asked(table, "compare", (system,))
    if own is None:
        raise InputError(NO_STRONG)
    whose = table.texts(system)[own.looked]
    return compare_pooled(own.pooled, whose, own.sizes, baseline or str(own.baseline), own.pooled.items.clusters)


def _rows_by_system(table: Table, system: str, id: str) -> dict[str, NDArray[np.intp]]:
    """The rows of every system, sorted by item: one row for an item and a system."""
    whose, items = table.texts(system).astype(np.str_), table.texts(id).astype(np.str_)
    found, first = np.unique(whose, return_index=True)
    names = [str(name) for name in found[np.argsort(first)]]
    if len(names) > _MOST_SYSTEMS:
        raise TableError(f"column {system!r} of {table.name} has {len(names)} different values; is it the system?")
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
    return rows


def _table_of(table: Table, name: str, rows: NDArray[np.intp]) -> Table:
    """One system's rows as a table of their own."""
    columns = {column: np.asarray(values)[np.sort(rows)] for column, values in table.arrays().items()}
    return read_table(columns | _pool_size(table, rows), name=f"{table.name}, {name}")


def _pool_size(table: Table, rows: NDArray[np.intp]) -> dict[str, Any]:
    """The pool's size as the rows say it, of one system's share of them."""
    if POOL_SIZE not in table.columns:
        return {}
    return {POOL_SIZE: table.numbers(POOL_SIZE, missing="allow")[rows] * rows.size / table.rows}


def _wide(table: Table, rows: Mapping[str, NDArray[np.intp]], id: str, columns: TableColumns) -> dict[str, Any] | None:
    """One row per item, a pair of columns per system; `None` where the systems were not drawn together."""
    first, rate, items = next(iter(rows.values())), columns.rate, table.texts(id)
    h = table.numbers(str(columns.strong), missing="allow")
    g = np.zeros(table.rows) if columns.weak is None else table.numbers(columns.weak, missing="allow")
    drawn = ~np.isnan(h) if columns.selected is None else table.numbers(columns.selected) != 0
    column = rate if isinstance(rate, str) and rate in table.columns else RATE if rate is None else None
    q = table.numbers(column, missing="allow") if column is not None and column in table.columns else None
    alike = (items, drawn) if q is None else (items, drawn, np.nan_to_num(q, nan=-1.0))
    if not all(np.array_equal(each[at], each[first]) for at in rows.values() for each in alike):
        return None
    out: dict[str, Any] = _pool_size(table, first)
    for name, at in rows.items():
        out |= {f"weak {name}": g[at], f"strong {name}": h[at]}
    if q is not None:
        out[RATE] = q[first]
    elif rate is not None:
        out[RATE] = np.full(first.size, float(rate))
    if columns.selected is not None:
        out["selected"] = drawn[first]
    if columns.clusters is not None:
        out["clusters"] = table.texts(columns.clusters)[first]
    return out
