"""Leaderboards: Bradley–Terry ratings from pairwise votes, weak ones for all and strong ones for some.

P(a beats b) = σ(r_a − r_b) is a logistic regression on rows e_a − e_b; a tie counts as half a win. Ratings are known up
to a constant, so the last model's is taken as 0 in the fit and all are centred afterwards.

Which comparisons to ask about next: a vote's worth is u(x) = E[(H−f)²|x] ‖A W⁻¹(e_a − e_b)‖² (METHODS section 7,
Bradley–Terry): how far the weak vote is off, times how much the pair moves the centred ratings. Models that are rarely
compared get more of the votes.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, special
from scipy.sparse import csgraph

from ratewise.core.checks import Floats, choice, number
from ratewise.core.clusters import Codes, cluster_codes
from ratewise.core.document import Column, DataTable, Part, Sentence, as_lines, bar, noted
from ratewise.core.draw import draw_evenly, scaled_to, uniform
from ratewise.core.estimate import EstimateOptions
from ratewise.core.intervals import largest_differences, normal_draws, simultaneous_quantile
from ratewise.core.m_estimation import LOGISTIC, MFit, NoFitError, degrees_of_freedom, fit_m_estimator, gram, influence
from ratewise.core.names import REGRESSION_METHODS, Estimand, RegressionMethod
from ratewise.core.ratings import Mask, Ratings, pool_of, ratings
from ratewise.core.result import FrameKind, Result
from ratewise.design.options import sharpest_error
from ratewise.design.seen import Phase, Seen
from ratewise.errors import InputError, Message, TableError, argument
from ratewise.learn.covariates import Covariates
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE
from ratewise.learn.features import codings, feature_matrix
from ratewise.learn.rating_model import cluster_fitted_rating, fitted_rating
from ratewise.questions.rated import (
    NO_STRONG,
    Pooled,
    Rate,
    RatedTable,
    Ready,
    Strong,
    TableColumns,
    read_asked,
    read_rated,
    refuse_missing,
    strong_columns,
    votes_in_words,
    with_mean,
)
from ratewise.tables import Table, TableLike, read_table
from ratewise.tables.words import Meaning, Scale, in_numbers, meaning_of

_OUT_OF_REACH = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Which two models each vote compares, as numbers from 0 to below `models`."""

    a: NDArray[np.intp]
    b: NDArray[np.intp]
    models: int

    def design(self) -> sparse.csr_array:
        """Rows e_a − e_b without the last model's column, which is the reference."""
        n = self.a.size
        index = np.stack([self.a, self.b], axis=1).ravel()
        values = np.tile([1.0, -1.0], n)
        keep = index < self.models - 1
        counts = np.concatenate([[0], np.cumsum(keep.reshape(n, 2).sum(axis=1))])
        return sparse.csr_array((values[keep], index[keep], counts), shape=(n, self.models - 1))

    def rows(self, use: Mask) -> "Pairs":
        return Pairs(self.a[use], self.b[use], self.models)

    def among(self, models: Mask) -> tuple[Mask, "Pairs"]:
        """Which votes are between these models, and those votes with the models numbered anew."""
        use, number = models[self.a] & models[self.b], np.cumsum(models) - 1
        return use, Pairs(number[self.a[use]], number[self.b[use]], int(models.sum()))

    def counts(self, weights: Floats | None = None) -> Floats:
        """Votes of each model, or the sum of their weights."""
        both = np.bincount(self.a, weights, self.models) + np.bincount(self.b, weights, self.models)
        return both.astype(np.float64)


def centring(models: int) -> Floats:
    """Ratings that sum to 0 from a fit with the last model at 0: models × (models − 1)."""
    return np.eye(models)[:, :-1] - 1.0 / models


def largest_group(pairs: Pairs, models: Mask) -> Mask:
    """The largest group of these models that votes connect; ratings of different groups cannot be compared."""
    votes = pairs.rows(models[pairs.a] & models[pairs.b])
    ones = np.ones(votes.a.size)
    graph = sparse.csr_array((ones, (votes.a, votes.b)), shape=(pairs.models, pairs.models))
    group = csgraph.connected_components(graph, directed=False)[1]
    return np.asarray(models & (group == np.argmax(np.bincount(group, weights=models))))


@dataclass(frozen=True, slots=True, eq=False)
class Standing:
    """Centred ratings (natural log-odds) of the models that have one, and their covariance."""

    fit: MFit
    ratings: Floats
    covariance: Floats
    degrees_of_freedom: Floats  # of each rating's standard error


