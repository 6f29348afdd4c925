"""The obvious loop: what `simulate` computes, one trial, one budget and one item after the other, in plain Python.

It is written from the paper and METHODS and shares no formula with the fast route but the fit of Platt's scaling. Fed
with the same items and random numbers, its estimates equal the library's. Benchmarks time it; tests compare with it.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ratewise.lab.methods import Lab
from ratewise.lab.trials import Block, Population, Setting
from ratewise.learn.calibration import Calibration, fit_calibration

LOOPED_METHODS = ("base", "paper-random", "paper-active", "oracle")

Rate = Callable[[int, float], float]  # of a row of the table with this calibrated weak rating


@dataclass(frozen=True, slots=True)
class Learned:
    """What a policy is made from: calibrated weak ratings with their labels, V, and the squared errors."""

    platt: Calibration
    weak: list[float]
    strong: list[float]
    variance: float
    squared_error: list[float]


@dataclass(frozen=True, slots=True)
class Spent:
    """What one budget bought in one trial."""

    value: float
    items: int
    labels: int


def score(platt: Calibration, g: float) -> float:
    """σ(a + b·logit(g)), g kept 0.001 from the ends; of ratings in [0, 1]."""
    g = min(max(g, 1e-3), 1 - 1e-3)
    return 1 / (1 + math.exp(-(platt.intercept + platt.slope * math.log(g / (1 - g)))))


def learned(weak: Sequence[float], strong: Sequence[float]) -> Learned:
    """Platt scaling and all parameters from the same labels."""
    platt = fit_calibration(weak, strong, kind="platt")
    n, mean = len(strong), sum(strong) / len(strong)
    V = sum((h - mean) ** 2 for h in strong) / n
    if min(strong) == max(strong):  # nothing is known of V: that of a mean one label away from either end
        mean = (sum(strong) + 1) / (n + 2)
        V = mean * (1 - mean)
    g = [score(platt, x) for x in weak]
    return Learned(platt, g, list(strong), V, [(h - x) ** 2 for h, x in zip(strong, g, strict=True)])


def best_rate(M: float, V: float, c: float) -> float:
    """Prop. 1: p* = sqrt(c M / W)."""
    return math.sqrt(c * M / (V - M)) if M * (1 + c) < V else 1.0


def best_scale(u: Sequence[float], V: float, c: float) -> float:
    """γ of Prop. 2: the root of s V = E[min(s u, 1)] + c, by trying every number k of items that are always rated."""
    n, falling = len(u), sorted(u, reverse=True)
    rest = math.fsum(falling)
    for k in range(n + 1):
        slope = V - rest / n
        s = (k / n + c) / slope if slope > 0 else math.inf
        if k == n or s * falling[k] <= 1:
            return math.sqrt(s)
        rest -= falling[k]
    raise AssertionError("F has a root")


def follow(
    known: Learned,
    rate: Rate,
    stream: Sequence[tuple[int, float]],
    table: tuple[Sequence[float], Sequence[float]],
    *,
    budget: float,
    cost_ratio: float,
    tuned: bool,
) -> Spent:
    """Items one by one, until the worst-case cost of the next does not fit; then λ̂ and the mean of Δ."""
    weak, strong = table
    spent, taken = 0.0, []
    for row, r in stream:
        if spent + cost_ratio + 1 > budget * (1 + 1e-9):  # rounding of the sum
            break
        g = score(known.platt, weak[row])
        p = rate(row, g)
        spent += cost_ratio
        h = None
        if r < p:
            h = strong[row]
            spent += 1
        taken.append((g, h, p))
    power = plug_in(taken) if tuned else 1.0
    total, labels = 0.0, 0
    for g, h, p in taken:
        total += power * g
        if h is not None:
            total += (h - power * g) / p
            labels += 1
    return Spent(total / len(taken), len(taken), labels)


def plug_in(taken: Sequence[tuple[float, float | None, float]]) -> float:
    """λ̂ of the paper's appendix on power tuning; 1 where there is nothing to tune."""
    top = bottom = 0.0
    for g, h, p in taken:
        odds = 1 / p - 1
        bottom += g * g * odds
        top += g * g * odds
        if h is not None:
            top += (h * g - g * g) / p * odds
    return top / bottom if bottom > 0 else 1.0


