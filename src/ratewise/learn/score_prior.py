"""What a judge's score usually means, known before any label: P(H = 1 | g) = σ(a + b·logit g), with a prior on a and b.

The prior is a mixture: scores that mean what such scores mostly meant on public tables (`benchmarks/cold.py` fits
them), scores that may mean anything, and scores that say nothing (b = 0). The last ones have most of the weight: to
take a useless judge at its word costs more than to learn from ten labels that a good one deserves it. Labels turn the
prior into a posterior on a grid of lines, exactly. f is the mean of the lines, and u = f(1 − f) counts both the
verdict's own spread and how little is known of the line. Without label i the posterior is the one of all labels over
the likelihood of i, so that predictions of labels from the others are exact, too.

Limiting cases: without labels, the prior's mean; many labels leave one line, of logistic regression; scores that do not
vary give the labels' mean, a little shrunk.
"""

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy import special

from ratewise.core.checks import Floats

ScoreKind = Literal["probability", "confidence", "votes", "similarity"]
SCORE_KINDS: tuple[ScoreKind, ...] = get_args(ScoreKind)

_CLIP = 1e-3  # scores are kept this far from 0 and 1 before the logit
_KNOTS: Floats = np.linspace(float(special.logit(_CLIP)), float(special.logit(1 - _CLIP)), 57)
_FURTHEST = 35.0  # lines whose log-density is so far below the highest one are left out
_A, _B = (x.ravel() for x in np.meshgrid(np.linspace(-7, 7, 57), np.linspace(-1.5, 2.5, 33), indexing="ij"))

_USELESS, _ANYTHING = 0.8, 0.05  # shares of scores that say nothing, and that may mean anything
_WIDE, _WIDE_SLOPE = 2.5, 0.75  # spread of the intercept of either, and of the latter's slope


@dataclass(frozen=True, slots=True)
class ScorePrior:
    """Mean and spread of intercept and slope of scores of one kind, where they mean what they mostly do."""

    intercept: tuple[float, float]
    slope: tuple[float, float]

    def posterior(self, weak: Floats, strong: Floats, around: Floats) -> "ScorePosterior":
        """What labels make of it; strong ratings lie within [0, 1]. `around` are scores of the items seen."""
        log = np.log(self._weights())
        at = _A[:, None] + _B[:, None] * _log_odds(weak)
        said = strong * at - np.logaddexp(0.0, at)
        total = log + said.sum(axis=1)
        near = total > total.max() - _FURTHEST
        at, said, total, a, b = at[near], said[near], total[near], _A[near], _B[near]
        lines = special.expit(a[:, None] + b[:, None] * _KNOTS)
        without = total[:, None] - said
        without = np.exp(without - without.max(axis=0, initial=-np.inf))
        without /= without.sum(axis=0)
        density = np.exp(total - total.max())
        curve = (density / density.sum()) @ lines
        often = _often(around)
        level = _mean_root(curve, often) / _mean_root(without.T @ lines, often)
        return ScorePosterior(curve, (without * special.expit(at)).sum(axis=0), np.asarray(level**2))

    def _weights(self) -> Floats:
        """Of every line of the grid."""
        wide = _bell(_A, 0.0, _WIDE)
        usual = _bell(_A, *self.intercept) * _bell(_B, *self.slope)
        anything = wide * _bell(_B, 0.0, _WIDE_SLOPE)
        useless = wide * (np.abs(_B) < 1e-9)
        shares = (1 - _USELESS - _ANYTHING, _ANYTHING, _USELESS)
        parts = (share * part / part.sum() for share, part in zip(shares, (usual, anything, useless), strict=True))
        return np.asarray(sum(parts) + 1e-300)


@dataclass(frozen=True, slots=True, eq=False)
class ScorePosterior:
    """What labels and the prior say together."""

    curve: Floats  # f at the knots of the score's log-odds
    unseen: Floats  # f of each label from the others
    level: Floats  # how much higher u is with each label than without it, as rates see it


PRIORS: dict[ScoreKind, ScorePrior] = {
    "probability": ScorePrior((0.0, 0.75), (0.8, 0.3)),
    "confidence": ScorePrior((-1.0, 1.5), (0.9, 0.5)),
    "votes": ScorePrior((0.0, 0.75), (0.4, 0.3)),
    "similarity": ScorePrior((1.5, 2.0), (0.9, 0.4)),
}


def along(curve: Floats, weak: Floats) -> Floats:
    """Values of a curve at these scores."""
    return np.interp(_log_odds(weak), _KNOTS, curve)


def _bell(x: Floats, mean: float, sd: float) -> Floats:
    return np.asarray(np.exp(-0.5 * ((x - mean) / sd) ** 2))


def _log_odds(weak: Floats) -> Floats:
    return np.asarray(special.logit(np.clip(weak, _CLIP, 1 - _CLIP)))


def _often(weak: Floats) -> Floats:
    """Share of the scores at each knot; all knots alike where there is no score."""
    if not weak.size:
        return np.full(_KNOTS.size, 1.0 / _KNOTS.size)
    step = _KNOTS[1] - _KNOTS[0]
    at = np.rint((_log_odds(weak) - _KNOTS[0]) / step).astype(np.intp)
    return np.asarray(np.bincount(at, minlength=_KNOTS.size) / weak.size)


def _mean_root(curve: Floats, often: Floats) -> Floats:
    return np.asarray(np.sqrt(curve * (1 - curve)) @ often)
