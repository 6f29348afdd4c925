"""The SQL of a large table's ratings and rates: numbers, words with a meaning, and a rate where no column says one."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratewise.core.checks import share
from ratewise.errors import TableError
from ratewise.questions.export_terms import COLUMN as EXPORTED
from ratewise.questions.rated import RATE, SELECTED, DrawColumns, assumed_note
from ratewise.tables import read_table
from ratewise.tables.condense import Expressions, Plain, Quick, Range, in_sql
from ratewise.tables.engine import quoted_text
from ratewise.tables.spark import SqlTable
from ratewise.tables.words import Meaning, in_numbers

_MOST = 1000  # different texts in a column of ratings


@dataclass(frozen=True, slots=True)
class WordsInSql:
    """The SQL of a column of words as numbers, their range, and notes on what was taken for what."""

    sql: str
    range: Range
    notes: tuple[str, ...]


def words_in_sql(relation: SqlTable, column: str, meaning: Meaning, *, strong: bool) -> WordsInSql | None:
    """The numbers of a column's words; nothing where it has too many different ones, or one that means nothing.

    Whoever reads the table whole then says which row it is.
    """
    text = relation.text_in_sql(column)
    asked = f"SELECT DISTINCT {text} AS t FROM {relation.source_in_sql()} LIMIT {_MOST + 1}"
    texts = sorted(str(one) for one in relation.ask(asked)["t"].tolist())
    if len(texts) > _MOST or any("'" in one or "\\" in one for one in texts):  # engines write those differently
        return None
    table = read_table({column: np.array(texts, dtype=object)}, name=relation.name)
    names = [column]
    try:
        read, notes = in_numbers(table, strong=names if strong else (), weak=() if strong else names, meaning=meaning)
        numbers = read.numbers(column, missing="allow")
    except TableError:
        return None
    known = [(word, float(x)) for word, x in zip(texts, numbers, strict=True) if not np.isnan(x)]
    if not known:
        return None
    cases = " ".join(f"WHEN {quoted_text(word)} THEN {in_sql(x)}" for word, x in known)
    values = [x for _, x in known]
    return WordsInSql(f"CASE {text} {cases} END", (min(values), max(values)), notes)


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its SQL, NULL where missing, cheaper SQL if there is one, and what its files say about it."""

    sql: str
    plain: Plain | None = None
    range: Range | None = None
    given: int | None = None  # rows that have a value, NaN included


@dataclass(frozen=True, slots=True)
class LargeRate:
    """Rates of all rows: a column, or one number; `assumed` where nobody says it."""

    sql: str
    plain: str | None
    range: Range | None
    source: str
    assumed: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class LargeRatings:
    """Where the ratings of one system or several are, and how their rows were drawn."""

    relation: SqlTable
    weak: tuple[Column, ...]
    strong: tuple[Column, ...]
    asked: Column | None
    rate: LargeRate
    notes: tuple[str, ...]
    votes: tuple[str, ...] = ()  # the SQL of each person's, where the rating is their mean

    @property
    def labelled(self) -> str:
        """The SQL of whether a row has a strong rating of any system."""
        return _any_given(self.strong)

    def expressions(self, i: int, j: int | None = None) -> Expressions:
        """Ratings of one system, or of one less another."""
        if j is None:
            weak, strong, plain = self.weak[i].sql, self.strong[i].sql, _plain(self.weak[i])
        else:
            weak, strong = (f"({x[i].sql} - {x[j].sql})" for x in (self.weak, self.strong))
            both = (_plain(self.weak[i]), _plain(self.weak[j]))
            plain = None if None in both else f"({both[0]} - {both[1]})"
        what = Expressions(
            self.relation.source_in_sql(), weak, strong, self.rate.sql, labelled=self.labelled,
            asked=None if self.asked is None else self.asked.sql, row=self.relation.row_in_sql,
            beside=self.votes,
        )  # fmt: skip
        return replace(what, quick=self._quick(plain))

    def _quick(self, weak: str | None) -> Quick | None:
        if weak is None or self.rate.plain is None:
            return None
        asked = None if self.asked is None or self.asked.plain is None else self.asked.plain.true
        labels = self.strong[0].given if len(self.strong) == 1 else None
        return Quick(weak, self.rate.plain, asked=asked, labels=labels)

    def range_of(self, i: int, j: int | None = None) -> Range | None:
        """A range that holds the weak ratings of one system, or of one less another."""
        one, other = self.weak[i].range, None if j is None else self.weak[j].range
        if j is None or one is None or other is None:
            return one if j is None else None
        return one[0] - other[1], one[1] - other[0]


