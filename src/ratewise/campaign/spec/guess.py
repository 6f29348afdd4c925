"""Guesses which columns are ids, weak and strong ratings and features, and says what it guessed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ratewise.core.checks import Floats
from ratewise.errors import InputError, TableError
from ratewise.raters.scale import Kind, RatingScale
from ratewise.tables import Table
from ratewise.tables.blind import STRONG, WEAK, leaning, tells, words_in
from ratewise.tables.table import no_column

_WHOLE_NAMES = {"h": 6, "g": -6}  # the paper's letters
_IDS = ("id", "uid", "uuid", "key", "index", "item")
_NOT_FEATURES = ("rate", "rates", "selected", "pool_size", "price", "cost", "weight", "id", "uid", "uuid", "index")
_GIVEN_BY = {"human score": 10, "judge score": -10}  # by what wrote the file, which outweighs a name
_TEXTS = ("prompt", "answer", "target")  # of another tool's columns
_READ = {"question", "prompt", "input", "text", "answer", "response", "output", "completion"}
_NO_ROLES: Mapping[str, str] = {}
_FEWEST_CODES = 10  # rows whose marks are all different, before a column is taken for ids by its look
_LONGEST_ID = 80  # signs; longer ones are texts
_MOST_WORDS = 20  # of a feature; with more of them it is text
_FEW = 4  # words that are shown
_MOST_STEPS = 11  # of a likert scale
_USUAL_TOPS = (5, 7, 10)
_MOST_MISSING = 0.05  # of a feature's cells
_LEAST_CORRELATION = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Guess:
    """What each column seems to be; `left_out` says of every other column why it is not used."""

    id: str | None
    weak: str | None
    strong: str | None
    labels: int  # rows that have a strong rating already
    scale: RatingScale
    features: tuple[str, ...]
    left_out: dict[str, str] = field(default_factory=dict)
    show: tuple[str, ...] = ()  # what people see of an item: texts that tell neither ratings nor systems
    unsure: tuple[str, ...] = ()  # without a strong rating: columns that would be one, had people filled them


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A column, and its values as ratings where they can be read as such (NaN: no value)."""

    name: str
    texts: tuple[str, ...]
    numbers: Floats | None
    kind: Kind | None
    role: str | None = None  # of another tool's column: who gave its scores

    @property
    def different(self) -> int:
        return len(set(self.texts) - {""})

    @property
    def missing(self) -> int:
        return sum(text == "" for text in self.texts)

    @property
    def words(self) -> list[str]:
        return words_in(self.name)

    @property
    def leaning(self) -> int:
        """Above 0 where people seem to have filled the column, below 0 where a machine has.

        What wrote the file says so, else the column's name.
        """
        if self.name in _WHOLE_NAMES:
            return _WHOLE_NAMES[self.name]
        if self.role in _GIVEN_BY:
            strong, weak = (max((of.get(w, 0) for w in self.words), default=0) for of in (STRONG, WEAK))
            return _GIVEN_BY[self.role] + (strong if self.role == "human score" else -weak)
        return leaning(self.name)


def guess_columns(
    table: Table,
    *,
    id: str | None = None,
    weak: str | None = None,
    strong: str | None = None,
    roles: Mapping[str, str] = _NO_ROLES,
) -> Guess:
    """Guess by names first and by values second; what is given is taken. `roles` is what another tool's columns are.

    A column is the strong rating only where its name or the tool says that people filled it: a campaign that took a
    machine's verdict for the truth would report the machine's own opinion.
    """
    for name in (id, weak, strong):
        if name is not None and name not in table.columns:
            raise no_column(table.name, name, table.columns)
    columns = {name: replace(_column(table, name), role=roles.get(name)) for name in table.columns}
    for role, name in (("weak", weak), ("strong", strong)):
        if name is not None and columns[name].kind is None:
            raise InputError(
                f"column {name!r} of {table.name} has words where ratings belong ({_some(columns[name])}); say "
                f"which word counts as 1 (--positive), list all from the worst to the best (--scale), or name another "
                f"column (--{role})"
            )
    id = _id(columns) if id is None else id
    rated = {name: c for name, c in columns.items() if c.kind is not None and name != id and c.different > 0}
    strong = _strong(rated, weak) if strong is None else strong
    unsure = tuple(c.name for c in rated.values() if strong is None and _may_be_strong(c))
    weak = _weak(rated, strong) if weak is None else weak
    if weak is not None and weak == strong:
        raise InputError(f"column {weak!r} cannot be the weak and the strong rating; name another with --strong")
    features, left_out = _features(columns, {id, weak, strong}, None if strong is None else columns[strong])
    labels = 0 if strong is None else table.rows - columns[strong].missing
    scale = RatingScale("binary") if strong is None else _scale(columns[strong])
    return Guess(
        id=id, weak=weak, strong=strong, labels=labels, scale=scale, features=features, left_out=left_out,
        unsure=unsure, show=_shown(columns, {id, weak, strong}),
    )  # fmt: skip


