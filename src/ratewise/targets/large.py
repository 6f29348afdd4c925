"""Rated tables that are too large to hold: an estimate needs their labels one by one, and of all other rows only sums.

`read_large` is `read_rated` for such tables, with the same checks; a table or a question that is not for it is left to
`read_rated`, which takes all rows into memory.
"""

import os
from dataclasses import dataclass, replace

import numpy as np

from ratewise.core.checks import share
from ratewise.core.mean.ratings import Rated
from ratewise.errors import TableError
from ratewise.tables import Relation, Table, TableLike, open_relation, read_table
from ratewise.tables.condense import Condensed, Expressions, condense, conditions, in_sql
from ratewise.tables.convert import Texts
from ratewise.tables.places import files_among, files_of, kind_of
from ratewise.tables.spark import is_spark
from ratewise.tables.whole import in_memory, read_several
from ratewise.targets import rated as readers
from ratewise.targets.draw_checks import check_count
from ratewise.targets.mean.pooled import COLUMN as EXPORTED
from ratewise.targets.rated import RATE, SELECTED, RatedColumns, check_labels

_LARGE_FILE = 32 * 2**20  # bytes of text that are read in pieces rather than whole
_OUTSIDE = 1 + 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class LargeTable:
    """What `RatedTable` is for a table in memory; all rows that count were looked at."""

    name: str
    items: Rated
    groups: Texts | None
    rows: int
    looked: int

    @property
    def notes(self) -> tuple[str, ...]:
        """A note on what the rows without a rate mean, if there are any."""
        left = self.rows - self.looked
        return (f"{left:,} rows without a rate were not looked at and do not count",) if left else ()


def large_relation(source: TableLike | Relation) -> Relation | None:
    """The table where it is, if it lies in files and has more rows than are read whole."""
    if isinstance(source, Relation):
        return source
    if is_spark(source):
        return open_relation(source)
    if not isinstance(source, str | os.PathLike) or os.fsdecode(source) == "-":
        return None
    try:
        files = files_of(os.fsdecode(source))
        small = kind_of(files) != "Parquet" and sum(map(os.path.getsize, files)) < _LARGE_FILE
        relation = None if small else open_relation(source)
    except (TableError, OSError):
        return None  # whoever reads it whole says what is wrong
    return relation if relation is not None and relation.count() > readers.MANY_ROWS else None


def read_whole(source: TableLike, relation: Relation | None) -> Table:
    """A table in memory: of a relation that could not be asked, of a file, or of a folder or pattern of several."""
    if relation is not None and not relation.in_files and relation.takes_sql:
        raise TableError(
            f"{relation.name} is a table of Spark, and this would collect all of its rows: give ratings that are "
            "numbers and the rate they were drawn with (a column 'rate', or rate=0.05); clusters, recalibration, "
            "words, several people's columns, the anytime interval, and slices of a table in which some rows have no "
            "rate, are for tables in memory"
        )
    if relation is not None:
        return in_memory(relation)
    if isinstance(source, str | os.PathLike) and (path := os.fsdecode(source)) != "-" and files_among(path):
        return read_several(path)
    return read_table(source)


def read_large(
    relation: Relation, columns: RatedColumns, *, folds: bool, by: str | None = None, sure_without_weak: bool = False
) -> LargeTable | None:
    """The rated rows of a large table; nothing where only `read_rated` can read it.

    It takes ratings that are numbers and a rate that is known, and knows no clusters. `sure_without_weak`: rows of rate
    1 need no weak rating, as where strata were rated by the strong rater alone.
    """
    found = _expressions(relation, columns, by)
    if found is None:
        return None
    what, source = found
    if sure_without_weak:  # Δ = H whatever stands here
        sure = f"CASE WHEN {what.rate} >= 1 THEN coalesce({what.strong}, 0.0) END"
        filled = f"coalesce({what.weak}, {sure})"
        what = replace(what, weak=filled, quick=None if what.quick is None else replace(what.quick, weak=filled))
    rate = relation.range_of(_rate_column(relation, columns)) if relation.in_files else None
    weak = None if rate is None or columns.weak is None else relation.range_of(columns.weak)
    made = condense(relation.ask, what, folds=folds, weak=weak, rate=rate)
    _check(relation, what, made, columns, source)
    items = Rated(made.weak, made.strong, made.rates, made.asked, counts=made.counts, folds=made.folds)
    return LargeTable(relation.name, items, made.by, relation.count(), items.size)


