"""Candidates for u(x) = E[(H − f)²|x]: what each says, in what order, and what it says of a label it has not seen."""

import numpy as np
import pytest

from ratewise.learn.covariates import Covariates
from ratewise.learn.error_model import ErrorBasis, LearnedError, error_candidates
from ratewise.learn.ridge import PENALTIES

LEAST = {"claimed": 0.02, "given": 0.02, "fitted": 0.05}  # shares of the mean error


class Case:
    """300 items seen, 60 of them labelled, with predictions and squared residuals off any neat number."""

    def __init__(self, *, uncertainty=False, features=False, bounds=(1.0, 5.0), seed=911):
        rng = np.random.default_rng(seed)
        low, high = bounds
        self.bounds = bounds
        self.f_seen = rng.uniform(low, high, 300)
        z = rng.normal(0, 1, (300, 2))
        own = rng.gamma(0.8, 3, 300)
        self.seen = Covariates(self.f_seen + 0.1, z if features else None, own if uncertainty else None)
        self.at = rng.choice(300, 60, replace=False)
        self.f, self.x = self.f_seen[self.at], self.seen.rows(self.at)
        self.f_unseen = self.f + 0.03 * (high - low) * rng.standard_normal(60)
        self.weights = 10.0 ** rng.uniform(-1, 1, 60)
        spread = 0.1 + 0.2 * np.abs(self.f_seen - low) / (high - low) + (0.3 * np.abs(z[:, 0]) if features else 0)
        self.squared = (spread * rng.standard_normal(300))[self.at] ** 2

    def candidates(self, *, binary=False):
        return error_candidates(
            self.f_seen, self.seen, self.f, self.f_unseen, self.x, self.squared, self.weights, bounds=self.bounds,
            binary=binary,
        )  # fmt: skip

    @property
    def mean(self):
        return float(np.average(self.squared, weights=self.weights))


@pytest.mark.parametrize(
    ("uncertainty", "binary", "kinds"),
    [
        (False, False, ["constant", "fitted", "fitted", "fitted"]),
        (True, False, ["constant", "given", "fitted", "fitted", "fitted"]),
        (False, True, ["constant", "claimed", "fitted", "fitted", "fitted"]),
        (True, True, ["constant", "given", "claimed", "fitted", "fitted", "fitted"]),
    ],
)
def test_order_and_kinds(uncertainty, binary, kinds):
    found = Case(uncertainty=uncertainty).candidates(binary=binary)
    assert [c.kind for c in found] == kinds
    penalties = [PENALTIES[c.penalty] for c in found[-3:]]
    assert penalties == [100.0, 10.0, 1000.0]  # the middle one first
    assert all(c.mean == pytest.approx(Case().mean) for c in found)


def test_the_constant_is_the_weighted_mean_squared_residual():
    case = Case()
    constant = case.candidates()[0]
    np.testing.assert_allclose(constant.predict(case.f_seen, case.seen), case.mean)
    np.testing.assert_allclose(constant.unseen(case.f, case.x, case.squared), case.mean)
    assert case.mean != pytest.approx(case.squared.mean(), rel=0.02)  # weights matter here


def test_given_is_scaled_to_the_mean_squared_residual():
    """The weighted mean of u over the labels is that of the squared residuals, but for the least share."""
    case = Case(uncertainty=True)
    given = case.candidates()[1]
    u = given.predict(case.f, case.x)
    own = case.x.uncertainty * case.mean / np.average(case.x.uncertainty, weights=case.weights)
    np.testing.assert_allclose(u, np.maximum(own, 0.02 * case.mean), rtol=1e-12)
    assert np.average(u, weights=case.weights) == pytest.approx(case.mean, rel=0.01)
    assert u.min() == pytest.approx(0.02 * case.mean)
    larger = Covariates(case.seen.weak, None, 17 * case.seen.uncertainty)  # its units do not matter
    again = error_candidates(
        case.f_seen, larger, case.f, case.f, larger.rows(case.at), case.squared, case.weights, bounds=case.bounds,
        binary=False,
    )[1]  # fmt: skip
    np.testing.assert_allclose(again.predict(case.f_seen, larger), given.predict(case.f_seen, case.seen), rtol=1e-12)


def test_given_is_left_out_where_it_is_zero_for_all_labels():
    case = Case(uncertainty=True)
    case.x = Covariates(case.x.weak, None, np.zeros(60))
    assert [c.kind for c in case.candidates()] == ["constant", "fitted", "fitted", "fitted"]


def test_claimed_is_the_variance_of_a_coin_for_the_prediction_it_is_given():
    case = Case(bounds=(0.0, 1.0))
    claimed = case.candidates(binary=True)[1]
    np.testing.assert_allclose(
        claimed.predict(case.f_seen, case.seen), np.maximum(case.f_seen * (1 - case.f_seen), 0.02 * case.mean)
    )
    others = 1 - case.f**2
    np.testing.assert_allclose(
        claimed.unseen(others, case.x, case.squared), np.maximum(others * (1 - others), 0.02 * case.mean)
    )


