"""Calibration of the weak rating to the strong one: Platt, affine, isotonic; cross-fitted where it must be."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray
from scipy import special

from ratewise.core.checks import Floats, as_floats, choice, finite
from ratewise.core.clusters import Codes, cluster_folds
from ratewise.core.names import CALIBRATORS, Calibrator
from ratewise.core.result import JsonRecord, Result
from ratewise.errors import InputError

_CLIP = 1e-3  # scores are kept this far from the ends before the logit
_FEWEST = 2  # labels


@dataclass(frozen=True, slots=True, repr=False)
class Calibration(JsonRecord, Result):
    """A fitted map from weak rating to expected strong rating; small enough to read in a file.

    Platt: low + (high − low)·σ(a + b·logit(score)), the score rescaled from [from_low, from_high]. Affine: a + b·G.
    Isotonic: straight lines between knots. Predictions stay within the strong ratings seen; affine ones only where a
    range is given.
    """

    kind: Calibrator
    intercept: float = 0.0
    slope: float = 1.0
    knots: tuple[float, ...] = ()
    values: tuple[float, ...] = ()
    weak_range: tuple[float, float] = (0.0, 1.0)
    strong_range: tuple[float, float] | None = None

    def predict(self, weak: ArrayLike) -> Floats:
        """Expected strong rating for each weak one."""
        g = as_floats(weak, name="weak")
        if self.kind == "affine":
            line = self.intercept + self.slope * g
            return line if self.strong_range is None else np.clip(line, *self.strong_range)
        if self.kind == "isotonic":
            return np.interp(g, self.knots, self.values)
        low, high = self.strong_range or (0.0, 1.0)
        return np.asarray(low + (high - low) * special.expit(self.intercept + self.slope * _logit(g, self.weak_range)))


def fit_calibration(
    weak: ArrayLike, strong: ArrayLike, *, kind: Calibrator = "platt", weights: ArrayLike | None = None
) -> Calibration:
    """Fit on labelled items; `weights` (1/π) where they were drawn with unequal rates.

    Limiting cases: constant strong ratings give that constant (shrunk a little by Platt); a constant weak rating gives
    the mean strong rating; Platt's targets keep separable labels finite.
    """
    choice(kind, CALIBRATORS, name="calibration")
    g, h = finite(weak, name="weak"), finite(strong, name="strong")
    if g.shape != h.shape or g.ndim != 1:
        raise InputError(f"weak and strong must be rows of equal length; got shapes {g.shape} and {h.shape}")
    if g.size < _FEWEST:
        raise InputError(f"calibration needs at least {_FEWEST} labelled items; got {g.size}")
    w = np.ones(g.size) if weights is None else finite(weights, name="weights", minimum=0)
    return {"platt": _platt, "affine": _affine, "isotonic": _isotonic}[kind](g, h, w)


def cross_calibrated(
    weak: ArrayLike,
    strong: ArrayLike,
    *,
    kind: Calibrator,
    folds: int = 10,
    seed: int = 0,
    codes: Codes | None = None,
    given: NDArray[np.int64] | None = None,
) -> Floats:
    """The weak rating of every item calibrated on the labels of the other folds; `strong` is NaN where not rated.

    Folds do not look at who is labelled, so that an estimate on the result stays unbiased. A fold whose others have
    fewer than two labels keeps the weak rating as it is. `codes` number the clusters that a fold may not split; `given`
    are the folds, where they are known: an item in none (−1) takes the mean of all maps.
    """
    g, h = as_floats(weak, name="weak"), as_floats(strong, name="strong")
    if given is None:
        rng = np.random.default_rng(seed)
        fold = rng.permutation(g.size) % folds if codes is None else cluster_folds(codes, folds, rng)
    else:
        fold = given
    labelled, nowhere = ~np.isnan(h), fold < 0
    out, apart = g.copy(), g[nowhere]
    mean = np.zeros(apart.size)
    for k in range(folds):
        here, others = fold == k, (fold != k) & labelled
        if np.count_nonzero(others) < _FEWEST:
            mean += apart / folds
        elif here.any() or apart.size:
            fitted = fit_calibration(g[others], h[others], kind=kind)
            out[here] = fitted.predict(g[here])
            mean += fitted.predict(apart) / folds
    out[nowhere] = mean
    return out


def _platt(g: Floats, h: Floats, w: Floats) -> Calibration:
    strong_range = _range(h) if h.min() < 0 or h.max() > 1 else (0.0, 1.0)
    low, high = strong_range
    weak_range = strong_range if g.min() >= low and g.max() <= high else _range(g)
    x, y = _logit(g, weak_range), (h - low) / (high - low)
    n = w.size * float(np.dot(w, y) / w.sum())
    top, bottom = (n + 1) / (n + 2), 1 / (w.size - n + 2)  # Platt's smoothed targets; in between for other ratings
    a, b = _logistic_line(x, bottom + (top - bottom) * y, w)
    return Calibration("platt", intercept=a, slope=b, weak_range=weak_range, strong_range=strong_range)


_SMALL_RIDGE = 1e-6  # on the slope: decides where the weak rating does not vary
_CONVERGED = 1e-10


def _logistic_line(x: Floats, y: Floats, w: Floats) -> tuple[float, float]:
    """a and b of least Σ w·cross-entropy(y, σ(a + b x)) + ridge b²/2, by Newton's method with step halving.

    By hand because simulations fit it thousands of times; a general solver takes twenty times as long for two numbers.
    """
    centre = float(np.dot(w, x) / w.sum())  # keeps the two directions apart
    z = x - centre
    theta = np.array([float(special.logit(np.dot(w, y) / w.sum())), 0.0])

    def loss(t: Floats) -> float:
        line = t[0] + t[1] * z
        return float(np.dot(w, np.logaddexp(0.0, line) - y * line) + 0.5 * _SMALL_RIDGE * t[1] ** 2)

    value = loss(theta)
    for _ in range(100):
        p = special.expit(theta[0] + theta[1] * z)
        r, v = w * (p - y), w * p * (1 - p)
        gradient = np.array([r.sum(), np.dot(r, z) + _SMALL_RIDGE * theta[1]])
        cross, top = float(np.dot(v, z)), float(v.sum())
        bottom = float(np.dot(v, z * z)) + _SMALL_RIDGE
        step = np.linalg.solve(np.array([[top, cross], [cross, bottom]]), gradient)
        size = 1.0
        while (new := loss(theta - size * step)) > value and size > _CONVERGED:
            size /= 2
        theta, gain, value = theta - size * step, value - new, min(new, value)
        if gain <= _CONVERGED * abs(value):
            break
    return float(theta[0] - theta[1] * centre), float(theta[1])


def _affine(g: Floats, h: Floats, w: Floats) -> Calibration:
    """Weighted least squares."""
    centre, mean = float(np.average(g, weights=w)), float(np.average(h, weights=w))
    off = w * (g - centre)
    slope = float(off @ (h - mean) / (off @ (g - centre))) if g.max() > g.min() else 0.0
    return Calibration("affine", intercept=mean - slope * centre, slope=slope)


def _isotonic(g: Floats, h: Floats, w: Floats) -> Calibration:
    """Steps of the rising means, and straight lines between them."""
    x, place = np.unique(g[w > 0], return_inverse=True)
    weights = np.bincount(place, w[w > 0])
    means = np.bincount(place, (w * h)[w > 0]) / weights
    y = scipy.optimize.isotonic_regression(means, weights=weights).x
    ends = np.ones(x.size, dtype=np.bool_)  # of each step
    ends[1:-1] = (y[1:-1] != y[:-2]) | (y[1:-1] != y[2:])
    return Calibration("isotonic", knots=tuple(x[ends].tolist()), values=tuple(y[ends].tolist()))


def _range(x: Floats) -> tuple[float, float]:
    low, high = float(x.min()), float(x.max())
    return (low, high) if high > low else (low - 0.5, high + 0.5)


def _logit(g: Floats, bounds: tuple[float, float]) -> Floats:
    low, high = bounds
    return np.asarray(special.logit(np.clip((g - low) / (high - low), _CLIP, 1 - _CLIP)))


# Temperature scaling of a trained rater, by the labels that were held out

_FEWEST_HELD_OUT = 10  # labels held out, to fit anything by
_COLDEST, _HOTTEST = 0.05, 20.0
_BINS = 10


def fit_temperature(logits: Floats, target: Floats) -> tuple[float, float]:
    """T and shift of p = σ(z/T + shift), of least cross-entropy; 1 and 0 with few labels.

    Half a label of either kind is added.
    """
    if logits.size < _FEWEST_HELD_OUT:
        return 1.0, 0.0
    z, y = np.concatenate([logits, [0.0]]), np.concatenate([target, [0.5]])

    def loss(at: Floats) -> float:
        line = z / np.exp(at[0]) + at[1]
        return float(np.sum(np.logaddexp(0.0, line) - y * line))

    limits = [(np.log(_COLDEST), np.log(_HOTTEST)), (-5.0, 5.0)]
    found = scipy.optimize.minimize(loss, np.zeros(2), bounds=limits)
    return float(np.exp(found.x[0])), float(found.x[1])


def quality(p: Floats, target: Floats) -> dict[str, Any]:
    """R², cross-entropy and how reliable probabilities are: ratings expected and found, in tenths of the items."""
    if p.size < 2:
        return {"items": int(p.size), "r2": None, "loss": None, "reliability": []}
    variance = float(np.var(target))
    kept = np.clip(p, 1e-6, 1 - 1e-6)
    loss = float(np.mean(-target * np.log(kept) - (1 - target) * np.log(1 - kept)))
    parts = np.array_split(np.argsort(p, kind="stable"), min(_BINS, p.size))
    bins = [{"said": float(p[k].mean()), "found": float(target[k].mean()), "items": int(k.size)} for k in parts]
    r2 = None if variance == 0 else 1.0 - float(np.mean((target - p) ** 2)) / variance
    return {"items": int(p.size), "r2": r2, "loss": loss, "reliability": bins}
