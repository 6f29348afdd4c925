"""Pairwise votes in a table: who was compared, what each rater said, and which comparisons to ask about next.

A vote's worth is u(x) = E[(H−f)²|x] ‖A W⁻¹(e_a − e_b)‖² (METHODS section 7, Bradley–Terry): how far the weak vote is
off, times how much the pair moves the centred ratings. Models that are rarely compared get more of the votes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special

from ratewise.core.bradley_terry import Pairs, boundless, centring, fit_bradley_terry, largest_group
from ratewise.core.checks import Floats, number
from ratewise.core.draw import draw_evenly, scaled_to, uniform
from ratewise.core.m_estimation import NoFitError, gram, influence
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Mask, ratings
from ratewise.core.result import FrameKind, Result
from ratewise.design.options import sharpest_error
from ratewise.design.seen import Phase, Seen
from ratewise.errors import InputError, TableError
from ratewise.learn.covariates import Covariates
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE
from ratewise.learn.features import codings, feature_matrix
from ratewise.questions.people import strong_columns, with_mean
from ratewise.questions.rated import Ready, Strong, plain_numbers
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.words import Meaning, Scale, in_numbers, meaning_of

_WORDS = {  # as arenas write them, in small letters
    1.0: ("model_a", "a", "a wins", "left", "win", "model a", "[[a]]"),
    0.0: ("model_b", "b", "b wins", "right", "loss", "model b", "[[b]]"),
    0.5: ("tie", "tie (bothbad)", "both_bad", "bothbad", "both bad", "draw", "equal", "[[c]]"),
}
_MEANING = {word: score for score, all_words in _WORDS.items() for word in all_words}


def read_models(table: Table, model_a: str, model_b: str) -> tuple[list[str], Pairs]:
    """The models' names and which two each row compares, by two columns; a model may not meet itself."""
    a, b = (table.texts(column) for column in (model_a, model_b))
    same = np.asarray(a == b, dtype=np.bool_)
    if same.any():
        row = int(np.argmax(same))
        raise TableError(f"row {row + 1} of {table.name} compares {a[row]!r} with itself; leave such rows out")
    names, codes = np.unique(np.concatenate([a, b]).astype(np.str_), return_inverse=True)
    return names.tolist(), Pairs(codes[: a.size], codes[a.size :], names.size)


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
    """What the weak votes alone say of every pair: the difference of ratings, and the win probability it gives.

    They are shrunk toward ties where some model has no finite rating; outside the largest group of connected models
    they say nothing.
    """
    eta = np.zeros(weak.size)
    use, own = pairs.among(largest_group(pairs, np.ones(pairs.models, dtype=np.bool_)))
    for shrink in (1.0, 0.95, 0.8):
        g = 0.5 + shrink * (weak[use] - 0.5)
        if any(side.any() for side in boundless(own, g, np.ones(g.size))):
            continue
        try:
            data = ratings(g, g, np.ones(g.size))
            eta[use] = fit_bradley_terry(own, data, power=1.0, clusters=None, pool_size=np.inf).fit.predictor
            break
        except NoFitError:
            continue
    return np.stack([eta, special.expit(eta)], axis=1)


def vote_features(table: Table, rows: Mask, pairs: Pairs, weak: Floats, features: Sequence[str]) -> Floats:
    """Columns of these rows to learn the strong vote from, besides the weak vote itself."""
    own = feature_matrix(table, codings(table, features))
    known = weak_predictor(pairs, weak)
    return known if own is None else np.concatenate([known, own[rows]], axis=1)


_FEWEST_TO_LEARN = 100  # strong votes before rates follow where the weak votes were seen to err
_CLEAR_GAIN = 0.97  # of the expected error, that learned rates must reach
_LEAST_AGAIN = 0.05  # of the mean rate, for pairs that had their share in earlier rounds


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Asked(Result):
    """The table with `rate` (over all rounds) and `selected` (asked in this round or before)."""

    table: Table
    rates: Floats
    selected: Mask
    new: Mask  # asked in this round
    saving: float  # expected squared error over that of as many comparisons at one rate for all
    notes: tuple[str, ...] = ()

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        return self.table.to_frame(kind)

    def summary(self) -> str:
        return (
            f"{int(self.new.sum()):,} of {self.new.size:,} comparisons to be voted on by the strong rater; expected "
            f"squared error of the ratings: {self.saving:.0%} of that with one rate for all"
        )


def ask_votes(
    table: TableLike,
    *,
    votes: int,
    weak: str,
    seed: int,
    model_a: str = "model_a",
    model_b: str = "model_b",
    strong: Strong | None = None,
    features: Sequence[str] = (),
    id_column: str | None = None,
    scale: Scale = None,
) -> Asked:
    """Choose `votes` comparisons that nobody has voted on, each with a known probability.

    A table that was asked before (with `rate`, `selected` and strong votes) gets a further round; its rates are then
    those of being asked in any round. As many are chosen as asked for, not about as many. Words as votes and several
    people's columns are as in `leaderboard`.
    """
    given, meaning = read_table(table), meaning_of(None, scale)
    names = [] if strong is None else [name for name in strong_columns(given, strong) if name in given.columns]
    read = votes_in_numbers(given, names, weak, meaning)
    _, pairs = read_models(read, model_a, model_b)
    g = plain_numbers(read, weak)
    if np.isnan(g).any():
        row = int(np.argmax(np.isnan(g))) + 1
        raise TableError(f"row {row} of {read.name} has no weak vote in column {weak!r}; every comparison needs one")
    rates, selected, h = _before(read, None if not names else with_mean(read, names, meaning), named=strong is not None)
    left, asked_before = ~selected, int(selected.sum())
    count = int(number(votes, name="votes", minimum=1))
    if count > int(left.sum()):
        raise InputError(f"{count:,} votes are asked for but only {int(left.sum()):,} comparisons are left; ask fewer")
    x = Covariates(g, vote_features(read, np.ones(g.size, dtype=np.bool_), pairs, g, features))
    worth, note = _worth(pairs, x, h, rates)
    new = _next_rates(np.sqrt(worth), rates, left, count)
    round_seed = f"{seed}:votes:{asked_before}"
    again = _drawn(pairs, new, left, uniform(read.ids(id_column), seed=round_seed), round_seed)
    over_all, share = rates + (1 - rates) * new, (rates.sum() + count) / g.size
    with_one = float(np.mean(worth)) * (1 / share - 1)
    saving = float(np.mean(worth * (1 / over_all - 1))) / with_one if with_one > 0 else 1.0
    made = given.with_columns({"rate": over_all, "selected": selected | again}, replace=True)
    told = [note]
    if "rate" not in given.columns and asked_before:
        told.insert(0, f"no column 'rate': the {asked_before:,} votes that are there count as drawn at random")
    return Asked(made, over_all, selected | again, again, saving, tuple(told))


