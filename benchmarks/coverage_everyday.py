"""Coverage where nearly all answers agree: single draws, rounds, campaigns, slices and ratings on other scales.

python benchmarks/coverage_everyday.py --write docs/coverage-everyday.md

Every cell is kept in --keep as it is done (JSON lines, one file a part), so that a run that was stopped goes on.
--trials scales all parts; the page says how many each has.
"""

import argparse
import json
import math
import pathlib
from collections.abc import Callable
from dataclasses import asdict, replace
from decimal import Decimal
from typing import get_args

import numpy as np
from studies import everyday_worlds as everyday
from studies.everyday_worlds import JUDGES, ONE_SHOT_LABELS, Cell, Judge

import ratewise as rw
from ratewise.campaign.estimates import anytime_estimate, estimate_history
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.lab.workers import in_order
from ratewise.questions.estimation import estimate_mean

SEED = 131
SCALES = {"Likert": (0.0, 0.25, 0.5, 0.75, 1.0), "score": tuple(np.linspace(0, 1, 101))}


# Parts: each a list of jobs and a function of one job


def one_shot(job):
    cell, trials = job
    return asdict(everyday.one_shot(cell, trials=trials, seed=_seed(cell)))


def rounds(job):
    cell, trials = job
    return asdict(everyday.rounds(cell, trials=trials, seed=_seed(cell)))


def campaign(job):
    """Ends on its budget, or at a standard error; items come in the pool's order, as in `ratewise run`."""
    cell, target, trials = job
    rows, spent = [], []
    for trial in range(trials):
        g, h, features = everyday.make(cell, cell.items, np.random.default_rng([_seed(cell), trial]))
        pool = RehearsalPool.of(g, h, prices=(Decimal(str(cell.cost_ratio)), Decimal(1)), seed=trial, features=features)
        goal = {"budget": Decimal(cell.labels)} if target is None else {"target_se": target}
        estimand = "pool" if cell.mode == "pool" else "population"
        game = Rehearsal(pool, pool.terms(**goal, estimand=estimand))
        game.play()
        wanted = game.terms.wanted
        found = estimate_history(game.history, wanted) if target is None else anytime_estimate(game.history, wanted)
        rows.append((*found.interval, found.value, float(h.mean()) if estimand == "pool" else cell.mean))
        spent.append(game.spent / 1e9)
    size = cell.items if cell.mode == "pool" else math.inf
    same_money = cell if target is None else replace(cell, labels=round(np.mean(spent)))
    return asdict(everyday.outcome(np.array(rows), same_money, pool_size=size)) | {"spent": float(np.mean(spent))}


