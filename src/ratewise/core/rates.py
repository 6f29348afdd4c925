"""Rates of an active policy on any items, from its scale and its floor."""

import numpy as np

from ratewise.core.checks import Floats

LARGEST_SCALE = 1e150  # a scale at which every item that can be wrong is always rated; times 0 it is still 0
_LEAST_RATE = 1e-100  # never drawn, and its inverse can still be squared


def active_rates(error: Floats, *, scale: float, floor: float) -> Floats:
    """clip(γ·sqrt(u), floor, 1), never 0."""
    return np.clip(scale * np.sqrt(error), max(floor, _LEAST_RATE), 1.0)
