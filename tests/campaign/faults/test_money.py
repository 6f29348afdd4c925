"""Prices that are known only afterwards, lost calls, and the budget as a hard cap."""

import random
import time
from contextlib import contextmanager
from decimal import Decimal

import pytest

from ratewise.errors import OutsideError, RaterDownError, StoreError
from ratewise.raters.protocol import Answer, Failure
from ratewise.store import ledger as sql
from ratewise.store.money import to_units
from ratewise.store.store import Store

from .world import World, one_line, raters, start, until


def test_cheaper_than_reserved(world):
    """What was not spent is free again."""
    world.write(more='max_price = "2"', goal='budget = "90"')
    assert world.run(lambda item, key: Answer(item["human"], Decimal("0.3")))
    status = world.check(budget=90)
    assert set(world.ledger("reserve").values()) == {to_units(Decimal(2))}
    assert set(world.ledger().values()) == {to_units(Decimal("0.3"))}
    assert not world.notes()
    assert status.reserved == 0


def test_dearer_than_reserved(world):
    """However many calls are under way and however often it is run, the cap is never passed."""
    for _ in range(3):
        with pytest.raises(OutsideError, match="in dispute") as caught:
            world.run(lambda item, key: Answer(item["human"], Decimal(3)))
        assert not isinstance(caught.value, StoreError)
        one_line(caught.value)
        world.check()
    assert set(world.ledger().values()) == {to_units(Decimal(1))}
    assert sum("charged 3.00 for item" in note for note in world.notes()) == len(world.ledger())
    assert world.run() in {"every item has been looked at", "the budget is spent"}
    world.check()


def test_lost_calls_count_as_paid(world):
    """A killed process's calls are paid at what they could have cost, and asked again as another attempt."""
    world.write(more='max_price = "2"\nfailed_price = 0\nlost_calls = "count as paid"', goal='budget = "90"')
    raters(world, """\
        def rate(item, key):
            note("asked", key)
            if next(count) > 6:
                time.sleep(30)
            note("answered", key)
            return item["human"]
        """)  # fmt: skip
    process = start(world)
    until(process, lambda: len(world.noted("asked")) >= 10)
    process.kill()
    process.communicate()
    lost = set(world.noted("asked")) - set(world.noted("answered"))
    assert len(lost) == 4
    assert world.run()
    world.check(budget=90)
    paid = world.ledger()
    assert {paid[key] for key in lost} == {to_units(Decimal(2))}
    assert {key[:-1] + "2" for key in lost} <= paid.keys()


@contextmanager
def capped(budget):
    """After every transaction that writes, what is spent and promised is within the budget."""
    writing = Store.writing
    worst = []

    @contextmanager
    def checked(self):
        with writing(self) as connection:
            yield connection
            reserved, spent = sql.totals(connection)
            assert reserved >= 0
            assert spent >= 0
            assert reserved + spent <= budget, f"{reserved + spent} above {budget}"
            worst.append(reserved + spent)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "writing", checked)
        yield worst


@pytest.mark.parametrize("seed", [*range(4), *(pytest.param(n, marks=pytest.mark.soak) for n in range(4, 10))])
def test_budget_is_a_hard_cap(tmp_path, seed):
    """Random campaigns whose rater fails, is cheap or skips: every transaction keeps the cap, and nothing is lost."""
    rng = random.Random(seed)
    most, failed = Decimal(rng.randint(10, 30)) / 10, rng.choice([0, 1, None])
    budget = Decimal(rng.randint(80, 400)) / 10
    more = f"max_price = {most}\nattempts = {rng.randint(1, 4)}\n" + (
        "" if failed is None else f"failed_price = {failed}"
    )
    human = f'kind = "python"\nfunction = "RATER:rate"\nconcurrency = {rng.randint(1, 8)}\nbatch = {rng.randint(1, 3)}'
    world = World(tmp_path / "c", seed=seed, goal=f'budget = "{budget}"', more=more, items=rng.randint(20, 80))
    world.write(human=human.replace("RATER", world.module))
    share, costs = rng.choice([0.05, 0.3, 0.6]), {}

    def rate(item, key):
        luck = random.Random(f"{seed} {key}")
        time.sleep(luck.random() * 0.002)
        cost = costs[key] = min(Decimal(luck.randint(0, int(most * 10))) / 10, most)
        if luck.random() < share:
            return Failure("unlucky", cost)
        return Answer(None if luck.random() < 0.1 else item["human"], cost)

    reason = None
    with capped(to_units(budget)) as totals:
        for _ in range(30):
            try:
                reason = world.run(rate)
                break
            except RaterDownError:
                continue
    assert reason, "it does not come to an end"
    assert totals
    world.check(budget=budget)
    assert world.ledger() == {key: to_units(cost) for key, cost in costs.items()}
