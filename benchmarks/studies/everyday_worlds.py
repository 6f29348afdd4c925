"""Everyday worlds: systems that are nearly always right, or nearly always wrong, and judges good and bad.

p ~ Beta(5m, 5(1−m)) is each item's chance of a good answer and H ~ Bernoulli(p); judges see p in four ways, a fifth
says yes or no, and three know p and say it in tenths, in five levels, or as 0.99 wherever it is above 0.9. The cells of
the coverage study are drawn from the whole grid by a seed, so that none was chosen for its result.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.names import MODES, Mode
from ratewise.design.options import floor_share, least_root
from ratewise.lab.automatic import Trial
from ratewise.lab.trials import Block, Population, Setting
from ratewise.questions.estimation import estimate_mean

Judge = Literal["calibrated", "overconfident", "reversed", "useless", "yes or no", "tenths", "five levels", "sure"]

MEANS = (0.005, 0.02, 0.05, 0.1, 0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995)
LABELS = (20, 40, 60, 100, 200, 300, 1000)
ONE_SHOT_LABELS = (20, 60, 300, 1000)
JUDGES: tuple[Judge, ...] = get_args(Judge)[:4]  # of the grid; the others have cells of their own
COARSE: tuple[Judge, ...] = get_args(Judge)[5:]
CHOSEN, KEPT_ASIDE = 48, 12
GRID_SEED = 20261115

_SURE = 5.0  # p ~ Beta(5m, 5(1−m))
_OVERCONFIDENT = 2.0  # times the log-odds
_MISTAKEN = 0.03  # of the answers of the judge that says only yes or no
_HIGH, _SATURATED = 0.9, 0.99  # the sure judge says the second wherever it knows of more than the first
_RATE = 0.2  # mean rate of one-shot draws


@dataclass(frozen=True, slots=True)
class Cell:
    """One square of the grid; `labels` is the budget in strong ratings, `items` the size of the table."""

    mean: float
    labels: int
    judge: Judge
    mode: Mode
    features: bool = False
    cost_ratio: float = 0.01
    items: int = 20_000

    def name(self) -> str:
        """Name for tables and messages."""
        more = ", features" if self.features else ""
        return f"{self.mean:g}, {self.labels} labels, {self.judge}, {self.mode}{more}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """What intervals did over many trials; widths over that of the exact binomial interval for the same money."""

    coverage: float
    below: float  # share of intervals that lie below the truth
    above: float
    width: float
    relative_width: float
    mse_ratio: float  # over strong ratings alone for the same money, in theory
    bias: float  # in standard deviations
    trials: int


def grid() -> list[Cell]:
    """All cells for rounds."""
    every = itertools.product(MEANS, LABELS, JUDGES, MODES, (False, True), (0.01, 0.05), (3000, 20_000))
    cells = [Cell(m, n, j, mode, f, c, N) for m, n, j, mode, f, c, N in every]
    return [cell for cell in cells if cell.mode == "stream" or 2 * cell.labels <= cell.items]


def drawn_cells(seed: int = GRID_SEED) -> tuple[list[Cell], list[Cell]]:
    """The cells to look at while working on intervals, and those kept aside for the end."""
    cells = grid()
    picks = [cells[i] for i in np.random.default_rng(seed).permutation(len(cells))[: CHOSEN + KEPT_ASIDE]]
    return picks[:CHOSEN], picks[CHOSEN:]


def yes_or_no_cells() -> list[Cell]:
    """Campaigns with a judge that says only yes or no and is right 97 times in a hundred."""
    places: tuple[tuple[Mode, int], ...] = (("pool", 2000), ("stream", 5000))
    every = itertools.product((0.5, 0.8, 0.95, 0.98), (100, 300), places)
    return [Cell(m, n, "yes or no", mode, items=items) for m, n, (mode, items) in every]


def coarse_cells() -> list[Cell]:
    """Campaigns and single draws with judges that say what they know in few values."""
    every = itertools.product(COARSE, (0.8, 0.93, 0.98), (100, 300, 1000), MODES)
    return [Cell(m, n, j, mode, cost_ratio=0.01, items=5000) for j, m, n, mode in every]


def one_shot_cells() -> list[Cell]:
    """The grid of single draws: features, prices and the table's size play no part."""
    return [Cell(m, n, j, mode) for m, n, j, mode in itertools.product(MEANS, ONE_SHOT_LABELS, JUDGES, MODES)]


