"""The paper's pipeline end to end, with a tiny model of random weights on a made-up table."""

import warnings

import numpy as np
import pytest
from tests.learn.training.tiny import bert

from ratewise.errors import TableError
from ratewise.lab import datasets as module
from ratewise.lab.claims import verdicts
from ratewise.lab.datasets import arena_like
from ratewise.lab.reproduction import EXPERIMENTS, run_experiment
from ratewise.tables import read_table, write_table

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Answers of three systems to 120 questions; good ones say so."""
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(4)
    n = 360
    h = rng.integers(0, 2, n)
    answer = [
        f"{'good' if (g > 0) ^ (rng.random() < 0.15) else 'bad'} w{rng.integers(80)} w{i % 80}" for i, g in enumerate(h)
    ]
    write_table(
        read_table(
            {
                "id": [f"e{i}" for i in range(n)], "h": h.tolist(), "system": [f"s{i % 3}" for i in range(n)],
                "qidx": [str(i // 3) for i in range(n)], "question": [f"text w{(i // 3) % 80}" for i in range(n)],
                "gold": ["red"] * n, "answer": answer,
            }
        ),
        folder / "evouna_qa.parquet",
    )  # fmt: skip
    return folder


def test_it_trains_transfers_and_evaluates(tables, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_TRAINED_ON", 120)
    monkeypatch.setattr(module, "_TAUGHT_BY", 100)
    (tmp_path / "model").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        init = bert(tmp_path / "model")
    made = arena_like(tables, tmp_path / "rater", system="s2", init=init)
    assert made.weak.size == made.strong.size <= 120
    assert made.transfer is not None
    assert 50 < made.transfer[0].size <= 100
    assert "trained here on 120 labels of other systems" in made.source
    again = arena_like(tables, tmp_path / "rater", system="s2", init="/nowhere")  # the rater is there
    np.testing.assert_array_equal(again.weak, made.weak)
    found = [run_experiment(experiment, made, trials=4, seed=1, workers=1) for experiment in EXPERIMENTS["arena-like"]]
    claims = [claim for claim in verdicts({"arena-like": found}) if claim.figures]
    assert {claim.where for claim in claims} == {"Fig. 3", "Sec. 4.3"}
    assert len(claims) == 6


def test_what_is_missing_is_told(tables, tmp_path):
    with pytest.raises(TableError, match=r"evouna_qa\.parquet is missing"):
        arena_like(tmp_path, tmp_path / "rater")
    with pytest.raises(TableError, match="no system 'gpt9'"):
        arena_like(tables, tmp_path / "rater", system="gpt9")
    with pytest.raises(TableError, match=r"trains a rater first: .* no such folder"):
        arena_like(tables, tmp_path / "rater", system="s2", init="/nowhere")
