"""The whole of slices that were looked at in proportions of their own."""

import numpy as np
import pytest

from ratewise.errors import InputError
from ratewise.questions.estimation import in_proportion
from ratewise.questions.slices import estimate_slices


def test_proportions_that_may_be_chance_and_that_may_not():
    groups = np.repeat(["a", "b"], [600, 400]).astype(object)
    looked = np.random.default_rng(3).random(1000) < 0.3
    assert in_proportion(groups, looked)
    assert in_proportion(groups, np.ones(1000, dtype=bool))
    assert not in_proportion(groups, np.where(groups == "a", looked, True))


def sliced(**options):
    rng = np.random.default_rng(5)
    groups = np.repeat(["a", "b"], [600, 400]).astype(object)
    h = np.where(groups == "a", 0.2, 0.9) + 0.05 * rng.normal(size=1000)
    rate = np.where(groups == "a", 1.0, np.where(np.arange(1000) < 650, 1.0, np.nan))
    table = {"slice": groups, "g": h, "h": np.where(np.isnan(rate), np.nan, h), "rate": rate}
    return estimate_slices(table, by="slice", weak="g", strong="h", **options)


def test_slices_count_by_their_size_and_not_by_how_often_they_were_looked_at():
    found = sliced()
    assert found.overall.value == pytest.approx(0.6 * 0.2 + 0.4 * 0.9, abs=0.02)
    assert any("weighed by the slices' sizes" in note for note in found.overall.notes)


def test_what_does_not_go_with_it_is_refused():
    with pytest.raises(InputError, match="leave them out"):
        sliced(recalibrate="affine")
