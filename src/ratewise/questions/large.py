"""Rated tables that are too large to hold: an estimate needs their labels one by one, and of all other rows only sums.

`read_large` is `read_rated` for such tables, with the same checks; a table or a question that is not for it is left to
`read_rated`, which takes all rows into memory.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.estimate import EstimateOptions
from ratewise.core.ratings import Mask, Ratings
from ratewise.core.votes import Votes
from ratewise.errors import TableError
from ratewise.questions import rated as readers
from ratewise.questions.draw_checks import check_count, check_number, warn_of_large_choice
from ratewise.questions.rated import Pool, RatedColumns, check_labels
from ratewise.questions.rating_sql import LargeRatings, large_ratings
from ratewise.tables import Table, TableLike, open_relation, read_table
from ratewise.tables.cells import Texts, unmasked
from ratewise.tables.condense import Condensed, Expressions, condense, conditions
from ratewise.tables.files import files_among, files_of, kind_of
from ratewise.tables.read import in_memory, read_several
from ratewise.tables.spark import SparkTable, SqlTable, is_spark
from ratewise.tables.words import Meaning

_LARGE_FILE = 32 * 2**20  # bytes of text that are read in pieces rather than whole
_OUTSIDE = 1 + 1e-15


@dataclass(frozen=True, slots=True, eq=False)
class LargeTable:
    """What `RatedTable` is for a table in memory; all rows that count were looked at."""

    name: str
    items: Ratings
    groups: Texts | None
    rows: int
    looked: int
    pool: Pool
    told: tuple[str, ...] = ()  # of words, and of a rate that was assumed
    votes: Votes | None = None  # of the first items, which are all that have some

    def notes(self, how: EstimateOptions) -> tuple[str, ...]:
        """What there is to say about how the table was read, and about what its pool is."""
        return self.told + readers.unlooked(self.rows - self.looked, how) + self.pool.notes(how)


def large_relation(source: TableLike | SqlTable) -> SqlTable | None:
    """The table where it is, if it lies in files and has more rows than are read whole."""
    if isinstance(source, SqlTable):
        return source
    if is_spark(source):
        return SparkTable.of(source, "table")
    if not isinstance(source, str | os.PathLike) or os.fsdecode(source) == "-":
        return None
    try:
        files = files_of(os.fsdecode(source))
        small = kind_of(files) != "Parquet" and sum(map(os.path.getsize, files)) < _LARGE_FILE
        relation = None if small else open_relation(source)
    except (TableError, OSError):
        return None  # whoever reads it whole says what is wrong
    return relation if relation is not None and relation.count() > readers.MANY_ROWS else None


def read_whole(source: TableLike, relation: SqlTable | None) -> Table:
    """A table in memory: of a relation that could not be asked, of a file, or of a folder or pattern of several."""
    if isinstance(relation, SparkTable):
        raise TableError(
            f"{relation.name} is a table of Spark, and this would collect all of its rows: give ratings that are "
            "numbers, or words that are few; other recalibrations than an affine one, the anytime "
            "interval, and slices of a table in which some rows have no rate, are for tables in memory"
        )
    if relation is not None:
        return in_memory(relation)
    if isinstance(source, str | os.PathLike) and (path := os.fsdecode(source)) != "-" and files_among(path):
        return read_several(path)
    return read_table(source)


def read_large(
    relation: SqlTable,
    columns: RatedColumns,
    *,
    folds: bool,
    by: str | None = None,
    sure_without_weak: bool = False,
    meaning: Meaning = Meaning(),  # noqa: B008 - frozen
    people: Sequence[str] = (),
) -> LargeTable | None:
    """The rated rows of a large table; nothing where only `read_rated` can read it.

    Clusters are kept apart, so what it holds grows with them. `sure_without_weak`: rows of rate 1 need no weak rating,
    as where strata were rated by the strong rater alone. `meaning` says what words stand for; `people` are the columns
    of several people's strong ratings, whose mean counts.
    """
    clusters = columns.draw.clusters
    if columns.weak is None or (clusters is not None and by is not None):
        return None
    by = clusters if by is None else by
    if by not in (None, *relation.columns):
        return None
    strong = tuple(people) or (columns.strong,)
    found = large_ratings(relation, (columns.weak,), strong, columns.draw, meaning, votes=bool(people))
    if found is None:
        return None
    what = found.expressions(0)
    if sure_without_weak:  # Δ = H whatever stands here
        sure = f"CASE WHEN {what.rate} >= 1 THEN coalesce({what.strong}, 0.0) END"
        filled = f"coalesce({what.weak}, {sure})"
        what = replace(what, weak=filled, quick=None if what.quick is None else replace(what.quick, weak=filled))
    what = replace(what, by=None if by is None else relation.text_in_sql(by))
    groups = 1 if clusters is None else _clusters(found, clusters)
    made = condense(
        relation.ask, what, folds=folds and clusters is None, weak=found.weak[0].range, rate=found.rate.range,
        groups=groups,
    )  # fmt: skip
    check_large(found, what, made, columns.weak, columns.strong)
    labelled = ~np.isnan(made.strong)
    drawn = labelled if made.asked is None or found.rate.assumed else made.asked
    check_large_draw(found, drawn, {columns.weak: made.weak}, made.rates, made.counts, rough=groups > 1)
    items = Ratings(
        made.weak, made.strong, made.rates, made.asked, None if clusters is None or made.by is None else made.by,
        counts=made.counts, folds=made.folds, sums=made.sums,
    )  # fmt: skip
    votes = Votes(made.beside, tuple(people)) if people else None
    pool = Pool.of_relation(relation, relation.count(), items.items)
    return LargeTable(relation.name, items, made.by, relation.count(), items.items, pool, found.notes, votes)


def check_large(
    found: LargeRatings, what: Expressions, made: Condensed, weak: str, strong: str, *, fewest: int = 2
) -> None:
    """What `read_rated` refuses, by the first row that is wrong; at least `fewest` rows must have a strong rating."""
    relation, rate = found.relation, found.rate
    labelled, q = ~np.isnan(made.strong), made.rates
    check_labels(relation.name, strong, int(np.count_nonzero(labelled)), fewest)
    wrong = [
        ("has a strong rating but no rate above 0: give the rate it was drawn with", "h IS NOT NULL AND q IS NULL"),
        (f"has a rate outside (0, 1] in {rate.source}", "q <= 0 OR q > 1"),
        ("has a strong rating but is not selected; check the selected column", "h IS NOT NULL AND s = 0"),
        (
            f"has {'no' if rate.assumed else 'a rate but no'} weak rating in column {weak!r}; rate it first",
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


def check_large_draw(
    found: LargeRatings, drawn: Mask, weak: Mapping[str, Floats], rates: Floats, counts: Floats, *, rough: bool = False
) -> None:
    """The rows drawn are as many as the rates say, or look like a random draw where nobody says the rates.

    `rough`: rates of rows that were put together are not their means, so the sums of all are asked for.
    """
    name, source = found.relation.name, found.rate.source
    if found.rate.assumed:
        warn_of_large_choice(name, drawn, weak, counts)
    elif not rough:
        check_count(name, rates, drawn, source, counts)
    else:
        query = f"SELECT {found.rate.sql} AS q FROM {found.relation.source_in_sql()}"
        sums = found.relation.ask(
            "SELECT coalesce(sum(q), 0e0) AS a, coalesce(sum(q * (1e0 - q)), 0e0) AS b"
            f" FROM ({query}) t WHERE q > 0 AND q < 1"
        )
        count = int(np.count_nonzero(drawn & (rates > 0) & (rates < 1)))
        check_number(name, count, float(sums["a"][0]), float(sums["b"][0]), source)


def _clusters(found: LargeRatings, column: str) -> int:
    """How many clusters there are among rows that have a rate; each row needs one."""
    relation, text = found.relation, found.relation.text_in_sql(column)
    answer = relation.ask(
        f"SELECT count(DISTINCT t) AS n, min(CASE WHEN t = '' THEN r END) AS r FROM (SELECT {text} AS t,"
        f" {relation.row_in_sql or 0} AS r FROM {relation.source_in_sql()} WHERE {found.rate.sql} IS NOT NULL) x"
    )
    lost = unmasked(answer["r"])[0]
    if lost is not None and not np.isnan(float(lost)):
        raise TableError(
            f"row {int(lost) + 1} of {relation.name} has no cluster in column {column!r}; give it one, its own if alone"
        )
    return int(answer["n"][0])
