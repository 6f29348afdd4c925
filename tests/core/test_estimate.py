"""Estimators: by hand, by enumeration of every possible draw, and their limits."""

import itertools

import numpy as np
import pytest

from ratewise.core.estimate import contributions, cross_fitted, on_scale
from ratewise.core.ratings import ratings
from ratewise.errors import InputError
from ratewise.questions.estimation import estimate_mean

WEAK = np.array([0.2, 0.9, 0.4, 0.7, 0.95])
STRONG = np.array([1.0, 1.0, 0.0, 3.0, 2.0])
RATES = np.array([0.3, 0.8, 0.5, 1.0, 0.15])


def every_draw(rates):
    """All patterns of who is drawn, with their probabilities."""
    for pattern in itertools.product([False, True], repeat=rates.size):
        xi = np.array(pattern)
        yield xi, float(np.prod(np.where(xi, rates, 1 - rates)))


def random_table(seed, n=400, *, shift=0.0):
    rng = np.random.default_rng(seed)
    h = rng.gamma(2.0, 1.5, n) + shift
    g = 0.6 * h + rng.normal(1.0, 1.0, n)
    pi = np.clip(rng.beta(2, 5, n), 0.05, 1)
    return g, np.where(rng.random(n) < pi, h, np.nan), pi


# The estimate


def test_difference_is_the_formula_by_hand():
    strong = np.array([1.0, np.nan, 0.0, 3.0, np.nan])
    expected = [0.2 + 0.8 / 0.3, 0.9, 0.4 - 0.4 / 0.5, 3.0, 0.95]
    found = estimate_mean(WEAK, strong, RATES, method="difference")
    np.testing.assert_allclose(found.contributions, expected)
    assert found.value == pytest.approx(np.mean(expected))
    assert (found.items, found.labels, found.method) == (5, 3, "difference")


def test_difference_is_unbiased_over_every_possible_draw():
    total = 0.0
    for xi, probability in every_draw(RATES):
        data = ratings(WEAK, np.where(xi, STRONG, np.nan), RATES)
        total += probability * contributions(data.weak, data).mean()
    assert total == pytest.approx(STRONG.mean(), abs=1e-12)


def test_chain_is_unbiased_and_its_variance_is_the_formula_over_every_possible_draw():
    middle = np.array([0.5, 1.0, 0.1, 2.0])
    weak, strong = WEAK[:4], STRONG[:4]
    q = np.array([[0.7, 0.3], [0.9, 0.9], [0.5, 0.2], [0.6, 0.4]])
    mean = second = 0.0
    for stages in itertools.product(range(3), repeat=4):  # how far along the chain each item went
        stage = np.array(stages)
        p = np.array([[1 - a, a - b, b] for a, b in q])[np.arange(4), stage].prod()
        given = np.stack([weak, np.where(stage >= 1, middle, np.nan)], axis=1)
        data = ratings(given, np.where(stage == 2, strong, np.nan), q)
        value = contributions(data.weak, data).mean()
        mean, second = mean + p * value, second + p * value**2
    assert mean == pytest.approx(strong.mean(), abs=1e-12)
    first, last = (strong - weak) ** 2, (strong - middle) ** 2
    variance = (first * (1 / q[:, 0] - 1) + last * (1 / q[:, 1] - 1 / q[:, 0])).sum() / 16
    assert second - mean**2 == pytest.approx(variance, rel=1e-9)


def test_pool_variance_is_unbiased_over_every_possible_draw():
    """The mean of the estimated variance is the true variance of the estimate, up to draws without two labels."""
    rates, estimated, values, weights = np.array([0.5, 0.8, 0.6, 0.9, 0.7]), [], [], []
    for xi, probability in every_draw(rates):
        strong = np.where(xi, STRONG, np.nan)
        data = ratings(WEAK, strong, rates)
        values.append(contributions(data.weak, data).mean())
        weights.append(probability)
        residual = np.where(xi, STRONG - WEAK, 0.0)
        by_hand = (residual**2 * (1 - rates) / rates**2).sum() / 25
        if xi.sum() >= 2:
            found = estimate_mean(WEAK, strong, rates, method="difference", interval="normal", estimand="pool")
            assert found.standard_error**2 == pytest.approx(by_hand)
        estimated.append(by_hand)
    true = np.average(np.square(values), weights=weights) - STRONG.mean() ** 2
    assert np.average(estimated, weights=weights) == pytest.approx(true)


