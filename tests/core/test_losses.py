"""Losses by finite differences: ψ is the slope of the loss, and the curvature that of ψ."""

import numpy as np
import pytest
from scipy import special

from ratewise.core.m_estimation import LOSSES

WHOLE = {
    "linear": lambda eta, y: 0.5 * (eta - y) ** 2,
    "logistic": lambda eta, y: np.logaddexp(0, eta) - y * eta,
    "poisson": lambda eta, y: np.exp(eta) - y * eta,
}


@pytest.mark.parametrize("family", list(LOSSES))
def test_gradient_and_curvature_are_derivatives(family):
    loss, whole = LOSSES[family], WHOLE[family]
    eta, y, h = np.array([-2.0, -0.3, 0.7, 1.9]), np.array([0.0, 1.0, 0.4, 3.0]), 1e-5
    slope = (whole(eta + h, y) - whole(eta - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.gradient(eta, y), slope, rtol=1e-7, atol=1e-9)
    bend = (loss.gradient(eta + h, y) - loss.gradient(eta - h, y)) / (2 * h)
    np.testing.assert_allclose(loss.curvature(eta), bend, rtol=1e-7, atol=1e-9)


def test_each_starts_at_the_predictor_of_its_mean_and_survives_the_ends():
    assert LOSSES["linear"].start(3.2) == 3.2
    assert special.expit(LOSSES["logistic"].start(0.3)) == pytest.approx(0.3)
    assert np.exp(LOSSES["poisson"].start(2.5)) == pytest.approx(2.5)
    assert all(np.isfinite(LOSSES[family].start(end)) for family in LOSSES for end in (0.0, 1.0))
