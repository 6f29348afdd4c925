"""Work shared out to processes: results in order, whatever the number of workers, and a clean end on Ctrl-C."""

import gc
import os
import signal
import threading
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

from ratewise.core.checks import number

Task = TypeVar("Task")
Result = TypeVar("Result")


def in_order(
    function: Callable[[Task], Result], tasks: Sequence[Task], *, workers: int | None = None
) -> Iterator[Result]:
    """The results of the tasks in their order, computed by as many processes as there are cores and tasks.

    Ctrl-C ends the processes and raises KeyboardInterrupt here once; pressed again meanwhile it does nothing.
    """
    jobs = min(_count(workers), len(tasks))
    if jobs <= 1:
        yield from map(function, tasks)
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=jobs, return_as="generator", pre_dispatch=2 * jobs, max_nbytes=None)
    with _only_here() as listen:
        with _quiet_cleaner():
            results = parallel(delayed(function)(task) for task in tasks)
        listen()
        try:
            for result in results:  # noqa: UP028
                yield result
        except BaseException:  # also what is raised at the yield, which `yield from` would hand on to joblib
            _end(results)
            raise


@contextmanager
def _quiet_cleaner() -> Iterator[None]:
    """Silences joblib's cleaner after Ctrl-C: it tidies up and need not tell the user."""
    before = os.environ.get("PYTHONWARNINGS")
    os.environ["PYTHONWARNINGS"] = ",".join(filter(None, (before, "ignore:resource_tracker")))
    try:
        yield
    finally:
        if before is None:
            del os.environ["PYTHONWARNINGS"]
        else:
            os.environ["PYTHONWARNINGS"] = before


def _end(results: "Generator[Result, None, None]") -> None:
    """End the workers and wait for them, so that none complains when the program ends."""
    from joblib.externals.loky import get_reusable_executor

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*tasks", category=UserWarning)  # that some were not used is known
        results.close()
    get_reusable_executor().shutdown(wait=True, kill_workers=True)
    gc.collect()


def _count(workers: int | None) -> int:
    if workers is not None:
        return int(number(workers, name="workers", minimum=1))
    from joblib import cpu_count

    return int(cpu_count())


@contextmanager
def _only_here() -> Iterator[Callable[[], None]]:
    """Make processes started inside ignore Ctrl-C; from `listen()` on, only the first Ctrl-C is heard here."""
    if threading.current_thread() is not threading.main_thread():  # where signals cannot be set, nor are heard
        yield lambda: None
        return
    before = signal.getsignal(signal.SIGINT)

    def once(_: int, __: FrameType | None) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    def listen() -> None:
        signal.signal(signal.SIGINT, once)

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # new processes inherit this
    try:
        yield listen
    finally:
        signal.signal(signal.SIGINT, before)
