"""Status: money, labels and rounds as the log has them, while a campaign runs and after it."""

import json
from decimal import Decimal
from types import SimpleNamespace

import ratewise as rw
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.status import Ending

from .making import judged, log_of, ran, tamper, write


def test_status_is_what_the_log_says(tmp_path):
    columns = judged(500, spread=0.75)
    columns["human"] = ["" if i % 11 == 0 else x for i, x in enumerate(columns["human"])]
    told = []
    campaign = Campaign.open(write(tmp_path, columns, goal='budget = "97.25"'))
    campaign.run(progress=told.append)
    log, status = log_of(campaign), campaign.status()
    strong = [row for row in log["ratings"] if row[1] == 1]
    assert status.labels == sum(row[2] == 1 for row in strong)
    assert status.missing == sum(row[2] == 2 for row in strong) > 0
    assert status.pending == sum(row[2] == 0 for row in strong) == 0
    settled = sum(row[4] for row in log["ledger"] if row[0] == "settle")
    assert status.spent == Decimal(settled) / 10**9 == Decimal("0.05") * status.looked + len(strong)
    assert status.left == status.budget - status.spent == Decimal("97.25") - status.spent
    assert status.looked == len({row[0] for row in log["ratings"] if row[1] == 0})
    assert status.rounds == len(log["rounds"])
    out = json.loads(json.dumps(status.to_dict(), allow_nan=False))
    assert Decimal(out["spent"]) + Decimal(out["left"]) == Decimal(out["budget"])
    assert out["estimate"]["labels"] == status.labels
    assert told
    for earlier in told:
        json.dumps(earlier.to_dict(), allow_nan=False)
        assert earlier.spent + earlier.reserved <= Decimal("97.25")


def test_pending_answers_are_shown_while_they_are_open(tmp_path):
    """Half of the answers put back to open: what a killed run leaves behind."""
    campaign = ran(tmp_path, judged(300, spread=0.75))
    before = campaign.status()
    tamper(
        campaign,
        "UPDATE ratings SET state = 0, value = NULL WHERE step = 1 AND position = (SELECT max(position) FROM ratings"
        " WHERE step = 1)",
    )
    after = campaign.status()
    assert (after.pending, after.labels) == (1, before.labels - 1)


# What a run gives back: a record that equals its reason.


def ending(reason="the budget is spent"):
    found = rw.estimate_mean([0.0, 1, 1, 0], [0.0, 1, 1, 1], 1.0)
    return Ending(reason, Decimal("12.50"), SimpleNamespace(to_dict=lambda: {"labels": 4}), found)


def test_it_equals_its_reason():
    found = ending()
    assert found == "the budget is spent"
    assert found in ("stopped", "the budget is spent")
    assert found in {"the budget is spent"}
    assert found != "stopped"
    assert found == ending()
    assert found != ending("stopped")
    assert str(found) == "the budget is spent"


def test_it_is_a_record_for_programs():
    found = ending()
    assert (found.reason, found.spent) == ("the budget is spent", Decimal("12.50"))
    assert found.estimate.value == 0.75
    assert found.to_dict()["labels"] == 4
    assert found.to_dict()["reason"] == "the budget is spent"
    assert found.to_dict()["result"]["value"] == 0.75
    assert found.summary().startswith("the budget is spent; 12.50 spent; 0.7500")


def test_it_outlives_its_store(tmp_path):
    campaign = Campaign.open(write(tmp_path, judged(60), goal='budget = "20"'))
    ended = campaign.run()
    known = campaign.estimate()
    for file in tmp_path.glob("*.sqlite*"):
        file.unlink()
    assert ended.estimate.interval == known.interval
    assert ended.status.spent == ended.spent > 0
    assert f"{ended.estimate.value:.4f}" in ended.summary()
