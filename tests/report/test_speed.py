from dataclasses import replace
from decimal import Decimal

import pytest

from ratewise.campaign.status import Status
from ratewise.report.status import speed_words

START = Status(
    name="c", campaign="x", ended=None, pool=1000, looked=0, rounds=0, budget=Decimal(100), spent=Decimal(0),
    reserved=Decimal(0), labels=0, pending=0, missing=0, failed_calls=0, estimate=None, final=None, expected_se=None,
    currency="USD",
)  # fmt: skip


@pytest.mark.parametrize(
    ("seconds", "looked", "spent", "said"),
    [
        (2, 100, 1, ""),
        (10, 0, 0, ""),
        (10, 100, 1, "600 ratings a minute, USD 6.00 a minute; at most about 3 min left"),
        (10, 100, 50, "600 ratings a minute, USD 300.00 a minute; at most about 10 s left"),
        (10, 1, 0, "6 ratings a minute; at most about 5.6 h left"),
    ],
)
def test_the_speed_and_what_is_left(seconds, looked, spent, said):
    times = iter([100.0, 100.0 + seconds])
    speed = speed_words(lambda: next(times))
    assert speed(START) == ""
    assert speed(replace(START, looked=looked, spent=Decimal(spent))) == said
