"""Ctrl-C, SIGTERM, and a loop that is running already."""

import asyncio
import signal
import sys
import threading
import time

import pytest
import sqlalchemy as sa

from ratewise.campaign.engine import Engine
from ratewise.errors import RaterDownError

from ...waiting import no_longer
from .world import ITEMS, ended, raters, same, start, until

# Signals

SLOW = """\
    slow = {slow}

    def rate(item, key):
        note("asked", key)
        time.sleep(slow if len(os.listdir(".")) else 0)
        note("answered", key)
        return item["human"]
    """


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_stopping(world, calm, name):
    """Calls under way finish and are kept; then it goes on."""
    raters(world, SLOW.format(slow=0.3))
    process = start(world)
    until(process, lambda: len(world.noted("asked")) >= 6)
    process.send_signal(getattr(signal, name))
    assert ended(process, 0) == "stopped"
    asked = world.noted("asked")
    assert len(asked) < ITEMS / 6
    assert sorted(asked) == sorted(world.noted("answered"))
    assert set(asked) == world.ledger().keys()
    with world.log() as store, store.reading() as connection:
        assert connection.scalar(sa.text("SELECT count(*) FROM ratings WHERE worker IS NOT NULL")) == 0
    assert world.run() == "every item has been looked at"
    world.check()
    assert same(world, calm)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
@pytest.mark.parametrize("lost_calls", ["ask again", "count as paid"])
def test_stopping_at_once(world, calm, lost_calls):
    """The second signal does not wait; what was cut off is asked again, with the same key or as a new call."""
    world.write(more=f'lost_calls = "{lost_calls}"\nfailed_price = 0', goal='budget = "44"')
    raters(world, """\
        calls = []

        def rate(item, key):
            note("asked", key)
            calls.append(key)
            if len(calls) > 3:  # as many answers as it takes to be asked four at once
                time.sleep(30)
            note("answered", key)
            return item["human"]
        """)  # fmt: skip
    process = start(world)
    until(process, lambda: len(world.noted("asked")) == 7)
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    assert not no_longer(lambda: process.poll() is None, seconds=0.2)
    process.send_signal(signal.SIGINT)
    assert ended(process, 0) == "stopped"
    assert time.monotonic() - began < 5
    cut = sorted(set(world.noted("asked")) - set(world.noted("answered")))
    assert len(cut) == 4
    assert world.run()
    world.check(budget=44, asked_twice=cut)
    paid = world.ledger()
    counted = lost_calls == "count as paid"
    assert all((key[:-1] + "2" in paid) == counted for key in cut)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are POSIX")
def test_stopping_while_retries_wait(world):
    """A pause before the next attempt is not waited for."""
    world.toml.write_text(world.toml.read_text().replace("backoff = 0.0", "backoff = 60"))
    raters(world, """\
        def rate(item, key):
            note("asked", key)
            raise OSError
        """)  # fmt: skip
    process = start(world)
    until(process, lambda: len(world.noted("asked")) >= 1)
    until(process, lambda: len(world.ledger()) >= 1)  # the failure is written down, so the retry waits
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    assert ended(process, 0) == "stopped"
    assert time.monotonic() - began < 5
    assert world.open().verify().passed


def test_a_timeout_of_days_does_not_keep_a_run_from_stopping(world, calm, monkeypatch):
    """Calls under way have some time to finish; then they are cut off, and asked again with the same key."""
    monkeypatch.setattr("ratewise.campaign.engine.GRACE", 0.3)
    world.write(more="timeout = 864000")
    engines, found, asked, blocked = [], [], threading.Event(), threading.Event()
    init = Engine.__init__

    def seen(self, *args, **keys):
        init(self, *args, **keys)
        engines.append(self)

    def rate(item, key):
        asked.set()
        blocked.wait(60)
        raise OSError("too late")

    monkeypatch.setattr(Engine, "__init__", seen)
    run = threading.Thread(target=lambda: found.append(world.run(rate)))
    run.start()
    try:
        assert asked.wait(30)
        engines[0].stop.set()
        run.join(20)
        assert found == ["stopped"]
    finally:
        blocked.set()
        run.join()
    cut = world.noted("asked")
    assert world.run() == "every item has been looked at"
    world.check(asked_twice=cut)
    assert same(world, calm)


def test_inside_a_running_loop(world, calm):
    """As in a notebook."""

    async def cell():
        return world.run()

    assert asyncio.run(cell()) == "every item has been looked at"
    world.check()
    assert same(world, calm)


def test_errors_inside_a_running_loop(world):
    """They arrive as they would anywhere."""

    async def cell():
        world.run(lambda item, key: 1 / 0)

    with pytest.raises(RaterDownError):
        asyncio.run(cell())
