"""What the paper says, sentence by sentence, and whether it holds here.

A further claim is a line in `CLAIMS`: where it stands, the sentence, the figures that it needs, and the function that
judges it by them. Where a sentence is false as printed, a second line has it as corrected. What rests on trials is
judged by a 95 % bootstrap interval over them; what is exact, by a number.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from ratewise.core.allocation import choose_inputs
from ratewise.core.checks import Floats
from ratewise.core.formulas import (
    bernoulli_bound,
    optimal_uniform_rate,
    optimal_uniform_rate_whole_items,
)  # fmt: skip
from ratewise.core.policy import optimal_policy
from ratewise.lab.figures import Point, beta_errors, curves, gamma_errors, ratios
from ratewise.lab.reproduction import EXPERIMENTS
from ratewise.lab.results import Interval, Simulation, resamples

Word = Literal["holds", "fails", "cannot tell"]
Made = Mapping[str, Any]  # of each figure that was made: its points, or its simulations
Found = tuple[bool | None, str]  # whether a claim holds (None: the trials cannot tell), and the numbers that decide it

_ALIKE = 0.1  # ratios within 10 % of 1 are "comparable", differences within it "fairly small"
_SMALL = 0.2  # gains of at most 20 % are "small"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A sentence of the paper, whether it holds here, the numbers that decide it, and the figures these are from."""

    where: str
    text: str
    corrected: bool
    verdict: Word
    evidence: str
    figures: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class PaperClaim:
    """A sentence of the paper, where it stands, the figures that it needs, and who judges it by them."""

    where: str
    text: str
    needs: tuple[str, ...]
    judge: Callable[[Made], Found]
    corrected: bool = False  # the sentence as it would be true, after the one as printed


def verdicts(made: Made) -> list[Verdict]:
    """The verdict on every claim whose figures were made, whole."""
    whole = {name for name, found in made.items() if len(found) >= len(EXPERIMENTS.get(name, ()))}
    judged = [(claim, claim.judge(made)) for claim in CLAIMS if set(claim.needs) <= whole]
    words: dict[bool | None, Word] = {True: "holds", False: "fails", None: "cannot tell"}
    return [Verdict(c.where, c.text, c.corrected, words[holds], said, c.needs) for c, (holds, said) in judged]


def _all(found: list[bool | None]) -> bool | None:
    """Whether all hold: no, if one does not; unknown, if one is."""
    return False if False in found else None if None in found else True


def _below(found: Interval, bound: float = 1.0) -> bool | None:
    """Whether the whole interval lies below the bound; None where the bound lies in it."""
    return True if found.high < bound else False if found.low >= bound else None


def _within(found: Interval, low: float, high: float) -> bool | None:
    """Whether the whole interval lies between two numbers; None where an end of these lies in it."""
    return True if low <= found.low and found.high <= high else False if found.high < low or found.low > high else None


# Formulas

_WORLDS = tuple((V, M, c) for V in (0.1, 0.25, 1.0) for M in (0.01, 0.05, 0.1, 0.3) for c in (0.001, 0.05, 0.3))


def _best_single_rate(_: Made) -> Found:
    """Prop. 1 against a grid of rates."""
    rates, worst = np.geomspace(1e-5, 1.0, 20001), 0.0
    for V, M, c in _WORLDS:
        best = optimal_uniform_rate(M, variance=V, weak_cost=c, strong_cost=1.0).error_times_budget
        grid = float(((c + rates) * (V - M + M / rates)).min())
        worst = max(worst, best / grid - 1)
    return (
        worst < 1e-6,
        f"{len(_WORLDS)} worlds, 20,001 rates each: its error is never more than {worst:.0e} above the best",
    )


def _printed_threshold(u: Floats, V: float, c: float, steps: int) -> float:
    """The least error of Prop. 2's clipped policy over a grid of τ."""
    M, best = float(u.mean()), np.inf
    for tau in np.linspace(0, float(np.sqrt(u.max())) * 1.5, steps + 1)[1:]:
        left = V - float(np.mean(u * (u <= tau**2)))
        scale = min(np.sqrt((c + float(np.mean(u > tau**2))) / left) if left > 0 else np.inf, 1 / tau)
        pi = np.minimum(scale * np.sqrt(u), 1.0)
        best = min(best, float((c + pi.mean()) * (V - M + np.mean(u / pi))))
    return best


