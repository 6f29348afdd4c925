"""What an answer or a failure comes to: a number on the scale, what is paid, and whether it is asked again."""

from decimal import Decimal

import pytest

from ratewise.campaign.outcomes import lost, outcome_of, reserved
from ratewise.campaign.spec.read import read_spec
from ratewise.raters.protocol import Answer, Failure
from ratewise.raters.python import PythonSettings
from ratewise.store.money import to_units
from ratewise.store.queue import Claim

from ..making import judged, write

ONE = to_units(Decimal(1))


@pytest.fixture
def spec(tmp_path):
    return read_spec(write(tmp_path, judged(10)))


def claim(attempt=1, step=1):
    return Claim(0, step, attempt, "q0", "{}", None)


def test_answers_are_numbers_and_paid_at_the_list_price_or_their_own(spec):
    assert (spec.index(1), reserved(spec, claim())) == (1, ONE)
    found = outcome_of(spec, claim(), Answer("yes", note="sure"))
    assert (found.value, found.paid, found.note, found.failed) == (1.0, ONE, "sure", False)
    assert outcome_of(spec, claim(), Answer(0, Decimal("0.25"))).paid == ONE // 4
    assert outcome_of(spec, claim(), Answer(None)).note == "no answer"


def test_what_is_not_on_the_scale_is_a_failure_paid_as_an_answer(spec):
    """It is asked for again, unless it stands in a file, where it stays as it is."""
    found = outcome_of(spec, claim(), Answer("perhaps"))
    assert (found.failed, found.off_scale, found.paid, found.again) == (True, True, ONE, None)
    function = PythonSettings(name="r", kind="python", function="m:f", price=1).priced()
    asked = spec.model_copy(update={"raters": (spec.raters[0], function)})
    assert outcome_of(asked, claim(), Answer("perhaps")).again == ONE
    assert not outcome_of(spec, claim(), Failure("busy")).off_scale


def test_attempts_end_and_lost_calls_are_asked_again_unless_they_count(spec):
    last = spec.raters[1].attempts
    assert outcome_of(spec, claim(last), Failure("no")).again is None
    assert outcome_of(spec, claim(last + 1), Failure("no")).again == ONE  # anew, after the rater was down
    assert outcome_of(spec, claim(), Failure("no", Decimal(0))).paid == 0
    assert lost(spec, claim()) is None