@pytest.mark.parametrize("k", [0, 1, 2])
def test_fitted_is_ridge_regression_of_the_squared_residuals(k):
    """By the normal equations at the mean of f with and without the label; unseen u by refits without each label.

    What a label's own weight goes by is at f without it, by the same refits.
    """
    case = Case(features=True, uncertainty=True)
    fitted = case.candidates()[-3 + k]
    basis = ErrorBasis.of(case.f_seen, case.seen, case.bounds, (case.f, case.f_unseen))
    A = np.column_stack([np.ones(60), basis(0.5 * (case.f + case.f_unseen), case.x)])
    there = np.column_stack([np.ones(60), basis(case.f_unseen, case.x)])
    W = case.weights * 60 / case.weights.sum()
    ridge = PENALTIES[fitted.penalty] * np.diag([0.0, *np.ones(A.shape[1] - 1)])

    def solved(use):
        return np.linalg.solve(A[use].T * W[use] @ A[use] + ridge, A[use].T @ (W[use] * case.squared[use]))

    least = 0.05 * case.mean
    everything = np.column_stack([np.ones(300), basis(case.f_seen, case.seen)])
    plain = everything @ solved(np.arange(60) >= 0)
    np.testing.assert_allclose(fitted.predict(case.f_seen, case.seen), np.maximum(plain, least), rtol=1e-7)
    without = [solved(np.arange(60) != i) for i in range(60)]
    unseen = fitted.unseen(case.f_unseen, case.x, case.squared)
    np.testing.assert_allclose(unseen, np.maximum((A * without).sum(axis=1), least), rtol=1e-7)
    assert not np.allclose(unseen, fitted.predict(case.f, case.x), rtol=0.01)
    own = fitted.own(case.f_unseen, case.x)
    np.testing.assert_allclose(own, np.maximum((there * without).sum(axis=1), least), rtol=1e-7)
    assert not np.allclose(own, unseen, rtol=1e-4)


def test_an_f_that_one_label_moves_more_than_it_varies_says_nothing():
    """20 ones among 50 labels, f the mean of all or of the others: f without a label tells what it is, and no more.

    Columns of f would reach far beyond 1 without the check, and are left out; the feature keeps its size.
    """
    h = (np.arange(50) < 20).astype(float)
    f = np.full(50, h.mean())
    others = (h.sum() - h) / 49
    rng = np.random.default_rng(5)
    seen = Covariates(rng.random(500), rng.normal(size=(500, 1)))
    f_seen = h.mean() + 1e-3 * rng.standard_normal(500)
    basis = ErrorBasis.of(f_seen, seen, (0.0, 1.0), (f, others))
    X = basis(others, seen.rows(slice(50)))
    assert not X[:, :-1].any()
    assert X[:, -1].std() == pytest.approx(0.5, rel=0.25)  # as a bend
    assert np.abs(ErrorBasis.of(f_seen, seen, (0.0, 1.0))(others, seen.rows(slice(50)))).max() > 5


def test_what_is_fitted_finds_where_the_errors_are():
    """Residuals ten times as wide above the middle of the scale, and a feature that says nothing."""
    rng = np.random.default_rng(919)
    f = rng.uniform(10, 30, 2000)
    x = Covariates(f, rng.normal(0, 1, (2000, 1)))
    truth = np.where(f > 22, 4.0, 0.04)
    squared = truth * rng.standard_normal(2000) ** 2
    at = np.arange(400)
    found = error_candidates(f, x, f[at], f[at], x.rows(at), squared[at], np.ones(400), bounds=(10, 30), binary=False)
    for candidate in found[1:]:
        u = candidate.predict(f, x)
        shrunk = PENALTIES[candidate.penalty] > 400  # more than there are labels
        assert u[f > 25].mean() > (2 if shrunk else 4) * u[f < 18].mean(), candidate.penalty
        assert np.mean((u - truth) ** 2) < (0.7 if shrunk else 0.5) * truth.var()


@pytest.mark.parametrize("kind", ["given", "claimed", "fitted"])
def test_nothing_is_ever_below_its_least_share(kind):
    """Predictions at both ends of the scale and far outside of what was seen, an uncertainty of 0."""
    case = Case(uncertainty=True, features=True, bounds=(0.0, 1.0))
    wild = Covariates(np.array([0.0, 1, 0.5]), np.array([[-5e4, 9], [8e4, -9], [0, 0]]), np.array([0.0, 0, 4]))
    for candidate in case.candidates(binary=True):
        if candidate.kind == kind:
            u = candidate.predict(np.array([0.0, 1.0, 0.5]), wild)
            assert u.min() >= LEAST[kind] * case.mean * (1 - 1e-12)
            assert u.min() == pytest.approx(LEAST[kind] * case.mean)


def test_constant_where_nothing_is_known():
    """One and the same prediction for all items and no columns: every candidate says the mean."""
    rng = np.random.default_rng(929)
    f, squared = np.full(200, 0.3), rng.gamma(1, 1, 50)
    w = rng.uniform(1, 3, 50)
    seen = Covariates(np.full(200, 2.0))
    for candidate in error_candidates(
        f, seen, f[:50], f[:50], seen.rows(slice(0, 50)), squared, w, bounds=(0, 1), binary=False
    ):
        np.testing.assert_allclose(candidate.predict(f, seen), np.average(squared, weights=w), rtol=1e-9)


def test_no_residual_at_all_gives_zero_not_nan():
    case = Case(uncertainty=True, features=True)
    case.squared = np.zeros(60)
    for candidate in case.candidates():
        assert isinstance(candidate, LearnedError)
        np.testing.assert_allclose(candidate.predict(case.f_seen, case.seen), 0, atol=1e-15)
