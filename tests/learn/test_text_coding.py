"""Vectors of texts as columns: the same for every table, and small in a file."""

import json

import numpy as np

from ratewise.learn.texts import MOST_COLUMNS, TextCoding, blocks


def _vectors(seed: int, n: int, p: int) -> np.ndarray:
    return (np.random.default_rng(seed).standard_normal((n, p)) * np.linspace(3, 0.1, p) + 5.0).astype(np.float32)


def test_columns_are_centred_and_rows_have_unit_length() -> None:
    vectors = [_vectors(1, 300, 12)]
    columns = TextCoding.of(vectors).columns(vectors)
    np.testing.assert_allclose(columns.mean(axis=0), 0.0, atol=1e-5)
    assert np.isclose(np.mean(np.sum(columns.astype(float) ** 2, axis=1)), 1.0, rtol=1e-4)


def test_two_texts_have_their_product_and_difference() -> None:
    a, b = _vectors(1, 300, 6), _vectors(2, 300, 6)
    coding = TextCoding.of([a, b])
    columns = coding.columns([a, b])
    assert columns.shape == (300, 24)
    u, v = ((x - coding.mean) @ coding.turn for x in (a, b))
    for part, block in zip((u, v, u * v, np.abs(u - v)), np.split(columns, 4, axis=1), strict=True):
        assert np.corrcoef(part[:, 0], block[:, 0])[0, 1] > 0.999


def test_many_texts_share_the_room() -> None:
    vectors = [_vectors(k, 500, 300) for k in range(3)]
    assert TextCoding.of(vectors).columns(vectors).shape[1] == blocks(3) * (MOST_COLUMNS // blocks(3))


def test_a_file_gives_the_same_columns() -> None:
    vectors = [_vectors(1, 200, 8), _vectors(2, 200, 8)]
    coding = TextCoding.of(vectors).rounded()
    again = TextCoding.from_dict(json.loads(json.dumps(coding.to_dict())))
    np.testing.assert_array_equal(again.columns(vectors), coding.columns(vectors))


def test_vectors_that_do_not_vary_become_zero() -> None:
    same = np.ones((50, 4), dtype=np.float32)
    assert not TextCoding.of([same]).columns([same]).any()
