"""Rated tables that are too large to hold: an estimate needs their labels one by one, and of all other rows only sums.

`read_in_files` is `read_rated` for such tables; a table or a question that is not for it is read whole. First comes the
SQL of ratings and rates: numbers, words with a meaning, and a rate where no column says one.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from ratewise.core.checks import Floats, share
from ratewise.core.estimate import EstimateOptions
from ratewise.core.names import Recalibration
from ratewise.core.ratings import Mask, Ratings
from ratewise.core.votes import Votes
from ratewise.errors import TableError
from ratewise.questions import rated as readers
from ratewise.questions.draw_checks import check_count, check_number, warn_of_choice
from ratewise.questions.export_terms import COLUMN as EXPORTED
from ratewise.questions.people import ends_of, strong_columns
from ratewise.questions.rated import (
    RATE,
    SELECTED,
    RatedTable,
    TableColumns,
    TableDraw,
    TablePool,
    assumed_note,
    check_labels,
    refuse_row,
    refuse_without_weak,
    refuse_wrong,
)
from ratewise.tables import Table, TableLike, open_relation, read_table
from ratewise.tables.cells import LARGEST, NumberSql, unmasked
from ratewise.tables.condense import Condensed, Expressions, condense, floats, in_sql
from ratewise.tables.engine import quoted_text
from ratewise.tables.files import files_among, files_of, kind_of
from ratewise.tables.read import in_memory
from ratewise.tables.spark import SparkTable, SqlTable, is_spark
from ratewise.tables.words import Meaning, in_numbers

_MOST = 1000  # different texts in a column of ratings


@dataclass(frozen=True, slots=True, eq=False)
class LargeRatings:
    """Where the ratings of one system or several are, and how their rows were drawn."""

    relation: SqlTable
    weak: tuple[NumberSql, ...]
    strong: tuple[NumberSql, ...]
    asked: NumberSql | None
    rate: NumberSql
    source: str  # what messages call the rate
    assumed: bool  # nobody says the rate: it is that of a random draw
    notes: tuple[str, ...]
    votes: tuple[str, ...] = ()  # the SQL of each person's, where the rating is their mean

    @property
    def labelled(self) -> str:
        """The SQL of whether a row has a strong rating of any system."""
        return _any_given(self.strong)

    def expressions(self, i: int, j: int | None = None) -> Expressions:
        """Ratings of one system, or of one less another."""
        weak, strong = self.weak[i], self.strong[i]
        if j is not None:
            weak, strong = weak.less(self.weak[j]), strong.less(self.strong[j])
        elif len(self.strong) > 1:
            strong = replace(strong, values=None)  # rows that have a label of another system stand alone, too
        return Expressions(
            self.relation.source_in_sql(), weak, strong, self.rate, labelled=self.labelled, asked=self.asked,
            row=self.relation.row_in_sql, beside=self.votes,
        )  # fmt: skip


def large_ratings(
    relation: SqlTable, weak: Sequence[str], strong: Sequence[str], draw: TableColumns, meaning: Meaning, *,
    votes: bool = False,
) -> LargeRatings | None:  # fmt: skip
    """The ratings of a table that stays in its files; nothing where it has to be read whole to know more.

    `votes`: the strong columns are several people's, whose mean is the rating.
    """
    asked = draw.selected or (SELECTED if SELECTED in relation.columns else None)
    rate = RATE if draw.rate is None and RATE in relation.columns else draw.rate
    named = rate if isinstance(rate, str) and rate in relation.columns else None
    wanted = [*weak, *strong, *(name for name in (asked, named) if name is not None)]
    if EXPORTED in relation.columns or any(name not in relation.columns for name in wanted):
        return None
    ratings = _ratings(relation, weak, strong, meaning)
    asked_sql, rate_sql = (None if name is None else relation.number_in_sql(name) for name in (asked, named))
    if ratings is None or (asked_sql is None) != (asked is None) or (rate_sql is None) != (named is None):
        return None
    columns, notes = ratings
    of_strong, people = tuple(columns[name] for name in strong), tuple(columns[name].sql for name in strong)
    if votes:
        of_strong = (_mean(of_strong),)
    number, source = rate_sql, f"column {named!r}"
    if number is None and rate is None:  # labels are taken as a random draw of all rows
        given = _any_given(of_strong)
        drawn = given if asked_sql is None else f"({given} OR coalesce({asked_sql.sql}, 0) <> 0)"
        counts = relation.ask(
            f"SELECT count(*) AS n, sum(CASE WHEN {given} THEN 1 ELSE 0 END) AS h,"
            f" sum(CASE WHEN {drawn} THEN 1 ELSE 0 END) AS d FROM {relation.source_in_sql()}"
        )
        rows, labels, many = (int(counts[name][0]) for name in "nhd")
        if labels == rows or many == 0:
            return None
        number, source = _one_rate(many / rows), "one rate for all"
        notes += (assumed_note(many, many / rows),)
    elif number is None:
        try:
            value = share(float(rate or 0.0), name=RATE, one=True)
        except ValueError:
            return None  # several columns, or none
        number, source = _one_rate(value), f"the rate {value:g}"
    return LargeRatings(
        relation, tuple(columns[name] for name in weak), of_strong, asked_sql, number, source, rate is None, notes,
        people if votes else (),
    )  # fmt: skip


def _one_rate(value: float) -> NumberSql:
    return NumberSql(in_sql(value), in_sql(value), "true", "true", (value, value))


def _ratings(
    relation: SqlTable, weak: Sequence[str], strong: Sequence[str], meaning: Meaning
) -> tuple[dict[str, NumberSql], tuple[str, ...]] | None:
    """Columns of ratings as numbers, and notes on words among them."""
    columns, notes = dict[str, NumberSql](), list[str]()
    said = bool(meaning.positive or meaning.scale)
    for name in dict.fromkeys([*strong, *weak]):
        number = None
        if not said or name not in strong:
            with suppress(TableError):  # a column of text, in Spark
                number = relation.number_in_sql(name)
        if number is None:
            words = _words(relation, name, meaning, strong=name in strong)
            if words is None:
                return None
            number, more = words
            notes += more
        columns[name] = number
    return columns, tuple(dict.fromkeys(notes))


def _words(
    relation: SqlTable, name: str, meaning: Meaning, *, strong: bool
) -> tuple[NumberSql, tuple[str, ...]] | None:
    """A column's words as numbers, and notes on what was taken for what.

    Nothing where it has too many different ones, or one that means nothing: who reads the table whole says which row.
    """
    text = relation.text_in_sql(name)
    asked = f"SELECT DISTINCT {text} AS t FROM {relation.source_in_sql()} LIMIT {_MOST + 1}"
    texts = sorted(str(one) for one in relation.ask(asked)["t"].tolist())
    if len(texts) > _MOST or any("'" in one or "\\" in one for one in texts):  # engines write those differently
        return None
    table = read_table({name: np.array(texts, dtype=object)}, name=relation.name)
    try:
        read, notes = in_numbers(
            table, strong=[name] if strong else (), weak=() if strong else [name], meaning=meaning
        )  # fmt: skip
        numbers = read.numbers(name, missing="allow")
    except TableError:
        return None
    known = [(word, float(x)) for word, x in zip(texts, numbers, strict=True) if not np.isnan(x)]
    if not known:
        return None
    cases = " ".join(f"WHEN {quoted_text(word)} THEN {in_sql(x)}" for word, x in known)
    values = [x for _, x in known]
    return NumberSql(f"CASE {text} {cases} END", range=(min(values), max(values))), notes


def _mean(columns: Sequence[NumberSql]) -> NumberSql:
    """The mean of the votes that are there."""
    count = " + ".join(f"(CASE WHEN {one.sql} IS NULL THEN 0e0 ELSE 1e0 END)" for one in columns)
    total = " + ".join(f"coalesce({one.sql}, 0e0)" for one in columns)
    return NumberSql(f"CASE WHEN {_any_given(columns)} THEN ({total}) / ({count}) END")


def _any_given(columns: Sequence[NumberSql]) -> str:
    return f"({' OR '.join(one.there for one in columns)})"


_LARGE_FILE = 32 * 2**20  # bytes of text that are read in pieces rather than whole
_OUTSIDE = 1 + 1e-15


# Reading


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
    if isinstance(source, str | os.PathLike) and files_among(os.fsdecode(source)):
        return in_memory(open_relation(source))
    return read_table(source)


def read_in_files(
    relation: SqlTable | None, columns: TableColumns, meaning: Meaning, how: EstimateOptions,
    recalibrate: Recalibration = "none", *, by: str | None = None, chosen: bool = False,
) -> RatedTable | None:  # fmt: skip
    """The rated rows of a table that stays in its files, in few rows; nothing where it has to be read whole.

    Its table has the column `by` alone: slices, or what rows were `chosen` by; then rows of rate 1 need no weak rating.
    Clusters are kept apart, so what it holds grows with them. Folds are there where a line will be fitted. `meaning`
    says what words stand for; of several people's strong ratings the mean counts.
    """
    affine = recalibrate == "affine" and columns.clusters is None
    if relation is None or columns.strong is None or how.interval == "anytime" or not (affine or recalibrate == "none"):
        return None
    if not chosen and "weight" in relation.columns and columns.rate in (None, RATE):
        return None  # `refuse_unused_weights` looks at it
    folds = affine or how.method == "auto"
    clusters, weak, people = columns.clusters, columns.weak, strong_columns(relation, columns.strong)
    apart, several = clusters if by is None else by, len(people) > 1
    if weak is None or (clusters is not None and by is not None) or apart not in (None, *relation.columns):
        return None
    found = large_ratings(relation, (weak,), people, columns, meaning, votes=several)
    if found is None:
        return None
    what = found.expressions(0)
    if chosen:  # Δ = H whatever stands here
        sure = f"CASE WHEN {what.rate.sql} >= 1 THEN coalesce({what.strong.sql}, 0.0) END"
        filled = f"coalesce({what.weak.sql}, {sure})"
        plain = None if what.weak.plain is None else filled
        what = replace(what, weak=NumberSql(filled, plain, range=what.weak.range))
    what = replace(what, by=None if apart is None else relation.text_in_sql(apart))
    groups = 1 if clusters is None else _clusters(found, clusters)
    rows = condense(relation.ask, what, folds=folds and clusters is None, groups=groups)
    labelled = ~np.isnan(rows.strong)
    named = f"mean of {', '.join(people)}" if several else people[0]
    check_labels(relation.name, named, int(np.count_nonzero(labelled)), 2)
    check_rows(found, what, rows, weak)
    drawn = labelled if rows.asked is None or found.assumed else rows.asked
    check_large_draw(found, drawn, {weak: rows.weak}, rows.rates, rows.counts, rough=groups > 1)
    items = Ratings(
        rows.weak, rows.strong, rows.rates, rows.asked, rows.by if by is None else None,
        counts=rows.counts, folds=rows.folds, sums=rows.sums,
    )  # fmt: skip
    every = np.ones(items.rows, dtype=np.bool_)
    table = read_table({RATE: rows.rates} if by is None else {by: rows.by}, name=relation.name)
    votes = Votes(rows.beside, tuple(people)) if several else None
    scale = meaning.bounds if votes is None else ends_of(votes, meaning)
    if affine and items.folds is None:
        return None
    pool = TablePool.of(relation, items.items)
    return RatedTable(table, items, every, every, found.notes, False, pool, votes, scale)


_WRONG = (
    "h IS NOT NULL AND (q IS NULL OR s = 0) OR q <= 0 OR q > 1 OR q IS NOT NULL AND g IS NULL"
    " OR abs(g) > 1e50 OR abs(h) > 1e50"
)


def check_rows(found: LargeRatings, what: Expressions, rows: Condensed, weak: str) -> None:
    """Refuse what `read_rated` refuses: where the condensed rows show that something is wrong, the first such row."""
    sound = (rows.rates > 0) & (rows.rates <= _OUTSIDE) & (np.abs(rows.weak) < LARGEST)
    sound &= ~(np.abs(rows.strong) > LARGEST)
    unasked = None if rows.asked is None else ~np.isnan(rows.strong) & ~rows.asked
    if sound.all() and (unasked is None or not unasked.any()):
        return
    asked = "1" if what.asked is None else f"CASE WHEN coalesce({what.asked.sql}, 0) <> 0 THEN 1 ELSE 0 END"
    answer = found.relation.ask(
        f"SELECT * FROM (SELECT {what.weak.sql} AS g, {what.strong.sql} AS h, {what.rate.sql} AS q, {asked} AS s,"
        f" {what.row or 0} AS r FROM {what.source}) t WHERE {_WRONG} ORDER BY r LIMIT 1"
    )
    if not answer:
        return
    g, h, q, s, r = (floats(unmasked(answer[name])) for name in "ghqsr")
    name, number = found.relation.name, r if what.row else np.array([np.nan])
    refuse_wrong(name, TableDraw(q, s != 0, (), found.assumed, found.source), ~np.isnan(h), number)
    refuse_without_weak(name, g, weak, TableDraw(q, None, (), found.assumed, found.source), number)
    what_is = "has a rating that is infinite or beyond 1e+50; give a finite number or an empty cell"
    refuse_row(name, (np.abs(g) > LARGEST) | (np.abs(h) > LARGEST), what_is, number)


def check_large_draw(
    found: LargeRatings, drawn: Mask, weak: Mapping[str, Floats], rates: Floats, counts: Floats, *, rough: bool = False
) -> None:
    """The rows drawn are as many as the rates say, or look like a random draw where nobody says the rates.

    `rough`: rates of rows that were put together are not their means, so the sums of all are asked for.
    """
    name, source = found.relation.name, found.source
    if found.assumed:
        warn_of_choice(name, drawn, weak, counts=counts)
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
