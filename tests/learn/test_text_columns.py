"""Rows of one shared matrix."""

import json

import numpy as np
import pytest

from ratewise.errors import InputError
from ratewise.learn.covariates import TextColumns


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
