"""`estimate_mean` with recalibration, and `estimate_table`."""

import itertools

import numpy as np
import pytest

import ratewise as rw
from ratewise import InputError, TableError
from ratewise.core.estimate import EstimateOptions, estimate_rated
from ratewise.core.ratings import Ratings

KINDS = ["platt", "affine", "isotonic"]
EXACT = 1e-11  # what adding up 512 numbers near 3 may lose


def core_estimate_mean(weak, strong, rates, *, selected=None, clusters=None, **options):
    return estimate_rated(
        Ratings.of(weak, strong, rates, selected=selected, clusters=clusters), EstimateOptions(**options)
    )


@pytest.fixture(scope="module")
def few_items():
    """Eleven items, nine of them drawn with very different rates; the weak rating is on another scale."""
    rng = np.random.default_rng(701)
    h = np.round(rng.gamma(1.5, 2.0, 11), 1)
    g = np.round(40 - 6 * h + rng.normal(0, 4, 11), 1)
    rates = np.where(h > np.median(h), 0.15, 0.7)
    rates[:2] = 1.0
    return g, h, rates


def expectation(few_items, estimate, items):
    """E of an estimate over every possible draw, each with its probability: 2**(items − 2) of them."""
    g, h, rates = (x[:items] for x in few_items)
    free = np.flatnonzero(rates < 1)
    total = 0.0
    for draw in itertools.product([False, True], repeat=free.size):
        rated = np.ones(items, dtype=bool)
        rated[free] = draw
        chance = np.prod(np.where(rated[free], rates[free], 1 - rates[free]))
        total += chance * estimate(g, np.where(rated, h, np.nan), rates)
    return total


def calibrated_on_its_own_labels(kind):
    """Deliberately wrong: every item's own label shapes its own calibrated rating."""

    def estimate(g, h, rates):
        has = ~np.isnan(h)
        mapped = rw.fit_calibration(g[has], h[has], kind=kind).predict(g)
        return core_estimate_mean(mapped, h, rates, method="difference", interval="normal").value

    return estimate


@pytest.mark.parametrize(("kind", "items"), [("isotonic", 11), ("affine", 9), ("platt", 8)])
def test_recalibration_leaves_no_bias(few_items, kind, items):
    """Not a simulation: all draws there are (512, 128 and 64), so the tolerance is rounding alone."""

    def estimate(g, h, rates):
        found = rw.estimate_mean(g, h, rates, recalibrate=kind, method="difference", interval="normal", seed=5)
        assert found.method == f"difference, {kind} recalibrated"
        return found.value

    truth = float(few_items[1][:items].mean())
    assert expectation(few_items, estimate, items) == pytest.approx(truth, abs=EXACT)
    assert abs(expectation(few_items, calibrated_on_its_own_labels(kind), items) - truth) > 1e4 * EXACT


def test_recalibration_leaves_no_bias_with_auto(few_items):
    def estimate(g, h, rates):
        return rw.estimate_mean(g, h, rates, recalibrate="isotonic", interval="normal", seed=5).value

    truth = float(few_items[1][:9].mean())
    assert expectation(few_items, estimate, 9) == pytest.approx(truth, abs=EXACT)


@pytest.mark.parametrize("method", ["difference", "auto"])
@pytest.mark.parametrize("kind", ["none", *KINDS])
def test_a_label_does_not_shape_the_contributions_of_its_fold(kind, method):
    """What makes the estimate unbiased: given the other folds, a fold's map is fixed. With 300 labels `auto` tunes."""
    rng = np.random.default_rng(709)
    n = 600
    g = rng.random(n)
    h = np.round(np.exp(4 * g) + rng.normal(size=n), 2)
    rated = rng.random(n) < 0.5
    labels = np.where(rated, h, np.nan)
    item = int(np.flatnonzero(rated)[5])
    other = labels.copy()
    other[item] *= 0.5
    folds = [rw.cross_calibrated(g, x, kind="affine", seed=2) for x in (labels, other)]
    fold = np.flatnonzero(folds[0] == folds[1])  # who does not move with the label
    assert fold.size == n // 10
    before, after = (
        rw.estimate_mean(g, x, 0.5, recalibrate=kind, method=method, seed=2).contributions for x in (labels, other)
    )
    same = fold[fold != item]
    np.testing.assert_array_equal(after[same], before[same])
    assert after[item] != before[item]


@pytest.mark.parametrize("kind", KINDS)
def test_recalibration_is_the_cross_calibrated_rating_put_in(kind):
    rng = np.random.default_rng(719)
    g = rng.normal(50, 10, 300)
    h = np.where(
        rng.random(300) < 0.4, np.round(1 + 4 / (1 + np.exp((45 - g) / 5)) + rng.normal(0, 0.3, 300), 2), np.nan
    )
    found = rw.estimate_mean(g, h, 0.4, recalibrate=kind, method="difference", interval="t", seed=8)
    by_hand = core_estimate_mean(
        rw.cross_calibrated(g, h, kind=kind, seed=8), h, 0.4, method="difference", interval="t", seed=8
    )
    assert (found.value, found.interval) == (by_hand.value, by_hand.interval)
    raw = rw.estimate_mean(g, h, 0.4, method="difference", interval="t")
    assert found.standard_error < 0.05 * raw.standard_error


