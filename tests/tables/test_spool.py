"""Numbers on the disk: what was put in comes back, and what is there twice is found."""

import os

import numpy as np

from ratewise.tables.relation import Spool


def test_columns_come_back_a_part_at_a_time(tmp_path):
    x = np.random.default_rng(1).random((2, 2500))
    with Spool(str(tmp_path)) as spool:
        for start in range(0, 2500, 1000):
            spool.append({"a": x[0, start : start + 1000], "b": x[1, start : start + 1000]})
        found = spool.read(1990, 20)
        np.testing.assert_array_equal(found["b"], x[1, 1990:2010])
        assert spool.rows == 2500
        np.testing.assert_array_equal(np.concatenate([rows["a"] for rows in spool.batches()]), x[0])
    assert os.listdir(tmp_path) == []


def test_numbers_that_are_there_twice_are_found(tmp_path):
    x = np.random.default_rng(2).random(10_000)
    with Spool(str(tmp_path)) as spool:
        spool.put(x[:6000])
        assert spool.repeated().size == 0
        spool.put(np.r_[x[6000:], x[[17, 9000, 17]], 0.0, 1 - 2**-52])
        assert spool.repeated().tolist() == sorted(x[[17, 9000]])
