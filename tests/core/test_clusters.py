"""Clusters: the variance by loops, the degrees of freedom by matrices and by chance, and the cases at the edge."""

import math

import numpy as np
import pytest
from scipy import stats

from ratewise.core.clusters import cluster_codes, cluster_folds, cluster_spread, cluster_sums, sum_variance
from ratewise.errors import InputError
from ratewise.learn.calibration import cross_calibrated, fit_calibration
from ratewise.learn.covariates import Covariates
from ratewise.learn.rating_model import cluster_fitted_rating, fitted_rating
from ratewise.questions.estimation import estimate_mean, estimate_table
from ratewise.questions.estimation import estimate_mean as recalibrating_mean

SIZES = np.array([1, 7, 2, 12, 3, 3, 9, 1, 5, 20, 4, 8])


def lopsided(seed=1, sizes=SIZES, *, binary=False, rate=0.4, offset=3.0):
    """Items of unlike clusters in mixed order, off zero, with rates that differ."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(sizes.size), sizes))
    if binary:
        h = (rng.random(codes.size) < rng.beta(2, 1, sizes.size)[codes]).astype(float)
        g = np.clip(h * 0.6 + 0.4 * rng.random(codes.size), 0, 1)
    else:
        h = offset + rng.normal(0, 1, sizes.size)[codes] + rng.normal(0, 1, codes.size)
        g = h + rng.normal(0.3, 0.7, codes.size)
    pi = np.where(rng.random(codes.size) < 0.5, rate, min(1.0, 1.7 * rate))
    return g, np.where(rng.random(codes.size) < pi, h, np.nan), pi, codes


def by_loops(delta, codes):
    """C/(C−1) Σ_c (Σ_{i∈c} (Δ_i − θ̂))² / T², item by item."""
    names, total = sorted(set(codes.tolist())), 0.0
    for name in names:
        total += (
            math.fsum(d - math.fsum(delta) / delta.size for d, c in zip(delta, codes, strict=True) if c == name) ** 2
        )
    return len(names) / (len(names) - 1) * total / delta.size**2


# The numbers


def test_standard_error_is_the_usual_cluster_formula():
    for seed in range(4):
        g, h, pi, codes = lopsided(seed)
        for method in ("auto", "difference", "regression"):
            found = estimate_mean(g, h, pi, method=method, clusters=codes)
            assert found.standard_error**2 == pytest.approx(by_loops(found.contributions, codes), rel=1e-10)
            assert found.clusters == SIZES.size


def test_rates_of_one_give_the_formula_of_a_regression_on_a_constant():
    """(XᵀX)⁻¹ Σ_c X_cᵀ r_c r_cᵀ X_c (XᵀX)⁻¹ · C/(C−1) with X a column of ones."""
    g, _, _, codes = lopsided(3)
    h = np.random.default_rng(5).normal(2, 1, g.size) + codes
    X, r = np.ones((g.size, 1)), (h - h.mean())[:, None]
    meat = sum(X[codes == c].T @ r[codes == c] @ r[codes == c].T @ X[codes == c] for c in range(SIZES.size))
    bread = np.linalg.inv(X.T @ X)
    want = (bread @ meat @ bread).item() * SIZES.size / (SIZES.size - 1)
    assert estimate_mean(g, h, 1.0, clusters=codes).standard_error ** 2 == pytest.approx(want, rel=1e-12)
    assert sum_variance(h - h.mean(), codes).item() / g.size**2 == pytest.approx(want, rel=1e-12)


def test_clusters_of_one_size_have_students_degrees_of_freedom():
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(7), 5)
    h = rng.normal(1, 1, 7)[codes] + rng.normal(0, 1, 35)
    found = estimate_mean(np.zeros(35), h, 1.0, interval="t", clusters=codes)
    means = h.reshape(7, 5).mean(axis=1)
    assert found.interval == pytest.approx(stats.t.interval(0.95, 6, loc=means.mean(), scale=stats.sem(means)))
    assert found.degrees_of_freedom == pytest.approx(6)


def test_traces_agree_with_matrices():
    """Degrees of freedom and what the variance misses, from P diag(v) Pᵀ written out."""
    g, h, pi, codes = lopsided(6)
    delta = estimate_mean(g, h, pi, method="difference").contributions
    d, m = delta - delta.mean(), np.bincount(codes).astype(float)
    S = cluster_sums(d, codes)
    rho = np.clip((S @ S - d @ d) / (d @ d / d.size) / (m @ (m - 1)), 0, 1)
    assert 0 < rho < 1
    P = np.eye(m.size) - np.outer(m / m.sum(), np.ones(m.size))
    v = m * (1 + (m - 1) * rho)
    Q = P @ np.diag(v) @ P.T
    found = cluster_spread(d, codes)
    assert found.degrees_of_freedom == pytest.approx(np.trace(Q) ** 2 / np.trace(Q @ Q))
    assert found.missed == pytest.approx(v.sum() / np.trace(Q) * (m.size - 1) / m.size)
    assert found.degrees_of_freedom < 0.7 * (m.size - 1)
    assert found.missed > 1.02


def test_degrees_of_freedom_and_what_is_missed_are_those_of_many_draws():
    """Var(V̂) = 2 E[V̂]²/df for normal terms; 20,000 draws know both to 3 %."""
    rng, m = np.random.default_rng(4), SIZES.astype(float)
    v = m * (1 + (m - 1) * 0.3)
    raw = rng.normal(0, np.sqrt(v), (20_000, m.size))
    sums = raw - raw.sum(axis=1, keepdims=True) * (m / m.sum())
    V = (sums**2).sum(axis=1)
    df = 2 * V.mean() ** 2 / V.var()
    a, s = m / m.sum(), v.sum()
    Q = np.diag(v) - np.outer(a, v) - np.outer(v, a) + s * np.outer(a, a)
    assert df == pytest.approx(np.trace(Q) ** 2 / np.trace(Q @ Q), rel=0.06)
    assert s / V.mean() == pytest.approx(s / np.trace(Q), rel=0.03)


@pytest.mark.parametrize(
    ("interval", "binary"),
    [("auto", True), ("auto", False), ("normal", False), ("t", False), ("bootstrap", False), ("score", True)],
)
def test_every_item_its_own_cluster_is_no_clusters(interval, binary):
    g, h, pi, _ = lopsided(7, binary=binary)
    for estimand, pool_size in (("population", None), ("pool", None), ("pool", 500)):
        more = {"interval": interval, "estimand": estimand, "pool_size": pool_size}
        own = estimate_mean(g, h, pi, clusters=[f"item {i}" for i in range(g.size)], **more)
        none = estimate_mean(g, h, pi, **more)
        assert (own.value, own.standard_error, own.interval) == (none.value, none.standard_error, none.interval)
        assert own.clusters == g.size
        assert any(f"{g.size} clusters; " in note for note in own.notes)
    for recalibrate in ("affine", "auto"):
        own = recalibrating_mean(g, h, pi, clusters=np.arange(g.size), recalibrate=recalibrate)
        assert own.interval == recalibrating_mean(g, h, pi, recalibrate=recalibrate).interval


def test_almost_every_item_its_own_cluster_is_almost_no_clusters():
    """No jump: two of 75 items in one cluster move every interval by a few per cent at most."""
    for binary in (True, False):
        g, h, pi, _ = lopsided(8, binary=binary)
        names = np.arange(g.size)
        names[1] = names[0]
        for interval in ("normal", "t", "bootstrap", *(["score"] if binary else [])):
            more = {"method": "difference", "interval": interval, "resamples": 20_000}
            one, other = estimate_mean(g, h, pi, clusters=names, **more), estimate_mean(g, h, pi, **more)
            assert one.interval == pytest.approx(other.interval, abs=0.06 * (other.high - other.low)), interval


@pytest.mark.parametrize("interval", ["normal", "t", "bootstrap"])
def test_whole_copies_of_items_change_nothing(interval):
    """Every item three times over in its own cluster is as good as once; without clusters it looks better by √3."""
    g, h, pi, _ = lopsided(9, rate=0.6)
    three = [np.repeat(x, 3) for x in (g, h, pi, np.arange(g.size))]
    more = {"method": "difference", "interval": interval, "resamples": 8000}
    once = estimate_mean(g, h, pi, **more)
    found = estimate_mean(*three[:3], clusters=three[3], **more)
    assert found.value == pytest.approx(once.value)
    assert found.standard_error == pytest.approx(once.standard_error)
    assert found.interval == pytest.approx(once.interval, abs=0.04 * (once.high - once.low))
    naive = estimate_mean(*three[:3], **more)
    assert naive.high - naive.low < 0.7 * (once.high - once.low)


def test_score_interval_with_copies_is_the_one_of_the_items_with_students_quantile():
    rng = np.random.default_rng(10)
    h = (rng.random(150) < 0.8).astype(float)
    once = estimate_mean(np.full(150, 0.5), h, 1.0, interval="score")
    found = estimate_mean(np.full(450, 0.5), np.repeat(h, 3), 1.0, interval="score", clusters=np.repeat(range(150), 3))
    assert found.interval == pytest.approx(once.interval, abs=0.02 * (once.high - once.low))


def test_order_and_names_of_clusters_do_not_matter():
    g, h, pi, codes = lopsided(11)
    order = np.random.default_rng(0).permutation(g.size)
    names = np.array([f"chat {c:03}" for c in codes], dtype=object)
    one = estimate_mean(g, h, pi, method="difference", clusters=codes)
    for clusters in (names, names.astype(str), codes.astype(float)):
        other = estimate_mean(g[order], h[order], pi[order], method="difference", clusters=clusters[order])
        assert other.interval == pytest.approx(one.interval)


# The pool's own mean


def test_clusters_change_nothing_for_a_pool_that_was_looked_at_whole():
    g, h, pi, codes = lopsided(12)
    for clusters in (codes, np.zeros(g.size)):
        found = estimate_mean(g, h, pi, estimand="pool", clusters=clusters)
        assert found.interval == estimate_mean(g, h, pi, estimand="pool").interval
        assert any("change nothing" in note for note in found.notes)
    for recalibrate in ("affine", "auto"):
        found = recalibrating_mean(g, h, pi, estimand="pool", clusters=codes, recalibrate=recalibrate)
        assert found.interval == recalibrating_mean(g, h, pi, estimand="pool", recalibrate=recalibrate).interval


def test_only_the_items_not_looked_at_are_clustered():
    """Var = draw, as it was, + (1/T − 1/N)(V + pairs), by loops; between none and the population's."""
    g, h, pi, codes = lopsided(22)
    T, N = g.size, 4 * g.size
    found = estimate_mean(g, h, pi, method="difference", estimand="pool", pool_size=N, clusters=codes)
    without = estimate_mean(g, h, pi, method="difference", estimand="pool", pool_size=N)
    whole = estimate_mean(g, h, pi, method="difference", estimand="pool")
    d = found.contributions - found.value
    pairs = sum(d[i] * d[j] for i in range(T) for j in range(T) if i != j and codes[i] == codes[j]) / T
    drawn = whole.standard_error**2
    sampled = without.standard_error**2 - drawn + pairs * (1 / T - 1 / N)
    assert found.standard_error**2 == pytest.approx(drawn + sampled * SIZES.size / (SIZES.size - 1))
    population = estimate_mean(g, h, pi, method="difference", clusters=codes).standard_error
    assert without.standard_error < found.standard_error < population


