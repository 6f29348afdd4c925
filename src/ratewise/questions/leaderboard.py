"""Leaderboards: Bradley–Terry ratings from pairwise votes, weak ones for all and strong ones for some."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from ratewise.core.bradley_terry import (
    Pairs,
    Standing,
    best_shares,
    boundless,
    fit_bradley_terry,
    largest_group,
    ranks,
    win_probabilities,
)
from ratewise.core.checks import Floats, choice
from ratewise.core.clusters import Codes, cluster_codes
from ratewise.core.document import Column, DataTable, Part, Sentence, as_lines, bar, noted
from ratewise.core.estimate import EstimateOptions
from ratewise.core.intervals import simultaneous_quantile
from ratewise.core.m_estimation import NoFitError
from ratewise.core.names import REGRESSION_METHODS, Estimand, RegressionMethod
from ratewise.core.ratings import Mask, Ratings, pool_of
from ratewise.core.result import Result
from ratewise.errors import InputError
from ratewise.learn.covariates import Covariates
from ratewise.learn.rating_model import cluster_fitted_rating, fitted_rating
from ratewise.questions.export_terms import NO_STRONG, Pooled, read_asked
from ratewise.questions.people import votes_in_words
from ratewise.questions.rated import Rate, RatedTable, Strong, TableColumns, read_rated, refuse_missing
from ratewise.questions.votes import read_models, vote_features, votes_ready
from ratewise.tables import TableLike, read_table
from ratewise.tables.words import Scale

ELO = 400.0 / math.log(10.0)  # a tenfold of odds is 400 points
AVERAGE = 1000.0
_NO_SPREAD = 1e-9  # of a rating's standard error, in log-odds: none that can be seen
_FEWEST_TO_LEARN = 50  # strong votes; with fewer the weak vote stays as it is


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
    if strong is None:
        read = read_table(table)
        asked = read_asked(read, "leaderboard", (model_a, model_b))
        if asked is None or weak is not None:
            raise InputError(NO_STRONG)
        number = {name: k for k, name in enumerate(asked.names)}
        a, b = (np.array([number[name] for name in read.texts(c)[asked.looked].tolist()]) for c in (model_a, model_b))
        return pooled_board(asked.pooled, Pairs(a, b, len(number)), asked.names)
    ready = votes_ready(table, strong=strong, weak=weak, scale=scale)
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
