"""Hashed words."""

import numpy as np

from ratewise.learn.texts import BUCKETS, grams, hashed


def test_words_pairs_and_parts() -> None:
    assert set(grams("To be")) == {"to", "be", "to be", "#<to", "#to>", "#<to>", "#<be", "#be>", "#<be>"}


def test_rows_have_length_one_and_do_not_hang_on_neighbours() -> None:
    both, alone = hashed(["the cat sat", "a dog ran"]), hashed(["a dog ran"])
    assert both.shape == (2, BUCKETS)
    np.testing.assert_allclose(np.linalg.norm(both, axis=1), 1.0)
    np.testing.assert_array_equal(both[1], alone[0])


def test_related_words_share_something() -> None:
    one, related, other = hashed(["politeness", "politely", "xylophone"])
    assert one @ related > 0.3 > one @ other


def test_an_empty_text_is_zero() -> None:
    assert not hashed([""]).any()