def test_partial_pool_adds_the_variance_of_the_items_not_looked_at():
    g, h, pi = random_table(1, n=900)
    whole = estimate_mean(g, h, pi, method="difference", interval="normal", estimand="pool")
    part = estimate_mean(g, h, pi, method="difference", interval="normal", estimand="pool", pool_size=3000)
    weight = np.where(np.isnan(h), 0, 1 / pi)
    V = np.average((np.nan_to_num(h) - whole.value) ** 2, weights=weight)
    assert part.standard_error**2 - whole.standard_error**2 == pytest.approx(V * (1 / 900 - 1 / 3000))
    population = estimate_mean(g, h, pi, method="difference", interval="normal")
    huge = estimate_mean(g, h, pi, method="difference", interval="normal", estimand="pool", pool_size=1e12)
    assert huge.standard_error == pytest.approx(population.standard_error, rel=0.1)


def test_power_tuned_is_the_papers_plug_in():
    g, h, pi = random_table(2)
    xi, filled = ~np.isnan(h), np.nan_to_num(h)
    top = ((g**2 + (filled * g - g**2) * xi / pi) * (1 / pi - 1)).mean()
    slope = top / (g**2 * (1 / pi - 1)).mean()
    found = estimate_mean(g, h, pi, method="power-tuned")
    assert found.slope == pytest.approx(slope)
    assert found.value == pytest.approx((slope * g + (filled - slope * g) * xi / pi).mean())


def test_regression_is_weighted_least_squares_and_does_not_care_for_shifts():
    g, h, pi = random_table(3)
    xi = ~np.isnan(h)
    root = np.sqrt((1 / pi[xi] - 1) / pi[xi])
    a, b = np.linalg.lstsq(np.stack([root, root * g[xi]], axis=1), root * h[xi], rcond=None)[0]
    f = a + b * g
    found = estimate_mean(g, h, pi, method="regression")
    assert found.value == pytest.approx((f + np.where(xi, (np.nan_to_num(h) - f) / pi, 0)).mean())
    moved = estimate_mean(g - 40, h + 100, pi, method="regression")
    assert moved.value == pytest.approx(found.value + 100)
    tuned = [estimate_mean(g + s, h + s, pi, method="power-tuned").value - s for s in (0, 100)]
    assert tuned[0] != pytest.approx(tuned[1], abs=1e-3)  # the paper's λ does care


@pytest.mark.parametrize("method", ["difference", "power-tuned", "regression", "auto"])
def test_rates_of_one_give_the_plain_mean_and_its_standard_error(method):
    found = estimate_mean(WEAK, STRONG, 1.0, method=method, interval="t")
    assert found.value == pytest.approx(STRONG.mean())
    assert found.standard_error == pytest.approx(STRONG.std(ddof=1) / np.sqrt(5))
    assert found.degrees_of_freedom == pytest.approx(4)


def test_chain_of_one_step_equals_two_raters():
    g, h, pi = random_table(4)
    for method in ("difference", "power-tuned", "regression", "auto"):
        flat = estimate_mean(g, h, pi, method=method)
        chain = estimate_mean(g[:, None], h, pi[:, None], method=method)
        assert flat.to_dict() == chain.to_dict()


def test_chain_with_an_idle_middle_step_equals_two_raters():
    """A middle rater that repeats the first one and is asked of everybody changes nothing."""
    g, h, pi = random_table(5)
    chain = estimate_mean(np.stack([g, g], 1), h, np.stack([np.ones_like(pi), pi], 1), method="difference")
    flat = estimate_mean(g, h, pi, method="difference")
    assert chain.value == pytest.approx(flat.value)
    assert chain.standard_error == pytest.approx(flat.standard_error)


# auto


def test_auto_lines_do_not_see_their_own_fold():
    g, h, pi = random_table(6)
    fold = np.random.default_rng(0).permutation(g.size) % 10
    before = cross_fitted(ratings(g, h, pi), fold, folds=10)
    changed = np.where(fold == 3, h * -50 + 7, h)
    after = cross_fitted(ratings(g, changed, pi), fold, folds=10)
    mine, others = fold == 3, fold != 3
    np.testing.assert_array_equal(before.slope[mine], after.slope[mine])
    assert not np.allclose(before.slope[others], after.slope[others])


