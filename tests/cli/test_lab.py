"""`ratewise simulate`: the JSON that is promised, files, refusals, and a real Ctrl-C."""

import csv
import json
import math
import os
import re
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import ratewise
from ratewise.lab import simulate as module

from ..waiting import until

COLUMNS = ("--weak", "judge", "--strong", "human")
SMALL = (*COLUMNS, "--cost-ratio", 0.05, "--budgets", "20,60", "--burn-in", 30, "--trials", 20, "--workers", 1)
PROMISED = {  # the interface's words
    "method", "budget", "trials", "mse", "mse_low", "mse_high", "bias", "bias_se", "coverage", "width", "spend_mean",
    "spend_max", "effective_budget", "error_ratio",
}  # fmt: skip


@pytest.fixture
def rated(write, pilot):
    return write("rated.csv", pilot)


def test_json_is_as_promised(run, rated, pilot):
    done = run("simulate", rated, *SMALL, "--json")
    assert (done.code, done.err) == (0, "")
    document = done.document
    assert set(document) >= {"theta", "variance", "items", "settings", "results"}
    assert document["items"] == len(pilot["human"])
    assert document["theta"] == pytest.approx(sum(pilot["human"]) / len(pilot["human"]))
    assert document["variance"] == pytest.approx(document["theta"] * (1 - document["theta"]))
    assert document["partial"] is False
    settings = document["settings"]
    assert (settings["burn_in"], settings["trials"], settings["budgets"]) == (30, 20, [20, 60])
    assert (settings["cost_ratio"], settings["mode"], settings["seed"]) == (0.05, "stream", 0)
    expected = [(m, B) for m in ("base", "paper-random", "paper-active", "oracle", "auto") for B in (20, 60)]
    assert [(r["method"], r["budget"]) for r in document["results"]] == expected
    for r in document["results"]:
        assert set(r) >= PROMISED
        assert all(isinstance(r[name], int | float) for name in PROMISED - {"method"})
        assert r["spend_mean"] <= r["spend_max"] <= r["budget"]
        assert r["error_ratio"] == pytest.approx(r["mse"] * (30 + r["budget"]) / document["variance"])
        assert r["trials"] == 20


def test_all_methods_in_a_pool(run, rated):
    methods = "base, paper-random,paper-active,oracle,ppi++,active-fixed,auto"
    done = run("simulate", rated, *SMALL, "--mode", "pool", "--methods", methods, "--fixed-rate", 0.3, "--json")
    assert done.code == 0, done.err
    assert done.document["settings"]["methods"] == [word.strip() for word in methods.split(",")]
    assert done.document["settings"]["mode"] == "pool"
    assert done.document["settings"]["fixed_rate"] == 0.3


def test_the_command_is_the_function(run, rated):
    done = run("simulate", rated, *SMALL, "--seed", 4, "--level", 0.8, "--methods", "oracle,base", "--json")
    found = module.simulate(
        rated, weak="judge", strong="human", cost_ratio=0.05, budgets=[20, 60], burn_in=30, trials=20, seed=4,
        level=0.8, methods=["oracle", "base"], workers=1,
    )  # fmt: skip
    assert done.document == json.loads(json.dumps(found.to_dict()))


