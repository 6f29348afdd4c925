"""A store that is gone is waited for; what was paid for meanwhile is kept beside it."""

import asyncio

import pytest

from ratewise.campaign.clients.patience import Patience
from ratewise.errors import StoreError
from ratewise.store.queue import Claim, Outcome
from ratewise.store.unsaved import Unsaved

OUTCOME = Outcome(Claim(0, 1, 1, "a", "{}", None), 5, 1.0)


@pytest.fixture
def patience(tmp_path):
    return Patience(Unsaved(tmp_path / "c.unsaved.jsonl"), seconds=10.0)


def failing(times, *, may_pass=True):
    left = iter(range(times))

    def action():
        if next(left, None) is not None:
            raise StoreError("gone", may_pass=may_pass)
        return "done"

    return action


def test_what_may_pass_is_tried_again(patience):
    assert asyncio.run(patience(failing(2))) == "done"


def test_what_may_not_pass_is_told_at_once_and_answers_are_kept(patience):
    with pytest.raises(StoreError, match=r"^gone$"):
        asyncio.run(patience(failing(1, may_pass=False), unsaved=[OUTCOME]))
    assert patience.unsaved.path.read_bytes().strip()


def test_where_nothing_can_be_kept_that_is_said(tmp_path):
    nowhere = Patience(Unsaved(tmp_path / "no" / "c.jsonl"), seconds=0.0)
    with pytest.raises(StoreError, match="1 answers could not be kept"):
        asyncio.run(nowhere(failing(9), unsaved=[OUTCOME]))
