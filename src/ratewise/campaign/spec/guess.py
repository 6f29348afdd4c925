"""Guesses which columns are ids, weak and strong ratings and features, and says what it guessed."""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from ratewise.campaign.spec.example import check_new, make_folder, new_seed, place_of
from ratewise.campaign.spec.read import read_spec
from ratewise.core.checks import Floats, usual_ends
from ratewise.errors import InputError, TableError
from ratewise.questions.rated import clear_difference
from ratewise.raters.keys import plain
from ratewise.raters.scale import Kind, RatingScale
from ratewise.tables import Table, open_relation
from ratewise.tables.adapters import adapted
from ratewise.tables.blind import STRONG, WEAK, leaning, tells, words_in
from ratewise.tables.files import NAMED
from ratewise.tables.table import no_column
from ratewise.tables.words import Meaning, Scale, in_numbers, meaning_of
from ratewise.tables.write import write_text

_WHOLE_NAMES = {"h": 6, "g": -6}  # the paper's letters
_IDS = ("id", "uid", "uuid", "key", "index", "item")
_NOT_FEATURES = ("rate", "rates", "selected", "pool_size", "price", "cost", "weight", "id", "uid", "uuid", "index")
_GIVEN_BY = {"human score": 10, "judge score": -10}  # by what wrote the file, which outweighs a name
_TEXTS = ("prompt", "answer", "target")  # of another tool's columns
_OWN = {None, "input", "more"}  # roles of columns that the tool itself says nothing of
_OF_THE_TASK = {"gold", "label", "labels", "strong", "true", "truth"}  # in what was asked, they name the right answer
_READ = {"question", "prompt", "input", "text", "answer", "response", "output", "completion"}
_NO_ROLES: Mapping[str, str] = {}
_FEWEST_CODES = 10  # rows whose marks are all different, before a column is taken for ids by its look
_LONGEST_ID = 80  # signs; longer ones are texts
_MOST_WORDS = 20  # of a feature; with more of them it is text
_FEW = 4  # words that are shown
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
        if self.role == "input":
            return leaning(" ".join(word for word in self.words if word not in _OF_THE_TASK))
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
    if strong is None:  # the one that most clearly says that people filled it
        by_people = [c for c in rated.values() if c.name != weak and c.leaning > 0]
        strong = max(by_people, key=lambda c: c.leaning).name if by_people else None
    unsure = tuple(c.name for c in rated.values() if strong is None and _may_be_strong(c))
    weak = _weak(rated, strong) if weak is None else weak
    if weak is not None and weak == strong:
        raise InputError(f"column {weak!r} cannot be the weak and the strong rating; name another with --strong")
    others = {name: c for name, c in columns.items() if name not in {id, weak, strong}}
    reasons = {name: _why_not(c, None if strong is None else columns[strong]) for name, c in others.items()}
    labels = 0 if strong is None else table.rows - columns[strong].missing
    scale = RatingScale("binary") if strong is None else _scale(columns[strong])
    return Guess(
        id=id, weak=weak, strong=strong, labels=labels, scale=scale,
        features=tuple(name for name, why in reasons.items() if not why),
        left_out={name: why for name, why in reasons.items() if why},
        unsure=unsure, show=tuple(name for name, c in others.items() if _is_shown(c)),
    )  # fmt: skip


def guess_weak(table: Table, strong: Sequence[str]) -> str | None:
    """The column that seems to hold the weak rating, of a table whose strong ratings are known; else `None`."""
    columns = {name: _column(table, name) for name in table.columns}
    given = next((name for name in strong if columns[name].kind is not None), None)
    unlike = {*strong, *(name for name, c in columns.items() if set(c.words) & set(_NOT_FEATURES))} - {given}
    rated = {name: c for name, c in columns.items() if c.kind is not None and c.different > 0 and name not in unlike}
    return _weak(rated | ({} if given is None else {given: columns[given]}), given)


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
    """The column that tells all rows apart: by its name, else one of codes."""
    unique = [
        c for c in columns.values()
        if not c.missing and c.different == len(c.texts) and max(map(len, c.texts)) <= _LONGEST_ID
    ]  # fmt: skip
    named = [c.name for c in unique if set(c.words) & set(_IDS)]
    codes = (c.name for c in unique if c.numbers is None and _is_code(c.texts))
    return min(named, key=len, default=None) or next(codes, None)


