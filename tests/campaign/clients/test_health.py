"""When is a rater down? By the order in which its replies were heard, whatever was asked at once."""

import pytest

from ratewise.campaign.clients.health import DOWN, Health, Reply
from ratewise.campaign.spec.spec import read_spec
from ratewise.raters.protocol import Answer, Failure
from ratewise.store.queue import Claim, Outcome

from ..making import judged, write


@pytest.fixture
def health(tmp_path):
    return Health(read_spec(write(tmp_path, judged(20))))


def hear(health, *, good=(), bad=(), at):
    """Replies of the strong rater that are all heard at one time; bad ones were the last attempt."""
    replies, outcomes = [], []
    for position in (*good, *bad):
        claim = Claim(position, 1, 1, f"q{position}", "{}", None)
        failed = position in bad
        replies.append(Reply(claim, Failure("no") if failed else Answer(1.0), at))
        outcomes.append(Outcome(claim, 0, None if failed else 1.0, failed=failed))
    health.see(replies, outcomes, [])


def test_failures_after_the_last_answer_are_a_rater_that_is_down(health):
    hear(health, good=range(5, 15), at=1.0)
    hear(health, bad=range(DOWN - 1), at=2.0)
    assert health.down() == []
    hear(health, bad=[DOWN - 1], at=3.0)
    assert health.down() == [1]
    assert {claim.position for claim in health.given_up(1)} == set(range(DOWN))


def test_an_answer_after_failures_shows_that_it_was_the_items(health):
    hear(health, bad=range(DOWN), at=1.0)
    hear(health, good=[10], at=2.0)
    assert health.down() == []
    hear(health, bad=[11], at=3.0)
    assert health.down() == []


def test_good_and_bad_answers_of_one_call(health):
    hear(health, good=[10], bad=range(DOWN), at=1.0)
    assert health.down() == []
