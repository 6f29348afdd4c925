"""Were labels that are taken as a random draw picked by hand? Labelled rows against the others, column by column."""

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Mask
from ratewise.errors import RatewiseWarning, TableError
from ratewise.questions.draw_checks import chance_of
from ratewise.tables import Table
from ratewise.tables.convert import Texts

_FALSE_ALARM = 1e-4  # of the warning, at most: half for weak ratings, half for all other columns
_OF_THE_DRAW = frozenset({"id", "rate", "selected", "pool_size", "weight", "rate_new", "weak_calibrated"})
_MOST_WORDS = 20  # different ones in a column; more are text
_MOST_COLUMNS = 60  # that are looked at beside weak ratings
_BINS = 256  # of weak ratings, where rows were put together
_MOST_ROWS = 1_000_000  # of a table whose other columns are looked at: more would take seconds


@dataclass(frozen=True, slots=True, eq=False)
class _Trait:
    """A number for every row, and how to say that labelled rows have more or less of it."""

    score: Floats
    more: str
    less: str


def warn_of_choice(
    table: Table,
    labelled: Mask,
    weak: Mapping[str, Floats],
    *,
    apart: Iterable[str] = (),
    todo: str | None = None,
) -> None:
    """Warn if labels taken as a random draw clearly have other weak ratings or features than the rest.

    `todo` says what to do then, where rates are not what is asked for.
    """
    _warn(table.name, clear_difference(table, labelled, weak, apart=apart), todo)


def warn_of_large_choice(name: str, labelled: Mask, weak: Mapping[str, Floats], counts: Floats) -> None:
    """`warn_of_choice` of a large table whose rows without labels were put together: by weak ratings alone."""
    if labelled.any() and not labelled.all():
        traits = [trait for column, values in weak.items() for trait in _of_numbers(column, _binned(values), counts)]
        _warn(name, _clearest(labelled, traits, counts), None)


def _binned(values: Floats) -> Floats:
    """Bins of equal width: rows that were put together stand near their place only, and would break ties."""
    low, width = float(values.min()), float(np.ptp(values))
    return np.floor((values - low) / (width or 1.0) * _BINS * (1 - 1e-9))


def _warn(name: str, what: str | None, todo: str | None) -> None:
    if what is None:
        return
    if todo is None:
        given = f"give the rates that they were drawn with ({argument('rate')})"
        todo = f"{given}, or read the estimate as that of rows like these"
    told = f"rows of {name} with a strong rating have clearly {what} than the others"
    warnings.warn(Message(f"{told}: they were not drawn at random; {todo}"), RatewiseWarning, stacklevel=5)


def clear_difference(
    table: Table, labelled: Mask, weak: Mapping[str, Floats], *, apart: Iterable[str] = ()
) -> str | None:
    """What labelled rows clearly have more or less of than the others, in words; `None` if they may be a random draw.

    Features are the table's other columns: numbers, and words where there are few different ones. Those in `apart` are
    no features, nor are columns with gaps or with one value in all unlabelled rows: labelling itself fills in such
    columns. A random draw is told apart at most once in 10,000 tables, whatever the columns hold, by a bound that holds
    for any number of labels.
    """
    if not labelled.any() or labelled.all():
        return None
    ratings = [trait for column, values in weak.items() for trait in _of_numbers(column, values)]
    found = _clearest(labelled, ratings)
    if found is not None or table.rows > _MOST_ROWS:
        return found
    left = [name for name in table.columns if name not in {*_OF_THE_DRAW, *weak, *apart}]
    return _clearest(labelled, [t for name in left[:_MOST_COLUMNS] for t in _of_feature(table, name, labelled)])


def _clearest(labelled: Mask, traits: list[_Trait], counts: Floats | None = None) -> str | None:
    limit = _FALSE_ALARM / 2 / max(len(traits), 1)
    found = next((trait for trait in traits if chance_of(trait.score, labelled, counts) < limit), None)
    if found is None:
        return None
    return found.more if found.score[labelled].mean() > np.average(found.score, weights=counts) else found.less


def _of_numbers(column: str, values: Floats, counts: Floats | None = None) -> Iterator[_Trait]:
    rank, where = _ranks(values, counts), f"values in column {column!r}"
    yield _Trait(rank, f"higher {where}", f"lower {where}")
    yield _Trait(np.abs(rank - 0.5), f"further out {where}", f"less far out {where}")


def _of_feature(table: Table, column: str, labelled: Mask) -> Iterator[_Trait]:
    try:
        values = table.numbers(column, missing="allow")
    except TableError:
        yield from _of_words(column, table.texts(column, missing="allow"), labelled)
        return
    if not np.isnan(values).any() and np.ptp(values[~labelled]) > 0:
        yield from _of_numbers(column, values)


def _of_words(column: str, texts: Texts, labelled: Mask) -> Iterator[_Trait]:
    if len(set(texts[:1000].tolist())) > 10 * _MOST_WORDS:
        return
    words = set(texts.tolist())
    if "" in words or len(words) > _MOST_WORDS or len(set(texts[~labelled].tolist())) < 2:
        return
    for word in sorted(words):
        where = f"share of {word[:40]!r} in column {column!r}"
        yield _Trait(np.asarray(texts == word, dtype=np.float64), f"a larger {where}", f"a smaller {where}")


def _ranks(values: Floats, counts: Floats | None = None) -> Floats:
    """Ranks from 0 to 1; ties get their mean rank."""
    _, index = np.unique(values, return_inverse=True)
    often = np.bincount(index, weights=counts)
    middle = np.cumsum(often) - 0.5 * often
    return np.asarray(middle[index] / often.sum())
