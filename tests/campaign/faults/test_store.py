"""The database goes away or is damaged, two processes want it, clocks jump: a clear state, and it goes on."""

import os
import random
import sqlite3
import threading
from contextlib import closing
from datetime import UTC, datetime, timedelta

import pytest

from ratewise.campaign.engine import Engine
from ratewise.errors import InputError, StoreError

from .world import BUDGET, World, after, ended, kept, one_line, raters, same, start


def test_database_gone_and_back(own_server, tmp_path, calm):
    """A crash of the server while it runs; within the patience it goes on by itself."""
    world = World(tmp_path / "c", store=own_server.url)

    def crash():
        own_server.stop("immediate")
        threading.Timer(1.0, own_server.start).start()

    assert world.run(after(7, crash), patience=30) == "every item has been looked at"
    world.check()
    assert same(world, calm)


def test_database_gone_for_longer(own_server, tmp_path, calm):
    """The run gives up with everything kept; a run while it is away says so; then it goes on."""
    world = World(tmp_path / "c", store=own_server.url)
    with pytest.raises(StoreError) as caught:
        world.run(after(7, lambda: own_server.stop("immediate")), patience=0.5)
    assert "run again to go on" in one_line(caught.value)
    assert world.unsaved.exists()
    with pytest.raises(StoreError) as caught:
        world.open()
    assert one_line(caught.value)
    own_server.start()
    assert world.run() == "every item has been looked at"
    world.check()
    assert same(world, calm)


def test_garbage_in_the_header(world):
    kept(world, 10)
    good = world.file.read_bytes()
    world.file.write_bytes(os.urandom(100) + good[100:])
    for act in (world.open, world.run):
        with pytest.raises(StoreError, match="damaged") as caught:
            act()
        assert "backup" in one_line(caught.value)
    world.file.write_bytes(good)
    assert world.run() == "every item has been looked at"
    world.check()


def checkpointed(world):
    """The whole store in one file, and its bytes."""
    kept(world, 10)
    world.unsaved.unlink()
    connection = sqlite3.connect(world.file)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()
    return world.file.read_bytes()


def looks(world):
    """Everything that reads the store; whether each was fine or refused in one line."""
    outcomes = []
    for act in (
        lambda: world.open().status(), lambda: world.open().estimate(), lambda: world.open().verify().passed, world.run,
    ):  # fmt: skip
        try:
            outcomes.append(act())
        except StoreError as error:
            outcomes.append(one_line(error))
    return outcomes


def test_garbage_in_the_middle(world):
    """Never a traceback, wherever it is; in the page of the facts, which everyone reads, all say that it is damaged."""
    good = checkpointed(world)
    with closing(sqlite3.connect(world.file)) as connection:
        (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'meta'").fetchone()
    rng = random.Random(5)
    places = [(4096 * rng.randrange(1, len(good) // 4096), size) for size in (64, 64, 64, 1024, 4096)]
    for page, size in (*places, (4096 * (root - 1), 4096)):
        at = page + rng.randrange(4097 - size)
        for path in world.folder.glob("c.sqlite*"):
            path.unlink()
        (world.folder / "c.head.json").unlink(missing_ok=True)  # the run before went on, and this is an older copy
        world.file.write_bytes(good[:at] + rng.randbytes(size) + good[at + size :])
        found = looks(world)
    assert all("damaged" in str(look) for look in found)


@pytest.mark.parametrize("part", [0.3, 0.9])
def test_truncated_file(world, calm, part):
    good = checkpointed(world)
    world.file.write_bytes(good[: int(len(good) * part)])
    assert all("damaged" in str(found) for found in looks(world))
    world.file.write_bytes(good)
    assert world.run() == "every item has been looked at"
    assert same(world, calm)


def test_empty_file(world, calm):
    """Nothing is there yet."""
    world.file.touch()
    with pytest.raises(InputError, match="has not begun"):
        world.open().status()
    assert world.run() == "every item has been looked at"
    world.check()
    assert same(world, calm)


@pytest.mark.parametrize("table", ["people (name)", "meta (key, value)", "meta (name)"])
def test_another_database(world, table):
    """It is somebody's, so it is left alone."""
    connection = sqlite3.connect(world.file)
    connection.execute(f"CREATE TABLE {table}")
    connection.commit()
    connection.close()
    before = world.file.read_bytes()
    for act in (world.open, world.run):
        with pytest.raises(InputError, match="no campaign") as caught:
            act()
        assert one_line(caught.value)
    assert world.file.read_bytes()[100:] == before[100:]


def test_two_processes_on_one_file(world, calm):
    """The second run is refused and changes nothing; looking works meanwhile."""
    seen = []

    def look():
        world.write(goal='budget = "41"')
        with pytest.raises(StoreError, match="another process is running") as caught:
            world.open().run()
        seen.append(one_line(caught.value))
        world.write(goal=f'budget = "{BUDGET}"')
        campaign = world.open()
        assert campaign.status().labels > 0
        assert campaign.verify().passed
        campaign.estimate()
        raters(world, "def rate(item, key): raise SystemExit")
        seen.append(ended(start(world), 3))

    assert world.run(after(30, look)) == "every item has been looked at"
    assert len(seen) == 2
    assert "another process is running" in seen[1]
    assert not world.notes()
    world.check()
    assert same(world, calm)


def test_clock_jumps_back(world, calm, monkeypatch):
    """Every look at it an hour earlier; nothing hangs on it."""
    times = iter(range(1_000_000))

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return datetime(2020, 1, 1, tzinfo=tz) - timedelta(hours=next(times))

    monkeypatch.setattr("ratewise.store.queue.datetime", Clock)
    monkeypatch.setattr("ratewise.campaign.engine.datetime", Clock)
    world.write(goal=f'budget = "{BUDGET}"\ndeadline = 2020-01-01T00:00:00Z')
    assert world.run() in {"every item has been looked at", "the deadline has passed"}
    world.write(goal=f'budget = "{BUDGET}"\ndeadline = 2021-01-01T00:00:00Z')
    assert world.run() in {"every item has been looked at", "the budget is spent"}  # what is left may buy second looks
    world.check()


def test_clock_jumps_over_the_deadline_and_back(world, calm, monkeypatch):
    """Nothing more is asked, not even what is drawn; a run after the jump back goes on."""
    now = [datetime(2020, 1, 1, tzinfo=UTC)]
    init = Engine.__init__

    def with_clock(self, *args, **kwargs):
        init(self, *args, **kwargs, clock=lambda: now[0])

    monkeypatch.setattr(Engine, "__init__", with_clock)
    world.write(goal=f'budget = "{BUDGET}"\ndeadline = 2020-01-02T00:00:00Z')
    late = after(7, lambda: now.__setitem__(0, datetime(2020, 1, 3, tzinfo=UTC)))
    assert world.run(late) == "the deadline has passed"
    status = world.check()
    asked = len(world.noted("asked"))
    assert asked <= 8 + 4  # the eighth call, and those that were under way beside it
    assert status.pending > 0
    assert (status.rounds, status.ended) == (0, "the deadline has passed")
    assert world.run() == "the deadline has passed"
    assert len(world.noted("asked")) == asked
    now[0] = datetime(2020, 1, 1, tzinfo=UTC)
    assert world.run() == "every item has been looked at"
    world.check()
    assert same(world, calm)
