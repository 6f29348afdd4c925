"""Estimates of tables that stay in their files are those of tables in memory."""

import json

import numpy as np
import pytest

import ratewise as rw
from ratewise.errors import InputError, RatewiseWarning, TableError
from ratewise.questions import estimation
from ratewise.questions import rated as readers
from ratewise.questions.rated import large_relation

from .large_files import N, check_alike, in_memory_only, placed

COLUMNS = {"weak": "judge", "strong": "human"}


def judged(*, seed=0, one_rate=False, words=False, **more):
    rng = np.random.default_rng(seed)
    topic = rng.choice(["a", "b", "c"], N, p=[0.6, 0.3, 0.1])
    judge = np.clip(rng.beta(4, 1.5, N) - 0.1 * (topic == "b"), 0, 1)
    human = (rng.random(N) < judge**1.4).astype(float)
    rate = np.full(N, 0.06) if one_rate else np.clip(0.25 * np.sqrt(judge * (1 - judge)), 0.02, 1)
    asked = rng.random(N) < rate
    return {"judge": judge, "human": np.where(asked, human, np.nan), "rate": rate, "selected": asked, "topic": topic}


@pytest.fixture
def large(monkeypatch):
    monkeypatch.setattr(readers, "MANY_ROWS", 1000)


@pytest.fixture
def in_files(large, monkeypatch):
    """Files count as large, and a table that lies in files is never read whole."""
    monkeypatch.setattr("ratewise.questions.estimation.read_whole", in_memory_only)


def check_same(found, right, *, ends=1e-3):
    """Alike, with the same notes on the same kind of interval."""
    check_alike(found, right, ends=ends)
    assert (found.interval_kind, found.notes) == (right.interval_kind, right.notes)


@pytest.mark.parametrize("one_rate", [False, True])
@pytest.mark.parametrize("method", ["auto", "difference", "power-tuned", "regression"])
def test_every_method_and_interval_agrees_with_memory(tmp_path, in_files, one_rate, method):
    table = judged(one_rate=one_rate)
    place = placed(table, tmp_path)
    bootstrap = [("bootstrap", 0.15)] if method == "difference" else []
    for interval, ends in [("auto", 1e-3), ("t", 1e-9), ("normal", 1e-9), *bootstrap]:
        options = {"method": method, "interval": interval} | COLUMNS
        check_same(rw.estimate_table(place, **options), rw.estimate_table(table, **options), ends=ends)


def test_the_pools_own_mean_and_a_rate_that_is_a_number(tmp_path, large):
    table = judged(one_rate=True)
    place = placed(table, tmp_path)
    for options in ({"estimand": "pool"}, {"rate": 0.06}, {"weak_cost": 0.01, "strong_cost": 2.0}):
        found, right = (rw.estimate_table(where, **COLUMNS, **options) for where in (place, table))
        check_same(found, right)
        assert found.spend == right.spend


def test_slices_agree_with_memory_simultaneous_and_shrunk(tmp_path, large):
    table = judged()
    place = placed(table, tmp_path)
    for options in ({}, {"simultaneous": True}, {"shrink": True}):
        found, right = (rw.estimate_slices(where, by="topic", **COLUMNS, **options) for where in (place, table))
        check_same(found.overall, right.overall)
        assert [one.name for one in found.slices] == ["a", "b", "c"]
        for one, other in zip(found.slices, right.slices, strict=True):
            assert (one.items, one.labels) == (other.items, other.labels)
            assert one.value == pytest.approx(other.value, rel=1e-12)


def test_strata_and_weights_agree_with_memory(tmp_path, large):
    table = judged()
    table["rate"] = np.where((table["topic"] == "a") & np.isnan(table["human"]), np.nan, table["rate"])
    table["rate"][(table["topic"] == "a")] = np.where(
        np.arange(N)[table["topic"] == "a"] % 2, judged()["rate"][table["topic"] == "a"], np.nan
    )
    table["human"] = np.where(np.isnan(table["rate"]), np.nan, table["human"])
    table["selected"] = table["selected"] & ~np.isnan(table["rate"])
    table["weight"] = np.where(np.isnan(table["rate"]), np.nan, np.where(table["topic"] == "a", 1.5, 0.75))
    place = placed(table, tmp_path)
    for options in ({"strata": "topic"}, {"strata": "topic", "estimand": "pool"}, {"strata": "topic", "interval": "t"}):
        found, right = (rw.estimate_table(where, **COLUMNS, **options) for where in (place, table))
        check_same(found, right)
    found, right = (rw.estimate_table(where, **COLUMNS, weight="weight") for where in (place, table))
    check_same(found, right)


