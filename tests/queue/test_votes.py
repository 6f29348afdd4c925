"""One rating of several answers: always one that somebody gave, and none where nobody can tell."""

import pytest

from ratewise.queue.votes import Verdict, Vote, median_of, one_answer


def votes(*values):
    return [Vote(f"p{i}", value) for i, value in enumerate(values)]


def test_one_answer_settles():
    assert one_answer([]) is None
    assert one_answer(votes(0.0)) == Verdict(0.0)
    assert one_answer(votes(None, 1.0)) == Verdict(None)


@pytest.mark.parametrize(
    ("k", "values", "verdict"),
    [
        (1, (1.0,), Verdict(1.0)),
        (3, (1.0, 0.0), None),
        (3, (1.0, 0.0, 1.0), Verdict(1.0)),
        (3, (0.0, 5.0, 4.0), Verdict(4.0)),
        (2, (1.0, 2.0), Verdict(1.0)),
        (3, (None, 1.0, None), Verdict(1.0)),
        (3, (None, None, None), Verdict(None)),
        (2, (3.0, 1.0, 2.0), Verdict(2.0)),
    ],
)
def test_the_median_of_so_many(k, values, verdict):
    assert median_of(k)(votes(*values)) == verdict
