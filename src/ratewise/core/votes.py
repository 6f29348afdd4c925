"""Several people's votes on an item: their mean, how far they agree, and what their disagreement adds to the variance.

A vote is the item's own mean over all people who could be asked, plus the person's deviation, independent from vote to
vote. So the mean of an item's votes is unbiased for the item's mean whatever their number, and its noise is σ²/k.
"""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats

_CLEARLY = 4.5  # standard errors by which a person differs; by chance less than once in 100,000 people


@dataclass(frozen=True, slots=True, eq=False)
class Votes:
    """Votes, items × people, NaN where a person did not vote."""

    values: Floats
    people: tuple[str, ...]

    @property
    def counts(self) -> NDArray[np.intp]:
        return np.asarray((~np.isnan(self.values)).sum(axis=1))

    @property
    def means(self) -> Floats:
        """Mean vote per item; NaN where there is none."""
        k = self.counts
        total = np.nansum(self.values, axis=1)
        return np.asarray(np.divide(total, k, out=np.full(k.size, np.nan), where=k > 0))

    def rows(self, use: NDArray[np.bool_]) -> "Votes":
        return Votes(self.values[use], self.people)

    def spread_within(self) -> Floats | None:
        """Variance of a vote around its item's mean, per item; items with one vote get that of all others together.

        None where no item has two votes: then nothing tells.
        """
        k, squares = self.counts, _squares_within(self)
        if not np.any(k > 1):
            return None
        pooled = float(squares.sum() / (k[k > 1] - 1).sum())
        return np.where(k > 1, squares / np.maximum(k - 1, 1), pooled)


def _squares_within(votes: Votes) -> Floats:
    return np.asarray(np.nansum((votes.values - votes.means[:, None]) ** 2, axis=1))


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far people agree, and what another vote per item would buy against other items.

    `percent` is the share of pairs of votes on one item that are equal, `alpha` Krippendorff's (squared distances: for
    0/1 votes the same as for names). The standard errors are the one now, with one more vote on every rated item, and
    with the same number of votes on further items instead. `None` where nothing tells.
    """

    people: int
    items: int
    votes: int
    percent: float | None
    alpha: float | None
    noise_share: float | None = None  # of the estimate's variance
    standard_error: float | None = None
    with_another_vote: float | None = None
    with_other_items: float | None = None
    differs: tuple[tuple[str, float], ...] = ()  # people who clearly rate higher or lower than the others, by how much

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"differs": dict(self.differs)}


def krippendorff_alpha(votes: Votes) -> float | None:
    """Krippendorff's alpha, 1 − D_observed/D_expected, over items with two votes or more (Krippendorff 2011).

    None where no item has two votes, or all votes are the same.
    """
    use = votes.rows(votes.counts > 1)
    known = use.values[~np.isnan(use.values)]
    n, k = known.size, use.counts
    if n < 2 or np.ptp(known) == 0:
        return None
    observed = float((2 * k * _squares_within(use) / (k - 1)).sum()) / n
    expected = 2 * n * float(np.sum((known - known.mean()) ** 2)) / (n * (n - 1))
    return 1.0 - observed / expected


def percent_agreement(votes: Votes) -> float | None:
    """Share of pairs of votes on the same item that are equal."""
    v, k = votes.values, votes.counts
    names = np.unique(v[~np.isnan(v)])
    pairs = float((k * (k - 1)).sum())
    if pairs == 0:
        return None
    each = np.stack([(v == name).sum(axis=1) for name in names], axis=1)
    return float((each * (each - 1)).sum()) / pairs


def people_who_differ(votes: Votes) -> tuple[tuple[str, float], ...]:
    """People who clearly rate higher or lower than others do on the same items, and by how much."""
    found = []
    for j, name in enumerate(votes.people):
        others = np.delete(votes.values, j, axis=1)
        both = ~np.isnan(votes.values[:, j]) & ~np.isnan(others).all(axis=1)
        if np.count_nonzero(both) < 2:
            continue
        d = votes.values[both, j] - Votes(others[both], ()).means
        error = float(d.std(ddof=1)) / math.sqrt(d.size)
        if abs(float(d.mean())) > _CLEARLY * error + 1.0 / d.size * float(np.abs(d).max()):
            found.append((name, float(d.mean())))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class VoteNoise:
    """What votes' disagreement does to the variance of an estimate from T items with rates π."""

    part: float  # of the variance that was estimated: T⁻² Σ ξ/π² σ²/k
    beyond: float  # of a pool's own mean, what the draw's variance misses: T⁻² Σ ξ/π σ²/k
    saved: float  # what one more vote on every rated item takes off: T⁻² Σ ξ/π² σ² (1/k − 1/(k+1))


def vote_noise(votes: Votes, rates: Floats, items: int | None = None) -> VoteNoise | None:
    """`votes` and `rates` are of the T items looked at; None where no item has two votes.

    `items` is T where they are of some of those only, everyone with a vote among them.
    """
    spread = votes.spread_within()
    if spread is None:
        return None
    k, T = votes.counts, rates.size if items is None else items
    use = k > 0
    each = spread[use] / k[use]
    return VoteNoise(
        float((each / rates[use] ** 2).sum()) / T**2,
        float((each / rates[use]).sum()) / T**2,
        float((each / (k[use] + 1) / rates[use] ** 2).sum()) / T**2,
    )


def agreement(
    votes: Votes, rates: Floats, *, standard_error: float | None, room: bool, items: int | None = None
) -> Agreement:
    """Agreement in the votes on the T items looked at; `room` says whether there are further items to rate.

    `items` is as in `vote_noise`.
    """
    k = votes.counts
    noise = vote_noise(votes, rates, items)
    plain = Agreement(
        people=len(votes.people),
        items=int(np.count_nonzero(k)),
        votes=int(k.sum()),
        percent=percent_agreement(votes),
        alpha=krippendorff_alpha(votes),
        standard_error=standard_error,
        differs=people_who_differ(votes),
    )
    if noise is None or standard_error is None:
        return plain
    variance, each = standard_error**2, plain.votes / max(plain.items, 1)
    return replace(
        plain, noise_share=min(noise.part / variance, 1.0),
        with_another_vote=math.sqrt(max(variance - noise.saved, 0.0)),
        with_other_items=math.sqrt(variance * each / (each + 1)) if room else None,
    )  # fmt: skip