def _exact_threshold(_: Made) -> Found:
    """Prop. 2's policy is what the exact root gives, and a grid is never better."""
    rng, excess = np.random.default_rng(0), []
    for V, M, c in _WORLDS:
        u = rng.gamma(0.5, 2 * M, 500)
        best = optimal_policy(u, variance=V, weak_cost=c, strong_cost=1.0).error_times_budget
        excess.append([_printed_threshold(u, V, c, steps) / best - 1 for steps in (1000, 20)])
    fine, coarse = np.max(excess, axis=0)
    least = float(np.min(excess))
    said = f"1,000 thresholds come to within {fine:.0e} of the exact error, 20 to within {coarse:.0e}, none below it"
    return least > -1e-9 and fine < 1e-3, f"{len(_WORLDS)} worlds: {said}"


def _no_solution(_: Made) -> Found:
    return False, (
        "F(s) = s V − E[min(s u, c_h)] − c_g is convex and piecewise linear; Newton's method ends at its root in "
        "a handful of steps (core/policy.py), and no grid is needed"
    )


def _whole_items(printed: bool) -> Callable[[Made], Found]:
    """Prop. 3 against all numbers of items."""

    def judge(_: Made) -> Found:
        B, worst, wrong = 100.0, 0.0, 0
        for V, M, c in _WORLDS:
            k = np.arange(np.ceil(B / (1 + c)), np.ceil(B / c))
            errors = (V - M) / k + M / (B - k * c) if V > M else np.array([np.inf])
            best = min(float(errors.min()), V / np.floor(B))
            if printed:
                q = M / (V - M) if V > M else np.inf
                root = B * (1 + np.sqrt(q / c)) / (c - q) if np.isfinite(q) else np.nan
                legal = [n for n in (np.floor(root), np.ceil(root)) if 0 < n * c < B]
                found = min([V / np.floor(B), *((V - M) / n + M / (B - n * c) for n in legal if (B - n * c) / n <= 1)])
            else:
                made = optimal_uniform_rate_whole_items(M, variance=V, weak_cost=c, strong_cost=1.0, budget=B)
                found = float(made.error or np.inf)
            worst, wrong = max(worst, found / best - 1), wrong + (found / best - 1 > 1e-9)
        said = f"not the best in {wrong}, where it has up to {worst:.0%} more error" if wrong else "the best of all"
        return wrong == 0, f"{len(_WORLDS)} worlds with a budget of 100, all numbers of items tried: {said}"

    return judge


def _misjudged(positive: bool) -> Callable[[Made], Found]:
    """Prop. 6 on random policies: the mean of 1/π̃ − 1/π* as it is, or its positive part."""

    def judge(_: Made) -> Found:
        rng, broken, worst, cases = np.random.default_rng(1), 0, 0.0, 2000
        for _case in range(cases):
            u, best, other = rng.random(5), rng.uniform(0.05, 1, 5), rng.uniform(0.05, 1, 5)
            more = 1 / other - 1 / best
            delta = float(np.maximum(more, 0).mean() if positive else more.mean())
            excess = float(np.mean(u * more)) - float(u.max()) * delta
            broken, worst = broken + (excess > 1e-12), max(worst, excess)
        said = f"{cases:,} random policies: Var(Δ) rises above the bound in {broken:,}"
        return broken == 0, said + (f", by up to {worst:.2g}" if broken else "")

    return judge


def _increment(power: int) -> Callable[[Made], Found]:
    def judge(_: Made) -> Found:
        h, g = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.1, 0.6, 0.7, 0.9])
        mean = float(np.mean(g + (h - g) ** power))
        return abs(mean - h.mean()) < 1e-12, f"four items with mean rating 0.5: E[Δ] = {mean:.3f}"

    return judge


_STRATA = (np.array([0.5, 0.3, 0.2]), np.array([0.9, 0.6, 0.3]), np.array([0.03, 0.1, 0.15]))  # P, E[H], E[(H−G)²]


def _input_errors(shift: float) -> tuple[float, float, float]:
    """Variance per item of Prop. 7's estimator by its Q*, by P, and of fixed numbers of each stratum."""
    P, mean, u = _STRATA
    pi, V = np.sqrt(u), mean * (1 - mean)
    nu, theta = V + (mean + shift) ** 2 + (1 / pi - 1) * u, float(P @ mean) + shift
    fixed = choose_inputs(V, u, weak_cost=0.0, strong_cost=1 / pi, probabilities=P, rates=pi)
    return float(P @ np.sqrt(nu)) ** 2 - theta**2, float(P @ nu) - theta**2, fixed.variance_per_item


