"""Temperature scaling: log-odds divided by one number and shifted by another, by the labels that were held out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from scipy import special

from ratewise.core.checks import Floats

_FEWEST = 10  # labels held out, to fit anything by
_COLDEST, _HOTTEST = 0.05, 20.0
_BINS = 10


@dataclass(frozen=True, slots=True)
class Calibrated:
    """p = σ(z/T + shift)."""

    temperature: float = 1.0
    shift: float = 0.0

    def __call__(self, logits: Floats) -> Floats:
        """Probabilities."""
        return np.asarray(special.expit(logits / self.temperature + self.shift))


def fit_temperature(logits: Floats, target: Floats) -> Calibrated:
    """The temperature and shift of least cross-entropy; none with few labels. Half a label of either kind is added."""
    if logits.size < _FEWEST:
        return Calibrated()
    z, y = np.concatenate([logits, [0.0]]), np.concatenate([target, [0.5]])

    def loss(at: Floats) -> float:
        line = z / np.exp(at[0]) + at[1]
        return float(np.sum(np.logaddexp(0.0, line) - y * line))

    limits = [(np.log(_COLDEST), np.log(_HOTTEST)), (-5.0, 5.0)]
    found = scipy.optimize.minimize(loss, np.zeros(2), bounds=limits)
    return Calibrated(float(np.exp(found.x[0])), float(found.x[1]))


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
