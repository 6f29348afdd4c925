"""What commands print in narrow terminals: lines fit, names stay whole where they can, words are not broken."""

import io
import os
import re

import numpy as np
import pytest
from typer.testing import CliRunner

import ratewise as rw
from ratewise.cli import console
from ratewise.cli.main import app, named_groups
from ratewise.report.terminal import text_of

MODELS = ("gpt-oss-large-instruct", "some-other-model-v4", "mistral-medium", "small-model")


def results():
    """A result of each command with a table, its names that must be whole at 80 columns."""
    rng = np.random.default_rng(8)
    g = rng.beta(4, 1, 600)
    h = (rng.random(600) < g).astype(float)
    topics = np.array(["medicine and law", "sport", "arithmetic"] * 200)
    table = {"g": g, "h": h, "topic": topics, "g2": 0.9 * g, "h2": h * (rng.random(600) < 0.9), "g3": g, "h3": 1.0 - h}
    names = MODELS[:3]
    columns = ({n: f"{kind}{k}" for n, k in zip(names, ("", "2", "3"), strict=True)} for kind in "gh")
    weak, strong = columns
    a, b = rng.integers(0, 4, 400), rng.integers(1, 4, 400)
    votes = {"model_a": np.array(MODELS)[a], "model_b": np.array(MODELS)[(a + b) % 4], "v": rng.integers(0, 2, 400)}
    prices = {"weak_cost": 0.01, "strong_cost": 1.0}
    return {
        "slices": (rw.estimate_slices(table, weak="g", strong="h", by="topic"), set(topics)),
        "compare": (rw.compare_many(table, weak=weak, strong=strong, baseline=names[2]), set(names)),
        "leaderboard": (rw.leaderboard(votes, strong="v"), set(MODELS)),
        "plan": (rw.plan(table, weak="g", strong="h", budget=300, **prices), {"active"}),
        "estimate": (rw.estimate_table(table, weak="g", strong="h"), set()),
    }


@pytest.fixture(scope="module")
def found():
    return results()


@pytest.mark.parametrize("width", [80, 60])
@pytest.mark.parametrize("name", ["slices", "compare", "leaderboard", "plan", "estimate"])
def test_no_line_is_wider_than_the_terminal_and_no_word_is_broken(found, name, width):
    result, names = found[name]
    screen = console.console(file=io.StringIO(), width=width, highlight=False)
    screen.print(text_of(result))
    said = screen.file.getvalue()
    assert max(map(len, said.splitlines())) <= width
    assert "…" not in said or width < 80
    if width == 80:
        assert all(one in said for one in names)
    words = set(re.findall(r"[A-Za-z]{4,}", " ".join(part.text for part in result.document() if hasattr(part, "text"))))
    assert words <= set(re.findall(r"[A-Za-z]{4,}", said))


def test_messages_are_broken_between_words_and_commands_stay_whole(monkeypatch):
    monkeypatch.setattr(console.shutil, "get_terminal_size", lambda: os.terminal_size((40, 20)))
    path = "a/very/long/path/to-a-file/that-nobody/should-break.csv"
    said = console._wrapped(f"note: this goes over the end of the line, see {path} for more of it")
    lines = said.split("\n")
    assert all(len(line) <= 40 or path in line for line in lines)
    assert path in said
    assert all(line.startswith("      ") for line in lines[1:])


@pytest.mark.parametrize("columns", ["80", "60"])
def test_help_groups_the_commands_and_cuts_no_summary(columns, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    told = CliRunner().invoke(app, ["--help"], terminal_width=int(columns)).output
    assert "..." not in told.split("Options:")[1]
    assert max(map(len, told.splitlines())) <= int(columns)
    places = [told.index(f"{title}:") for title in named_groups()]
    assert places == sorted(places)
    listed = re.findall(r"^  ([a-z]+)  +\S", told, re.MULTILINE)
    assert sorted(listed) == sorted(name for names in named_groups().values() for name in names)