def _best_inputs(_: Made) -> Found:
    P, mean, u = _STRATA
    nu = mean + (1 / np.sqrt(u) - 1) * u
    best, plain, _fixed = _input_errors(0.0)
    others = np.random.default_rng(2).dirichlet(np.ones(3), 5000)
    least = float((P**2 * nu / others).sum(axis=1).min()) - float(P @ mean) ** 2
    said = f"{best:.4f} by Q*, {plain:.4f} by P, {least:.4f} by the best of 5,000 random Q"
    return best <= least + 1e-12, f"three strata, variance per item: {said}"


def _fixed_numbers(_: Made) -> Found:
    found = {shift: _input_errors(shift) for shift in (0.0, 1.0, -1.0)}
    said = "; ".join(f"{fixed:.4f}, as printed {best:.4f} ({x:+g})" for x, (best, _plain, fixed) in found.items())
    least = max(fixed - best for best, _plain, fixed in found.values())
    return least < 0, f"three strata, variance per item, with a number added to all ratings: {said}"


def _extreme_costs(_: Made) -> Found:
    u = np.random.default_rng(3).uniform(0.01, 0.15, 1000)
    free, dear = (
        optimal_policy(u, variance=0.25, weak_cost=g, strong_cost=h, weights=None).mean_rate
        for g, h in ((1e-9, 1.0), (1.0, 1e-9))
    )
    return free < 1e-3 and dear > 1 - 1e-9, f"E[π] = {free:.1e} where c_g/c_h = 1e-9, {dear:.6f} where it is 1e9"


# Made-up worlds


def _monotone(figure: str, panels: str, sign: int) -> Callable[[Made], Found]:
    """Every curve of the panels rises (+1) or falls (−1), up to rounding."""

    def judge(made: Made) -> Found:
        found = {(panel, V): curve for panel in panels for V, curve in curves(made[figure], panel).items()}
        worst = min(float(np.min(sign * np.diff([p.y for p in curve]))) for curve in found.values())
        ends = "; ".join(f"{_at(curve[0], panels)}: {curve[0].y:.3f} to {curve[-1].y:.3f}" for curve in found.values())
        x_name = next(iter(found.values()))[0].x_name
        return worst > -1e-9, f"error ratio from the smallest to the largest {x_name}: {ends}"

    return judge


def _at(p: Point, panels: str = "") -> str:
    return f"Var(H) {p.variance:g}" + (f", MSE {p.weak_error:g}" if len(panels) > 1 else "")


def _steeper_for_small_variance(made: Made) -> Found:
    rises = {V: curve[-1].y - curve[0].y for V, curve in curves(made["gaussian"], "a").items()}
    inner = {V: float(np.diff([p.y for p in curve]).max()) for V, curve in curves(made["gaussian"], "a").items()}
    said = ", ".join(f"Var(H) {V:g}: +{rises[V]:.3f} in all, steepest step {inner[V]:.3f}" for V in rises)
    return max(inner.values()) > 2 * min(inner.values()), said


def _useless(made: Made) -> Found:
    far = [p for p in made["gaussian"] if p.panel == "a" and p.weak_error >= 3 * p.variance]
    least = min(far, key=lambda p: p.y)
    return (
        least.y >= 1,
        f"{len(far)} points with MSE(H, G) at least three times Var(H): least ratio {least.y:.3f} ({_at(least)})",
    )


def _little_at_first(made: Made) -> Found:
    first = [curve[1] for curve in curves(made["gaussian"], "b").values()]
    return min(p.y for p in first) > 1 - _ALIKE, ", ".join(f"{_at(p)}, Var(U) {p.x:g}: {p.y:.3f}" for p in first)


def _large_at_last(figure: str, panels: str, largest: float) -> Callable[[Made], Found]:
    def judge(made: Made) -> Found:
        last = [curve[-1] for panel in panels for curve in curves(made[figure], panel).values()]
        said = ", ".join(f"{_at(p, panels)}: {p.y:.3f}" for p in last)
        return max(p.y for p in last) < largest, f"at the largest Var(U): {said}"

    return judge


def _equal_at_zero(figure: str, panels: str) -> Callable[[Made], Found]:
    def judge(made: Made) -> Found:
        zero = max(abs(p.y - 1.0) for p in made[figure] if p.panel in panels and p.error_variance == 0)
        return zero < 1e-9, f"ratio 1 to within {zero:.0e}"

    return judge


