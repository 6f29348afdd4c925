"""A leader that is frozen is replaced, a server that restarts is waited for, and no rater keeps a process alive."""

import asyncio
import signal
import threading
import time

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import StoreError
from ratewise.store import postgresql

from .proxy import Line
from .world import World, ended, raters, same, start, until

SLOW = """\
    def rate(item, key):
        note("asked", key)
        time.sleep(0.01 if next(count) < 5 else 1)
        note("answered", key)
        return item["human"]
"""


def test_a_frozen_leader_is_named_and_replaced(database, tmp_path, calm, monkeypatch):
    world = World(tmp_path / "c", store=database)
    raters(world, SLOW)
    leader = start(world, patience=20)
    until(leader, lambda: len(world.noted("asked")) >= 8)
    leader.send_signal(signal.SIGSTOP)
    try:
        monkeypatch.setattr(postgresql, "_SILENT", 0.5)
        monkeypatch.setattr(postgresql.PostgreSQL, "lease", 2.0)
        time.sleep(1.0)
        status = world.open().status()
        assert f"process {leader.pid} on" in status.waits_for
        assert "another one takes over" in status.waits_for
        assert world.run(patience=20) == "every item has been looked at"
    finally:
        leader.send_signal(signal.SIGCONT)
    assert ended(leader, 0) == "every item has been looked at"
    found = world.open().verify()
    assert found.passed, found.summary()
    assert same(world, calm)
    assert len(world.ledger()) == len(set(world.ledger()))


@pytest.fixture
def line(database):
    made = Line(database)
    yield made
    made.close()


def test_a_leader_behind_a_half_open_connection_is_replaced(database, line, tmp_path, calm, monkeypatch):
    """Its machine is lost to the server, and neither hears of it: no end of a connection, no error."""
    world = World(tmp_path / "c", store=line.url)
    raters(world, SLOW)
    leader = start(world, patience=20)
    until(leader, lambda: len(world.noted("asked")) >= 8)
    line.cut()
    monkeypatch.setattr(postgresql.PostgreSQL, "lease", 2.0)
    world.write(store=database)
    assert world.run(patience=20) == "every item has been looked at"
    assert leader.poll() is None  # it still waits for an answer of the server
    line.hang_up()
    assert ended(leader, 0) == "every item has been looked at"
    found = world.open().verify()
    assert found.passed, found.summary()
    assert same(world, calm)
    assert len(world.ledger()) == len(set(world.ledger()))


def test_a_run_that_starts_while_the_server_restarts_waits(own_server, tmp_path, calm):
    world = World(tmp_path / "c", store=own_server.url)
    own_server.stop("fast")
    with pytest.raises(StoreError):
        Campaign.open(world.toml)
    back = threading.Timer(1.5, own_server.start)
    back.start()
    campaign = Campaign.open(world.toml, patience=30)
    assert campaign.spec.name == "c"
    back.join()
    own_server.stop("fast")
    back = threading.Timer(1.5, own_server.start)
    back.start()
    world.open = lambda: campaign
    assert world.run(patience=30) == "every item has been looked at"
    back.join()
    assert same(world, calm)


def test_a_rater_that_swallows_its_cancellation_keeps_nobody(world, monkeypatch):
    monkeypatch.setattr("ratewise.raters.calling._GRACE", 0.1)
    (world.folder / "stubborn.py").write_text(
        "import asyncio\n"
        "async def rate(item):\n"
        "    while item['id'] == 'i7':\n"
        "        try:\n"
        "            await asyncio.sleep(3600)\n"
        "        except asyncio.CancelledError:\n"
        "            pass\n"
        "    return item['human']\n"
    )
    world.write(human='kind = "python"\nfunction = "stubborn:rate"\nconcurrency = 4\ntimeout = 0.2\nattempts = 1')
    started = time.monotonic()
    assert world.open().run() == "every item has been looked at"
    assert time.monotonic() - started < 60
    with pytest.raises(RuntimeError):
        asyncio.get_running_loop()
