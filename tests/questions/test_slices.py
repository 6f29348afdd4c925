"""Estimates per slice: each as if its rows were alone, all at once if asked for, shrunk if asked for."""

import json

import numpy as np
import pytest
from scipy import integrate, stats

import ratewise as rw
from ratewise.errors import InputError, TableError
from ratewise.questions.estimation import estimate_mean, estimate_table
from ratewise.questions.slices import estimate_slices, shrunk_means
from ratewise.questions.strata import NO_GROUP, slice_sizes

from ..bounds import FALSE_ALARM

SIZES = {"code": 90, "law": 41, "math": 150, "travel": 230}


def drawn(seed=1, *, binary=False, sizes=SIZES):
    """Slices of unlike size and mean, rates that differ, rows in mixed order."""
    rng = np.random.default_rng(seed)
    names = rng.permutation(np.repeat(list(sizes), list(sizes.values())))
    level = {name: 0.5 + 0.4 * k / len(sizes) for k, name in enumerate(sizes)}
    mean = np.array([level[name] for name in names])
    if binary:
        h = (rng.random(names.size) < mean).astype(float)
        g = 0.1 + 0.8 * np.where(rng.random(names.size) < 0.2, 1 - h, h)
    else:
        h = 5 + 3 * mean + rng.normal(0, 1, names.size)
        g = h + rng.normal(0.4, 0.6, names.size)
    rate = rng.choice([0.3, 0.7], names.size)
    asked = rng.random(names.size) < rate
    return {
        "topic": names.astype(object),
        "judge": g,
        "human": np.where(asked, h, np.nan),
        "rate": rate,
        "asked": asked,
    }


COLUMNS = {"by": "topic", "weak": "judge", "strong": "human"}


@pytest.mark.parametrize("binary", [True, False])
@pytest.mark.parametrize("estimand", ["population", "pool"])
def test_a_slice_is_the_estimate_of_its_rows(binary, estimand):
    table = drawn(binary=binary)
    found = estimate_slices(table, **COLUMNS, estimand=estimand)
    assert [one.name for one in found.slices] == sorted(SIZES)
    for one in found.slices:
        rows = {name: values[table["topic"] == one.name] for name, values in table.items()}
        alone = estimate_table(rows, weak="judge", strong="human", estimand=estimand)
        assert (one.value, one.interval, one.items, one.labels) == (
            alone.value, alone.interval, SIZES[one.name], alone.labels,
        )  # fmt: skip
    whole = estimate_table(table, weak="judge", strong="human", estimand=estimand)
    assert found.overall.interval == whole.interval


def test_the_whole_is_the_mean_of_the_slices():
    found = estimate_slices(drawn(2), **COLUMNS, method="difference")
    mean = sum(one.items * one.value for one in found.slices) / sum(SIZES.values())
    assert found.overall.value == pytest.approx(mean)


def test_one_slice_is_the_whole():
    table = drawn(3)
    table["topic"][:] = "all of it"
    found = estimate_slices(table, **COLUMNS, simultaneous=True)
    (one,) = found.slices
    assert one.interval == found.overall.interval


def test_recalibration_is_learned_from_all_slices_and_leaves_each_its_own_mean():
    table = drawn(4)
    found = estimate_slices(table, **COLUMNS, recalibrate="affine")
    for one in found.slices:
        assert "affine recalibrated" in one.estimate.method
        truth = table["human"][(table["topic"] == one.name) & table["asked"]].mean()
        assert abs(one.value - truth) < 0.8
    # A slice with three labels cannot calibrate itself, and need not.
    few = np.flatnonzero((table["topic"] == "law") & table["asked"])[3:]
    table["human"][few], table["rate"][table["topic"] == "law"] = np.nan, 0.07
    assert estimate_slices(table, **COLUMNS, recalibrate="affine")["law"].interval is not None


# Slices that cannot be answered


def test_slices_without_labels_say_so_and_the_rest_is_answered():
    table = drawn(5, binary=True)
    law, code = (np.flatnonzero((table["topic"] == name) & table["asked"]) for name in ("law", "code"))
    table["human"][law] = np.nan
    table["human"][code[1:]] = np.nan
    table["rate"] = np.where(np.isin(table["topic"], ("law", "code")), 0.01, table["rate"])
    found = estimate_slices(table, **COLUMNS)
    assert (found["law"].value, found["law"].interval, found["law"].labels) == (None, None, 0)
    assert found["law"].reason == "no strong rating; at least 2 are needed"
    assert (found["code"].value, found["code"].reason) == (None, "only 1 strong rating; at least 2 are needed")
    assert found["math"].interval is not None
    assert json.loads(json.dumps(found.to_dict()))["slices"][1]["reason"].startswith("no strong rating")
    assert "at least 2 are needed" in str(found)
    assert estimate_slices(table, **COLUMNS, min_labels=80)["math"].value is None