def _spread_needed(made: Made) -> Found:
    """The least Var(U) at which active is 10 % better than base, by MSE(H, G)."""
    needed: dict[float, list[float]] = {}
    for panel in "def":
        for V, curve in curves(made["bernoulli"], panel).items():
            needed.setdefault(V, []).append(next((p.x for p in curve if p.y < 1 - _ALIKE), np.inf))
    said = "; ".join(f"Var(H) {V:g}: {', '.join(f'{x:.3f}' for x in found)}" for V, found in needed.items())
    holds = all(np.all(np.diff(found) >= 0) and found[-1] > found[0] for found in needed.values())
    return holds, f"least Var(U) for an error 10 % below base's, at MSE 0.05, 0.1 and 0.3: {said}"


def _random_where_useless(cheapest: bool) -> Callable[[Made], Found]:
    """The ratio to base at Var(U) = 0 where MSE > Var(H): of rate 1 with weak ratings, or of the cheaper of both."""

    def judge(made: Made) -> Found:
        found = [p.y for p in made["bernoulli"] if p.panel == "f" and p.error_variance == 0]
        worst = max(abs((min(y, 1.0) if cheapest else y) - 1) for y in found)
        more = "strong ratings alone are taken" if cheapest else "a rate of 1 still pays c_g, 0.05 here"
        return worst < 1e-9, f"ratio {1 + worst:.2f}: {more}"

    return judge


def _bounded_by_mse(made: Made) -> Found:
    bounded = [p for p in made["bernoulli"] if p.lower_bound is not None]
    worst = min(bounded, key=lambda p: p.y / p.weak_error)
    return worst.y >= worst.weak_error, (
        f"{worst.y:.3f} at MSE(H, G) = {worst.weak_error:g}, cost ratio {worst.cost_ratio:g} and {_at(worst)}"
    )


def _bounded(made: Made) -> Found:
    """The lower bound, with the sign of METHODS section 3."""
    gaps = [(p, p.y - p.lower_bound) for p in made["bernoulli"] if p.lower_bound is not None]
    least = min(gap for _, gap in gaps)
    reached = max(abs(gap) for p, gap in gaps if p.error_variance >= p.weak_error * (1 - p.weak_error) * (1 - 1e-9))
    said = f"smallest distance to the bound {least:.1e} over {len(gaps)} points; at the largest Var(U) {reached:.1e}"
    return least > -1e-9 and reached < 1e-6, said


def _bound_s_branch(printed: bool) -> Callable[[Made], Found]:
    """The value that is approached where u is 0 or 1, with the first branch's condition as printed or corrected."""

    def judge(_: Made) -> Found:
        worst, at = 0.0, (0.0, 0.0, 0.0)
        for V in (0.1, 0.2, 0.25):
            for c in (0.001, 0.05, 0.1):
                for M in np.linspace(0.01, V + c, 60):
                    u, w = beta_errors(float(M), float(M * (1 - M)))
                    true = ratios((u, w), variance=V, cost_ratio=c)["base"]
                    bound = bernoulli_bound(float(M), variance=V, cost_ratio=c)
                    if printed and V > M:
                        scale = np.sqrt(c / (V - M))
                        bound = min((scale * M + c) * (1 + (1 / scale - 1) * M / V), M + c)
                    if abs(bound - true) > worst:
                        worst, at = abs(bound - true), (V, c, float(M))
        return worst < 1e-9, f"largest distance to the exact optimum {worst:.2g}" + (
            f", at Var(H) {at[0]:g}, c_g/c_h {at[1]:g}, MSE {at[2]:.3f}" if worst > 1e-9 else ""
        )

    return judge


def _random_s_trends(what: Literal["MSE", "cost", "Var(U)"]) -> Callable[[Made], Found]:
    """The best single rate over base, as one quantity grows."""

    def ratio(M: float, c: float) -> float:
        return optimal_uniform_rate(M, variance=0.25, weak_cost=c, strong_cost=1.0).error_ratio

    def judge(_: Made) -> Found:
        if what == "Var(U)":
            return (
                False,
                f"a single rate does not see u(x): {ratio(0.1, 0.05):.3f} whatever Var(U) is (MSE 0.1, c_g/c_h 0.05)",
            )
        y = (
            [ratio(M, 0.05) for M in np.linspace(0.01, 0.2, 20)]
            if what == "MSE"
            else [ratio(0.1, c) for c in np.geomspace(0.001, 0.5, 20)]
        )
        return bool(np.all(np.diff(y) > 0)), f"error ratio {y[0]:.3f} to {y[-1]:.3f}"

    return judge


