"""A confidence sequence for the mean of bounded ratings: valid whenever one looks, and at any stopping time.

Δ_t is at least low − (high − low)(1/f − 1) and at most high + (high − low)(1/f − 1) when every rate is at least f
(predictable, changing rates are fine), and E[Δ_t | past] = θ. So for each candidate m the capital of a gambler who
bets on Δ_t − m with stakes fixed in advance is a test martingale at m = θ; candidates whose gambler becomes richer
than 2/α are ruled out for good (hedged betting after Waudby-Smith and Ramdas; Ville's inequality).
"""

import math

import numpy as np

from ratewise.core.checks import Floats

_CANDIDATES = 257  # grid of m; an end is placed one cell outwards, so the grid costs width, never validity
_ROUNDS = 3  # each round looks again between the ends found, 128 times as finely
_ITEMS_AT_ONCE = 4096
_STAKE = 0.75  # share of the largest legal stake that is ever bet, so that no single item ruins the gambler


def confidence_sequence(
    delta: Floats, *, bounds: tuple[float, float], floor: float, level: float
) -> tuple[float, float]:
    """Ends of the running intersection after the last item, in the order the items were looked at."""
    low, high = bounds
    slack = (high - low) * (1.0 / floor - 1.0)
    stakes = _stakes(delta, low, high, level)
    threshold = math.log(2.0 / (1.0 - level))
    left, right = low, high
    for side in (1.0, -1.0):  # +1 rules out small m (bets that Δ is larger), −1 large m
        a, b = low, high
        for _ in range(_ROUNDS):
            m = np.linspace(a, b, _CANDIDATES)
            room = m - (low - slack) if side > 0 else (high + slack) - m
            out = _peak_log_capital(delta, m, stakes, room, side) >= threshold
            a, b = _edge(m, out, side)
        if side > 0:
            left = a
        else:
            right = b
    return (left, right) if left <= right else (0.5 * (left + right),) * 2


def _stakes(delta: Floats, low: float, high: float, level: float) -> Floats:
    """Predictable stakes: sqrt(2 log(2/α) / (σ̂²_{t−1} t log(1 + t))), σ̂² from the items before t."""
    t = np.arange(1, delta.size + 1)
    prior = ((high - low) / 2) ** 2
    before = np.concatenate([[0.5 * (low + high)], delta[:-1]])
    mean = np.cumsum(before) / t
    squares = np.concatenate([[prior], (delta[:-1] - mean[1:]) ** 2]) if delta.size > 1 else np.array([prior])
    variance = np.cumsum(squares) / t
    return np.asarray(np.sqrt(2 * math.log(2 / (1 - level)) / (np.maximum(variance, 1e-300) * t * np.log(1 + t))))


def _peak_log_capital(delta: Floats, m: Floats, stakes: Floats, room: Floats, side: float) -> Floats:
    """Largest log-capital each gambler ever had, summed in pieces so that memory stays flat."""
    total, peak = np.zeros(m.size), np.zeros(m.size)
    most = _STAKE / np.maximum(room, 1e-300)
    for start in range(0, delta.size, _ITEMS_AT_ONCE):
        x = delta[start : start + _ITEMS_AT_ONCE, None] - m
        stake = np.minimum(stakes[start : start + _ITEMS_AT_ONCE, None], most)
        path = total + np.cumsum(np.log1p(side * stake * x), axis=0)
        peak = np.maximum(peak, path.max(axis=0))
        total = path[-1]
    return peak


def _edge(m: Floats, out: np.ndarray[tuple[int], np.dtype[np.bool_]], side: float) -> tuple[float, float]:
    """The cell in which the candidates stop being ruled out, seen from the side that is ruled out."""
    keep = np.flatnonzero(~out)
    if keep.size == 0:
        end = m[-1] if side > 0 else m[0]
        return float(end), float(end)
    i = int(keep[0] if side > 0 else keep[-1])
    j = max(i - 1, 0) if side > 0 else min(i + 1, m.size - 1)
    return float(min(m[i], m[j])), float(max(m[i], m[j]))
