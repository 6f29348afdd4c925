"""`ratewise check`: exit codes, JSON, a summary file, and what it refuses."""

import json
from pathlib import Path

import pytest

import ratewise as rw

from ..campaign.making import judged, ran
from ..campaign.making import write as write_campaign

COLUMNS = ("--weak", "judge", "--strong", "human")


@pytest.fixture
def table(write, rated):
    return write("rated.csv", rated)


@pytest.mark.parametrize(("bar", "code", "verdict"), [(0.5, 0, "yes"), (0.99, 1, "no"), (0.78, 5, "cannot tell")])
def test_the_exit_code_is_the_verdict(run, table, rated, bar, code, verdict):
    done = run("check", table, *COLUMNS, "--at-least", bar, "--json")
    assert (done.code, done.document["verdict"]) == (code, verdict)
    same = rw.check(rated, weak="judge", strong="human", at_least=bar).to_dict()
    assert done.document == json.loads(json.dumps(same))
    assert (done.document["labels_needed"] is None) == (verdict != "cannot tell")
    words = run("check", table, *COLUMNS, "--at-least", bar)
    assert (words.code, words.out) == (code, done.document["sentence"] + "\n")


def test_a_process_leaves_with_the_code(process, table):
    assert process("check", table, *COLUMNS, "--at-least", 0.99).code == 1
    assert process("check", table, *COLUMNS, "--at-least", 0.78).code == 5


def test_the_last_release_with_columns_of_other_names(run, write, table, rated):
    last = write("last.csv", {"key": rated["id"], "j": rated["judge"], "h": rated["human"], "p": rated["rate"]})
    done = run(
        "check", table, *COLUMNS, "--no-worse-than", last, "--margin", 0.2, "--last-weak", "j", "--last-strong", "h",
        "--last-rate", "p", "--json",
    )  # fmt: skip
    assert (done.code, done.document["verdict"], done.document["bar"]) == (0, "yes", -0.2)
    assert done.document["comparison"]["paired"] is False


def test_the_summary_is_markdown(run, table):
    done = run("check", table, *COLUMNS, "--at-least", 0.78, "--summary", "check.md")
    assert done.code == 5
    text = Path("check.md").read_text(encoding="utf-8")
    assert text.startswith("### ❓ cannot tell yet: is the mean at least 0.78?")
    assert done.out.strip() in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "ask one thing: --at-least (such as 0.8), or --no-worse-than (a table) with --margin"),
        (("--no-worse-than", "rated.csv"), "give --margin, such as 0.02"),
        (("--at-least", 0.8, "--low", 0), "give both ends"),
        (("--at-least", 0.8, "--summary", "nowhere/check.md"), "does not exist; make it first"),
    ],
)
def test_refusals_take_one_line_and_exit_code_2(run, table, options, words):
    done = run("check", table, *COLUMNS, *options)
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert words in done.err


def test_a_bar_in_the_wrong_unit_is_one_line_with_what_was_meant(run, table):
    for options, meant in (
        (("--at-least", 97), "97%"),
        (("--no-worse-than", table, "--margin", 1), "1pp"),
        (("--at-least", "2", "--low", 0, "--high", 1), "--at-least 2 is outside the ratings"),
    ):
        done = run("check", table, *COLUMNS, *options)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
        assert meant in done.err
    assert run("check", table, *COLUMNS, "--at-least", "50%").code == 0
    assert run("check", table, *COLUMNS, "--no-worse-than", table, "--margin", "99pp").code == 0


@pytest.mark.parametrize(("option", "code"), [((), 5), (("--cannot-tell", "pass"), 0), (("--cannot-tell", "fail"), 1)])
def test_what_cannot_be_told_passes_or_fails_as_ci_wants(run, table, option, code):
    done = run("check", table, *COLUMNS, "--at-least", 0.78, *option, "--json")
    assert (done.code, done.document["verdict"]) == (code, "cannot tell")
    assert run("check", table, *COLUMNS, "--at-least", 0.5, *option).code == 0
    assert run("check", table, *COLUMNS, "--at-least", 0.99, *option).code == 1


def test_a_campaign_is_checked_by_its_own_estimate(run, tmp_path):
    campaign = ran(tmp_path, judged(400), goal='budget = "80"')
    toml, found = str(campaign.spec.path), campaign.estimate()
    campaign.export(tmp_path / "out.csv")
    for place in (toml, tmp_path / "out.csv"):
        done = run("check", place, "--at-least", "10%", "--json")
        assert (done.code, done.document["verdict"]) == (0, "yes")
        told = done.document["estimate"]
        assert (told["value"], told["low"], told["high"]) == (found.value, found.low, found.high)
    other = ran(tmp_path / "last", judged(400, seed=9), goal='budget = "80"')
    done = run("check", toml, "--no-worse-than", other.spec.path, "--margin", "30pp", "--json")
    assert (done.code, done.document["verdict"]) == (0, "yes")
    two = done.document["comparison"]
    assert (two["first"]["value"], two["second"]["value"]) == (found.value, other.estimate().value)
    assert two["first"]["estimand"] == "pool"
    assert run("check", tmp_path / "nowhere.toml", "--at-least", 0.5).code == 2


def test_a_campaign_without_an_estimate_says_so(run, tmp_path):
    path = write_campaign(tmp_path, judged(400), goal='budget = "80"')
    done = run("check", path, "--at-least", 0.5)
    assert (done.code, done.err.count("\n")) == (2, 1)
