"""Waits for a store that is gone for a moment; if it stays away, answers in hand go into a file."""

import asyncio
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from ratewise.campaign.outcomes import failed, reserved
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


class Patience:
    """How long to wait, and where to keep what cannot be written."""

    def __init__(self, unsaved: Unsaved, seconds: float = PATIENCE) -> None:
        self.unsaved, self.seconds = unsaved, seconds

    async def __call__(self, action: Callable[[], _T], *, unsaved: Sequence[Outcome] = ()) -> _T:
        try:
            for pause in _pauses(self.seconds):
                try:
                    return action()
                except StoreError as error:
                    if not error.may_pass:
                        raise
                await asyncio.sleep(pause)
            return action()
        except BaseException as error:
            if unsaved and not self.unsaved.keep(unsaved) and isinstance(error, StoreError):
                raise StoreError(
                    f"{error}; {len(unsaved)} answers could not be kept anywhere and will be asked for again"
                ) from error
            raise


def wait_for(action: Callable[[], _T], seconds: float) -> _T:
    """Try an action until it works or the time is up; for use before there is an event loop."""
    for pause in _pauses(seconds):
        try:
            return action()
        except StoreError as error:
            if not error.may_pass:
                raise
        time.sleep(pause)
    return action()


def _pauses(seconds: float) -> Iterator[float]:
    """Pauses between tries, each twice as long as the one before, until so many seconds have passed."""
    end, pause = time.monotonic() + seconds, 0.05
    while time.monotonic() < end:
        yield pause
        pause = min(2 * pause, 2.0)


def kept_line(spec: Spec, store: Store, campaign: str, row: Mapping[str, Any]) -> Outcome:
    """The answer of a line of the file, as if the rater had just given it.

    What is not this campaign's, no question or no legal answer is a ValueError.
    """
    if row.get("campaign") != campaign:
        raise ValueError("it belongs to another campaign")
    claim = _claim(spec, store, row.get("claim"))
    paid, value, has_failed = _whole(row.get("paid")), row.get("value"), row.get("failed", False)
    most = reserved(spec, claim)
    if not 0 <= paid <= most:
        raise ValueError(f"a payment of {short(paid)} billionths is not from 0 to {shown(most)}")
    if not isinstance(has_failed, bool) or (has_failed and value is not None):
        raise ValueError("it says that the call failed and what it answered")
    note = one_line(storable(str(row.get("note") or ""))) or None
    if has_failed:
        return failed(spec, claim, Failure(note or "no reason was given"), paid)
    if value is not None:
        value = spec.number(claim.step, _number(value, "rating"))
    doubt = None if row.get("doubt") is None else _number(row["doubt"], "uncertainty")
    if doubt is not None and doubt < 0:
        raise ValueError(f"{short(doubt)} is no uncertainty")
    return Outcome(claim, paid, value, note, doubt=doubt)


def _claim(spec: Spec, store: Store, row: object) -> Claim:
    if not isinstance(row, dict):
        raise ValueError("it names no question")
    position, step, attempt = (_whole(row.get(name)) for name in ("position", "step", "attempt"))
    if not (0 <= position < 2**31 and step in spec.steps and 1 <= attempt < 2**15):
        raise ValueError("it names a question that was never asked")
    found = item_keys(store, position, position + 1)
    if not found or found[0].id != row.get("id"):
        raise ValueError(f"it names item {short(row.get('id'))}, which is not the one at its place")
    return Claim(position, step, attempt, found[0].id, "", store.prices_of(position))


def _number(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{short(value)} is no {what}")
    return float(value)


def _whole(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{short(value)} stands where a whole number belongs")
    return value
