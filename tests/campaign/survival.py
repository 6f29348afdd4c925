"""Campaigns that are killed: a world outside that notes every call, and what must hold of the log however it ended."""

import json
import os
import signal
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.spec.read import read_spec
from ratewise.store import audit
from ratewise.store.money import to_units
from ratewise.store.queue import OPEN
from ratewise.store.store import Store

ITEMS = 1000
PROVIDER = '''\
"""Raters outside of the campaign: they note every call before they answer it."""

import asyncio, json, os, pathlib, zlib

HERE = pathlib.Path(__file__).parent
ANSWERS = json.loads((HERE / "answers.json").read_text())
CALLS = os.open(HERE / "calls.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)


async def rate(item, key, step, seconds):
    await asyncio.sleep(0)
    os.write(CALLS, f"{os.getpid()} {key}\\n".encode())
    await asyncio.sleep(seconds * (zlib.crc32(item["id"].encode()) % 100) / 100)
    return ANSWERS[item["id"]][step]


async def judge(item, key):
    return await rate(item, key, 0, 0.004)


async def expert(item, key):
    return await rate(item, key, 1, 0.004)


async def human(item, key):
    return await rate(item, key, 2, 0.008)


async def moody(item, key):
    found = await rate(item, key, 2, 0.008)
    if key.endswith(":1") and zlib.crc32(item["id"].encode()) % 5 == 0:
        raise RuntimeError("not now")
    return found
'''
TOP = """\
name = "{name}"
seed = 5
store = "{store}"
[items]
table = "items.csv"
id = "id"
features = {features}
[rating]
kind = "score"
low = 0
high = 10
"""
JUDGE = """
[[raters]]
name = "judge"
kind = "python"
function = "provider:judge"
price = "{price}"
concurrency = 3
batch = 100
"""
EXPERT = """
[[raters]]
name = "expert"
kind = "python"
function = "provider:expert"
price = "0.2"
concurrency = 4
"""
HUMAN = """
[[raters]]
name = "human"
kind = "python"
function = "provider:human"
price_column = "cost"
concurrency = 8
"""
MOODY = """
[[raters]]
name = "human"
kind = "python"
function = "provider:moody"
price = "1"
failed_price = "0"
backoff = 0.001
concurrency = 8
"""
VARIANTS = {  # how a campaign may go: to the end of the pool, or of the money, or to a precision
    "pool": '[goal]\nbudget = "130"\n' + JUDGE.format(price="0.01") + HUMAN,
    "money": '[goal]\nbudget = "155"\n' + JUDGE.format(price="0.15") + HUMAN,
    "failures": '[goal]\nbudget = "150"\n' + JUDGE.format(price="0.02") + MOODY,
    "chain": '[goal]\nbudget = "225"\n' + JUDGE.format(price="0.01") + EXPERT + HUMAN,
    "alone": '[goal]\nbudget = "200"\n' + HUMAN,
    "lost": '[goal]\nbudget = "100"\n' + JUDGE.format(price="0.01") + HUMAN + 'lost_calls = "count as paid"\n',
    "features": '[goal]\nbudget = "130"\n' + JUDGE.format(price="0.1") + HUMAN,  # who are told more by a column
    "slices": '[question]\nkind = "slices"\nby = "topic"\n[goal]\nbudget = "130"\n'
    + JUDGE.format(price="0.01")
    + HUMAN,
    "compare": '[question]\nkind = "compare"\nsystem = "system"\n[goal]\ndecide = 0\nbudget = "130"\n'
    + JUDGE.format(price="0.01")
    + HUMAN,
    "board": '[question]\nkind = "leaderboard"\n[goal]\nbudget = "150"\n' + HUMAN,
    "quantile": '[question]\nkind = "quantile"\nat = 0.9\n[goal]\nwithin = 0.4\n' + JUDGE.format(price="0.01") + HUMAN,
    "precision": "[goal]\ntarget_se = 0.05\n" + JUDGE.format(price="0.02") + HUMAN,
}


