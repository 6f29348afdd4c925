"""A finished campaign as a teacher: what it hands on, and whether the new items are like its own."""

import json
from dataclasses import replace

import numpy as np
import pytest

from ratewise.design.seen import Phase, Seen
from ratewise.design.teacher import Teacher, enough_to_teach
from ratewise.learn.covariates import Covariates


def seen(items, seed, *, shift=0.0, wrong=0.0, features=False):
    rng = np.random.default_rng([seed, 53])
    g = np.clip(rng.beta(1.2, 0.8, items) + shift, 0.001, 0.999)
    h = (rng.random(items) < np.clip(g - wrong, 0, 1)) * 1.0
    x = Covariates(g, rng.random((items, 2)) if features else None)
    return Seen.of(x, h, (Phase(items),))


@pytest.mark.parametrize("features", [False, True])
def test_it_goes_through_json_and_teaches_the_same(features):
    old = seen(150, 1, features=features)
    teacher = Teacher.of("spring", old)
    again = Teacher.from_dict(json.loads(json.dumps(teacher.to_dict(), allow_nan=False)))
    x = old.x.rows(slice(0, 20))
    np.testing.assert_array_equal(again.learned.model.predict(x), teacher.learned.model.predict(x))
    np.testing.assert_allclose(teacher.learned.model.predict(x), old.learned.model.predict(x), rtol=1e-9)
    assert again.campaign == "spring"
    assert again.items == 150


def test_labels_count_by_the_rates_they_were_drawn_with():
    old = seen(200, 2)
    strong = old.strong.copy()
    strong[::2] = np.nan
    part = replace(old, strong=strong, mass=np.where(np.arange(200) < 100, 50.0, 200.0))
    teacher = Teacher.of("spring", part)
    np.testing.assert_allclose(teacher.learned.weights, part.learned.weights)


def test_the_same_kind_of_items_is_no_drift():
    teacher = Teacher.of("spring", seen(400, 3))
    found = [teacher.drift(seen(60, seed)) for seed in range(10, 40)]
    assert not any(drift.drifted for drift in found)  # false alarms: less than one in five hundred each
    assert "still fits" in found[0].summary("spring")


def test_other_weak_ratings_and_other_labels_are_drift():
    teacher = Teacher.of("spring", seen(400, 3))
    shifted = teacher.drift(seen(200, 5, shift=-0.35))
    assert shifted.gap > shifted.threshold
    assert "weak ratings differ from those of spring" in shifted.summary("spring")
    worse = teacher.drift(seen(120, 6, wrong=0.35))
    assert worse.off > 1
    assert "labels differ from those of spring" in worse.summary("spring")


def test_few_labels_are_not_judged():
    teacher = Teacher.of("spring", seen(400, 3))
    assert teacher.drift(seen(6, 7, wrong=0.9)).off == 0


def test_who_has_nothing_to_teach():
    assert enough_to_teach(seen(20, 1))
    assert not enough_to_teach(seen(5, 1))
    assert not enough_to_teach(None)
    old = seen(20, 1)
    assert enough_to_teach(without(old, 8, 20))
    assert not enough_to_teach(without(old, 7, 20))


def without(old, first, end, at=0.5):
    """The same with stand-ins for the weak ratings from `first` to `end`."""
    filled = (np.arange(old.items) >= first) & (np.arange(old.items) < end)
    return replace(old, x=replace(old.x, weak=np.where(filled, at, old.x.weak), filled=filled))


@pytest.mark.parametrize("which", ["old", "new", "both"])
def test_items_without_a_weak_rating_are_no_drift(which):
    """Half of the items stand at the mean; false alarms come once in a thousand campaigns, and 40 are looked at."""
    old = seen(400, 3)
    teacher = Teacher.of("spring", old if which == "new" else without(old, 200, 400))
    assert teacher.items == (400 if which == "new" else 200)
    for seed in range(10, 50):
        new = seen(300, seed)
        drift = teacher.drift(new if which == "old" else without(new, 100, 300))
        assert not drift.drifted
        assert drift.gap < drift.threshold
    shifted = seen(300, 60, shift=-0.35)
    assert teacher.drift(shifted if which == "old" else without(shifted, 100, 300)).drifted


def test_nothing_of_stand_ins_is_taught():
    old = seen(150, 1)
    teacher = Teacher.of("spring", without(old, 100, 150, at=99.0))
    assert teacher.strong.size == 100
    assert teacher.weak.max() <= 1
    assert teacher.learned.x.weak.max() <= 1
