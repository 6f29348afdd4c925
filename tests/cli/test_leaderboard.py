"""`ratewise leaderboard` as users run it."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import special

from ratewise.cli.main import main


@pytest.fixture
def arena(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    names, skill = np.array(["ada", "bob", "cleo", "dan"]), np.array([0.8, 0.2, -0.2, -0.8])
    a = rng.integers(0, 4, 1200)
    b = (a + rng.integers(1, 4, 1200)) % 4
    h = (rng.random(1200) < special.expit(skill[a] - skill[b])) * 1.0
    judge = np.where(rng.random(1200) < 0.2, 1 - h, h)
    table = pd.DataFrame({"id": np.arange(1200), "model_a": names[a], "model_b": names[b], "judge": judge})
    table.to_csv("pool.csv", index=False)
    table.assign(human=h).to_csv("all.csv", index=False)
    return h


def run(capsys, *words):
    with pytest.raises(SystemExit) as left:
        main(["leaderboard", *words])
    out, err = capsys.readouterr()
    return left.value.code, out, err


def test_ask_then_rate(arena, capsys):
    code, out, err = run(
        capsys, "pool.csv", "--weak", "judge", "--strong", "human", "--ask", "200", "--seed", "2", "-o", "asked.csv"
    )
    assert (code, err) == (0, "")
    assert "200 of 1,200 comparisons" in out
    asked = pd.read_csv("asked.csv")
    asked.assign(human=np.where(asked["selected"], arena, np.nan)).to_csv("voted.csv", index=False)
    code, out, err = run(
        capsys, "voted.csv", "--weak", "judge", "--strong", "human", "--json", "--picture", "board.svg"
    )
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["labels"] == 200
    assert found["items"] == 1200
    assert [m["rank"] for m in found["models"]] == [1, 2, 3, 4]
    assert found["models"][0]["low"] < found["models"][0]["rating"] < found["models"][0]["high"]
    with open("board.svg", encoding="utf-8") as file:
        assert "<svg" in file.read()


def test_the_rate_column_is_used_unless_another_is_named(arena, capsys):
    table = pd.read_csv("all.csv")
    rates = np.where(table["model_a"] == "ada", 0.9, 0.15)
    table["human"] = np.where(np.random.default_rng(1).random(1200) < rates, table["human"], np.nan)
    table.assign(rate=rates).to_csv("voted.csv", index=False)
    table.assign(p=rates).to_csv("other.csv", index=False)
    one, two, three = (
        json.loads(run(capsys, *words, "--weak", "judge", "--strong", "human", "--json")[1])["models"]
        for words in (["voted.csv"], ["other.csv", "--rate", "p"], ["other.csv"])
    )
    assert one == two
    assert one != three


def test_text_shows_every_model_and_says_what_holds(arena, capsys):
    code, out, _ = run(capsys, "all.csv", "--strong", "human")
    assert code == 0
    assert all(name in out for name in ("ada", "bob", "cleo", "dan"))
    assert "hold for all models at once" in out
    assert "95% interval" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["pool.csv", "--strong", "human"], "human"),
        (["all.csv", "--strong", "human", "-o", "x.csv"], "--output is for the table that --ask writes"),
        (["pool.csv", "--strong", "human", "--ask", "5"], "--ask needs --weak"),
        (["all.csv", "--strong", "human", "--picture", "x.pdf"], ".svg or .png"),
        (["all.csv", "--strong", "human", "--level", "1.5"], "level must be in (0, 1)"),
    ],
)
def test_mistakes_are_one_line_and_exit_2(arena, capsys, words, said):
    code, out, err = run(capsys, *words)
    assert (code, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