def test_auto_finds_the_line_when_labels_are_many_and_leaves_a_good_rater_alone():
    rng = np.random.default_rng(7)
    h = rng.normal(5, 2, 20_000)
    noise = rng.normal(0, 0.5, 20_000)
    asked = np.where(rng.random(20_000) < 0.2, h, np.nan)
    off_scale = estimate_mean(10 * (h + noise) - 30, asked, 0.2)
    assert off_scale.slope == pytest.approx(0.1 / (1 + 0.0625), abs=0.005)
    assert off_scale.standard_error < 1.05 * estimate_mean(h + noise, asked, 0.2).standard_error
    calibrated = h * (4 / 4.25) + 5 * (0.25 / 4.25) + noise * (4 / 4.25)
    assert estimate_mean(calibrated, asked, 0.2).slope == pytest.approx(1, abs=0.02)


def test_auto_is_the_difference_estimator_with_very_few_labels():
    rng = np.random.default_rng(8)
    g, h = rng.random(30), (rng.random(30) < 0.5).astype(float)
    asked = np.where(np.arange(30) < 5, h, np.nan)
    found = estimate_mean(g, asked, 0.2)
    assert found.method == "auto (difference)"
    assert found.value == estimate_mean(g, asked, 0.2, method="difference").value


def test_estimates_do_not_depend_on_the_seed_except_through_folds():
    g, h, pi = random_table(9)
    values = {estimate_mean(g, h, pi, method="regression", seed=s).value for s in range(5)}
    assert len(values) == 1
    assert estimate_mean(g, h, pi, seed=1).value == estimate_mean(g, h, pi, seed=1).value


# Missing answers


def test_missing_answers_are_counted_at_both_ends():
    strong = np.array([1.0, 0.0, np.nan, 1.0, 0.0, np.nan, 1.0])
    weak, rates = np.full(7, 0.5), np.full(7, 0.5)
    asked = np.array([1, 1, 1, 1, 1, 0, 1], dtype=bool)
    found = estimate_mean(weak, strong, rates, selected=asked, method="difference")
    ends = [np.where(np.arange(7) == 2, x, strong) for x in (0.0, 1.0)]
    low, high = (estimate_mean(weak, x, rates, method="difference") for x in ends)
    assert (found.low, found.high) == (low.low, high.high)
    assert found.value == pytest.approx((low.value + high.value) / 2)
    assert "1 answers that were asked for are missing" in found.notes[0]
    assert "(5 labels)" in found.notes[1]  # those that are there
    assert found.standard_error is None


def test_a_rate_of_one_without_an_answer_is_a_missing_answer():
    found = estimate_mean([0.1, 0.9, 0.2], [1.0, np.nan, 0.0], [0.5, 1.0, 0.5])
    assert "missing" in found.notes[0]


def test_missing_answers_without_a_known_scale_are_refused():
    with pytest.raises(InputError, match=r"1 answers .* missing.*bounds"):
        estimate_mean([1, 2, 3], [2.5, np.nan, 1.0], [0.5, 1.0, 0.5])
    found = estimate_mean([1, 2, 3], [2.5, np.nan, 1.0], [0.5, 1.0, 0.5], bounds=(0, 5))
    assert "from 0 to 5" in found.notes[0]


# What is refused


