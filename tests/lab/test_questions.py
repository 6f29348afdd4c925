"""The study of other questions: every row answers, by a stated seed, and notices what is broken."""

from itertools import groupby

import numpy as np
import pytest
from studies.questions import Question, questions, run, systems_table

FIRST = [next(rows) for _, rows in groupby(questions(), key=lambda q: q.kind)]


@pytest.mark.parametrize("question", FIRST, ids=lambda q: q.kind)
def test_every_kind_answers_and_repeats_itself(question):
    held = run(question, trials=5, seed=1)
    assert held == run(question, trials=5, seed=1)
    assert held.trials == 5
    assert set(held.covered) == set(held.width)
    named = {"clusters ignored"}
    assert all(0.5 <= share <= 1 for name, share in held.covered.items() if name not in named)
    assert all(width > 0 for width in held.width.values())


def test_worlds_have_names_of_their_own():
    names = [(q.kind, q.world) for q in questions()]
    assert len(names) == len(set(names))


def test_an_interval_that_misses_is_counted():
    miss = Question("made", "up", lambda rng: {"low": (0.0, 0.1, rng.random()), "all": (0.0, 1.0, 0.5)})
    held = run(miss, trials=400, seed=3)
    assert 0.05 < held.covered["low"] < 0.16
    assert held.covered["all"] == 1
    assert held.width == {"low": pytest.approx(0.1), "all": pytest.approx(1.0)}


@pytest.mark.parametrize("judge", ["calibrated", "useless"])
def test_systems_have_the_means_and_the_number_of_labels_asked_for(judge):
    table = systems_table(np.random.default_rng(5), (0.9, 0.6), 400, judge, items=200_000)
    assert table["gA"].mean() == pytest.approx(0.9, abs=0.005)
    assert table["rate"].sum() == pytest.approx(400, abs=1)
    assert np.count_nonzero(~np.isnan(table["hA"])) == pytest.approx(400, abs=80)
    known = ~np.isnan(table["hB"])
    likely = np.corrcoef(table["gB"][known], table["hB"][known])[0, 1]
    assert (likely > 0.2) == (judge == "calibrated")
