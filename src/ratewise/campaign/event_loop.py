"""An event loop that ends with its work: a rater that cannot be cancelled does not keep the process alive."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

_T = TypeVar("_T")
_LAST_WORDS = 1.0  # seconds that tasks have to end once nobody waits for them


def run_to_end(work: Coroutine[Any, Any, _T]) -> _T:
    """Like `asyncio.run`, but does not wait for ever for a task that swallows its cancellation."""
    loop = asyncio.new_event_loop()
    try:
        asyncio.set_event_loop(loop)
        return loop.run_until_complete(work)
    finally:
        try:
            _leave(loop)
        finally:
            asyncio.set_event_loop(None)
            loop.close()


def _leave(loop: asyncio.AbstractEventLoop) -> None:
    tasks = asyncio.all_tasks(loop)
    for task in tasks:
        task.cancel()
    if tasks:
        loop.run_until_complete(asyncio.wait(tasks, timeout=_LAST_WORDS))
    for task in tasks:
        if task.done():
            task.cancelled() or task.exception()  # looked at, so that nobody complains
        else:
            task._log_destroy_pending = False  # type: ignore[attr-defined]
    loop.run_until_complete(loop.shutdown_asyncgens())
