"""Lines in the weak raters' place: whatever the line, the contributions have the same mean; the right one is found."""

import numpy as np
import pytest

from ratewise.core.estimate import Lines, contributions, cross_fitted, identity, power_tuned, regression
from ratewise.core.ratings import ratings


def drawn(seed=3, T=4000, noise=0.3):
    rng = np.random.default_rng(seed)
    g = rng.normal(2, 1, T)
    h = 0.5 + 1.5 * g + noise * rng.normal(size=T)
    pi = np.clip(0.1 + 0.3 * np.abs(g - 2), 0.1, 1)
    return ratings(g, np.where(rng.random(T) < pi, h, np.nan), pi), h


def test_contributions_by_hand():
    data = ratings([1.0, 2.0], [5.0, np.nan], [0.5, 0.25])
    np.testing.assert_allclose(contributions(np.array([[3.0], [4.0]]), data), [3 + (5 - 3) / 0.5, 4.0])
    np.testing.assert_allclose(Lines(np.array([[1.0]]), np.array([[2.0]])).put(data.weak), [[3.0], [5.0]])
    lines = identity(data)
    np.testing.assert_allclose(lines.put(data.weak), data.weak)


@pytest.mark.parametrize("fit", [regression, lambda data: cross_fitted(data, np.arange(4000) % 5, folds=5)])
def test_the_line_that_made_the_ratings_is_found(fit):
    data, _ = drawn()
    lines = fit(data)
    np.testing.assert_allclose(lines.put(data.weak)[:, 0], 0.5 + 1.5 * data.weak[:, 0], atol=0.12)


def test_all_lines_are_unbiased_and_the_right_one_varies_least():
    found = {name: [] for name in ("identity", "tuned", "fitted")}
    for seed in range(150):
        data, h = drawn(seed, T=300)
        ways = {"identity": identity(data), "tuned": power_tuned(data), "fitted": regression(data)}
        for name, lines in ways.items():
            found[name].append(contributions(lines.put(data.weak), data).mean() - h.mean())
    for errors in map(np.array, found.values()):
        assert abs(errors.mean()) < 3.9 * errors.std() / np.sqrt(150) + 0.01
    assert np.std(found["fitted"]) < np.std(found["identity"])


def test_an_item_in_no_fold_takes_the_mean_of_all_lines():
    data, _ = drawn(T=600)
    fold = np.arange(600) % 10
    each, some = cross_fitted(data, fold, folds=10), cross_fitted(data, np.where(data.labelled, fold, -1), folds=10)
    np.testing.assert_array_equal(some.slope[data.labelled], each.slope[data.labelled])
    by_fold = each.slope[:10, 0]
    np.testing.assert_allclose(some.slope[~data.labelled, 0], by_fold.mean(), rtol=1e-14)
