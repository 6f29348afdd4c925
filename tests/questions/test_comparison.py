"""`compare`: two systems on the same items, against numbers by hand."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

import ratewise as rw
from ratewise.core.clusters import cluster_codes, sum_variance
from ratewise.errors import InputError, TableError
from ratewise.questions import comparison
from ratewise.questions.comparison import compare, error_probability, lift, probability, ratio, signed

from ..worlds import two_systems

PAIR = {"weak": ("g_a", "g_b"), "strong": ("h_a", "h_b"), "names": ("A", "B")}


def binary(seed=5, items=300, rate=0.4):
    rng = np.random.default_rng(seed)
    h = (rng.random((2, items)) < np.array([[0.8], [0.65]])).astype(float)
    g = np.where(rng.random((2, items)) < 0.1, 1 - h, h)
    h = np.where(rng.random(items) < rate, h, np.nan)
    return {"g_a": g[0], "g_b": g[1], "h_a": h[0], "h_b": h[1], "rate": np.full(items, rate)}


def by_hand(data):
    """The difference estimator on the items' differences, with nothing of ratewise in it."""
    D_g, D_h = data["g_a"] - data["g_b"], data["h_a"] - data["h_b"]
    delta = D_g + np.where(np.isnan(D_h), 0.0, (D_h - D_g) / data["rate"])
    return delta.mean(), delta.std(ddof=1) / np.sqrt(delta.size), delta


def test_the_difference_by_hand():
    data = two_systems()
    found = compare(data, **PAIR, method="difference", level=0.9)
    value, se, _ = by_hand(data)
    d = found.difference
    assert d.value == pytest.approx(value, rel=1e-12)
    assert d.standard_error == pytest.approx(se, rel=1e-12)
    half = stats.t.ppf(0.95, d.degrees_of_freedom) * se
    assert d.interval == pytest.approx((value - half, value + half), rel=1e-9)
    assert found.probability_better == pytest.approx(stats.t.cdf(value / se, d.degrees_of_freedom), rel=1e-9)
    assert found.first.value - found.second.value == pytest.approx(value, rel=1e-9)
    assert (d.items, d.labels) == (240, int(np.count_nonzero(~np.isnan(data["h_a"]))))


def test_rates_of_one_are_the_paired_t_test():
    rng = np.random.default_rng(8)
    a, b = rng.normal(3, 1, (2, 31))
    found = compare({"g_a": a, "g_b": b, "h_a": a + 1, "h_b": b, "rate": np.ones(31)}, **PAIR)
    test = stats.ttest_rel(a + 1, b)
    low, high = test.confidence_interval(0.95)
    assert found.difference.interval == pytest.approx((low, high), rel=1e-9)
    assert found.probability_better == pytest.approx(1 - test.pvalue / 2, rel=1e-9)


def test_the_pool_s_difference_by_hand():
    data = two_systems()
    found = compare(data, **PAIR, method="difference", estimand="pool")
    r = (data["h_a"] - data["h_b"]) - (data["g_a"] - data["g_b"])
    pi = data["rate"]
    variance = np.nansum(r**2 * (1 - pi) / pi**2) / r.size**2
    assert found.difference.standard_error == pytest.approx(np.sqrt(variance), rel=1e-9)
    assert found.difference.standard_error < compare(data, **PAIR, method="difference").difference.standard_error


def test_the_second_against_the_first_is_the_mirror_image():
    data = two_systems()
    one = compare(data, **PAIR, method="difference")
    other = compare(data, weak=("g_b", "g_a"), strong=("h_b", "h_a"), names=("B", "A"), method="difference")
    assert other.difference.value == pytest.approx(-one.difference.value)
    assert other.probability_better == pytest.approx(1 - one.probability_better)
    assert other.ratio.value == pytest.approx(1 / one.ratio.value)
    assert other.ratio.interval == pytest.approx(tuple(1 / x for x in reversed(one.ratio.interval)), rel=1e-9)


def test_pairing_is_what_two_separate_samples_would_need():
    data = two_systems()
    found = compare(data, **PAIR)
    e = [x.standard_error for x in (found.first, found.second, found.difference)]
    assert found.pairing == pytest.approx((e[0] ** 2 + e[1] ** 2) / e[2] ** 2)
    assert found.pairing > 1.5  # hard items are hard for both


