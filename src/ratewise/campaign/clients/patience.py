"""Waits for a store that is gone for a moment; if it stays away, answers in hand go into a file."""

import asyncio
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ratewise.campaign.planner.outcomes import dearest, failed, rater_of
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import StoreError
from ratewise.raters.protocol import Failure
from ratewise.raters.text import one_line, short, storable
from ratewise.store.audit import item_keys
from ratewise.store.money import shown
from ratewise.store.queue import Claim, Outcome
from ratewise.store.store import Store
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


@dataclass(frozen=True, slots=True)
class KeptLine:
    """Reads lines of the file; what is not this campaign's, no question or no legal answer is a ValueError."""

    spec: Spec
    store: Store
    campaign: str

    def __call__(self, row: Mapping[str, Any]) -> Outcome:
        """The answer of a line, as if the rater had just given it."""
        if row.get("campaign") != self.campaign:
            raise ValueError("it belongs to another campaign")
        claim = self._claim(row.get("claim"))
        paid, value, has_failed = _whole(row.get("paid")), row.get("value"), row.get("failed", False)
        most = dearest(self.spec, claim)
        if not 0 <= paid <= most:
            raise ValueError(f"a payment of {short(paid)} billionths is not from 0 to {shown(most)}")
        if not isinstance(has_failed, bool) or (has_failed and value is not None):
            raise ValueError("it says that the call failed and what it answered")
        note = one_line(storable(str(row.get("note") or ""))) or None
        if has_failed:
            return failed(self.spec, claim, Failure(note or "no reason was given"), paid)
        return Outcome(claim, paid, self._value(claim, value), note, doubt=_doubt(row.get("doubt")))

    def _value(self, claim: Claim, value: object) -> float | None:
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"{short(value)} is no rating")
        return self.spec.number(rater_of(self.spec, claim.step), value)

    def _claim(self, row: object) -> Claim:
        if not isinstance(row, dict):
            raise ValueError("it names no question")
        position, step, attempt = (_whole(row.get(name)) for name in ("position", "step", "attempt"))
        if not (0 <= position < 2**31 and step in self.spec.steps and 1 <= attempt < 2**15):
            raise ValueError("it names a question that was never asked")
        found = item_keys(self.store, position, position + 1)
        if not found or found[0].id != row.get("id"):
            raise ValueError(f"it names item {short(row.get('id'))}, which is not the one at its place")
        prices = self.store.prices_of(position)
        return Claim(position, step, attempt, found[0].id, "", prices)


def _doubt(value: object) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
        raise ValueError(f"{short(value)} is no uncertainty")
    return float(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{short(value)} stands where a whole number belongs")
    return value
