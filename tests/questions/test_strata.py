"""Strata of a table, their means shrunk, and plans that survive JSON."""

import numpy as np
import pytest

from ratewise.errors import InputError
from ratewise.questions.strata import check_known, read_strata, shrunk
from ratewise.tables import read_table

TABLE = read_table({"topic": ["b", "a", "b", "c"], "n": [1, 2, 3, 4]})


def test_rows_belong_to_strata():
    names, code = read_strata(TABLE, "topic")
    assert [names[i] for i in code] == ["b", "a", "b", "c"]
    _, known = read_strata(TABLE, "topic", ("a", "b"))
    np.testing.assert_array_equal(known, [1, 0, 1, -1])
    with pytest.raises(InputError, match="'c'"):
        check_known(known, TABLE, "topic")


def test_means_of_few_values_move_towards_the_mean_of_all():
    rng = np.random.default_rng(3)
    code = np.repeat([0, 1], [400, 3])
    values = np.r_[rng.normal(0, 1, 400), rng.normal(0, 1, 3)]
    found = shrunk(values, code, 2)
    assert found[0] == pytest.approx(values[:400].mean(), abs=0.05)
    assert abs(found[1] - values.mean()) < abs(values[400:].mean() - values.mean())
