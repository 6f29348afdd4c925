"""`compare_tables`: a system against another that was rated on a table of its own, items shared or not."""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ratewise.core.estimate import Estimate, EstimateOptions
from ratewise.core.names import Estimand, Method, Recalibration
from ratewise.core.ratings import Ratings
from ratewise.core.two_samples import Half, difference_interval, pool_covariance, shared_covariance
from ratewise.errors import InputError
from ratewise.questions.comparison import Comparison, Ratio, compare_systems, ratio
from ratewise.questions.estimation import estimate_rated, refuse_unused_weights
from ratewise.questions.export_terms import read_terms, reported
from ratewise.questions.people import made_ready
from ratewise.questions.rated import Rate, RatedTable, Strong, TableColumns, TablePool, read_rated
from ratewise.questions.systems import Systems, check_names, is_binary
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.cells import Texts
from ratewise.tables.words import Meaning, Positive, Scale, meaning_of


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
    """One of the two tables: its rows, its mean, and the name of what each row comes from (an item or a cluster)."""

    rated: RatedTable
    mean: Estimate
    bounds: tuple[float, float] | None
    ids: Texts | None  # of the items; None where nothing tells them apart
    exported: bool = False  # from a campaign, whose own estimate the mean is

    @property
    def half(self) -> Half:
        """What the covariance with the other one rests on."""
        items = self.rated.items
        assert self.mean.pool_size is not None, "a pool's own mean knows its pool"
        return Half(self.mean.contributions, items.strong, items.rates, self.mean.pool_size)

    @property
    def groups(self) -> Texts | None:
        """Cluster of each item, or the item itself."""
        clusters = self.rated.items.clusters
        return self.ids if clusters is None else clusters


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
    if _drawn_together(first, second):
        return compare_systems(_paired(names, first, second, how, recalibrate), 0, 1)
    return _unpaired(names, first, second)


def _side(
    table: Table, columns: TableColumns, how: EstimateOptions, recalibrate: Recalibration, meaning: Meaning
) -> _Side:
    """One table with its mean; a campaign's export with the mean that the campaign reports."""
    terms, plain = read_terms(table), how.plain and recalibrate == "none" and meaning == Meaning()
    if terms is not None and plain and terms.named(columns):
        mean, pooled = reported(table, terms, level=how.level, estimand=how.estimand)
        looked = ~np.isnan(table.numbers(terms.rates[-1], missing="allow"))
        weak, rates = (x.reshape(pooled.strong.size, -1)[:, -1] for x in (pooled.weak, pooled.rates))
        items = Ratings(weak, pooled.strong, rates, pooled.selected, pooled.clusters)
        rated = RatedTable(table, items, looked, looked, (), False, TablePool.of(table, table.rows))
        return _Side(rated, mean, (terms.low, terms.high), _ids(table, columns.id, rated), exported=True)
    if columns.strong is None:
        raise InputError("name the column with the strong rating: strong, or --strong on the command line")
    ready = made_ready(table, columns.strong, columns.weak, meaning)
    ready.refuse_pool(how.estimand)
    refuse_unused_weights(ready.table, columns.rate)
    rated = read_rated(ready, columns, fewest=2)
    own = rated.how(how)
    mean = estimate_rated(rated.items, own, recalibrate)
    mean = replace(mean, notes=rated.notes(how) + mean.notes)
    return _Side(rated, mean, own.bounds, _ids(ready.table, columns.id, rated))


def _ids(table: Table, column: str | None, rated: RatedTable) -> Texts | None:
    if column is None and "id" not in table.columns:
        return None
    found: Texts = table.ids(column)[rated.rows]
    return found


def _drawn_together(a: _Side, b: _Side) -> bool:
    """Whether both have the same items, rates and labels: then they were drawn once, for both."""
    if a.ids is None or b.ids is None or a.ids.size != b.ids.size or a.rated.alone or b.rated.alone:
        return False
    if a.exported or b.exported:  # each has a prediction of its own
        return False
    i, j = np.argsort(a.ids), np.argsort(b.ids)
    x, y = a.rated.items, b.rated.items
    return bool(
        np.array_equal(a.ids[i], b.ids[j])
        and np.array_equal(x.rates[i], y.rates[j])
        and np.array_equal(np.isnan(x.strong[i]), np.isnan(y.strong[j]))
    )


def _paired(
    names: tuple[str, str], a: _Side, b: _Side, how: EstimateOptions, recalibrate: Recalibration
) -> Systems:  # fmt: skip
    """Both tables as one, the second one's rows in the order of the first one's."""
    assert a.ids is not None
    assert b.ids is not None
    order = np.empty(a.ids.size, dtype=np.intp)
    order[np.argsort(a.ids)] = np.argsort(b.ids)
    x, y = a.rated.items, b.rated.items
    strong = np.stack([x.strong, y.strong[order]], axis=1)
    drawn = (~np.isnan(strong)).any(axis=1) | (x.rates == 1)
    for selected in (x.selected, None if y.selected is None else y.selected[order]):
        drawn = drawn if selected is None else drawn | selected
    binary = a.bounds is None and is_binary(strong)
    return Systems(
        names=names,
        weak=np.stack([x.weak, y.weak[order]], axis=1),
        strong=strong,
        rates=x.rates,
        asked=np.asarray(drawn),
        clusters=None if x.clusters is None else x.clusters.astype(np.str_),
        how=a.rated.how(replace(how, bounds=(0.0, 1.0) if binary else a.bounds)),
        recalibrate=recalibrate,
        notes=("both tables have the same items, drawn together: the comparison is paired", *a.rated.notes(how)),
    )


# Two samples


def _unpaired(names: tuple[str, str], a: _Side, b: _Side) -> Comparison:
    covariance, told = _common(a, b)
    difference = _difference(a.mean, b.mean, covariance)
    found = _ratio(a.mean, b.mean, covariance)
    notes = [f"{name}: {note}" for name, side in zip(names, (a, b), strict=True) for note in side.mean.notes]
    return Comparison.of(
        names, (difference, a.mean, b.mean), _probability_above(difference), found, (told, *notes), paired=False
    )


def _common(a: _Side, b: _Side) -> tuple[float, str]:
    """Covariance through shared items, and what there is to say about them."""
    if a.ids is None or b.ids is None or a.groups is None or b.groups is None:
        return 0.0, (
            "two samples: no column tells which items are the same in both tables, so all are taken as different"
        )
    shared, *rows = np.intersect1d(a.ids.astype(np.str_), b.ids.astype(np.str_), return_indices=True)
    if not shared.size:
        return 0.0, "two samples: the tables have no item in common"
    said = f"two samples: {shared.size:,} items are in both tables, rated apart; "
    if a.mean.estimand == "population":
        both = shared_covariance((a.mean.contributions, b.mean.contributions), (a.groups, b.groups))
        return both, said + "their common part counts"
    found = pool_covariance(a.half, b.half, (rows[0], rows[1]))
    one = "one draw took them for both (the same seed), which is counted"
    return found.value, said + (one if found.one_draw else "their draws are independent")


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
