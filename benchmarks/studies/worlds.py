"""Worlds of METHODS section 10 in which u(x) has a distribution of its own."""

import numpy as np

from ratewise.core.checks import number, share
from ratewise.lab.worlds import World, beta


def gaussian(
    items: int,
    *,
    variance: float,
    weak_error: float,
    error_variance: float,
    rng: np.random.Generator,
    mean: float = 0.0,
) -> World:
    """H ~ N(mean, ν), U ~ Gamma(mean μ, variance η), G = H + sqrt(U); η = 0 gives a constant U."""
    V = number(variance, name="variance", above=0)
    mu, eta = (
        number(weak_error, name="weak_error", above=0),
        number(error_variance, name="error_variance", minimum=0),
    )
    h = rng.normal(mean, np.sqrt(V), items)
    u = rng.gamma(mu**2 / eta, eta / mu, items) if eta > 0 else np.full(items, mu)
    return World(h + np.sqrt(u), h, u, mean, V)


def bernoulli(items: int, *, mean: float, weak_error: float, error_variance: float, rng: np.random.Generator) -> World:
    """H ~ Bern(mean), U ~ Beta(mean μ, variance η ≤ μ(1−μ)), G = H flipped with probability U."""
    theta = share(mean, name="mean")
    u = beta(items, weak_error, error_variance, rng)
    h = (rng.random(items) < theta).astype(np.float64)
    g = np.where(rng.random(items) < u, 1 - h, h)
    return World(g, h, u, theta, theta * (1 - theta))
