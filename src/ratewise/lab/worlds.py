"""Made-up worlds whose truth is known (METHODS section 10)."""

from dataclasses import dataclass

import numpy as np

from ratewise.core.checks import Floats, number, share
from ratewise.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class World:
    """Items with everything known: weak rating, strong rating, u(x), and the population's mean and variance."""

    weak: Floats
    strong: Floats
    error: Floats  # u(x) = E[(H−G)²|x]
    mean: float  # θ
    variance: float  # V


def calibrated(items: int, *, mean: float, spread: float, rng: np.random.Generator) -> World:
    """A weak rater that says a calibrated probability: G ~ Beta(mean, variance spread·mean(1−mean)), H ~ Bern(G)."""
    theta, s = share(mean, name="mean"), share(spread, name="spread")
    g = beta(items, theta, s * theta * (1 - theta), rng)
    h = (rng.random(items) < g).astype(np.float64)
    return World(g, h, g * (1 - g), theta, theta * (1 - theta))


def beta(items: int, mean: float, variance: float, rng: np.random.Generator) -> Floats:
    """Draws of a beta distribution with this mean and variance; 0 or 1 at the largest variance there can be."""
    mu = share(mean, name="mean of U")
    eta = number(variance, name="variance of U", minimum=0)
    most = mu * (1 - mu)
    if eta > most * (1 + 1e-12):
        raise InputError(f"the variance of U must be at most {most:.4g} for a mean of {mu:g}; got {eta:g}")
    if eta >= most:
        return (rng.random(items) < mu).astype(np.float64)
    if eta == 0:
        return np.full(items, mu)
    kappa = mu * (1 - mu) / eta - 1
    return rng.beta(kappa * mu, kappa * (1 - mu), items)
