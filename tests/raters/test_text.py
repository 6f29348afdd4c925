"""Text of others: one line, without control characters, short."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.raters.text import one_line, short, storable

quick = settings(derandomize=True, max_examples=150, deadline=None, database=None)


@quick
@given(st.text(st.characters(), max_size=400), st.integers(5, 50))
def test_one_line_is_printable_and_short(text, most):
    line = one_line(text, most)
    assert line.isprintable()
    assert len(line) <= most


def test_one_line_takes_the_first_line_that_says_something():
    assert one_line("\n  \n first\nsecond") == "first"
    assert one_line("\x1b[31mred\0") == "[31mred"
    assert one_line("x" * 1000, 10) == "xxxxxxx..."


@quick
@given(st.text(st.characters()))
def test_storable_text_can_be_encoded_and_has_no_nul(text):
    assert b"\0" not in storable(text).encode("utf-8")


def test_storable_leaves_ordinary_text_alone():
    assert storable("zwei\nZeilen – 👩‍🔬") == "zwei\nZeilen – 👩‍🔬"
    assert storable("a\0b\ud800") == "a�b?"


class Nasty:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    "value",
    [10**10_000, Nasty(), "x" * 10**7, [[]] * 10**6, np.zeros((3, 3)), b"\xff" * 999],
    ids=lambda x: type(x).__name__,
)
def test_anything_can_be_shown(value):
    assert len(short(value)) <= 60
    assert "\n" not in short(value)