def make(cell: Cell, items: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats | None]:
    """Judge's scores, strong ratings, and features: a noisy view of the log-odds and two columns of noise."""
    a, b = _SURE * cell.mean, _SURE * (1 - cell.mean)
    p = np.clip(rng.beta(a, b, items), 1e-12, 1 - 1e-12)
    h = (rng.random(items) < p).astype(np.float64)
    logit = special.logit(p)
    judges: dict[Judge, Callable[[], Floats]] = {
        "calibrated": lambda: p, "overconfident": lambda: special.expit(_OVERCONFIDENT * logit),
        "reversed": lambda: 1 - p, "useless": lambda: rng.beta(a, b, items),
        "yes or no": lambda: np.where(rng.random(items) < _MISTAKEN, 1 - h, h),
        "tenths": lambda: np.round(p, 1), "five levels": lambda: np.round(4 * p) / 4,
        "sure": lambda: np.where(p > _HIGH, _SATURATED, np.round(p, 2)),
    }  # fmt: skip
    g = np.asarray(judges[cell.judge]())
    if not cell.features:
        return g, h, None
    told = np.clip(logit, -8, 8) + rng.normal(0, 2, items)
    return g, h, np.column_stack([told, rng.normal(size=items), (rng.random(items) < 0.3).astype(np.float64)])


# One draw


def one_shot(cell: Cell, *, trials: int, seed: int) -> Outcome:
    """Rates ∝ sqrt(g(1−g)) with the floor of `auto`, whether the judge deserves it or not; a new world every trial."""
    T = round(cell.labels / _RATE)
    rows = []
    for trial in range(trials):
        rng = np.random.default_rng([seed, trial])
        g, h, _ = make(cell, T, rng)
        rates = one_shot_rates(g, cell.labels)
        asked = rng.random(T) < rates
        if np.count_nonzero(asked) < 2:
            continue
        pool = cell.mode == "pool"
        found = estimate_mean(g, np.where(asked, h, np.nan), rates, estimand="pool" if pool else "population")
        assert found.interval is not None
        rows.append((*found.interval, found.value, float(h.mean()) if pool else cell.mean))
    return outcome(np.array(rows), cell, pool_size=T if cell.mode == "pool" else math.inf)


def one_shot_rates(g: Floats, labels: int) -> Floats:
    """Rates with the expected number of labels, by halving on their scale."""
    root = np.sqrt(g * (1 - g))
    root = np.maximum(root, least_root(root, np.ones(root.size), floor_share(labels)))
    low, high = 0.0, labels / max(float(root.min()), 1e-300)
    for _ in range(45):
        scale = 0.5 * (low + high)
        low, high = (scale, high) if np.minimum(scale * root, 1.0).sum() < labels else (low, scale)
    return np.clip(low * root, 1e-9, 1.0)


# Rounds


def rounds(cell: Cell, *, trials: int, seed: int, worlds: int = 50) -> Outcome:
    """`auto` from nothing, as in `simulate --burn-in 0` and in campaigns; a new table for every few trials."""
    rows, each = [], -(-trials // worlds)
    for world in range(worlds):
        g, h, features = make(cell, cell.items, np.random.default_rng([seed, world]))
        if np.ptp(h) == 0:
            h[0] = 1 - h[0]
        population = Population.of(g, h, features=features)
        setting = Setting(cell.cost_ratio, (float(cell.labels),), 0, cell.mode, 0.95, 0.1, seed + world)
        block = Block(population, setting, range(each))
        for trial in range(each):
            found = Trial(block, trial, float(cell.labels)).play()
            low, high = found.interval if found.interval is not None else (0.0, 1.0)
            rows.append((low, high, found.value, population.mean))
    return outcome(np.array(rows), cell, pool_size=cell.items if cell.mode == "pool" else math.inf)


# Figures


def outcome(rows: Floats, cell: Cell, *, pool_size: float) -> Outcome:
    """The outcome from low, high, value and truth of every trial."""
    low, high, value, truth = rows.T
    below, above = high < truth - 1e-9, low > truth + 1e-9
    error, sd = value - truth, float((value - truth).std())
    base = cell.mean * (1 - cell.mean) * (1 / cell.labels - 1 / pool_size)
    width = float((high - low).mean())
    return Outcome(
        1 - float((below | above).mean()), float(below.mean()), float(above.mean()), width,
        width / exact_width(cell.labels, float(truth.mean())), float(np.mean(error**2)) / base,
        float(error.mean()) / sd if sd > 0 else 0.0, len(rows),
    )  # fmt: skip


def exact_width(labels: int, mean: float, level: float = 0.95) -> float:
    """Expected width of the exact binomial (Clopper–Pearson) interval of so many strong ratings alone."""
    k, tail = np.arange(labels + 1.0), (1 - level) / 2
    low = np.where(k > 0, special.betaincinv(np.maximum(k, 1), labels - k + 1, tail), 0.0)
    high = np.where(k < labels, special.betaincinv(k + 1, np.maximum(labels - k, 1), 1 - tail), 1.0)
    log_chance = special.xlogy(k, mean) + special.xlog1py(labels - k, -mean) - special.betaln(k + 1, labels - k + 1)
    chance = np.exp(log_chance - special.logsumexp(log_chance))
    return float(chance @ (high - low))
