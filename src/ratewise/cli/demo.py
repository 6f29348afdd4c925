"""`ratewise demo`: a made-up campaign, killed once and gone on with, beside the truth; or one to label."""

import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress

import numpy as np
from rich.text import Text

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.status import Status
from ratewise.cli.console import live, print_json, print_rich, say
from ratewise.errors import OutsideError
from ratewise.lab.worlds import calibrated
from ratewise.report.campaign import campaign_page
from ratewise.report.terminal import text_of
from ratewise.tables import read_table, write_table
from ratewise.tables.write import make_folder, write_text

POOL, PILOT = 4000, 200
WEAK_COST, STRONG_COST, BUDGET = 0.01, 1.0, 400.0
_SECONDS = 0.04  # that the made-up person takes for an answer, so that there is time to kill something
_KILL_AT = 120  # human ratings
_LONGEST = 120.0  # seconds

_TOML = f"""\
# Made up: 4,000 answers of an assistant, each with a judge's score; a "person" answers from a recording.
name = "demo"
seed = {{seed}}
claim = "The answer is right"

[items]
table = "pool.csv"

[rating]
kind = "binary"

[goal]
budget = "{BUDGET:g}"

[[raters]]
name = "judge"
kind = "column"
column = "judge"
price = "{WEAK_COST:g}"

[[raters]]
name = "human"
kind = "recorded"
file = "answers.jsonl"
price = "{STRONG_COST:g}"
concurrency = 8
"""


def run_demo(folder: str, *, seed: int, as_json: bool) -> None:
    """Make the pool, run, kill, go on, verify, report; all files are in `folder`."""

    def tell(text: str, style: str = "") -> None:
        if not as_json:
            print_rich(Text(text, style=style))

    make_folder(folder)
    truth = make_campaign(folder, seed)
    toml = os.path.join(folder, "campaign.toml")
    tell(
        f"A made-up pool: {POOL:,} answers, each with a judge's score. A person costs {STRONG_COST:g} each, the judge "
        f"costs {WEAK_COST:g}. The budget is {BUDGET:g}."
    )
    tell(f"\n1. ratewise run {toml}", "bold cyan")
    killed = run_and_kill(toml)
    if killed is None:
        tell("It was done before it could be killed.")
    else:
        tell(f"Killed (kill -9) after {killed.labels:,} human ratings, {killed.spent:,.2f} spent.", "red")
    tell(f"\n2. ratewise run {toml}   goes on where it was", "bold cyan")
    campaign = Campaign.open(toml)
    with live(quiet=as_json) as progress:
        campaign.run(progress=progress)
    found = campaign.estimate()
    assert found is not None
    write_text(os.path.join(folder, "report.html"), campaign_page(campaign, truth=truth))
    campaign.export(os.path.join(folder, "rated.csv"))
    ended, verified = campaign.status(), campaign.verify()
    V, error = found.value * (1 - found.value), (found.standard_error or 0.0) ** 2
    saved = STRONG_COST * V / (error + V / POOL) - float(ended.spent)  # strong ratings alone, on this pool, cost more
    if as_json:
        print_json({
            "made_up": True, "truth": truth, "folder": folder, "saved": saved,
            "estimate": {**found.to_dict(), "spend": float(ended.spent)},
            "killed": None if killed is None else killed.to_dict(), "status": ended.to_dict(),
            "verify": verified.to_dict(),
        })  # fmt: skip
        return
    print_rich(text_of(ended))
    tell(f"\n3. ratewise verify {toml}", "bold cyan")
    tell(verified.summary())
    tell("\n4. The result", "bold cyan")
    print_rich(text_of(found))
    low, high = found.interval or (truth, truth)
    verdict = "inside the interval" if low <= truth <= high else "outside the interval, as happens one time in twenty"
    tell(f"\nThe truth, known because the pool is made up: {truth:.4f} ({verdict}).", "bold")
    tell(f"Strong ratings alone would have cost {saved:,.0f} more for this precision.")
    tell(f"The report is {folder}/report.html.")