def test_answers_that_did_not_come_in_one_slice_spoil_no_other():
    table = drawn(6, binary=True)
    table["human"][np.flatnonzero((table["topic"] == "law") & table["asked"])[:2]] = np.nan
    found = estimate_slices(table, **COLUMNS, selected="asked")
    assert found["law"].standard_error is None
    assert any("2 answers that were asked for are missing" in note for note in found["law"].estimate.notes)
    assert found["math"].interval == estimate_slices(table, **COLUMNS)["math"].interval


def test_rows_without_a_group_are_a_slice_of_their_own():
    table = drawn(7)
    table["topic"][table["topic"] == "law"] = None
    found = estimate_slices(table, **COLUMNS)
    assert found.slices[-1].name == NO_GROUP
    assert found[NO_GROUP].items == SIZES["law"]
    table["topic"][table["topic"] == "code"] = NO_GROUP
    with pytest.raises(TableError, match="both rows without a group and a group named"):
        estimate_slices(table, **COLUMNS)


def test_strong_ratings_alone():
    table = drawn(8, binary=True)
    table["rate"][:] = 0.5
    found = estimate_slices(table, by="topic", weak=None, strong="human", estimand="pool")
    rows = table["topic"] == "math"
    h = table["human"][rows & table["asked"]]
    alone = estimate_mean(np.zeros(h.size), h, 1.0, estimand="pool", pool_size=150)
    assert found["math"].interval == alone.interval


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"by": "subject"}, "has no column 'subject'"),
        ({"shrink": True, "simultaneous": True}, "choose shrink or simultaneous"),
        ({"min_labels": 1}, "min_labels must be at least 2"),
        ({"level": 1.5}, "level must be in"),
    ],
)
def test_what_is_refused(options, message):
    with pytest.raises(InputError, match=message):
        estimate_slices(drawn(9), **(COLUMNS | options))


def test_an_unknown_slice_is_named():
    with pytest.raises(InputError, match="there is no slice 'art'; there are 'code', 'law'"):
        estimate_slices(drawn(9), **COLUMNS)["art"]


# Clusters, and all at once


def test_all_at_once_is_sidaks_level_and_bonferronis_where_clusters_are_shared():
    table = drawn(10)
    found = estimate_slices(table, **COLUMNS, simultaneous=True)
    alone = estimate_slices(table, **COLUMNS, level=0.95**0.25)
    assert [one.interval for one in found.slices] == [one.interval for one in alone.slices]
    assert found.overall.interval == estimate_slices(table, **COLUMNS).overall.interval
    table["chat"] = np.arange(table["judge"].size) // 3
    shared = estimate_slices(table, **COLUMNS, clusters="chat", simultaneous=True)
    assert shared["law"].estimate.level == pytest.approx(1 - 0.05 / 4)
    assert any("Bonferroni" in note for note in shared.notes)
    table["chat"] = table["topic"]
    own = estimate_slices(table, **COLUMNS, clusters="chat", simultaneous=True)
    assert own["law"].interval is None
    assert "1 cluster; an interval needs at least two" in own["law"].reason


# Shrinkage


def by_quadrature(y, v, s):
    """Posterior mean and variance of θ_s with A integrated by a general routine."""

    def given(A):
        w = 1 / (v + A)
        mu = w @ y / w.sum()
        log = 0.5 * np.log(w).sum() - 0.5 * np.log(w.sum()) - 0.5 * w @ (y - mu) ** 2
        kept = A / (A + v[s])
        m = kept * y[s] + (1 - kept) * mu
        return np.exp(log), m, kept * v[s] + (1 - kept) ** 2 / w.sum()

    parts = [
        lambda A: given(A)[0],
        lambda A: given(A)[0] * given(A)[1],
        lambda A: given(A)[0] * (given(A)[2] + given(A)[1] ** 2),
    ]
    total, first, second = (integrate.quad(f, 0, np.inf, limit=500)[0] for f in parts)
    return first / total, second / total - (first / total) ** 2


