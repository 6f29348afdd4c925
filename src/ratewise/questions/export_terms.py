"""The estimate of a campaign from what its export holds: the very arrays and terms it was made from, rounds pooled.

A campaign's export has, beside the raw ratings, what stood in the weak rating's place (`prediction`), the pooled rate
of every item, and in one cell of the column `ratewise` the terms of the estimate. With these, `estimate` computes what
`report` said, to the bit.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.estimate import Estimate, EstimateOptions, estimate_rated, on_scale
from ratewise.core.names import Estimand, Method
from ratewise.core.ratings import Mask, Ratings
from ratewise.core.result import JsonRecord
from ratewise.core.stratified import stratified
from ratewise.errors import InputError, TableError
from ratewise.questions.rated import TableColumns, TablePool
from ratewise.tables import Table

COLUMN = "ratewise"
NO_STRONG = "name the column with the strong rating: strong, or --strong on the command line"
VERSION = 1
UNSEEN = 3.0  # answers unlike any so far, that an interval to stop at allows for: the rule of three


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportTerms(JsonRecord):
    """How the arrays are combined; everything is a number or a word, so that it fits into one cell."""

    campaign: str
    method: Method
    estimand: Estimand
    pool_size: float | None
    low: float
    high: float
    variance_factor: float  # for what learning from the labels adds unseen
    level: float  # that the interval is said to have
    level_at: float  # that it is computed at, higher where it may be looked at again and again
    unseen: float = 0.0  # variance for answers unlike any so far
    anytime: bool = False
    rows: int = 0  # that the export had
    weak: tuple[str, ...] = ()  # columns, and so are the next five
    strong: str = ""
    rates: tuple[str, ...] = ()
    selected: str = ""
    clusters: str | None = None
    strata: str | None = None
    sizes: Mapping[str, float] | None = None  # of the strata
    known: int = 0  # items whose ratings were picked by hand, and are counted as they are
    known_mean: float = 0.0
    question: dict[str, Any] | None = None  # of a campaign that is asked more than a mean: `questions/question.py`

    def to_json(self) -> str:
        """JSON text in which numbers keep every bit."""
        said = self.to_dict()
        if self.question is None:
            del said["question"]
        return json.dumps({"version": VERSION, **said})

    def named(self, columns: TableColumns) -> bool:
        """Whether these columns are the campaign's own, so that its export is to be read as the campaign does."""
        weak = columns.weak
        own = weak is None or weak in self.weak or (weak.startswith("rating_") and weak != self.strong)
        plain = columns.selected is None and columns.clusters is None and columns.rate in {None, "rate", *self.rates}
        return own and plain and columns.strong in (None, self.strong)

    @classmethod
    def from_json(cls, text: str) -> "ExportTerms":
        """The inverse of `to_json`."""
        data: dict[str, Any] = json.loads(text)
        if data.pop("version", None) != VERSION:
            raise ValueError("another version")
        return cls.from_dict(data)


@dataclass(frozen=True, slots=True, eq=False)
class Pooled:
    """All items looked at in complete rounds, as one draw."""

    terms: ExportTerms
    items: Ratings  # `weak` is what stands in its place
    strata: NDArray[np.str_] | None = None
    raters: tuple[int, ...] = ()  # of a chain: whose answers each column rests on, and the last one; all if empty

    def came(self) -> tuple[Ratings, tuple[str, ...]]:
        """The items with rates of the answers that came, where some that were asked for did not; and a note on that.

        For questions that cannot count a missing answer at both ends of the scale.
        """
        items = self.items
        missing = 0 if items.selected is None else int(np.count_nonzero(items.selected & ~items.labelled))
        if not missing:
            return items, ()
        share = items.labels / (items.labels + missing)
        note = f"{missing:,} answers that were asked for did not come; they are taken to be like those that did"
        return replace(items, rates=items.rates * share, selected=None), (note,)