def slices(job):
    """Eight slices of a drawn table, ten labels each on average; every slice's own interval counts."""
    cell, trials = job
    rows, groups = [], np.arange(8)
    for trial in range(trials // groups.size):
        rng = np.random.default_rng([_seed(cell), trial])
        g, h, _ = everyday.make(cell, 8 * 5 * cell.labels, rng)
        rates = everyday.one_shot_rates(g, 8 * cell.labels)
        asked = rng.random(g.size) < rates
        by = rng.permutation(np.repeat(groups, g.size // 8))
        table = {"judge": g, "human": np.where(asked, h, np.nan), "rate": rates, "group": by.astype(str)}
        found = rw.estimate_slices(table, weak="judge", strong="human", by="group", estimand="pool")
        for one in found.slices:
            if one.estimate is not None and one.estimate.interval is not None:
                e = one.estimate
                rows.append((*e.interval, e.value, float(h[by == int(one.name)].mean())))
    return asdict(everyday.outcome(np.array(rows), cell, pool_size=5 * cell.labels))


def scales(job):
    """Ratings that sit at the upper end of a scale: a share at the end, the others anywhere below it."""
    scale, share, labels, trials = job
    steps = np.array(SCALES[scale])
    rows = []
    for trial in range(trials):
        rng = np.random.default_rng([SEED, labels, int(1000 * share), len(steps), trial])
        T = 5 * labels
        at_end = rng.random(T) < share
        h = np.where(at_end, 1.0, rng.choice(steps[:-1], T))
        g = np.clip(h + rng.normal(0, 0.15, T), 0, 1)
        asked = rng.random(T) < 0.2
        found = estimate_mean(g, np.where(asked, h, np.nan), 0.2, bounds=(0, 1))
        rows.append((*found.interval, found.value, share + (1 - share) * steps[:-1].mean()))
    mean = float(np.mean([row[3] for row in rows]))
    return asdict(everyday.outcome(np.array(rows), Cell(mean, labels, "calibrated", "stream"), pool_size=math.inf))


def _seed(cell: Cell) -> int:
    return SEED + 1000 * round(1000 * cell.mean) + 10 * cell.labels + get_args(Judge).index(cell.judge)


def parts(trials: int) -> dict[str, tuple]:
    chosen, aside = everyday.drawn_cells()
    small = [c for c in chosen if c.labels <= 300][:12]
    at_budget = [
        (Cell(c.mean, c.labels, c.judge, c.mode, c.features, c.cost_ratio, 3000), None, trials // 2) for c in small
    ]
    targets = [
        (Cell(m, 300, j, "pool"), se, trials // 4) for m in (0.5, 0.95, 0.98, 0.995) for j in JUDGES for se in (0.015,)
    ]
    targets = [(Cell(c.mean, c.labels, c.judge, c.mode, items=3000), se, n) for c, se, n in targets]
    ten = [(Cell(m, 10, j, "pool"), trials) for m in (0.5, 0.9, 0.98) for j in JUDGES]
    ends = [(s, share, n, trials) for s in SCALES for share in (0.6, 0.9, 0.98) for n in (30, 100, 300)]
    return {
        "one_shot": (one_shot, [(c, 2 * trials) for c in everyday.one_shot_cells()]),
        "rounds": (rounds, [(c, trials) for c in chosen]), "aside": (rounds, [(c, trials) for c in aside]),
        "budget": (campaign, at_budget), "target": (campaign, targets), "slices": (slices, ten),
        "scales": (scales, ends), "coarse": (campaign, [(c, None, trials // 2) for c in everyday.coarse_cells()]),
        "coarse_draws": (one_shot, [(c, 2 * trials) for c in everyday.coarse_cells()]),
    }  # fmt: skip


# The page


def page(found: dict[str, list]) -> str:
    lines = [
        TITLE,
        "",
        "## All in all",
        "",
        "| part | trials a cell | cells | coverage: least | mean | width: mean | largest |",
    ]
    lines.append("|---|---|---|---|---|---|---|")
    for name, rows in found.items():
        cover, wide = (np.array([r[1][key] for r in rows]) for key in ("coverage", "relative_width"))
        trials = min(r[1]["trials"] for r in rows)
        lines.append(
            f"| {NAMES[name]} | {trials:,} | {len(rows)} | {cover.min():.1%} | {cover.mean():.1%} "
            f"| {wide.mean():.2f} | {wide.max():.2f} |"
        )
    lines += ["", *NOTES]
    if "one_shot" in found:
        lines += ["", "## Single draws", "", *_grid(found["one_shot"])]
    for name in ("rounds", "aside", "budget", "target", "slices", "scales", "coarse", "coarse_draws"):
        if name in found:
            lines += ["", f"## {NAMES[name]}", "", *_list(found[name])]
    return "\n".join(lines) + "\n"


TITLE = """# Coverage where nearly all answers agree

Does a 95 % interval hold the truth 95 % of the time when the system under test is right 98 % of the time? Made by `make
study`. **Worlds**: each item has a chance p ~ Beta(5m, 5(1−m)) of a good answer, m is the mean, and H is 1 with
chance p. **Judges**: calibrated says p; overconfident doubles its log-odds; reversed says 1 − p; useless draws its own
p; tenths and five levels round p; sure says 0.99 wherever p is above 0.9. **Width** is relative to the exact binomial
(Clopper–Pearson) interval of strong ratings alone for the same money: 1 means no narrower than asking people alone."""

NAMES = {
    "one_shot": "Single draws (`estimate_mean`)", "rounds": "Rounds (`simulate`, no burn-in): 48 cells drawn by a seed",
    "aside": "Rounds: 12 cells kept aside", "budget": "Campaigns that end on their budget",
    "target": "Campaigns that end at a standard error", "slices": "Slices with ten labels each",
    "scales": "Likert ratings and scores at an end of their scale",
    "coarse": "Campaigns with judges in tenths, in five levels, or sure of nearly everything",
    "coarse_draws": "Single draws with such judges",
}  # fmt: skip

NOTES = [
    "Single draws have rates ∝ sqrt(g(1−g)), with the floor that `auto` uses, whatever the judge is worth: where the "
    "judge is useless these rates are bad, the estimate itself has up to three times the squared error of strong "
    "ratings alone, and an honest interval is wider by as much. `auto` draws by what the labels show instead.",
]


def _grid(rows: list) -> list[str]:
    """A row for each mean, judge and mode; coverage and width by the number of labels."""
    head = " | ".join(f"{n} labels" for n in ONE_SHOT_LABELS)
    lines = [f"| mean | judge | mode | {head} |", "|---|---|---|" + "---|" * len(ONE_SHOT_LABELS)]
    by: dict[tuple, dict[int, dict]] = {}
    for (cell, _), out in rows:
        by.setdefault((cell["mean"], cell["judge"], cell["mode"]), {})[cell["labels"]] = out
    for (mean, judge, mode), outs in by.items():
        cells = " | ".join(
            f"{outs[n]['coverage']:.1%} / {outs[n]['relative_width']:.2f}" if n in outs else "" for n in ONE_SHOT_LABELS
        )
        lines.append(f"| {mean:g} | {judge} | {mode} | {cells} |")
    return lines


def _list(rows: list) -> list[str]:
    lines = [
        "| cell | coverage | below the truth | above | width | squared error of strong ratings alone |",
        "|---|---|---|---|---|---|",
    ]
    for job, out in rows:
        lines.append(
            f"| {_name(job)} | {out['coverage']:.1%} | {out['below']:.1%} | {out['above']:.1%} "
            f"| {out['relative_width']:.2f} | {out['mse_ratio']:.2f} |"
        )
    return lines


def _name(job: list) -> str:
    first = job[0]
    if not isinstance(first, dict):
        return f"{first}, {job[1]:.0%} at the end, {job[2]} labels"
    cell = Cell(**first)
    asked = f", price {cell.cost_ratio:g}, {cell.items:,} items"
    if len(job) > 2 and job[1] is not None:
        return f"{cell.mean:g}, {cell.judge}, standard error {job[1]:g}"
    return cell.name() + asked


def _plain(job: tuple) -> list:
    return [asdict(x) if isinstance(x, Cell) else x for x in job]


def study(trials: int, keep: pathlib.Path, only: list[str] | None) -> dict[str, list]:
    """Every part, from where an earlier run stopped; a part that is not asked for as far as it was done."""
    keep.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, (function, jobs) in parts(trials).items():
        file = keep / f"{name}.jsonl"
        done = len(file.read_text(encoding="utf-8").splitlines()) if file.exists() else 0
        if not only or name in only:
            run(name, function, jobs[done:], file)
        if file.exists():
            found[name] = [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
    return found


def run(name: str, function: Callable, jobs: list, file: pathlib.Path) -> None:
    from rich.progress import track

    with file.open("a", encoding="utf-8") as out:
        for job, result in zip(jobs, track(in_order(function, jobs), name, total=len(jobs)), strict=True):
            out.write(json.dumps([_plain(job), result]) + "\n")
            out.flush()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=1000)
    parser.add_argument("--keep", type=pathlib.Path, default=pathlib.Path("build/coverage"))
    parser.add_argument("--only", type=lambda s: s.split(","), default=None)
    parser.add_argument("--write", type=pathlib.Path, default=None)
    options = parser.parse_args()
    text = page(study(options.trials, options.keep, options.only))
    if options.write is None:
        print(text)
    else:
        options.write.write_text(text, encoding="utf-8")
        print("\n".join(text.splitlines()[:25]))


if __name__ == "__main__":
    main()
