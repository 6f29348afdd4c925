"""Options as one record: legal once it exists."""

import numpy as np
import pytest

from ratewise.core.estimate import EstimateOptions, both_ends, estimate_rated
from ratewise.core.ratings import Ratings
from ratewise.errors import InputError


def test_defaults_are_legal_and_numbers_become_numbers():
    assert EstimateOptions() == EstimateOptions(method="auto", interval="auto", level=0.95)
    assert EstimateOptions(level="0.9", resamples=200.0).resamples == 200


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
        EstimateOptions(**wrong)


def test_the_size_of_a_pool_is_for_its_own_mean():
    EstimateOptions(pool_size=9.0, estimand="pool").refuse_idle_pool_size()
    with pytest.raises(InputError, match="pool's own mean"):
        EstimateOptions(pool_size=9.0).refuse_idle_pool_size()


def test_both_ends_of_a_scale_or_neither():
    assert both_ends(None) is both_ends((None, None)) is None
    assert both_ends((1.0, 5.0)) == (1.0, 5.0)
    with pytest.raises(InputError, match="both ends"):
        both_ends((1.0, None))


@pytest.mark.parametrize("interval", ["normal", "t", "score", "bootstrap"])
def test_a_variance_factor_widens_every_interval(interval):
    """Four times the variance is twice the width, exactly where the interval is a multiple of the standard error."""
    rng = np.random.default_rng(1117)
    g = rng.beta(2, 1, 300)
    h = (rng.random(300) < g).astype(float)
    pi = rng.uniform(0.3, 0.9, 300)
    strong = np.where(rng.random(300) < pi, h, np.nan)
    one, four = (
        estimate_rated(Ratings.of(g, strong, pi), EstimateOptions("difference", interval, variance_factor=v))
        for v in (1, 4)
    )
    assert one.value == four.value
    ratio = (four.interval[1] - four.interval[0]) / (one.interval[1] - one.interval[0])
    assert ratio == pytest.approx(2, rel=1e-9 if interval in {"normal", "t"} else 0.1)
