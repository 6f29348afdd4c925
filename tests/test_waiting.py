import asyncio

import pytest

from .waiting import eventually, no_longer, until, until_async


def counted(least):
    seen = iter(range(1_000_000))
    return lambda: next(seen) >= least


def test_it_looks_until_it_happens():
    done = []
    assert until(counted(2), each=lambda: done.append(1)) is True
    assert len(done) == 2
    asyncio.run(until_async(counted(2)))
    assert no_longer(lambda: False, seconds=0)


def test_it_gives_up_and_says_why():
    assert not eventually(lambda: False, seconds=0)
    assert not no_longer(lambda: True, seconds=0)
    with pytest.raises(AssertionError, match="it did not happen"):
        until(lambda: False, seconds=0)
    with pytest.raises(AssertionError, match="the log says no"):
        until(lambda: 0, seconds=0, why=lambda: "the log says no")
    with pytest.raises(AssertionError, match="it did not happen"):
        asyncio.run(until_async(lambda: False, seconds=0))