def test_missing_answers_are_counted_at_both_ends(tmp_path, large):
    table = judged()
    table["human"][np.flatnonzero(table["selected"])[:5]] = np.nan
    found, right = (rw.estimate_table(where, **COLUMNS) for where in (placed(table, tmp_path), table))
    assert found.value == pytest.approx(right.value, rel=1e-12)
    assert found.notes[0].startswith("5 answers that were asked for are missing")


@pytest.mark.parametrize(
    ("column", "row", "value", "message"),
    [
        ("rate", 9500, 1.5, "row 9,501 of rated has a rate outside"),
        ("rate", "labelled", np.nan, "has a strong rating but no rate"),
        ("judge", 30, np.nan, "row 31 of rated has a rate but no weak rating in column 'judge'"),
        ("selected", "labelled", False, "has a strong rating but is not selected"),
        ("judge", 11_000, 1e60, "row 11,001 of rated has a rating that is infinite or beyond"),
    ],
)
def test_a_row_that_is_wrong_is_named(tmp_path, large, column, row, value, message):
    table = judged()
    at = int(np.flatnonzero(~np.isnan(table["human"]))[3]) if row == "labelled" else row
    table[column][at] = value
    with pytest.raises(TableError, match=message):
        rw.estimate_table(placed(table, tmp_path), **COLUMNS)


def test_rates_of_another_draw_are_refused(tmp_path, large):
    table = judged(one_rate=True)
    table["rate"][:] = 0.2
    with pytest.raises(TableError, match="not the rates of this draw"):
        rw.estimate_table(placed(table, tmp_path), **COLUMNS)


def test_what_cannot_be_done_in_files_is_done_in_memory(tmp_path, large):
    table = judged()
    place = placed(table, tmp_path)
    for options in ({"recalibrate": "platt"}, {"interval": "anytime"}):
        found, right = (rw.estimate_table(where, **COLUMNS, **options) for where in (place, table))
        assert json.dumps(found.to_dict()) == json.dumps(right.to_dict())


def test_rows_that_were_put_together_have_no_anytime_interval():
    one = np.ones(3)
    rated = rw.core.ratings.Ratings(one / 2, np.array([1.0, 0.0, np.nan]), one / 2, counts=np.array([1.0, 1.0, 9.0]))
    with pytest.raises(InputError, match="put together"):
        rw.core.estimate.estimate_rated(rated, rw.core.estimate.EstimateOptions(interval="anytime"))


def test_a_small_folder_or_pattern_is_one_table(tmp_path):
    table = judged()
    place = placed(table, tmp_path)
    right = rw.estimate_table(table, **COLUMNS)
    for where in (place, f"{place}/*.parquet"):
        check_same(rw.estimate_table(where, **COLUMNS), right, ends=1e-12)
    sliced = rw.estimate_slices(place, by="topic", **COLUMNS)
    assert sliced.overall.value == pytest.approx(right.value, rel=1e-12)


def test_small_tables_and_tables_in_memory_are_read_whole(tmp_path):
    table = judged()
    assert large_relation(placed(table, tmp_path)) is None
    assert large_relation(table) is None
    assert large_relation("-") is None
    assert large_relation(tmp_path / "nothing.parquet") is None


def test_a_table_without_rates_agrees_with_memory_and_says_what_was_assumed(tmp_path, in_files):
    table = judged(one_rate=True)
    for without in (("rate",), ("rate", "selected")):
        some = {name: values for name, values in table.items() if name not in without}
        place = placed(some, tmp_path, name="-".join(without))
        found, right = (rw.estimate_table(where, **COLUMNS) for where in (place, some))
        check_same(found, right)
        assert any(note.startswith("no rate column") for note in found.notes)


def test_labels_that_were_picked_are_told_apart_in_files_too(tmp_path, in_files):
    table = judged()
    table["human"] = np.where(table["judge"] > 0.8, 1.0, np.nan)
    some = {name: table[name] for name in ("judge", "human")}
    place = placed(some, tmp_path)
    for where in (place, some):
        with pytest.warns(RatewiseWarning, match="have clearly higher values in column 'judge' than the others"):
            rw.estimate_table(where, **COLUMNS)


