"""What does the engine add to the raters? A campaign with `column` raters, which take no time, against a plain loop.

The loop does what a script would: for the same ratings, one INSERT and one commit each, in SQLite with the same
durability, and no reservation, draw, plan or replay. Each campaign runs in a process of its own, whose largest memory
is printed, so that memory can be compared across sizes. `--load N` times how long a table of N rows takes to load.
"""

import argparse
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import time

import numpy as np

import ratewise as rw

TOML = """
name = "bench"
seed = 7
estimand = "pool"
[items]
table = "items.parquet"
[rating]
kind = "binary"
[goal]
budget = "{budget}"
[[raters]]
name = "judge"
kind = "column"
column = "judge"
price = "0.01"
[[raters]]
name = "human"
kind = "column"
column = "human"
price = "1"
"""

RUN = """
import resource, sys, time
from ratewise.campaign.campaign import Campaign
campaign = Campaign.open(sys.argv[1])
campaign.begin()
loaded, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
if sys.argv[2] == "run":
    campaign.run()
    took = time.perf_counter() - loaded
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    status = campaign.status()
    print(status.looked, status.labels, took, before / 1024, after / 1024)
"""


def make(folder: pathlib.Path, items: int, budget: int) -> pathlib.Path:
    rng = np.random.default_rng(items)
    judge = rng.beta(0.8, 0.25, items)
    table = {
        "id": np.arange(items),
        "prompt": np.array([f"question number {i} of a made-up pool" for i in range(items)], dtype=object),
        "judge": judge,
        "human": (rng.random(items) < judge).astype(np.int64),
    }
    rw.write_table(rw.read_table(table), folder / "items.parquet")
    (folder / "campaign.toml").write_text(TOML.format(budget=budget), encoding="utf-8")
    return folder / "campaign.toml"


def campaign(items: int, budget: int) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        toml = make(pathlib.Path(folder), items, budget)
        done = subprocess.run([sys.executable, "-c", RUN, str(toml), "run"], capture_output=True, text=True, check=True)
    return [float(x) for x in done.stdout.split()]


def load(items: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        toml = make(pathlib.Path(folder), items, 10)
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", RUN, str(toml), "load"], check=True)
        return time.perf_counter() - start


def plain_loop(ratings: int) -> float:
    """Seconds a rating: insert, commit."""
    with tempfile.TemporaryDirectory() as folder:
        connection = sqlite3.connect(os.path.join(folder, "plain.sqlite"), isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(
            "CREATE TABLE ratings (position INTEGER, step INTEGER, value REAL, PRIMARY KEY (position, step))"
        )
        start = time.perf_counter()
        for i in range(ratings):
            connection.execute("INSERT INTO ratings VALUES (?, ?, ?)", (i, 0, 0.5))
        return (time.perf_counter() - start) / ratings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", default="10000,100000", help="pool sizes, with commas between")
    parser.add_argument("--load", type=int, default=1_000_000)
    given = parser.parse_args()
    loop = plain_loop(5000)
    print("| pool | looked at | strong | seconds | ms an item | plain loop | ratio | MiB loaded | MiB at the end |")
    print("|---|---|---|---|---|---|---|---|---|")
    for items in map(int, given.items.split(",")):
        looked, labels, took, before, after = campaign(items, items // 5)
        each, same = 1000 * took / looked, 1000 * loop * (looked + labels) / looked
        print(
            f"| {items:,} | {looked:,.0f} | {labels:,.0f} | {took:.1f} | {each:.3f} | {same:.3f} | {each / same:.2f} | "
            f"{before:.0f} | {after:.0f} |",
            flush=True,
        )
    if given.load:
        print(f"\nLoading {given.load:,} items, start-up included: {load(given.load):.1f} s")


if __name__ == "__main__":
    main()
