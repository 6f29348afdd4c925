"""Work shared out to processes: results in order, whatever the number of workers, and a clean end on Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
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

    parallel = Parallel(n_jobs=jobs, return_as="generator", pre_dispatch=2 * jobs)
    with _only_here() as listen:
        results = parallel(delayed(function)(task) for task in tasks)
        listen()
        yield from results


def _count(workers: int | None) -> int:
    if workers is not None:
        return int(number(workers, name="workers", minimum=1))
    from joblib import cpu_count

    return int(cpu_count())


@contextmanager
def _only_here() -> Iterator[Callable[[], None]]:
    """Processes started inside ignore Ctrl-C; from `listen()` on, the first is heard here and later ones are not."""
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
