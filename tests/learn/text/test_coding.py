"""Vectors of texts as columns: the same for every table, and small in a file."""

import json

import numpy as np
import pytest

from ratewise.errors import InputError
from ratewise.learn.covariates import TextColumns
from ratewise.learn.texts import BUCKETS, MOST_COLUMNS, TextCoding, blocks, grams, hashed


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


def test_items_are_row_numbers_and_the_matrix_is_never_copied() -> None:
    matrix = np.arange(12, dtype=np.float32).reshape(6, 2)
    text = TextColumns.of(matrix)
    some = text[np.array([4, 1])].joined(text[slice(0, 1)])
    assert some.matrix is matrix
    np.testing.assert_array_equal(some.dense(), matrix[[4, 1, 0]])


def test_products_are_the_same_for_few_and_for_many_items() -> None:
    matrix = np.random.default_rng(1).standard_normal((50, 3)).astype(np.float32)
    text, line = TextColumns.of(matrix), np.array([1.0, -2.0, 0.5])
    many = text[np.tile(np.arange(50), 3)]
    np.testing.assert_allclose(many.times(line), many.dense() @ line, rtol=1e-12)
    few = text[np.array([7, 7, 2])]
    np.testing.assert_allclose(few.times(line), few.dense() @ line, rtol=1e-12)
    assert not few.times(np.zeros(3)).any()


def test_rows_that_were_read_apart_are_put_together() -> None:
    one, more = (TextColumns.of(np.full((3, 2), k, dtype=np.float32)) for k in (1, 2))
    both = one[np.array([2])].joined(more[np.array([0, 1])])
    np.testing.assert_array_equal(both.dense()[:, 0], [1, 2, 2])


def test_texts_of_two_tables_do_not_mix() -> None:
    one, other = (TextColumns.of(np.zeros((2, width), dtype=np.float32)) for width in (2, 3))
    with pytest.raises(InputError, match="two tables"):
        one.joined(other)


def test_rows_come_back_bit_for_bit_from_json() -> None:
    columns = TextColumns.of(np.random.default_rng(2).standard_normal((6, 3)))[np.array([4, 0, 4])]
    again = TextColumns.from_dict(json.loads(json.dumps(columns.to_dict())))
    np.testing.assert_array_equal(again.dense(), columns.dense())
    assert (again.columns, again.index.size) == (3, 3)


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