def fit_bradley_terry(
    pairs: Pairs, votes: Ratings, *, power: float | None, clusters: Codes | None, pool_size: float
) -> Standing:
    """Ratings from rectified votes; raises `NoFitError` whose `direction` is by model where some run away."""
    A = centring(pairs.models)
    X = pairs.design()
    try:
        fit = fit_m_estimator(X, LOGISTIC, votes, power=power, clusters=clusters, pool_size=pool_size, contrasts=A)
    except NoFitError as error:
        raise NoFitError(str(error), A @ error.direction) from None
    df = degrees_of_freedom(fit, X, contrasts=A, clusters=clusters, pool_size=pool_size)
    return Standing(fit, A @ fit.coefficients, A @ fit.covariance @ A.T, df)


def boundless(pairs: Pairs, outcome: Floats, share: Floats) -> tuple[Mask, Mask]:
    """Models that won all and that lost all: by the (rectified) outcome for a, out of `share` of a vote each.

    Their ratings have no end. With rectified votes a total beyond what winning everything would give counts as well.
    """
    won = np.bincount(pairs.a, outcome, pairs.models) + np.bincount(pairs.b, share - outcome, pairs.models)
    played = pairs.counts(share)
    reach = _OUT_OF_REACH * np.maximum(played, 1.0)
    some = pairs.counts() > 0
    return some & (won >= played - reach), some & (won <= reach)


@dataclass(frozen=True, slots=True, eq=False)
class Ranks:
    """1 is best; `low` and `high` hold for all models at once."""

    rank: NDArray[np.intp]
    low: NDArray[np.intp]
    high: NDArray[np.intp]


def ranks(ratings: Floats, covariance: Floats, level: float, *, stretch: float = 1.0, seed: int = 0) -> Ranks:
    """Ranks with intervals that hold at once: from one test of all differences (largest |t| over pairs).

    A model's best rank is one more than the number that are surely better, its worst the number that are not surely
    worse. `stretch` widens the normal quantile for few labels.
    """
    K = ratings.size
    rank = np.empty(K, dtype=np.intp)
    rank[np.argsort(-ratings, kind="stable")] = np.arange(1, K + 1)
    if K < 2:
        return Ranks(rank, rank, rank)
    c = stretch * float(np.quantile(largest_differences(covariance, seed=seed), level))
    gap = ratings[:, None] - ratings[None, :]
    d = np.diag(covariance)
    sd = np.sqrt(np.maximum(d[:, None] + d[None, :] - 2 * covariance, 0.0))
    better = gap > c * sd  # row surely better than column
    np.fill_diagonal(better, False)
    return Ranks(rank, np.asarray(1 + better.sum(axis=0), np.intp), np.asarray(K - better.sum(axis=1), np.intp))


def win_probabilities(ratings: Floats) -> Floats:
    """P(row beats column), ties counted half."""
    return np.asarray(special.expit(ratings[:, None] - ratings[None, :]))


def best_shares(ratings: Floats, covariance: Floats, *, seed: int = 0) -> Floats:
    """How likely each model is the best one, by the estimate's normal error."""
    Z = ratings + normal_draws(covariance, seed=seed)
    top = Z.max(axis=1, keepdims=True) - 1e-12 <= Z
    return np.asarray((top / top.sum(axis=1, keepdims=True)).mean(axis=0))


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


_FEWEST_TO_FOLLOW = 100  # strong votes before rates follow where the weak votes were seen to err
_CLEAR_GAIN = 0.97  # of the expected error, that learned rates must reach
_LEAST_AGAIN = 0.05  # of the mean rate, for pairs that had their share in earlier rounds


# Which comparisons to ask about next


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
    g = read.numbers(weak, missing="allow")
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
    h = np.full(table.rows, np.nan) if votes is None else votes.table.numbers(votes.strong, missing="allow")
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
    if int(labelled.sum()) < _FEWEST_TO_FOLLOW:
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


ELO = 400.0 / math.log(10.0)  # a tenfold of odds is 400 points
AVERAGE = 1000.0
_NO_SPREAD = 1e-9  # of a rating's standard error, in log-odds: none that can be seen
_FEWEST_TO_LEARN = 50  # strong votes; with fewer the weak vote stays as it is


# Ratings of models


