"""Per-item contributions Δ whose mean is the estimate, and the coefficients that tune them (METHODS section 5).

Every method is a straight line f_k = a_k + b_k R_k put in the weak rater's place, then

    Δ = f_0 + Σ_k (f_k − f_{k−1}) ξ_k / q_k,   f_K = H

which is unbiased whatever the line, as long as the line does not depend on the item's own ξ and H.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.ratings import Ratings

_PRIOR_LABELS = 10.0  # labels on a line of slope 1, spread like the pool, that the slope starts from
_PRIOR_LEVEL = 1.0  # labels on f = R that the level starts from: a rater that is off by a constant is soon found out
_FEWEST_LABELS = 5.0  # fewer effective labels than this fit no line
_NO_TRUST, _FULL_TRUST = 1.5, 4.0  # standard errors of the gain at which a fitted line starts and ends to be doubted


@dataclass(frozen=True, slots=True, eq=False)
class Lines:
    """a + b·R for every item and step (items × steps): one line for all, or one per fold."""

    intercept: Floats
    slope: Floats

    def put(self, weak: Floats) -> Floats:
        return self.intercept + self.slope * weak


def contributions(f: Floats, data: Ratings) -> Floats:
    """Δ of every item for predictions f in the weak raters' place."""
    values = np.concatenate([f, data.strong[:, None]], axis=1)
    steps = np.where(data.rated, np.diff(values, axis=1), 0.0)
    return np.asarray(f[:, 0] + (steps / data.rates).sum(axis=1))


def identity(data: Ratings) -> Lines:
    """The difference estimator: R as it is."""
    return Lines(np.zeros_like(data.weak), np.ones_like(data.weak))


def power_tuned(data: Ratings) -> Lines:
    """b = λ̂, a = 0: the paper's plug-in, step by step along a chain; λ = 1 where nothing can be tuned.

    λ̂ = 1 + Σ (H − R) R odds ξ_K/q_K / Σ R² odds, with odds = 1/π − 1 for two raters.
    """
    odds, last = data.step_odds(), data.rates[:, -1]
    had = data.inverse_rates()[:, :-1] * data.had  # ξ_{k−1}/q_{k−1}: who R_{k−1} is known of, inversely weighted
    R = np.where(data.had, data.weak, 0.0)
    residual = np.where(data.labelled, data.strong, 0.0)[:, None] - R
    top, bottom = power_terms(R, residual, odds, weight=(data.labelled / last)[:, None], had=had)
    squares = data.each(bottom).sum(axis=0) if data.sums is None else np.array([data.sums[2]])
    slope = power_slope(top.sum(axis=0), squares)
    return Lines(np.zeros_like(data.weak), np.broadcast_to(slope, data.weak.shape))


def power_terms(R: Floats, residual: Floats, odds: Floats, *, weight: Floats, had: Floats) -> tuple[Floats, Floats]:
    """Each item's terms in numerator and denominator of λ̂; `weight` is ξ_K/q_K, `had` is ξ_{k−1}/q_{k−1}."""
    return residual * R * odds * weight, R**2 * odds * had


def power_slope(top: Floats, bottom: Floats) -> Floats:
    """λ̂ from the two sums; 1 where nothing can be tuned."""
    return np.asarray(1.0 + np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0))


def regression(data: Ratings) -> Lines:
    """Both control variates, ξ/π − 1 and G (ξ/π − 1), fitted on all labels at once (biased with few of them)."""
    return _fit(data, np.zeros(data.rows, dtype=np.int64), folds=1, shrink=False)


def cross_fitted(data: Ratings, fold: NDArray[np.int64], *, folds: int) -> Lines:
    """The regression line, fitted on the other folds and shrunk toward R itself as far as it may be noise."""
    return _fit(data, fold, folds=folds, shrink=True)


LINES = {"difference": identity, "power-tuned": power_tuned, "regression": regression}
"""How each method that has a name fits its line."""


def _fit(data: Ratings, fold: NDArray[np.int64], *, folds: int, shrink: bool) -> Lines:
    """Weighted least squares of H on (1, R_{k−1}) for every step: minimises E[(H − f)² (1/q_k − 1/q_{k−1})]."""
    use = data.labelled
    odds = data.step_odds()[use] / data.rates[use, -1:]
    lines = identity(data)
    for k in range(data.weak.shape[1]):
        x, y, w = data.weak[use, k], data.strong[use], odds[:, k]
        a, b = _stacked(x, y, w, fold[use], folds, _pool_moments(data, k)) if shrink else _least_squares(x, y, w)
        lines.intercept[:, k], lines.slope[:, k] = _by_fold(a, fold), _by_fold(b, fold)
    return lines


