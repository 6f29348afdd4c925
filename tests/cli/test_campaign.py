"""`ratewise init`, `run`, `status`, `report`, `export` and `verify`, as a user types them."""

import csv
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

import ratewise

from ..tomls import rater, toml_of
from ..waiting import until

SOURCE = str(Path(ratewise.__file__).parents[1])

TOML = toml_of(rater("judge", price="0.01"), rater("human", column="truth"), top="seed = 3", goal='budget = "{budget}"')


@pytest.fixture
def items(write):
    """A judge that is worth its price: sure of most answers, and right to be."""
    rng = np.random.default_rng(53)
    judge = np.round(rng.beta(0.6, 0.2, 900), 4)
    columns = {
        "id": [f"ä{i:03d}" for i in range(900)],
        "judge": judge,
        "truth": (rng.random(900) < judge).astype(float),
    }
    return write("items.csv", {name: list(values) for name, values in columns.items()})


@pytest.fixture
def toml(items):
    Path("campaign.toml").write_text(TOML.format(budget=40), encoding="utf-8")
    return "campaign.toml"


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A folder for the campaign that `played` has run."""
    return tmp_path_factory.mktemp("played")


@pytest.fixture
def played(run, toml, kept):
    """The campaign at its end, in this folder, and what `run --json` said; run once and copied."""
    said = kept / "said.json"
    if said.exists():
        shutil.copytree(kept, ".", dirs_exist_ok=True)
    else:
        done = run("run", toml, "--json")
        assert (done.code, done.err) == (0, "")
        shutil.copytree(".", kept, dirs_exist_ok=True)
        said.write_text(done.out, encoding="utf-8")
    return json.loads(said.read_text(encoding="utf-8"))


def rows(name):
    with open(name, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_init_then_run_works_at_once(run):
    done = run("init", "--table")
    assert done.code == 0
    assert "ratewise run campaign.toml" in done.out
    own = Path("campaign.toml").read_text(encoding="utf-8")
    Path("campaign.toml").write_text(re.sub(r"(?m)^seed = \d+", "seed = 7", own), encoding="utf-8")  # any seed is new
    found = run("run", "campaign.toml", "--json")
    assert (found.code, found.err) == (0, "")
    document = found.document
    assert document["reason"] == document["ended"] == "the budget is spent"
    assert float(document["spent"]) + float(document["left"]) == 200
    assert float(document["left"]) < 1.01
    truth = sum(int(row["human"]) for row in rows("items.csv")) / 2000
    assert document["result"]["low"] < truth < document["result"]["high"]


def test_init_overwrites_nothing(run):
    Path("campaign.toml").write_text("mine", encoding="utf-8")
    done = run("init")
    assert done.code == 2
    assert len(done.err.splitlines()) == 1
    assert Path("campaign.toml").read_text(encoding="utf-8") == "mine"


def test_words_say_what_json_says(run, toml):
    words = run("run", toml)
    assert (words.code, words.err) == (0, "")
    document = run("status", toml, "--json").document
    assert document["running"] is False
    paid = {name: Decimal(amount) for name, amount in document["spent_by"].items()}
    assert list(paid) == ["judge", "human"]
    assert sum(paid.values()) == Decimal(document["spent"])
    assert paid["human"] == document["labels"]  # at a price of 1
    assert f"{document['estimate']['value']:.4f}" in words.out
    assert f"{float(document['spent']):,.2f} of 40.00 spent" in words.out
    again = run("status", toml)
    assert "the budget is spent" in again.out
    assert f"{document['looked']:,} of 900 looked at" in again.out


def test_a_second_run_buys_nothing(run, toml, played):
    assert run("run", toml, "--json").document == played


def test_budget_up_goes_on(run, toml, played):
    first = played
    Path(toml).write_text(TOML.format(budget=70), encoding="utf-8")
    second = run("run", toml, "--json").document
    assert float(first["spent"]) <= 40 < float(second["spent"]) <= 70
    assert second["result"]["interval"].startswith("anytime")  # the goal was changed after looking


@pytest.mark.parametrize(
    ("old", "new", "word"),
    [("seed = 3", "seed = 4", "seed"), ('"binary"', '"pairwise"', "rating"), ("0.01", "0.02", "price")],
)
def test_what_would_spoil_the_statistics_is_refused(run, toml, played, old, new, word):
    text = Path(toml).read_text(encoding="utf-8")
    Path(toml).write_text(text.replace(old, new), encoding="utf-8")
    done = run("run", toml)
    assert done.code == 2
    assert word in done.err
    Path(toml).write_text(text, encoding="utf-8")
    assert run("status", toml, "--json").document["spent"] == played["spent"]


def test_export_is_what_estimate_reads(run, toml, played):
    status = played
    for name in ("rated.csv", "rated.jsonl", "rated.parquet"):
        done = run("export", toml, "-o", name, "--json")
        assert done.document["rows"] == status["looked"]
        found = run(
            "estimate", name, "--weak", "rating_judge", "--strong", "rating_human", "--selected", "selected", "--json"
        ).document
        assert (found["items"], found["labels"]) == (status["looked"], status["labels"])
        assert found["low"] < status["result"]["value"] < found["high"]
    exported = {row["id"]: row for row in rows("rated.csv")}
    for row in rows("items.csv"):
        if row["id"] in exported:
            mine = exported[row["id"]]
            assert float(mine["rating_judge"]) == float(row["judge"])
            assert mine["rating_human"] == (str(float(row["truth"])) if mine["selected"] == "true" else "")


def test_the_ledger_adds_up(run, toml, played):
    status = played
    run("export", toml, "-o", "ledger.csv", "--ledger")
    ledger = rows("ledger.csv")
    settled = [row for row in ledger if row["kind"] == "settle"]
    assert sum(float(row["amount"]) for row in settled) == pytest.approx(float(status["spent"]))
    assert sum(row["rater"] == "human" for row in settled) == status["labels"]


@pytest.mark.usefixtures("played")
def test_verify_passes_and_finds_a_difference(run, toml):
    done = run("verify", toml)
    assert (done.code, done.err) == (0, "")
    assert "nothing differs" in done.out
    with sqlite3.connect("campaign.sqlite") as connection:
        connection.execute("DROP TRIGGER guard_draws_update")
        connection.execute("UPDATE draws SET rate = rate / 2 WHERE position = (SELECT max(position) FROM draws)")
    connection.close()
    done = run("verify", toml, "--json")
    assert done.code == 4
    assert done.document["passed"] is False
    assert any("rate" in text for text in done.document["differences"])


def test_report_is_one_page_that_loads_nothing(run, toml, played):
    status = played
    done = run("report", toml, "-o", "r.html", "--json")
    assert done.document["estimate"] == status["result"]
    page = Path("r.html").read_text(encoding="utf-8")
    assert f"{100 * status['result']['value']:.1f}" in page
    assert "Round by round" in page
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org", "").replace("http://purl.org", "").replace(
        "http://creativecommons.org", ""
    )
    assert "<script" not in page


@pytest.mark.usefixtures("played")
def test_a_name_full_of_markup_stays_text(run, toml):
    """Notes and names come from outside."""
    with sqlite3.connect("campaign.sqlite") as connection:
        connection.execute("INSERT INTO events (at, text) VALUES ('now', '<script>alert(1)</script>')")
    connection.close()
    run("report", toml, "-o", "r.html")
    page = Path("r.html").read_text(encoding="utf-8")
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("command", ["status", "report", "verify"])
def test_before_it_has_begun(run, toml, command):
    done = run(command, toml)
    assert (done.code, done.out) == (2, "")
    assert "has not begun" in done.err
    assert not Path("campaign.sqlite").exists()


def test_every_mistake_of_the_toml_in_a_line_each(run):
    Path("bad.toml").write_text('sede = 3\n[goal]\nbudget = "lots"\n', encoding="utf-8")
    done = run("run", "bad.toml")
    assert done.code == 2
    assert len(done.err.splitlines()) >= 4
    assert "bad.toml:3" in done.err
    assert "did you mean" in done.err


def test_missing_column_is_named(run, toml):
    text = Path(toml).read_text(encoding="utf-8").replace('column = "truth"', 'column = "thruth"')
    Path(toml).write_text(text, encoding="utf-8")
    done = run("run", toml)
    assert done.code == 2
    (line,) = done.err.splitlines()
    assert "thruth" in line
    assert "did you mean 'truth'" in line


def labels(campaign):
    """How many there are; none before it has begun."""
    try:
        return campaign.status().labels
    except ratewise.InputError:
        return 0


def test_ctrl_c_keeps_everything_and_exits_130(items):
    """A slow rater in a real process; one Ctrl-C lets the calls under way end."""
    Path("slow.py").write_text(
        "import time\ndef rate(item):\n    time.sleep(0.05)\n    return item['truth']\n", encoding="utf-8"
    )
    text = TOML.format(budget=40).replace(
        'kind = "column"\ncolumn = "truth"', 'kind = "python"\nfunction = "slow:rate"'
    )
    Path("c.toml").write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "ratewise.cli.main", "run", "c.toml", "--json"]
    environment = {**os.environ, "PYTHONPATH": SOURCE}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as process:
        campaign = ratewise.Campaign.open("c.toml")
        until(lambda: labels(campaign) >= 5)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    document = json.loads(out)
    assert document["reason"] == "stopped"
    assert document["labels"] >= 5
    assert document["ended"] is None
    assert campaign.run() == "the budget is spent"
    assert campaign.verify().passed


def test_in_python_results_print_well(toml):
    campaign = ratewise.Campaign.open(toml)
    campaign.begin()
    assert (campaign.status().pool, campaign.status().looked, campaign.status().spent) == (900, 0, 0)
    assert "no round is complete yet" in str(campaign.status())
    campaign.run()
    status, verified = campaign.status(), campaign.verify()
    assert str(status).startswith("campaign: the budget is spent; 3")
    assert f"{status.estimate.value:.4f}" in str(status)
    assert f">{status.labels} in</td>" in status._repr_html_()
    assert "nothing differs" in str(verified)


def test_init_from_a_table_says_what_it_guessed_and_the_campaign_runs(run, items):
    done = run("init", "--from", items, "mine.toml")
    assert (done.code, done.err) == (0, "")
    lines = [line.split() for line in done.out.splitlines()]
    assert ["weak", "rating", "judge"] in lines
    assert ["strong", "rating", "truth"] in lines
    assert "Look at the prices (0.01 and 1) and the budget (99)" in done.out
    assert run("run", "mine.toml").code == 0
    document = run("init", "--from", items, "other.toml", "--strong-cost", "2", "--json").document
    assert (document["weak"], document["strong"], document["to_change"]) == (
        "judge", "truth", ["the price (0.01)", "the budget (189)"],
    )  # fmt: skip
    for wrong in (["--table"], ["--weak", "nope"]):
        refused = run("init", "--from", items, "x.toml", *wrong)
        assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert run("init", "--weak", "judge").code == 2


def test_every_mistake_is_a_line_of_its_own(run, toml):
    text = Path(toml).read_text(encoding="utf-8")
    Path(toml).write_text(
        text.replace('"binary"', '"binry"').replace("budget", "bugdet").replace("seed = 3", 'seed = "3"')
    )
    for command in ("run", "status", "report", "verify"):
        done = run(command, toml)
        assert (done.code, done.out) == (2, "")
        first, *lines = done.err.splitlines()
        assert first == "ratewise: 3 mistakes:"
        assert [line.split(":")[:2] for line in lines] == [["campaign.toml", str(n)] for n in (1, 5, 7)]