def combined(known: Learned, rates: Sequence[float], burn_in: Sequence[float], found: Spent) -> float:
    """Inverse-variance average of the burn-in's mean and the policy's, by the variances that `known` expects."""
    if not burn_in:
        return found.value
    added = [u * (1 / p - 1) for u, p in zip(known.squared_error, rates, strict=True)]
    first = known.variance / len(burn_in)
    second = (known.variance + sum(added) / len(added)) / found.items
    mean = sum(burn_in) / len(burn_in)
    return (second * mean + first * found.value) / (first + second)


def policy_of(method: str, known: Learned, cost_ratio: float) -> Rate:
    """The paper's policies; an item of error 0 is as good as never rated."""
    if method == "paper-random":
        M = sum(known.squared_error) / len(known.squared_error)
        p = max(best_rate(M, known.variance, cost_ratio), 1e-12)
        return lambda _, __: p
    if method == "paper-active":
        scale = best_scale([g * (1 - g) for g in known.weak], known.variance, cost_ratio)
        return lambda _, g: max(min(scale * math.sqrt(g * (1 - g)), 1.0), 1e-12)
    scale = best_scale(known.squared_error, known.variance, cost_ratio)
    u = known.squared_error
    return lambda row, _: max(min(scale * math.sqrt(u[row]), 1.0), 1e-12)


def estimates(lab: Lab, trials: range, whole: Learned) -> dict[str, list[list[float]]]:
    """Method → trials × budgets, with nothing shared between trials but what the oracle knows."""
    setting, table = lab.setting, (lab.population.weak.tolist(), lab.population.strong.tolist())
    found: dict[str, list[list[float]]] = {method: [] for method in lab.methods}
    oracle = policy_of("oracle", whole, setting.cost_ratio)
    expected = [oracle(i, g) for i, g in enumerate(whole.weak)]
    for burn_in, stream in items_of(lab.population, setting, trials):
        given = [table[1][i] for i in burn_in]
        known = learned([table[0][i] for i in burn_in], given)
        for method in lab.methods:
            if method == "base":
                found[method].append([base(given, stream, table[1], B) for B in setting.budgets])
                continue
            knows = whole if method == "oracle" else known
            rate = oracle if method == "oracle" else policy_of(method, known, setting.cost_ratio)
            rates = expected if method == "oracle" else [rate(i, g) for i, g in zip(burn_in, known.weak, strict=True)]
            row = []
            for B in setting.budgets:
                spent = follow(
                    knows, rate, stream, table, budget=B, cost_ratio=setting.cost_ratio, tuned=method != "oracle"
                )
                row.append(combined(knows, rates, given, spent))
            found[method].append(row)
    return found


def base(
    burn_in: Sequence[float], stream: Sequence[tuple[int, float]], strong: Sequence[float], budget: float
) -> float:
    """The plain mean of the burn-in and as many strong ratings as the budget buys."""
    ratings = list(burn_in)
    spent = 0.0
    for row, _ in stream:
        if spent + 1 > budget * (1 + 1e-9):
            break
        ratings.append(strong[row])
        spent += 1
    return sum(ratings) / len(ratings)


def items_of(
    population: Population, setting: Setting, trials: range
) -> Iterator[tuple[list[int], list[tuple[int, float]]]]:
    """The burn-in of each trial and the stream after it, with more items than any budget can buy."""
    block = Block(population, setting, trials)
    index, uniform = block.take(setting.budgets[-1] / min(setting.cost_ratio, 1.0) + 1)
    for burn_in, rows, numbers in zip(block.burn_in, index, uniform, strict=True):
        yield burn_in.tolist(), list(zip(rows.tolist(), numbers.tolist(), strict=True))
