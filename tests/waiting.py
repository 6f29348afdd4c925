"""Waiting for something to happen, with a deadline: where tests look again and again, they do it here."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

SECONDS = 60.0  # for a machine that is busy with much else
_EVERY = 0.01


def eventually(
    condition: Callable[[], Any], *, seconds: float = SECONDS, each: Callable[[], object] | None = None
) -> Any:
    """Look until the condition is true or the time is over; returns what it said last. `each` is done between looks."""
    deadline = time.monotonic() + seconds
    while not (found := condition()) and time.monotonic() < deadline:
        if each is not None:
            each()
        time.sleep(_EVERY)
    return found


def until(
    condition: Callable[[], Any],
    *,
    seconds: float = SECONDS,
    each: Callable[[], object] | None = None,
    why: Callable[[], str] | None = None,
) -> Any:
    """The same, but the test fails where it did not happen; `why` tells more then."""
    found = eventually(condition, seconds=seconds, each=each)
    assert found, "it did not happen" if why is None else why()
    return found


async def until_async(condition: Callable[[], Any], *, seconds: float = SECONDS) -> None:
    """The same while a loop runs."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        await asyncio.sleep(_EVERY)


def no_longer(condition: Callable[[], Any], *, seconds: float) -> bool:
    """Whether the condition becomes false within the time; for what must go on, with a time as short as tells it."""
    return bool(eventually(lambda: not condition(), seconds=seconds))