# Folds


def test_folds_keep_clusters_together_and_use_all():
    codes = cluster_codes(np.repeat(np.arange(53), 4), 212)
    fold = cluster_folds(codes, 10, np.random.default_rng(1))
    assert all(np.unique(fold[codes == c]).size == 1 for c in range(53))
    assert sorted(np.bincount(fold) // 4) == [5] * 7 + [6] * 3


def test_a_clusters_own_labels_do_not_move_its_calibration():
    g, h, _, codes = lopsided(14)
    for kind in ("affine", "isotonic"):
        before = cross_calibrated(g, h, kind=kind, codes=codes)
        here = codes == 9
        after = cross_calibrated(g, np.where(here, h + 100.0, h), kind=kind, codes=codes)
        assert np.array_equal(before[here], after[here])
        assert not np.array_equal(before[~here], after[~here])
    others = (codes != 3) & ~np.isnan(h)
    alone = cross_calibrated(g, h, kind="affine", codes=codes, folds=SIZES.size)
    want = fit_calibration(g[others], h[others], kind="affine").predict(g[codes == 3])
    assert alone[codes == 3] == pytest.approx(want)


def test_ridge_leaves_whole_clusters_out_exactly():
    """Against `fitted_rating` where items are alone; and no cluster's labels move its own predictions."""
    g, h, pi, codes = lopsided(15, binary=True, sizes=np.tile(SIZES, 3))
    x, weights = Covariates(g), 1 / pi
    one = cluster_fitted_rating(x, h, weights, np.arange(g.size))
    assert one == pytest.approx(fitted_rating(x, h, weights), abs=1e-9)
    before = cluster_fitted_rating(x, h, weights, codes)
    swapped = np.where(codes == 9, 1 - h, h)
    after = cluster_fitted_rating(x, swapped, weights, codes)
    # The penalty is chosen by all labels together, as without clusters; with the same one nothing else moves.
    assert before[codes == 9] == pytest.approx(after[codes == 9], abs=0.05)
    assert np.abs(before - after)[codes != 9].max() > 0.02
    assert np.array_equal(cluster_fitted_rating(x, np.where(codes == 9, h, np.nan), weights, codes), g)


# At the edge


@pytest.mark.parametrize("interval", ["auto", "normal", "t", "bootstrap", "score"])
def test_one_cluster_gives_a_value_and_no_interval(interval):
    g, h, pi, _ = lopsided(16, binary=True)
    found = estimate_mean(g, h, pi, interval=interval, clusters=["all"] * g.size)
    assert found.value == estimate_mean(g, h, pi).value
    assert (found.interval, found.standard_error, found.clusters) == (None, None, 1)
    assert any("1 cluster; an interval needs at least two" in note for note in found.notes)


def test_two_clusters_are_known_to_be_few():
    g, h, pi, codes = lopsided(17)
    found = estimate_mean(g, h, pi, interval="t", clusters=codes % 2)
    assert found.degrees_of_freedom <= 1
    assert found.high - found.low > 20 * found.standard_error


def test_labels_in_one_cluster_only():
    """The weak ratings still vary between clusters; nothing is divided by zero."""
    g, h, pi, codes = lopsided(18, binary=True)
    found = recalibrating_mean(
        g, np.where(codes == 9, h, np.nan), pi, clusters=codes, recalibrate="auto", bounds=(0, 1)
    )
    assert 0 <= found.low <= found.value <= found.high <= 1


def test_all_ratings_equal_still_has_a_score_interval_of_some_width():
    codes = np.repeat(np.arange(10), 6)
    found = estimate_mean(np.full(60, 0.5), np.ones(60), 1.0, clusters=codes)
    assert found.low < estimate_mean(np.full(60, 0.5), np.ones(60), 1.0).low < 1


def test_anytime_refuses_clusters():
    g, h, pi, codes = lopsided(19, binary=True)
    with pytest.raises(InputError, match="anytime interval goes item by item and knows no clusters"):
        estimate_mean(g, h, pi, interval="anytime", clusters=codes)


def test_missing_answers_with_clusters():
    g, h, pi, codes = lopsided(20, binary=True)
    asked = ~np.isnan(h)
    h[np.flatnonzero(asked)[:3]] = np.nan
    found = estimate_mean(g, h, pi, selected=asked, clusters=codes)
    none = estimate_mean(g, h, pi, selected=asked)
    assert found.value == pytest.approx(none.value, abs=0.02)
    assert found.high - found.low > none.high - none.low
    assert found.clusters == SIZES.size
    assert any("12 clusters; " in note for note in found.notes)


@pytest.mark.parametrize(
    ("clusters", "message"),
    [
        ([1, 2], "clusters must have one name per item"),
        (["a", None, "b", "a"], "item 1 has no cluster"),
        ([1.0, 2.0, math.nan, 1.0], "item 2 has no cluster"),
    ],
)
def test_clusters_are_checked(clusters, message):
    with pytest.raises(InputError, match=message):
        estimate_mean([1.0, 2, 3, 4], [1.0, 2, 3, 4], 1.0, clusters=clusters)


def test_a_tables_column():
    g, h, pi, codes = lopsided(21)
    table = {"judge": g, "human": h, "rate": pi, "chat": [f"c{c}" for c in codes]}
    found = estimate_table(table, weak="judge", strong="human", clusters="chat")
    # Folds follow the order of the names, which is another for "c10" and 10.
    assert found.interval == estimate_mean(g, h, pi, clusters=table["chat"]).interval
    assert found.to_dict()["clusters"] == 12
    table["chat"][5] = None
    with pytest.raises(InputError, match="chat"):
        estimate_table(table, weak="judge", strong="human", clusters="chat")


def test_clusters_that_are_all_alike_leave_an_honest_interval():
    """Two clusters with the same sum show no variance; the items' own stands in for it, at one degree of freedom."""
    found = estimate_mean([0.2, 0.8, 0.8, 0.2], [0.0, 0.0, 1.0, 1.0], 1.0, clusters=["a", "b", "b", "a"])
    assert (found.value, found.interval_method) == (0.5, "score")
    assert found.interval == (0.0, 1.0)
    many = [str(i // 2) for i in range(80)]  # each of a 0 and a 1
    wide = estimate_mean(np.full(80, 0.5), np.arange(80) % 2.0, 1.0, clusters=many)
    alone = estimate_mean(np.full(80, 0.5), np.arange(80) % 2.0, 1.0)
    assert wide.low <= alone.low < 0.5 < alone.high <= wide.high
