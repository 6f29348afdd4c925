"""Legal ratings become numbers; everything else is one clear line."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ratewise.errors import InputError
from ratewise.raters.scale import RatingScale

quick = settings(derandomize=True, max_examples=300, deadline=None, database=None)
BINARY, PAIRWISE = RatingScale("binary"), RatingScale("pairwise")
LIKERT, SCORE = RatingScale("likert", 1, 5), RatingScale("score", -1.0, 2.5)
SCALES = [BINARY, PAIRWISE, LIKERT, SCORE]

HOSTILE = [math.nan, math.inf, -math.inf, "nan", "inf", "1e999", "-1e999", 10**400, -(10**400), Decimal("NaN")]
HOSTILE += [Decimal("sNaN"), Decimal("inf"), np.float64("nan"), b"1", "1" * 10**6, "x" * 10**7, [1], (1,), {}, {"a": 1}]
HOSTILE += [
    None,
    "",
    "  ",
    "１",
    "١",
    "1_0",
    "0x1",
    "yeſ",
    "ｙｅｓ",
    "\0",
    "1\x00",
    object(),
    1j,
    np.array([1]),
    np.array(1),
]
HOSTILE += ["\ud800", np.datetime64("2024-01-01"), "0." + "5" * 10**6, "1,5", "½", "--1", "1e", "."]


@pytest.mark.parametrize(
    ("raw", "number"),
    [(0, 0), (1, 1), (True, 1), (False, 0), (np.True_, 1), (1.0, 1), ("1.0", 1), (np.int8(1), 1), (Decimal(1), 1)]
    + [(w, 1) for w in ("yes", " YES\n", "True", "1", "correct", "Pass")]
    + [(w, 0) for w in ("no", "FALSE", "0", "incorrect", "fail", np.str_("no"))],
)
def test_binary(raw, number):
    assert BINARY.strong(raw) == BINARY.weak(raw) == number
    assert type(BINARY.strong(raw)) is float


@pytest.mark.parametrize(
    ("raw", "number"),
    [
        ("a", 1),
        (" A ", 1),
        ("B", 0),
        ("tie", 0.5),
        ("Draw", 0.5),
        ("equal", 0.5),
        ("both", 0.5),
        ("neither", 0.5),
        (1, 1),
        (0, 0),
        (0.5, 0.5),
        ("0.5", 0.5),
        (np.float32(0.5), 0.5),
        (Fraction(1, 2), 0.5),
    ],
)
def test_pairwise(raw, number):
    assert PAIRWISE.strong(raw) == PAIRWISE.weak(raw) == number


@pytest.mark.parametrize("raw", [3, 3.0, "3", " 3 ", "3.0", "+3", "3e0", np.int64(3), np.float64(3.0), Decimal(3)])
def test_likert(raw):
    assert LIKERT.strong(raw) == LIKERT.weak(raw) == 3.0


@pytest.mark.parametrize(("raw", "number"), [("0.7", 0.7), (".5", 0.5), (-1, -1), (2.5, 2.5), ("-1E0", -1), ("2.", 2)])
def test_score(raw, number):
    assert SCORE.strong(raw) == SCORE.weak(raw) == number


@pytest.mark.parametrize(
    ("scale", "raw"),
    [(BINARY, x) for x in (2, -1, 0.5, "maybe", "a", "10")]
    + [(PAIRWISE, x) for x in (True, False, np.True_, 0.25, 2, "c", "yes", "ab")]
    + [(LIKERT, x) for x in (0, 6, 2.5, "2.5", True, False, np.True_, "yes", "three")]
    + [(SCORE, x) for x in (-1.01, 2.51, "2.51", True, "high")],
)
def test_what_is_not_on_the_scale(scale, raw):
    with pytest.raises(ValueError, match=r"is no (binary|pairwise|likert|score) rating; expected"):
        scale.strong(raw)


@pytest.mark.parametrize("scale", SCALES, ids=lambda s: s.kind)
@pytest.mark.parametrize("raw", HOSTILE, ids=lambda x: repr(x)[:20] if not isinstance(x, int) else "huge")
def test_hostile_values_are_one_short_line(scale, raw):
    for read in (scale.strong, scale.weak):
        with pytest.raises(ValueError, match="expected") as caught:
            read(raw)
        assert len(str(caught.value)) < 250
        assert str(caught.value).isprintable()


def test_the_message_names_value_and_range():
    with pytest.raises(ValueError, match=r"^'7' is no likert rating; expected a whole number from 1 to 5$"):
        LIKERT.strong("7")
    with pytest.raises(ValueError, match=r"^9 is no score rating; expected a number from -1 to 2\.5$"):
        SCORE.strong(9)


@pytest.mark.parametrize("scale", SCALES, ids=lambda s: s.kind)
def test_weak_ratings_may_be_on_a_scale_of_their_own(scale):
    assert [scale.weak(x) for x in (-17.5, "1234", True, np.False_, np.float32(0.25))] == [-17.5, 1234, 1, 0, 0.25]


def test_a_judges_yes_and_no_are_understood_beside_peoples_own_words():
    scale = RatingScale("binary", positive=("ok",))
    assert [scale.weak(word) for word in ("Yes", "no", "ok", "bad", "0.7")] == [1, 0, 1, 0, 0.7]
    assert [scale.strong(word) for word in ("ok", "yes")] == [1, 0]  # people's words are those that were said
    turned = RatingScale("binary", positive=("no",))
    assert [turned.weak(word) for word in ("yes", "no", "pass")] == [0, 1, 1]


def test_words_of_another_kind_are_no_weak_ratings():
    for scale, word in [(LIKERT, "yes"), (SCORE, "a"), (BINARY, "tie"), (PAIRWISE, "pass")]:
        with pytest.raises(ValueError, match="is no weak rating"):
            scale.weak(word)


def test_no_negative_zero():
    assert math.copysign(1, SCORE.strong("-0.0")) == math.copysign(1, BINARY.weak(-0.0)) == 1


@quick
@given(st.one_of(st.text(), st.floats(), st.integers(), st.booleans(), st.binary(), st.decimals(), st.none()))
def test_anything_is_a_legal_number_or_a_value_error(raw):
    for scale in SCALES:
        for read, low, high in [(scale.strong, scale.low, scale.high), (scale.weak, -math.inf, math.inf)]:
            try:
                number = read(raw)
            except ValueError:
                continue
            assert low <= number <= high
            assert math.isfinite(number)


@quick
@given(st.floats(-1.0, 2.5))
def test_a_number_and_its_text_are_the_same_rating(x):
    assert SCORE.strong(repr(x)) == SCORE.strong(x) == x


@pytest.mark.parametrize(
    "args",
    [
        ("stars",),
        ("score", 1, 1),
        ("score", 2, 1),
        ("score", 0, math.inf),
        ("score", math.nan, 1),
        ("likert", 0.5, 5),
        ("binary", 1, 5),
        ("pairwise", -1, 1),
    ],
)
def test_scales_that_make_no_sense(args):
    with pytest.raises(InputError):
        RatingScale(*args)
