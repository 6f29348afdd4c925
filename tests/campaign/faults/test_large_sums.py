"""Sums that leave 64 bits: counted exactly, or refused at the start with the limit."""

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError
from ratewise.store.money import MOST, how_many_fit, to_units, total
from ratewise.store.store import Store

from ..making import judged, ran, tamper, write


def test_prices_that_wrap_in_64_bits_reserve_what_they_cost(tmp_path):
    """A budget of 8·10⁹ and a max_price of 2·10⁷: 400 items are bound at most, not 6,000."""
    path = write(
        tmp_path, judged(3000), goal='budget = "8000000000"', raters=(("judge", "0.05"), ("human", "1")), method="base"
    )
    path.write_text(path.read_text().replace('price = "1"', 'price = "1"\nmax_price = "20000000"'))
    campaign = Campaign.open(path)
    assert campaign.run() == "every item has been looked at"
    status = campaign.status()
    assert (status.reserved, status.spent, status.labels) == (0, 3000, 3000)
    assert campaign.verify().passed, campaign.verify().summary()


def test_half_of_all_that_64_bits_hold(tmp_path):
    """2⁶² billionths: two of them in a sum are below nothing, four are nothing."""
    price = f"{2**62 // 10**9}.{2**62 % 10**9:09d}"
    campaign = ran(tmp_path, judged(100), goal='budget = "8999999999"', raters=(("human", price),))
    status = campaign.status()
    assert status.labels == 1
    assert to_units(status.spent) == 2**62
    assert campaign.verify().passed, campaign.verify().summary()


def test_items_that_cost_more_than_can_be_counted_are_refused(tmp_path):
    path = write(
        tmp_path, judged(50), goal='budget = "8000000000"', raters=(("judge", "5000000000"), ("human", "6000000000"))
    )
    with pytest.raises(InputError, match=r"9,000,000,000") as caught:
        Campaign.open(path).run()
    assert "larger unit" in str(caught.value)
    assert not (tmp_path / "c.sqlite").exists() or Campaign.open(path)  # nothing was bought


def test_a_pool_without_a_budget_must_be_countable(tmp_path):
    path = write(tmp_path, judged(50), goal="target_se = 0.01", raters=(("judge", "1"), ("human", "300000000")))
    with pytest.raises(InputError, match=r"give goal\.budget"):
        Campaign.open(path).run()


def test_sums_of_units_are_exact():
    import numpy as np

    large = np.full(5, 2**62, dtype=np.int64)
    assert total(large) == 5 * 2**62
    assert how_many_fit(large, 3 * 2**62) == 3
    small = np.array([1, 2, 3, 4], dtype=np.int64)
    assert total(small) == 10
    assert [how_many_fit(small, money) for money in (0, 1, 5, 6, 100, 2**70)] == [0, 1, 2, 3, 4, 4]


def test_a_ledger_beyond_64_bits_is_added_up(tmp_path):
    """What was reserved and freed again, call by call, may come to any sum; so may what a tamperer writes."""
    campaign = ran(tmp_path, judged(60), goal='budget = "20"')
    tamper(campaign, f"UPDATE ledger SET amount = {MOST} WHERE kind IN ('reserve', 'settle')")
    found = campaign.verify()
    assert not found.passed
    assert not any("cannot be replayed" in text for text in found.differences)


def test_a_sum_that_cannot_be_counted_is_refused_in_one_line(tmp_path):
    campaign = ran(tmp_path, judged(60), goal='budget = "20"')
    store = Store.at("c.sqlite", str(tmp_path), "c")
    from ratewise.errors import StoreError
    from ratewise.store import ledger as sql

    try:
        with pytest.raises(StoreError, match="more than the 9,000,000,000"), store.writing() as connection:
            sql.move(connection, 0, MOST)
        assert store.totals()[1] == to_units(campaign.status().spent)
    finally:
        store.close()