@pytest.mark.parametrize("estimand", ["population", "pool"])
def test_the_covariance_agrees_with_every_standard_error(estimand):
    """Var(A), Var(B) and Var(A − B) by three separate estimates give the covariance too: two routes."""
    data = two_systems()
    found = compare(data, **PAIR, method="difference", estimand=estimand)
    q = stats.t.ppf(0.975, found.difference.degrees_of_freedom)
    v = [x.standard_error**2 for x in (found.first, found.second, found.difference)]
    v_ab = (v[0] + v[1] - v[2]) / 2
    expected = ratio(
        found.first.value, found.second.value, np.array([[v[0], v_ab], [v_ab, v[1]]]), quantile=q, level=0.95
    )
    assert found.ratio.interval == pytest.approx(expected.interval, rel=1e-9)


def test_a_pool_larger_than_the_table():
    data = two_systems()
    widths = []
    for N in (240, 400, 4000):
        found = compare(data, **PAIR, method="difference", estimand="pool", pool_size=N)
        widths.append(found.ratio.interval[1] - found.ratio.interval[0])
    assert widths[0] < widths[1] < widths[2]


def test_clusters_widen_the_interval_of_items_that_are_alike():
    data = two_systems(items=80)
    three = {name: np.repeat(x, 3) for name, x in data.items()} | {"talk": np.repeat([f"t{i}" for i in range(80)], 3)}
    found = compare(three, **PAIR, method="difference", clusters="talk")
    alone = compare(data, **PAIR, method="difference")
    assert found.difference.standard_error == pytest.approx(alone.difference.standard_error, rel=1e-9)
    codes = cluster_codes(three["talk"], 240)
    _, _, delta = by_hand(three)
    by_sums = np.sqrt(float(sum_variance(delta - delta.mean(), codes)[0, 0])) / 240
    assert found.difference.standard_error == pytest.approx(by_sums)
    assert found.ratio.interval[1] - found.ratio.interval[0] > 1.5 * np.diff(compare(three, **PAIR).ratio.interval)[0]


def test_one_cluster_gives_no_interval():
    data = two_systems() | {"talk": ["x"] * 240}
    found = compare(data, **PAIR, clusters="talk")
    assert found.difference.interval is None
    assert found.probability_better is None
    assert found.ratio.interval is None
    assert "cluster" in found.sentence


def test_a_pool_that_is_rated_whole_is_known_exactly():
    rng = np.random.default_rng(8)
    a, b = rng.normal(3, 1, (2, 31))
    found = compare({"g_a": a, "g_b": b, "h_a": a, "h_b": b, "rate": np.ones(31)}, **PAIR, estimand="pool")
    gap = float(np.mean(a) - np.mean(b))
    assert found.difference.interval == pytest.approx((gap, gap))
    assert found.ratio.interval == pytest.approx((a.mean() / b.mean(),) * 2)
    assert "told apart" not in found.sentence
    assert found.probability_better is None  # there is nothing uncertain about it


# Ratio and lift


@pytest.mark.parametrize(
    ("a", "b", "v"),
    [
        (3.1, 2.0, [[0.04, 0.01], [0.01, 0.09]]),
        (-1.0, 2.0, [[0.3, -0.1], [-0.1, 0.2]]),
        (0.02, -5.0, [[0.5, 0.2], [0.2, 1.0]]),
        (2.0, 2.0, [[0.01, 0.0], [0.0, 0.0]]),
    ],
)
def test_fieller_against_a_scan_of_the_set(a, b, v):
    v, q = np.array(v), 2.2
    found = ratio(a, b, v, quantile=q, level=0.95)
    rho = np.linspace(-20, 20, 2_000_001)
    kept = rho[(a - rho * b) ** 2 <= q**2 * (v[0, 0] - 2 * rho * v[0, 1] + rho**2 * v[1, 1])]
    assert found.interval == pytest.approx((kept.min(), kept.max()), abs=3e-5)
    assert np.diff(kept).max() < 1e-4  # one piece
    assert found.interval[0] <= found.value <= found.interval[1]


def test_an_unbounded_set_has_no_interval():
    v = np.array([[0.04, 0.0], [0.0, 0.25]])
    near = ratio(1.0, 0.9, v, quantile=1.96, level=0.95)  # 0.9 < 1.96 · 0.5
    assert (near.value, near.interval) == (pytest.approx(1 / 0.9), None)
    assert "away from 0" in near.reason
    rho = np.linspace(-1e4, 1e4, 100_001)
    kept = (1.0 - rho * 0.9) ** 2 <= 1.96**2 * (0.04 + rho**2 * 0.25)
    assert kept[0] or kept[-1]  # the scan does not end
    none = ratio(1.0, 0.0, v, quantile=1.96, level=0.95)
    assert (none.value, none.interval) == (None, None)
    assert none.reason


