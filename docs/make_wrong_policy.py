"""Write docs/wrong-policy.md and its picture: python docs/make_wrong_policy.py."""

import pathlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from ratewise.core.checks import Floats
from ratewise.core.formulas import WrongPolicy, cost_of_wrong_policy
from ratewise.core.policy import optimal_policy
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE
from ratewise.report.pictures import INK, QUIET, grid, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FOLDER = pathlib.Path(__file__).parent
ITEMS, NODES = 2000, 40  # quantiles of u, and nodes for the noise around each
FEW = 0.03  # share of the items that are believed to be surer than they are


@dataclass(frozen=True)
class World:
    """Exact quantiles of u in one of the worlds of METHODS section 11; the strong rating costs 1."""

    name: str
    colour: str
    u: Floats
    variance: float
    weak_cost: float


def gamma(mean: float, variance: float) -> Floats:
    """Quantiles of the Gaussian worlds' U."""
    p = (np.arange(ITEMS) + 0.5) / ITEMS
    return np.asarray(stats.gamma.ppf(p, mean**2 / variance, scale=variance / mean))


def beta(mean: float, variance: float) -> Floats:
    """Quantiles of the Bernoulli worlds' U."""
    kappa = mean * (1 - mean) / variance - 1
    return np.asarray(stats.beta.ppf((np.arange(ITEMS) + 0.5) / ITEMS, kappa * mean, kappa * (1 - mean)))


WORLDS = (
    World("Gaussian (1, 0.5, 0.5)", "#0f766e", gamma(0.5, 0.5), 1.0, 0.1),
    World("Gaussian (1, 1.5, 4)", "#0072b2", gamma(1.5, 4.0), 1.0, 0.1),
    World("Bernoulli (0.25, 0.1, 0.05)", "#c2410c", beta(0.1, 0.05), 0.25, 0.05),
)

Belief = Callable[[World, float], tuple[Floats, Floats, Floats]]  # → u, what is believed of it, weights


def noisy(world: World, size: float) -> tuple[Floats, Floats, Floats]:
    """u times log-normal noise of mean 1, by Gauss and Hermite's nodes around each quantile."""
    z, w = np.polynomial.hermite_e.hermegauss(NODES)
    u, noise = np.repeat(world.u, NODES), np.tile(np.exp(size * z - size**2 / 2), ITEMS)
    return u, u * noise, np.tile(w / w.sum(), ITEMS)


def shrunk(world: World, share: float) -> tuple[Floats, Floats, Floats]:
    """u drawn towards its mean, the whole way at 1."""
    return world.u, (1 - share) * world.u + share * world.u.mean(), np.ones(ITEMS)


def overconfident(world: World, factor: float) -> tuple[Floats, Floats, Floats]:
    """On a few items in a hundred, whatever their u, it is believed to be so many times smaller."""
    u = np.repeat(world.u, 2)
    return u, u / np.tile([1.0, factor], ITEMS), np.tile([1 - FEW, FEW], ITEMS)


KINDS: tuple[tuple[str, str, Belief, Floats], ...] = (
    ("Noise in u", "standard deviation of log u", noisy, np.linspace(0, 2.5, 26)),
    ("u shrunk towards its mean", "share of the way", shrunk, np.linspace(0, 1, 21)),
    (
        f"Overconfident on {100 * FEW:g} % of the items",
        "u believed so many times smaller",
        overconfident,
        np.logspace(0, 7, 29),
    ),
)


def cost(world: World, belief: Belief, x: float, *, floor: bool) -> WrongPolicy:
    """The believed policy with the default floor (a tenth of its mean rate) or without one."""
    u, v, w = belief(world, x)
    prices = {"variance": world.variance, "weak_cost": world.weak_cost, "strong_cost": 1.0, "weights": w}
    least = DEFAULT_FLOOR_SHARE * optimal_policy(v, **prices).mean_rate if floor else 0.0
    return cost_of_wrong_policy(u, v, floor=least, **prices)


