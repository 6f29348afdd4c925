"""An LLM judge under load: 10,000 ratings at 64 calls at once against the shipped server, and the same with kills.

python benchmarks/judges.py [--items 10000] [--concurrency 64] [--kill 3000,7000]
"""

import argparse
import tempfile
from pathlib import Path

from studies.judge_load import Load, under_load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--kill", default="", help="calls at which the campaign is killed, with commas between")
    given = parser.parse_args()
    kills = [int(word) for word in given.kill.split(",") if word]
    with tempfile.TemporaryDirectory() as folder:
        print(table(under_load(Path(folder), items=given.items, concurrency=given.concurrency, kill_at=kills)))


def table(found: Load) -> str:
    rows = [
        ("items", f"{found.items:,}"),
        ("rated", f"{found.rated:,}"),
        ("calls billed by the server", f"{found.calls:,}"),
        ("calls answered again for the same key", f"{found.repeated:,}"),
        ("billed by the server", f"{found.billed:f}"),
        ("spent by the ledger", f"{found.spent:f}"),
        ("kill -9", f"{found.kills}"),
        ("seconds", f"{found.seconds:.1f}"),
        ("client CPU a call, ms", f"{found.cpu_per_call:.2f}"),
    ]
    return "\n".join(f"| {name} | {value} |" for name, value in rows)


if __name__ == "__main__":
    main()