@dataclass(frozen=True, slots=True)
class RankedModel(Result):
    """One model's place. Rating and rank are `None` with a reason where votes cannot tell them."""

    name: str
    rating: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    rank: int | None
    rank_low: int | None  # the best rank it may have; models without a rating may be above or below
    rank_high: int | None
    best: float | None  # how likely it is the best one
    strong_votes: int
    votes: int
    reason: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Leaderboard(Result):
    """Models by rating, best first. Intervals of ratings hold for all models at once, and so do those of ranks."""

    models: tuple[RankedModel, ...]
    level: float
    items: int
    labels: int
    method: str
    estimand: str
    notes: tuple[str, ...] = ()
    log_odds: Floats = field(repr=False, default_factory=lambda: np.empty(0))  # of the rated ones, best first, mean 0
    covariance: Floats = field(repr=False, default_factory=lambda: np.empty((0, 0)))

    @property
    def rated(self) -> tuple[RankedModel, ...]:
        """The models that have a rating."""
        return tuple(model for model in self.models if model.rating is not None)

    def __getitem__(self, name: str) -> RankedModel:
        return {model.name: model for model in self.models}[name]

    def win_probability(self, first: str, second: str) -> float:
        """How often the first beats the second, ties counted half."""
        names = [model.name for model in self.rated]
        for name in (first, second):
            if name not in names:
                raise InputError(f"{name!r} has no rating here; rated are {', '.join(names)}")
        return float(self.win_probabilities()[names.index(first), names.index(second)])

    def win_probabilities(self) -> Floats:
        """P(row beats column) of the rated models, in their order."""
        return win_probabilities(self.log_odds)

    def to_dict(self) -> dict[str, Any]:
        names = [model.name for model in self.rated]
        chances = {"models": names, "rows_beat_columns": self.win_probabilities().tolist()}
        return Result.to_dict(self) | {"win_probabilities": chances}

    def _rows(self) -> list[dict[str, Any]]:
        return [model.to_dict() for model in self.models]

    def summary(self) -> str:
        return as_lines(self.document())

    def document(self) -> list[Part]:
        table = DataTable([
            Column("rank"), Column("model", "name"), Column("rating"), Column(f"{self.level:.0%} interval"),
            Column("", "bar", 4), Column("may rank", leaves=1), Column("best", leaves=3), Column("votes", leaves=2),
        ])  # fmt: skip
        known = [x for m in self.rated for x in (m.low, m.rating, m.high) if x is not None]
        for m in self.rated:
            table.add(
                str(m.rank), m.name, f"{m.rating:.0f}", "none" if m.low is None else f"{m.low:.0f} to {m.high:.0f}",
                "" if m.low is None else bar(m.rating, m.low, m.high, (min(known), max(known)), width=_BAR),
                f"{m.rank_low}–{m.rank_high}", _percent(m.best), f"{m.strong_votes:,}",
            )  # fmt: skip
        unrated = {f"{m.name}: {m.reason}" for m in self.models if m.rating is None}
        rest = [Sentence(f"–  {m.name}: {m.reason}") for m in self.models if m.rating is None]
        line = (
            f"{self.labels:,} strong votes on {self.items:,} comparisons ({self.method}). "
            "Intervals and ranks each hold for all models at once."
        )
        return [table, *rest, Sentence(), Sentence(line), *noted(note for note in self.notes if note not in unrated)]


_BAR = 28  # signs


def _percent(share: float | None) -> str:
    """A share in percent: empty where it is next to impossible, and never 100 % where it is not certain."""
    if share is None or share < 0.005:
        return ""
    return ">99%" if share > 0.995 else f"{share:.0%}"


