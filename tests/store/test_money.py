"""Exact money."""

import random
from decimal import Decimal

import pytest

from ratewise.store.money import shown, to_money, to_units


@pytest.mark.parametrize(
    ("amount", "units"),
    [
        ("0", 0), ("1", 10**9), ("0.000000001", 1), ("0.1", 10**8), ("123.456789012", 123456789012),
        ("8999999999.999999999", 8_999_999_999_999_999_999), ("0.0000000001", 1), ("0.0000000019", 2),
        ("1e-9", 1), ("2E+3", 2000 * 10**9), ("3.0000000000000000000000000000000000000000001", 3 * 10**9 + 1),
    ],
)  # fmt: skip
def test_units_are_billionths_and_what_is_finer_is_rounded_up(amount, units):
    assert to_units(Decimal(amount)) == units


def test_there_and_back_to_the_last_digit():
    """A thousand amounts of up to 18 digits; floats would lose some of them."""
    rng = random.Random(5)
    units = [rng.randrange(10 ** rng.randrange(1, 19)) for _ in range(1000)]
    assert [to_units(to_money(n)) for n in units] == units
    assert [int(to_money(n) * 10**9) for n in units] == units
    assert any(int(float(to_money(n)) * 1e9) != n for n in units)


def test_sums_are_exact():
    tenth = to_units(Decimal("0.1"))
    assert to_money(tenth * 3) == Decimal("0.3")
    assert sum(to_units(Decimal("0.000000007")) for _ in range(10**4)) == to_units(Decimal("0.00007"))


@pytest.mark.parametrize(
    ("units", "text"),
    [
        (0, "0.00"), (10**9, "1.00"), (15 * 10**8, "1.50"), (1_234_567 * 10**9, "1,234,567.00"), (1, "0.000000001"),
        (1_005_000_000, "1.005"), (399_960_000_000, "399.96"), (-5 * 10**8, "-0.50"),
    ],
)  # fmt: skip
def test_shown_with_two_decimals_or_as_many_as_it_takes(units, text):
    assert shown(units) == text


@pytest.mark.parametrize("units", [0, 10**9, 10 * 10**9, 5 * 10**8, 1])
def test_amounts_have_no_exponent_and_no_trailing_zeros(units):
    text = f"{to_money(units):f}"
    assert "E" not in text
    assert "." not in text or not text.endswith("0")
    assert Decimal(text) * 10**9 == units
