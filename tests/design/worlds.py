"""Weak and strong ratings with errors of many shapes, and a start at which everyone was asked."""

import numpy as np

from ratewise.design.options import Money
from ratewise.design.seen import Phase, Seen
from ratewise.learn.covariates import Covariates


def varying(seed, n, *, u=False):
    """Real ratings off zero; the weak rating errs five times as much on a third, and a feature or u tells where."""
    rng = np.random.default_rng(seed)
    quality, where = rng.normal(0, 1, n), rng.normal(0, 1, n)
    spread = np.where(where > 0.5, 0.75, 0.15)
    g = 20 + quality + spread * rng.standard_normal(n)
    return (Covariates(g, None, spread**2) if u else Covariates(g, where[:, None])), 20 + quality


def even(seed, n):
    """The same, with errors of one size everywhere."""
    rng = np.random.default_rng(seed)
    quality = rng.normal(0, 1, n)
    return Covariates(20 + quality + 0.4 * rng.standard_normal(n)), 20 + quality


def coins(seed, n):
    """Calibrated probabilities of 0/1 ratings, most of them sure."""
    rng = np.random.default_rng(seed)
    g = rng.beta(1.2, 0.4, n)
    return Covariates(g), (rng.random(n) < g).astype(float)


def useless(seed, n):
    rng = np.random.default_rng(seed)
    return Covariates(rng.random(n)), (rng.random(n) < 0.4).astype(float)


def burnt_in(world):
    x, h = world
    return Seen.of(x, h, (Phase(h.size),))


MONEY = Money(0.05, 1.0, 300.0)
