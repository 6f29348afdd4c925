"""`ratewise train` on the command line."""

import csv
import json
import warnings

import numpy as np
import pytest
from tests.learn.training.tiny import bert
from typer.testing import CliRunner

from ratewise.cli.lab import news
from ratewise.cli.main import app
from ratewise.learn.trainer import Step

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def place(tmp_path):
    """A table of labels, and a tiny model to start from."""
    rng = np.random.default_rng(2)
    with open(tmp_path / "rated.csv", "w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["id", "text", "human"])
        rows.writerows([i, f"w{k} w{k // 2} good", k % 2] for i, k in enumerate(rng.integers(0, 80, 80).tolist()))
    (tmp_path / "model").mkdir()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        bert(tmp_path / "model")
    return tmp_path


def test_train_writes_a_rater_a_card_and_a_picture(place):
    how = [str(place / "rated.csv"), "--text", "text", "--strong", "human", "--init", str(place / "model")]
    done = CliRunner().invoke(app, ["train", *how, "--epochs", "1", "-o", str(place / "judge"), "--json"])
    assert done.exit_code == 0, done.output
    card = json.loads(done.stdout)
    assert card["data"]["labels"] == 80
    assert {"ratewise.json", "card.json", "trained_on.json", "reliability.svg"} <= {
        file.name for file in (place / "judge").iterdir()
    }
    again = CliRunner().invoke(app, ["train", *how, "--epochs", "1", "-o", str(place / "judge")])
    assert "trained on" in again.stdout
    assert "labels held out; saved in" in " ".join(again.stdout.split())
    assert "epoch 1.0 of at most 1: loss" in again.stderr


def test_mistakes_are_one_line(place):
    how = [str(place / "rated.csv"), "--text", "text", "--strong", "human", "-o", str(place / "judge")]
    for more, words in (
        (["--answers", "yes"], "--answers must be two words"),
        (["--template", str(place / "none.txt")], "cannot be read"),
        (["--init", str(place / "nothing")], "there is no such folder"),
    ):
        done = CliRunner().invoke(app, ["train", *how, *more])
        assert done.exit_code == 2
        assert words in done.stderr
        assert done.stderr.count("\n") == 1


def test_news_have_loss_and_time_left():
    assert news(Step(1.5, 4, 0.61, None, 30.2)) == "epoch 1.5 of at most 4: loss 0.610; 30 s left at most"
    assert news(Step(2.0, 4, 0.5, 0.55, 600)) == (
        "epoch 2.0 of at most 4: loss 0.500, held out 0.550 the epoch before; 10 min left at most"
    )
