"""Where the line of items ends, for a number of items and for money, in one table and in parts that add up."""

import math

import numpy as np
import pytest

from ratewise.core.draw import (
    BINS,
    EVERYONE,
    NOBODY,
    DrawPrices,
    LineCounts,
    bin_of,
    cut_for_money,
    whole_items,
)

RNG = np.random.default_rng(19)
LOOK, R = RNG.random(5000), RNG.random(5000)
LOOK[100:140] = LOOK[100]  # forty items at one place
RATES = RNG.random(5000) * 0.4
DRAWN = R < RATES
BY_NUMBER = DrawPrices(1.0, 0.0)
ORDER = np.lexsort((R, LOOK))


@pytest.mark.parametrize("count", [1, 17, int(np.flatnonzero(ORDER == 100)[0]) + 1, 4999, 5000, 6000])
def test_so_many_items_are_kept_and_equal_places_go_by_r(count):
    kept = cut_for_money(LOOK, R, DRAWN, BY_NUMBER, count).keeps(LOOK, R)
    np.testing.assert_array_equal(np.flatnonzero(kept), np.sort(ORDER[:count]))


def test_nobody_and_everyone():
    assert not cut_for_money(LOOK, R, DRAWN, BY_NUMBER, 0).keeps(LOOK, R).any()
    assert not NOBODY.keeps(LOOK, R).any()
    assert EVERYONE.keeps(LOOK, R).all()


def one_by_one(prices, money):
    """Items in line, each taken up if both of its ratings could still be paid."""
    kept, spent = [], 0.0
    for i in ORDER:
        if spent + prices.weak + prices.strong > money * (1 + 1e-12):
            break
        kept.append(i)
        spent += prices.weak + prices.strong * DRAWN[i]
    return np.sort(kept)


@pytest.mark.parametrize("prices", [DrawPrices(0.25, 1.0), DrawPrices(0.0, 2.0), DrawPrices(0.5, 0.0)])
@pytest.mark.parametrize("money", [0.1, 3.0, 100.0, 900.0])
def test_money_ends_the_line_as_it_does_one_by_one_whole_or_by_bins(prices, money):
    whole = cut_for_money(LOOK, R, DRAWN, prices, money)
    line = LineCounts.of(LOOK[:2000], R[:2000], RATES[:2000]) + LineCounts.of(LOOK[2000:], R[2000:], RATES[2000:])
    at = line.last_bin(prices, money)
    here = bin_of(LOOK) == at
    by_bin = cut_for_money(LOOK[here], R[here], DRAWN[here], prices, money, before=line.before(at))
    right = one_by_one(prices, money)
    for cut in (whole, by_bin):
        np.testing.assert_array_equal(np.flatnonzero(cut.keeps(LOOK, R)), right)


def test_a_line_knows_the_bin_of_an_item():
    line = LineCounts.of(LOOK, R, RATES)
    for count in (1, 2500, 5000):
        at = line.last_bin(BY_NUMBER, count)
        assert at == bin_of(LOOK)[ORDER[count - 1]]
        assert line.before(at)[0] < count <= line.before(at + 1)[0]
    assert line.last_bin(BY_NUMBER, 5001) is None
    assert line.items.size == BINS
    assert line.rates.sum() == pytest.approx(RATES.sum())


@pytest.mark.parametrize(("items", "whole"), [
    (891.9999999999999, 892), (9_999_999.999999998, 10**7), (891.99, 891), (892.0, 892), (0.5, 0), (math.inf, math.inf),
])  # fmt: skip
def test_what_rounding_put_below_a_whole_number_is_that_number(items, whole):
    assert whole_items(items) == whole
