"""The public mechanism: a family by its name, λ as given or tuned, clusters and pools passed on."""

import numpy as np
import pytest

from ratewise.core.m_estimation import LOSSES, fit_m_estimator, m_estimate
from ratewise.core.ratings import ratings
from ratewise.errors import InputError

from ..worlds import lopsided_regression


def table(family="logistic"):
    X, g, h, pi, asked = lopsided_regression(9, family, T=500)
    return X, g, np.where(asked, h, np.nan), pi


def test_a_name_is_its_loss():
    X, g, h, pi = table()
    named, given = (m_estimate(X, g, h, pi, loss=loss) for loss in ("logistic", LOSSES["logistic"]))
    right = fit_m_estimator(X, LOSSES["logistic"], ratings(g, h, pi))
    np.testing.assert_array_equal(named.coefficients, right.coefficients)
    np.testing.assert_array_equal(given.coefficients, named.coefficients)


def test_power_clusters_and_pool_change_what_they_should():
    X, g, h, pi = table("linear")
    plain, tuned = (m_estimate(X, g, h, pi, power=power) for power in (1.0, None))
    assert not np.array_equal(plain.coefficients, tuned.coefficients)
    pool = m_estimate(X, g, h, pi, estimand="pool")
    assert np.all(pool.standard_errors < plain.standard_errors)
    clustered = m_estimate(X, g, h, pi, clusters=np.arange(500) // 10)
    np.testing.assert_array_equal(clustered.coefficients, plain.coefficients)
    assert not np.array_equal(clustered.standard_errors, plain.standard_errors)


def test_unknown_families_are_named():
    X, g, h, pi = table()
    with pytest.raises(InputError, match="probit"):
        m_estimate(X, g, h, pi, loss="probit")