def _is_code(texts: tuple[str, ...]) -> bool:
    """Whether these are no texts but marks such as T-00417: one word each, most with a digit, and enough of them."""
    digits = sum(any(sign.isdigit() for sign in text) for text in texts)
    return len(texts) >= _FEWEST_CODES and digits > len(texts) / 2 and not any(len(text.split()) > 1 for text in texts)


def _is_shown(c: _Column) -> bool:
    """Whether people see the column: it is there to be read, and tells neither a rating nor a system."""
    own = c.role in _OWN
    is_text = c.role in _TEXTS or (own and (bool(set(c.words) & _READ) or c.numbers is None))
    return is_text and not tells(c.name) and c.different > 0 and not set(c.words) & set(_NOT_FEATURES)


def _may_be_strong(c: _Column) -> bool:
    """Whether the values would do for a strong rating, though nothing says that people gave them."""
    some = c.missing > _MOST_MISSING * len(c.texts)
    return (some or c.kind == "binary") and c.leaning == 0 and c.role in _OWN and not set(c.words) & set(_NOT_FEATURES)


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
    usual = usual_ends(low, high)
    if usual is not None and np.all(known == np.round(known)):
        return RatingScale("likert", *usual)
    if low >= 0 and high <= 1:
        return RatingScale("score", 0.0, 1.0)
    return RatingScale("score", low, high if high > low else low + 1.0)


