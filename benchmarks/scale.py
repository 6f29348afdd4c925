"""Large pools on one machine: time beside what DuckDB alone needs for the same rows, and peak memory.

    python benchmarks/scale.py                              # 10^6 and 10^7 rows
    python benchmarks/scale.py --rows 1e6 1e7 1e8           # about 10 GB of disk, gone afterwards
    python benchmarks/scale.py --rows 1e7 --only merge "estimate, three people"     # some of the steps
    python benchmarks/scale.py --rows 1e9 --linked          # without ids and draws: 16 links to two files, 0.6 GB

Every measurement runs in a process of its own. The baselines are those of the issue: a copy of the table with an md5
column, `count, sum` by group of the judge's column, and `sum` over the columns of the estimate.
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time

FILES = 8
COLUMNS = (
    "'item-' || i AS id, round(random(), 4) AS judge, CASE WHEN random() < 0.7 THEN 'chat' ELSE 'code' END AS model"
)
ANSWERS = tuple(f"CASE WHEN selected THEN CAST(random() < {chance} AS INT) END" for chance in ("judge", "0.5"))


def made(rows: int, folder: str) -> str:
    """A pool in a few files, about 15 bytes a row."""
    import duckdb

    place = os.path.join(folder, "pool")
    os.makedirs(place)
    connection = duckdb.connect()
    connection.execute("SET threads = 1; SELECT setseed(0.19)")
    for number in range(FILES):
        start, stop = rows * number // FILES, rows * (number + 1) // FILES
        query = f"SELECT {COLUMNS} FROM range({start}, {stop}) t(i)"
        connection.execute(f"COPY ({query}) TO '{place}/{number}.parquet' (FORMAT parquet)")
    return place


def planned(folder: str, rows: int) -> str:
    """A plan by a pilot of 1,000 labels: an active policy for 5,000 strong ratings."""
    import numpy as np

    import ratewise as rw

    rng = np.random.default_rng(1)
    judge = rng.random(1000)
    pilot = {"judge": judge, "human": (rng.random(1000) < judge).astype(float)}
    plan = rw.plan(
        pilot, weak="judge", strong="human", weak_cost=0.0, strong_cost=1.0, budget=5000, pool_size=float(rows)
    )
    place = os.path.join(folder, "plan.json")
    plan.save(place)
    return place


# What is measured: each in a process of its own


def copy_with_md5(folder: str) -> None:
    import duckdb

    source = f"{folder}/pool/*.parquet"
    duckdb.sql(f"COPY (SELECT *, md5('7:' || id) AS m FROM '{source}') TO '{folder}/copy.parquet' (FORMAT parquet)")


def draw(folder: str) -> None:
    from ratewise.questions.drawing import draw_file
    from ratewise.questions.transfer import load_transfer

    draw_file(f"{folder}/pool", load_transfer(f"{folder}/plan.json"), f"{folder}/drawn/", seed=7)


def group_by(folder: str) -> None:
    import duckdb

    duckdb.sql(f"SELECT model, count(*), sum(judge) FROM '{folder}/pool/*.parquet' GROUP BY model").fetchall()


def plan(folder: str) -> None:
    import numpy as np

    import ratewise as rw

    rng = np.random.default_rng(1)
    judge = rng.random(1000)
    human = (rng.random(1000) < judge).astype(float)
    pilot = {"judge": judge, "human": human, "model": np.where(judge > 0.5, "chat", "code")}
    rw.plan(
        pilot, weak="judge", strong="human", weak_cost=0.0, strong_cost=1.0, budget=5000, strata="model",
        pool=f"{folder}/pool",
    )  # fmt: skip


def sums(folder: str) -> None:
    import duckdb

    query = "SELECT sum(judge), sum(human), sum(rate), sum(selected::INT)"
    duckdb.sql(f"{query} FROM '{folder}/rated/*.parquet'").fetchall()


def estimate(folder: str, **options: str) -> None:
    import ratewise as rw

    rw.estimate_table(f"{folder}/rated", weak="judge", strong="human", **options)


def estimate_many(folder: str) -> None:
    estimate(folder, clusters="thread")


def estimate_few(folder: str) -> None:
    estimate(folder, clusters="day")


def estimate_people(folder: str) -> None:
    import ratewise as rw

    rw.estimate_table(f"{folder}/rated", weak="judge", strong="ann,ben,cleo")


def merge(folder: str) -> None:
    from ratewise.questions.sheets import merge_files

    shutil.rmtree(f"{folder}/merged", ignore_errors=True)
    if merge_files(f"{folder}/drawn", f"{folder}/sheet.csv", f"{folder}/merged/") is None:
        raise SystemExit("the table was not merged where it lies")


def estimate_t(folder: str) -> None:
    estimate(folder, method="difference", interval="t")


def compare(folder: str) -> None:
    import ratewise as rw

    rw.compare(f"{folder}/rated", weak=("judge", "rival"), strong=("human", "rival_human"))


CAMPAIGN = """name = "large"
seed = 7
[items]
table = "pool"
at_most = {items}
[rating]
kind = "binary"
[goal]
budget = "500"
[[raters]]
name = "judge"
kind = "column"
column = "judge"
price = "0"
[[raters]]
name = "human"
kind = "column"
column = "model"
price = "1"
"""


def begin(folder: str) -> None:
    """A campaign on the pool: its first 262,144 items are found and taken in."""
    from ratewise.campaign.campaign import Campaign

    path = os.path.join(folder, "large.toml")
    with open(path, "w") as file:
        file.write(CAMPAIGN.format(items=262144))
    if os.path.exists(f"{folder}/large.sqlite"):
        os.unlink(f"{folder}/large.sqlite")
    Campaign.open(path).begin()


STEPS = {
    "copy with md5": copy_with_md5, "begin a campaign": begin, "draw": draw, "merge": merge,
    "group by": group_by, "plan by strata": plan, "sum": sums,
    "estimate": estimate, "estimate, difference and t": estimate_t, "compare": compare,
    "estimate, 365 clusters": estimate_few, "estimate, a cluster for 20 rows": estimate_many,
    "estimate, three people": estimate_people,
}  # fmt: skip
BEFORE = ("copy with md5", "begin a campaign", "draw", "merge", "group by", "plan by strata")  # no answers yet
WITHOUT_IDS = ("group by", "plan by strata", "sum", "estimate", "estimate, difference and t", "compare")
BESIDE = {
    "draw": ("copy with md5", 1.5), "merge": ("copy with md5", 0),
    "plan by strata": ("group by", 3), "estimate": ("sum", 3),
    "estimate, difference and t": ("sum", 3), "compare": ("sum", 0), "estimate, 365 clusters": ("sum", 0),
    "estimate, a cluster for 20 rows": ("sum", 0), "estimate, three people": ("sum", 0),
}  # fmt: skip


def measured(step: str, folder: str) -> tuple[float, float, float]:
    """Wall seconds, processor seconds and peak MB of one step, imports left out of both times."""
    done = subprocess.run(
        [sys.executable, __file__, "--step", step, "--folder", folder], check=True, capture_output=True, text=True
    )
    return tuple(json.loads(done.stdout.splitlines()[-1]))


def step_alone(step: str, folder: str) -> None:
    import duckdb  # noqa: F401

    import ratewise as rw

    rw.estimate_table({"g": [0.1, 0.4, 0.5], "h": [1, 0, 1]}, weak="g", strong="h")  # imports
    pilot = {"g": [0.1, 0.4, 0.5, 0.9] * 5, "h": [1, 0, 1, 1] * 5, "s": ["a", "b"] * 10}
    rw.plan(pilot, weak="g", strong="h", weak_cost=0.1, strong_cost=1.0, budget=50, strata="s", pool=pilot)
    before, started = os.times(), time.perf_counter()
    STEPS[step](folder)
    wall, after = time.perf_counter() - started, os.times()
    used = after.user + after.system - before.user - before.system
    print(json.dumps([wall, used, peak()]))


def peak() -> float:
    """Most memory of this process so far, in MB: `ru_maxrss` would count that of the process that started it, too."""
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def rated(folder: str) -> None:
    """The drawn pool with an answer where one was asked for."""
    import duckdb

    place = f"{folder}/rated"
    os.makedirs(place)
    human = f"{ANSWERS[0]} AS human, round(random(), 2) AS rival, {ANSWERS[1]} AS rival_human"
    people = ", ".join(f"{ANSWERS[0]} AS {name}" for name in ("ann", "ben", "cleo"))
    number = "CAST(substr(id, 6) AS BIGINT)"
    human += f", {people}, 'thread ' || {number} // 20 AS thread, {number} % 365 AS day"
    connection = duckdb.connect()
    for name in sorted(os.listdir(f"{folder}/drawn")):
        query = f"SELECT *, {human} FROM '{folder}/drawn/{name}'"
        connection.execute(f"COPY ({query}) TO '{place}/{name}' (FORMAT parquet)")
    shutil.rmtree(f"{folder}/drawn")


def sheet(folder: str) -> None:
    """The drawn rows alone, with answers."""
    import duckdb

    query = f"SELECT id, {ANSWERS[0]} AS human FROM '{folder}/drawn/*.parquet' WHERE selected"
    duckdb.sql(f"COPY ({query}) TO '{folder}/sheet.csv'")


def linked(rows: int, folder: str) -> None:
    """A rated pool without ids: two files of a sixteenth of the rows each, under sixteen names."""
    import duckdb

    place = f"{folder}/rated"
    os.makedirs(place)
    connection = duckdb.connect()
    connection.execute("SET threads = 1; SELECT setseed(0.19)")
    for number in range(2):
        query = f"SELECT {COLUMNS.split(', ', 1)[1]} FROM range({rows // 16}) t(i)"
        query = f"SELECT *, greatest(0.1e0, sqrt(judge * (1e0 - judge))) * {12500 / rows:e} AS rate FROM ({query})"
        query = f"SELECT *, random() < rate AS selected FROM ({query})"
        human = f"{ANSWERS[0]} AS human, round(random(), 2) AS rival, {ANSWERS[1]} AS rival_human"
        connection.execute(f"COPY (SELECT *, {human} FROM ({query})) TO '{place}/{number}.parquet' (FORMAT parquet)")
    for number in range(2, 16):
        os.link(f"{place}/{number % 2}.parquet", f"{place}/{number}.parquet")
    os.symlink("rated", f"{folder}/pool")


def run(rows: int, repeats: int, *, links: bool, only: list[str]) -> None:
    folder = tempfile.mkdtemp(prefix="ratewise-scale-")
    try:
        if links:
            linked(rows, folder)
        else:
            made(rows, folder)
            planned(folder, rows)
        found: dict[str, tuple[float, float, float]] = {}
        for step in [one for one in (WITHOUT_IDS if links else STEPS) if one in {*only, "draw"} or not only]:
            if step == "merge":
                sheet(folder)
            if step not in BEFORE and not links and not os.path.exists(f"{folder}/rated"):
                rated(folder)
            for again in range(repeats):
                if step == "draw":
                    shutil.rmtree(f"{folder}/drawn", ignore_errors=True)
                one = measured(step, folder)
                found[step] = one if again == 0 else min(found[step], one)
            if step == "copy with md5":
                os.unlink(f"{folder}/copy.parquet")
            if step == "merge":
                shutil.rmtree(f"{folder}/merged")
        for step, (wall, used, peak) in found.items():
            beside = ""
            if step in BESIDE and BESIDE[step][0] in found:
                base, most = BESIDE[step]
                beside = f"{wall / found[base][0]:.2f} ({used / found[base][1]:.2f}) of {base}"
                beside += f"; at most {most}" if most else ""
            print(f"| {rows:.0e} | {step} | {wall:.2f} | {used:.2f} | {peak:.0f} | {beside} |", flush=True)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=float, nargs="*", default=[1e6, 1e7])
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--linked", action="store_true")
    parser.add_argument("--only", nargs="*", default=[], choices=STEPS)
    parser.add_argument("--step")
    parser.add_argument("--folder")
    given = parser.parse_args()
    if given.step:
        step_alone(given.step, given.folder)
    else:
        print("| rows | step | s | processor s | peak MB | ratio of times (of processor times) |")
        print("|---|---|---|---|---|---|")
        for size in given.rows:
            run(int(size), given.repeats, links=given.linked, only=given.only)
