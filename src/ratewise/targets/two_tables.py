"""`compare_tables`: a system against another that was rated on a table of its own, items shared or not."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ratewise.core.mean.estimate import Estimate
from ratewise.core.mean.two_samples import difference_interval, shared_covariance
from ratewise.core.names import Estimand, Method, Recalibration
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.convert import Texts
from ratewise.targets.compare import Comparison, compare_systems, sentence
from ratewise.targets.fieller import Ratio, lift, ratio
from ratewise.targets.mean.estimation import (
    RatedRows,
    asked_column,
    estimate_mean,
    read_ratings,
    refuse_unused_weights,
)
from ratewise.targets.systems import Settings, Systems, check_names


@dataclass(frozen=True, slots=True)
class RatedColumns:
    """What a rated table's columns are called."""

    strong: str
    weak: str | None = None
    rate: str = "rate"
    selected: str | None = None
    clusters: str | None = None
    id: str | None = None


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One of the two tables: its rows, its mean, and the name of what each row comes from (an item or a cluster)."""

    rows: RatedRows
    mean: Estimate
    ids: Texts | None  # of the rows used; None where nothing tells items apart
    groups: Texts | None


def compare_tables(
    table: TableLike,
    with_table: TableLike,
    *,
    strong: str,
    weak: str | None = None,
    rate: str = "rate",
    selected: str | None = None,
    clusters: str | None = None,
    id: str | None = None,
    last: RatedColumns | None = None,
    names: tuple[str, str] = ("this", "last"),
    method: Method = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    recalibrate: Recalibration = "none",
    bounds: tuple[float, float] | None = None,
    seed: int = 0,
) -> Comparison:
    """How much higher the mean strong rating of `table` is than that of `with_table`, and how sure that is.

    The columns are called alike in both tables, unless `last` says what they are called in the second one. Items are
    told by the column `id` (`id`, if both tables have one). Where both tables have the same items with the same rates
    and labels, the comparison is paired, as `compare` does it. Else each mean keeps its own interval and the difference
    is made of the two (Newcombe 1998); items in both tables count by what their contributions have in common.

    Limiting cases: no item in common gives two independent samples; all of them, drawn together, gives `compare`.
    """
    check_names(names)
    settings = Settings(method, level, estimand, None, recalibrate, bounds, seed)
    own = RatedColumns(strong, weak, rate, selected, clusters, id)
    first, second = _side(table, own, settings), _side(with_table, own if last is None else last, settings)
    if _drawn_together(first, second):
        return compare_systems(_paired(names, first, second, settings), 0, 1)
    return _unpaired(names, first, second, settings)


def _side(table: TableLike, columns: RatedColumns, s: Settings) -> _Side:
    read = read_table(table)
    refuse_unused_weights(read, columns.rate)
    rows = read_ratings(
        read, weak=columns.weak, strong=columns.strong, rate=columns.rate,
        selected=asked_column(read, columns.selected), clusters=columns.clusters,
    )  # fmt: skip
    pool_size = float(rows.looked.sum()) if columns.weak is None and s.estimand == "pool" else None
    mean = estimate_mean(
        rows.weak, rows.strong, rows.rates, method=s.method, level=s.level, estimand=s.estimand, pool_size=pool_size,
        recalibrate=s.recalibrate, selected=rows.selected, clusters=rows.clusters, bounds=s.bounds, seed=s.seed,
    )  # fmt: skip
    ids = _ids(read, columns.id, rows)
    return _Side(rows, replace(mean, notes=rows.notes() + mean.notes), ids, rows.clusters if columns.clusters else ids)


def _ids(table: Table, column: str | None, rows: RatedRows) -> Texts | None:
    if column is None and "id" not in table.columns:
        return None
    found: Texts = table.ids(column)[rows.used]
    return found


def _drawn_together(a: _Side, b: _Side) -> bool:
    """The same items at the same rates, and the same of them labelled: then they were drawn once, for both."""
    if a.ids is None or b.ids is None or a.ids.size != b.ids.size or not np.any(a.rows.weak) or not np.any(b.rows.weak):
        return False
    i, j = np.argsort(a.ids), np.argsort(b.ids)
    return bool(
        np.array_equal(a.ids[i], b.ids[j])
        and np.array_equal(a.rows.rates[i], b.rows.rates[j])
        and np.array_equal(np.isnan(a.rows.strong[i]), np.isnan(b.rows.strong[j]))
    )


def _paired(names: tuple[str, str], a: _Side, b: _Side, s: Settings) -> Systems:
    """The second table's rows in the order of the first one's."""
    assert a.ids is not None and b.ids is not None  # noqa: PT018
    order = np.empty(a.ids.size, dtype=np.intp)
    order[np.argsort(a.ids)] = np.argsort(b.ids)
    strong = np.stack([a.rows.strong, b.rows.strong[order]], axis=1)
    asked = (~np.isnan(strong)).any(axis=1) | (a.rows.rates == 1)
    for rows, at in ((a.rows, slice(None)), (b.rows, order)):
        if rows.selected is not None:
            asked |= rows.selected[at]
    known = strong[~np.isnan(strong)]
    binary = s.bounds is None and bool(np.all((known == 0) | (known == 1)))
    return Systems(
        names=names,
        weak=np.stack([a.rows.weak, b.rows.weak[order]], axis=1),
        strong=strong,
        rates=a.rows.rates,
        asked=np.asarray(asked),
        clusters=None if a.rows.clusters is None else a.rows.clusters.astype(np.str_),
        settings=replace(s, bounds=(0.0, 1.0)) if binary else s,
        notes=("both tables have the same items, drawn together: the comparison is paired", *a.rows.notes()),
    )


# Two samples


def _unpaired(names: tuple[str, str], a: _Side, b: _Side, s: Settings) -> Comparison:
    covariance, shared = _common(a, b, s)
    difference = _difference(a.mean, b.mean, covariance)
    sure = _probability_above(difference)
    found = _ratio(a.mean, b.mean, covariance)
    notes = [f"{name}: {note}" for name, side in zip(names, (a, b), strict=True) for note in side.mean.notes]
    return Comparison(
        names=names,
        difference=difference,
        first=a.mean,
        second=b.mean,
        probability_better=sure,
        ratio=found,
        relative_lift=lift(found, b.mean.value),
        pairing=_pairing(a.mean, b.mean, difference),
        sentence=sentence(names, difference, sure),
        notes=(_told_apart(a, b, shared, s.estimand), *notes),
        paired=False,
    )


def _common(a: _Side, b: _Side, s: Settings) -> tuple[float, int]:
    """Covariance through shared items, and how many there are; a pool's own mean errs by the draw alone."""
    if a.ids is None or b.ids is None or a.groups is None or b.groups is None:
        return 0.0, 0
    shared = int(np.intersect1d(a.ids.astype(np.str_), b.ids.astype(np.str_)).size)
    if s.estimand == "pool":
        return 0.0, shared
    return shared_covariance((a.mean.contributions, b.mean.contributions), (a.groups, b.groups)), shared


