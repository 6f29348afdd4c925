"""Words as ratings in a table that stays in its files: its different words are few, and each is read as in memory."""

from dataclasses import dataclass

import numpy as np

from ratewise.errors import TableError
from ratewise.tables import Relation, read_table
from ratewise.tables.condense import Range, in_sql
from ratewise.tables.engine import quoted_text
from ratewise.tables.words import Meaning, in_numbers

_MOST = 1000  # different texts in a column of ratings


@dataclass(frozen=True, slots=True)
class WordsInSql:
    """The SQL of a column of words as numbers, their range, and notes on what was taken for what."""

    sql: str
    range: Range
    notes: tuple[str, ...]


def words_in_sql(relation: Relation, column: str, meaning: Meaning, *, strong: bool) -> WordsInSql | None:
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
