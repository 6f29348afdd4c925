"""Pairwise votes in a table: who was compared, what each rater said, and what the weak raters make of it."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from ratewise.core.bradley_terry import Pairs, boundless, components, fit_bradley_terry
from ratewise.core.checks import Floats
from ratewise.core.m_estimation import NoFitError
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Mask, ratings
from ratewise.errors import TableError
from ratewise.learn.features import codings, feature_matrix
from ratewise.questions.people import Ready, Strong, strong_columns, with_mean
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.words import Meaning, Scale, in_numbers, meaning_of

_WORDS = {  # as arenas write them, in small letters
    1.0: ("model_a", "a", "a wins", "left", "win", "model a", "[[a]]"),
    0.0: ("model_b", "b", "b wins", "right", "loss", "model b", "[[b]]"),
    0.5: ("tie", "tie (bothbad)", "both_bad", "bothbad", "both bad", "draw", "equal", "[[c]]"),
}
_MEANING = {word: score for score, all_words in _WORDS.items() for word in all_words}


@dataclass(frozen=True, slots=True, eq=False)
class Models:
    """The models' names, and which two each row compares."""

    names: tuple[str, ...]
    pairs: Pairs


def read_models(table: Table, model_a: str, model_b: str) -> Models:
    """Read two columns of names; a model may not meet itself."""
    a, b = (table.texts(column) for column in (model_a, model_b))
    same = np.asarray(a == b, dtype=np.bool_)
    if same.any():
        row = int(np.argmax(same))
        raise TableError(f"row {row + 1} of {table.name} compares {a[row]!r} with itself; leave such rows out")
    names, codes = np.unique(np.concatenate([a, b]).astype(np.str_), return_inverse=True)
    return Models(tuple(names.tolist()), Pairs(codes[: a.size], codes[a.size :], names.size))


def votes_ready(table: TableLike, *, strong: Strong, weak: str | None, scale: Scale) -> Ready:
    """The table with its votes as numbers; several people's strong votes on a comparison become their mean.

    `scale` lists other words from the second model's win to the first one's: second, same, first.
    """
    read, meaning = read_table(table), meaning_of(None, scale)
    names = strong_columns(read, strong)
    return with_mean(votes_in_numbers(read, names, weak, meaning), names, meaning)


def votes_in_numbers(table: Table, strong: Sequence[str], weak: str | None, meaning: Meaning) -> Table:
    """The table with these columns of votes as the first model's scores."""
    claimed = () if weak is None else (weak,)
    if meaning.scale:
        table, _ = in_numbers(table, strong=strong, weak=claimed, meaning=meaning)
    return table.with_columns({name: read_votes(table, name) for name in (*strong, *claimed)}, replace=True)


def read_votes(table: Table, column: str) -> Floats:
    """The first model's score: 1 where it won, 0 where it lost, 0.5 for a tie, NaN where nobody voted.

    Numbers from 0 to 1, or the words that arenas use: model_a, model_b, tie, tie (bothbad).
    """
    try:
        votes = table.numbers(column, missing="allow")
    except TableError:
        return _from_words(table, column)
    bad = (votes < 0) | (votes > 1)
    if bad.any():
        row = int(np.argmax(bad))
        raise TableError(
            f"row {row + 1} of {table.name} has {votes[row]:g} in column {column!r}; a vote is the first model's score "
            "from 0 to 1 (0.5 for a tie)"
        )
    return votes


def _from_words(table: Table, column: str) -> Floats:
    texts = table.texts(column, missing="allow")
    words, index = np.unique(["" if text is None else str(text).strip().lower() for text in texts], return_inverse=True)
    unknown = [word for word in words if word and word not in _MEANING]
    if unknown:
        raise TableError(
            Message(
                f"column {column!r} of {table.name} has {str(unknown[0])!r}; a vote is model_a, model_b or tie, or the "
                f"first model's score from 0 to 1; list other words from the second model's win to the first's with "
                f"{argument('scale')}"
            )
        )
    return np.array([_MEANING.get(word, np.nan) for word in words])[index]


def weak_predictor(pairs: Pairs, weak: Floats) -> Floats:
    """What the weak votes alone say of every pair: the difference of ratings, and the win probability it gives."""
    eta = np.zeros(weak.size)
    group = components(pairs)
    main = group == np.argmax(np.bincount(group))
    use = main[pairs.a] & main[pairs.b]
    eta[use] = _fitted(pairs.rows(use), weak[use])
    return np.stack([eta, special.expit(eta)], axis=1)


def _fitted(pairs: Pairs, weak: Floats) -> Floats:
    """η of connected pairs; shrunk toward ties where some model has no finite rating."""
    number = np.full(pairs.models, -1)
    present = np.unique(np.concatenate([pairs.a, pairs.b]))
    number[present] = np.arange(present.size)
    own = Pairs(number[pairs.a], number[pairs.b], present.size)
    for shrink in (1.0, 0.95, 0.8):
        g = 0.5 + shrink * (weak - 0.5)
        if any(side.any() for side in boundless(own, g, np.ones(g.size))):
            continue
        try:
            data = ratings(g, g, np.ones(g.size))
            return fit_bradley_terry(own, data, power=1.0, clusters=None, pool_size=np.inf).fit.predictor
        except NoFitError:
            continue
    return np.zeros(weak.size)


def vote_features(table: Table, rows: Mask, pairs: Pairs, weak: Floats, features: Sequence[str]) -> Floats:
    """Columns of these rows to learn the strong vote from, besides the weak vote itself."""
    own = feature_matrix(table, codings(table, features))
    known = weak_predictor(pairs, weak)
    return known if own is None else np.concatenate([known, own[rows]], axis=1)
