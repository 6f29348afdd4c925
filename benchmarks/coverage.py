"""The full coverage study: every cell, several ways to estimate, as a table for docs/coverage.md.

python benchmarks/coverage.py --trials 4000 --write docs/coverage.md
"""

import argparse
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from studies.single_draws import Cell, Outcome, cells, run_cell

WAYS = (("difference", "normal"), ("auto", "auto"), ("power-tuned", "normal"), ("regression", "normal"))


def one(job: tuple[int, Cell, int]) -> dict:
    number, cell, trials = job
    return run_cell(cell, WAYS, trials=trials, seed=20_000 + number)


def study(trials: int, labels: tuple[int, ...] | None) -> list[tuple[Cell, dict]]:
    from rich.progress import track

    todo = cells() if labels is None else cells(labels)
    jobs = [(i, cell, trials) for i, cell in enumerate(todo)]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        found = list(track(pool.map(one, jobs), total=len(jobs), description="cells"))
    return list(zip(todo, found, strict=True))


def page(results: list[tuple[Cell, dict]], trials: int) -> str:
    se = (0.95 * 0.05 / trials) ** 0.5
    lines = [
        "# Coverage of the intervals",
        "",
        f"Share of {trials:,} seeded trials in which the 95 % interval held the truth (give or take {2 * se:.1%}), "
        "made by `make study`. `normal` is the difference estimator with the normal interval; `auto` is the default "
        "(method and interval); its width and standard deviation are relative to `normal`. Bias is in standard "
        "deviations of the estimator. How the worlds are made: `benchmarks/studies/single_draws.py`.",
        "",
        *_summary(results),
        "",
        "| world, mean | weak rater | rates | labels | normal | **auto** | width | sd | bias auto | bias power-tuned "
        "| bias regression | regression + normal |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for cell, found in results:
        normal, auto, tuned, fitted = (found[way] for way in WAYS)
        lines.append(
            f"| {cell.world} {cell.mean:g} | {cell.quality} | {'active' if cell.active else 'uniform'} | {cell.labels} "
            f"| {normal.coverage:.1%} | **{auto.coverage:.1%}** | {auto.width / normal.width:.2f} "
            f"| {auto.sd / normal.sd:.2f} | {auto.bias:+.2f} | {tuned.bias:+.2f} | {fitted.bias:+.2f} "
            f"| {fitted.coverage:.1%} |"
        )
    return "\n".join(lines) + "\n"


def _summary(results: list[tuple[Cell, dict]]) -> list[str]:
    def worst(pick, rows):
        cell, value = min(((c, pick(f)) for c, f in rows), key=lambda x: x[1])
        return f"{value:.1%} ({cell.name()})"

    def auto(f: dict) -> Outcome:
        return f["auto", "auto"]

    def normal(f: dict) -> Outcome:
        return f["difference", "normal"]

    few = [(c, f) for c, f in results if c.labels < 30]
    more = [(c, f) for c, f in results if c.labels >= 30]
    fair = [(c, f) for c, f in results if normal(f).coverage >= 0.95]
    widest = max(fair, key=lambda x: auto(x[1]).width / normal(x[1]).width)
    biased = max(results, key=lambda x: abs(auto(x[1]).bias))
    lines = ["Worst cells of `auto`:", ""]
    if more:
        lines.append(f"- from 30 labels on it covers at least {worst(lambda f: auto(f).coverage, more)};")
    if few:
        lines.append(f"- at 20 labels at least {worst(lambda f: auto(f).coverage, few)};")
    lines += [
        f"- where the normal interval covers 95 % or more it is at most "
        f"{auto(widest[1]).width / normal(widest[1]).width:.2f} times as wide ({widest[0].name()});",
        f"- its largest bias is {auto(biased[1]).bias:+.3f} standard deviations ({biased[0].name()});",
        f"- the normal interval covers as little as {worst(lambda f: normal(f).coverage, results)}; regression fitted "
        f"and used on the same labels as little as {worst(lambda f: f['regression', 'normal'].coverage, results)}.",
    ]
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=2000)
    parser.add_argument("--labels", type=lambda s: tuple(map(int, s.split(","))), default=None)
    parser.add_argument("--write", type=Path, default=None)
    options = parser.parse_args()
    text = page(study(options.trials, options.labels), options.trials)
    if options.write is None:
        print(text)
    else:
        options.write.write_text(text, encoding="utf-8")
        print("\n".join(text.splitlines()[:12]))


if __name__ == "__main__":
    main()
