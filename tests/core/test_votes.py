"""Votes of several people: published values of alpha, and variances against brute force."""

import numpy as np
import pytest

from ratewise.core.votes import (
    Votes,
    agreement,
    krippendorff_alpha,
    people_who_differ,
    percent_agreement,
    vote_noise,
)

NAN = np.nan
# Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", examples A, B and C
TWO_BINARY = np.array([[0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]]).T
FOUR = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T


def votes_of(values, people=("a", "b", "c", "d")):
    found = np.asarray(values, dtype=float)
    return Votes(found, people[: found.shape[1]])


@pytest.mark.parametrize(("values", "published"), [(TWO_BINARY, 0.095), (FOUR, 0.849)])
def test_alpha_has_its_published_values(values, published):
    assert krippendorff_alpha(votes_of(values)) == pytest.approx(published, abs=6e-4)


def test_alpha_by_brute_force_over_all_pairs():
    rng = np.random.default_rng(4)
    v = np.where(rng.random((30, 5)) < 0.6, rng.integers(1, 6, (30, 5)), NAN)
    units = [row[~np.isnan(row)] for row in v if np.count_nonzero(~np.isnan(row)) > 1]
    flat = np.concatenate(units)
    n = flat.size
    inside = sum(((u[:, None] - u) ** 2).sum() / (u.size - 1) for u in units) / n
    among = ((flat[:, None] - flat) ** 2).sum() / (n * (n - 1))
    assert krippendorff_alpha(votes_of(v)) == pytest.approx(1 - inside / among)


def test_alpha_is_undefined_where_nothing_tells():
    assert krippendorff_alpha(votes_of([[1, NAN], [NAN, 0]])) is None
    assert krippendorff_alpha(votes_of([[1, 1], [1, 1]])) is None
    assert percent_agreement(votes_of([[1, NAN]])) is None


def test_percent_agreement_counts_pairs():
    assert percent_agreement(votes_of([[1, 1, 0], [1, 1, NAN], [0, NAN, NAN]])) == pytest.approx(2 / 4)


def test_means_and_spread():
    votes = votes_of([[1, 3, NAN], [2, NAN, NAN], [NAN, NAN, NAN], [0, 0, 3]])
    np.testing.assert_allclose(votes.means, [2, 2, NAN, 1])
    np.testing.assert_allclose(votes.spread_within(), [2, (2 + 6) / 3, (2 + 6) / 3, 3])
    assert votes_of([[1, NAN], [NAN, 2]]).spread_within() is None


def test_the_parts_of_the_variance_are_those_of_many_trials():
    """Fixed items, unequal rates and numbers of votes: the variance of θ̂, with and without another vote, by drawing."""
    rng = np.random.default_rng(7)
    T, trials = 60, 6000
    mu, sigma = rng.normal(3, 1, T), rng.uniform(0.5, 1.5, T)
    pi, k = rng.uniform(0.3, 1.0, T), rng.integers(2, 5, T)
    f = mu + rng.normal(0, 0.5, T)
    value, more, parts, beyond, saved, drawn = [], [], [], [], [], []
    for _ in range(trials):
        xi = rng.random(T) < pi
        v = mu[:, None] + sigma[:, None] * rng.normal(size=(T, 5))
        at = np.arange(5)
        votes = votes_of(np.where(xi[:, None] & (at < k[:, None]), v, NAN))
        h, extra = votes.means, np.where(xi, np.nanmean(np.where(at <= k[:, None], v, NAN), axis=1), NAN)
        for y, out in ((h, value), (extra, more)):
            out.append(np.mean(f + np.where(xi, y - f, 0.0) / pi))
        noise = vote_noise(votes, pi)
        parts.append(noise.part)
        beyond.append(noise.beyond)
        saved.append(noise.saved)
        drawn.append(np.sum(np.where(xi, (h - f) ** 2, 0.0) * (1 - pi) / pi**2) / T**2)
    assert np.mean(parts) == pytest.approx(np.sum(sigma**2 / k / pi) / T**2, rel=0.02)
    assert np.mean(drawn) + np.mean(beyond) == pytest.approx(np.var(value), rel=0.08)  # a pool's own mean
    assert np.var(value) - np.var(more) == pytest.approx(np.mean(saved), rel=0.35)
    assert np.mean(value) == pytest.approx(mu.mean(), abs=5 * np.std(value) / np.sqrt(trials))


def test_another_vote_is_never_worth_as_much_as_other_items():
    rng = np.random.default_rng(1)
    v = rng.normal(size=(2000, 1)) + rng.normal(size=(2000, 3))
    votes = votes_of(v)
    se = float(votes.means.std(ddof=1) / np.sqrt(2000))
    found = agreement(votes, np.ones(2000), standard_error=se, room=True)
    assert found.with_other_items < found.with_another_vote < se
    assert found.with_other_items == pytest.approx(se * np.sqrt(3 / 4))
    assert found.noise_share == pytest.approx(1 / 4, abs=0.05)  # σ²/3 of 1 + σ²/3
    assert agreement(votes, np.ones(2000), standard_error=se, room=False).with_other_items is None


def test_a_harsh_person_is_named_and_others_are_not():
    rng = np.random.default_rng(2)
    truth = rng.random(200)
    v = (rng.random((200, 3)) < truth[:, None]).astype(float)
    assert people_who_differ(votes_of(v)) == ()
    v[:, 2] *= rng.random(200) < 0.4
    (name, gap), *_ = [who for who in people_who_differ(votes_of(v, ("a", "b", "c"))) if who[0] == "c"]
    assert (name, gap < -0.1) == ("c", True)