def ratio(world: World, belief: Belief, x: float, *, floor: bool) -> float:
    """Squared error for the same money over that of the best policy, which needs no floor."""
    best = cost(world, belief, x, floor=False).optimal
    return cost(world, belief, x, floor=floor).believed.error_times_budget / best.error_times_budget


def picture() -> None:
    """Three panels, one for each kind of mistake; names stand where lines are apart."""
    made, axes = grid(1, 3, width=3.5, height=3.3)
    for ax, (title, label, belief, steps) in zip(axes[0], KINDS, strict=True):
        for world in WORLDS:
            for floor in (False, True):
                y = [ratio(world, belief, x, floor=floor) for x in steps]
                ax.plot(steps, y, color=world.colour, linestyle="--" if floor else "-", linewidth=1.6)
            uniform = cost(world, shrunk, 1.0, floor=False).ratio
            ax.axhline(uniform, color=world.colour, linestyle=":", linewidth=0.9, alpha=0.8)
        ax.set_title(title, loc="left", fontsize=10, color=INK)
        ax.set_xlabel(label, fontsize=9, color=INK)
        _scales(ax, belief)
    axes[0][0].set_ylabel("squared error, of the best policy's", fontsize=9, color=INK)
    _, worlds, styles = axes[0]
    for world, at in zip(WORLDS, ((0.5, 1.05), (0.33, 1.3), (0.02, 2.05)), strict=True):
        worlds.annotate(world.name, at, color=world.colour, fontsize=8, va="center")
    for name, at in (("no floor", (3e3, 11)), ("default floor", (3e4, 2.05)), ("one rate for all", (1.5, 2.95))):
        styles.annotate(name, at, color=INK, fontsize=8, va="center")
    save(made, FOLDER / "pictures" / "wrong-policy.svg")


def _scales(ax: "Axes", belief: Belief) -> None:
    ax.set_yscale("log")
    ticks = (1, 1.5, 2, 3) if belief is shrunk else (1, 2, 4, 8) if belief is noisy else (1, 3, 10, 30, 100)
    ax.set_ylim(0.97, ticks[-1])
    ax.set_yticks(ticks, [f"×{t:g}" for t in ticks])
    ax.set_axisbelow(True)
    ax.grid(axis="y", color="#e5e7eb", linewidth=0.7)
    if belief is overconfident:
        ax.set_xscale("log")
        ax.set_xticks([1, 1e2, 1e4, 1e6], ["1", "100", "10⁴", "10⁶"])
        ax.axhspan(20, 60, color=QUIET, alpha=0.25, linewidth=0)
        ax.annotate("measured on real judges", (1.6, 34), va="center", fontsize=8, color=INK)
    ax.minorticks_off()


SHOWN = (
    ("noise of size 0.5", noisy, 0.5), ("noise of size 1", noisy, 1.0), ("noise of size 2", noisy, 2.0),
    ("shrunk half the way", shrunk, 0.5), ("shrunk all the way: one rate for all", shrunk, 1.0),
    ("3 % of the items, u 10 times too small", overconfident, 10.0),
    ("3 % of the items, u 1,000 times too small", overconfident, 1e3),
    ("3 % of the items, u a million times too small", overconfident, 1e6),
)  # fmt: skip


def table() -> str:
    """What each mistake costs: without and with the floor, and Prop. 6's bound on the first."""
    lines = [
        "| what is believed | " + " | ".join(world.name for world in WORLDS) + " |",
        "|---|" + "---|" * len(WORLDS),
    ]
    for name, belief, x in SHOWN:
        cells = [f"{ratio(w, belief, x, floor=False):.3g} / {ratio(w, belief, x, floor=True):.3g}" for w in WORLDS]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def bounds() -> str:
    """Exact excess variance and Prop. 6's bound, relative to the optimal policy's variance."""
    lines = [
        "| what is believed | " + " | ".join(world.name for world in WORLDS) + " |",
        "|---|" + "---|" * len(WORLDS),
    ]
    for name, belief, x in SHOWN:
        found = [cost(world, belief, x, floor=True) for world in WORLDS]
        cells = [f"{_share(f.excess_variance, f)} / {_share(f.bound, f)}" for f in found]
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _share(x: float, found: WrongPolicy) -> str:
    return f"{100 * x / found.optimal.variance_per_item:,.0f} %".replace("-", "−")


