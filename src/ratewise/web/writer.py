"""One thread that writes for all requests: those that come at the same time share a transaction, and its commit.

Databases write one transaction at a time, and each waits for the disk. With many people at work, several answers are
there when the disk is ready, and go into the next transaction together. Nobody hears that an answer is saved before
that transaction is committed. If one of them fails, all are taken back, and each is tried by itself.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field

from starlette.responses import Response

from ratewise.store.accounts import Session
from ratewise.store.store import Store
from ratewise.web.requests import RefusedError
from ratewise.web.service import Service

_MOST = 64  # requests in one transaction
_REST = 2.0  # seconds without a request after which the thread ends
Act = Callable[[Session], Response]


@dataclass(slots=True, eq=False)
class Job:
    """A request: who calls is checked first, then it is done; the result goes to the loop that waits for it."""

    check: Callable[[], Session]
    act: Act
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[Response]"
    session: Session | None = None
    response: Response | None = None
    error: Exception | None = None

    def finish(self) -> None:
        """Tell the one who waits, in their own loop."""
        if self.future.done():
            return  # the caller has gone
        if self.error is not None:
            self.future.set_exception(self.error)
        else:
            assert self.response is not None
            self.future.set_result(self.response)


@dataclass(slots=True, eq=False)
class Writer:
    """Does what requests ask for, in the order they came."""

    service: Service
    _jobs: "queue.SimpleQueue[Job]" = field(default_factory=queue.SimpleQueue)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _runs: bool = False

    async def do(self, check: Callable[[], Session], act: Act) -> Response:
        """The response, once everything behind it is committed."""
        loop = asyncio.get_running_loop()
        job = Job(check, act, loop, loop.create_future())
        with self._lock:
            self._jobs.put(job)
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._work, daemon=True, name="ratewise-writer").start()
        return await job.future

    def _work(self) -> None:
        while True:
            try:
                jobs = [self._jobs.get(timeout=_REST)]
            except queue.Empty:
                with self._lock:
                    if self._jobs.empty():
                        self._runs = False
                        return
                continue
            while len(jobs) < _MOST and not self._jobs.empty():
                jobs.append(self._jobs.get_nowait())
            self.serve(jobs)

    def serve(self, jobs: Sequence[Job]) -> None:
        """Check who calls, do what they ask for together, and tell them."""
        with self.service.turn() as desk:
            _within(desk.store.reading, _check, jobs)
            known = [job for job in jobs if job.error is None]
            if known and not _all(desk.store, known):
                for job in known:
                    _within(desk.store.writing, _act, [job])
        for loop in {job.loop for job in jobs}:
            theirs = [job for job in jobs if job.loop is loop]
            if not loop.is_closed():
                loop.call_soon_threadsafe(_finish, theirs)


def _all(store: Store, jobs: Sequence[Job]) -> bool:
    """Do them in one transaction; False where one of them failed, and then nothing was done."""
    try:
        with store.writing():
            for job in jobs:
                _act(job)
    except Exception:  # whoever's it is, it comes again where each is tried by itself
        return False
    return True


def _within(
    one: Callable[[], AbstractContextManager[object]], work: Callable[[Job], None], jobs: Sequence[Job]
) -> None:
    """Do something in one look or transaction; what goes wrong goes to those who asked for it."""
    try:
        with one():
            for job in jobs:
                work(job)
    except Exception as error:
        for job in jobs:
            job.error = error


def _check(job: Job) -> None:
    try:
        job.session = job.check()
    except RefusedError as error:
        job.error = error


def _act(job: Job) -> None:
    assert job.session is not None
    job.response = job.act(job.session)


def _finish(jobs: Sequence[Job]) -> None:
    for job in jobs:
        job.finish()
