"""What a run gives back: a record that equals its reason."""

from decimal import Decimal
from types import SimpleNamespace

import ratewise as rw
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.status import Ending

from .making import judged, write


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