def test_limiting_cases_of_a_ratio():
    known = ratio(2.0, 4.0, np.diag([0.04, 0.0]), quantile=2.0, level=0.95)
    assert known.interval == pytest.approx((0.4, 0.6))
    unknown = ratio(1.0, 2.0, np.zeros((2, 2)), quantile=2.0, level=0.95)
    assert (unknown.value, unknown.interval) == (0.5, None)
    assert unknown.reason
    close = ratio(1.0, 1e-320, np.zeros((2, 2)), quantile=1.96, level=0.95)
    assert (close.value, close.interval) == (None, None)
    assert close.reason


def test_lift_is_above_zero_where_the_first_is_higher():
    v = np.diag([0.01, 0.01])
    for a, b in ((3.0, 2.0), (-2.0, -3.0)):
        found = lift(ratio(a, b, v, quantile=2.0, level=0.95), b)
        assert found.value == pytest.approx((a - b) / abs(b))
        assert 0 < found.interval[0] < found.value < found.interval[1]
    assert lift(ratio(1.0, 0.0, v, quantile=2.0, level=0.95), 0.0).value is None


def test_a_second_mean_of_zero_gives_a_difference_and_no_ratio():
    rng = np.random.default_rng(2)
    h = np.stack([rng.normal(1, 1, 60), rng.normal(0, 1, 60)])
    h[1] -= h[1].mean()
    found = compare({"g_a": h[0], "g_b": h[1], "h_a": h[0], "h_b": h[1], "rate": np.ones(60)}, **PAIR)
    assert found.difference.interval is not None
    assert found.ratio.interval is None
    assert found.relative_lift.interval is None
    assert found.ratio.reason == found.relative_lift.reason
    assert "0" in found.ratio.reason


# Answers that are missing


def test_one_of_two_strong_ratings_is_an_answer_still_missing():
    """0/1 ratings: counted at both ends, so the interval holds every way the missing ones could have come out."""
    data = binary()
    rated = np.flatnonzero(~np.isnan(data["h_b"]))[:4]
    h_b = data["h_b"].copy()
    h_b[rated] = np.nan
    found = compare(data | {"h_b": h_b}, **PAIR, method="difference")
    assert any("4 answers" in note for note in found.notes)
    assert found.probability_better is None
    assert (found.ratio.value, found.ratio.interval) == (None, None)
    for filled in (np.zeros(4), np.ones(4), np.array([0, 1, 0, 1])):
        h_b[rated] = filled
        whole = compare(data | {"h_b": h_b}, **PAIR, method="difference").difference
        assert found.difference.low <= whole.low
        assert whole.high <= found.difference.high
    assert found.first.standard_error is not None  # of A all answers are there
    assert found.second.standard_error is None


def test_selected_rows_without_an_answer_are_counted():
    data = binary()
    selected = ~np.isnan(data["h_a"])
    more = selected.copy()
    more[np.flatnonzero(~selected)[:3]] = True
    plain = compare(data | {"selected": selected}, **PAIR, selected="selected")
    found = compare(data | {"selected": more}, **PAIR, selected="selected")
    assert plain.difference.interval == compare(data, **PAIR).difference.interval
    assert found.difference.low < plain.difference.low < plain.difference.high < found.difference.high


def test_missing_answers_need_the_ends_of_the_scale():
    data = two_systems()
    row = int(np.flatnonzero(~np.isnan(data["h_a"]))[0])
    data["h_b"][row] = np.nan
    with pytest.raises(TableError, match=rf"row {row + 1} of table .*'B' \(1 such rows\).*bounds"):
        compare(data, **PAIR)
    found = compare(data, **PAIR, bounds=(-10.0, 30.0))
    assert found.difference.interval is not None


def test_a_row_that_was_not_selected_has_no_strong_rating():
    data = binary() | {"selected": np.zeros(300)}
    with pytest.raises(TableError, match="not selected"):
        compare(data, **PAIR, selected="selected")


# Degenerate


def test_systems_that_never_differ():
    data = binary()
    data |= {"g_a": data["g_b"], "h_a": data["h_b"]}
    found = compare(data, **PAIR)
    assert found.difference.value == 0
    assert found.difference.low < 0 < found.difference.high  # 0/1: the ends of the scale are known
    assert found.probability_better is None
    assert "cannot be told apart" in found.sentence
    real = two_systems()
    real |= {"g_a": real["g_b"], "h_a": real["h_b"]}
    none = compare(real, **PAIR)
    assert (none.difference.value, none.difference.interval, none.probability_better) == (0, None, None)
    assert "A is level with B" in none.sentence
    json.dumps(none.to_dict(), allow_nan=False)


