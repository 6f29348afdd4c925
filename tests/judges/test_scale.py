import pytest

from ratewise.judges.verdicts import Verdicts, from_confidence, mean_of, mixed, variance_of


@pytest.mark.parametrize(
    ("kind", "said", "value"),
    [
        ("binary", " YES ", 1.0),
        ("binary", "no", 0.0),
        ("binary", "yes, surely", None),
        ("binary", True, None),
        ("pairwise", "First", 1.0),
        ("pairwise", "second", 0.0),
        ("pairwise", "tie", 0.5),
        ("pairwise", "a", None),
        ("likert", "4", 4.0),
        ("likert", 4, 4.0),
        ("likert", 4.0, 4.0),
        ("likert", "4.5", None),
        ("likert", "6", None),
        ("score", "3.25", 3.25),
        ("score", 3.25, 3.25),
        ("score", "9", None),
        ("score", "1e0", None),
        ("score", "nan", None),
        ("score", None, None),
    ],
)
def test_a_verdict_is_exactly_a_word_of_the_scale(kind, said, value):
    assert Verdicts.of(kind, 1.0, 5.0).read(said) == value


def test_a_wide_scale_of_whole_numbers_has_no_list_of_words():
    wide = Verdicts.of("likert", 0.0, 1000.0)
    assert (wide.words, wide.read("777"), wide.read("777.5")) == ((), 777.0, None)
    assert wide.schema() == {"type": "integer"}


def test_distributions():
    chances = {1.0: 0.7, 0.0: 0.3}
    assert mean_of(chances) == pytest.approx(0.7)
    assert variance_of(chances) == pytest.approx(0.21)
    both = mixed([{1.0: 1.0}, {0.0: 1.0}])
    assert (both, variance_of(both)) == ({1.0: 0.5, 0.0: 0.5}, pytest.approx(0.25))
    assert variance_of({3.0: 1.0}) == 0.0


def test_stated_confidence_leaves_the_rest_to_the_others():
    likert = Verdicts.of("likert", 1.0, 5.0)
    found = from_confidence(likert, 4.0, 0.6)
    assert found[4.0] == 0.6
    assert found[1.0] == pytest.approx(0.1)
    assert sum(found.values()) == pytest.approx(1.0)
    assert from_confidence(Verdicts.of("score", 0.0, 10.0), 4.0, 0.6) == {4.0: 1.0}
