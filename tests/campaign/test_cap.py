"""The cap is in the database, and every purchase is compared with it there: lowering it stops workers that run."""

import threading
from decimal import Decimal

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError
from ratewise.store.money import to_units
from ratewise.store.store import Store

from .faults.world import World, after


def lowered(world, budget):
    """Another process with a smaller budget in its TOML comes by, as on a second machine."""
    other = world.toml.with_name("other.toml")
    text = world.toml.read_text().replace('budget = "100"', f'budget = "{budget}"')
    other.write_text(f'name = "c"\n{text}')
    Campaign.open(other).begin()


@pytest.mark.parametrize("call", [3, 30])
def test_a_budget_lowered_while_a_worker_runs_is_kept(database, tmp_path, call):
    world = World(tmp_path / "c", store=database, goal='budget = "100"', items=400)
    found = []

    def lower():
        with world.log() as store:
            bound = sum(store.totals())
        budget = bound // 10**9 + 2
        found.append(budget)
        lowered(world, budget)

    assert world.run(after(call, lower))
    with world.log() as store:
        assert sum(store.totals()) <= to_units(Decimal(found[0]))
        assert store.totals()[1] > 0


def test_a_budget_below_what_is_bound_is_refused_by_the_statement(database, tmp_path):
    world = World(tmp_path / "c", store=database, goal='budget = "30"')
    world.run()
    with world.log() as store:
        assert not store.set_cap(to_units(Decimal(5)), was=to_units(Decimal(30)))
        assert store.set_cap(to_units(Decimal(30)), was=to_units(Decimal(30)))
    world.write(goal='budget = "5"')
    with pytest.raises(InputError, match="raise it"):
        world.open()


def test_only_one_of_many_gets_the_last_money(tmp_path):
    world = World(tmp_path / "c")
    world.open().begin()
    with world.log() as store, store.writing() as connection:
        from ratewise.store import ledger as sql

        sql.set_cap(connection, 10, was=None)
    store = Store.at("c.sqlite", str(world.folder), "c")
    won = []

    def spend():
        with store.writing() as connection:
            won.append(sql.reserve(connection, 6, None))

    threads = [threading.Thread(target=spend) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == [False, False, False, True]
    store.close()
