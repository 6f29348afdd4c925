"""The checks at the core's door: what is legal comes back as floats, the rest is one clear line."""

import math

import numpy as np
import pytest

from ratewise.core.checks import as_floats, choice, finite, number, scale_ends, seed_number, share
from ratewise.errors import InputError


def test_legal_values_come_back_as_floats():
    assert as_floats([1, 2], name="x").dtype == np.float64
    assert finite([[0, 1]], name="x", minimum=0).shape == (1, 2)
    assert number("2.5", name="x", above=2) == 2.5
    assert (share(0, name="x", zero=True), share(1, name="x", one=True)) == (0.0, 1.0)
    assert choice("a", ("a", "b"), name="letter") == "a"


@pytest.mark.parametrize(
    ("check", "words"),
    [
        (lambda: as_floats(["much"], name="costs"), "costs must be numbers"),
        (lambda: finite([], name="costs"), "costs is empty"),
        (lambda: finite([1, np.inf], name="costs"), "entry 1 is inf"),
        (lambda: finite([3, -1], name="costs", minimum=0), "at least 0; entry 1 is -1"),
        (lambda: number(None, name="budget"), "budget must be a number; got None"),
        (lambda: number(np.nan, name="budget"), "budget must be finite"),
        (lambda: number(0, name="budget", above=0), "budget must be above 0; got 0"),
        (lambda: number(1, name="trials", minimum=2), "trials must be at least 2; got 1"),
        (lambda: share(1, name="level"), r"level must be in \(0, 1\); got 1"),
        (lambda: share(0, name="rate", one=True), r"rate must be in \(0, 1\]; got 0"),
        (lambda: choice("magic", ("base", "auto"), name="method"), "unknown method 'magic'; choose one of base, auto"),
    ],
)
def test_anything_else_is_one_line_with_the_value_and_the_range(check, words):
    with pytest.raises(InputError, match=words) as refused:
        check()
    assert "\n" not in str(refused.value)


def test_a_long_value_is_cut():
    with pytest.raises(InputError) as refused:
        number("x" * 500, name="budget")
    assert len(str(refused.value)) < 100


def test_a_seed_is_a_whole_number_from_zero():
    assert seed_number(np.int64(3)) == 3
    for bad in (-1, 1.5, True, "7", None):
        with pytest.raises(InputError, match="seed must be a whole number from 0"):
            seed_number(bad)


def test_ends_of_a_scale_can_be_multiplied():
    assert scale_ends(0, "1") == (0.0, 1.0)
    for low, high in ((-1e308, 1e308), (0, math.inf), (math.nan, 1)):
        with pytest.raises(InputError, match="must be"):
            scale_ends(low, high)