PAGE = """# The cost of a wrong policy

Made by `python docs/make_wrong_policy.py`; every number is exact (quadrature), none is simulated.

An active policy is as good as its u(x), the weak rater's expected squared error. `cost_of_wrong_policy` says what a
wrong one costs: it makes the optimal policy from what is believed, prices it under what is true, and puts the optimal
policy, one rate for all and strong ratings alone beside it.

```python
from ratewise.core.formulas import cost_of_wrong_policy

true = [0.05, 0.05, 0.4, 0.4]
believed = [0.05, 0.05, 0.4, 0.004]  # overconfident about the last item
found = cost_of_wrong_policy(true, believed, variance=1.0, weak_cost=0.05, strong_cost=1.0)
print(f"{{found.ratio:.2f}} times the error of the best policy, {{found.ratio_to_uniform:.2f}} times that of one rate")
```

```text
{printed}
```

## Three ways to be wrong

![Squared error of a wrong policy over that of the best one, for three kinds of mistakes](pictures/wrong-policy.svg)

Squared error for the same money over that of the policy that knows u, in three worlds (V, E[u], Var(u)) with weak
ratings at a tenth (Bernoulli: a twentieth) of a strong one's price. Solid: no floor. Dashed: the
[default floor](statistics.md#the-floor), a tenth of the mean rate. Dotted: one rate for all, which believes nothing.

Without / with the floor:

{table}

- **A little noise is cheap.** u enters by its square root: being off by a factor of 1.6 either way (size 0.5) costs one
  twentieth. A factor of 2.7 (size 1) costs a fifth to a quarter, which is all there is to gain over one rate for all in
  the second world; a factor of seven (size 2) more than doubles the error. The floor does little about it.
- **Shrinking is safe.** It ends at one rate for all and passes nothing worse on the way. A noisy u is worth shrinking.
- **Overconfidence explodes.** An item that errs and is hardly ever rated counts with 1/π when it is. A judge that says
  0.9999999 on {few} of the items and is wrong there as often as elsewhere makes the error 20 to 30 times as large; 20
  to 60 times were measured on real judges. With the floor it is less than twice as large, however sure the judge is;
  where u is right the floor costs {least} to {most}.

## The bound

Prop. 6, corrected: rates π̃ raise Var(Δ) over that of π* by at most b · E[(1/π̃ − 1/π*)⁺], b a bound on (H − G)². The
paper leaves out the positive part, without which the bound fails: what is lost on items with a large error hides behind
what is gained on items with a small one. Exact excess of Var(Δ) / the bound with b = max u, as shares of the optimal
policy's Var(Δ), both policies with the floor:

{bounds}

The bound holds everywhere and is loose where u is skewed: it prices every item at the largest error. A negative excess
belongs to a policy that rates too much, and pays for it in money, not in variance. The corollary's bound for additive
errors (`additive_bound`) is right to first order only, for rates that nowhere reach 1 and errors that stay away from 0;
where it does not apply it is absent, with the reason in `notes`.
"""


def printed() -> str:
    """What the page's example prints."""
    found = cost_of_wrong_policy(
        [0.05, 0.05, 0.4, 0.4], [0.05, 0.05, 0.4, 0.004], variance=1.0, weak_cost=0.05, strong_cost=1.0
    )
    return f"{found.ratio:.2f} times the error of the best policy, {found.ratio_to_uniform:.2f} times that of one rate"


def page() -> str:
    """The whole page."""
    right = [ratio(world, shrunk, 0.0, floor=True) - 1 for world in WORLDS]
    least, most = f"{100 * min(right):.1f} %", f"{100 * max(right):.1f} %"
    return PAGE.format(
        printed=printed(), table=table(), bounds=bounds(), few=f"{100 * FEW:g} %", least=least, most=most
    )


if __name__ == "__main__":
    picture()
    (FOLDER / "wrong-policy.md").write_text(page(), encoding="utf-8")
