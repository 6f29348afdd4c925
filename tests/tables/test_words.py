"""Words as ratings: well-known pairs, a positive word, a scale; everything else is refused with what to type."""

import numpy as np
import pytest

from ratewise.errors import InputError, TableError
from ratewise.tables import read_table
from ratewise.tables.words import in_numbers, meaning_of, scale_in

NAN = float("nan")


def read(values, *, weak=None, **said):
    table = read_table({"human": values, "judge": values if weak is None else weak}, name="t.csv")
    found, notes = in_numbers(table, strong=["human"], weak=["judge"], meaning=meaning_of(**said))
    return [found.numbers(name, missing="allow").tolist() for name in ("human", "judge")], notes


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), ("True", "FALSE"), ("Pass", "fail "), ("correct", "Incorrect")])
def test_well_known_pairs_are_understood(yes, no):
    (human, judge), notes = read([yes, no, "", yes])
    np.testing.assert_array_equal(human, [1, 0, NAN, 1])
    np.testing.assert_array_equal(judge, [1, 0, NAN, 1])
    expected = f"words as ratings: {yes.lower()} counts as 1 and {no.strip().lower()} as 0"
    assert notes == (() if yes == "True" else (expected,))  # true and false are truth values anywhere


def test_numbers_stay_as_they_are():
    (human, judge), notes = read([1, 0, None, 1], weak=[0.3, 0.9, 0.5, 0.1])
    np.testing.assert_array_equal(human, [1, 0, NAN, 1])
    assert (judge, notes) == ([0.3, 0.9, 0.5, 0.1], ())


def test_a_positive_word_and_all_others():
    (human, _), notes = read(["Good", "ok", None, "bad"], weak=[0.1, 0.2, 0.3, 0.4], positive="good")
    np.testing.assert_array_equal(human, [1, 0, NAN, 0])
    assert notes == ("words as ratings: 'good' counts as 1 and 'bad', 'ok' as 0",)
    (human, _), _ = read(["4", "5", "2", ""], weak=[1, 2, 3, 4], positive=["4", "5"])
    np.testing.assert_array_equal(human, [1, 1, 0, NAN])


def test_a_judge_that_says_yes_or_no_is_understood_whatever_people_say():
    (human, judge), notes = read(["ok", "bad", None, "ok"], weak=["yes", "no", "no", "yes"], positive="ok")
    np.testing.assert_array_equal(human, [1, 0, NAN, 1])
    np.testing.assert_array_equal(judge, [1, 0, 0, 1])
    assert notes == (
        "words as ratings: 'ok' counts as 1 and 'bad' as 0",
        "words as ratings: yes counts as 1 and no as 0",
    )
    (_, judge), _ = read(["no", "yes"], weak=["no", "yes"], positive="no")  # what was said comes first
    np.testing.assert_array_equal(judge, [1, 0])
    (_, judge), notes = read(["ok", "bad"], weak=["fine", "poor"], positive=["ok", "fine", "great"])
    np.testing.assert_array_equal(judge, [1, 0])
    assert notes[1] == "words as ratings: 'fine' counts as 1 and 'poor' as 0"  # only words that are there
    with pytest.raises(TableError, match="name every word that counts as 1"):
        read(["ok", "bad"], weak=["fine", "poor"], positive="ok")


def test_a_scale_runs_from_the_worst_to_the_best():
    (human, judge), _ = read(["good", "ok", "", "BAD"], scale=["bad", "ok", "good"])
    np.testing.assert_array_equal(human, [1, 0.5, NAN, 0])
    np.testing.assert_array_equal(judge, human)
    (human, _), _ = read(["good", "bad", "ok", ""], scale={"bad": 0, "ok": 1, "good": 4})
    np.testing.assert_array_equal(human, [4, 0, 1, NAN])
    (human, _), _ = read([1, 5, 3.0, None], weak=[0.1, 0.2, 0.3, 0.9], scale=["1", "2", "3", "4", "5"])
    np.testing.assert_array_equal(human, [1, 5, 3, NAN])
    assert meaning_of(scale=["1", "2", "5"]).bounds == (1.0, 5.0)
    assert meaning_of(scale=["bad", "ok", "good"]).bounds == (0.0, 1.0)


def test_a_scale_as_it_is_typed():
    assert scale_in("bad, ok,good") == ["bad", "ok", "good"]
    assert scale_in("bad=0,ok=1, good = 3") == {"bad": 0.0, "ok": 1.0, "good": 3.0}
    with pytest.raises(InputError, match="needs a number, such as bad=0"):
        scale_in("bad=0,ok")


@pytest.mark.parametrize(
    ("values", "said", "words"),
    [
        (["fine", "poor"], {}, r"'fine' in row 1; say which word counts as 1 \(positive\)"),
        (["yes", "fail"], {}, "has words where ratings belong"),
        (["1", "0", "maybe"], {}, "'maybe' in row 3"),
        (["good", "okay", ""], {"scale": ["bad", "ok", "good"]}, "row 2 of t.csv has 'okay' in column 'human'"),
        ([1, 2, 6], {"scale": ["1", "2", "3"]}, r"row 3 of t.csv has '6' .* not on the scale \(1 such rows\)"),
        (["good", "bad"], {"positive": "great"}, "never says 'great'; it says 'bad', 'good'"),
        ([f"w{i}" for i in range(30)], {"positive": "w0"}, "has 29 different words"),
    ],
)
def test_refusals_name_the_row_and_what_to_type(values, said, words):
    with pytest.raises(TableError, match=words):
        read(values, **said)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"positive": "yes", "scale": ["a", "b"]}, "give one of them"),
        ({"positive": ""}, "needs a word"),
        ({"scale": ["good"]}, "two different words"),
        ({"scale": ["good", "Good"]}, "'good' is there twice"),
        ({"scale": "bad,good"}, "list of words"),
        ({"scale": {"a": 1, "b": 1}}, "not all the same"),
    ],
)
def test_what_is_said_is_checked(said, words):
    with pytest.raises(InputError, match=words):
        meaning_of(**said)
