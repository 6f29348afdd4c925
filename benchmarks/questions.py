"""Campaigns with a question against campaigns without: labels needed, coverage of all intervals together, decisions.

Worlds are drawn by a seed, tables are those of shared/data; every campaign is rehearsed in memory by the planner that
spends real money. Labels are counted until a goal is reached:

- compare: one campaign for the difference of two systems against one for the mean of each, to the same interval
- slices: five slices with one `within` for all against one rate for all, with the judge (PPI)
- board: eight models to the same simultaneous width, and to the same decision, against votes at one rate for all
- coverage: the share of campaigns whose intervals all hold, with a budget and with a stop
- decide: the share of campaigns whose decision is wrong, near ties among them

Run: python benchmarks/questions.py --trials 500 [--cells compare,slices] [--seed 1] [--json out.json]
"""

import argparse
import json
import math
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from ratewise.campaign.answers import Answers, Goals, answers_of
from ratewise.campaign.estimates import Look, final_answers, final_estimate
from ratewise.campaign.rehearsal import Rehearsal, RehearsalPool
from ratewise.core.checks import Floats
from ratewise.core.ratings import Ratings
from ratewise.questions.question import CampaignQuestion
from ratewise.questions.rated import ExportTerms, Pooled
from ratewise.tables import read_table

DATA = Path(__file__).parents[2] / "shared" / "data"
PRICES = (Decimal("0.001"), Decimal(1))
MARGIN = 0.02  # of a near tie
_NEWEST = 1.02  # steps towards as narrow an interval

World = tuple[CampaignQuestion, Floats | None, Floats, Floats, Any]
"""A question, where items stand, weak and strong ratings, and what is drawn together (None: every item alone)."""


# Worlds


def slices_world(rng: np.random.Generator, items: int = 3000) -> World:
    """Five slices of very different sizes, and a calibrated judge."""
    topic = rng.choice(5, items, p=[0.45, 0.25, 0.15, 0.1, 0.05])
    p = rng.beta(*np.array([[6, 2], [5, 2], [4, 2], [4, 3], [3, 2]])[topic].T)
    question = CampaignQuestion.of("slices", ("by",), read_table({"by": np.array(list("abcde"))[topic]}))
    return question, topic[:, None].astype(float), p, (rng.random(items) < p) * 1.0, None


def systems_world(rng: np.random.Generator, gap: float, items: int = 2000, table: str = "") -> World:
    """Two systems on the same prompts, whose answers are right together more often than the judge tells."""
    hard, miss = rng.normal(0, 1, items), rng.normal(0, 1.2, items)  # what the judge sees, and what it does not
    columns = []
    for k in range(2):
        said = hard + 0.8 + 0.7 * rng.normal(size=items)
        judge = 1 / (1 + np.exp(-said))
        right = said + miss + 0.6 * rng.normal(size=items) + (gap * 5 if k == 0 else 0.0)
        columns.append((judge, (right > 0) * 1.0))
    return _systems(("new", "old"), columns)


def systems_table(first: str, second: str) -> World:
    """Two systems of the shared table of questions and answers."""
    import duckdb

    found = duckdb.sql(
        f"SELECT a.g AS ga, a.h AS ha, b.g AS gb, b.h AS hb FROM '{DATA / 'evouna_qa.parquet'}' a"
        f" JOIN '{DATA / 'evouna_qa.parquet'}' b ON a.qidx = b.qidx AND a.source = b.source"
        f" WHERE a.system = '{first}' AND b.system = '{second}' ORDER BY a.id"
    ).fetchnumpy()
    columns = [(np.asarray(found[f"g{x}"], float), np.asarray(found[f"h{x}"], float)) for x in "ab"]
    return _systems((first, second), columns)


def _systems(names: tuple[str, str], columns: list[tuple[Floats, Floats]]) -> World:
    items = columns[0][0].size
    question = CampaignQuestion("compare", ("system",), names, (items, items), names[1])
    weak, strong = (np.column_stack([one[k] for one in columns]).ravel() for k in (0, 1))
    prompts = np.repeat(np.arange(items), 2)
    return question, np.tile([0.0, 1.0], items)[:, None], weak, strong, prompts


