"""Every method on every real table: the tables of docs/simulations.md.

Reads ../shared/data, or the folder named by RATEWISE_DATA. `--write FILE` puts the page there, else it is printed.
Budgets come after a burn-in of 200 labels that every method is given; error is that over base's in theory.
"""

import argparse
import os
import pathlib
import sys

import numpy as np

import ratewise as rw
from ratewise.core.names import SIMULATED_METHODS

DATA = pathlib.Path(os.environ.get("RATEWISE_DATA", pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"))
BUDGETS = (200.0, 800.0)
COST_RATIOS = (0.01, 0.05, 0.1)
INTRODUCTION = """# Methods on ten real tables

Squared error of each method over that of strong ratings alone with the same money (below 1 is better), {trials:,}
trials each, from streams of items (`benchmarks/tables.py`, by way of `ratewise simulate`). Every method is given the
same 200 labels to start from; budgets come after them. A ratio is uncertain by about ± {noise:.0%} (95 %). `oracle`
cannot be had: it knows every error. Where a method's 95 % intervals hold the truth in less than 93 % of the trials,
their coverage stands behind the ratio. `auto` has [a page of its own](auto.md).
"""


def row(
    path: pathlib.Path, cost_ratio: float, methods: list[str], trials: int
) -> dict[tuple[float, str], tuple[float, float]]:
    found = rw.simulate(
        path, weak="g", strong="h", cost_ratio=cost_ratio, budgets=BUDGETS, methods=methods, trials=trials, seed=11
    )
    return {(r.budget, r.method): (r.of_base, r.coverage) for r in found.results}


def page(methods: list[str], trials: int) -> str:
    parts = [INTRODUCTION.format(trials=trials, noise=1.96 * (2 / trials) ** 0.5)]
    for cost_ratio in COST_RATIOS:
        rows = {}
        for path in sorted(DATA.glob("*.parquet")):
            rows[path.stem] = row(path, cost_ratio, methods, trials)
            print(f"{cost_ratio:g} {path.stem}", file=sys.stderr, flush=True)
        for budget in BUDGETS:
            parts.append(f"## Cost ratio {cost_ratio:g}, budget {budget:g}\n")
            parts.append("| table | " + " | ".join(methods) + " |\n|---|" + "---|" * len(methods))
            parts += [
                f"| {name} | " + " | ".join(cell(found[budget, m]) for m in methods) + " |"
                for name, found in rows.items()
            ]
            means = [np.exp(np.mean([np.log(found[budget, m][0]) for found in rows.values()])) for m in methods]
            parts.append("| **geometric mean** | " + " | ".join(f"**{x:.3f}**" for x in means) + " |\n")
    return "\n".join(parts)


def cell(found: tuple[float, float]) -> str:
    ratio, coverage = found
    return f"{ratio:.3f}" + (f" ({coverage:.1%})" if coverage < 0.93 else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--write", type=pathlib.Path)
    others = [m for m in SIMULATED_METHODS if m not in {"auto", "limit"}]  # auto has a page of its own
    parser.add_argument("--methods", default=",".join(others))
    given = parser.parse_args()
    if not any(DATA.glob("*.parquet")):
        print(f"no tables in {DATA.name}; name their folder in RATEWISE_DATA", file=sys.stderr)
        return
    text = page(given.methods.split(","), given.trials)
    if given.write is None:
        print(text)
    else:
        given.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