def _before(table: Table, votes: Ready | None, *, named: bool) -> tuple[Floats, Mask, Floats]:
    """Of earlier rounds: rates of being asked in any of them, who was, and what was said (NaN where nothing)."""
    h = np.full(table.rows, np.nan) if votes is None else plain_numbers(votes.table, votes.strong)
    voted = ~np.isnan(h)
    if "rate" not in table.columns:  # votes that are there count as drawn at random, as in `leaderboard`
        return np.full(h.size, float(voted.mean())), voted, h
    rates = table.numbers("rate")
    if "selected" not in table.columns and not voted.any():
        raise TableError(
            f"{table.name} has a column 'rate' but neither votes nor a column 'selected': take the table as the last "
            "round wrote it, or without that column"
        )
    selected = table.numbers("selected") != 0 if "selected" in table.columns else voted
    missing = int(np.count_nonzero(selected & ~voted))
    if missing:
        raise TableError(
            f"{missing:,} votes of {table.name} that were asked for are missing; get them before asking for more"
            + ("" if named else ", and name the column with the strong votes")
        )
    if rates.min() <= 0 or rates.max() > 1:
        raise TableError(f"the rates of {table.name} must be in (0, 1]; take the table as the last round wrote it")
    return rates, selected, h


def _worth(pairs: Pairs, x: Covariates, strong: Floats, rates: Floats) -> tuple[Floats, str]:
    """u of every comparison times how far it moves the ratings, and its source."""
    assert x.features is not None
    claimed = 0.5 * (x.weak + x.features[:, 1])
    claim = claimed * (1 - claimed)
    error = 0.5 + 0.5 * claim / claim.mean() if claim.mean() > 0 else np.ones(claim.size)
    moves = _moves(pairs, x.features[:, 0])
    labelled, follow = ~np.isnan(strong), "rates follow how much each pair moves the ratings"
    if int(labelled.sum()) < _FEWEST_TO_LEARN:
        return error * moves, follow
    known = Seen(x, strong, (Phase(x.items),), rates * x.items).learned
    model, unseen = sharpest_error(known, x)
    f = known.model.predict(x)
    moves = _moves(pairs, weak_predictor(pairs, f)[:, 0])
    at, prices = moves[labelled], []  # squared errors at a given cost, the labels' residuals standing in for u
    for u in (unseen, error[labelled]):
        root = np.sqrt(u * at)
        prices.append(float(known.weights @ (known.residual**2 * at / root)) * float(known.weights @ root))
    if prices[0] > _CLEAR_GAIN * prices[1]:
        return error * moves, f"{follow}; where weak votes err adds little"
    return model.predict(f, x) * moves, f"{follow}, and where weak votes were seen to err"


def _moves(pairs: Pairs, predictor: Floats) -> Floats:
    """‖A W⁻¹(e_a − e_b)‖² of every comparison; outside the largest group of connected models, the mean."""
    use, own = pairs.among(largest_group(pairs, np.ones(pairs.models, dtype=np.bool_)))
    X, p = own.design(), special.expit(predictor[use])
    out = np.empty(predictor.size)
    out[use] = influence(X, gram(X, p * (1 - p)) / p.size, centring(own.models))
    out[~use] = out[use].mean()
    return out


def _next_rates(root: Floats, rates: Floats, left: Mask, count: int) -> Floats:
    """This round's rates: they bring the rates over all rounds up to sqrt(u) and sum to `count` over the votes left."""
    root = np.maximum(root, DEFAULT_FLOOR_SHARE * root.mean())
    t = scaled_to(root, min(float(rates.sum()) + count, float(root.size)))
    wanted = np.minimum(1.0, t * root) if np.isfinite(t) else np.ones(root.size)
    missing = np.maximum((wanted - rates) / np.maximum(1 - rates, 1e-12), _LEAST_AGAIN * count / root.size)
    t = scaled_to(missing[left], float(count))
    return np.minimum(1.0, missing * t) if np.isfinite(t) else np.ones(root.size)


def _drawn(pairs: Pairs, rates: Floats, left: Mask, uniforms: Floats, seed: str) -> Mask:
    """Draw as many of the votes left as their rates sum to, spread evenly over the pairs of models."""
    group = np.minimum(pairs.a, pairs.b) * pairs.models + np.maximum(pairs.a, pairs.b)
    (start,) = uniform(["start"], seed=seed)
    out = np.zeros(rates.size, dtype=np.bool_)
    out[left] = draw_evenly(rates[left], uniforms[left], group[left], start=float(start))
    return out
