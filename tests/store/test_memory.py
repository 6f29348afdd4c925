"""The queue in memory does with questions and money just what the store does."""

from dataclasses import dataclass

import numpy as np
import pytest

from ratewise.store import audit
from ratewise.store.memory import MemoryQueue
from ratewise.store.queue import NewBatch, NewDraws, Outcome
from ratewise.store.store import Store

ITEMS, STEPS = 40, 2


@dataclass
class Both:
    """Every call goes to both queues; what they return must be the same."""

    store: Store
    memory: MemoryQueue

    def __getattr__(self, name):
        def call(*args, **keys):
            ours, theirs = (getattr(queue, name)(*args, **keys) for queue in (self.memory, self.store))
            assert same(ours, theirs), name
            return theirs

        return call


def same(a, b):
    if isinstance(a, list):
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    if hasattr(a, "attempt"):
        return (a.position, a.step, a.attempt) == (b.position, b.step, b.attempt)
    if isinstance(a, Outcome):
        return same(a.claim, b.claim) and (a.paid, a.value, a.again) == (b.paid, b.value, b.again)
    return a == b


@pytest.fixture
def both(tmp_path):
    rng = np.random.default_rng(5)
    uniform, numbers = rng.random(ITEMS), rng.random((ITEMS, 3))
    store = Store.at("q.sqlite", str(tmp_path), "q")
    rows = [(p, str(p), float(uniform[p]), numbers[p].astype("<f8").tobytes(), None, "{}") for p in range(ITEMS)]
    store.begin({"spec": "{}"}, rows)
    yield Both(store, MemoryQueue(uniform, later_raters=STEPS, numbers=numbers))
    store.close()


def agree(both):
    """All that is kept, read back."""
    store, memory = both.store, both.memory
    rows, ours = store.item_rows(0, ITEMS, STEPS), memory.item_rows(0, ITEMS, STEPS)
    for name in rows.__slots__:
        np.testing.assert_array_equal(getattr(rows, name), getattr(ours, name))
    ledger = [(r.kind, r.position, r.step, r.attempt, r.amount) for r in audit.ledger_rows(store, 0, ITEMS)]
    assert memory.ledger == ledger
    for r in audit.rating_rows(store, 0, ITEMS):
        assert memory.states[r.position, r.step] == r.state
        assert memory.workers[r.position, r.step] == (r.worker or 0)
    both.totals()
    both.rounds()
    for position in (0, 7, ITEMS):
        both.settled_before(position)
        both.failed_before(position)
    for before in (7, None):
        assert sum(store.open_by_step(before).values()) == sum(memory.open_by_step(before).values())
    both.batches(1)


def outcomes(claims, rng):
    """Answers, and ratings that will not come."""
    out = []
    for c in claims:
        paid, known = int(rng.integers(0, 20)), rng.random() < 0.7
        said = Outcome(c, paid, float(rng.random()), doubt=float(rng.random()))
        out.append(said if known else Outcome(c, paid, note="cannot tell"))
    return out


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("budget", [None, 1500, 1100])
def test_rounds_claims_and_the_cap(both, seed, budget):
    rng = np.random.default_rng(seed)
    both.open_round(1, 0, '{"policy": "any"}')
    worst = rng.integers(1, 12, (ITEMS, STEPS + 1))
    at = 0
    for end in (10, 25, ITEMS):
        here = worst[at:end]
        weak = here[:, 0] if seed % 2 else None
        hold = int(here[:, 1:].sum())
        if both.take_up(NewBatch(1, at, end, int(here.sum()), hold, weak), budget):
            agree(both)
            ask(both, rng, budget, 0)
            selected = rng.random((end - at, STEPS)) < 0.6
            costs = ((at, int((here[:, 1:] * selected).sum())),)
            rates = rng.random((end - at, STEPS))
            both.draw(NewDraws(1, at, rates, selected, here[:, 1:], hold, costs, 0.5 if end == ITEMS else None))
            agree(both)
        for step in (1, 2):
            ask(both, rng, budget, step)
        at = end
    both.claim(5, 1, 2)
    both.give_up("nobody comes")
    agree(both)
    both.set_meta("ended", "so")
    assert both.meta("ended") == "so"
    both.set_meta("ended", None)
    assert both.meta("ended") is None
    both.close_round(1, ITEMS)
    agree(both)


def ask(both, rng, budget, step):
    for worker in (3, 4, 3):
        claims = both.claim(worker, step, int(rng.integers(1, 9)))
        said = outcomes(claims, rng)
        both.settle(said, budget)
        both.settle(said, budget)  # what was settled stays so
        agree(both)


def test_everyone_answers_at_once():
    """Each open question at the price reserved; NaN is a rating that will not come."""
    queue = MemoryQueue(np.linspace(0, 1, 5), later_raters=1)
    queue.open_round(1, 0, "{}")
    queue.take_up(NewBatch(1, 0, 4, 48, 40, np.array([2, 2, 2, 2])), None)
    ratings = np.array([[0.1, 1.0], [0.2, np.nan], [0.3, 0.0], [np.nan, 1.0], [0.5, 1.0]])
    queue.answer_all(ratings)
    assert queue.totals() == (40, 8)
    selected = np.array([[True], [True], [False], [True]])
    queue.draw(NewDraws(1, 0, np.full((4, 1), 0.5), selected, np.full((4, 1), 10), 40, ((0, 38),), None))
    assert queue.totals() == (30, 8)
    queue.answer_all(ratings)
    assert queue.totals() == (0, 38)
    assert not any(queue.open_by_step().values())
    rows = queue.item_rows(0, 5, 1)
    np.testing.assert_array_equal(rows.values[:, 1], [1.0, np.nan, np.nan, 1.0, np.nan])
    np.testing.assert_array_equal(rows.values[:, 0], [0.1, 0.2, 0.3, np.nan, np.nan])


def test_rounds_that_overlap_close_in_their_order(both):
    """The first one closes as soon as its own answers are in, whatever the second one waits for."""
    for number, first in ((1, 0), (2, 10)):
        both.open_round(number, first, "{}")
        both.take_up(NewBatch(number, first, first + 10, 100, 100, None), None)
        some, prices = np.eye(10, STEPS, dtype=np.bool_), np.full((10, STEPS), 10)
        both.draw(NewDraws(number, first, np.ones((10, STEPS)), some, prices, 100, ((first, 20),), None))
    agree(both)
    assert not both.close_round(1, 10)
    for step in (1, 2):
        claims = both.claim(3, step, 1)
        both.settle([Outcome(claim, 10, 1.0) for claim in claims], None)
    agree(both)
    assert not both.close_round(2, 10)
    assert both.close_round(1, 10)
    agree(both)
