"""The limits around a rater, and the last check of what it says: after this, only answers and failures are left."""

import asyncio
import math
from collections.abc import Collection, Sequence
from dataclasses import replace

from ratewise.judges.client import Pace
from ratewise.raters.protocol import Answer, Failure, Question, Rater, RaterError, failure_from, is_price
from ratewise.raters.text import one_line, safe_reason, short, storable, without

_GRACE = 10.0  # seconds a call may take to stop once it is cancelled; after that it is left alone


class Caller:
    """One rater with its limits: how many calls at once, how long one may take, how many questions a minute.

    May be made outside an event loop, but all its calls belong to one loop. What the rater says is never told with one
    of the `secrets` in it.
    """

    def __init__(
        self, rater: Rater, *, concurrency: int = 1, timeout: float | None = 60.0, per_minute: float | None = None,
        secrets: Collection[str] = (),
    ) -> None:  # fmt: skip
        self._rater = rater
        self._secrets = frozenset(secrets)
        self._timeout = timeout
        self._slots = asyncio.Semaphore(concurrency)
        self._pace = Pace(per_minute)

    async def ask(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        """One answer or failure per question, in order; never raises but when it is cancelled."""
        if not questions:
            return []
        async with self._slots:
            for _ in questions:
                await self._pace.take(1)
            return await self._call(questions)

    async def close(self) -> None:
        """Close the rater."""
        await self._rater.close()

    async def _call(self, questions: Sequence[Question]) -> list[Answer | Failure]:
        # A task of its own, so that a rater which raises TimeoutError or CancelledError, or which cannot be
        # cancelled, is not taken for the caller's own timeout or cancellation and cannot hold it for ever.
        task = asyncio.create_task(self._rate(questions))
        try:
            await asyncio.wait({task}, timeout=self._timeout)
            outcome = (
                _outcome(task, len(questions)) if task.done() else Failure(f"no answer within {self._timeout:g} s")
            )
        finally:
            await _stop(task)
        replies = [outcome] * len(questions) if isinstance(outcome, Failure) else outcome
        return [self._safe(reply) for reply in replies]

    def _safe(self, reply: Answer | Failure) -> Answer | Failure:
        """The reply without secrets in its text, which goes into the store and the report."""
        if isinstance(reply, Failure):
            return replace(reply, reason=safe_reason(reply.reason, self._secrets))
        return replace(reply, note=without(reply.note, self._secrets)) if reply.note else reply

    async def _rate(self, questions: Sequence[Question]) -> object:
        try:
            return await self._rater.rate(questions)
        except SystemExit as error:  # would stop the event loop
            raise RaterError(failure_from(error).reason) from None


async def _stop(task: asyncio.Task[object]) -> None:
    if task.done():
        return
    task.add_done_callback(lambda late: late.cancelled() or late.exception())  # looked at, so that nobody complains
    task.cancel()
    await asyncio.wait({task}, timeout=_GRACE)


def _outcome(task: asyncio.Task[object], asked: int) -> list[Answer | Failure] | Failure:
    """The checked replies of a call that is over, or the one failure of all its questions."""
    if task.cancelled():
        return Failure("the rater cancelled its own call")
    error = task.exception()
    if error is not None:
        return _checked_failure(failure_from(error))
    replies = task.result()
    if isinstance(replies, str | bytes) or not isinstance(replies, Sequence):
        return Failure(f"the rater gave {short(replies)} instead of a list of answers")
    if len(replies) != asked:
        return Failure(f"the rater gave {len(replies)} answers to {asked} questions")
    return [_checked(reply) for reply in replies]


def _checked(reply: object) -> Answer | Failure:
    """The reply with text a database takes, if it is one and its price makes sense."""
    if not isinstance(reply, Answer | Failure):
        return Failure(f"the rater gave {short(reply)} instead of an answer")
    if isinstance(reply, Failure):
        return _checked_failure(reply)
    if not is_price(reply.price):
        return _no_price(reply.price)
    # The uncertainty is a squared error, or none: the rating itself is as good without it.
    doubt = reply.doubt
    known = isinstance(doubt, int | float) and not isinstance(doubt, bool) and 0 <= doubt < math.inf
    return replace(reply, note=storable(str(reply.note)), doubt=float(doubt) if known and doubt is not None else None)


def _checked_failure(failure: Failure) -> Failure:
    if not is_price(failure.price):
        return _no_price(failure.price)
    after = failure.after if isinstance(failure.after, int | float) and 0 <= failure.after < math.inf else 0.0
    return replace(failure, reason=one_line(str(failure.reason)) or "no reason was given", after=after)


def _no_price(price: object) -> Failure:
    return Failure(f"price {short(price)} makes no sense")