def estimate_pooled(pooled: Pooled, *, level: float | None = None) -> Estimate:
    """The campaign's estimate; another level is taken only where the interval is not an anytime one."""
    t = pooled.terms
    t = t if level is None or t.anytime else replace(t, level_at=level)
    how = EstimateOptions(
        t.method, level=t.level_at, estimand=t.estimand, pool_size=t.pool_size, bounds=(t.low, t.high),
        variance_factor=t.variance_factor,
    )  # fmt: skip
    if pooled.strata is None:
        found = estimate_rated(pooled.items, how)
    else:
        found = stratified(pooled.items, pooled.strata, how, sizes=t.sizes)
    return as_reported(with_known(found, t.known, t.known_mean, t.pool_size), t)


def as_reported(found: Estimate, terms: ExportTerms) -> Estimate:
    """The estimate at `level_at` with the room and the name of its interval."""
    found = widened(found, terms.level_at, terms.unseen, (terms.low, terms.high))
    if not terms.anytime:
        return found
    return replace(found, level=terms.level, interval_method=f"anytime ({found.interval_method})")


def widened(found: Estimate, level: float, unseen: float, bounds: tuple[float, float]) -> Estimate:
    """The interval with room for a variance that the ratings do not show, on a scale with these ends.

    The score interval tests each mean with the mistakes that it implies, seen or not, and needs no more room.
    """
    if found.interval is None or found.interval_method == "score" or unseen == 0:
        return found
    low, high = found.interval
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    half = math.hypot(half, float(special.ndtri(0.5 + level / 2)) * math.sqrt(unseen))
    return replace(found, interval=on_scale((min(low, middle - half), max(high, middle + half)), bounds))


def unseen_kinds(items: Ratings) -> float:
    """Variance that answers unlike any so far would add: as far off as the furthest, or half a 0/1 scale.

    Items that stop early are those whose variance looks small, often because rare mistakes have not come up yet.
    """
    use = items.labelled
    weak, rates = (x.reshape(items.rows, -1)[use, -1] for x in (items.weak, items.rates))
    h = items.strong[use]
    far = max(float(np.abs(h - weak).max()), 0.5 if set(np.unique(h)) <= {0.0, 1.0} else 0.0)
    return UNSEEN * far**2 * float(((1.0 - rates) / rates**2).mean()) / items.items**2


def with_known(found: Estimate, count: int, mean: float, others: float | None) -> Estimate:
    """The mean of a pool of `others` and so many more items whose ratings are known (METHODS section 13)."""
    if not count or others is None:
        return found
    share = others / (others + count)

    def whole(x: float) -> float:
        return share * x + (1.0 - share) * mean

    ends = None if found.interval is None else (whole(found.interval[0]), whole(found.interval[1]))
    error = None if found.standard_error is None else share * found.standard_error
    note = f"{count:,} labels picked by hand are counted as the known values of their items"
    return replace(
        found, value=whole(found.value), interval=ends, standard_error=error, items=found.items + count,
        pool_size=others + count, unanswered=share * found.unanswered,
        labels=found.labels + count, notes=(*found.notes, note),
    )  # fmt: skip


# From a table


def read_terms(table: Table) -> ExportTerms | None:
    """The terms that a campaign's export holds; `None` where the table is none, or rows were added or taken out."""
    if COLUMN not in table.columns:
        return None
    terms = _written(table)
    return terms if terms is not None and terms.rows == table.rows else None


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """What a campaign's export says of the campaign's question, and its rows as one draw."""

    pooled: Pooled
    looked: Mask  # of the table's rows: those that `pooled` has
    names: tuple[str, ...]
    baseline: str | None
    at: float
    sizes: Mapping[str, float]  # of the groups, in the pool; empty where there are none


