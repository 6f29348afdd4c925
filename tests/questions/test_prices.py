import pytest

from ratewise.errors import InputError
from ratewise.questions.goal import Costs


def test_what_ratings_cost_where_prices_are_known():
    assert Costs().spend(100, 10) is None
    assert Costs(0.02, 1.5).spend(100, 10) == pytest.approx(17.0)
    assert Costs(None, 1.5).spend(100, 10, alone=True) == pytest.approx(15.0)


@pytest.mark.parametrize("prices", [Costs(0.02, None), Costs(None, 1.5)])
def test_one_price_alone_is_refused(prices):
    with pytest.raises(InputError, match="or neither"):
        prices.spend(1, 1)


def test_prices_below_0_are_refused():
    with pytest.raises(InputError):
        Costs(-0.1, 1.0).spend(1, 1)
