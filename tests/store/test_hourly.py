"""Pay by the hour: what the page has timed counts, up to a limit, and never above what was held."""

from decimal import Decimal

import pytest

from ratewise.raters.people import PeopleSettings
from ratewise.store.money import Hourly, to_units

PAY = Hourly(to_units(Decimal(36)), most=300.0, expected=60.0)  # a cent a second


def test_seconds_count_as_they_were_timed_and_no_more_than_have_passed():
    assert PAY.counted(12.5, since=100.0) == 12.5
    assert PAY.counted(12.5, since=5.0) == 5.0  # a page that claims more than there was
    assert PAY.counted(4000.0, since=9999.0) == 300.0
    assert PAY.counted(-3.0, since=10.0) == 0.0
    assert PAY.counted(None, since=1000.0) == 60.0


def test_answers_are_paid_each_for_its_time():
    assert PAY.pay([10.0]) == to_units(Decimal("0.1"))
    assert PAY.pay([10.0, 20.0, None]) == to_units(Decimal("0.9"))
    assert PAY.pay([]) == 0
    assert PAY.pay([0.0]) == 0


@pytest.mark.parametrize("hour", ["30", "0.01", "17.37", "999999"])
@pytest.mark.parametrize("most", [0.1, 7.0, 77.77, 300.0])
def test_the_most_that_is_paid_is_what_is_held(hour, most):
    paid = {"per_hour": Decimal(hour), "answer_seconds": most / 3, "most_seconds": most, "votes": 3}
    expected, held = PeopleSettings(name="r", kind="people", **paid).hourly
    pay = Hourly(to_units(Decimal(hour)), most, most / 3)
    assert pay.pay([most, 1e9, most]) == to_units(held)
    assert pay.pay([None] * 3) == to_units(expected)
    assert PeopleSettings(name="r", kind="people", votes=3).hourly is None
