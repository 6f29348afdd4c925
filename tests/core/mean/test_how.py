"""Options as one record: legal once it exists."""

import pytest

from ratewise.core.mean.how import How, both_ends
from ratewise.errors import InputError


def test_defaults_are_legal_and_numbers_become_numbers():
    assert How() == How(method="auto", interval="auto", level=0.95)
    assert How(level="0.9", resamples=200.0).resamples == 200


@pytest.mark.parametrize(
    "wrong",
    [
        {"method": "magic"},
        {"interval": "wide"},
        {"estimand": "all"},
        {"level": 1},
        {"resamples": 5},
        {"variance_factor": 0},
    ],
)
def test_a_record_that_makes_no_sense_does_not_exist(wrong):
    with pytest.raises(InputError, match=next(iter(wrong))):
        How(**wrong)


def test_the_size_of_a_pool_is_for_its_own_mean():
    How(pool_size=9.0, estimand="pool").refuse_idle_pool_size()
    with pytest.raises(InputError, match="pool's own mean"):
        How(pool_size=9.0).refuse_idle_pool_size()


def test_both_ends_of_a_scale_or_neither():
    assert both_ends(None) is both_ends((None, None)) is None
    assert both_ends((1.0, 5.0)) == (1.0, 5.0)
    with pytest.raises(InputError, match="both ends"):
        both_ends((1.0, None))