def leaderboard(
    table: TableLike,
    *,
    model_a: str = "model_a",
    model_b: str = "model_b",
    strong: Strong | None = None,
    weak: str | None = None,
    rate: Rate = None,
    selected: str | None = None,
    features: Sequence[str] = (),
    method: RegressionMethod = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: str | None = None,
    scale: Scale = None,
    seed: int = 0,
) -> Leaderboard:
    """Ratings of models from pairwise votes: P(a beats b) = 1 / (1 + 10^((r_b − r_a)/400)), ties counted half.

    Votes are the first model's score from 0 to 1, or model_a, model_b, tie; `scale` lists other words, from the second
    model's win to the first one's. `strong` may be several people's columns: their mean is the vote. `rate` is the
    column with the probability each comparison was sent to the strong rater with, or one number for all; without it the
    rated ones are taken as a random draw. Without `weak` strong votes stand alone. `method` as for `regress`; `auto`
    learns the strong vote from the weak one, what all weak votes say of the pair, and `features`. Ratings have mean
    1000; `estimand` pool is about the ratings that strong votes on all rows would give.

    A model that never lost (or never won) has no finite rating, and models that no vote connects with the others
    cannot be compared: they are named with the reason, and the others are rated. The export of a campaign that was
    asked for a board needs no columns.
    """
    choice(method, REGRESSION_METHODS, name="method")
    how = EstimateOptions(method, level=level, estimand=estimand, pool_size=pool_size, seed=seed)
    read, meaning = read_table(table), meaning_of(None, scale)
    if strong is None:
        asked = read_asked(read, "leaderboard", (model_a, model_b))
        if asked is None or weak is not None:
            raise InputError(NO_STRONG)
        number = {name: k for k, name in enumerate(asked.names)}
        a, b = (np.array([number[name] for name in read.texts(c)[asked.looked].tolist()]) for c in (model_a, model_b))
        return pooled_board(asked.pooled, Pairs(a, b, len(number)), asked.names)
    people = strong_columns(read, strong)
    ready = with_mean(votes_in_numbers(read, people, weak, meaning), people, meaning)
    ready.refuse_pool(estimand)
    names, all_pairs = read_models(ready.table, model_a, model_b)
    drawn = read_rated(ready, TableColumns(strong, weak, rate, selected, clusters), one_rate_alone=False)
    refuse_missing(drawn)
    N = pool_of(estimand, drawn.how(how).pool_size, drawn.items.strong.size)
    pairs = all_pairs.rows(drawn.rows)
    votes, used = _votes(drawn, pairs, weak, method, features)
    power = 0.0 if weak is None else None if method == "power-tuned" else 1.0
    told = drawn.notes(how) + votes_in_words(drawn)
    return _ranked(names, pairs, votes, power, drawn.codes(), how, N, used=used, told=told)


def pooled_board(pooled: Pooled, pairs: Pairs, names: Sequence[str]) -> Leaderboard:
    """The board of a campaign from all rounds as one draw, as it reports it."""
    t = pooled.terms
    items, told = pooled.came()
    how = EstimateOptions(level=t.level_at, estimand=t.estimand)
    N = pool_of(t.estimand, t.pool_size, items.rows)
    codes = None if items.clusters is None else cluster_codes(items.clusters, items.rows)
    found = _ranked(names, pairs, items.checked(), 1.0, codes, how, N, used="the campaign's own prediction", told=told)
    return replace(found, level=t.level)


def _ranked(
    names: Sequence[str], pairs: Pairs, votes: Ratings, power: float | None, codes: Codes | None,
    how: EstimateOptions, N: float, *, used: str, told: tuple[str, ...],
) -> Leaderboard:  # fmt: skip
    """The board of these votes; N is the size of the pool, or infinite."""
    standing, kept, reasons = _stand(pairs, votes, power, codes, N)
    exact = not math.isinf(N) and bool(np.all(votes.rates == 1)) and votes.items == N
    said = tuple(f"{names[k]}: {why}" for k, why in sorted(reasons.items()))
    rows, order = _board(names, pairs, votes, standing, kept, reasons, how, exact=exact)
    if any(model.low is None for model in rows if model.rating is not None):
        said = (*said, "no vote differs from what the ratings say, so their spread is unknown: there are no intervals")
    return Leaderboard(
        models=tuple(rows),
        level=how.level,
        items=votes.items,
        labels=votes.labels,
        method=used,
        estimand=how.estimand,
        notes=told + said,
        log_odds=standing.ratings[order],
        covariance=standing.covariance[np.ix_(order, order)],
    )


def _votes(
    drawn: RatedTable, pairs: Pairs, weak: str | None, method: str, features: Sequence[str]
) -> tuple[Ratings, str]:
    data, codes = drawn.items.checked(), drawn.codes()
    if weak is None:
        return data, "strong votes alone"
    if method != "auto":
        return data, method
    if data.labels < _FEWEST_TO_LEARN or np.all(data.rates == 1):
        return data, "auto (weak votes as they are)"
    known = vote_features(drawn.table, drawn.rows, pairs, data.weak[:, 0], features)
    x, weights = Covariates(data.weak[:, 0], known), 1.0 / data.rates[:, 0]
    if codes is None:
        f = fitted_rating(x, data.strong, weights)
    else:
        f = cluster_fitted_rating(x, data.strong, weights, codes)
    return Ratings(f[:, None], data.strong, data.rates), "auto (weak votes learned)"


