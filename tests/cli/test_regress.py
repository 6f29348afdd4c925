"""`ratewise regress` and `ratewise quantile`."""

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import ratewise
from ratewise.cli.estimate import quantile, regress
from ratewise.questions.quantiles import quantile_table
from ratewise.questions.regression import regress as run_regression

COLUMNS = ["--weak", "judge", "--strong", "human", "--rate", "rate"]


@pytest.fixture
def table(folder):
    rng = np.random.default_rng(3)
    T = 700
    x = rng.standard_normal(T)
    topic = np.array(["chat", "code", "rare"], dtype=object)[rng.choice(3, T, p=[0.6, 0.38, 0.02])]
    h = (rng.random(T) < 1 / (1 + np.exp(-(0.5 * x + 0.4 * (topic == "code"))))) * 1.0
    g = np.where(rng.random(T) < 0.1, 1 - h, h)
    asked = (rng.random(T) < 0.4) & (topic != "rare")
    columns = {"x": x, "topic": topic, "judge": g, "human": np.where(asked, h, np.nan), "rate": np.full(T, 0.4)}
    ratewise.write_table(ratewise.read_table(columns), "rated.csv")
    return "rated.csv"


@pytest.fixture
def call():
    app = typer.Typer()
    for command in (regress, quantile):
        app.command()(command)

    def run(*words):
        return CliRunner().invoke(app, [str(word) for word in words])

    return run


def test_json_is_what_python_gives(call, table):
    done = call("regress", table, *COLUMNS, "--on", "x,topic", "--family", "logistic", "--json")
    assert done.exit_code == 0
    expected = run_regression(table, weak="judge", strong="human", rate="rate", on=["x", "topic"], family="logistic")
    import json

    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_dict()))
    done = call("quantile", table, *COLUMNS, "--at", "0.2, 0.9", "--json")
    expected = quantile_table(table, weak="judge", strong="human", rate="rate", at=[0.2, 0.9])
    assert json.loads(done.stdout) == json.loads(json.dumps(expected.to_dict()))


def test_text_and_picture(call, table, folder):
    done = call("regress", table, *COLUMNS, "--on", "x,topic", "--family", "logistic", "--picture", "forest.svg")
    assert done.exit_code == 0
    assert "topic=code" in done.stdout
    assert "●" in done.stdout
    assert "topic=rare" in done.stdout
    assert "topic is against 'chat'" in done.stdout
    assert (folder / "forest.svg").read_text(encoding="utf-8").startswith("<?xml")
    done = call("quantile", table, *COLUMNS, "--at", "0.5,0.9", "--level", "0.9")
    assert "90% interval" in done.stdout


def test_strong_ratings_alone_and_clusters(call, table):
    done = call("regress", table, "--strong", "human", "--on", "x", "--no-intercept")
    assert "strong ratings alone" in " ".join(done.stdout.split())
    done = call("regress", table, *COLUMNS, "--on", "x", "--cluster", "topic", "--estimand", "pool")
    assert done.exit_code == 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["regress", "--on", "y"], "no column 'y'"),
        (["regress", "--on", "x", "--picture", "a.gif"], ".svg or .png"),
        (["regress", "--on", "x", "--level", "2"], "level"),
        (["regress", "--on", "x", "--estimand", "pool", "--pool-size", "3"], "--pool-size is 3"),
        (["quantile", "--at", "2"], "--at must be in"),
        (["quantile", "--at", "half"], "--at must be a number"),
        (["quantile", "--at", ","], "at least one quantile"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(call, table, words, message):
    done = call(words[0], table, *COLUMNS, *words[1:])
    assert done.exit_code == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""


def test_help_has_an_example(call):
    for command in ("regress", "quantile"):
        assert f"Example: ratewise {command}" in " ".join(call(command, "--help").stdout.split())
