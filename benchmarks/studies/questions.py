"""Coverage of the other questions: comparisons, regressions, quantiles, clusters, and intervals made by betting.

Every trial makes a table as a user would have it and asks the public function. Worlds are named after what they are
for; all ratings have something to be wrong about: rates that follow difficulty, weak raters that err where it is high.
"""

import math
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import special, stats

from ratewise.core.checks import Floats
from ratewise.core.names import Family
from ratewise.questions.comparison import compare, compare_many
from ratewise.questions.estimation import estimate_mean
from ratewise.questions.quantiles import quantile_table
from ratewise.questions.regression import regress
from studies import everyday_worlds as everyday
from studies.everyday_worlds import Cell

Rows = dict[str, tuple[float, float, float]]  # by what was asked: low, high, truth
Columns = dict[str, Any]

BETA = (0.3, 0.8, -0.5, 0.4)
_ALIKE = 0.2  # correlation within a cluster
_CLUSTER = 8  # items each


@dataclass(frozen=True, slots=True)
class Held:
    """Shares of trials whose intervals held the truth, by what was asked, and their mean widths."""

    covered: dict[str, float]
    width: dict[str, float]
    trials: int


@dataclass(frozen=True, slots=True)
class Question:
    """One row of the study. `ask` answers one trial: name → (low, high, truth), or nothing where there is no answer."""

    kind: str
    world: str
    ask: Callable[[np.random.Generator], Rows]


def run(question: Question, *, trials: int, seed: int) -> Held:
    """All trials of one row."""
    mark = zlib.crc32(f"{question.kind} {question.world}".encode())
    rows: dict[str, list[tuple[float, float, float]]] = {}
    for trial in range(trials):
        for name, row in question.ask(np.random.default_rng([seed, mark, trial])).items():
            rows.setdefault(name, []).append(row)
    found = {name: np.array(row) for name, row in rows.items()}
    covered = {n: float(np.mean((r[:, 0] <= r[:, 2] + 1e-12) & (r[:, 2] <= r[:, 1] + 1e-12))) for n, r in found.items()}
    return Held(covered, {n: float(np.mean(r[:, 1] - r[:, 0])) for n, r in found.items()}, trials)


def questions() -> list[Question]:
    """Every row, by kind."""
    return [*_comparisons(), *_rivals(), *_regressions(), *_quantiles(), *_clusters(), *_betting()]


# Comparisons


def _comparisons() -> list[Question]:
    pairs = [
        (0.8, 0.7, 150),
        (0.9, 0.88, 150),
        (0.995, 0.98, 50),
        (0.995, 0.98, 300),
        (0.98, 0.98, 50),
        (0.98, 0.93, 300),
    ]
    rows = []
    for a, b, labels in pairs:
        for judge in ("calibrated", "useless"):
            world = f"means {a:g} and {b:g}, {labels} labels, {judge} judge"
            rows.append(Question("two systems", world, partial(_pair, means=(a, b), labels=labels, judge=judge)))
    return rows


def _pair(rng: np.random.Generator, means: tuple[float, float], labels: int, judge: str) -> Rows:
    table = systems_table(rng, means, labels, judge)
    found = compare(table, weak=("gA", "gB"), strong=("hA", "hB"), bounds=(0.0, 1.0))
    a, b = means
    asked = (("difference", found.difference.interval, a - b), ("ratio", found.ratio.interval, a / b))
    return {name: (*interval, truth) for name, interval, truth in asked if interval is not None}


