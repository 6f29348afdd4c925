"""A drawn and rated table as the estimators of more than a mean take it: looked-at rows, checked once."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.mean.clusters import Codes, cluster_codes, cluster_folds
from ratewise.core.mean.ratings import Mask, Ratings, ratings
from ratewise.errors import TableError
from ratewise.models.features import codings, feature_matrix
from ratewise.models.rating_model import Basis, Covariates, fit_rating, rating_bounds
from ratewise.tables import Table
from ratewise.targets.mean.estimation import asked_column

WeakRating = Literal["as it is", "learned"]
_FEWEST_TO_LEARN = 20  # labels; with fewer the weak rating stays as it is
_FOLDS = 10  # of clusters


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTable:
    """Rows that have a rate, with their ratings; `clusters` are numbers from 0."""

    table: Table
    rows: Mask
    ratings: Ratings
    clusters: Codes | None
    notes: tuple[str, ...]

    def part(self, keep: Mask) -> "DrawnTable":
        """Some of the looked-at rows."""
        rows = self.rows.copy()
        rows[self.rows] = keep
        data = self.ratings
        codes = None if self.clusters is None else np.unique(self.clusters[keep], return_inverse=True)[1]
        part = Ratings(data.weak[keep], data.strong[keep], data.rates[keep], data.rated[keep])
        return replace(self, rows=rows, ratings=part, clusters=codes)


def read_drawn(
    table: Table, *, weak: str | None, strong: str, rate: str | None, selected: str | None, clusters: str | None
) -> DrawnTable:
    """The looked-at rows of a table, by the names of its columns; see `drawn_rows`."""
    h = table.numbers(strong, missing="allow")
    g = None if weak is None else table.numbers(weak, missing="allow")
    return drawn_rows(table, g, h, weak=weak, strong=strong, rate=rate, selected=selected, clusters=clusters)


def drawn_rows(
    table: Table,
    g: Floats | None,
    h: Floats,
    *,
    weak: str | None,
    strong: str,
    rate: str | None,
    selected: str | None,
    clusters: str | None,
) -> DrawnTable:
    """The looked-at rows, with their ratings read already; the names are for messages.

    Without `rate`, a column of that name is taken if there is one and not every row is rated; else the rows with a
    strong rating are a random draw from all rows where there is a weak rating, and all there is where there is none.
    """
    q, notes = _rates(table, h, weak, rate)
    selected = asked_column(table, selected)
    rows = ~np.isnan(q)
    _check(table, h, q, rows, strong, selected)
    g = np.zeros(h.size) if g is None else g
    lost = rows & np.isnan(g)
    if lost.any():
        row = int(np.argmax(lost)) + 1
        raise TableError(f"row {row} of {table.name} has a rate but no weak rating in column {weak!r}; rate it first")
    codes = None if clusters is None else cluster_codes(table.texts(clusters)[rows], int(rows.sum()))
    left = int(np.count_nonzero(~rows))
    if left:
        notes = (*notes, f"{left:,} rows that were not looked at do not count")
    return DrawnTable(table, rows, ratings(g[rows], h[rows], q[rows]), codes, notes)


def _rates(table: Table, h: Floats, weak: str | None, rate: str | None) -> tuple[Floats, tuple[str, ...]]:
    rated = ~np.isnan(h)
    if rate is None and "rate" in table.columns and not rated.all():
        rate = "rate"
    if rate is not None:
        return table.numbers(rate, missing="allow"), ()
    if weak is None or rated.all():
        alone = "no rate column: the rows with a strong rating are taken as a random draw, and stand alone"
        return np.where(rated, 1.0, np.nan), () if rated.all() else (alone,)
    share = float(rated.mean())
    if share == 0:
        return np.full(h.size, np.nan), ()  # said below
    return np.full(h.size, share), (
        f"no rate column: the {int(rated.sum()):,} rows with a strong rating are taken as a random draw from all rows",
    )


def _check(table: Table, h: Floats, q: Floats, rows: Mask, strong: str, selected: str | None) -> None:
    if not np.any(~np.isnan(h)):
        raise TableError(f"no row of {table.name} has a strong rating in column {strong!r}")
    if not rows.any():
        raise TableError(f"no row of {table.name} has a rate; draw first with `ratewise draw`")
    bad = rows & ~((q > 0) & (q <= 1))
    if bad.any():
        raise TableError(f"row {int(np.argmax(bad)) + 1} of {table.name} has a rate outside (0, 1]")
    stray = ~np.isnan(h) & ~rows
    if stray.any():
        raise TableError(f"row {int(np.argmax(stray)) + 1} of {table.name} has a strong rating but no rate")
    asked = rows & (q == 1)
    if selected is not None:
        asked |= rows & (table.numbers(selected) != 0)
    missing = asked & np.isnan(h)
    if missing.any():
        raise TableError(
            f"{int(missing.sum()):,} answers that were asked for are missing, the first in row "
            f"{int(np.argmax(missing)) + 1} of {table.name}; leaving them out would bias the fit: get them first"
        )


def with_learned_weak(
    drawn: DrawnTable, *, features: Sequence[str], known: Floats | None
) -> tuple[Ratings, WeakRating]:
    """The weak rating put in order by the strong ones, each label by all the others; as it is with few labels.

    `known` are columns to learn from besides the weak rating and the features: those of the regression itself. Clusters
    are left out whole. Only 0/1 ratings are kept within their range: the largest rating seen is no bound, and to cut
    others off at it would bias a fit, which hangs on large ratings most.
    """
    data = drawn.ratings
    if data.labels < _FEWEST_TO_LEARN or np.all(data.rates == 1):
        return data, "as it is"
    own = feature_matrix(drawn.table, codings(drawn.table, features))
    parts = [part for part in (known, None if own is None else own[drawn.rows]) if part is not None]
    x = Covariates(data.weak[:, 0], np.concatenate(parts, axis=1) if parts else None)
    f = _learned(x, data) if drawn.clusters is None else _learned_by_cluster(x, data, drawn.clusters)
    return Ratings(f[:, None], data.strong, data.rates, data.rated), "learned"


def _learned(x: Covariates, data: Ratings) -> Floats:
    """f of all items, each labelled one from the other labels."""
    use = data.labelled
    h, weights = data.strong[use], 1.0 / data.rates[use, 0]
    model, unseen = fit_rating(Basis.of(x), x.rows(use), h, weights, bounds=_bounds(h))
    f = model.predict(x)
    f[use] = unseen
    return f


def _learned_by_cluster(x: Covariates, data: Ratings, codes: Codes) -> Floats:
    """f of all items, each fold of clusters from the labels of the other folds."""
    basis, f = Basis.of(x), x.weak.copy()
    fold = cluster_folds(codes, _FOLDS, np.random.default_rng(0))
    for k in np.unique(fold):
        use = data.labelled & (fold != k)
        if np.count_nonzero(use) > 1:
            h, weights = data.strong[use], 1.0 / data.rates[use, 0]
            model, _ = fit_rating(basis, x.rows(use), h, weights, bounds=_bounds(data.strong[data.labelled]))
            f[fold == k] = model.predict(x.rows(fold == k))
    return f


def _bounds(strong: Floats) -> tuple[float, float]:
    bounds, binary = rating_bounds(strong)
    return bounds if binary else (-np.inf, np.inf)