def read_asked(table: Table, kind: str, columns: tuple[str, ...] = ()) -> Asked | None:
    """What a campaign's export says where the campaign was asked this very thing, else `None`."""
    terms = read_terms(table)
    question = None if terms is None else terms.question
    if terms is None or question is None or question["kind"] != kind:
        return None
    if columns and tuple(question["columns"]) != columns:
        return None
    names, sizes = tuple(question["names"]), group_sizes(question["names"], question["sizes"], terms.pool_size)
    looked = np.asarray(~np.isnan(_columns(table, terms.rates)[:, -1]))
    return Asked(read_pooled(table, terms), looked, names, question["baseline"], question["at"], sizes)


def group_sizes(names: Sequence[str], sizes: Sequence[int], pool_size: float | None) -> dict[str, float]:
    """How many items of the pool each group has, from those of the table."""
    scale = 1.0 if pool_size is None or not sizes else pool_size / sum(sizes)
    return {name: max(size * scale, 1.0) for name, size in zip(names, sizes, strict=False)}


def single_draw(table: Table, weak: str | None, rate: str | float | None) -> ExportTerms:
    """The terms of an export whose items were drawn once, at rates of their own, where no other columns are named."""
    terms = read_terms(table)
    if terms is None or not terms.named(TableColumns(terms.strong, weak, rate)):
        raise InputError(NO_STRONG)
    if len(terms.rates) > 1 or terms.strata is not None or terms.known:
        raise InputError(
            f"{table.name} is the export of a campaign with a chain of raters, strata or labels picked by hand, whose "
            f"slices only its report has; or name the columns of a plain draw, such as {terms.strong!r}"
        )
    return terms


def exported_ends(table: Table, strong: str) -> tuple[float, float] | None:
    """The ends of the scale of a campaign's strong ratings, where the table is its export, or a part of it."""
    terms = _written(table) if COLUMN in table.columns else None
    return None if terms is None or terms.strong != strong else (terms.low, terms.high)


def _written(table: Table) -> ExportTerms | None:
    cells = [text for text in table.texts(COLUMN, missing="allow").tolist() if text]
    try:
        return ExportTerms.from_json(cells[0]) if len(cells) == 1 else None
    except (ValueError, TypeError, KeyError):
        return None


def read_pooled(table: Table, terms: ExportTerms) -> Pooled:
    """The arrays of an export; rows of a round that is not complete have no rate and do not count."""
    rates = _columns(table, terms.rates)
    looked = ~np.isnan(rates[:, -1])
    chain = len(terms.rates) > 1
    weak, rates = (x if chain else x[:, 0] for x in (_columns(table, terms.weak), rates))
    clusters = None
    if terms.clusters is not None:  # rows of a round that is not complete have none
        clusters = np.nan_to_num(table.numbers(terms.clusters, missing="allow")).astype(np.intp)
    strong, selected = table.numbers(terms.strong, missing="allow"), table.numbers(terms.selected) != 0
    strata = None if terms.strata is None else table.texts(terms.strata)[looked].astype(np.str_)
    return Pooled(terms, Ratings(weak, strong, rates, selected, clusters).part(looked), strata)


def reported(
    table: Table, terms: ExportTerms, *, level: float | None, estimand: Estimand | None
) -> tuple[Estimate, Pooled]:
    """A campaign's estimate from its export, as it reports it or of the estimand that is asked for instead."""
    note = f"computed as campaign {terms.campaign!r} reports it: its own prediction, pooled rates and level"
    if estimand not in (None, terms.estimand):
        note += f"; the campaign itself asks for the mean of the {terms.estimand}"
        size = TablePool.of(table, table.rows).size if estimand == "pool" else None
        terms = replace(terms, estimand=estimand, pool_size=size)
    pooled = read_pooled(table, terms)
    found = estimate_pooled(pooled, level=level)
    return replace(found, notes=(note, *found.notes)), pooled


def _columns(table: Table, names: tuple[str, ...]) -> Floats:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise TableError(
            f"{table.name} is a campaign's export without its column {missing[0]!r}; export it again, or remove the "
            f"column {COLUMN!r} to estimate from the others"
        )
    return np.column_stack([table.numbers(name, missing="allow") for name in names])
