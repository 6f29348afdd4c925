"""Words as ratings in a campaign: the same estimate as with their numbers, kept in the store, refused off the scale."""

import json

import numpy as np
import pytest

from ratewise.campaign.spec.read import read_spec, spec_of
from ratewise.errors import SpecError
from ratewise.raters.scale import RatingScale
from ratewise.tables.words import meaning_of

from .making import judged, ran, write


def spoken(columns, words):
    return {**columns, "human": [words[int(x)] for x in columns["human"]]}


def test_a_positive_word_gives_what_its_numbers_give(tmp_path):
    columns = judged(400)
    plain = ran(tmp_path / "a", columns).estimate()
    words = spoken(columns, ("Wrong", "Fine"))
    found = ran(tmp_path / "b", words, rating='kind = "binary"\npositive = "fine"').estimate()
    assert (found.value, found.interval, found.labels) == (plain.value, plain.interval, plain.labels)


def test_a_scale_of_words(tmp_path):
    columns = judged(300)
    judge = np.array(columns["judge"])
    three = {**columns, "human": np.select([judge > 0.8, judge > 0.5], ["good", "ok"], "bad").tolist()}
    numbers = {**columns, "human": np.select([judge > 0.8, judge > 0.5], [1.0, 0.5], 0.0).tolist()}
    found = ran(tmp_path / "a", three, rating='kind = "score"\nscale = ["bad", "ok", "good"]').estimate()
    same = ran(tmp_path / "b", numbers, rating='kind = "score"\nlow = 0\nhigh = 1').estimate()
    assert (found.value, found.interval) == (same.value, same.interval)


@pytest.mark.parametrize(
    "rating",
    ['kind = "binary"\npositive = ["good", "great"]', 'kind = "score"\nscale = { bad = 0, ok = 1, good = 4 }'],
)
def test_the_store_keeps_what_words_mean(tmp_path, rating):
    path = write(tmp_path, judged(20), rating=rating)
    spec = read_spec(path)
    assert spec_of(json.loads(json.dumps(spec.to_dict())), path) == spec


def test_a_word_off_the_scale_is_no_rating():
    scale = RatingScale("score", words=meaning_of(scale=["bad", "ok", "good"]).scale)
    assert [scale.strong(word) for word in ("Bad", " ok ", "good", 0.5)] == [0.0, 0.5, 1.0, 0.5]
    with pytest.raises(ValueError, match="expected one of bad, ok, good"):
        scale.strong("fine")
    with pytest.raises(ValueError, match="expected one of"):
        scale.strong(0.7)
    yes = RatingScale("binary", positive=meaning_of("good").positive)
    assert [yes.strong(word) for word in ("good", "poor", True)] == [1.0, 0.0, 1.0]
    assert yes.weak("0.7") == 0.7
    with pytest.raises(ValueError, match="binary rating"):
        yes.strong("")


@pytest.mark.parametrize(
    ("rating", "words"),
    [
        ('kind = "score"\npositive = "good"\nlow = 0\nhigh = 1', 'rating.positive is for kind = "binary"'),
        ('kind = "binary"\nscale = ["bad", "good"]', 'rating.scale is for kind = "score"'),
        ('kind = "score"\nscale = ["bad", "bad"]', "rating.scale cannot be used: a scale needs two different words"),
        ('kind = "score"\nscale = ["bad", "good"]\nlow = 0', "rating.low is said by the scale of words already"),
        ('kind = "binary"\npositive = 3', "rating.positive must be a word that counts as 1, or a list of them"),
    ],
)
def test_mistakes(tmp_path, rating, words):
    with pytest.raises(SpecError) as error:
        read_spec(write(tmp_path, judged(20), rating=rating))
    assert words in str(error.value)
