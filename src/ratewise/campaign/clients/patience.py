"""Waits for a store that is gone for a moment; if it stays away, answers in hand go into a file."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ratewise.errors import StoreError
from ratewise.store.queue import Outcome
from ratewise.store.unsaved import Unsaved

PATIENCE = 60.0  # seconds to wait for a store that is gone, before giving up with everything kept
_T = TypeVar("_T")


@dataclass(slots=True, eq=False)
class Patience:
    """How long to wait, and where to keep what cannot be written."""

    unsaved: Unsaved
    seconds: float = PATIENCE

    async def __call__(self, action: Callable[[], _T], *, unsaved: Sequence[Outcome] = ()) -> _T:
        """Try until it is done or the time is up."""
        try:
            return await self._try(action)
        except BaseException as error:
            if unsaved and not self.unsaved.keep(unsaved) and isinstance(error, StoreError):
                raise StoreError(
                    f"{error}; {len(unsaved)} answers could not be kept anywhere and will be asked for again"
                ) from error
            raise

    async def _try(self, action: Callable[[], _T]) -> _T:
        started, pause = time.monotonic(), 0.05
        while True:
            try:
                return action()
            except StoreError as error:
                if not error.may_pass or time.monotonic() - started >= self.seconds:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, 2.0)


def wait_for(action: Callable[[], _T], seconds: float) -> _T:
    """Try an action until it works or the time is up; for use before there is an event loop."""
    started, pause = time.monotonic(), 0.05
    while True:
        try:
            return action()
        except StoreError as error:
            if not error.may_pass or time.monotonic() - started >= seconds:
                raise
        time.sleep(pause)
        pause = min(2 * pause, 2.0)
