"""What a labelled pilot says of a regression: its errors as those of one mean, and how coefficients are weighted."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ratewise.core.checks import Floats, finite
from ratewise.core.m_estimation import LOSSES, NoFitError, fit_m_estimator, gram, influence
from ratewise.core.names import Family
from ratewise.core.ratings import Ratings
from ratewise.errors import InputError
from ratewise.questions.design_matrix import Columns
from ratewise.questions.pilot import Pilot


def coefficient_weights(columns: Columns, given: Mapping[str, float] | None) -> Floats:
    """The weights given, 0 for those not named; else each column's variance, so that units do not matter."""
    if given is None:
        variances = columns.matrix.var(axis=0)
        return variances if np.any(variances > 0) else np.ones(variances.size)
    unknown = [name for name in given if name not in columns.names]
    if unknown:
        raise InputError(f"there is no coefficient {unknown[0]!r} to weight; they are {', '.join(columns.names)}")
    w = finite([given.get(name, 0.0) for name in columns.names], name="weights", minimum=0)
    if not w.any():
        raise InputError("every weight is 0; weight at least one coefficient")
    return w


@dataclass(frozen=True, slots=True, eq=False)
class RegressionPilot:
    """Σ weight_k Var(coefficient_k) as the variance of one mean: u(x) times the influence ‖A W⁻¹x‖², and likewise V.

    What is said of labelled rows comes from models that have not seen them.
    """

    error: Floats  # u(x) of all rows, times their influence
    held_out_error: Floats  # of the labelled rows
    squared_residual: Floats  # of the labelled rows, times their influence
    variance: float  # V, the trace of the all-strong sandwich
    moves: Floats  # labelled rows × coefficients: (W⁻¹x)², how far a rating moves each
    own: Floats  # (H − μ)² of the labelled rows
    residual: Floats  # H − G of the labelled rows

    @classmethod
    def of(cls, pilot: Pilot, columns: Columns, family: Family, weights: Floats) -> "RegressionPilot":
        """θ and W from the pilot's strong ratings and all rows' weak ones, at the λ that suits them."""
        X, rows, loss = columns.matrix, pilot.labelled, LOSSES[family]
        A = np.diag(np.sqrt(weights))[weights > 0]
        strong = np.full(rows.size, np.nan)
        strong[rows] = pilot.strong
        data = Ratings(pilot.weak[:, None], strong, np.full((rows.size, 1), float(rows.mean())), rows[:, None])
        if data.labels <= X.shape[1]:
            raise InputError(f"{data.labels} labels cannot tell {X.shape[1]} coefficients; a plan needs a larger pilot")
        try:
            eta = fit_m_estimator(X, loss, data, power=None, contrasts=A).predictor
        except NoFitError as error:
            raise InputError(f"a plan needs a pilot that can be fitted: {error}") from None
        W = gram(X, loss.curvature(eta)) / rows.size
        ell = influence(X, W, A)
        own = loss.gradient(eta[rows], pilot.strong) ** 2
        variance = float(np.mean(own * ell[rows]))
        if not variance > 0:
            raise InputError("the pilot's ratings are fitted without error; their variance is unknown: get more labels")
        return cls(
            error=pilot.error * ell, held_out_error=pilot.held_out_error * ell[rows],
            squared_residual=pilot.residual**2 * ell[rows], variance=variance,
            moves=np.asarray(X[rows] @ np.linalg.inv(W)) ** 2, own=own, residual=pilot.residual,
        )  # fmt: skip

    @property
    def weak_error(self) -> float:
        """M."""
        return float(np.mean(self.squared_residual))

    def item_variance(self, rates: Floats) -> float:
        """V + E[u (1/π − 1)] with the labels' squared residuals in u's place, by rates they did not shape."""
        return self.variance + float(np.mean(self.squared_residual * (1.0 / rates - 1.0)))

    def standard_errors(self, rates: Floats, items: float, *, pool_size: float) -> Floats:
        """Standard error of every coefficient, with these rates of the labelled rows and so many items looked at."""
        V = (self.moves * self.own[:, None]).mean(axis=0)
        drawn = (self.moves * (self.residual**2 * (1.0 / rates - 1.0))[:, None]).mean(axis=0)
        return np.asarray(np.sqrt(np.maximum((V + drawn) / items - V / pool_size, 0.0)))