def test_without_recalibration_it_is_the_core_s():
    rng = np.random.default_rng(727)
    g, h = rng.random(80), np.where(rng.random(80) < 0.5, rng.random(80), np.nan)
    assert rw.estimate_mean(g, h, 0.5).to_dict() == core_estimate_mean(g, h, 0.5).to_dict()


@pytest.mark.parametrize(
    ("options", "words"),
    [({"recalibrate": "magic"}, "magic"), ({"recalibrate": "affine", "interval": "anytime"}, "anytime")],
)
def test_refusals(options, words):
    with pytest.raises(InputError, match=words):
        rw.estimate_mean([0.1, 0.9, 0.4], [0, 1, np.nan], 0.5, **options)
    with pytest.raises(InputError, match="chain"):
        rw.estimate_mean(np.ones((3, 2)), [0, 1, np.nan], np.ones((3, 2)), recalibrate="affine")
    with pytest.raises(InputError, match="weak"):
        rw.estimate_mean([0.1, np.nan, 0.4], [0, 1, np.nan], 0.5, recalibrate="affine")


# Tables


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(733)
    g = rng.beta(3, 1, 200)
    rate = rng.choice([0.2, 0.5, 0.9], 200)
    asked = rng.random(200) < rate
    h = np.where(asked, (rng.random(200) < g).astype(float), np.nan)
    return {"g": g, "h": h, "rate": rate, "asked": asked}


def test_a_table_is_its_columns(table):
    found = rw.estimate_table(table, weak="g", strong="h")
    direct = rw.estimate_mean(table["g"], table["h"], table["rate"])
    assert found.to_dict() == direct.to_dict()
    np.testing.assert_array_equal(found.contributions, direct.contributions)


def test_rows_without_a_rate_are_left_out(table):
    more = {name: np.append(values, [np.nan, np.nan]) for name, values in table.items()} | {
        "asked": np.append(table["asked"], [False, False]), "g": np.append(table["g"], [0.5, np.nan]),
    }  # fmt: skip
    found = rw.estimate_table(more, weak="g", strong="h", selected="asked", weak_cost=0.5, strong_cost=2.0)
    direct = rw.estimate_mean(table["g"], table["h"], table["rate"], selected=table["asked"])
    assert (found.items, found.value, found.interval) == (200, direct.value, direct.interval)
    assert found.spend == pytest.approx(100 + 2 * direct.labels)
    assert "2 rows without a rate" in found.notes[0]


def test_missing_answers(table):
    holes = table["h"].copy()
    gone = np.flatnonzero(table["asked"])[3:9]
    holes[gone] = np.nan
    found = rw.estimate_table({**table, "h": holes}, weak="g", strong="h", selected="asked")
    low, high = (np.where(np.isin(np.arange(200), gone), x, holes) for x in (0.0, 1.0))
    worst = [rw.estimate_mean(table["g"], filled, table["rate"]) for filled in (low, high)]
    assert found.low == pytest.approx(worst[0].low)
    assert found.high == pytest.approx(worst[1].high)
    assert "6 answers" in found.notes[0]
    assert found.labels == np.count_nonzero(~np.isnan(holes))


@pytest.mark.parametrize(
    ("row", "rate", "strong", "words"),
    [
        (7, 1.5, np.nan, r"row 7 .* outside \(0, 1\]"),
        (7, 0.0, 1.0, "row 7 .* strong rating but no rate above 0"),
        (7, np.nan, 1.0, "row 7 .* strong rating but no rate above 0"),
        (7, -0.1, 1.0, r"row 7 .* outside \(0, 1\]"),
    ],
)
def test_a_wrong_row_is_named_as_people_count(table, row, rate, strong, words):
    rates, labels = table["rate"].copy(), table["h"].copy()
    rates[row - 1], labels[row - 1] = rate, strong
    with pytest.raises(TableError, match=words):
        rw.estimate_table({**table, "rate": rates, "h": labels}, weak="g", strong="h")


def test_table_refusals(table):
    with pytest.raises(InputError, match="both ends"):
        rw.estimate_table(table, weak="g", strong="h", bounds=(0, None))
    with pytest.raises(InputError, match="both weak_cost and strong_cost"):
        rw.estimate_table(table, weak="g", strong="h", weak_cost=1.0)
    with pytest.raises(TableError, match="no row of table has a rate"):
        rw.estimate_table({**table, "rate": np.full(200, np.nan)}, weak="g", strong="h")
    with pytest.raises(TableError, match="no row has a strong rating"):
        rw.estimate_table({**table, "h": np.full(200, np.nan)}, weak="g", strong="h")
    with pytest.raises(InputError, match="not selected"):
        rw.estimate_table({**table, "asked": np.zeros(200)}, weak="g", strong="h", selected="asked")
