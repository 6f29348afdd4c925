"""`ratewise init --from TABLE`: a campaign for columns that are there, with every guess marked as one."""

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal

import numpy as np

from ratewise.campaign.spec.example import check_new, make_folder, new_seed, place_of
from ratewise.campaign.spec.fields import plain
from ratewise.campaign.spec.guess import Guess, guess_columns
from ratewise.campaign.spec.spec import Spec, read_spec
from ratewise.errors import InputError
from ratewise.questions.draw_checks import clear_difference
from ratewise.raters.scale import RatingScale
from ratewise.tables import Table, open_relation
from ratewise.tables.adapters import adapted
from ratewise.tables.files import NAMED
from ratewise.tables.words import Meaning, Scale, in_numbers, meaning_of
from ratewise.tables.write import write_text

_WEAK_PRICE, _STRONG_PRICE = "0.01", "1"  # placeholders
_USUAL_LABELS = 200
_READ = 1 << 20  # rows that columns are guessed by
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
        """A dictionary, ready for JSON."""
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
    read = relation.table() if rows <= _READ else next(relation.scan(rows=_READ))  # columns are guessed by these
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
    path = place_of(folder_or_file)
    check_new(path)
    make_folder(os.path.dirname(path))
    budget = _budget(rows, weak_price or _WEAK_PRICE, strong_price or _STRONG_PRICE, guess)
    begun = Begun(
        path=path, table=table, format=format, rows=rows, guess=guess, weak_price=weak_price, strong_price=strong_price,
        budget=budget, words=said, picked=_picked(read, guess),
    )  # fmt: skip
    write_text(path, _toml(begun))
    _check(path)
    return begun


def _says(table: Table, said: Meaning) -> str:
    """The first column that has one of the words, else a name for it."""
    words = {*said.positive, *(word for word, _ in said.scale)}
    for name in table.columns:
        if words & {text.strip().lower() for text in table.texts(name, missing="allow")}:
            return name
    return "human"


def _check(path: str) -> Spec:
    """Read the file back as any campaign is read; a file with a mistake, such as a wrong price, is removed."""
    try:
        return read_spec(path)
    except InputError:
        os.unlink(path)
        raise


