"""Ratings in words: columns of words become numbers here, once, before anything else reads the table."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from ratewise.core.checks import Floats
from ratewise.errors import InputError, Message, TableError, argument
from ratewise.tables.cells import Array, Texts
from ratewise.tables.table import Table

Positive: TypeAlias = str | Sequence[str] | None
Scale: TypeAlias = Sequence[str] | Mapping[str, float] | None

KNOWN_PAIRS = (
    ("yes", "no"),
    ("true", "false"),
    ("pass", "fail"),
    ("correct", "incorrect"),
    ("right", "wrong"),
)  # 1 and 0
_MOST_OTHERS = 20  # different words beside the positive ones; more are text, not ratings
_MOST_LISTED = 6


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the words stand for: on a scale each its number, with positive words 1 and all others 0.

    Words are compared without their case and the blanks around them. Neither: only well-known pairs are understood.
    """

    positive: tuple[str, ...] = ()
    scale: tuple[tuple[str, float], ...] = ()

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The ends of a scale that was stated."""
        if self.scale:
            return min(x for _, x in self.scale), max(x for _, x in self.scale)
        return (0.0, 1.0) if self.positive else None

    def to_dict(self) -> dict[str, Any]:
        """The words, ready for JSON; empty where only well-known words are understood."""
        return {"positive": list(self.positive), "scale": dict(self.scale)} if self.positive or self.scale else {}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> "Meaning":
        """The inverse of `to_dict`."""
        return cls(tuple(data.get("positive", ())), tuple(data.get("scale", {}).items()))


def meaning_of(positive: Positive = None, scale: Scale = None) -> Meaning:
    """What was said about the words, checked.

    `scale` are words from the worst to the best, which count from 0 to 1 at equal distances, or words with a number
    each; words that are numbers themselves stand for those.
    """
    if positive is not None and scale is not None:
        raise InputError(
            Message(f"{argument('positive')} and {argument('scale')} both say what words mean; give one of them")
        )
    if positive is not None:
        words = tuple(_plain(word) for word in ([positive] if isinstance(positive, str) else positive))
        if not words or not all(words):
            raise InputError(Message(f"{argument('positive')} needs a word, such as correct"))
        return Meaning(positive=words)
    return Meaning(scale=() if scale is None else _scale(scale))


def _scale(scale: Sequence[str] | Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    if isinstance(scale, str):
        raise InputError(f"a scale is a list of words from the worst to the best; got the text {scale!r}")
    words = [_plain(str(word)) for word in scale]
    twice = [word for word in words if words.count(word) > 1]
    if len(words) < 2 or not all(words) or twice:
        problem = f"{twice[0]!r} is there twice" if twice else f"got {len(words)}"
        raise InputError(f"a scale needs two different words or more, from the worst to the best; {problem}")
    if isinstance(scale, Mapping):
        values = [float(x) for x in scale.values()]
    else:
        own = [_number(word) for word in words]
        values = [x for x in own if x is not None]
        if len(values) < len(words):
            values = np.linspace(0.0, 1.0, len(words)).tolist()
    if not np.all(np.isfinite(values)) or np.ptp(values) == 0:
        raise InputError("the numbers of a scale must be finite and not all the same")
    return tuple(zip(words, values, strict=True))


def scale_in(text: str) -> Sequence[str] | dict[str, float]:
    """A scale as it is typed: bad,ok,good or bad=0,ok=1,good=3."""
    parts = [part.strip() for part in text.split(",") if part.strip()]
    if not any("=" in part for part in parts):
        return parts
    found = {}
    for part in parts:
        word, _, number = part.rpartition("=")
        value = _number(number.strip())
        if not word.strip() or value is None:
            raise InputError(f"every word of a scale needs a number, such as bad=0,ok=1,good=3; got {part!r}")
        found[word.strip()] = value
    return found


def in_numbers(
    table: Table, *, strong: Iterable[str], weak: Iterable[str] = (), meaning: Meaning | None = None
) -> tuple[Table, tuple[str, ...]]:
    """The table with its ratings as numbers, and notes that say what words were taken for.

    Strong ratings must be on the scale that was stated. Weak ones may be numbers of their own, such as probabilities.
    """
    meaning = Meaning() if meaning is None else meaning
    columns: dict[str, Floats] = {}
    notes: list[str] = []
    for names, is_strong in ((strong, True), (weak, False)):
        for name in names:
            if name not in columns:
                found = _column(table, name, meaning, strong=is_strong)
                if found is not None:
                    columns[name] = found[0]
                    notes += [f"words as ratings: {found[1]}"] if found[1] else []
    return (table.with_columns(columns, replace=True), tuple(dict.fromkeys(notes))) if columns else (table, ())


def number_in(text: str, meaning: Meaning) -> float | None:
    """The number that one cell stands for; `None` where it is neither a number nor a word that was explained."""
    word = _plain(text)
    if meaning.scale:
        return dict(meaning.scale).get(_same(word, dict(meaning.scale)))
    if meaning.positive:
        return float(_same(word, dict.fromkeys(meaning.positive, 1.0)) in meaning.positive)
    for yes, no in KNOWN_PAIRS:
        if word in (yes, no):
            return float(word == yes)
    return _number(word)


def _column(table: Table, name: str, meaning: Meaning, *, strong: bool) -> tuple[Floats, str] | None:
    """Numbers for the words of a column, and a note; `None` where the column stays as it is."""
    if not (strong and (meaning.positive or meaning.scale)):
        try:
            table.numbers(name, missing="allow")
        except TableError:
            if name not in table.columns:
                raise
        else:
            return None
    texts = table.texts(name, missing="allow")
    words, index = np.unique(np.array([_plain(text) for text in texts], dtype=np.str_), return_inverse=True)
    said = {word: number_in(word, meaning) for word in words.tolist() if word}
    pairs = (pair for pair in KNOWN_PAIRS if said.keys() <= {*pair, "1", "0"} and said.keys() & set(pair))
    pair, note = next(pairs, None), ""
    if meaning.scale:
        _refuse_off_scale(table, name, words, index, said, meaning)
    elif meaning.positive and (strong or pair is None or 1.0 in said.values()):
        note = _ones_and_others(f"column {name!r} of {table.name}", said, meaning)
    elif pair is None:
        raise _unexplained(table, name, words, index, texts)
    else:
        said = {word: float(word in {pair[0], "1"}) for word in said}
        note = f"{pair[0]} counts as 1 and {pair[1]} as 0"
    return np.array([said.get(word, np.nan) for word in words.tolist()], dtype=np.float64)[index], note


def _refuse_off_scale(
    table: Table, name: str, words: Array, index: Array, said: Mapping[str, float | None], meaning: Meaning
) -> None:
    rows = np.array([bool(word) and said[word] is None for word in words.tolist()])[index]
    if not rows.any():
        return
    row = int(np.argmax(rows))
    raise TableError(
        f"row {row + 1} of {table.name} has {str(words[index[row]])[:60]!r} in column {name!r}, which is not on the "
        f"scale ({int(np.count_nonzero(rows)):,} such rows); the scale is {_listed(list(dict(meaning.scale)))}"
    )


def _ones_and_others(place: str, said: Mapping[str, float | None], meaning: Meaning) -> str:
    """A note on which words count as 1, and which as 0."""
    ones, others = ([word for word, value in said.items() if value == x] for x in (1.0, 0.0))
    if not ones:
        raise TableError(
            Message(
                f"{place} never says {' or '.join(map(repr, meaning.positive))}; it says {_listed(others)}: "
                f"name every word that counts as 1 with {argument('positive')}"
            )
        )
    if len(others) > _MOST_OTHERS:
        raise TableError(f"{place} has {len(others)} different words beside {meaning.positive[0]!r}; is it a rating?")
    note = f"{_listed(ones)} {'counts' if len(ones) == 1 else 'count'} as 1 and {_listed(others)} as 0"
    return note if others else ""


def _unexplained(table: Table, name: str, words: Array, index: Array, texts: Texts) -> TableError:
    """The complaint about words that nobody has explained; of numbers with a cell that is none, the table's own."""
    strange = np.array([bool(word) and _number(str(word)) is None for word in words])
    if 2 * np.count_nonzero(strange[index]) < np.count_nonzero(words[index] != ""):
        table.numbers(name, missing="allow")  # numbers, with a cell that is none: the table says which
    row = int(np.argmax(strange[index]))
    return TableError(
        Message(
            f"column {name!r} of {table.name} has words where ratings belong: {str(texts[row])[:60]!r} in row "
            f"{row + 1}; "
            f"say which word counts as 1 ({argument('positive')}), or list all from the worst to the best "
            f"({argument('scale')}); it says {_listed(sorted(word for word in words.tolist() if word))}"
        )
    )


def _same(word: str, known: Mapping[str, float]) -> str:
    """4.0 is 4 where the scale says 4."""
    if word in known:
        return word
    number = _number(word)
    return next((other for other in known if number is not None and _number(other) == number), word)


def _plain(word: str) -> str:
    return " ".join(str(word).split()).lower()


def _number(word: str) -> float | None:
    try:
        x = float(word)
    except ValueError:
        return None
    return x if np.isfinite(x) else None


def _listed(words: Sequence[str]) -> str:
    shown = ", ".join(repr(word[:40]) for word in words[:_MOST_LISTED])
    return f"{shown} and {len(words) - _MOST_LISTED} more" if len(words) > _MOST_LISTED else shown
