"""When a rater is down: some items given up in a row, without an answer to anything asked since."""

from types import SimpleNamespace

import pytest

from ratewise.campaign.clients.health import DOWN, Health
from ratewise.queue.records import Claim, Outcome


@pytest.fixture
def health():
    rater = SimpleNamespace(attempts=1)
    return Health(SimpleNamespace(raters=[rater, rater]))


def see(health, positions, *, asked, failed):
    claims = [Claim(p, 1, 1, str(p), "{}", None) for p in positions]
    outcomes = [Outcome(c, 0, None if failed else 1.0, failed=failed) for c in claims]
    health.see([SimpleNamespace(asked=asked)] * len(claims), outcomes, [])


def test_some_in_a_row_are_a_rater_that_is_down(health):
    see(health, range(DOWN - 1), asked=1.0, failed=True)
    assert health.down() == []
    see(health, [50], asked=2.0, failed=True)
    assert health.down() == [1]
    assert len(health.given_up(1)) == DOWN
    assert health.down() == []


def test_an_answer_shows_that_it_was_there(health):
    see(health, range(DOWN - 1), asked=1.0, failed=True)
    see(health, [60], asked=2.0, failed=False)
    see(health, [61], asked=1.5, failed=True)
    assert health.down() == []
    see(health, range(70, 70 + DOWN), asked=3.0, failed=True)
    assert health.down() == [1]