def _difference(a: Estimate, b: Estimate, covariance: float) -> Estimate:
    known = a.standard_error is not None and b.standard_error is not None
    variance = (a.standard_error or 0.0) ** 2 + (b.standard_error or 0.0) ** 2 - 2 * covariance
    r = 0.0
    if a.standard_error and b.standard_error:
        r = float(np.clip(covariance / (a.standard_error * b.standard_error), -1.0, 1.0))
    ends = None
    if a.interval is not None and b.interval is not None:
        ends = difference_interval((a.value, b.value), (a.interval, b.interval), r)
    return Estimate(
        value=a.value - b.value,
        standard_error=math.sqrt(variance) if known and variance > 0 else None,
        interval=ends,
        level=a.level,
        items=a.items + b.items,
        labels=a.labels + b.labels,
        method=a.method if a.method == b.method else f"{a.method}; {b.method}",
        interval_method=_kind(a, b),
        estimand=a.estimand,
        notes=() if ends is not None else ("one of the two means has no interval",),
    )


def _kind(a: Estimate, b: Estimate) -> str:
    kinds = a.interval_method if a.interval_method == b.interval_method else f"{a.interval_method}, {b.interval_method}"
    return f"two samples ({kinds})"


def _probability_above(d: Estimate) -> float | None:
    """P(truth > 0) by the side of the interval that faces 0, so that the two always agree."""
    if d.interval is None:
        return None
    reach = d.value - d.interval[0] if d.value > 0 else d.interval[1] - d.value
    z = float(special.ndtri(0.5 + d.level / 2))
    return float(special.ndtr(z * d.value / reach)) if reach > 0 else None


def _ratio(a: Estimate, b: Estimate, covariance: float) -> Ratio:
    if a.standard_error is None or b.standard_error is None:
        return Ratio(None, None, a.level, "the error of one of the two means is unknown")
    both = np.array([[a.standard_error**2, covariance], [covariance, b.standard_error**2]])
    return ratio(a.value, b.value, both, quantile=float(special.ndtri(0.5 + a.level / 2)), level=a.level)


def _pairing(a: Estimate, b: Estimate, difference: Estimate) -> float | None:
    if a.standard_error is None or b.standard_error is None or difference.standard_error is None:
        return None
    return (a.standard_error**2 + b.standard_error**2) / difference.standard_error**2


def _told_apart(a: _Side, b: _Side, shared: int, estimand: Estimand) -> str:
    if a.ids is None or b.ids is None:
        return "two samples: no column tells which items are the same in both tables, so all are taken as different"
    if not shared:
        return "two samples: the tables have no item in common"
    how = "their common part counts" if estimand == "population" else "their draws are taken as independent"
    return f"two samples: {shared:,} items are in both tables, rated apart; {how}"
