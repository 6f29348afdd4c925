"""A drawn and rated table as the estimators of more than a mean take it: looked-at rows, checked once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes, cluster_codes
from ratewise.core.ratings import Mask, Ratings, ratings
from ratewise.errors import TableError
from ratewise.learn.features import codings, feature_matrix
from ratewise.learn.rating_model import Covariates, fitted_rating
from ratewise.tables import Table

WeakRating = Literal["as it is", "learned"]
_FEWEST_TO_LEARN = 20  # labels; with fewer the weak rating stays as it is


@dataclass(frozen=True, slots=True, eq=False)
class DrawnTable:
    """Rows that have a rate, with their ratings; `clusters` are numbers from 0."""

    table: Table
    rows: Mask
    ratings: Ratings
    clusters: Codes | None
    notes: tuple[str, ...]


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

    Without `rate`, the rows with a strong rating are a random draw from all rows where there is a weak rating, and all
    there is where there is none.
    """
    q, notes = _rates(table, h, weak, rate)
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
    if rate is not None:
        return table.numbers(rate, missing="allow"), ()
    rated = ~np.isnan(h)
    if weak is None or rated.all():
        return np.where(rated, 1.0, np.nan), ()
    share = float(rated.mean())
    if share == 0:
        raise TableError(f"no row of {table.name} has a strong rating; at least one is needed for an estimate")
    return np.full(h.size, share), (
        f"no rate column: the {int(rated.sum()):,} rows with a strong rating are taken as a random draw from all rows",
    )


def _check(table: Table, h: Floats, q: Floats, rows: Mask, strong: str, selected: str | None) -> None:
    if not rows.any():
        raise TableError(f"no row of {table.name} has a rate; draw first with `ratewise draw`")
    bad = rows & ~((q > 0) & (q <= 1))
    if bad.any():
        raise TableError(f"row {int(np.argmax(bad)) + 1} of {table.name} has a rate outside (0, 1]")
    stray = ~np.isnan(h) & ~rows
    if stray.any():
        raise TableError(f"row {int(np.argmax(stray)) + 1} of {table.name} has a strong rating but no rate")
    if not np.any(~np.isnan(h)):
        raise TableError(f"no row of {table.name} has a strong rating in column {strong!r}")
    asked = rows & (q == 1)
    if selected is not None:
        asked |= rows & (table.numbers(selected) != 0)
    missing = asked & np.isnan(h)
    if missing.any():
        raise TableError(
            f"{int(missing.sum()):,} answers that were asked for are missing, the first in row "
            f"{int(np.argmax(missing)) + 1} of {table.name}; leaving them out would bias the fit: get them first"
        )


def with_learned_weak(drawn: DrawnTable, *, features: Sequence[str], known: Floats | None) -> tuple[Ratings, str]:
    """The weak rating put in order by the strong ones, each label by all the others; as it is with few labels.

    `known` are columns to learn from besides the weak rating and the features: those of the regression itself.
    """
    data = drawn.ratings
    if data.labels < _FEWEST_TO_LEARN or np.all(data.rates == 1):
        return data, "as it is"
    own = feature_matrix(drawn.table, codings(drawn.table, features))
    parts = [part for part in (known, None if own is None else own[drawn.rows]) if part is not None]
    x = Covariates(data.weak[:, 0], np.concatenate(parts, axis=1) if parts else None)
    f = fitted_rating(x, data.strong, 1.0 / data.rates[:, 0])
    return Ratings(f[:, None], data.strong, data.rates, data.rated), "learned"