_WEAK_PRICE, _STRONG_PRICE = "0.01", "1"  # placeholders
_USUAL_LABELS = 200
_MOST_READ = 1 << 20  # rows that columns are guessed by
_SHARE = 10  # of the items, one in so many is affordable to begin with
_KINDS = {
    "binary": "0 or 1, yes or no",
    "likert": "whole numbers from {low:g} to {high:g}",
    "score": "numbers from {low:g} to {high:g}",
    "pairwise": "a, b or tie",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Begun:
    """What was written, from what, and what was guessed."""

    path: str
    table: str
    format: str | None
    rows: int
    guess: Guess
    weak_price: str | None  # None: a placeholder was written
    strong_price: str | None
    budget: str
    words: Meaning = field(default_factory=Meaning)
    picked: str | None = None  # why labels that are there cannot be a random draw

    @property
    def has_labels(self) -> bool:
        """Whether some rows have a strong rating already and others do not."""
        return self.guess.strong is not None and 0 < self.guess.labels < self.rows

    @property
    def to_change(self) -> tuple[str, ...]:
        """What a person should look at before the first run."""
        both = self.guess.weak is not None
        prices = [_WEAK_PRICE] * (both and self.weak_price is None) + [_STRONG_PRICE] * (self.strong_price is None)
        changes = [f"the {'prices' if len(prices) > 1 else 'price'} ({' and '.join(prices)})"] if prices else []
        changes.append(f"the budget ({self.budget})")
        if self.guess.scale.kind in {"likert", "score"} and not self.words.scale:
            changes.append(f"the ends of the scale ({self.guess.scale.low:g} and {self.guess.scale.high:g})")
        if self.has_labels:
            how = "at random" if self.picked is None else f"by hand: they have clearly {self.picked} than the others"
            changes.append(f"how the {self.guess.labels:,} labels that are there were drawn ({how})")
        return tuple(changes)

    def to_dict(self) -> dict[str, object]:
        g = self.guess
        return {
            "written": [self.path], "table": self.table, "rows": self.rows, "id": g.id, "weak": g.weak,
            "strong": g.strong, "labels": g.labels, "rating": g.scale.kind, "features": list(g.features),
            "left_out": g.left_out, "to_change": list(self.to_change),
        }  # fmt: skip


def begin_from(
    table: str,
    folder_or_file: str,
    *,
    id: str | None = None,
    weak: str | None = None,
    strong: str | None = None,
    weak_price: str | None = None,
    strong_price: str | None = None,
    positive: Sequence[str] = (),
    scale: Scale = None,
    format: str | None = None,
) -> Begun:
    """Write a campaign for a table; what is not given is guessed. The file is read back, so that it can be run.

    `positive` are the words that count as 1 in the strong rating, and in the weak one where that has words; `scale`
    lists all words from the worst to the best instead.
    """
    if table == "-":
        raise InputError("a campaign needs a table that stays; give --from the path of a file")
    found = None if format in NAMED else adapted(table, format)
    relation = open_relation(table, format=format) if found is None else open_relation(found.table)
    roles = {} if found is None else {each.column: each.role for each in found.became}
    rows = relation.count()
    read = relation.table() if rows <= _MOST_READ else next(relation.scan(rows=_MOST_READ))
    said = meaning_of(tuple(positive) or None, scale)
    if said != Meaning():
        if strong is None:
            option = "--positive" if said.positive else "--scale"
            raise InputError(f"{option} explains the words of one column; name it with --strong {_says(read, said)}")
        named = () if weak is None else (weak,)
        read, _ = in_numbers(read, strong=(strong,), weak=named, meaning=said)
    guess = guess_columns(read, id=id, weak=weak, strong=strong, roles=roles)
    if said.bounds is not None and said.scale:
        guess = replace(guess, scale=RatingScale("score", *said.bounds))
    picked = None  # what tells the labels that are there from a random draw
    if guess.strong is not None:
        labelled = np.array([text.strip() != "" for text in read.texts(guess.strong, missing="allow")])
        apart = [name for name in (guess.strong, guess.id) if name is not None]
        picked = clear_difference(read, labelled, {}, apart=apart)
    path = place_of(folder_or_file)
    check_new(path)
    make_folder(os.path.dirname(path))
    begun = Begun(
        path=path, table=table, format=format, rows=rows, guess=guess, weak_price=weak_price, strong_price=strong_price,
        budget=_budget(rows, weak_price or _WEAK_PRICE, strong_price or _STRONG_PRICE, guess), words=said,
        picked=picked,
    )  # fmt: skip
    write_text(path, "\n".join(_toml(begun)) + "\n")
    try:
        read_spec(path)
    except InputError:  # such as a wrong price
        os.unlink(path)
        raise
    return begun


def _says(table: Table, said: Meaning) -> str:
    """The first column that has one of the words, else a name for it."""
    words = {*said.positive, *(word for word, _ in said.scale)}
    for name in table.columns:
        if words & {text.strip().lower() for text in table.texts(name, missing="allow")}:
            return name
    return "human"


def _budget(rows: int, weak_price: str, strong_price: str, guess: Guess) -> str:
    """A budget for all weak ratings, and strong ones for a tenth of the items, at most 200."""
    try:
        each, cheap = Decimal(strong_price), Decimal(weak_price) if guess.weak is not None else Decimal(0)
        labels = max(min(_USUAL_LABELS, rows // _SHARE), min(rows, 10), 1)
        return plain((labels * each + rows * cheap).quantize(Decimal("0.01")).normalize() + 0)
    except ArithmeticError:  # no number: the check of the file says so
        return strong_price


def _toml(b: Begun) -> Iterator[str]:
    """The lines of the file, with every guess marked as one."""
    g, table = b.guess, b.table
    if not os.path.isabs(table):
        table = os.path.relpath(table, os.path.dirname(b.path) or ".")
    yield f"# A campaign for {_comment(b.table)}, {b.rows:,} items. Look at what is marked 'guessed' and 'CHANGE'."
    yield f"# Start it or go on with it:  ratewise run {_comment(b.path)}"
    yield from ("# Every key that there is, with what it does:  ratewise init example.toml", "")
    yield _line(f"seed = {new_seed()}", "names the draws: campaigns with one seed ask for the same items")
    yield from ("", "[items]", _line(f"table = {toml_text(table)}", "from the folder of this file"))
    if b.format is not None:
        yield f"format = {toml_text(b.format)}"
    yield "# id = …  no column tells all items apart" if g.id is None else _line(f"id = {toml_text(g.id)}", "guessed")
    if g.features:
        yield _line(f"features = {_list(g.features)}", "guessed: known before anyone rates, and may help to predict")
    yield from (f"# left out: {_comment(name)}, which {why}" for name, why in g.left_out.items())
    yield from ("", "[rating]", *_rating(g, b.words), "", "[goal]")
    yield _line(f"budget = {toml_text(b.budget)}", "CHANGE: money in any unit; never overspent")
    yield _line("# target_se = 0.01", "stop when the standard error is this small")
    if b.has_labels:  # some rows have a label already, and others do not
        free = f"guessed: {g.labels:,} rows have one, which is free"
        yield from ("", "[start]", _line(f"labels = {toml_text(str(g.strong))}", free))
        how, why = "at random", 'CHANGE if they were not: "by hand", or a column of rates'
        if b.picked is not None:
            how, why = "by hand", f"guessed: they have clearly {_comment(b.picked)} than the others"
        yield _line(f"drawn = {toml_text(how)}", why)
    yield from ("", "# The raters, from the cheapest to the one that is right: the last one is believed.")
    if g.weak is not None:
        yield from _column_rater(g.weak)
        yield _price(b.weak_price, _WEAK_PRICE)
    if g.strong is not None and g.labels == b.rows:
        yield from _column_rater(g.strong)
    else:
        yield from ("", "[[raters]]")
        if g.strong is None:
            yield "# no column says that people filled it, so people are asked"
        yield f"name = {toml_text(g.strong if g.strong is not None and g.strong != g.weak else 'human')}"
        yield _line('kind = "sheet"', "questions go to a CSV file; fill it in, run again")
        if g.show:
            yield _line(f"show = {_list(g.show)}", "guessed: what people see, which tells nobody's rating")
    yield _price(b.strong_price, _STRONG_PRICE)


def _rating(g: Guess, words: Meaning) -> Iterator[str]:
    """The keys of [rating]."""
    if words.positive:
        said = toml_text(words.positive[0]) if len(words.positive) == 1 else _list(words.positive)
        yield from ('kind = "binary"', _line(f"positive = {said}", "counts as 1, every other word as 0"))
    elif words.scale:
        pairs = ", ".join(f"{toml_text(word)} = {value!r}" for word, value in words.scale)
        yield from ('kind = "score"', _line(f"scale = {{ {pairs} }}", "what each word counts"))
    else:
        said = "guessed" if g.strong is not None else "CHANGE: binary | likert | score | pairwise"
        yield _line(f'kind = "{g.scale.kind}"', f"{said}; {scale_words(g)}")
        if g.scale.kind in {"likert", "score"}:
            change = "CHANGE to the ends of your scale; these are guessed from the ratings"
            yield from (_line(f"low = {g.scale.low:g}", change), f"high = {g.scale.high:g}")


def scale_words(g: Guess) -> str:
    """The rating scale in words."""
    return _KINDS[g.scale.kind].format(low=g.scale.low, high=g.scale.high)


def _column_rater(column: str) -> tuple[str, ...]:
    name, column = toml_text(" ".join(column.split())), toml_text(column)
    return "", "[[raters]]", f"name = {name}", 'kind = "column"', _line(f"column = {column}", "guessed")


def _price(price: str | None, placeholder: str) -> str:
    words = "of one rating" if price is not None else "CHANGE: of one rating, in the unit of the budget"
    return _line(f"price = {toml_text(price or placeholder)}", words)


def _list(names: Sequence[str]) -> str:
    return f"[{', '.join(map(toml_text, names))}]"


def _line(code: str, comment: str) -> str:
    return f"{code:<33} # {comment}"


def _comment(text: str) -> str:
    """Any name, made safe in a comment."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def toml_text(text: str) -> str:
    """A text as TOML writes it, whatever is in it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
