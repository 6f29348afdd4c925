from dataclasses import FrozenInstanceError
from datetime import datetime

import pytest

from ratewise.store.queue import ANSWERED, MISSING, OPEN, Claim, Outcome, now


def test_states_are_those_of_logs_that_exist():
    assert (OPEN, ANSWERED, MISSING) == (0, 1, 2)


def test_records_are_frozen_and_an_outcome_begins_with_nothing():
    outcome = Outcome(Claim(0, 1, 1, "a", "{}", None), 5)
    assert (outcome.value, outcome.note, outcome.failed, outcome.again) == (None, None, False, None)
    with pytest.raises(FrozenInstanceError):
        outcome.paid = 6


def test_now_is_a_time_with_its_zone():
    assert datetime.fromisoformat(now()).utcoffset().total_seconds() == 0