def _unbounded_headroom(_: Made) -> Found:
    wide = ratios(gamma_errors(0.1, 0.5), variance=0.25, cost_ratio=0.05)["base"]
    bounded = ratios(beta_errors(0.1, 0.09), variance=0.25, cost_ratio=0.05)["base"]
    return wide < bounded, (
        f"at Var(H) 0.25, MSE 0.1, cost ratio 0.05: {wide:.3f} with Gamma errors of variance 0.5, {bounded:.3f} at the "
        "largest variance that Bernoulli errors can have"
    )


# Real data: at a glance, `name` or `name:row` is a simulation


def _simulation(made: Made, key: str) -> Simulation:
    name, _, row = key.partition(":")
    found: Simulation = made[name][int(row or 0)]
    return found


def _beat_base(*keys: str, methods: tuple[str, ...] = ("paper-random", "paper-active")) -> Callable[[Made], Found]:
    """MSE over base's, geometric mean over budgets: the whole interval is below 1."""

    def judge(made: Made) -> Found:
        found = {(k, m): _simulation(made, k).mse_ratio(m) for k in keys for m in methods}
        said = "; ".join(f"{k + ' ' if len(keys) > 1 else ''}{m} {r}" for (k, m), r in found.items())
        return _all([_below(r) for r in found.values()]), f"MSE over base's: {said}"

    return judge


def _steady(*keys: str) -> Callable[[Made], Found]:
    """Better than base at every budget."""

    def judge(made: Made) -> Found:
        every = [
            (_below(_simulation(made, k).mse_ratio(m)), max(r.of_base for r in _simulation(made, k).of(m)), k, m)
            for k in keys for m in ("paper-random", "paper-active")
        ]  # fmt: skip
        said = "; ".join(
            f"{k} {m} {_simulation(made, k).mse_ratio(m)}, at most {worst:.3f}" for _, worst, k, m in every
        )
        return _all(
            [holds if holds is not True or worst < 1 else None for holds, worst, *_ in every]
        ), f"MSE over base's: {said}"

    return judge


def _active_beside_random(*keys: str) -> Callable[[Made], Found]:
    """Active within 10 % of random."""

    def judge(made: Made) -> Found:
        found = {k: _simulation(made, k).mse_ratio("paper-active", "paper-random") for k in keys}
        said = "; ".join(f"{k + ' ' if len(keys) > 1 else ''}{r}" for k, r in found.items())
        return _all(
            [_within(r, 1 - _ALIKE, 1 + _ALIKE) for r in found.values()]
        ), f"MSE of active over random: {said}; fairly small: within 10 %"

    return judge


def _smaller(first: str, seconds: tuple[str, ...], method: str, over: str) -> Callable[[Made], Found]:
    """The ratio of two methods is smaller in one experiment than in others."""

    def judge(made: Made) -> Found:
        own = _simulation(made, first).log_ratios(method, over)
        others = {k: _simulation(made, k).log_ratios(method, over) for k in seconds}
        gaps = [Interval.of(own - one, np.exp) for one in others.values()]
        named = {first: own, **others}
        said = "; ".join(f"{k} {Interval.of(x, np.exp)}" for k, x in named.items())
        return _all([_below(gap) for gap in gaps]), f"MSE of {method} over {over}: {said}"

    return judge


def _gain(found: Simulation, method: str, over: str) -> Floats:
    """MSE of one method less that of another, mean over the budgets from 100 to 400; then of every bootstrap sample."""
    at = [k for k, B in enumerate(found.settings["budgets"]) if 100 <= B <= 400]
    gain = (found.squared[over] - found.squared[method])[:, at].mean(axis=1)
    return np.array([gain.mean(), *(resamples(gain.size, found.settings["seed"]) @ gain)])


def _gains_by_transfer(pairs: tuple[tuple[str, str], ...]) -> Callable[[Made], Found]:
    def judge(made: Made) -> Found:
        holds: list[bool | None] = []
        said = []
        for transfer, burn_in in pairs:
            for method, over in (("paper-active", "paper-random"), ("paper-random", "base")):
                a, b = (_gain(_simulation(made, k), method, over) for k in (transfer, burn_in))
                holds.append(_below(Interval.of(b - a), 0.0))
                said.append(
                    f"{transfer}: {method} {1e4 * a[0]:.2f} less than {over}, after a burn-in {1e4 * b[0]:.2f} less"
                )
        return _all(holds), f"MSE in ten-thousandths, at budgets from 100 to 400: {'; '.join(said)}"

    return judge


