"""Models of u(x) = E[(H−G)²|x]: from g(1−g), from a column, or fitted to squared residuals."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core.checks import Floats, as_floats, choice, finite
from ratewise.core.result import shown
from ratewise.errors import InputError

Source = Literal["binary", "column", "fitted"]
SOURCES: tuple[str, ...] = get_args(Source)

DEFAULT_FLOOR_SHARE = 0.1
"""Default floor on a rate, as a share of the mean rate.

Like a defensive mixture in importance sampling: a tenth of the labels is spent as if nothing were known about the
items, so that however wrong u is, the draw never adds more than ten times the variance a uniform draw of the same cost
would (docs/statistics.md, the floor). It costs at most a tenth of the labels; without it a confident mistake costs
everything: factors of 20 to 60 in squared error were measured on real judges.
"""

_LABELS_PER_BIN = 25
_MOST_BINS = 20
_LEAST_SHARE = 0.05  # a bin's error is never taken below this share of the mean: no bin is known to be perfect


@shown
@dataclass(frozen=True, slots=True)
class ErrorModel:
    """u(x) as a function of one column: the weak rating (binary, fitted) or the user's own column, times a scale."""

    source: Source
    scale: float = 1.0
    knots: tuple[float, ...] = ()
    values: tuple[float, ...] = ()

    def predict(self, column: ArrayLike) -> Floats:
        """u for each item, at least 0."""
        x = as_floats(column, name="column")
        if self.source == "fitted":
            return np.interp(x, self.knots, self.values)
        u = x * (1 - x) if self.source == "binary" else x
        return np.maximum(self.scale * u, 0.0)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return {
            "source": self.source, "scale": self.scale, "knots": list(self.knots), "values": list(self.values),
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "ErrorModel":
        """The inverse of `to_dict`."""
        choice(data["source"], SOURCES, name="error model")
        return cls(data["source"], data["scale"], tuple(data["knots"]), tuple(data["values"]))


def error_from_probability(weak: ArrayLike, strong: ArrayLike) -> ErrorModel:
    """g(1−g), right for a calibrated probability of a 0/1 rating; refused for anything else."""
    g, h = finite(weak, name="weak"), finite(strong, name="strong")
    if not is_probability_of_binary(g, h):
        raise InputError("g(1−g) is the error of a probability of a 0/1 rating; fit the error or give a column instead")
    return ErrorModel("binary")


def error_from_column(column: ArrayLike, residual: ArrayLike) -> ErrorModel:
    """The user's own uncertainty, scaled so that its mean over the labelled items is the mean squared residual."""
    u = finite(column, name="uncertainty", minimum=0)
    r2 = finite(residual, name="residual") ** 2
    if not u.mean() > 0:
        raise InputError("the uncertainty column is 0 on every labelled item; it must be above 0 somewhere")
    return ErrorModel("column", scale=float(r2.mean() / u.mean()))


def fit_error(weak: ArrayLike, residual: ArrayLike) -> ErrorModel:
    """Squared residuals averaged in bins of the weak rating, shrunk toward their mean as far as they may be noise.

    Limiting cases: fewer than two bins' worth of labels give a constant; a constant weak rating too.
    """
    g, r2 = finite(weak, name="weak"), finite(residual, name="residual") ** 2
    cell = _bins(g, min(_MOST_BINS, max(1, g.size // _LABELS_PER_BIN)))
    count = np.bincount(cell)
    used = count > 0
    mean = np.bincount(cell, weights=r2)[used] / count[used]
    centre = np.bincount(cell, weights=g)[used] / count[used]
    values = np.maximum(_shrunk(mean, count[used], r2, cell), _LEAST_SHARE * r2.mean())
    return ErrorModel("fitted", knots=tuple(centre.tolist()), values=tuple(values.tolist()))


def _bins(g: Floats, most: int) -> "np.ndarray[Any, np.dtype[np.intp]]":
    """A bin for each value where there are few of them, else bins of about as many labels each."""
    values = np.unique(g)
    if values.size <= most:
        return np.searchsorted(values, g)
    edges = np.unique(np.quantile(g, np.linspace(0, 1, 1 + most)))
    return np.clip(np.searchsorted(edges, g, side="right") - 1, 0, max(edges.size - 2, 0))


def is_probability_of_binary(weak: Floats, strong: Floats) -> bool:
    """Strong ratings 0 or 1, weak ratings in [0, 1] and not themselves just 0 and 1."""
    binary = bool(np.all((strong == 0) | (strong == 1)))
    inside = bool(weak.min() >= 0 and weak.max() <= 1)
    return binary and inside and not bool(np.all((weak == 0) | (weak == 1)))


def _shrunk(mean: Floats, count: "np.ndarray[Any, np.dtype[np.int64]]", r2: Floats, cell: Any) -> Floats:
    """Empirical Bayes: bin means pulled to the overall mean by noise / (noise + true spread between bins)."""
    overall = float(r2.mean())
    if mean.size < 2:
        return np.full(mean.size, overall)
    within = float(np.bincount(cell, weights=(r2 - overall) ** 2).sum() / r2.size)
    noise = within / count
    between = max(float(np.average((mean - overall) ** 2 - noise, weights=count)), 0.0)
    keep = between / (between + noise) if between > 0 else np.zeros(mean.size)
    return np.asarray(overall + keep * (mean - overall))