def test_a_system_that_is_never_worse_may_still_be():
    """All differences seen are 0 or 1: the interval must not think that they cannot be −1."""
    rng = np.random.default_rng(1)
    h_b = (rng.random(200) < 0.7).astype(float)
    h_a = np.where(rng.random(200) < 0.03, 1.0, h_b)
    xi = rng.random(200) < 0.2
    data = {"g_a": h_b, "g_b": h_b, "h_a": np.where(xi, h_a, np.nan), "h_b": np.where(xi, h_b, np.nan)}
    found = compare(data | {"rate": np.full(200, 0.2)}, **PAIR)
    assert found.difference.low < 0


def test_constant_ratings():
    n = 50
    data = {"g_a": np.full(n, 2.0), "g_b": np.full(n, 1.0), "h_a": np.full(n, 2.0), "h_b": np.full(n, 1.0)}
    found = compare(data | {"rate": np.full(n, 0.5)}, **PAIR, bounds=(0, 5))
    assert found.difference.value == 1
    assert found.ratio.value == 2
    assert found.difference.low < 1 < found.difference.high  # the ends of the scale are known
    assert found.ratio.interval[0] < 2 < found.ratio.interval[1]
    unknown = compare(data | {"rate": np.full(n, 0.5)}, **PAIR)
    assert (unknown.difference.interval, unknown.ratio.interval) == (None, None)
    assert unknown.ratio.reason


def test_one_item_and_one_label():
    one = {"g_a": [1.0], "g_b": [0.0], "h_a": [1.0], "h_b": [0.0], "rate": [0.5]}
    found = compare(one, **PAIR)
    assert found.difference.value == 1
    assert (found.difference.interval, found.probability_better, found.ratio.interval) == (None, None, None)
    assert "cannot be said" in found.sentence


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"h_a": [np.nan] * 240}, "missing|no row"),
        ({"h_a": [np.nan] * 240, "h_b": [np.nan] * 240, "rate": [0.5] * 240}, "no row of table has the strong rating"),
        ({"rate": [np.nan] * 240}, "strong rating but no rate|no row of table has a rate"),
        ({"rate": [0.0] * 240}, "no rate above 0"),
        ({"rate": [1.5] * 240}, "outside"),
        ({"g_a": [np.nan] * 240}, "row 1 of table has a rate but no weak rating in column 'g_a'"),
        ({"g_b": [np.inf] * 240}, "g_b"),
        ({"h_b": [-np.inf] * 240}, "h_b"),
    ],
)
def test_what_cannot_be_used_is_one_clear_error(change, message):
    with pytest.raises(InputError, match=message) as caught:
        compare(two_systems() | change, **PAIR)
    assert "\n" not in str(caught.value)


def test_rows_without_a_rate_were_not_looked_at():
    data = two_systems()
    longer = {name: np.concatenate([x, [np.nan, np.nan]]) for name, x in data.items()}
    assert compare(longer, **PAIR).difference.value == compare(data, **PAIR).difference.value
    assert "2 rows without a rate" in compare(longer, **PAIR).notes[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ("A", "A")}, "two systems are called 'A'"),
        ({"names": ("A", " ")}, "empty"),
        ({"names": None, "strong": ("h_a", "h_a")}, "two systems are called 'h_a'"),
        ({"weak": ("g_a",)}, "two weak columns"),
        ({"recalibrate": "platt"}, "affine"),
        ({"pool_size": 500}, "estimand pool"),
        ({"level": 95}, "level"),
        ({"bounds": (3, 1)}, "in order"),
        ({"bounds": (4, 5)}, "outside the bounds"),
        ({"weak": ("g_a", "g_c")}, "g_c"),
        ({"clusters": "talks"}, "talks"),
    ],
)
def test_options_that_make_no_sense(options, message):
    with pytest.raises(InputError, match=message):
        compare(two_systems(), **(PAIR | options))


@pytest.mark.parametrize("kind", ["affine", "isotonic", "auto"])
def test_recalibration_goes_through(kind):
    data = two_systems()
    data["g_a"] = 3 * data["g_a"] - 20
    plain, better = compare(data, **PAIR, method="difference"), compare(data, **PAIR, recalibrate=kind)
    assert better.difference.standard_error < plain.difference.standard_error
    assert kind in better.difference.method


