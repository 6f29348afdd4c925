"""A table loaded (`read_table`) and a table asked where it is (`open_relation`): seconds and peak memory of each job.

Every job runs in a process of its own; memory is its peak above that of the imports. `--rows` is the size of the table,
ten million unless given; `--format csv` or `jsonl` asks files of text instead of Parquet.
"""

import argparse
import os
import pathlib
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

import duckdb
import numpy as np

from ratewise.tables import count_rows, open_relation, read_table

POOL = """SELECT 'item-' || range AS id, hash(range) / 18446744073709551615.0 AS judge,
    CASE WHEN range % 50 = 0 THEN (range % 7) * 1.0 END AS human, 'm' || (range % 5) AS model FROM range({rows})"""
OPTIONS = {"parquet": "FORMAT parquet", "csv": "FORMAT csv, HEADER", "jsonl": "FORMAT json"}


def count_loaded(path: str) -> float:
    return read_table(path).rows


def count_asked(path: str) -> float:
    return count_rows(path)


def sum_loaded(path: str) -> float:
    return float(read_table(path).numbers("judge").sum())


def sum_asked(path: str) -> float:
    pool = open_relation(path)
    judge = pool.number_in_sql("judge")
    return float(pool.ask(f"SELECT sum({judge.sql}) AS total FROM {pool.source_in_sql()}")["total"][0])


def groups_loaded(path: str) -> float:
    table = read_table(path)
    model, judge = table.texts("model"), table.numbers("judge")
    return float(np.mean([judge[model == name].mean() for name in sorted(set(model.tolist()))]))


def groups_asked(path: str) -> float:
    pool = open_relation(path)
    judge, model = pool.number_in_sql("judge"), pool.text_in_sql("model")
    means = pool.ask(f"SELECT avg({judge.sql}) AS mean FROM {pool.source_in_sql()} GROUP BY {model}")["mean"]
    return float(np.mean(means))


def scan_loaded(path: str) -> float:
    table = read_table(path)
    return float(table.numbers("judge").sum() + np.nansum(table.numbers("human", missing="allow")))


def scan_asked(path: str) -> float:
    parts = open_relation(path).scan("judge", "human")
    return sum(part.numbers("judge").sum() + np.nansum(part.numbers("human", missing="allow")) for part in parts)


def ids_loaded(path: str) -> float:
    return len(read_table(path).ids("id"))


def ids_asked(path: str) -> float:
    pool = open_relation(path)
    pool.check_ids("id")
    return pool.count()


JOBS: dict[str, tuple[Callable[[str], float], Callable[[str], float]]] = {
    "count the rows": (count_loaded, count_asked),
    "sum of a column": (sum_loaded, sum_asked),
    "mean by group": (groups_loaded, groups_asked),
    "two columns, row by row": (scan_loaded, scan_asked),
    "ids are unique": (ids_loaded, ids_asked),
}


def measured(job: str, way: int, path: str) -> tuple[float, float, float]:
    """Seconds, MB and the answer, from a process of its own."""
    command = [sys.executable, __file__, "--job", job, "--way", str(way), "--path", path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, memory, answer = map(float, done.stdout.split())
    return seconds, memory, answer


def work(job: str, way: int, path: str) -> None:
    before, start = peak(), time.perf_counter()
    answer = JOBS[job][way](path)
    print(time.perf_counter() - start, peak() - before, repr(float(answer)))


def peak() -> float:
    """The most memory this process ever had, in MB; on Linux, maxrss would begin with that of the parent."""
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return int(re.findall(r"VmHWM:\s*(\d+) kB", status.read_text())[0]) / 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def compare(rows: int, ending: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, f"pool.{ending}")
        duckdb.sql(f"COPY ({POOL.format(rows=rows)}) TO '{path}' ({OPTIONS[ending]})")
        print(f"{rows:,} rows of {ending}, {os.path.getsize(path) / 1e6:,.0f} MB\n")
        print("| | loaded: s | MB | asked: s | MB |\n|---|---|---|---|---|")
        for job in JOBS:
            (s1, m1, loaded), (s2, m2, asked) = (measured(job, way, path) for way in (0, 1))
            assert np.isclose(loaded, asked, rtol=1e-9), (job, loaded, asked)
            print(f"| {job} | {s1:.2f} | {m1:,.0f} | {s2:.2f} | {m2:,.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--format", choices=OPTIONS, default="parquet")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    parser.add_argument("--way", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.job is None:
        compare(given.rows, given.format)
    else:
        work(given.job, given.way, given.path)


if __name__ == "__main__":
    main()