def large_ratings(
    relation: SqlTable, weak: Sequence[str], strong: Sequence[str], draw: DrawColumns, meaning: Meaning, *,
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
    others = _numbers(relation, [name for name in (asked, named) if name is not None])
    if ratings is None or others is None:
        return None
    columns, notes = ratings
    found = LargeRatings(
        relation, tuple(columns[name] for name in weak), tuple(columns[name] for name in strong),
        None if asked is None else others[asked], LargeRate("NULL", None, None, ""), notes,
    )  # fmt: skip
    if votes:
        found = replace(found, strong=(_mean(found.strong),), votes=tuple(one.sql for one in found.strong))
    if named is not None:
        one = others[named]
        return replace(found, rate=LargeRate(one.sql, _plain(one), one.range, f"column {named!r}"))
    return _assumed(found) if rate is None else _of_number(found, rate)


def _of_number(found: LargeRatings, rate: str | float) -> LargeRatings | None:
    try:
        value = share(float(rate), name=RATE, one=True)
    except ValueError:
        return None  # several columns, or none
    return replace(found, rate=_one_rate(value, f"the rate {value:g}"))


def _one_rate(value: float, source: str, *, assumed: bool = False) -> LargeRate:
    return LargeRate(in_sql(value), in_sql(value), (value, value), source, assumed)


def _assumed(found: LargeRatings) -> LargeRatings | None:
    """The draw of labels taken as a random sample of all rows; nothing where all rows have one."""
    drawn = found.labelled
    if found.asked is not None:
        drawn = f"({drawn} OR coalesce({found.asked.sql}, 0) <> 0)"
    source = found.relation.source_in_sql()
    counts = found.relation.ask(
        f"SELECT count(*) AS n, sum(CASE WHEN {found.labelled} THEN 1 ELSE 0 END) AS h,"
        f" sum(CASE WHEN {drawn} THEN 1 ELSE 0 END) AS d FROM {source}"
    )
    rows, labels, many = (int(counts[name][0]) for name in "nhd")
    if labels == rows or many == 0:
        return None
    p = many / rows
    rate = _one_rate(p, "one rate for all", assumed=True)
    return replace(found, rate=rate, notes=(*found.notes, assumed_note(many, p)))


def _ratings(
    relation: SqlTable, weak: Sequence[str], strong: Sequence[str], meaning: Meaning
) -> tuple[dict[str, Column], tuple[str, ...]] | None:
    """Columns of ratings as numbers, and notes on words among them."""
    columns, notes = {}, []
    said = bool(meaning.positive or meaning.scale)
    for name in dict.fromkeys([*strong, *weak]):
        numbers = None if said and name in strong else _if_numbers(relation, name)
        if numbers is not None:
            columns[name] = numbers[name]
            continue
        words = words_in_sql(relation, name, meaning, strong=name in strong)
        if words is None:
            return None
        columns[name] = Column(words.sql, range=words.range)
        notes += list(words.notes)
    return columns, tuple(dict.fromkeys(notes))


def _if_numbers(relation: SqlTable, name: str) -> dict[str, Column] | None:
    try:
        return _numbers(relation, [name])
    except TableError:  # a column of text, in Spark
        return None


def _numbers(relation: SqlTable, names: Sequence[str]) -> dict[str, Column] | None:
    sql = relation.numbers_in_sql(names) if names else {}
    if sql is None:
        return None
    plain, told = {name: relation.plain_in_sql(name) for name in names}, relation.told(names)
    return {
        name: Column(sql[name], plain[name], told[name].range if plain[name] else None,
                     told[name].given if plain[name] else None)
        for name in names
    }  # fmt: skip


def _mean(columns: Sequence[Column]) -> Column:
    """The mean of the votes that are there."""
    count = " + ".join(f"(CASE WHEN {one.sql} IS NULL THEN 0e0 ELSE 1e0 END)" for one in columns)
    total = " + ".join(f"coalesce({one.sql}, 0e0)" for one in columns)
    return Column(f"CASE WHEN {_any_given(columns)} THEN ({total}) / ({count}) END")


def _plain(column: Column) -> str | None:
    return None if column.plain is None else column.plain.value


def _any_given(columns: Sequence[Column]) -> str:
    each = [f"{one.sql} IS NOT NULL" if one.plain is None else one.plain.given for one in columns]
    return f"({' OR '.join(each)})"