# Words


def test_the_sentence_says_who_is_better():
    data = two_systems(items=2000)
    found = compare(data, **PAIR)
    assert found.sentence.startswith(f"A is better than B by {signed(found.difference.value)} (95% interval ")
    assert found.sentence.endswith("the probability that A is better is above 99.9%.")
    other = compare(data, weak=("g_b", "g_a"), strong=("h_b", "h_a"), names=("B", "A"))
    assert other.sentence.startswith("B is worse than A by 0.")
    assert "below 0.1%" in other.sentence


def test_the_sentence_says_what_more_ratings_would_do():
    data = binary(items=120, rate=0.3)
    found = compare(data, **PAIR, level=0.999)
    n, d = found.difference.labels, found.difference
    times = ((d.high - d.low) / 2 / d.value) ** 2
    said = [int(x.replace(",", "")) for x in _numbers(found.sentence)]
    assert "99.9% interval" in found.sentence
    assert 3 * n <= said[0] <= 3.3 * n
    assert (times - 1) * n <= said[1] <= 1.1 * (times - 1) * n + 1
    assert "more items" not in compare(data, **PAIR, level=0.999, estimand="pool").sentence


def _numbers(sentence):
    import re

    return re.findall(r"about ([\d,]+\d)", sentence, re.IGNORECASE)


def test_probabilities_and_numbers_in_words():
    assert [probability(p) for p in (0.99999, 0.5, 1e-9)] == ["above 99.9%", "50.0%", "below 0.1%"]
    assert [signed(x) for x in (-0.01234, -0.0, 1.5, 0.0000123)] == ["−0.0123", "0.0000", "1.5000", "0.00001230"]


def test_the_probability_agrees_with_the_interval():
    for seed in range(20):
        found = compare(two_systems(seed=seed, items=40), **PAIR, level=0.9)
        assert (found.difference.low > 0) == (found.probability_better > 0.95)
        assert (found.difference.high < 0) == (found.probability_better < 0.05)
        assert found.probability_better == error_probability(found.difference)


def test_names_are_escaped_in_html():
    found = compare(two_systems(), **(PAIR | {"names": ("<script>alert(1)</script>", 'B & "C"')}))
    page = found._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page
    assert "B &amp; &quot;C&quot;" in page
    assert str(found) == found.summary() == found.sentence


def test_the_dictionary_is_json():
    found = compare(two_systems(), **PAIR).to_dict()
    text = json.dumps(found, allow_nan=False)
    assert json.loads(text)["names"] == ["A", "B"]
    assert set(found) == {
        "names", "difference", "first", "second", "probability_better", "ratio", "relative_lift", "pairing", "paired",
        "sentence", "notes",
    }  # fmt: skip
    assert {"value", "low", "high", "level", "reason"} == set(found["ratio"])


def test_an_interval_that_is_lost_in_rounding_gives_no_probability():
    """Ratings of 1e50 that are all alike beside others: no division by a width of 0."""
    g = np.linspace(0.1, 0.9, 27)
    table = {"w": g, "h": np.full(27, 1e50), "v": g, "k": np.arange(27) % 2.0, "rate": np.ones(27)}
    found = compare(table, weak=("w", "v"), strong=("h", "k"))
    assert found.probability_better is None


def test_the_ratio_of_two_samples_agrees_with_their_difference():
    """With lopsided intervals, as of zeros and ones near an end: no difference is seen exactly where no ratio is."""
    rng = np.random.default_rng(0)
    like = rw.estimate_mean(np.zeros(50), (rng.random(50) < 0.5) * 1.0, np.full(50, 0.5))

    def around(value):
        low, high = value - rng.exponential(0.05), value + rng.exponential(0.05)
        return replace(like, value=value, interval=(low, high), standard_error=(high - low) / 4)

    seen = set()
    for _ in range(2_000):
        first = around(rng.uniform(-1, 1))
        second = around(first.value + rng.normal(0, 0.1))
        common = rng.uniform(-0.9, 0.9) * first.standard_error * second.standard_error
        low, high = comparison._difference(first, second, common).interval
        found = comparison._ratio_of_two(first, second, common)
        if found.interval is not None and first.value * second.value > 0:
            assert found.interval[0] <= found.value <= found.interval[1]
            assert (low <= 0 <= high) == (found.interval[0] <= 1 <= found.interval[1])
            seen.add(low <= 0 <= high)
    assert seen == {True, False}
