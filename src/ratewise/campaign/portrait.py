"""Pictures of a campaign as numbers: how far the weak rating can be trusted, and whom the rates went to."""

from dataclasses import dataclass

import numpy as np

from ratewise.campaign.beside import wilson
from ratewise.campaign.snapshot import Snapshot
from ratewise.core.checks import Floats
from ratewise.core.estimate import on_scale

_BINS = 8
_FEWEST = 5  # labels in a bin
_Z = 1.959964


@dataclass(frozen=True, slots=True)
class Bin:
    """Items that lie together: how many, where, and the mean of something with its ends."""

    items: int
    x: float
    y: float
    low: float | None = None
    high: float | None = None


def calibration(now: Snapshot) -> tuple[Bin, ...]:
    """The mean strong rating of items by their weak rating, each counted by its rate; none with too few labels."""
    history = now.state.history
    seen, weak = history.seen, history.looked.x.weak
    if now.spec.weak is None or seen is None or weak.size != seen.strong.size:
        return ()
    both = history.looked.x.rated & seen.labelled
    weights = 1.0 / seen.rates()[both]
    verdicts = now.spec.scale.kind in {"binary", "pairwise"}
    return _binned(weak[both], seen.strong[both], weights, ends=now.reader.terms.wanted.bounds, verdicts=verdicts)


def rates_by_uncertainty(now: Snapshot) -> tuple[Bin, ...]:
    """The mean rate of items by the root of the squared error that was expected of them; none where one rate held."""
    history = now.state.history
    seen = history.seen
    rule = None if seen is None else next((p.rule for p in reversed(seen.phases) if p.rule is not None), None)
    if seen is None or rule is None:
        return ()
    expected = np.sqrt(np.maximum(rule.u(history.looked.x), 0.0))
    parts = _parts(expected)
    rates = seen.rates()
    return tuple(Bin(int(at.size), float(expected[at].mean()), float(rates[at].mean())) for at in parts)


def _binned(x: Floats, y: Floats, weights: Floats, *, ends: tuple[float, float], verdicts: bool) -> tuple[Bin, ...]:
    out = []
    for at in _parts(x, fewest=_FEWEST):
        w = weights[at] / weights[at].sum()
        mean, worth = float(w @ y[at]), float(1.0 / (w @ w))
        if verdicts:  # a tie, as a half, varies less than the yes and no that Wilson's interval is made for
            held = wilson(mean * worth, worth)
            low, high = min(held[0] or 0.0, mean), max(held[1] or 0.0, mean)  # which rounding may have passed
        else:
            half = _Z * float(np.sqrt(w @ (y[at] - mean) ** 2 / max(worth - 1.0, 1.0)))
            low, high = on_scale((mean - half, mean + half), ends)
        out.append(Bin(int(at.size), float(w @ x[at]), mean, low, high))
    return tuple(out)


def _parts(x: Floats, fewest: int = 1) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Rows in a few parts of about one size, by their x; equal ones stay together."""
    values, place = np.unique(x, return_inverse=True)
    counts = np.bincount(place, minlength=values.size)
    wanted = max(x.size / _BINS, fewest, 1)
    part, filled, number = np.zeros(values.size, dtype=np.intp), 0.0, 0
    for i, count in enumerate(counts.tolist()):
        if filled >= wanted:
            number, filled = number + 1, 0.0
        part[i], filled = number, filled + count
    found = [np.flatnonzero(part[place] == k) for k in range(number + 1)] if x.size else []
    return [at for at in found if at.size >= fewest]