def _share_at(key: str, printed: float) -> Callable[[Made], Found]:
    """Active needs about so much of base's budget for an RMSE of 0.05: within 10 points."""

    def judge(made: Made) -> Found:
        found = _simulation(made, key).shares_at(0.05)
        share, other = found["paper-active"], found["paper-random"]
        said = f"of base's budget: active {share or 'beyond the budgets'}, random {other or 'beyond the budgets'}"
        return None if share is None else _within(share, printed - 0.1, printed + 0.1), said

    return judge


def _more_the_more_precise(*keys: str) -> Callable[[Made], Found]:
    """Savings of active at the largest budget against those at the smallest."""

    def judge(made: Made) -> Found:
        holds: list[bool | None] = []
        said = []
        for k in keys:
            curve = _simulation(made, k).of("paper-active")
            first, last = curve[0], curve[-1]
            more = last.savings_low > max(first.savings_high, 0)
            holds.append(True if more else False if last.savings_high < max(first.savings_low, 0) else None)
            said.append(
                f"{k}: {first.savings:.0f} at {first.budget:g}, {last.savings:.0f} (95 % {last.savings_low:.0f} to "
                f"{last.savings_high:.0f}) at {last.budget:g}"
            )
        return _all(holds), f"strong ratings saved: {'; '.join(said)}"

    return judge


def _headroom(*keys: str) -> Callable[[Made], Found]:
    """The oracle is at least 10 % better than active."""

    def judge(made: Made) -> Found:
        found = {k: _simulation(made, k).mse_ratio("oracle", "paper-active") for k in keys}
        said = "; ".join(f"{k + ' ' if len(keys) > 1 else ''}{r}" for k, r in found.items())
        return _all([_below(r, 1 - _ALIKE) for r in found.values()]), f"MSE of the oracle over active: {said}"

    return judge


def _small_gains(key: str, methods: tuple[str, ...]) -> Callable[[Made], Found]:
    """Better than base, by at most 20 %."""

    def judge(made: Made) -> Found:
        found = {m: _simulation(made, key).mse_ratio(m) for m in methods}
        said = ", ".join(f"{m} {r}" for m, r in found.items())
        return _all(
            [_within(r, 1 - _SMALL, 1.0) for r in found.values()]
        ), f"MSE over base's: {said}; small: at most 20 %"

    return judge


_BURNT_IN = ("arena-burnin:0", "arena-burnin:1", "aqa")
_REAL = ("arena-transfer", "arena-easy-hard", "arena-burnin", "aqa", "imagenet", "seahorse")
_ALL_REAL = ("arena-transfer", "arena-easy-hard", "arena-burnin:0", "arena-burnin:1", "aqa", "imagenet", "seahorse")


def _of_transfer(whole: str, split: str) -> tuple[PaperClaim, ...]:
    """The claims about policies by transfer, of Chatbot Arena or what is like it."""
    needs = tuple(dict.fromkeys(key.partition(":")[0] for key in (whole, split)))
    both = "Both policies substantially improve on base by transfer"
    return (
        PaperClaim("Fig. 3", both, needs[:1], _beat_base(whole)),
        PaperClaim("Fig. 3", f"{both}, on the easy/hard split", needs[-1:], _beat_base(split)),
        PaperClaim(
            "Fig. 3", "Active's benefits over random are substantially magnified on the easy/hard split", needs,
            _smaller(split, (whole,), "paper-active", "paper-random"),
        ),
        PaperClaim(
            "Sec. 4.3", "For an RMSE of 0.05, active needs about 40 % of base's budget", needs[:1],
            _share_at(whole, 0.4),
        ),
        PaperClaim(
            "Sec. 4.3", "For an RMSE of 0.05, active needs about 50 % of base's budget on the easy/hard split",
            needs[-1:], _share_at(split, 0.5),
        ),
        PaperClaim(
            "Sec. 4.3", "The savings become more pronounced the more precise estimates are required to be", needs,
            _more_the_more_precise(whole, split),
        ),
    )  # fmt: skip


