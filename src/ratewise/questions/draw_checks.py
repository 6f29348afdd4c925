"""Do the labels look as if they were drawn as the table says? Their number is held against the rates.

Where nobody says the rates, labelled rows are held against the others, column by column.
"""

import math
import warnings
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Mask
from ratewise.errors import RatewiseWarning, TableError
from ratewise.tables import Table
from ratewise.tables.cells import Texts

_REFUSED = 6.0  # standard deviations between the labels and the sum of rates: by chance once in 10⁹ tables
_WARNED = 4.0  # once in 16,000


def check_count(name: str, rates: Floats, drawn: Mask, source: str, counts: Floats | None = None) -> None:
    """The rows drawn are as many as the rates say; rows of rate 1 say nothing.

    Whether a row is drawn is independent of the others, so the number has the mean Σπ and the variance Σπ(1−π).
    `counts` says how many rows each entry stands for, where that is not one.
    """
    use = (rates > 0) & (rates < 1)
    q, often = rates[use], 1.0 if counts is None else counts[use]
    expected = float((often * q).sum())
    variance = float((often * q * (1 - q)).sum())
    check_number(name, int(np.count_nonzero(drawn & use)), expected, variance, source)


def check_number(name: str, count: int, expected: float, variance: float, source: str) -> None:
    """So many rows were drawn where this number was to be expected, with this variance."""
    sd = math.sqrt(variance)
    off = max(abs(count - expected) - 1.0, 0.0)  # one row more or less: whole numbers, and few of them
    if off <= _WARNED * sd:
        return
    said = (
        f"{count:,} rows of {name} are labelled, but {source} adds up to {expected:,.1f}, "
        f"{off / sd:.0f} standard deviations off"
    )
    missing = (
        "give the rows that were not drawn, too, if they were left out"
        if count > expected
        else f"name the column that says which items were asked for ({argument('selected')}) if answers are missing"
    )
    todo = f"{missing}, or give the rate that the labels were really drawn with ({argument('rate')})"
    if off > _REFUSED * sd:
        raise TableError(Message(f"{said}: these are not the rates of this draw; {todo}"))
    warnings.warn(Message(f"{said}; if it is not by chance, {todo}"), RatewiseWarning, stacklevel=5)


def chance_of(score: Floats, labelled: Mask, counts: Floats | None = None) -> float:
    """Bound on the chance that the mean score of rows drawn at random is as far from that of all rows (Bennett).

    It holds for draws without replacement, too (Hoeffding 1963, theorem 4). `counts` says how many rows each entry
    stands for, where that is not one.
    """
    often = np.ones(labelled.size) if counts is None else counts
    rows, n = round(float(often.sum())), round(float(often[labelled].sum()))
    if n > rows // 2:  # the rows left out are the smaller sample
        labelled, n = ~labelled, rows - n
    d = score - float(np.average(score, weights=counts))
    variance = float(np.average(d * d, weights=counts))
    off = float(np.average(d[labelled], weights=None if counts is None else counts[labelled]))
    most = float(d.max() if off > 0 else -d.min())
    if variance <= 0 or most <= 0:
        return 1.0
    x = abs(off) * most / variance
    return min(1.0, 2 * math.exp(-n * variance / most**2 * ((1 + x) * math.log1p(x) - x)))


_FALSE_ALARM = 1e-4  # of the warning, at most: half for weak ratings, half for all other columns
_OF_THE_DRAW = frozenset({"id", "rate", "selected", "pool_size", "weight", "rate_new", "weak_calibrated"})
_MOST_WORDS = 20  # different ones in a column; more are text
_MOST_COLUMNS = 60  # that are looked at beside weak ratings
_BINS = 256  # of weak ratings, where rows were put together
_MOST_ROWS = 1_000_000  # of a table whose other columns are looked at: more would take seconds


Trait = tuple[Floats, str, str]
"""A number for every row, and how to say that labelled rows have more, or less, of it."""


