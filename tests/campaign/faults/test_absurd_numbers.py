"""Numbers beyond all reason: one line that says the limit, nothing bought or lost."""

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError, RaterDownError, SpecError, TableError

from ..making import judged, ran, write
from .world import one_line


@pytest.mark.parametrize("absurd", ["1e308", "-1e308", "1e50", "1e13"])
def test_a_weak_rating_that_no_model_can_square_is_no_rating(tmp_path, absurd):
    """A rater that says such things throughout is down; one item of it is missing."""
    columns = judged(80)
    columns["judge"] = [absurd] * 80
    with pytest.raises(RaterDownError, match=r"expected a number up to 1e\+12") as caught:
        Campaign.open(write(tmp_path / "all", columns)).run()
    one_line(caught.value)
    columns = judged(80)
    columns["judge"][3] = absurd
    campaign = ran(tmp_path / "one", columns)
    assert campaign.status().estimate is not None
    assert campaign.verify().passed


@pytest.mark.parametrize("absurd", ["1e308", "-1e308", "1e51"])
@pytest.mark.parametrize("use", ["features", "uncertainty"])
def test_features_have_a_limit(tmp_path, absurd, use):
    columns = judged(80) | {"length": ["1"] * 79 + [absurd]}
    line = 'features = ["length"]' if use == "features" else 'uncertainty = "length"'
    with pytest.raises(TableError, match=r"in row 80.*numbers up to 1e\+50") as caught:
        Campaign.open(write(tmp_path, columns, items=line)).run()
    one_line(caught.value)


@pytest.mark.parametrize("bounds", ["low = -1e100\nhigh = 1e100", "low = 0\nhigh = 1e13"])
def test_scales_have_a_limit(tmp_path, bounds):
    with pytest.raises(SpecError, match=r"a number from -1e\+12 to 1e\+12"):
        Campaign.open(write(tmp_path, judged(20), rating=f'kind = "score"\n{bounds}'))


def test_the_widest_legal_scale_works(tmp_path):
    columns = judged(80)
    columns["human"] = [1e12 * x for x in columns["human"]]
    columns["judge"] = [1e12 * x for x in columns["judge"]]
    campaign = ran(tmp_path, columns, rating='kind = "score"\nlow = -1e12\nhigh = 1e12')
    assert abs(campaign.estimate().value) <= 1e12
    assert campaign.verify().passed


@pytest.mark.parametrize("price", ["1_0", "１", "1,5", "0x10", "1e", "NaN", "sNaN", "9e9", "-1"])
def test_what_is_no_price(tmp_path, price):
    columns = judged(20) | {"cost": ["1"] * 19 + [f'"{price}"' if "," in price else price]}
    with pytest.raises(TableError, match=r"column 'cost', row 20: .* is no price"):
        Campaign.open(write(tmp_path, columns, raters=(("judge", "0.05"), ("human", "cost")))).run()


def test_an_empty_column_is_no_rater(tmp_path):
    columns = judged(20)
    columns["human"] = [""] * 20
    with pytest.raises(InputError, match=r"column 'human' of items\.csv, and it is empty"):
        Campaign.open(write(tmp_path, columns)).run()


def test_rates_too_small_to_invert_are_refused():
    import ratewise as rw

    with pytest.raises(InputError, match=r"rates must be at least 1e-100"):
        rw.estimate_mean([0.5] * 20, [1.0, 0.0] * 10, rates=[1e-320] * 20)
