"""Comparisons of tables that stay in their files are those of tables in memory."""

import numpy as np
import pytest

import ratewise as rw
from ratewise.errors import TableError
from ratewise.questions import rated as readers

from .large_files import N, check_alike, in_memory_only, placed

TWO = {"weak": ("judge_a", "judge_b"), "strong": ("human_a", "human_b")}
COLUMNS = [(f"judge_{name}", f"human_{name}") for name in "abc"]


def judged(*, seed=0, one_rate=False):
    rng = np.random.default_rng(seed)
    hard = rng.beta(2, 2, N)
    rate = np.full(N, 0.06) if one_rate else np.clip(0.2 * np.sqrt(hard), 0.02, 1)
    asked = rng.random(N) < rate
    table = {"rate": rate, "selected": asked}
    for k, (weak, strong) in enumerate(COLUMNS):
        good = np.clip(1.1 - hard + 0.1 * k + rng.normal(0, 0.1, N), 0, 1)
        table[weak], human = good, (rng.random(N) < good**1.3).astype(float)
        table[strong] = np.where(asked, human, np.nan)
    return table


@pytest.fixture
def large(monkeypatch):
    """Files count as large, and then only what stands in memory already is read whole."""
    monkeypatch.setattr(readers, "MANY_ROWS", 1000)
    monkeypatch.setattr("ratewise.questions.comparison.read_whole", in_memory_only)


@pytest.mark.parametrize(
    ("one_rate", "options"),
    [(False, {}), (True, {}), (True, {"rate": 0.06}), (False, {"estimand": "pool"}), (False, {"method": "regression"})],
)
def test_two_systems_agree_with_memory(tmp_path, large, one_rate, options):
    table = judged(one_rate=one_rate)
    found, right = (rw.compare(where, **TWO, **options) for where in (placed(table, tmp_path), table))
    check_alike(found.difference, right.difference, ends=1e-9)
    check_alike(found.first, right.first)
    check_alike(found.second, right.second)
    assert found.probability_better == pytest.approx(right.probability_better, rel=1e-9)
    assert found.ratio.value == pytest.approx(right.ratio.value, rel=1e-12)
    np.testing.assert_allclose(found.ratio.interval, right.ratio.interval, rtol=1e-9)
    assert found.pairing == pytest.approx(right.pairing, rel=1e-8)
    assert (found.sentence, found.notes) == (right.sentence, right.notes)


def test_many_systems_and_a_table_without_rates_agree_with_memory(tmp_path, large):
    table = {name: values for name, values in judged(one_rate=True).items() if name != "rate"}
    options = {"baseline": "c"} | {
        kind: {name: f"{column}_{name}" for name in "abc"} for kind, column in (("weak", "judge"), ("strong", "human"))
    }
    found, right = (rw.compare_many(where, **options) for where in (placed(table, tmp_path), table))
    assert found.each_level == pytest.approx(right.each_level, rel=1e-9)
    assert found.notes == right.notes
    for one, other in zip(found.rivals, right.rivals, strict=True):
        assert one.name == other.name
        check_alike(one.difference, other.difference, ends=1e-9)


def test_missing_answers_are_counted_at_both_ends_and_ratings_beyond_the_scale_refused(tmp_path, large):
    table = judged()
    at = np.flatnonzero(table["selected"])
    table["human_a"][at[:4]] = np.nan
    table["human_b"][at[3:6]] = np.nan
    place = placed(table, tmp_path)
    found, right = (rw.compare(where, **TWO) for where in (place, table))
    assert found.difference.value == pytest.approx(right.difference.value, rel=1e-12)
    np.testing.assert_allclose(found.difference.interval, right.difference.interval, rtol=1e-9)
    assert found.ratio.to_dict() == right.ratio.to_dict()
    told = []
    for where in (place, table):
        with pytest.raises(TableError, match="has a strong rating outside the bounds") as error:
            rw.compare(where, **TWO, bounds=(0.5, 1.0))
        told.append(str(error.value).split(" of ")[0])
    assert told[0] == told[1]


def test_words_in_files_are_compared(tmp_path, large):
    table = judged()
    for _, strong in COLUMNS:
        words = np.where(table[strong] == 1, "good", "bad")
        table[strong] = np.where(np.isnan(table[strong]), None, words)
    found, right = (rw.compare(where, **TWO, positive="good") for where in (placed(table, tmp_path), table))
    check_alike(found.difference, right.difference, ends=1e-9)
    assert found.notes == right.notes


def test_a_row_that_is_wrong_is_named(tmp_path, large):
    table = judged()
    table["judge_b"][9500] = np.nan
    with pytest.raises(TableError, match="row 9,501 of rated has a rate but no weak rating in column 'judge_b'"):
        rw.compare(placed(table, tmp_path), **TWO)