def guess_weak(table: Table, strong: Sequence[str]) -> str | None:
    """The column that seems to hold the weak rating, of a table whose strong ratings are known; else `None`."""
    columns = {name: _column(table, name) for name in table.columns}
    given = next((columns[name] for name in strong if columns[name].kind is not None), None)
    rated = {
        c.name: c for c in columns.values()
        if c.kind is not None and c.different > 0 and c.name not in strong and not set(c.words) & set(_NOT_FEATURES)
    }  # fmt: skip
    if given is None:
        named = [c for c in rated.values() if c.leaning < 0 and not c.missing]
        return min(named, key=lambda c: c.leaning).name if named else None
    return _weak(rated | {given.name: given}, given.name)


def _column(table: Table, name: str) -> _Column:
    texts = tuple(str(text).strip() for text in table.texts(name, missing="allow"))
    try:
        numbers = table.numbers(name, missing="allow")
    except TableError:
        return _Column(name, texts, *_worded(texts))
    known = numbers[~np.isnan(numbers)]
    kind: Kind = "binary" if set(known.tolist()) <= {0.0, 1.0} else "score"
    return _Column(name, texts, numbers, kind)


def _worded(texts: tuple[str, ...]) -> tuple[Floats | None, Kind | None]:
    """The ratings that words such as yes and no, or a and b, stand for, and their kind."""
    words = set(texts) - {""}
    if len(words) <= _MOST_WORDS:
        kinds: tuple[Kind, ...] = ("binary", "pairwise")
        for kind in kinds:
            try:
                read = {word: RatingScale(kind).strong(word) for word in words} | {"": float("nan")}
            except ValueError:
                continue
            return np.array([read[text] for text in texts]), kind
    return None, None


def _id(columns: dict[str, _Column]) -> str | None:
    def tells_apart(c: _Column) -> bool:
        return not c.missing and c.different == len(c.texts) and max(map(len, c.texts)) <= _LONGEST_ID

    named = [c.name for c in columns.values() if set(c.words) & set(_IDS) and tells_apart(c)]
    codes = (c.name for c in columns.values() if c.numbers is None and tells_apart(c) and _is_code(c.texts))
    return min(named, key=len, default=None) or next(codes, None)


def _is_code(texts: tuple[str, ...]) -> bool:
    """Whether these are no texts but marks such as T-00417: one word each, most with a digit, and enough of them."""
    digits = sum(any(sign.isdigit() for sign in text) for text in texts)
    return len(texts) >= _FEWEST_CODES and digits > len(texts) / 2 and not any(len(text.split()) > 1 for text in texts)


def _strong(rated: dict[str, _Column], weak: str | None) -> str | None:
    """The strong column: the one that most clearly says that people filled it."""
    named = [c for c in rated.values() if c.name != weak and c.leaning > 0]
    return max(named, key=lambda c: c.leaning).name if named else None


def _shown(columns: dict[str, _Column], used: set[str | None]) -> tuple[str, ...]:
    """The columns that people see: texts that tell neither a rating nor a system."""
    left = [c for c in columns.values() if c.name not in used and not tells(c.name) and c.different > 0]
    return tuple(c.name for c in left if _is_to_read(c) and not set(c.words) & set(_NOT_FEATURES))