def systems_table(
    rng: np.random.Generator, means: tuple[float, ...], labels: int, judge: str, items: int = 1500
) -> Columns:
    """0/1 ratings p ~ Beta(5m, 5(1−m)) that share what is hard; rates follow the judges' doubt, floor at one half."""
    common = rng.normal(size=items)
    own = [special.ndtr((common + rng.normal(size=items)) / math.sqrt(2)) for _ in means]
    p = np.column_stack([special.betaincinv(5 * m, 5 * (1 - m), u) for m, u in zip(means, own, strict=True)])
    h = (rng.random(p.shape) < p).astype(float)
    g = p if judge == "calibrated" else rng.permuted(p, axis=0)
    doubt = np.sqrt((g * (1 - g)).sum(axis=1))
    rates = np.maximum(doubt / doubt.mean(), 0.5)
    rates = np.minimum(rates * labels / rates.sum(), 1.0)
    h[rng.random(items) >= rates] = np.nan
    columns = {f"g{name}": g[:, k] for k, name in enumerate("ABCDEFGH"[: len(means)])}
    return columns | {f"h{name}": h[:, k] for k, name in enumerate("ABCDEFGH"[: len(means)])} | {"rate": rates}


def _rivals() -> list[Question]:
    groups = [((0.75, 0.8, 0.7, 0.75, 0.75), 200), ((0.995, 0.99, 0.98, 0.98), 100)]
    rows = []
    for means, labels in groups:
        world = f"means {', '.join(f'{m:g}' for m in means)}, {labels} labels, calibrated judge"
        rows.append(
            Question("rivals against a baseline, all at once", world, partial(_many, means=means, labels=labels))
        )
    return rows


def _many(rng: np.random.Generator, means: tuple[float, ...], labels: int) -> Rows:
    names = "ABCDEFGH"[: len(means)]
    table = systems_table(rng, means, labels, "calibrated")
    found = compare_many(
        table,
        baseline=names[-1],
        weak={n: f"g{n}" for n in names},
        strong={n: f"h{n}" for n in names},
        bounds=(0.0, 1.0),
    )
    intervals = [found.of(name).difference.interval for name in names[:-1]]
    held = [(*x, m - means[-1]) for x, m in zip(intervals, means[:-1], strict=True) if x is not None]
    if len(held) < len(intervals):
        return {}
    furthest = max(max(low - truth, truth - high) for low, high, truth in held)  # ≤ 0 where all intervals hold
    half = float(np.mean([high - low for low, high, _ in held])) / 2
    return {"all": (-half, half, half + furthest)}


# Regressions and quantiles


def _regressions() -> list[Question]:
    cells: list[tuple[Family, int, int]] = [
        ("linear", 60, 0),
        ("linear", 250, 0),
        ("logistic", 100, 0),
        ("logistic", 250, 0),
        ("poisson", 80, 0),
    ]
    cells += [("poisson", 250, 0), ("linear", 250, 60), ("logistic", 300, 80)]
    rows = []
    for family, labels, clusters in cells:
        world = f"{family}, {labels} labels" + (f", {clusters} clusters" if clusters else "")
        rows.append(
            Question("regression", world, partial(_regression, family=family, labels=labels, clusters=clusters))
        )
    return rows


def _regression(rng: np.random.Generator, family: Family, labels: int, clusters: int) -> Rows:
    table = regression_table(rng, family, labels, clusters)
    found = regress(
        table, strong="human", weak="judge", on=("x", "z", "k"), family=family, rate="rate",
        clusters="cluster" if clusters else None,
    )  # fmt: skip
    rows = zip(found.coefficients, BETA, strict=True)
    return {c.name: (c.low, c.high, truth) for c, truth in rows if c.low is not None and c.high is not None}


def regression_table(
    rng: np.random.Generator, family: Family, labels: int, clusters: int, items: int = 1000
) -> Columns:
    """A weak rater that errs most where z is large, rates that follow z, and one item in ten of a kind k."""
    x, z, k = rng.standard_normal(items), rng.random(items), (rng.random(items) < 0.1).astype(float)
    code, shift = np.arange(items), np.zeros(items)
    if clusters:
        code = rng.integers(0, clusters, items)
        x = rng.standard_normal(clusters)[code] + 0.3 * x
        shift = rng.standard_normal(clusters)[code] if family == "linear" else shift
    eta = BETA[0] + BETA[1] * x + BETA[2] * z + BETA[3] * k
    if family == "linear":
        h = eta + (0.5 + z) * rng.standard_normal(items) + shift
        g = h + (0.1 + 0.5 * z) * rng.standard_normal(items) + 0.2
    elif family == "logistic":
        h = (rng.random(items) < special.expit(eta)).astype(float)
        g = np.where(rng.random(items) < 0.02 + 0.2 * z, 1 - h, h)
    else:
        h = rng.poisson(np.exp(eta)).astype(float)
        g = np.maximum(h + rng.poisson(z) - rng.poisson(0.3, items), 0).astype(float)
    rates = np.clip((0.3 + 1.4 * z) * labels / items, 0, 1)
    human = np.where(rng.random(items) < rates, h, np.nan)
    return {"x": x, "z": z, "k": k, "judge": g, "human": human, "rate": rates, "cluster": code.astype(str)}