def _by_fold(values: Floats, fold: NDArray[np.int64]) -> Floats:
    """Each item's value by its fold; the mean of all folds for an item that is in none (docs/statistics.md)."""
    return np.where(fold < 0, values.mean(), values[fold])


def _least_squares(x: Floats, y: Floats, w: Floats) -> tuple[Floats, Floats]:
    """One line for all; R itself where no rate is below 1, a constant where R does not vary."""
    total = w.sum()
    if not total > 0:
        return np.zeros(1), np.ones(1)
    mx, my = np.dot(w, x) / total, np.dot(w, y) / total
    dx = x - mx
    sxx = np.dot(w, dx * dx)
    slope = np.dot(w, dx * (y - my)) / sxx if sxx > 1e-12 * total * (mx**2 + 1e-300) else 0.0
    return np.array([my - slope * mx]), np.array([slope])


def _stacked(
    x: Floats, y: Floats, w: Floats, fold: NDArray[np.int64], folds: int, pool: tuple[float, float]
) -> tuple[Floats, Floats]:
    """Per fold: the line fitted on the other folds, taken as far as it predicts labels it has not seen.

    The slope starts from a few labels on a line of slope 1, spread like the pool, and the level from one label on
    f = R; the fit's weight against R itself is the one that minimises the squared error of leave-one-out predictions
    (stacking), between 0 and 1.
    """
    others = (fold[:, None] != np.arange(folds)) * w[:, None]  # labels × folds
    total = others.sum(axis=0)
    effective = np.divide(total**2, (others**2).sum(axis=0), out=np.zeros(folds), where=total > 0)
    one = np.divide(total, effective, out=np.zeros(folds), where=effective > 0)  # weight of a label
    level, prior = _PRIOR_LEVEL * one, _PRIOR_LABELS * one
    W = np.where(total > 0, total + level, 1.0)
    P, v = pool
    mx = (x @ others + level * P) / W
    my = (y @ others + level * P) / W
    dx, dy = x[:, None] - mx, y[:, None] - my
    sxx = (others * dx**2).sum(axis=0) + prior * v
    sxy = (others * dx * dy).sum(axis=0) + prior * v
    spread = sxx > 1e-12 * W * (P**2 + v) + 1e-300
    slope = np.divide(sxy, sxx, out=np.ones(folds), where=spread)
    leverage = others * (1.0 / W + np.divide(dx**2, sxx, out=np.zeros_like(dx), where=spread))
    unseen = (dy - slope * dx) / np.maximum(1.0 - leverage, 1e-6)
    keep = _stacking_weight(others, (y - x)[:, None], unseen) * (effective >= _FEWEST_LABELS)
    return keep * (my - slope * mx), 1.0 + keep * (slope - 1.0)


def _stacking_weight(w: Floats, raw: Floats, unseen: Floats) -> Floats:
    """The k in [0, 1] of least Σ w ((1 − k) raw + k unseen)²; nothing of it while the gain may be noise."""
    scale = float(np.abs(raw).max(initial=0.0))
    raw, unseen = (x / scale if scale > 0 else x for x in (raw, unseen))  # their fourth powers would underflow
    step = raw - unseen
    gain, size = (w * raw * step).sum(axis=0), (w * step**2).sum(axis=0)
    noise = np.sqrt((w**2 * (raw * step) ** 2).sum(axis=0))
    best = np.divide(gain, size, out=np.zeros_like(gain), where=size > 0)
    errors = np.divide(gain, noise, out=np.zeros_like(gain), where=noise > 0)
    trust = (errors - _NO_TRUST) / (_FULL_TRUST - _NO_TRUST)
    return np.asarray(np.clip(best, 0.0, 1.0) * np.clip(trust, 0.0, 1.0))


def _pool_moments(data: Ratings, k: int) -> tuple[float, float]:
    """Mean and variance of R_k over the pool, weighted as the fit weights labels."""
    if data.sums is not None and data.sums[0] > 0:
        mean = data.sums[1] / data.sums[0]
        return mean, max(data.sums[2] / data.sums[0] - mean**2, 0.0)
    had = data.had[:, k]
    weight = data.each(data.step_odds()[:, k] * data.inverse_rates()[:, k])[had]
    if not weight.sum() > 0:
        return 0.0, 0.0
    x = data.weak[had, k]
    mean = float(np.dot(weight, x) / weight.sum())
    return mean, float(np.dot(weight, (x - mean) ** 2) / weight.sum())
