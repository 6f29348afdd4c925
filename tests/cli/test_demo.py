"""`ratewise demo`: a campaign on made-up data, killed once, with the truth beside the estimate."""

import csv
from pathlib import Path

import pytest

FILES = {"pilot.csv", "pool.csv", "answers.jsonl", "campaign.toml", "demo.sqlite", "rated.csv", "report.html"}


def column(name: str, column: str) -> list[str]:
    with open(name, encoding="utf-8", newline="") as file:
        return [row[column] for row in csv.DictReader(file)]


@pytest.fixture(scope="module")
def shown(tmp_path_factory, run_in):
    """One demo for all that only look at it."""
    folder = tmp_path_factory.mktemp("demo")
    return folder, run_in(folder, "demo", "-o", "here", "--json")


def test_json(shown):
    folder, done = shown
    assert (done.code, done.err) == (0, "")
    found = done.document
    assert found["made_up"] is True
    assert found["estimate"]["low"] <= found["truth"] <= found["estimate"]["high"]
    assert {file.name for file in (folder / "here").iterdir()} >= FILES
    assert found["verify"]["passed"] is True
    assert float(found["status"]["spent"]) == found["estimate"]["spend"] <= 400


def test_it_was_killed_and_went_on(shown):
    _, done = shown
    killed, status = done.document["killed"], done.document["status"]
    assert killed is not None
    assert killed["ended"] is None
    assert 120 <= killed["labels"] < status["labels"]
    assert status["ended"] == "every item has been looked at"  # and the budget is spent to the last label
    assert float(status["spent"]) > 0.998 * float(status["budget"])
    assert float(killed["spent"]) < float(status["spent"])


def test_what_was_saved_is_what_strong_ratings_alone_would_cost_more(shown):
    """By hand: base reaches the same variance around the pool's mean with n labels, V (1/n − 1/4000)."""
    found = shown[1].document
    value = found["estimate"]["value"]
    V = value * (1 - value)
    n = V / (found["estimate"]["standard_error"] ** 2 + V / 4000)
    assert found["saved"] == pytest.approx(n - found["estimate"]["spend"], rel=1e-9)
    assert found["saved"] > 0


def test_its_files_are_what_it_says(shown):
    folder, done = shown
    labels = sum(cell != "" for cell in column(folder / "here/rated.csv", "rating_human"))
    assert done.document["estimate"]["labels"] == labels == column(folder / "here/rated.csv", "selected").count("true")
    items = len(column(folder / "here/rated.csv", "position"))
    assert done.document["estimate"]["items"] == items
    assert done.document["estimate"]["spend"] == pytest.approx(items * 0.01 + labels)


def test_words_and_the_same_again(run, shown):
    """A second demo in the same folder begins anew and ends the same, though it is killed at another moment."""
    folder, done = shown
    words = run("demo", "-o", folder / "here")
    assert (words.code, words.err) == (0, "")
    (line,) = [line for line in words.out.splitlines() if line.startswith("The truth")]
    assert f"{done.document['truth']:.4f} (inside the interval)" in line
    assert "made-up" in words.out
    assert "nothing differs" in words.out
    assert f"estimate        {done.document['estimate']['value']:.4f}" in words.out


def test_a_folder_that_cannot_be_made(run):
    Path("taken").write_text("mine", encoding="utf-8")
    done = run("demo", "-o", "taken")
    assert (done.code, done.out) == (2, "")
    (line,) = done.err.splitlines()
    assert line.startswith("ratewise: taken cannot be made")
    assert Path("taken").read_text(encoding="utf-8") == "mine"
