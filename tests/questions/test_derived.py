"""Columns that a plan was made from, made again from those of a pool."""

import json

import numpy as np

from ratewise.core.result import fields_in_json
from ratewise.learn.error_model import fit_error
from ratewise.questions.transfer import UNCERTAINTY, WEAK_BELOW, WEAK_DIFFERENCE, Derived
from ratewise.tables import read_table

POOL = {"g_a": [0.9, 0.2, 0.5], "g_b": [0.4, 0.3, 0.5]}


def test_a_difference_is_added_once():
    derived = Derived("difference", ("g_a", "g_b"))
    made = derived.added_to(read_table(POOL))
    np.testing.assert_allclose(made.numbers(WEAK_DIFFERENCE), [0.5, -0.1, 0.0])
    assert derived.added_to(made) is made
    other = read_table({"x": [1.0]})
    assert derived.added_to(other) is other


def test_at_or_below_with_its_doubt_survives_json():
    weak = np.linspace(0, 1, 60)
    model = fit_error(weak, (weak > 0.5).astype(float) * 0.2)
    derived = Derived("at or below", ("g_a",), 0.5, model)
    again = Derived.from_dict(json.loads(json.dumps(fields_in_json(derived))))
    one, other = (each.added_to(read_table(POOL)) for each in (derived, again))
    np.testing.assert_array_equal(one.numbers(WEAK_BELOW), [0.0, 1.0, 1.0])
    np.testing.assert_array_equal(one.numbers(UNCERTAINTY), other.numbers(UNCERTAINTY))