def board_world(rng: np.random.Generator, spread: float = 1.2, models: int = 8, items: int = 4000) -> World:
    """Votes on eight models, of which pairs are compared unevenly often, and a judge that sees a part of it."""
    ratings = np.linspace(spread, -spread, models)
    often = rng.dirichlet(np.full(models, 2.0))
    a = rng.choice(models, items, p=often)
    b = (a + rng.integers(1, models, items)) % models
    seen = ratings[a] - ratings[b]
    said = seen + 0.8 * rng.normal(size=items)
    p = 1 / (1 + np.exp(-(0.5 * seen + 0.5 * said)))
    u = rng.random(items)
    vote = np.where(u < 0.9 * p, 1.0, np.where(u < 0.9 * p + 0.1, 0.5, 0.0))
    names = [f"m{k}" for k in range(models)]
    table = read_table({"model_a": np.array(names)[a], "model_b": np.array(names)[b]})
    question = CampaignQuestion.of("leaderboard", ("model_a", "model_b"), table)
    return question, question.place(table), 1 / (1 + np.exp(-said)), vote, None


# Campaigns in memory


def shuffled(world: World, seed: int) -> RehearsalPool:
    """The pool of a world in the campaign's order; rows of a prompt are together, and share a random number."""
    question, place, weak, strong, together = world
    rng = np.random.default_rng([seed, 7001])
    key = np.arange(weak.size) if together is None else together
    turn, uniform = rng.random(int(key.max()) + 1)[key], rng.random(int(key.max()) + 1)[key]
    order = np.argsort(turn, kind="stable")
    pool = RehearsalPool.of(
        weak[order], strong[order], prices=PRICES, question=question, place=None if place is None else place[order]
    )
    return replace(pool, uniform=uniform[order], clusters=None if together is None else together[order])


def play(pool: RehearsalPool, *, budget: float | None = None, goals: Goals = Goals(), **terms: Any) -> Rehearsal:  # noqa: B008
    money = None if budget is None else Decimal(str(round(budget, 6)))
    game = Rehearsal(pool, pool.terms(budget=money, goals=goals, **terms))
    game.play()
    return game


def ended(game: Rehearsal) -> Answers:
    look = Look.of(game.terms.wanted, changed=False, ended=True, more=False)
    found = final_answers(game.history, game.terms.wanted, look)
    assert found is not None
    return found


def truth_of(world: World) -> dict[str, float]:
    """The answers of the whole pool."""
    found = answers_at_one_rate(world, np.ones(world[3].size, dtype=bool))
    return {one.name: float(one.value or 0.0) for one in found.answers}


def answers_at_one_rate(world: World, labelled: Any) -> Answers:
    """What the question's function says of labels drawn at one rate for all, with the judge as it is."""
    question, place, weak, strong, together = world
    rate = float(labelled.mean())
    items = Ratings(
        weak, np.where(labelled, strong, np.nan), np.full(weak.size, rate), np.asarray(labelled),
        None if together is None else together,
    )  # fmt: skip
    terms = ExportTerms(
        campaign="", method="auto", estimand="pool", pool_size=float(weak.size), low=0.0, high=1.0, variance_factor=1.0,
        level=0.95, level_at=0.95,
    )  # fmt: skip
    return answers_of(question, Goals(), question.answer(Pooled(terms, items), place), 0.95)


def uniform_labels(world: World, good: Callable[[Answers], bool], seed: int) -> float:
    """The fewest labels at one rate for all whose answers are good, by bisection on one random order."""
    n = world[2].size
    order = np.random.default_rng([seed, 7002]).permutation(n)
    rank = np.empty(n)
    rank[order] = np.arange(n)

    def enough(count: float) -> bool:
        try:
            return good(answers_at_one_rate(world, rank < count))
        except Exception:  # too few to say anything
            return False

    low, high = 20.0, float(n)
    while high / low > _NEWEST:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def half_widths(found: Answers) -> list[float]:
    return [math.inf if one.low is None or one.high is None else (one.high - one.low) / 2 for one in found.answers]


