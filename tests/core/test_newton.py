"""Newton's method on rectified losses: the root is a root, and where there is none, the direction is told."""

import numpy as np
import pytest

from ratewise.core.m_estimation import LOSSES, NoFitError, RectifiedTerms, column_sizes, gram, solve
from ratewise.core.ratings import ratings
from ratewise.errors import InputError

from ..worlds import lopsided_regression


@pytest.mark.parametrize("family", list(LOSSES))
def test_the_gradient_ends_at_the_root(family):
    X, g, h, pi, asked = lopsided_regression(5, family, T=400)
    terms = RectifiedTerms.of(ratings(g, np.where(asked, h, np.nan), pi))
    loss = LOSSES[family]
    theta = solve(X, loss, terms)
    gradient = X.T @ terms.sum(lambda y: loss.gradient(X @ theta, y)) / len(X)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-9)


def test_terms_weigh_to_one_rating_for_each_item():
    _, g, h, pi, asked = lopsided_regression(6, "linear", T=200)
    terms = RectifiedTerms.of(ratings(g, np.where(asked, h, np.nan), pi), power=0.7)
    expected = 0.7 * g + np.where(asked, (h - 0.7 * g) / pi, 0.0)
    np.testing.assert_allclose(terms.sum(lambda y: y), expected, rtol=1e-12)


def test_gram_and_sizes_by_hand():
    X = np.array([[1.0, 2.0], [1.0, -1.0], [1.0, 5.0]])
    v = np.array([0.5, 2.0, 1.0])
    np.testing.assert_allclose(gram(X, v), X.T @ np.diag(v) @ X)
    np.testing.assert_allclose(column_sizes(X), [1.0, np.sqrt(10)])


def test_what_cannot_be_fitted_is_refused():
    with pytest.raises(InputError):
        column_sizes(np.ones((4, 2)))
    X = np.column_stack([np.ones(6), np.arange(6.0)])
    separated = ratings(np.zeros(6), (np.arange(6) > 2).astype(float), 1.0)
    with pytest.raises(NoFitError) as refused:
        solve(X, LOSSES["logistic"], RectifiedTerms.of(separated))
    assert refused.value.direction.shape == (2,)
