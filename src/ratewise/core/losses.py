"""The losses of regressions: ψ(η, y) = μ(η) − y with the canonical link, so that a weight on y is a weight on ψ."""

import math

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.names import Family
from ratewise.core.newton import Loss


def _logit(mean: float) -> float:
    return float(special.logit(min(max(mean, 0.01), 0.99)))


def _logistic_curvature(eta: Floats) -> Floats:
    p = special.expit(eta)
    return np.asarray(p * (1 - p))


LINEAR = Loss("linear", lambda eta, y: eta - y, np.ones_like, lambda mean: mean)
LOGISTIC = Loss("logistic", lambda eta, y: special.expit(eta) - y, _logistic_curvature, _logit)
POISSON = Loss("Poisson", lambda eta, y: np.exp(eta) - y, np.exp, lambda mean: math.log(max(mean, 1e-3)))

LOSSES: dict[Family, Loss] = {"linear": LINEAR, "logistic": LOGISTIC, "poisson": POISSON}