# Who can be rated


def _stand(
    pairs: Pairs, votes: Ratings, power: float | None, clusters: Codes | None, N: float
) -> tuple[Standing, Mask, dict[int, str]]:
    """The fit of all models that have a finite rating, which these are, and why the others have none."""
    weight = votes.labelled / votes.rates[:, 0]
    h = np.where(votes.labelled, votes.strong, 0.0)
    outcome = h * weight if power == 0 else votes.weak[:, 0] * (1 - weight) + h * weight
    counted = weight if power == 0 else np.ones(votes.items)
    kept, reasons = np.ones(pairs.models, dtype=np.bool_), dict[int, str]()

    def leave_out(models: Mask, why: str) -> None:
        reasons.update((int(k), why) for k in np.flatnonzero(models & kept))
        kept[models] = False

    while True:
        apart = ~largest_group(pairs.rows(counted > 0), kept)
        leave_out(apart, "no vote connects it with the others, so it cannot be compared with them")
        if int(kept.sum()) < 2:
            why = "; ".join(dict.fromkeys(reasons.values()))
            raise InputError(f"fewer than two models can be rated: {why or 'there is only one'}")
        use, own = pairs.among(kept)
        won, lost = boundless(pairs.rows(use), outcome[use], counted[use])
        if np.any((won | lost) & kept):
            leave_out(won, "it lost no vote, so its rating has no upper end; get votes that it may lose")
            leave_out(lost, "it won no vote, so its rating has no lower end; get votes that it may win")
            continue
        codes = None if clusters is None else np.unique(clusters[use], return_inverse=True)[1]
        size = N if math.isinf(N) else N * float(use.mean())
        try:
            some = votes.part(use)
            return fit_bradley_terry(own, some, power=power, clusters=codes, pool_size=size), kept, reasons
        except NoFitError as error:
            worst = np.flatnonzero(kept)[int(np.argmax(np.abs(error.direction)))]
            away = np.arange(kept.size) == worst
            leave_out(away, "its votes are too one-sided for a finite rating; get more strong votes on it")


# The board


def _board(
    names: Sequence[str], pairs: Pairs, votes: Ratings, standing: Standing, kept: Mask, reasons: Mapping[int, str],
    how: EstimateOptions, *, exact: bool,
) -> tuple[list[RankedModel], NDArray[np.intp]]:  # fmt: skip
    """Rows best first, and the order of the rated ones. `exact`: there is no error, not just none that can be seen."""
    level, seed = how.level, how.seed
    se = np.sqrt(np.maximum(np.diag(standing.covariance), 0.0))
    p = 0.5 + level / 2  # Student's quantile over the normal one, for each model
    stretch = np.asarray(special.stdtrit(standing.degrees_of_freedom, p) / special.ndtri(p))
    half = stretch * simultaneous_quantile(standing.covariance, level, seed=seed) * ELO * se
    places = ranks(standing.ratings, standing.covariance, level, stretch=float(stretch.max()), seed=seed)
    best = best_shares(standing.ratings, standing.covariance, seed=seed)
    unrated = len(reasons)  # they may be above or below all others
    vary = bool(se.max() > _NO_SPREAD) or exact
    labelled, met = pairs.rows(votes.labelled).counts(), pairs.counts()
    order = np.argsort(-standing.ratings, kind="stable")
    models = np.flatnonzero(kept)
    rows = []
    for k in order:
        i, r = models[k], AVERAGE + ELO * standing.ratings[k]
        error, low, high = (float(ELO * se[k]), float(r - half[k]), float(r + half[k])) if vary else (None, None, None)
        first, last = (int(places.low[k]), int(places.high[k]) + unrated) if vary else (1, len(models) + unrated)
        chance = float(best[k]) if unrated == 0 and vary else None
        counts, rank = (int(labelled[i]), int(met[i])), int(places.rank[k])
        rows.append(RankedModel(names[i], float(r), error, low, high, rank, first, last, chance, *counts))
    none = (None,) * 8
    rows += [RankedModel(names[i], *none, int(labelled[i]), int(met[i]), why) for i, why in sorted(reasons.items())]
    return rows, order