def test_shrunk_means_against_quadrature():
    y = np.array([0.62, 0.75, 0.48, 0.81, 0.66, 0.9])
    se = np.array([0.05, 0.12, 0.03, 0.2, 0.08, 0.07])
    mean, _, found = shrunk_means(y, se, level=0.9)
    for s, one in enumerate(found):
        value, variance = by_quadrature(y, se**2, s)
        assert one.value == pytest.approx(value, abs=2e-4)
        assert one.standard_error**2 == pytest.approx(variance, rel=5e-3)
        assert one.interval[0] < one.value < one.interval[1]
        assert one.interval[1] - one.interval[0] == pytest.approx(2 * 1.645 * one.standard_error, rel=0.1)
    assert 0.5 < mean < 0.85
    assert found[3].weight < found[2].weight  # the less sure moves more


def test_shrinkage_at_its_limits():
    equal = shrunk_means(np.full(8, 3.0), np.full(8, 0.5), level=0.95)[2]
    assert [one.value for one in equal] == pytest.approx([3.0] * 8)
    assert equal[0].standard_error < 0.4
    far = np.arange(6) * 100.0
    apart = shrunk_means(far, np.full(6, 0.5), level=0.95)[2]
    assert [one.value for one in apart] == pytest.approx(far, abs=0.02)
    assert apart[0].weight > 0.999
    with pytest.raises(InputError, match="at least 4 means"):
        shrunk_means(np.zeros(3), np.ones(3), level=0.95)
    with pytest.raises(InputError, match="positive standard error"):
        shrunk_means(np.zeros(4), np.array([1.0, 1, 0, 1]), level=0.95)


def test_shrunk_slices_keep_what_they_were():
    table = drawn(11, binary=True)
    plain, found = estimate_slices(table, **COLUMNS), estimate_slices(table, **COLUMNS, shrink=True)
    for before, after in zip(plain.slices, found.slices, strict=True):
        assert after.estimate.interval == before.interval
        assert after.value != before.value
        assert 0 <= after.interval[0] <= after.value <= after.interval[1] <= 1
        out = after.to_dict()
        assert (out["interval"], out["unshrunk"]["value"]) == ("shrunk", before.value)
    assert any(note.startswith("shrunk toward") for note in found.notes)
    three = drawn(12, sizes={"a": 50, "b": 60, "c": 70})
    assert any(note.startswith("not shrunk") for note in estimate_slices(three, **COLUMNS, shrink=True).notes)


@pytest.mark.parametrize("between", [0.0, 0.5, 2.0])
def test_shrunk_intervals_cover_on_average_and_the_values_are_closer(between):
    """10 slices × 500 worlds. Slices of a world share one model, so the bound is on the worlds' mean coverage."""
    rng = np.random.default_rng(31)
    se = np.array([0.3, 0.5, 0.5, 0.8, 1.0, 1.0, 1.2, 1.5, 2.0, 0.4])
    covered, gain = [], []
    for _ in range(500):
        theta = 4 + between * rng.standard_normal(10)
        y = theta + se * rng.standard_normal(10)
        found = shrunk_means(y, se, level=0.95)[2]
        covered.append(np.mean([one.interval[0] <= t <= one.interval[1] for one, t in zip(found, theta, strict=True)]))
        shrunk = np.array([one.value for one in found])
        gain.append(np.mean((y - theta) ** 2) - np.mean((shrunk - theta) ** 2))
    far = stats.norm.isf(FALSE_ALARM)
    assert np.mean(covered) >= 0.95 - far * np.std(covered) / np.sqrt(500) - 0.005
    assert np.mean(gain) > far * np.std(gain) / np.sqrt(500)


def test_the_whole_counts_slices_by_their_sizes_where_they_were_looked_at_unevenly():
    """A small bad slice is looked at whole, a large good one hardly: the mean of the rows looked at is far off."""
    rng = np.random.default_rng(3)
    topic = np.where(np.arange(4000) < 3600, "good", "bad")
    human = (rng.random(4000) < np.where(topic == "good", 0.95, 0.3)) * 1.0
    looked = (topic == "bad") | (rng.random(4000) < 0.1)
    asked = looked & (rng.random(4000) < 0.5)
    table = {
        "topic": topic, "judge": np.where(looked, np.where(rng.random(4000) < 0.1, 1 - human, human), np.nan),
        "human": np.where(asked, human, np.nan), "rate": np.where(looked, 0.5, np.nan), "selected": asked,
    }  # fmt: skip
    found = rw.estimate_slices(table, by="topic", weak="judge", strong="human")
    assert found.overall.low < human.mean() < found.overall.high
    assert human[looked].mean() < 0.7 < found.overall.low
    assert any("weighed by the slices' sizes" in note for note in found.notes)
    with pytest.raises(InputError, match="neither with recalibrate nor with clusters"):
        rw.estimate_slices(table, by="topic", weak="judge", strong="human", recalibrate="affine")


