"""One thread that writes for all requests: those that come at the same time share a transaction, and its commit.

Databases write one transaction at a time, and each waits for the disk. With many people at work, several answers are
there when the disk is ready, and go into the next transaction together. Nobody hears that an answer is saved before
that transaction is committed. If one of them fails, all are taken back, and each is tried by itself.
"""

import asyncio
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, InvalidStateError
from contextlib import AbstractContextManager, suppress

from starlette.responses import Response

from ratewise.store.accounts import Session
from ratewise.web.service import RefusedError, Service

_MOST = 64  # requests in one transaction
_REST = 2.0  # seconds without a request after which the thread ends
Act = Callable[[Session], Response]


class Job:
    """A request: who calls is checked first, then it is done; `told` are those who wait for the response."""

    def __init__(self, check: Callable[[], Session], act: Act) -> None:
        self.check, self.act = check, act
        self.told: Future[Response] = Future()
        self.session: Session | None = None
        self.response: Response | None = None
        self.error: Exception | None = None

    def identify(self) -> None:
        try:
            self.session = self.check()
        except RefusedError as error:
            self.error = error

    def run(self) -> None:
        assert self.session is not None
        self.response = self.act(self.session)

    def finish(self) -> None:
        with suppress(InvalidStateError):  # the caller has gone
            if self.error is not None:
                self.told.set_exception(self.error)
            else:
                assert self.response is not None
                self.told.set_result(self.response)


class Writer:
    """Does what requests ask for, in the order they came."""

    def __init__(self, service: Service) -> None:
        self.service, self._runs = service, False
        self._jobs: queue.SimpleQueue[Job] = queue.SimpleQueue()
        self._lock = threading.Lock()

    async def do(self, check: Callable[[], Session], act: Act) -> Response:
        """The response, once everything behind it is committed."""
        job = Job(check, act)
        with self._lock:
            self._jobs.put(job)
            if not self._runs:
                threading.Thread(target=self._work, daemon=True, name="ratewise-writer").start()
                self._runs = True  # not where the system has no thread left: then the next request tries again
        return await asyncio.wrap_future(job.told)

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
            _within(desk.store.reading, Job.identify, jobs)
            known = [job for job in jobs if job.error is None]
            _within(desk.store.writing, Job.run, known)
            if len(known) > 1 and known[0].error is not None:  # whoever's it is: nothing was done
                for job in known:
                    job.error = None
                    _within(desk.store.writing, Job.run, [job])
        for job in jobs:
            job.finish()


def _within(
    one: Callable[[], AbstractContextManager[object]], work: Callable[[Job], None], jobs: Sequence[Job]
) -> None:
    """Do something in one look or transaction; what goes wrong goes to all who asked for it."""
    try:
        with one():
            for job in jobs:
                work(job)
    except Exception as error:
        for job in jobs:
            job.error = error