def _is_to_read(c: _Column) -> bool:
    """Whether the column is there to be read: no number, or the answer to a sum."""
    named = c.role in _TEXTS or (c.role in {None, "more"} and bool(set(c.words) & _READ))
    return named or (c.numbers is None and c.role in {None, "more"})


def _may_be_strong(c: _Column) -> bool:
    """Whether the values would do for a strong rating, though nothing says that people gave them."""
    some = c.missing > _MOST_MISSING * len(c.texts)
    return (
        (some or c.kind == "binary")
        and c.leaning == 0
        and c.role in {None, "more"}
        and not set(c.words) & set(_NOT_FEATURES)
    )


def _weak(rated: dict[str, _Column], strong: str | None) -> str | None:
    """The weak column: by name, else the one most correlated with the strong rating. Every row must have it."""
    left = [c for c in rated.values() if c.name != strong and not c.missing]
    named = [c for c in left if c.leaning < 0]
    if named:
        return min(named, key=lambda c: c.leaning).name
    if strong is None:
        return None
    likeness = {c.name: _correlation(c, rated[strong]) for c in left if c.leaning == 0}
    best = max(likeness, key=lambda name: likeness[name], default=None)
    return best if best is not None and likeness[best] >= _LEAST_CORRELATION else None


def _correlation(one: _Column, other: _Column) -> float:
    assert one.numbers is not None
    assert other.numbers is not None
    both = ~np.isnan(one.numbers) & ~np.isnan(other.numbers)
    x, y = one.numbers[both], other.numbers[both]
    if x.size < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return 0.0
    return abs(float(np.corrcoef(x, y)[0, 1]))


def _features(
    columns: dict[str, _Column], used: set[str | None], strong: _Column | None
) -> tuple[tuple[str, ...], dict[str, str]]:
    """The columns that may help to predict, and for every other column why not."""
    reasons = {name: _why_not(c, strong) for name, c in columns.items() if name not in used}
    return tuple(name for name, why in reasons.items() if not why), {name: why for name, why in reasons.items() if why}


def _why_not(c: _Column, strong: _Column | None) -> str:
    if c.leaning > 0 and c.kind is None and 0 < c.different <= _MOST_WORDS:
        return f"has words ({_some(c)}); say what they mean: --strong {c.name} --positive WORD, or --scale WORST,…,BEST"
    if c.leaning > 0:
        return "sounds like another person's rating"
    if strong is not None and c.texts == strong.texts:
        return "is a copy of the strong rating"
    if set(c.words) & set(_NOT_FEATURES) or c.role in {"id", "cluster", "epoch"}:
        return "sounds like bookkeeping"
    if c.role in _TEXTS:
        return "is text"
    if c.missing > _MOST_MISSING * len(c.texts):
        return f"is empty in {c.missing:,} rows"
    if c.different < 2:
        return "is the same in every row"
    if (c.numbers is None or c.kind == "pairwise") and c.different > _MOST_WORDS:
        return "is text"
    return ""


def _some(c: _Column) -> str:
    """A few of the words of a column."""
    words = sorted(set(c.texts) - {""})
    return ", ".join(word[:20] for word in words[:_FEW]) + (", …" if len(words) > _FEW else "")


def _scale(c: _Column) -> RatingScale:
    """The scale that the strong ratings seem to be on."""
    assert c.numbers is not None
    known = c.numbers[~np.isnan(c.numbers)]
    if c.kind in {"binary", "pairwise"} or known.size == 0:
        return RatingScale("binary" if c.kind != "pairwise" else "pairwise")
    low, high = float(known.min()), float(known.max())
    if np.all(known == np.round(known)) and low >= 0 and high <= _MOST_STEPS - 1:
        return RatingScale("likert", min(low, 1.0), float(next(top for top in _USUAL_TOPS if top >= high)))
    if low >= 0 and high <= 1:
        return RatingScale("score", 0.0, 1.0)
    return RatingScale("score", low, high if high > low else low + 1.0)
