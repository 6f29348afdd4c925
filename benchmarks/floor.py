"""What does the floor on the rates cost, and what does it save? J over base on the real tables, by floor share.

Reads ../shared/data, or the folder named by RATEWISE_DATA. Raw and Platt-scaled scores; u = g(1−g) for 0/1 ratings,
else fitted; scored with the labelled residuals.
"""

import os
import pathlib
import sys

import numpy as np

import ratewise as rw

SHARES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
DATA = pathlib.Path(os.environ.get("RATEWISE_DATA", pathlib.Path(__file__).resolve().parents[2] / "shared" / "data"))


def ratios(path: pathlib.Path, calibrate: str) -> list[float]:
    options = {
        "weak": "g",
        "strong": "h",
        "weak_cost": 0.05,
        "strong_cost": 1.0,
        "budget": 500.0,
        "calibrate": calibrate,
    }
    mean = rw.plan(path, **options, floor=0.0).policies["active"].mean_rate
    return [rw.plan(path, **options, floor=share * mean).policies["active"].error_ratio for share in SHARES]


def main() -> None:
    tables = sorted(DATA.glob("*.parquet"))
    if not tables:
        print(f"no tables in {DATA.name}; name their folder in RATEWISE_DATA", file=sys.stderr)
        return
    print("| table | scores | " + " | ".join(f"floor {s:g} × mean" for s in SHARES) + " |")
    print("|---|---|" + "---|" * len(SHARES))
    for calibrate in ("none", "platt"):
        rows = []
        for path in tables:
            rows.append(ratios(path, calibrate))
            print(f"| {path.stem} | {calibrate} | " + " | ".join(f"{x:.3f}" for x in rows[-1]) + " |", flush=True)
        means = np.exp(np.log(np.array(rows)).mean(axis=0))
        print(f"| **geometric mean** | {calibrate} | " + " | ".join(f"**{x:.3f}**" for x in means) + " |")


if __name__ == "__main__":
    main()