def write_campaign(folder, variant, *, store="c.sqlite", name="c"):
    """A folder with a TOML, items, and the world outside; returns the path of the TOML."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(17)
    human = np.round(10 * rng.beta(2, 1.2, ITEMS), 3)
    doubt = 0.2 + rng.random(ITEMS)
    expert = np.clip(np.round(human + 0.5 * doubt * rng.normal(size=ITEMS), 3), 0, 10)
    judge = np.clip(np.round(human + 1.5 * doubt * rng.normal(size=ITEMS), 3), 0, 10)
    cost, length = np.round(rng.uniform(0.5, 2, ITEMS), 2), np.round(900 * doubt)
    hint = human + doubt * rng.normal(size=ITEMS)
    ids = [f"q{i:04d}" for i in range(ITEMS)]
    rows = [
        f"{i},{c},{n:.0f},{x:.3f},{'abc'[k % 3]},{'xy'[k % 2]},{'JKLM'[k % 4]},{'JKLM'[(k // 4 + k % 4 + 1) % 4]}"
        for k, (i, c, n, x) in enumerate(zip(ids, cost, length, hint, strict=True))
        if variant != "board" or k // 4 % 4 != 3
    ]
    titles = "id,cost,length,hint,topic,system,model_a,model_b"
    (folder / "items.csv").write_text("\n".join([titles, *rows]) + "\n")
    if variant == "board":
        human = np.select([human > 7, human < 5], [1.0, 0.0], 0.5)
    answers = zip(judge.tolist(), expert.tolist(), human.tolist(), strict=True)
    (folder / "answers.json").write_text(json.dumps(dict(zip(ids, answers, strict=True))))
    (folder / "provider.py").write_text(PROVIDER)
    toml = folder / f"{name}.toml"
    features = json.dumps(["length", "hint"] if variant == "features" else ["length"])
    top = TOP.format(store=store, name=name, features=features)
    if variant == "board":
        top = top.replace('"score"\nlow = 0\nhigh = 10', '"pairwise"')
    toml.write_text(top + VARIANTS[variant])
    return toml


class Forks:
    """Starts runs in processes of their own, kills them and waits for them; see killable.py."""

    def __init__(self):
        environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-W", "error", str(Path(__file__).with_name("killable.py"))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        assert self._process.stdout.readline() == "ready\n"

    def start(self, toml, *, die=None, gate=None):
        return self._tell({"toml": str(toml), "die": die, "gate": gate and str(gate)})

    def kill(self, number):
        os.kill(number, signal.SIGKILL)  # not waited for yet, so the number is still its own

    def wait(self, number):
        return self._tell({"wait": number})

    def run(self, toml, *, die=None):
        """To its end; the exit code."""
        return self.wait(self.start(toml, die=die))

    def _tell(self, job):
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        return int(self._process.stdout.readline())

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@dataclass
class Look:
    """All that a log says, but for times and workers."""

    items: list
    rounds: list
    batches: list
    draws: list
    ratings: dict  # (position, step) → (state, attempts, value)
    ledger: list  # in the order it was written: (kind, position, step, attempt, amount)
    in_hand: set  # (position, step, attempt) of questions that some process had taken
    totals: tuple

    @property
    def phase(self):
        """What it was waiting for."""
        steps = {step > 0 for (_, step), (state, _, _) in self.ratings.items() if state == OPEN}
        return "planning" if not steps else "strong ratings" if True in steps else "weak ratings"

    @property
    def settled(self):
        return [(row[1], row[2], row[3]) for row in self.ledger if row[0] == "settle"]


def store_of(toml):
    """A connection to its store, to be closed."""
    spec = read_spec(toml)
    return Store.at(spec.store, str(spec.folder), spec.name)


def look(toml):
    """What the store says now; None where nothing has begun."""
    store = store_of(toml)
    try:
        if not store.exists():
            return None
        ratings = audit.rating_rows(store, 0, ITEMS)
        rounds = store.rounds()
        return Look(
            items=[tuple(row) for row in audit.item_keys(store, 0, ITEMS)],
            rounds=[(r.number, r.first, r.plan, r.factor, r.items) for r in rounds],
            batches=[store.batches(r.number) for r in rounds],
            draws=[tuple(row) for row in audit.draw_rows(store, 0, ITEMS)],
            ratings={(r.position, r.step): (r.state, r.attempts, r.value) for r in ratings},
            ledger=[(r.kind, r.position, r.step, r.attempt, r.amount) for r in audit.ledger_rows(store, 0, ITEMS)],
            in_hand={(r.position, r.step, r.attempts + 1) for r in ratings if r.state == OPEN and r.worker},
            totals=store.totals(),
        )
    finally:
        store.close()


@dataclass
class Witness:
    """Looks at a campaign after every kill: what was there stays there, and the budget holds."""

    toml: Path
    phases: Counter = field(default_factory=Counter)  # what was going on when it was killed
    last: Look | None = None
    cut_off: Counter = field(default_factory=Counter)  # how often a question was in the hands of a run that was killed

    def see(self):
        found = look(self.toml)
        self.phases["loading" if found is None else found.phase] += 1
        if found is None:
            assert self.last is None, "the campaign is gone"
            return
        self.cut_off.update(found.in_hand)
        self._sums(found)
        self._kept(found)
        self.last = found

    @property
    def kills(self):
        return self.phases.total()

    def _sums(self, found):
        budget = read_spec(self.toml).goal.budget
        sums = Counter()
        for kind, _, _, _, amount in found.ledger:
            sums[kind] += amount
        settled = set(found.settled)
        pending = sum(row[4] for row in found.ledger if row[0] == "reserve" and row[1:4] not in settled)
        assert found.totals == (sums["hold"] - sums["unhold"] + pending, sums["settle"])
        assert budget is None or sum(found.totals) <= to_units(budget)

    def _kept(self, found):
        """Nothing that was written is gone or different; what a settlement promised is there."""
        assert len(found.settled) == len(set(found.settled)), "paid twice"
        assert promised(self.toml) <= set(found.settled), "a rating that was paid for is lost"
        answered = {key for key, (state, _, _) in found.ratings.items() if state != OPEN}
        assert answered <= {(position, step) for position, step, _ in found.settled}
        if self.last is not None:
            assert found.ledger[: len(self.last.ledger)] == self.last.ledger
            closed = [row for row in self.last.rounds if row[-1] is not None]
            assert found.rounds[: len(closed)] == closed
            assert set(self.last.draws) <= set(found.draws)
            old = {key: rating for key, rating in self.last.ratings.items() if rating[0] != OPEN}
            assert old.items() <= found.ratings.items()


def promised(toml):
    """(position, step, attempt) that a settlement which came back had written down."""
    path = toml.parent / "settled.log"
    return {tuple(map(int, line.split())) for line in path.read_text().splitlines()} if path.exists() else set()


def calls(toml):
    """(process, key without the campaign's name) of every call that reached the world outside, in order."""
    path = toml.parent / "calls.log"
    lines = [line.split(" ", 1) for line in path.read_text().splitlines()] if path.exists() else []
    return [(int(process), key.split(":", 1)[1]) for process, key in lines]


@dataclass
class End:
    """How a campaign ended."""

    seen: Look
    reason: str
    estimate: dict
    contributions: bytes  # of each item to the estimate
    answers: dict | None  # of its question

    @classmethod
    def of(cls, toml):
        campaign = Campaign.open(toml)
        estimate = campaign.estimate()
        answers = campaign.answers()
        return cls(
            look(toml), campaign.status().ended, estimate.to_dict(), estimate.contributions.tobytes(),
            None if answers is None else answers.to_dict(),
        )  # fmt: skip


def check_ended(toml, expected):
    """The campaign came to the same end as one that nobody disturbed, and paid for nothing more."""
    found = End.of(toml)
    assert found.reason == expected.reason
    for name in ("items", "rounds", "batches", "draws", "ratings", "totals"):
        assert getattr(found.seen, name) == getattr(expected.seen, name), name
    assert Counter(found.seen.ledger) == Counter(expected.seen.ledger)
    settled = found.seen.settled
    assert len(settled) == len(set(settled)), "paid twice"
    assert not found.seen.in_hand
    keys = {f"{found.seen.items[position][1]}:{step}:{attempt}" for position, step, attempt in settled}
    assert {key for _, key in calls(toml)} == keys, "what was asked is not what was paid"
    assert found.estimate == expected.estimate  # to the last bit
    assert found.contributions == expected.contributions
    assert found.answers == expected.answers
    verified = Campaign.open(toml).verify()
    assert verified.passed, verified.summary()
    return found.seen


def check_calls(toml, found, cut_off):
    """A question was asked again only where a kill had cut it off, and with the same key."""
    asked = Counter(key for _, key in calls(toml))
    again = {key: n for key, n in asked.items() if n > 1}
    may = {f"{found.items[position][1]}:{step}:{attempt}": n for (position, step, attempt), n in cut_off.items()}
    assert all(n <= 1 + may.get(key, 0) for key, n in again.items())
    return sum(again.values()) - len(again)