def covered(found: Answers, truth: dict[str, float]) -> bool:
    """Whether every interval has its truth."""
    return all(
        one.low is None or one.high is None or one.low - 1e-9 <= truth[one.name] <= one.high + 1e-9
        for one in found.answers
    )


# Cells: each trial gives numbers by name


def compare_cell(world: Callable[[np.random.Generator], World], within: float) -> Callable[[int], dict[str, float]]:
    def trial(seed: int) -> dict[str, float]:
        made = world(np.random.default_rng([seed, 7003]))
        question, place, weak, strong, _ = made
        goals = Goals(within=((question.answers[0], within),))
        game = play(shuffled(made, seed), goals=goals)
        assert place is not None
        apart = 0
        for k in range(2):  # the mean of each to ± within/√2, which gives the same interval for the difference
            here = place[:, 0] == k
            alone = RehearsalPool.of(weak[here], strong[here], prices=PRICES, seed=2 * seed + k)
            order = np.random.default_rng([seed, k]).permutation(alone.items)
            alone = replace(alone, ratings=alone.ratings[order])
            one = Rehearsal(alone, alone.terms(target_se=within / math.sqrt(2) / 1.959964))
            one.play()
            apart += one.history.labels
        hit = covered(ended(game), truth_of(made))
        return {"labels": game.history.labels, "separate": apart, "covered": hit}

    return trial


def slices_cell(within: float) -> Callable[[int], dict[str, float]]:
    def trial(seed: int) -> dict[str, float]:
        made = slices_world(np.random.default_rng([seed, 7004]))
        goals = Goals(within=tuple((name, within) for name in made[0].names))
        game = play(shuffled(made, seed), goals=goals)
        uniform = uniform_labels(made, lambda found: max(half_widths(found)) <= within, seed)
        return {"labels": game.history.labels, "uniform": uniform, "covered": covered(ended(game), truth_of(made))}

    return trial


def board_cell(budget: float) -> Callable[[int], dict[str, float]]:
    """To the same simultaneous width: the mean half-width of all models, and the widest one's."""

    def trial(seed: int) -> dict[str, float]:
        made = board_world(np.random.default_rng([seed, 7005]))
        game = play(shuffled(made, seed), budget=budget)
        found = ended(game)
        widest, mean = max(half_widths(found)), float(np.mean(half_widths(found)))
        uniform = uniform_labels(made, lambda one: max(half_widths(one)) <= widest, seed)
        on_average = uniform_labels(made, lambda one: float(np.mean(half_widths(one))) <= mean, seed)
        return {
            "labels": game.history.labels, "uniform": uniform, "uniform (mean width)": on_average,
            "covered": covered(found, truth_of(made)),
        }  # fmt: skip

    return trial


def board_decides(decide: str) -> Callable[[int], dict[str, float]]:
    """To the same decision: votes at one rate are looked at once only, at the number that first decides."""

    def trial(seed: int) -> dict[str, float]:
        made = board_world(np.random.default_rng([seed, 7006]))
        game = play(shuffled(made, seed), budget=3000, goals=Goals(decide=decide))
        found = ended(game)

        def decided(one: Answers) -> bool:
            return answers_of(made[0], Goals(decide=decide), one.result, one.level).done

        truth = truth_of(made)
        first = max(truth, key=lambda name: truth[name])
        said = [one.name for one in found.answers if one.decided == "first"]
        return {
            "labels": game.history.labels, "uniform": uniform_labels(made, decided, seed), "done": found.done,
            "wrong": bool(said) and said != [first],
        }  # fmt: skip

    return trial


