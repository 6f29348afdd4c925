import pytest

from ratewise.errors import InputError
from ratewise.questions.prices import Prices


def test_what_ratings_cost_where_prices_are_known():
    assert Prices().spend(100, 10) is None
    assert Prices(0.02, 1.5).spend(100, 10) == pytest.approx(17.0)
    assert Prices(None, 1.5).spend(100, 10, alone=True) == pytest.approx(15.0)


@pytest.mark.parametrize("prices", [Prices(0.02, None), Prices(None, 1.5)])
def test_one_price_alone_is_refused(prices):
    with pytest.raises(InputError, match="or neither"):
        prices.spend(1, 1)


def test_prices_below_0_are_refused():
    with pytest.raises(InputError):
        Prices(-0.1, 1.0).spend(1, 1)
