"""Refits are written once, whole, and into the record."""

import numpy as np
import pytest

from ratewise.errors import StoreError
from ratewise.store.memory import MemoryQueue
from ratewise.store.queue import Refit
from ratewise.store.replay import check_record

SAID = np.random.default_rng(1).random(10)


def test_a_refit_is_read_as_it_was_kept_and_only_once(store):
    memory = MemoryQueue(np.zeros(10), later_raters=1)
    for queue in (store, memory):
        assert queue.keep_refit(Refit(2, 100, SAID))
        assert not queue.keep_refit(Refit(2, 100, 1 - SAID))
        assert queue.keep_refit(Refit(3, 150, SAID / 2))
        assert queue.refit_rounds() == [2, 3]
        found = queue.refit(2)
        assert (found.round, found.labels) == (2, 100)
        np.testing.assert_array_equal(found.predictions, SAID.astype(np.float32))
    assert check_record(store).problems == []


def test_one_that_is_not_whole_is_told(store):
    store.keep_refit(Refit(1, 100, SAID))
    with store.writing() as connection:
        connection.exec_driver_sql("DROP TRIGGER guard_refits_update")
        connection.exec_driver_sql("UPDATE refits SET predictions = 'x'")
    with pytest.raises(StoreError, match="refit after round 1 is not whole"):
        store.refit(1)
    assert any("refits, round 1" in said for said in check_record(store).problems)