def test_seeds(run, rated):
    first, again, other = (run("simulate", rated, *SMALL, "--seed", seed, "--json").out for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_words(run, rated):
    done = run("simulate", rated, *SMALL)
    assert (done.code, done.err) == (0, "")
    for word in ("base", "paper-random", "paper-active", "oracle", "20 trials on 260 items", "covers", "spend"):
        assert word in " ".join(done.out.split()), word
    assert "nan" not in done.out
    assert max(map(len, done.out.splitlines())) <= 120


def test_files(run, rated):
    done = run("simulate", rated, *SMALL, "--csv", "found.csv", "--picture", "found.png", "--json")
    assert done.code == 0
    with open("found.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    results = done.document["results"]
    assert len(rows) == len(results) == 10
    for row, r in zip(rows, results, strict=True):
        assert row["method"] == r["method"]
        assert all(float(row[name]) == r[name] for name in PROMISED - {"method"})
    assert Path("found.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_standard_input_and_a_transfer(run, write, csv_text, pilot, pool):
    write("other.csv", {"judge": pool["judge"], "human": pool["truth"]})
    arguments = (*COLUMNS, "--cost-ratio", 0.05, "--budgets", 50, "--trials", 10, "--workers", 1, "--json")
    done = run("simulate", "-", *arguments, "--transfer-from", "other.csv", stdin=csv_text(pilot).encode())
    assert done.code == 0, done.err
    assert done.document["settings"]["transfer"] is True
    assert done.document["settings"]["burn_in"] == 0


def test_one_rating_has_an_interval_and_nothing_is_not_a_number(run, rated):
    """It says next to nothing, so the interval excludes next to nothing."""
    arguments = (
        *COLUMNS,
        "--cost-ratio",
        0.5,
        "--budgets",
        1.5,
        "--burn-in",
        0,
        "--trials",
        5,
        "--workers",
        1,
        "--json",
    )
    done = run("simulate", rated, *arguments)
    assert done.code == 0, done.err
    assert done.document["results"][0]["width"] > 0.9
    assert "NaN" not in done.out


# Refusals


def options(**changed):
    given = {"cost-ratio": 0.05, "budgets": "20,60", "burn-in": 30, "trials": 20, "workers": 1} | changed
    return (*COLUMNS, *(word for name, value in given.items() for word in (f"--{name}", value)))


REFUSED = {  # what is wrong: table, options, words
    "missing file": ("nowhere", options(), ["nowhere.csv", "does not exist"]),
    "missing strong ratings": ("hole", options(), ["2 rows", "'human'", "row 3", "fully rated"]),
    "missing weak rating": ("weak-hole", options(), ["'judge'", "row 4"]),
    "strong ratings all equal": ("constant", options(), ["all equal"]),
    "budget below one label": ("pilot", options(budgets="100,1"), ["budget 1", "below one label", "1.05"]),
    "budget in words": ("pilot", options(budgets="100,lots"), ["budgets", "lots"]),
    "no budget": ("pilot", options(budgets=","), ["no budget"]),
    "unknown method": ("pilot", options(methods="base,magic"), ["magic", "paper-active"]),
    "no method": ("pilot", options(methods=","), ["no method"]),
    "burn-in larger than the table": ("pilot", options(**{"burn-in": 261}), ["261", "260"]),
    "burn-in too small": ("pilot", options(**{"burn-in": 3}), ["--burn-in", "3"]),
    "cost ratio 0": ("pilot", options(**{"cost-ratio": 0}), ["--cost-ratio", "above 0"]),
    "cost ratio in words": ("pilot", options(**{"cost-ratio": "low"}), ["--cost-ratio"]),
    "unknown mode": ("pilot", options(mode="river"), ["river", "stream"]),
    "one trial": ("pilot", options(trials=1), ["trials"]),
    "no workers": ("pilot", options(workers=0), ["workers"]),
    "fixed rate 0": ("pilot", options(**{"fixed-rate": 0}), ["--fixed-rate"]),
    "unknown column": ("pilot", options(strong="humam"), ["did you mean 'human'"]),
    "missing option": ("pilot", COLUMNS, ["--cost-ratio"]),
    "transfer from nowhere": ("pilot", options(**{"transfer-from": "nowhere.csv"}), ["nowhere.csv"]),
    # These two are noticed only once all trials are done, and then nothing of them is kept.
    "picture of another kind": ("pilot", options(csv="found.csv", picture="found.gif"), [".svg", ".png", "found.gif"]),
    "no folder": ("pilot", options(picture="found.svg", csv="nowhere/found.csv"), ["nowhere"]),
}  # fmt: skip


@pytest.mark.parametrize("as_json", [False, True], ids=["words", "json"])
@pytest.mark.parametrize("what", list(REFUSED))
def test_refusals(run, write, pilot, what, as_json):
    n = len(pilot["human"])
    tables = {
        "pilot": pilot,
        "hole": {**pilot, "human": [None if i in (2, 7) else x for i, x in enumerate(pilot["human"])]},
        "weak-hole": {**pilot, "judge": [None if i == 3 else x for i, x in enumerate(pilot["judge"])]},
        "constant": {**pilot, "human": [1.0] * n},
    }
    table, arguments, words = REFUSED[what]
    if table in tables:
        write(f"{table}.csv", tables[table])
    before = sorted(Path().iterdir())
    done = run("simulate", f"{table}.csv", *arguments, *["--json"] * as_json)
    assert (done.code, done.out) == (2, ""), done
    (line,) = done.err.splitlines()
    assert line.startswith("ratewise: ")
    assert line.isprintable()
    assert all(word in line for word in words), line
    assert sorted(Path().iterdir()) == before


@pytest.mark.parametrize("what", ["picture of another kind", "no folder"])
def test_files_that_cannot_be_written_are_refused_before_the_trials(run, rated, monkeypatch, what):
    """Hours of trials must not be lost for a file's name."""
    asked = []
    monkeypatch.setattr(module, "simulate_lab", lambda *_, **__: asked.append(1) or pytest.fail("trials were run"))
    _, arguments, _ = REFUSED[what]
    assert run("simulate", rated, *arguments).code == 2
    assert not asked


# Ctrl-C

MANY = 1_000_000


@pytest.fixture
def long_run(write, pool):
    """A simulation of a million trials as a process in a group of its own, as a shell starts it.

    The table is large enough that a task for a worker does not fit a pipe's buffer.
    """
    started = []
    write("pool.csv", {"judge": 60 * pool["judge"], "human": 60 * pool["truth"]})

    def start(*arguments, **streams):
        command = [sys.executable, "-m", "ratewise.cli.main", "simulate", "pool.csv", *COLUMNS, "--cost-ratio", "0.05"]
        command += ["--budgets", "50,200", "--trials", str(MANY), *map(str, arguments)]
        environment = {**os.environ, "PYTHONPATH": str(Path(ratewise.__file__).parents[1]), "COLUMNS": "120"}
        process = subprocess.Popen(command, start_new_session=True, env=environment, stdout=subprocess.PIPE, **streams)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def interrupted(process):
    """Ctrl-C as a terminal sends it, to the whole group; what was written, within three seconds."""
    os.killpg(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=3)
    until(lambda: not group_lives(process.pid), seconds=3, why=lambda: "workers outlive the command")
    return out.decode(), "" if err is None else err.decode()


def group_lives(group):
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.skipif(os.name != "posix", reason="process groups and terminals of POSIX")
def test_ctrl_c_gives_the_trials_done(long_run):
    """At a terminal as soon as the bar counts; then as JSON after about the same time, also with two workers."""
    import pty

    start, (ours, theirs) = time.monotonic(), pty.openpty()
    process = long_run("--workers", 1, stderr=theirs)
    os.close(theirs)
    seen = read_until(ours, rf"\b[1-9]\d*/{MANY}", seconds=60)
    wait = time.monotonic() - start
    assert "trials" in seen
    out, _ = interrupted(process)
    seen += read_until(ours, None, seconds=1)
    os.close(ours)
    assert process.returncode == 130, seen
    assert "partial, stopped after" in out
    assert "paper-active" in out
    assert "Traceback" not in seen
    check_json(*stopped_json(long_run, 1, wait + 0.5))
    check_json(*stopped_json(long_run, 2, 2 * wait + 0.5))


def stopped_json(long_run, workers, wait):
    """Standard output and error of a run that was stopped once it had done some trials, however slow the machine."""
    for more in (1, 2, 4):
        process = long_run("--workers", workers, "--json", stderr=subprocess.PIPE)
        time.sleep(wait * more)
        out, err = interrupted(process)
        assert process.returncode == 130, err
        assert "Traceback" not in err, err
        if out:
            break
    return out, err


def check_json(out, err):
    document = json.loads(out)
    assert document["partial"] is True
    done = document["settings"]["trials"]
    assert 0 < done < MANY
    assert done % 50 == 0  # whole blocks
    assert all(r["trials"] == done and math.isfinite(r["mse"]) for r in document["results"])
    lines = [line for line in err.splitlines() if line]
    # With two workers and a large table, loky's resource tracker adds two lines on "leaked semlock objects".
    assert lines == [f"ratewise: warning: stopped after {done} of {MANY} trials; these results are partial"]


def read_until(terminal, pattern, *, seconds):
    """What comes until the pattern does; until the end without one."""
    text, deadline = "", time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not select.select([terminal], [], [], 0.1)[0]:
            continue
        try:
            text += os.read(terminal, 65536).decode(errors="replace")
        except OSError:  # the other end is closed
            return text
        if pattern is not None and re.search(pattern, text):
            return text
    assert pattern is None, f"nothing like {pattern} within {seconds} s: {text}"
    return text


def test_ctrl_c_before_the_first_trial_is_one_line(run, rated, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "simulate_lab", stopped)
    done = run("simulate", rated, *SMALL, "--json")
    assert (done.code, done.out) == (130, "")
    # Typer turns the interrupt into exit code 130 by itself, and main's own line is never printed.
    assert done.err.strip() == "ratewise: stopped"
