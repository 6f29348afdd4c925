"""An event loop that ends with its work: a rater that cannot be cancelled does not keep the process alive."""

import asyncio
import signal
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any, TypeVar

from ratewise.campaign.engine import Engine, Paused

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


def run_engine(engine: Engine) -> str:
    """Run in an event loop of its own, or in a thread where a loop is already running (a notebook)."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return run_to_end(_with_signals(engine))
    found: list[str | BaseException] = []

    def work() -> None:
        try:
            found.append(run_to_end(engine.run()))
        except BaseException as error:
            found.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:  # calls under way finish, as everywhere
        engine.stopping = True
        thread.join()
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]


async def _with_signals(engine: Engine) -> str:
    """Handle signals: the first Ctrl-C lets running calls finish, the second stops at once."""
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None

    def stop() -> None:
        if engine.stopping:
            task.cancel()
        engine.stopping = True

    for name in (signal.SIGINT, signal.SIGTERM):
        with suppress(NotImplementedError, RuntimeError, ValueError):  # Windows, or not the main thread: no handlers
            loop.add_signal_handler(name, stop)
    try:
        return await engine.run()
    except asyncio.CancelledError:
        return Paused.STOPPED