def _budget(rows: int, weak_price: str, strong_price: str, guess: Guess) -> str:
    """A budget for all weak ratings, and strong ones for a tenth of the items, at most 200."""
    try:
        each, cheap = Decimal(strong_price), Decimal(weak_price) if guess.weak is not None else Decimal(0)
        labels = max(min(_USUAL_LABELS, rows // _SHARE), min(rows, 10), 1)
        return plain((labels * each + rows * cheap).quantize(Decimal("0.01")).normalize() + 0)
    except ArithmeticError:  # no number: the check of the file says so
        return strong_price


def _toml(b: Begun) -> str:
    g, table = b.guess, b.table
    if not os.path.isabs(table):
        table = os.path.relpath(table, os.path.dirname(b.path) or ".")
    lines = [
        f"# A campaign for {_comment(b.table)}, {b.rows:,} items. Look at what is marked 'guessed' and 'CHANGE'.",
        f"# Start it or go on with it:  ratewise run {_comment(b.path)}",
        "# Every key that there is, with what it does:  ratewise init example.toml",
        "",
        _line(f"seed = {new_seed()}", "names the draws: campaigns with one seed ask for the same items"),
        "",
        "[items]",
        _line(f"table = {toml_text(table)}", "from the folder of this file"),
        *([] if b.format is None else [f"format = {toml_text(b.format)}"]),
        _line(f"id = {toml_text(g.id)}", "guessed")
        if g.id is not None
        else "# id = …  no column tells all items apart",
        *_feature_lines(g),
        "",
        "[rating]",
        *_rating_lines(g, b.words),
        "",
        "[goal]",
        _line(f"budget = {toml_text(b.budget)}", "CHANGE: money in any unit; never overspent"),
        _line("# target_se = 0.01", "stop when the standard error is this small"),
        *_start_lines(b),
        *_rater_lines(b),
    ]
    return "\n".join(lines) + "\n"


def _feature_lines(g: Guess) -> list[str]:
    told = [f"# left out: {_comment(name)}, which {why}" for name, why in g.left_out.items()]
    if not g.features:
        return told
    listed = ", ".join(map(toml_text, g.features))
    return [_line(f"features = [{listed}]", "guessed: known before anyone rates, and may help to predict"), *told]


def _rating_lines(g: Guess, words: Meaning) -> list[str]:
    if words.positive:
        listed = ", ".join(map(toml_text, words.positive))
        said = listed if len(words.positive) == 1 else f"[{listed}]"
        return ['kind = "binary"', _line(f"positive = {said}", "counts as 1, every other word as 0")]
    if words.scale:
        pairs = ", ".join(f"{toml_text(word)} = {value!r}" for word, value in words.scale)
        return ['kind = "score"', _line(f"scale = {{ {pairs} }}", "what each word counts")]
    said = "guessed" if g.strong is not None else "CHANGE: binary | likert | score | pairwise"
    lines = [_line(f'kind = "{g.scale.kind}"', f"{said}; {scale_words(g)}")]
    if g.scale.kind in {"likert", "score"}:
        lines.append(
            _line(f"low = {g.scale.low:g}", "CHANGE to the ends of your scale; these are guessed from the ratings")
        )
        lines.append(f"high = {g.scale.high:g}")
    return lines


def scale_words(g: Guess) -> str:
    """The rating scale in words."""
    return _KINDS[g.scale.kind].format(low=g.scale.low, high=g.scale.high)


def _rater_lines(b: Begun) -> list[str]:
    g, lines = b.guess, [""]
    lines.append("# The raters, from the cheapest to the one that is right: the last one is believed.")
    if g.weak is not None:
        lines += ["", "[[raters]]", *_column_rater(g.weak)]
        lines.append(_line(f"price = {toml_text(b.weak_price or _WEAK_PRICE)}", _price_words(b.weak_price)))
    lines += ["", "[[raters]]"]
    if g.strong is not None and g.labels == b.rows:
        lines += _column_rater(g.strong)
    else:
        name = g.strong if g.strong is not None and g.strong != g.weak else "human"
        lines += ["# no column says that people filled it, so people are asked"] if g.strong is None else []
        lines += [
            f"name = {toml_text(name)}",
            _line('kind = "sheet"', "questions go to a CSV file; fill it in, run again"),
        ]
        if g.show:
            listed = ", ".join(map(toml_text, g.show))
            lines.append(_line(f"show = [{listed}]", "guessed: what people see, which tells nobody's rating"))
    lines.append(_line(f"price = {toml_text(b.strong_price or _STRONG_PRICE)}", _price_words(b.strong_price)))
    return lines


def _start_lines(b: Begun) -> list[str]:
    """The labels that are there already, where some rows have one and others do not."""
    if not b.has_labels:
        return []
    return [
        "",
        "[start]",
        _line(
            f"labels = {toml_text(str(b.guess.strong))}", f"guessed: {b.guess.labels:,} rows have one, which is free"
        ),
        _line('drawn = "at random"', 'CHANGE if they were not: "by hand", or a column of rates')
        if b.picked is None
        else _line('drawn = "by hand"', f"guessed: they have clearly {_comment(b.picked)} than the others"),
    ]


def _picked(table: Table, guess: Guess) -> str | None:
    """What tells the labels that are there from a random draw; `None` where nothing does."""
    if guess.strong is None:
        return None
    labelled = np.array([text.strip() != "" for text in table.texts(guess.strong, missing="allow")])
    apart = [name for name in (guess.strong, guess.id) if name is not None]
    return clear_difference(table, labelled, {}, apart=apart)


def _column_rater(column: str) -> list[str]:
    return [
        f"name = {toml_text(' '.join(column.split()))}",
        'kind = "column"',
        _line(f"column = {toml_text(column)}", "guessed"),
    ]


def _price_words(price: str | None) -> str:
    return "of one rating" if price is not None else "CHANGE: of one rating, in the unit of the budget"


def _line(code: str, comment: str) -> str:
    return f"{code:<33} # {comment}"


def _comment(text: str) -> str:
    """Any name, made safe in a comment."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def toml_text(text: str) -> str:
    """A text as TOML writes it, whatever is in it."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")
