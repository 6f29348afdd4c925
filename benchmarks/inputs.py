"""What does choosing the items by strata save? Squared error at equal budget on real tables with groups.

Reads ../shared/data, or the folder named by RATEWISE_DATA. Each trial labels a pilot, plans from it, draws from the
rest and estimates its mean; a trial's three ways share the pilot and the budget. "without" is the plan's own
recommendation, "in proportion" looks at the same strata in proportion to their sizes with that policy's rate, "chosen"
is the plan by strata where it says that this pays ("taken"), else "without". Squared errors are over that of strong
ratings alone for the same money, V (1/B − 1/N).
"""

import math
import os
import pathlib
import sys
import time
from dataclasses import dataclass, replace

import numpy as np

import ratewise as rw
from ratewise.questions.strata import InputPlan
from ratewise.questions.transfer import Transfer

TABLES = (
    ("evouna_qa", "system"), ("evouna_qa", "g_lexical"), ("imagenet_resnet50", "metaclass"),
    ("imagenet_resnet50", "vit_agrees"), ("summeval_llm", "dim"), ("summeval_llm", "system"),
    ("ppi_alphafold", "phosphorylated"),
)  # fmt: skip
PRICES = {"weak": "g", "strong": "h", "weak_cost": 0.05, "strong_cost": 1.0}
PILOT, POOL, BUDGET = 300, 4000, 300.0
DATA = pathlib.Path(os.environ.get("RATEWISE_DATA", pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"))


@dataclass(frozen=True)
class World:
    """A table's columns that are used."""

    g: np.ndarray
    h: np.ndarray
    strata: np.ndarray

    def rows(self, index: np.ndarray, *, labels: bool = True) -> dict[str, np.ndarray]:
        """Some rows as a table."""
        found = {"id": index, "g": self.g[index], "h": self.h[index], "s": self.strata[index]}
        return found if labels else {name: x for name, x in found.items() if name != "h"}


def in_proportion(transfer: Transfer, sizes: dict[str, int], plan: InputPlan) -> Transfer:
    """The recommended policy's items and mean rate, in every stratum alike."""
    rate = 1.0 if transfer.policy == "base" else transfer.rate
    T, N = transfer.items, sum(sizes.values())
    strata = tuple(
        replace(s, items=max(T * sizes[s.name] / N, 2.0), rate=rate, scale=None, buys_weak=transfer.policy != "base")
        for s in plan.strata
    )
    return replace(transfer, inputs=replace(plan, strata=strata, policy="random"))


def estimated(world: World, index: np.ndarray, transfer: Transfer, seed: int) -> tuple[float, tuple[float, float]]:
    drawn = rw.draw_pool(world.rows(index, labels=False), transfer, seed=seed, within_budget=True)
    weak = "weak_calibrated" if "weak_calibrated" in drawn.table.columns else "g"
    table = drawn.table.with_columns({"h": np.where(drawn.selected, world.h[index], np.nan)})
    words = {"strong": "h", "estimand": "pool", "method": "difference"}
    if transfer.inputs is not None:
        found = rw.estimate_table(table, weak=weak, strata="s", **words)
    elif transfer.policy == "base":
        found = rw.estimate_table(table, weak=None, pool_size=index.size, selected="selected", **words)
    else:
        found = rw.estimate_table(table, weak=weak, pool_size=index.size, **words)
    return found.value, found.interval or (found.value, found.value)


def trial(world: World, seed: int) -> dict[str, float]:
    order = np.random.default_rng([seed, 61]).permutation(world.h.size)
    pilot, pool = order[:PILOT], order[PILOT : PILOT + POOL]
    truth = float(world.h[pool].mean())
    plan = rw.plan(
        world.rows(pilot), **PRICES, budget=BUDGET, calibrate="affine", strata="s",
        pool=world.rows(pool, labels=False), estimand="pool",
    )  # fmt: skip
    names, counts = np.unique(world.strata[pool], return_counts=True)
    sizes = dict(zip(names.tolist(), counts.tolist(), strict=True))
    ways = {
        "without": replace(plan.transfer, inputs=None),
        "in proportion": in_proportion(plan.transfer, sizes, plan.by_stratum),
        "chosen": plan.transfer,  # by strata where the plan says that it is worth it, else without
    }
    out: dict[str, float] = {"promised": min(plan.by_stratum.error_ratio, 1.0), "worth": plan.by_stratum.worth_it}
    for name, transfer in ways.items():
        value, (low, high) = estimated(world, pool, transfer, seed)
        out[name] = (value - truth) ** 2
        out[f"{name} covers"] = float(low <= truth <= high)
    return out


def main() -> None:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    print("| table | strata | taken | without | in proportion | chosen | chosen / without | promised | chosen covers |")
    print("|---|---|---|---|---|---|---|---|---|")
    for name, column in TABLES:
        path = DATA / f"{name}.parquet"
        if not path.exists():
            print(f"no {path.name} in {DATA.name}; name its folder in RATEWISE_DATA", file=sys.stderr)
            continue
        table = rw.read_table(path)
        if column not in table.columns:
            print(f"{name} has no column {column}", file=sys.stderr)
            continue
        world = World(table.numbers("g"), table.numbers("h"), table.texts(column))
        start = time.monotonic()
        found = [trial(world, seed) for seed in range(trials)]
        base = world.h.var() * (PRICES["strong_cost"] / BUDGET - 1 / POOL)
        mse = {way: np.array([f[way] for f in found]) / base for way in ("without", "in proportion", "chosen")}
        gain = mse["chosen"] - mse["without"]
        ratio = mse["chosen"].mean() / mse["without"].mean()
        noise = gain.std() / math.sqrt(trials) / mse["without"].mean()
        strata = len(set(world.strata.tolist()))
        print(
            f"| {name} | {column} ({strata}) | {np.mean([f['worth'] for f in found]):.0%} | "
            + " | ".join(f"{x.mean():.2f}" for x in mse.values())
            + f" | {ratio:.2f} ± {noise:.2f} | {np.mean([f['promised'] for f in found]):.2f}"
            + f" | {np.mean([f['chosen covers'] for f in found]):.1%} |",
            flush=True,
        )
        print(f"  {time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
