"""Campaigns with an LLM judge on a server that bills by key and refuses a key with other bytes.

Killed at any moment, and by any number of processes: nothing is paid twice, and the end is the same to the bit.
"""

from contextlib import ExitStack

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.testing.hidden_rule import HiddenRule, made_up_rows, write_rows
from ratewise.testing.judge_server import Behaviour
from ratewise.testing.strict_server import StrictServer

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
WORDY = {"decisions": False, "logprobs": False, "structured": False, "temperature": False}  # all that can be missing


@pytest.fixture
def serve():
    """A function: a new server."""
    with ExitStack() as running:
        yield lambda: running.enter_context(StrictServer(RULE, Behaviour(**WORDY)))


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
