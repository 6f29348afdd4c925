"""What a run gives back: a record that equals its reason."""

from contextlib import contextmanager
from decimal import Decimal
from types import SimpleNamespace

import ratewise as rw
from ratewise.campaign.ending import Ending


def ending(reason="the budget is spent", looks=None):
    @contextmanager
    def look():
        if looks is not None:
            looks.append(1)
        found = rw.estimate_mean([0.0, 1, 1, 0], [0.0, 1, 1, 1], 1.0)
        yield SimpleNamespace(status=SimpleNamespace(to_dict=lambda: {"labels": 4}), estimate=found)

    return Ending(reason, Decimal("12.50"), look)


def test_it_equals_its_reason():
    found = ending()
    assert found == "the budget is spent"
    assert found in ("stopped", "the budget is spent")
    assert found in {"the budget is spent"}
    assert found != "stopped"
    assert found == ending()
    assert found != ending("stopped")
    assert str(found) == "the budget is spent"


def test_it_looks_once_and_only_if_asked():
    looks = []
    found = ending(looks=looks)
    assert (found.reason, found.spent) == ("the budget is spent", Decimal("12.50"))
    assert looks == []
    assert found.estimate.value == 0.75
    assert found.to_dict()["labels"] == 4
    assert found.to_dict()["reason"] == "the budget is spent"
    assert found.to_dict()["result"]["value"] == 0.75
    assert found.summary().startswith("the budget is spent; 12.50 spent; 0.7500")
    assert looks == [1]