def test_weights_that_a_draw_wrote_are_not_passed_over():
    n = 60
    table = {
        "topic": np.repeat(["a", "b"], n // 2), "judge": np.full(n, 0.5), "human": np.tile([0.0, 1.0], n // 2),
        "rate": np.ones(n), "selected": np.ones(n), "weight": np.repeat([1.5, 0.5], n // 2),
    }  # fmt: skip
    with pytest.raises(InputError, match="has a column 'weight' beside rate and selected"):
        rw.estimate_table(table, weak="judge", strong="human")
    assert rw.estimate_slices(table, by="topic", weak="judge", strong="human").slices[0].value == 0.5
    table["weight"] = np.tile([1.5, 0.5], n // 2)
    with pytest.raises(InputError, match="has a column 'weight'"):
        rw.estimate_slices(table, by="topic", weak="judge", strong="human")


def test_slices_by_the_strong_rating_are_refused():
    table = {"judge": [0.2, 0.4, 0.6], "human": [0.0, 1.0, 1.0], "rate": [1.0, 1.0, 1.0]}
    with pytest.raises(InputError, match="the strong rating itself"):
        rw.estimate_slices(table, by="human", weak="judge", strong="human")


def test_numbers_as_groups_come_by_size():
    table = {"age": [10, 2, 100, 2, 10, 100], "judge": [0.5] * 6, "human": [0, 1, 0, 1, 1, 0], "rate": [1.0] * 6}
    found = rw.estimate_slices(table, by="age", weak="judge", strong="human")
    assert [one.name for one in found.slices] == ["2", "10", "100"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_sizes_are_read_from_one_column_of_a_file_or_a_folder(ending, tmp_path, monkeypatch):
    for name, seed in (("a", 1), ("b", 2)):
        rw.write_table(rw.read_table(drawn(seed)), tmp_path / f"{name}.{ending}")
    monkeypatch.setattr("ratewise.tables.load.loaded", None)  # no file is loaded whole
    assert slice_sizes(tmp_path / f"a.{ending}", "topic") == SIZES
    assert slice_sizes(tmp_path, "topic") == {name: 2 * size for name, size in SIZES.items()}
    with pytest.raises(TableError, match=r"has no column 'topics'; did you mean 'topic'\? its columns are"):
        slice_sizes(tmp_path, "topics")


def test_slices_of_votes_stay_on_their_scale():
    """A handful of wins, losses and ties in each slice: neither an interval nor a value is beyond 0 and 1."""
    rng = np.random.default_rng(3)
    g = rng.random(400)
    h = np.round(np.clip(g + rng.normal(0, 0.3, 400), 0, 1) * 2) / 2
    table = {"judge": g, "human": np.where(rng.random(400) < 0.15, h, np.nan), "rate": np.full(400, 0.15)}
    table |= {"topic": np.array([f"t{i % 16}" for i in range(400)], dtype=object)}
    free, kept = (estimate_slices(table, **COLUMNS, bounds=ends, interval="t") for ends in ((None, None), (0, 1)))
    assert any(one.interval is not None and one.interval[1] > 1 for one in free.slices)  # the check can fail
    for one in kept.slices:
        if one.interval is not None:
            assert 0 <= one.interval[0] < one.interval[1] <= 1
            assert 0 <= one.value <= 1


@pytest.mark.parametrize("shrink", [False, True])
def test_slices_of_a_scale_that_the_ratings_show_stay_on_that_scale(shrink):
    """Marks from 1 to 5 without bounds: slices were cut to the scale from 0 to 1."""
    rng = np.random.default_rng(8)
    topic = rng.choice(list("abcd"), 1200)
    h = np.clip(np.round(3.4 + 0.2 * (topic == "a") + rng.normal(0, 1.2, 1200)), 1, 5)
    table = {"topic": topic.astype(object), "judge": np.clip(np.round(h + rng.normal(0, 0.7, 1200)), 1, 5)}
    table |= {"human": np.where(rng.random(1200) < 0.25, h, np.nan), "rate": np.full(1200, 0.25)}
    found = estimate_slices(table, **COLUMNS, shrink=shrink)
    for one in found.slices:
        truth = h[topic == one.name].mean()
        low, high = one.estimate.interval
        assert 1 < low < truth < high < 5
        assert high - low < 1
        if shrink:
            low, high = one.shrunk.interval
            assert 1 < low < truth < high < 5
