"""`ratewise demo`: a made-up pool, planned, drawn, "rated" and estimated, with the truth beside the estimate."""

import os
from typing import Any

import numpy as np

from ratewise.cli.console import print_json, print_rich
from ratewise.core.estimate import Estimate
from ratewise.errors import TableError
from ratewise.lab.worlds import calibrated
from ratewise.learn.drawing import Drawn, draw_pool
from ratewise.learn.estimation import estimate_table
from ratewise.learn.plan import Plan, plan
from ratewise.report.page import report_page
from ratewise.tables import Table, read_table, write_table
from ratewise.tables.files import write_text

POOL, PILOT = 4000, 200
WEAK_COST, STRONG_COST, BUDGET = 0.01, 1.0, 400.0


def run_demo(folder: str, *, seed: int, as_json: bool) -> None:
    """Write the pool, the plan and the ratings into `folder`, and print what was found beside what is true."""
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise TableError(f"{folder} cannot be made: {error.strerror}; choose another folder with -o") from None
    pilot, pool, truth = make_pool(seed)
    write_table(pilot, os.path.join(folder, "pilot.csv"))
    write_table(pool, os.path.join(folder, "pool.csv"))
    made = plan(
        pilot, weak="judge", strong="human", weak_cost=WEAK_COST, strong_cost=STRONG_COST, budget=BUDGET,
        pool_size=POOL, estimand="pool",
    )  # fmt: skip
    made.save(os.path.join(folder, "plan.json"))
    drawn = draw_pool(pool, made.transfer, seed=seed)
    rated = ask_the_strong_rater(drawn, truth)
    write_table(rated, os.path.join(folder, "rated.csv"))
    found = estimate_table(
        rated, weak="judge", strong="human", selected="selected", estimand="pool",
        weak_cost=WEAK_COST, strong_cost=STRONG_COST,
    )  # fmt: skip
    page = report_page("ratewise demo (made up)", made, found, truth=float(truth.mean()))
    write_text(os.path.join(folder, "report.html"), page)
    if as_json:
        print_json(document(made, found, truth, folder))
    else:
        _print(made, drawn, found, truth, folder)


def make_pool(seed: int) -> tuple[Table, Table, np.ndarray[Any, np.dtype[np.float64]]]:
    """Answers of a made-up assistant: a judge's probability that each is right, and (hidden) whether it is."""
    world = calibrated(PILOT + POOL, mean=0.8, spread=0.5, rng=np.random.default_rng(seed))
    ids = np.array([f"answer-{i:04d}" for i in range(PILOT + POOL)], dtype=object)
    judge = np.round(world.weak, 3)
    pilot = read_table({"id": ids[:PILOT], "judge": judge[:PILOT], "human": world.strong[:PILOT]}, name="pilot")
    pool = read_table({"id": ids[PILOT:], "judge": judge[PILOT:]}, name="pool")
    return pilot, pool, world.strong[PILOT:]


def ask_the_strong_rater(drawn: Drawn, truth: np.ndarray[Any, np.dtype[np.float64]]) -> Table:
    """Here the answers are known; in life a person would give them now."""
    return drawn.table.with_columns({"human": np.where(drawn.selected, truth, np.nan)})


def document(made: Plan, found: Estimate, truth: np.ndarray[Any, np.dtype[np.float64]], folder: str) -> dict[str, Any]:
    """The demo as JSON."""
    return {
        "made_up": True, "truth": float(truth.mean()), "folder": folder, "saved": saved(made, found),
        "estimate": found.to_dict(), "plan": made.to_dict(),
    }  # fmt: skip


def saved(made: Plan, found: Estimate) -> float:
    """What strong ratings alone would have cost for the same standard error on this pool, less what was spent."""
    V = float(made.inputs["variance"])
    error = (found.standard_error or 0.0) ** 2
    return STRONG_COST * V / (error + V / POOL) - (found.spend or 0.0)


def _print(
    made: Plan, drawn: Drawn, found: Estimate, truth: np.ndarray[Any, np.dtype[np.float64]], folder: str
) -> None:
    from rich.text import Text

    from ratewise.report.text import drawn_text, estimate_text, plan_text

    print_rich(Text(f"A made-up pool: {POOL:,} answers, each with a judge's score. A person costs {STRONG_COST:g} "
                    f"each, the judge costs {WEAK_COST:g}. The budget is {BUDGET:g}."))  # fmt: skip
    for title, body in (
        (f"1. Plan, from a pilot of {PILOT} answers rated by both", plan_text(made)),
        ("2. Draw", drawn_text(drawn, os.path.join(folder, "rated.csv"))),
        ("3. Estimate, from the answers the person was asked for", estimate_text(found)),
    ):
        print_rich(Text("\n" + title, style="bold cyan"))
        print_rich(body)
    mean = float(truth.mean())
    low, high = found.interval or (mean, mean)
    verdict = "inside the interval" if low <= mean <= high else "outside the interval, as happens one time in twenty"
    print_rich(Text(f"\nThe truth, known because the pool is made up: {mean:.4f} ({verdict}).", style="bold"))
    print_rich(
        Text(
            f"Strong ratings alone would have cost {saved(made, found):,.0f} more for this precision. "
            f"The report is {folder}/report.html."
        )
    )
