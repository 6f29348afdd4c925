"""Failures from errors, and which prices make sense."""

import pickle
from decimal import Decimal

import pytest

from ratewise.raters.protocol import Answer, Failure, RaterError, failure_from, is_price


def test_defaults_mean_the_list_price():
    assert Answer(1).price is None
    assert Failure("gone").price is None


def test_an_error_becomes_its_type_and_first_line():
    assert failure_from(ValueError("too bad\nand more")) == Failure("ValueError: too bad")
    assert failure_from(KeyError()) == Failure("KeyError")


def test_a_rater_error_brings_its_price():
    error = RaterError("cut off", Decimal("0.2"))
    assert str(error) == "cut off"
    assert failure_from(error) == Failure("cut off", Decimal("0.2"))
    assert failure_from(pickle.loads(pickle.dumps(error))) == Failure("cut off", Decimal("0.2"))
    assert failure_from(RaterError("")) == Failure("no reason was given")


def test_an_error_that_cannot_be_written_still_has_a_name():
    class NastyError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert failure_from(NastyError()) == Failure("NastyError")


@pytest.mark.parametrize("price", [None, Decimal(0), Decimal("0.0000001"), Decimal(1) / 3, Decimal("99999999.99")])
def test_prices_that_make_sense(price):
    assert is_price(price)


@pytest.mark.parametrize(
    "price",
    [
        0,
        0.1,
        True,
        "0.1",
        Decimal("-0.01"),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("inf"),
        Decimal("-inf"),
        Decimal("1e999999"),
        Decimal("1e-999999"),
        Decimal("0e-999999"),
    ],
)
def test_prices_that_make_none(price):
    assert not is_price(price)