def make_campaign(folder: str, seed: int) -> float:
    """The pool, the person's answers and the TOML; returns the true mean. What an earlier demo left is removed."""
    for name in ("demo.sqlite", "demo.sqlite-wal", "demo.sqlite-shm", "demo.sqlite.lock", "campaign.unsaved.jsonl"):
        with suppress(FileNotFoundError):
            os.remove(os.path.join(folder, name))
    world = calibrated(PILOT + POOL, mean=0.8, spread=0.5, rng=np.random.default_rng(seed))
    ids = np.array([f"answer-{i:04d}" for i in range(PILOT + POOL)], dtype=object)
    judge, human = np.round(world.weak, 3), world.strong.astype(np.int64)
    both = {"id": ids[:PILOT], "judge": judge[:PILOT], "human": human[:PILOT]}
    write_table(read_table(both), os.path.join(folder, "pilot.csv"))  # for those who go on to plan by hand
    write_table(read_table({"id": ids[PILOT:], "judge": judge[PILOT:]}), os.path.join(folder, "pool.csv"))
    answers = zip(ids[PILOT:].tolist(), human[PILOT:].tolist(), strict=True)
    lines = "".join(json.dumps({"id": i, "rating": h, "seconds": _SECONDS}) + "\n" for i, h in answers)
    write_text(os.path.join(folder, "answers.jsonl"), lines)
    write_text(os.path.join(folder, "campaign.toml"), _TOML.format(seed=seed))
    return float(human[PILOT:].mean())


def run_and_kill(toml: str) -> Status | None:
    """`ratewise run` in a process of its own, killed without warning when the person has given some answers."""
    command = [sys.executable, "-m", "ratewise.cli.main", "run", toml, "--json"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        campaign, started, found = Campaign.open(toml), time.monotonic(), None
        while process.poll() is None and time.monotonic() - started < _LONGEST:
            time.sleep(0.1)
            with suppress(ValueError):  # it has not begun yet
                found = campaign.status()
                if found.labels >= _KILL_AT:
                    process.kill()
                    process.wait()
                    return campaign.status()
        process.kill()
        _, errors = process.communicate()
    if process.returncode != 0:
        raise OutsideError(f"the demo's campaign ended with: {errors.decode(errors='replace').strip()[:500]}")
    return None


# A campaign to label

ITEMS = 400
_SUMS = """\
# Made up: an assistant adds two numbers, and is right most of the time. A judge has given each answer a score.
name = "sums"
seed = {seed}

[items]
table = "sums.jsonl"
features = ["carries"]

[rating]
kind = "binary"

[goal]
budget = "100"

[[raters]]
name = "judge"
kind = "column"
column = "judge"
price = "0.01"

[[raters]]
name = "people"
kind = "people"
price = "1"
show = ["question", "answer"]
criterion = "The sum is right."
guidelines = "guidelines.md"
"""
_GUIDELINES = """\
# Is the sum right?

Say **yes** if the number after the last = is the sum of the two numbers, and **no** if it is not.
Do not use a calculator: this is a demo.
"""


def make_sums(folder: str, seed: int) -> str:
    """The table, the guidelines and the TOML, whose path is returned. What an earlier demo left is removed."""
    shutil.rmtree(folder, ignore_errors=True)
    make_folder(folder)
    rng = np.random.default_rng([seed, 18])
    a, b = rng.integers(11, 90, (2, ITEMS)).tolist()
    right = rng.random(ITEMS) < 0.8
    slip = rng.choice([-10, -1, 1, 2, 10], ITEMS)
    score = np.round(np.clip(0.25 + 0.55 * right + 0.18 * rng.normal(size=ITEMS), 0.01, 0.99), 2)
    said = [x + y + int(by) * (not good) for x, y, by, good in zip(a, b, slip, right, strict=True)]
    lines = [
        {"id": f"sum-{i:03d}", "judge": float(score[i]), "carries": "yes" if a[i] % 10 + b[i] % 10 > 9 else "no",
         "question": f"What is {a[i]} + {b[i]}?", "answer": f"{a[i]} + {b[i]} = **{said[i]}**"}
        for i in range(ITEMS)
    ]  # fmt: skip
    write_text(os.path.join(folder, "sums.jsonl"), "".join(json.dumps(line) + "\n" for line in lines))
    write_text(os.path.join(folder, "guidelines.md"), _GUIDELINES)
    toml = os.path.join(folder, "sums.toml")
    write_text(toml, _SUMS.format(seed=seed))
    return toml


def serve_demo(folder: str, *, seed: int, port: int, as_json: bool) -> None:
    """Make the campaign, print a link that signs in, and serve until Ctrl-C."""
    from ratewise.web.server import Listening, serve
    from ratewise.web.service import Service, add_person

    where = Listening(port=port)
    campaign = Campaign.open(make_sums(folder, seed))
    link = add_person(campaign, "you", admin=True, url=where.url, new_link=True)
    label = f"{link['link']}?to=label"  # admins would see the live view first

    def ready(url: str, _: Service) -> None:
        if as_json:
            print_json({**link, "link": label, "url": url, "folder": folder})
            return
        say(
            f"A made-up campaign in {folder}: {ITEMS} sums, most of them right. Open this link and label:\n"
            f"{label}\n"
            f"Watch the estimate at {url}/live. Stop with Ctrl-C."
        )

    with suppress(KeyboardInterrupt):
        serve(campaign, where, ready=ready, say=lambda text: say(text, error=True))
