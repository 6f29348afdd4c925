"""Temperature scaling finds the temperature that was put in."""

import numpy as np
import pytest
from scipy import special

from ratewise.learn.calibration import fit_temperature, quality


def test_overconfident_log_odds_are_cooled_down():
    rng = np.random.default_rng(1)
    z = rng.normal(0, 2, 20_000)
    y = (rng.random(z.size) < special.expit(z / 2.5 + 0.4)).astype(float)
    temperature, shift = fit_temperature(z, y)
    assert temperature == pytest.approx(2.5, rel=0.05)
    assert shift == pytest.approx(0.4, abs=0.05)
    assert quality(special.expit(z / temperature + shift), y)["loss"] < quality(special.expit(z), y)["loss"]


def test_few_labels_change_nothing_and_perfect_ones_stay_finite():
    assert fit_temperature(np.ones(5), np.ones(5)) == (1.0, 0.0)
    sure, _ = fit_temperature(np.linspace(-3, 3, 40), (np.linspace(-3, 3, 40) > 0).astype(float))
    assert 0.04 < sure < 1


def test_quality_is_a_share_of_the_variance_with_tenths():
    y = np.tile([0.0, 1.0], 50)
    told = quality(0.25 + 0.5 * y, y)
    assert told["r2"] == pytest.approx(0.75)
    assert len(told["reliability"]) == 10
    assert told["reliability"][0] == {"said": 0.25, "found": 0.0, "items": 10}
    assert quality(np.array([0.5]), np.array([1.0]))["r2"] is None
    assert quality(np.array([0.5, 0.6]), np.array([1.0, 1.0]))["r2"] is None
