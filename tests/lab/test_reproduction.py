"""The paper's figures, experiments and claims: METHODS section 11, sampled worlds, and claims that can fail."""

from dataclasses import replace

import numpy as np
import pytest

from ratewise import optimal_policy
from ratewise.errors import TableError
from ratewise.lab.datasets import Dataset
from ratewise.lab.figures import beta_errors, curves, gamma_errors, points_of, ratios
from ratewise.lab.reproduction import EXPERIMENTS, population_of, verdicts

from ..worlds import sharp_judge

SECTION_11 = [  # distribution, V, μ, η, c, τ*, E[π], active/base, random/base
    (gamma_errors, 1.0, 0.5, 0.5, 0.1, 2.239272, 0.251820, 0.620661, 0.866228),
    (gamma_errors, 1.0, 1.5, 4.0, 0.1, 1.267888, 0.641699, 0.884335, 1.1),
    (gamma_errors, 0.3, 1.0, 1.0, 0.1, 0.559410, 0.904792, 1.053155, 1.1),
    (beta_errors, 0.25, 0.1, 0.05, 0.05, 1.732051, 0.095952, 0.255625, 0.649089),
    (beta_errors, 0.25, 0.3, 0.1, 0.05, 0.697105, 0.572559, 0.753387, 1.05),
]


@pytest.fixture(scope="module")
def gaussian():
    return points_of("gaussian")


@pytest.fixture(scope="module")
def bernoulli():
    return points_of("bernoulli")


@pytest.mark.parametrize("row", SECTION_11, ids=lambda row: f"{row[0].__name__} {row[1:5]}")
def test_numbers_by_quadrature(row):
    distribution, V, mu, eta, c, threshold, rate, active, random = row
    u, weights = distribution(mu, eta)
    policy = optimal_policy(u, variance=V, weak_cost=c, strong_cost=1.0, weights=weights)
    assert policy.threshold == pytest.approx(threshold, rel=1e-4)
    assert policy.mean_rate == pytest.approx(rate, rel=1e-4)
    over = ratios((u, weights), variance=V, cost_ratio=c)
    assert over["base"] == pytest.approx(active, rel=2e-5)
    assert over["base"] / over["random"] == pytest.approx(random, rel=1e-6)


@pytest.mark.parametrize(
    ("made", "drawn", "mean", "variance"),
    [
        (gamma_errors(0.7, 0.2), lambda rng, n: rng.gamma(0.7**2 / 0.2, 0.2 / 0.7, n), 0.7, 0.2),
        (gamma_errors(0.1, 0.5), lambda rng, n: rng.gamma(0.02, 5.0, n), 0.1, 0.5),
        (beta_errors(0.2, 0.04), lambda rng, n: rng.beta(0.6, 2.4, n), 0.2, 0.04),
        (beta_errors(0.3, 0.2), lambda rng, n: rng.beta(0.015, 0.035, n), 0.3, 0.2),
    ],
)
def test_the_bins_have_the_moments_and_the_quantiles_of_the_distribution(made, drawn, mean, variance):
    u, weights = made
    assert weights.sum() == pytest.approx(1.0, abs=1e-12)
    assert np.dot(u, weights) == pytest.approx(mean, rel=1e-9)
    assert np.dot((u - mean) ** 2, weights) == pytest.approx(variance, rel=2e-3)
    sample = np.sqrt(drawn(np.random.default_rng(5), 400_000))
    bound = 4.9 * sample.std() / sample.size**0.5  # false alarm 1e-6
    assert np.dot(np.sqrt(u), weights) == pytest.approx(sample.mean(), abs=bound)


def test_limits_of_the_distributions():
    for distribution in (gamma_errors, beta_errors):
        assert [part.tolist() for part in distribution(0.3, 0.0)] == [[0.3], [1.0]]
    assert [part.tolist() for part in beta_errors(0.3, 0.21)] == [[0.0, 1.0], [0.7, 0.3]]


def test_panels_and_curves(gaussian, bernoulli):
    assert {p.panel for p in gaussian} == set("abc")
    assert {p.panel for p in bernoulli} == set("abcdef")
    for points in (gaussian, bernoulli):
        for panel in "abc":
            for curve in curves(points, panel).values():
                assert len(curve) >= 30
                assert np.all(np.diff([p.x for p in curve]) > 0)
    assert all((p.lower_bound is not None) == (p.panel in "def") for p in bernoulli)


def test_every_claim_holds(gaussian, bernoulli):
    for claim in verdicts({"gaussian": gaussian, "bernoulli": bernoulli}):
        assert claim.holds, claim.text
        assert claim.evidence


@pytest.mark.parametrize("panel", ["a", "b", "c"])
def test_a_curve_that_turns_fails_its_claim(gaussian, panel):
    broken = [replace(p, y=1.0 - 0.5 * p.y) if p.panel == panel else p for p in gaussian]
    assert not all(claim.holds for claim in verdicts({"gaussian": broken}))


def test_a_ratio_below_the_bound_fails_the_claim(bernoulli):
    at = next(k for k, p in enumerate(bernoulli) if p.panel == "e" and p.error_variance > 0.05)
    broken = list(bernoulli)
    broken[at] = replace(broken[at], y=broken[at].lower_bound - 1e-3)
    assert not verdicts({"bernoulli": broken})[-1].holds


def test_the_easy_hard_split_keeps_the_ends_of_u():
    g, h = sharp_judge(1000, 4, sharp=0.5)
    whole = Dataset("arena", "", g, h, transfer=sharp_judge(500, 5, sharp=0.5))
    (split,) = EXPERIMENTS["arena-easy-hard"]
    population, other = population_of(split, whole)
    u = population.weak * (1 - population.weak)
    low, high = np.quantile(g * (1 - g), [0.25, 0.75])
    assert population.items == 500
    assert np.all((u <= low) | (u >= high))
    assert other.items == 500


def test_transfer_needs_something_to_transfer_from():
    (experiment,) = EXPERIMENTS["arena-transfer"]
    with pytest.raises(TableError, match="no other comparisons"):
        population_of(experiment, Dataset("arena", "", *sharp_judge(300, 6, sharp=1)))