def _quantiles() -> list[Question]:
    rows = []
    for labels in (60, 250):
        world = f"gamma ratings, {labels} labels"
        rows.append(Question("quantile", world, partial(_quantile, labels=labels)))
    return rows


def _quantile(rng: np.random.Generator, labels: int, items: int = 1000) -> Rows:
    h, z = rng.gamma(2.0, 1.0, items), rng.random(items)
    g = h + (0.1 + 0.8 * z) * rng.standard_normal(items)
    rates = np.clip((0.3 + 1.4 * z) * labels / items, 0, 1)
    table = {"judge": g, "human": np.where(rng.random(items) < rates, h, np.nan), "rate": rates}
    found = quantile_table(table, strong="human", weak="judge", rate="rate", at=(0.5, 0.9))
    truths = {q: float(stats.gamma.ppf(q, 2)) for q in (0.5, 0.9)}
    return {
        f"at {q:g}": (*e.interval, truths[q]) for q, e in zip((0.5, 0.9), found.estimates, strict=True) if e.interval
    }


# Clusters


def _clusters() -> list[Question]:
    rows = []
    for count, mean in ((10, 0.8), (30, 0.5), (30, 0.95), (60, 0.98), (200, 0.95)):
        world = f"{count} clusters of {_CLUSTER}, 0/1 ratings, mean {mean:g}, correlation {_ALIKE:g}"
        rows.append(Question("items in clusters", world, partial(_clustered, count=count, mean=mean)))
    return rows


def _clustered(rng: np.random.Generator, count: int, mean: float, rate: float = 0.5) -> Rows:
    code = np.repeat(np.arange(count), _CLUSTER)
    a, b = mean * (1 / _ALIKE - 1), (1 - mean) * (1 / _ALIKE - 1)
    h = (rng.random(code.size) < rng.beta(a, b, count)[code]).astype(float)
    g = 0.1 + 0.8 * np.where(rng.random(code.size) < 0.2, 1 - h, h)
    strong = np.where(rng.random(code.size) < rate, h, np.nan)
    found = {
        "by cluster": estimate_mean(g, strong, rate, clusters=code),
        "clusters ignored": estimate_mean(g, strong, rate),
    }
    return {name: (*e.interval, mean) for name, e in found.items() if e.interval is not None}


# Betting beside the score interval


def _betting() -> list[Question]:
    rows = []
    for mean in (0.5, 0.9, 0.98):
        for labels in (60, 300):
            for judge in ("calibrated", "useless"):
                cell = Cell(mean, labels, judge, "stream")
                world = f"mean {mean:g}, {labels} labels, {judge} judge"
                rows.append(Question("betting beside the default interval", world, partial(_bet, cell=cell)))
    return rows


def _bet(rng: np.random.Generator, cell: Cell) -> Rows:
    items = 5 * cell.labels
    g, h, _ = everyday.make(cell, items, rng)
    rates = everyday.one_shot_rates(g, cell.labels)
    strong: Floats = np.where(rng.random(items) < rates, h, np.nan)
    found = {
        "default": estimate_mean(g, strong, rates),
        "betting": estimate_mean(g, strong, rates, method="difference", interval="anytime", bounds=(0.0, 1.0)),
    }
    return {name: (*e.interval, cell.mean) for name, e in found.items() if e.interval is not None}
