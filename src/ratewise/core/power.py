"""Power tuning: how much of the weak rating's loss to use (PPI++), for any rates."""

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.newton import Design, Loss, NoFitError, Terms, gram, solve
from ratewise.core.ratings import Ratings
from ratewise.errors import InputError


def tuned_power(X: Design, loss: Loss, data: Ratings, contrasts: Floats | None = None) -> float:
    """λ of least total variance of the contrasts A θ: the regression of the strong gradients on the weak ones.

    With one rate n/T for all it is PPI++'s λ, whose convention is λ N/T for N unlabelled of T items: gradients are
    taken at the estimate with the largest legal λ, 1/(1 − π_min), and λ is kept between 0 and that, so that the
    rectified loss stays convex. For two raters only.
    """
    if data.weak.shape[1] > 1:
        raise InputError("tuning the power is for one weak rater; use method 'difference' or 'auto' for a chain")
    pi = data.rates[:, 0]
    if pi.min() == 1:
        return 1.0
    most = float(1.0 / (1.0 - pi.min()))
    eta = np.asarray(X @ _first(X, loss, data, most))
    use, odds = data.labelled, 1.0 / pi - 1.0
    psi_g = loss.gradient(eta, data.weak[:, 0])
    psi_h = np.where(use, loss.gradient(eta, np.where(use, data.strong, 0.0)), 0.0)
    inverse = np.linalg.inv(gram(X, loss.curvature(eta)) / data.items)
    A = np.asarray(inverse if contrasts is None else contrasts @ inverse, dtype=np.float64)
    alone = 1.0 - float((odds**2).sum() / odds.sum() ** 2)  # 0 where one item alone could have been left out
    variance = _covariance(X, A, odds, psi_g, psi_g) / alone if alone > 0 else 0.0
    weight = np.where(use, odds / pi, 0.0)
    if not (variance > 0 and weight.sum() > 0):
        return 1.0
    return float(np.clip(_covariance(X, A, weight, psi_h, psi_g) / variance, 0.0, most))


def _first(X: Design, loss: Loss, data: Ratings, most: float) -> Floats:
    """θ to take the gradients at; at λ = 1 where the largest λ leaves too little weight to fit anything."""
    try:
        return solve(X, loss, Terms.of(data, power=most))
    except NoFitError:
        return solve(X, loss, Terms.of(data))


def _covariance(X: Design, A: Floats, weight: Floats, a: Floats, b: Floats) -> float:
    """Trace of the weighted covariance of A x a and A x b."""
    w = weight / weight.sum()
    square = float(np.trace(A @ gram(X, w * a * b) @ A.T))
    means = [A @ np.asarray(X.T @ (w * z)) for z in (a, b)]
    return square - float(means[0] @ means[1])
