import pytest

from ratewise.errors import InputError
from ratewise.questions.goal import spend_on


def test_what_ratings_cost_where_prices_are_known():
    assert spend_on(100, 10, None, None) is None
    assert spend_on(100, 10, 0.02, 1.5) == pytest.approx(17.0)
    assert spend_on(100, 10, None, 1.5, alone=True) == pytest.approx(15.0)


@pytest.mark.parametrize("prices", [(0.02, None), (None, 1.5)])
def test_one_price_alone_is_refused(prices):
    with pytest.raises(InputError, match="or neither"):
        spend_on(1, 1, *prices)


def test_prices_below_0_are_refused():
    with pytest.raises(InputError):
        spend_on(1, 1, -0.1, 1.0)
