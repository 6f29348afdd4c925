"""Coverage of comparisons, regressions, quantiles, clusters and betting intervals, as a page for the docs.

python benchmarks/coverage_questions.py --write docs/coverage-questions.md
"""

import argparse
import itertools
import pathlib

from studies.questions import Held, questions, run

from ratewise.lab.workers import in_order

SEED = 53
TITLE = """# Coverage of comparisons, regressions and other questions

How often do 95 % intervals hold the truth where the question is not a single mean? Made by `make study`: {trials:,}
made tables a row, so a coverage is uncertain by {noise:.1f} points. Every table is asked through the public functions.

**Worlds** (`benchmarks/studies/questions.py`). Systems have 0/1 ratings with chances p ~ Beta(5m, 5(1−m)) that share
what is hard; a calibrated judge says p, a useless one deals the same scores out at random, and rates follow the judges'
doubt. Regressions have a weak rater that errs most where z is large, and rates that follow z. The items of a cluster
share their chance of a 1. The last part sets intervals by hedged betting (`interval="anytime"`), which hold at any
number of labels and whenever one looks, beside the default one on the same draws. Widths are means."""


def one(job: tuple[int, int]) -> Held:
    number, trials = job
    return run(questions()[number], trials=trials, seed=SEED)


def page(found: list[Held], trials: int) -> str:
    noise = 200 * (0.95 * 0.05 / trials) ** 0.5
    lines = [TITLE.format(trials=trials, noise=noise)]
    rows = zip(questions(), found, strict=True)
    for kind, group in itertools.groupby(rows, key=lambda row: row[0].kind):
        part = list(group)
        lines += ["", f"## {kind[0].upper()}{kind[1:]}", "", *_table(part)]
    return "\n".join(lines) + "\n"


def _table(part: list) -> list[str]:
    names = list(dict.fromkeys(name for _, held in part for name in held.covered))
    lines = [f"| world | {' | '.join(f'{n}: covers' for n in names)} | {' | '.join(f'{n}: width' for n in names)} |"]
    lines.append("|---|" + "---|" * (2 * len(names)))
    for question, held in part:
        covers = " | ".join(f"{held.covered[n]:.1%}" if n in held.covered else "–" for n in names)
        widths = " | ".join(f"{held.width[n]:.3g}" if n in held.width else "–" for n in names)
        lines.append(f"| {question.world} | {covers} | {widths} |")
    return lines


def main() -> None:
    from rich.progress import track

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--write", type=pathlib.Path, default=None)
    options = parser.parse_args()
    jobs = [(i, options.trials) for i in range(len(questions()))]
    found = list(track(in_order(one, jobs), "rows", total=len(jobs)))
    text = page(found, options.trials)
    if options.write is None:
        print(text)
    else:
        options.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