CLAIMS: tuple[PaperClaim, ...] = (
    PaperClaim("Prop. 1", "The best single rate, in closed form", (), _best_single_rate),
    PaperClaim("Prop. 2", "The best policy is sqrt(u) scaled and clipped at τ*", (), _exact_threshold),
    PaperClaim("Prop. 2, remark", "The search for τ* is non-convex and has no analytical solution", (), _no_solution),
    PaperClaim("Sec. 3.2", "Gaussian: the error rises with MSE(H, G)", ("gaussian",), _monotone("gaussian", "a", +1)),
    PaperClaim("Sec. 3.2", "Gaussian: how fast depends much on Var(H)", ("gaussian",), _steeper_for_small_variance),
    PaperClaim(
        "Sec. 3.2", "Gaussian: no benefit over base where MSE(H, G) is large relative to Var(H)", ("gaussian",),
        _useless,
    ),
    PaperClaim("Sec. 3.2", "Gaussian: no benefit over random where Var(U) is small", ("gaussian",), _little_at_first),
    PaperClaim(
        "Sec. 3.2", "Gaussian: a large advantage over random where Var(U) is large", ("gaussian",),
        _large_at_last("gaussian", "b", 0.8),
    ),
    PaperClaim(
        "Sec. 3.2", "Gaussian: the benefit over random rises with Var(U)", ("gaussian",), _monotone("gaussian", "b", -1)
    ),
    PaperClaim(
        "Sec. 3.2", "Gaussian: most effective where c_g is much less than c_h", ("gaussian",),
        _monotone("gaussian", "c", +1),
    ),
    PaperClaim(
        "Sec. 3.3", "Bernoulli: the ratio to base improves dramatically with Var(U)", ("bernoulli",),
        _monotone("bernoulli", "def", -1),
    ),
    PaperClaim(
        "Sec. 3.3", "Bernoulli: active and random are the same at Var(U) = 0", ("bernoulli",),
        _equal_at_zero("bernoulli", "bgh"),
    ),
    PaperClaim(
        "Sec. 3.3", "Bernoulli: the larger MSE(H, G), the larger Var(U) must be to improve on base", ("bernoulli",),
        _spread_needed,
    ),
    PaperClaim(
        "Sec. 3.3", "Bernoulli: where MSE(H, G) > Var(H), the ratio of random to base is 1", ("bernoulli",),
        _random_where_useless(cheapest=False),
    ),
    PaperClaim(
        "Sec. 3.3", "Bernoulli: where MSE(H, G) > Var(H), strong ratings alone are best of all single rates",
        ("bernoulli",), _random_where_useless(cheapest=True), corrected=True,
    ),
    PaperClaim(
        "Sec. 3.3", "Bernoulli: there, active can have substantially lower error than base where Var(U) is large",
        ("bernoulli",), _large_at_last("bernoulli", "f", 0.8),
    ),
    PaperClaim(
        "Sec. 3.3", "Bernoulli: the ratio to base is bounded below by MSE(H, G)", ("bernoulli",), _bounded_by_mse
    ),
    PaperClaim(
        "Sec. 3.3", "Bernoulli: it is bounded below by the appendix's bound, reached where Var(U) is largest",
        ("bernoulli",), _bounded, corrected=True,
    ),
    PaperClaim(
        "Sec. 3, takeaways", "(i) to (iii) for active: less benefit with MSE(H, G) and c_g/c_h", ("bernoulli",),
        _monotone("bernoulli", "ac", +1),
    ),
    PaperClaim(
        "Sec. 3, takeaways", "(ii) for active over random: more benefit with Var(U), at every MSE", ("bernoulli",),
        _monotone("bernoulli", "bgh", -1),
    ),
    PaperClaim("Sec. 3, takeaways", "(i) for random: less benefit with MSE(H, G)", (), _random_s_trends("MSE")),
    PaperClaim("Sec. 3, takeaways", "(ii) for random: more benefit with Var(U)", (), _random_s_trends("Var(U)")),
    PaperClaim("Sec. 3, takeaways", "(iii) for random: less benefit with c_g/c_h", (), _random_s_trends("cost")),
    *_of_transfer("arena-transfer", "arena-easy-hard"),
    PaperClaim(
        "Sec. 4.3", "The improvement of active over random and of random over base is greatest by transfer",
        ("arena-transfer", "arena-easy-hard", "arena-burnin"),
        _gains_by_transfer((("arena-transfer", "arena-burnin:0"), ("arena-easy-hard", "arena-burnin:1"))),
    ),
    PaperClaim(
        "Fig. 4", "After a burn-in, both policies still improve consistently on base", ("arena-burnin", "aqa"),
        _steady(*_BURNT_IN),
    ),
    PaperClaim(
        "Sec. 4.3", "After a burn-in, savings go on as less and less error is asked for", ("arena-burnin", "aqa"),
        _more_the_more_precise(*_BURNT_IN),
    ),
    PaperClaim(
        "Sec. 4.3", "The best results are on the easy/hard split", ("arena-burnin", "aqa"),
        _smaller("arena-burnin:1", ("arena-burnin:0", "aqa"), "paper-active", "base"),
    ),
    PaperClaim(
        "Sec. 4.3", "Random and active improve on base on AQA and on all of Chatbot Arena", ("arena-burnin", "aqa"),
        _beat_base("arena-burnin:0", "aqa"),
    ),
    PaperClaim(
        "Sec. 4.3", "On AQA, active improves on random by fairly little", ("aqa",), _active_beside_random("aqa")
    ),
    PaperClaim(
        "Sec. 4.3", "On all of Chatbot Arena, active improves on random by fairly little",
        ("arena-transfer", "arena-burnin"), _active_beside_random("arena-transfer", "arena-burnin:0"),
    ),
    PaperClaim(
        "Sec. 4.3", "The oracle often promises significant headroom",
        ("arena-transfer", "arena-burnin", "aqa"), _headroom("arena-transfer", "arena-burnin:0", "aqa"),
    ),
    PaperClaim(
        "Sec. 5", "The best single rate always improves on base", _REAL,
        _beat_base(*_ALL_REAL, methods=("paper-random",)),
    ),
    PaperClaim("App. B.1", "Δ = G + (H − G)² ξ/π is unbiased", (), _increment(2)),
    PaperClaim("App. B.1", "Δ = G + (H − G) ξ/π is unbiased", (), _increment(1), corrected=True),
    PaperClaim("Prop. 3", "k* is the floor or ceiling of the root as printed", (), _whole_items(printed=True)),
    PaperClaim(
        "Prop. 3", "k* is the floor or ceiling of B/(c_g (1 + r)), r = sqrt(c_h M/(c_g W))", (),
        _whole_items(printed=False), corrected=True,
    ),
    PaperClaim("Prop. 6", "Var(Δ) rises by at most b E[1/π̃ − 1/π*]", (), _misjudged(positive=False)),
    PaperClaim(
        "Prop. 6", "Var(Δ) rises by at most b E[(1/π̃ − 1/π*)⁺]", (), _misjudged(positive=True), corrected=True
    ),
    PaperClaim("App. B.5", "The headroom is largest where (H − G)² is not bounded", (), _unbounded_headroom),
    PaperClaim("Prop. 7", "Q* has the least error of the printed estimator", (), _best_inputs),
    PaperClaim(
        "Prop. 7", "Fixed numbers of each stratum have less error, wherever the scale begins", (), _fixed_numbers,
        corrected=True,
    ),
    PaperClaim("App. B.7", "E[π] can be as extreme as 0 or 1", (), _extreme_costs),
    PaperClaim(
        "App. D.1", "The bound's first branch, for MSE(H, G) up to Var(H) + c_g/c_h, is what is approached", (),
        _bound_s_branch(printed=True),
    ),
    PaperClaim(
        "App. D.1", "The bound's first branch, for MSE(H, G) up to Var(H) − c_g/c_h, is what is approached", (),
        _bound_s_branch(printed=False), corrected=True,
    ),
    PaperClaim(
        "App. D.2", "On ImageNet, both policies substantially outperform base", ("imagenet",), _beat_base("imagenet")
    ),
    PaperClaim(
        "App. D.2", "On ImageNet, active leaves significant headroom to the oracle", ("imagenet",),
        _headroom("imagenet"),
    ),
    PaperClaim(
        "App. D.2", "On ImageNet, active is comparable to random", ("imagenet",), _active_beside_random("imagenet")
    ),
    PaperClaim(
        "App. D.2", "On Seahorse, gains are small but positive", ("seahorse",),
        _small_gains("seahorse", ("paper-random", "paper-active")),
    ),
    PaperClaim(
        "App. D.2", "On Seahorse, gains are small even with oracle parameters", ("seahorse",),
        _small_gains("seahorse", ("oracle",)),
    ),
    *_of_transfer("arena-like:0", "arena-like:1"),
)  # fmt: skip
