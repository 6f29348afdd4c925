"""One rating of several answers: the median, of an even split the mean, and none where nobody can tell."""

import pytest

from ratewise.store.desk import Vote, decided_by, median_of, name_key, one_answer


def votes(*values):
    return [Vote(f"p{i}", value) for i, value in enumerate(values)]


def test_one_answer_settles():
    assert one_answer([]) is None
    assert one_answer(votes(0.0)) == (0.0,)
    assert one_answer(votes(None, 1.0)) == (None,)


@pytest.mark.parametrize(
    ("k", "values", "verdict"),
    [
        (1, (1.0,), (1.0,)),
        (3, (1.0, 0.0), None),
        (3, (1.0, 0.0, 1.0), (1.0,)),
        (3, (0.0, 5.0, 4.0), (4.0,)),
        (2, (1.0, 2.0), (1.5,)),
        (2, (1.0, 0.0), (0.5,)),
        (2, (0.0, 1.0), (0.5,)),
        (3, (1.0, None, 0.0), (0.5,)),
        (4, (5.0, 1.0, 4.0, 1.0), (2.5,)),
        (3, (None, 1.0, None), (1.0,)),
        (3, (None, None, None), (None,)),
        (2, (3.0, 1.0, 2.0), (2.0,)),
    ],
)
def test_the_median_of_so_many(k, values, verdict):
    assert median_of(k)(votes(*values)) == verdict


def test_capitals_and_spaces_make_nobody_else():
    assert len({name_key(name) for name in ("Ben", "ben", "BEN ", "ｂｅｎ")}) == 1
    assert name_key("Ben") != name_key("Bea")
    split = [Vote("ann", 1.0), Vote("bob", 0.0), Vote("EVE", 0.0)]
    assert decided_by(2, "Eve")(split[:2]) is None
    assert decided_by(2, "Eve")(split) == (0.0,)
