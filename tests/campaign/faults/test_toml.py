"""The TOML is changed in mid-campaign: what may change is taken, the rest refused with the reason."""

import threading

import pytest

from ratewise.errors import InputError

from .world import BUDGET, World, kept, one_line, same


def interrupted(world, answers=12):
    """A campaign that was stopped in the middle."""
    kept(world, answers)
    assert world.open().status().labels > 0


def stored(world):
    with world.log() as store:
        return (
            {key: store.meta(key) for key in ("spec", "goal changed", "ended", "digest")},
            store.totals(),
            store.notes(),
        )


def test_budget_up(tmp_path):
    """It is taken, and said; the interval is then the one that may be looked at again and again."""
    world = World(tmp_path / "c", goal='budget = "12"', items=700)
    assert world.run() == "the budget is spent"
    assert "anytime" not in world.open().estimate().interval_method
    before = world.open().status()
    world.write(goal='budget = "36"')
    assert world.run()
    status = world.check(budget=36)
    assert status.labels > before.labels
    assert "anytime" in world.open().estimate().interval_method
    assert any("goal.budget from 12 to 36" in note for note in world.notes())


def test_budget_down(world):
    """Down to what is spent or promised, not below."""
    interrupted(world)
    before = stored(world)
    world.write(goal='budget = "2"')
    for act in (world.open, world.run):
        with pytest.raises(InputError, match=r"below the .* spent or promised") as caught:
            act()
        assert one_line(caught.value)
    world.write(goal=f'budget = "{BUDGET}"')
    assert stored(world) == before


def test_concurrency_is_taken(world, calm):
    interrupted(world)
    most, lock, now, all_in = [0], threading.Lock(), [0], threading.Event()

    def rate(item, key):
        with lock:
            now[0] += 1
            most[0] = max(most[0], now[0])
            if now[0] >= 7:
                all_in.set()
        all_in.wait(2)  # the first ones, for each other
        with lock:
            now[0] -= 1
        return item["human"]

    world.write(human=world.human.replace("concurrency = 4", "concurrency = 7"))
    assert world.run(rate) == "every item has been looked at"
    assert most[0] == 7
    assert any("concurrency from 4 to 7" in note for note in world.notes())
    world.check()
    assert same(world, calm)


CHANGES = {
    "seed": (lambda text: text.replace("seed = 3", "seed = 4"), "the draws would be others"),
    "scale": (lambda text: text.replace('kind = "binary"', 'kind = "score"\nlow = 0\nhigh = 1'), "old kind"),
    "table": (lambda text: text.replace('"items.csv"', '"other.csv"'), "items were drawn from the table"),
    "price": (lambda text: text.replace('price = "1"', 'price = "2"'), "chosen and paid for at the old price"),
    "max_price": (lambda text: text.replace('price = "1"', 'price = "1"\nmax_price = "2"'), "what they could cost"),
    "raters": (lambda text: text.replace('"human"', '"expert"'), "belong to the old ones"),
    "method": (lambda text: 'method = "base"\n' + text, "followed the old one"),
}


def test_what_would_invalidate_is_refused(world, calm):
    interrupted(world)
    before, text = stored(world), world.toml.read_text()
    for edit, reason in CHANGES.values():
        world.toml.write_text(edit(text))
        assert world.toml.read_text() != text
        for act in (world.open, world.run):
            with pytest.raises(InputError, match=reason) as caught:
                act()
            assert "Undo that" in one_line(caught.value)
    world.toml.write_text(text)
    assert stored(world) == before
    assert world.run() == "every item has been looked at"
    assert same(world, calm)


def test_items_may_not_change(world, calm):
    interrupted(world)
    table, before = world.folder / "items.csv", stored(world)
    text = table.read_text()
    table.write_text(text.replace("i7,", "i777,"))
    for act in (world.open, world.run):
        with pytest.raises(InputError, match=r"items\.csv has changed"):
            act()
    table.write_text(text)
    assert stored(world) == before
    table.unlink()  # everything is in the store
    assert world.run() == "every item has been looked at"
    assert same(world, calm)
