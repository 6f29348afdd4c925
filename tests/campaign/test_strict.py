"""Campaigns with an LLM judge on a server that bills by key and refuses a key with other bytes.

Killed at any moment, and by any number of processes: nothing is paid twice, and the end is the same to the bit.
"""

import random
from contextlib import ExitStack

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.testing.hidden_rule import HiddenRule, made_up_rows, write_rows
from ratewise.testing.judge_server import Behaviour, JudgeServer

from .survival import Forks

RULE = HiddenRule(noise=0.5)
ROWS = made_up_rows(80, RULE, seed=3)
TOML = """\
name = "{name}"
seed = 7
store = "{store}"
[items]
table = "items.csv"
[rating]
kind = "binary"
[goal]
budget = "25"
[[raters]]
name = "judge"
kind = "llm"
model = "small-judge"
base_url = "{url}"
judge = "binary"
show = ["question", "answer"]
concurrency = 4
backoff = 0
prices = {{ input = "15", output = "60" }}
[[raters]]
name = "human"
kind = "column"
column = "human"
price = "1"
"""
WORDY = {"decisions": False, "logprobs": False, "silent": True, "structured": False}  # a call is paid to find it out


@pytest.fixture
def serve():
    """A function: a new server."""
    with ExitStack() as running:
        yield lambda: running.enter_context(JudgeServer(RULE, Behaviour(**WORDY), strict=True))


def written(folder, server, *, name="c", store="c.sqlite"):
    """The TOML of a new campaign."""
    folder.mkdir(parents=True)
    write_rows(folder / "items.csv", ROWS)
    (folder / "c.toml").write_text(TOML.format(name=name, store=store, url=server.base_url))
    return folder / "c.toml"


def bills(server):
    """What was billed by each key, whatever the keys are."""
    return sorted((bill.calls, bill.input, bill.output) for bill in server.bills.values())


def test_identical_runs_bill_identically(tmp_path, serve):
    servers, ends = (serve(), serve()), []
    for server, name in zip(servers, ("one", "other"), strict=True):
        campaign = Campaign.open(written(tmp_path / name, server))
        ends.append(campaign.run().estimate.to_dict())
        assert campaign.verify().passed
        assert server.refused == 0
    assert bills(servers[0]) == bills(servers[1])
    assert ends[0] == ends[1]


@pytest.fixture(scope="module")
def forks():
    made = Forks()
    yield made
    made.close()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """(estimate, bills) of a run that nobody disturbed."""
    with JudgeServer(RULE, Behaviour(**WORDY), strict=True) as server:
        campaign = Campaign.open(written(tmp_path_factory.mktemp("calm") / "c", server))
        campaign.run()
        return end(campaign), bills(server)


def end(campaign):
    return campaign.status().ended, campaign.status().spent_by, campaign.estimate().to_dict()


def held(toml, server, undisturbed):
    """It ended as if nobody had disturbed it: the same estimate, the same money, and each key one bill."""
    campaign = Campaign.open(toml)
    assert (end(campaign), bills(server)) == undisturbed
    assert server.refused == 0
    verified = campaign.verify()
    assert verified.passed, verified.summary()


def finish(forks, toml):
    assert forks.run(toml) == 0, toml.with_suffix(".log").read_text()


FIRST = [
    *(("set_meta", side, n) for side in ("commit", "after") for n in (4, 5, 6, 7)),
    ("claim", "after", 1), ("ask", "before", 1), ("ask", "after", 1), ("settle", "commit", 1), ("settle", "after", 1),
    ("ask", "after", 5), ("settle", "commit", 4),
]  # fmt: skip
EVERY = [
    (kind, side, n) for kind in ("set_meta", "claim", "ask", "settle", "take_up", "draw")
    for side in ("before", "after", *(() if kind == "ask" else ("statement", "commit"))) for n in range(1, 12)
]  # fmt: skip


@pytest.mark.parametrize("die", FIRST, ids=str)
def test_a_kill_at_a_write_changes_neither_bill_nor_estimate(tmp_path, serve, forks, undisturbed, die):
    toml = written(tmp_path / "c", server := serve())
    forks.run(toml, die=die)
    finish(forks, toml)
    held(toml, server, undisturbed)


@pytest.mark.soak
@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
@pytest.mark.parametrize("die", EVERY, ids=str)
def test_a_kill_at_every_write(request, tmp_path, serve, forks, undisturbed, die, store):
    address = "c.sqlite" if store == "sqlite" else request.getfixturevalue("database")
    toml = written(tmp_path / "c", server := serve(), store=address)
    forks.run(toml, die=die)
    finish(forks, toml)
    held(toml, server, undisturbed)


@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 20))])
def test_kills_one_after_the_other(tmp_path, serve, forks, undisturbed, seed):
    rng = random.Random(seed)
    toml = written(tmp_path / "c", server := serve())
    for _ in range(5):
        forks.run(
            toml, die=(rng.choice(["ask", "settle", "claim"]), rng.choice(["before", "after"]), rng.randint(1, 12))
        )
    finish(forks, toml)
    held(toml, server, undisturbed)


@pytest.mark.parametrize("kills", [0, *(pytest.param(n, marks=pytest.mark.soak) for n in range(1, 10))])
def test_three_processes_ask_once_what_the_endpoint_has(tmp_path, database, serve, forks, undisturbed, kills):
    """However many ask, and whichever are killed."""
    rng = random.Random(kills)
    toml = written(tmp_path / "c", server := serve(), store=database)
    Campaign.open(toml).begin()
    for _ in range(kills):
        dies = [("ask", rng.choice(["before", "after"]), rng.randint(1, 8)) for _ in range(3)]
        for number in [forks.start(toml, die=die) for die in dies]:
            forks.wait(number)
    running = [forks.start(toml) for _ in range(3)]
    assert [forks.wait(number) for number in running] == [0, 0, 0], toml.with_suffix(".log").read_text()
    held(toml, server, undisturbed)