def warn_of_choice(
    table: Table | str,
    labelled: Mask,
    weak: Mapping[str, Floats],
    *,
    apart: Iterable[str] = (),
    todo: str | None = None,
    counts: Floats | None = None,
) -> None:
    """Warn if labels taken as a random draw clearly have other weak ratings or features than the rest.

    `todo` says what to do then, where rates are not what is asked for. Of a table that stays in its files, with
    `counts` of the rows that were put together, only the name is given, and only weak ratings are looked at.
    """
    what = clear_difference(table, labelled, weak, apart=apart, counts=counts)
    if what is None:
        return
    if todo is None:
        given = f"give the rates that they were drawn with ({argument('rate')})"
        todo = f"{given}, or read the estimate as that of rows like these"
    name = table if isinstance(table, str) else table.name
    told = f"rows of {name} with a strong rating have clearly {what} than the others"
    warnings.warn(Message(f"{told}: they were not drawn at random; {todo}"), RatewiseWarning, stacklevel=4)


def clear_difference(
    table: Table | str, labelled: Mask, weak: Mapping[str, Floats], *, apart: Iterable[str] = (),
    counts: Floats | None = None,
) -> str | None:  # fmt: skip
    """What labelled rows clearly have more or less of than the others, in words; `None` if they may be a random draw.

    Features are the table's other columns: numbers, and words where there are few different ones. Those in `apart` are
    no features, nor are columns with gaps or with one value in all unlabelled rows: labelling itself fills in such
    columns. A random draw is told apart at most once in 10,000 tables, whatever the columns hold, by a bound that holds
    for any number of labels.
    """
    if not labelled.any() or labelled.all():
        return None
    each = weak if counts is None else {column: _binned(values) for column, values in weak.items()}
    found = _clearest(
        labelled, [t for column, values in each.items() for t in _of_numbers(column, values, counts)], counts
    )
    if found is not None or isinstance(table, str) or table.rows > _MOST_ROWS:
        return found
    left = [name for name in table.columns if name not in {*_OF_THE_DRAW, *weak, *apart}]
    return _clearest(labelled, [t for name in left[:_MOST_COLUMNS] for t in _of_feature(table, name, labelled)])


def _binned(values: Floats) -> Floats:
    """Bins of equal width: rows that were put together stand near their place only, and would break ties."""
    low, width = float(values.min()), float(np.ptp(values))
    return np.floor((values - low) / (width or 1.0) * _BINS * (1 - 1e-9))


def _clearest(labelled: Mask, traits: list[Trait], counts: Floats | None = None) -> str | None:
    limit = _FALSE_ALARM / 2 / max(len(traits), 1)
    for score, more, less in traits:
        if chance_of(score, labelled, counts) < limit:
            return more if score[labelled].mean() > np.average(score, weights=counts) else less
    return None


def _of_numbers(column: str, values: Floats, counts: Floats | None = None) -> Iterator[Trait]:
    """The rank from 0 to 1, ties at their mean rank, and how far it is from the middle."""
    _, index = np.unique(values, return_inverse=True)
    often = np.bincount(index, weights=counts)
    rank = np.asarray(((np.cumsum(often) - 0.5 * often)[index]) / often.sum())
    where = f"values in column {column!r}"
    yield rank, f"higher {where}", f"lower {where}"
    yield np.abs(rank - 0.5), f"further out {where}", f"less far out {where}"


def _of_feature(table: Table, column: str, labelled: Mask) -> Iterator[Trait]:
    try:
        values = table.numbers(column, missing="allow")
    except TableError:
        yield from _of_words(column, table.texts(column, missing="allow"), labelled)
        return
    if not np.isnan(values).any() and np.ptp(values[~labelled]) > 0:
        yield from _of_numbers(column, values)


def _of_words(column: str, texts: Texts, labelled: Mask) -> Iterator[Trait]:
    if len(set(texts[:1000].tolist())) > 10 * _MOST_WORDS:
        return
    words = set(texts.tolist())
    if "" in words or len(words) > _MOST_WORDS or len(set(texts[~labelled].tolist())) < 2:
        return
    for word in sorted(words):
        where = f"share of {word[:40]!r} in column {column!r}"
        yield np.asarray(texts == word, dtype=np.float64), f"a larger {where}", f"a smaller {where}"