@pytest.mark.parametrize(
    ("weak", "strong", "rates", "message"),
    [
        ([0.5, 0.5], [np.nan, np.nan], [0.5, 0.5], "no item has a strong rating"),
        ([0.5, np.nan], [1, 0], [0.5, 0.5], r"weak rating of item 1 is nan"),
        ([0.5, np.inf], [1, 0], [0.5, 0.5], r"weak rating of item 1 is inf"),
        ([0.5, 0.1], [1, np.inf], [0.5, 0.5], r"strong rating of item 1 is inf"),
        ([0.5, 0.1], [1, 0], [0.5, 0.0], r"item 1 has a rating but rate 0"),
        ([0.5, 0.1], [1, np.nan], [0.5, 0.0], r"rate of item 1 is 0; rates must be in \(0, 1\]"),
        ([0.5, 0.1], [1, 0], [0.5, 1.2], r"rate of item 1 is 1.2"),
        ([0.5, 0.1], [1, 0], [0.5, np.nan], r"rate of item 1 is nan"),
        ([0.5, 0.1], [1, 0, 1], [0.5, 0.5], r"weak must have one entry per item \(3\)"),
        (["a", "b"], [1, 0], [0.5, 0.5], "weak must be numbers"),
        ([], [], [], "non-empty"),
        ([[0.5, 0.1]], [1.0], [[0.2, 0.5]], "rise along the chain"),
        ([[0.5, np.nan]], [1.0], [[0.5, 0.2]], "later rating without the one before"),
        ([[0.5, 0.1]], [1.0], [0.2], "as many weak raters as rates"),
    ],
)
def test_bad_ratings_are_one_clear_error(weak, strong, rates, message):
    with pytest.raises(InputError, match=message):
        estimate_mean(weak, strong, rates)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "magic"}, "unknown method 'magic'; choose one of auto"),
        ({"interval": "wide"}, "unknown interval 'wide'"),
        ({"estimand": "sample"}, "unknown estimand"),
        ({"level": 1.0}, r"level must be in \(0, 1\); got 1"),
        ({"estimand": "pool", "pool_size": 3}, "pool_size is 3 but 5 items"),
        ({"interval": "anytime", "method": "regression"}, "anytime interval needs method 'difference'"),
        ({"interval": "score"}, "needs the ends of the rating scale"),
        ({"interval": "score", "bounds": (0, 2)}, r"bounds \(0, 2\) must .* hold every strong rating"),
        ({"selected": [True]}, "selected must have one entry per item"),
        ({"selected": [False] * 5}, "not selected has a strong rating"),
    ],
)
def test_bad_options_are_one_clear_error(options, message):
    with pytest.raises(InputError, match=message):
        estimate_mean(WEAK, STRONG, RATES, **options)


def test_one_label_gives_a_value_and_no_interval():
    found = estimate_mean([1.5, 2.5, 0.5], [2.0, np.nan, np.nan], 0.5)
    assert found.interval is None
    assert found.standard_error is None
    assert found.low is found.high is None
    assert any("one strong rating" in note for note in found.notes)


def test_constant_ratings_give_no_zero_width_interval():
    found = estimate_mean(np.full(6, 3.0), np.full(6, 3.0), 1.0)
    assert found.value == 3
    assert found.interval is None
    assert any("equal" in note for note in found.notes)
    binary = estimate_mean(np.ones(30), np.ones(30), 1.0)
    assert binary.interval[0] < 0.93
    assert binary.interval[1] == 1


def test_a_fully_labelled_pool_is_known_exactly():
    found = estimate_mean(WEAK, STRONG, 1.0, estimand="pool")
    assert found.interval == (STRONG.mean(), STRONG.mean())
    assert any("exact" in note for note in found.notes)


def test_results_print_and_convert():
    g, h, pi = random_table(10)
    found = estimate_mean(g, h, pi, level=0.9)
    assert "90% interval" in str(found)
    assert "90% interval" in found._repr_html_()
    keys = {
        "value",
        "standard_error",
        "low",
        "high",
        "level",
        "items",
        "labels",
        "spend",
        "method",
        "interval",
        "notes",
    }
    assert keys <= found.to_dict().keys()
    assert found.contributions.mean() == pytest.approx(found.value)


@pytest.mark.parametrize("interval", ["t", "normal", "bootstrap"])
def test_an_interval_keeps_to_a_scale_that_is_known(interval):
    """Four votes with a tie, as in a slice of pairs: Student's reaches far beyond 0 and 1."""
    g, h = np.full(4, 0.9), np.array([1.0, 0.5, 1.0, 1.0])
    free = estimate_mean(g, h, 0.3, method="difference", interval=interval)
    kept = estimate_mean(g, h, 0.3, method="difference", interval=interval, bounds=(0, 1))
    assert free.high > 1
    assert kept.interval == (max(free.low, 0.0), 1.0)
    assert kept.standard_error == free.standard_error
    with pytest.raises(InputError, match="hold every strong rating"):
        estimate_mean(g, 2 * h, 0.3, method="difference", interval=interval, bounds=(0, 1))


def test_an_interval_beyond_the_scale_is_moved_to_its_end_and_has_a_width():
    assert on_scale((1.1, 1.3), (0.0, 1.0)) == pytest.approx((0.8, 1.0))
    assert on_scale((-9.0, -5.0), (0.0, 1.0)) == (0.0, 1.0)
    assert on_scale((-0.42, 1.42), (0.0, 1.0)) == (0.0, 1.0)


def test_a_slice_s_value_is_kept_to_the_scale():
    found = estimate_mean([0.9, 0.9, 0.9], [1.0, 1.0, np.nan], 0.3, method="difference", interval="t")
    assert found.value > 1
    assert found.within((0, 1)).value == 1
    assert found.within(None) is found