@pytest.mark.parametrize("options", [{}, {"positive": "Good"}, {"scale": ["bad", "good"]}])
def test_words_in_files_are_read_as_in_memory(tmp_path, in_files, options):
    table = judged()
    yes, no = ("good", "Bad") if options else ("Yes", "no")
    words = np.where(table["human"] == 1, yes, no)
    table["human"] = np.where(np.isnan(table["human"]), None, words)
    place = placed(table, tmp_path)
    found, right = (rw.estimate_table(where, **COLUMNS, **options) for where in (place, table))
    check_same(found, right)


def test_a_word_without_a_meaning_is_named_by_its_row(tmp_path, large):
    table = judged()
    table["human"] = np.where(np.isnan(table["human"]), None, "good")
    table["human"][7] = "middling"
    with pytest.raises(TableError, match="row 8 of rated has 'middling' in column 'human'"):
        rw.estimate_table(placed(table, tmp_path), **COLUMNS, scale=["bad", "good"])


def test_an_affine_recalibration_agrees_with_memory(tmp_path, in_files):
    table = judged(seed=7)
    found, right = (
        rw.estimate_table(where, **COLUMNS, recalibrate="affine") for where in (placed(table, tmp_path), table)
    )
    check_same(found, right)


@pytest.mark.parametrize("options", [{}, {"estimand": "pool"}])
def test_several_people_s_votes_agree_with_memory(tmp_path, in_files, options):
    table, rng = judged(seed=8), np.random.default_rng(9)
    asked = table["selected"]
    for name in ("ann", "ben", "cleo"):
        vote = np.where(rng.random(N) < 0.8, table["human"], 1 - table["human"])
        table[name] = np.where(asked & (rng.random(N) < 0.8), vote, np.nan)
    one = np.isnan(table["ann"]) & np.isnan(table["ben"]) & np.isnan(table["cleo"])
    table["ann"] = np.where(asked & one, table["human"], table["ann"])
    asked = {"weak": "judge", "strong": "ann,ben,cleo", "weak_cost": 0.01, "strong_cost": 2.0, **options}
    found, right = (rw.estimate_table(where, **asked) for where in (placed(table, tmp_path), table))
    check_same(found, right)
    assert found.spend == right.spend
    assert found.agreement.votes == right.agreement.votes
    assert found.agreement.alpha == pytest.approx(right.agreement.alpha, rel=1e-12)


def test_slices_of_words_without_rates_agree_with_memory(tmp_path, in_files, monkeypatch):
    monkeypatch.setattr("ratewise.questions.slices.read_whole", estimation.read_whole)
    table = judged(one_rate=True)
    words = np.where(np.isnan(table["human"]), None, np.where(table["human"] == 1, "good", "bad"))
    some = {"judge": table["judge"], "human": words, "topic": table["topic"]}
    place = placed(some, tmp_path)
    found, right = (rw.estimate_slices(where, by="topic", **COLUMNS, positive="good") for where in (place, some))
    assert found.notes == right.notes
    check_same(found.overall, right.overall)
    for one, other in zip(found.slices, right.slices, strict=True):
        assert one.value == pytest.approx(other.value, rel=1e-12)


@pytest.mark.parametrize("clusters", [3, 150, 5000])
def test_clusters_in_files_agree_with_memory(tmp_path, in_files, clusters):
    table = judged(seed=5)
    rng = np.random.default_rng(6)
    table["person"] = np.array([f"p{k}" for k in rng.integers(0, clusters, N)])
    place = placed(table, tmp_path)
    for options in ({}, {"interval": "t"}, {"estimand": "pool", "pool_size": 5 * N, "interval": "t"}):
        found, right = (rw.estimate_table(where, **COLUMNS, clusters="person", **options) for where in (place, table))
        check_same(found, right, ends=1e-8 if "interval" in options else 1e-2)
        assert found.clusters == right.clusters


def test_a_row_without_a_cluster_is_named(tmp_path, in_files):
    table = judged()
    table["topic"] = table["topic"].astype(object)
    table["topic"][40] = None
    with pytest.raises(TableError, match="row 41 of rated has no cluster in column 'topic'"):
        rw.estimate_table(placed(table, tmp_path), **COLUMNS, clusters="topic")