def _rate_column(relation: Relation, columns: RatedColumns) -> str | float | None:
    rate = columns.draw.rate
    return RATE if rate is None and RATE in relation.columns else rate


def _expressions(relation: Relation, columns: RatedColumns, by: str | None) -> tuple[Expressions, str] | None:
    draw, weak = columns.draw, columns.weak
    rate = _rate_column(relation, columns)
    if weak is None or rate is None or draw.clusters is not None or EXPORTED in relation.columns:
        return None
    named = rate if isinstance(rate, str) and rate in relation.columns else None
    asked = draw.selected or (SELECTED if SELECTED in relation.columns else None)
    wanted = [name for name in (weak, columns.strong, named, asked) if name is not None]
    if any(name not in relation.columns for name in (*wanted, *([] if by is None else [by]))):
        return None
    numbers = relation.numbers_in_sql(wanted)
    if numbers is None:
        return None
    if named is None:
        try:
            value = share(float(rate), name=RATE, one=True)
        except ValueError:
            return None  # several columns, or none
        rated, source = in_sql(value), f"the rate {value:g}"
    else:
        rated, source = numbers[named], f"column {named!r}"
    quick = relation.quick_in_sql(weak, named, columns.strong, asked)
    what = Expressions(
        relation.source_in_sql(), numbers[weak], numbers[columns.strong], rated,
        asked=None if asked is None else numbers[asked],
        row=relation.row_in_sql, by=None if by is None else relation.text_in_sql(by),
        quick=quick if quick is None or named is not None else replace(quick, rate=rated),
    )  # fmt: skip
    return what, source


def _check(relation: Relation, what: Expressions, made: Condensed, columns: RatedColumns, source: str) -> None:
    """What `read_rated` refuses, by the first row that is wrong."""
    labelled, q = ~np.isnan(made.strong), made.rates
    check_labels(relation.name, columns.strong, int(np.count_nonzero(labelled)), 2)
    wrong = [
        ("has a strong rating but no rate above 0: give the rate it was drawn with", "h IS NOT NULL AND q IS NULL"),
        (f"has a rate outside (0, 1] in {source}", "q <= 0 OR q > 1"),
        ("has a strong rating but is not selected; check the selected column", "h IS NOT NULL AND s = 0"),
        (
            f"has a rate but no weak rating in column {columns.weak!r}; rate it first",
            "q IS NOT NULL AND g IS NULL",
        ),
        (
            "has a rating that is infinite or beyond 1e+50; give a finite number or an empty cell",
            "abs(g) > 1e50 OR abs(h) > 1e50",
        ),
    ]
    if made.asked is None:
        wrong.pop(2)
    sound = (q > 0) & (q <= _OUTSIDE) & np.isfinite(made.weak) & (np.abs(made.weak) < 1e50)
    sound &= ~(np.abs(made.strong) > 1e50)
    if not sound.all() or (made.asked is not None and bool((labelled & ~made.asked).any())):
        answer = relation.ask(conditions(what, wrong))
        for number, (message, _) in enumerate(wrong):
            if answer[f"n{number}"][0]:
                where = f"row {int(answer[f'r{number}'][0]) + 1:,} of " if what.row is not None else "a row of "
                raise TableError(f"{where}{relation.name} {message}")
    drawn = labelled if made.asked is None else made.asked
    check_count(relation.name, q, drawn, source, made.counts)