def coverage_cell(make: Callable[[np.random.Generator], World], budget: float) -> Callable[[int], dict[str, float]]:
    def trial(seed: int) -> dict[str, float]:
        made = make(np.random.default_rng([seed, 7007]))
        game = play(shuffled(made, seed), budget=budget)
        found, truth = ended(game), truth_of(made)
        each = [one.low is None or one.low <= truth[one.name] <= (one.high or 0.0) for one in found.answers]
        whole = final_estimate(game.history, game.terms.wanted, Look(anytime=False))
        value = found.answers[0].value or 0.0
        return {
            "labels": game.history.labels, "covered": all(each), "each": float(np.mean(each)),
            "error": value - truth[found.answers[0].name], "mean": math.nan if whole is None else whole.value,
        }  # fmt: skip

    return trial


def decide_cell(gap: float, budget: float) -> Callable[[int], dict[str, float]]:
    def trial(seed: int) -> dict[str, float]:
        made = systems_world(np.random.default_rng([seed, 7008]), gap)
        game = play(shuffled(made, seed), budget=budget, goals=Goals(decide=0.0))
        (one,) = ended(game).answers
        truth = truth_of(made)[one.name]
        right = "above" if truth > 0 else "below"
        return {
            "labels": game.history.labels, "decided": one.decided is not None,
            "wrong": one.decided not in (None, right),
        }  # fmt: skip

    return trial


CELLS: dict[str, Callable[[int], dict[str, float]]] = {
    "compare, made up": compare_cell(lambda rng: systems_world(rng, 0.05), 0.05),
    "compare, chatgpt and gpt4": compare_cell(lambda _: systems_table("chatgpt", "gpt4"), 0.025),
    "compare, fid and newbing": compare_cell(lambda _: systems_table("fid", "newbing"), 0.025),
    "slices": slices_cell(0.08),
    "board": board_cell(600.0),
    "board, top": board_decides("top"),
    "coverage, slices": coverage_cell(slices_world, 300.0),
    "coverage, compare": coverage_cell(lambda rng: systems_world(rng, 0.05), 200.0),
    "coverage, board": coverage_cell(board_world, 400.0),
    "decide, tie": decide_cell(0.0, 600.0),
    "decide, near tie": decide_cell(MARGIN, 600.0),
    "decide, clear": decide_cell(0.1, 600.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cells", default="", help="begin with any of these words, separated by commas; all")
    parser.add_argument("--seconds", type=float, default=math.inf, help="at most, for each cell")
    parser.add_argument("--json")
    given = parser.parse_args()
    wanted = [word for word in given.cells.split(",") if word]
    out = {}
    for name, trial in CELLS.items():
        if wanted and not any(name.startswith(word) for word in wanted):
            continue
        began, rows = time.monotonic(), []
        for k in range(given.trials):
            rows.append(trial(1000 * given.seed + k))
            if time.monotonic() - began > given.seconds:
                break
        out[name] = {key: float(np.nanmean([row[key] for row in rows])) for key in rows[0]} | {"trials": len(rows)}
        print(f"{name} ({len(rows)} campaigns, {time.monotonic() - began:.0f} s): {told(rows)}", flush=True)
    if given.json:
        Path(given.json).write_text(json.dumps(out, indent=1) + "\n", encoding="utf-8")


def told(rows: list[dict[str, float]]) -> str:
    """The figures of a cell, with standard errors of shares and ratios."""
    n, said = len(rows), []
    for key in rows[0]:
        x = np.array([row[key] for row in rows], dtype=float)
        if key in ("covered", "wrong", "decided", "done", "each"):
            said.append(f"{key} {x.mean():.1%} ± {math.sqrt(max(x.mean() * (1 - x.mean()), 0.25 / n) / n):.1%}")
        elif key == "error":
            said.append(f"bias {x.mean() / max(x.std(), 1e-12):+.2f} sd")
        else:
            said.append(f"{key} {x.mean():,.4g}")
        if key not in ("labels",) and (key.startswith("uniform") or key == "separate"):
            labels = np.array([row["labels"] for row in rows], dtype=float)
            ratio = labels.mean() / x.mean()
            error = float(np.std(labels - ratio * x)) / x.mean() / math.sqrt(n)
            said.append(f"labels over {key} {ratio:.2f} ± {error:.2f}")
    return ", ".join(said)


if __name__ == "__main__":
    main()
