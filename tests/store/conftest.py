"""A store with ten items in it, in a file of its own."""

import numpy as np
import pytest

from ratewise.store.store import Store


@pytest.fixture
def store(tmp_path):
    made = Store.at("q.sqlite", str(tmp_path), "q")
    numbers = np.arange(20.0).reshape(10, 2)
    rows = [(p, f"i{p}", p / 10, numbers[p].astype("<f8").tobytes(), None, '{"n": 1}') for p in range(10)]
    made.begin({"spec": "{}"}, rows)
    yield made
    made.close()


@pytest.fixture
def asked(store):
    """The same with questions: four weak ones at a price of 3, and money of 8 held."""
    from ratewise.store.queue import NewBatch

    store.open_round(1, 0, "{}")
    assert store.take_up(NewBatch(1, 0, 4, cost=20, hold=8, weak=np.full(4, 3)), budget=100)
    return store
