"""Who is told how far embeddings are: set by commands around their work, so that no function in between hands it on."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[int, int], None]  # texts done, texts in all

_listener: ContextVar[Progress | None] = ContextVar("ratewise_texts", default=None)


@contextmanager
def told(listener: Progress | None) -> Iterator[None]:
    """Tell the listener of every batch that is embedded meanwhile."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)


def tell(done: int, total: int) -> None:
    """A batch is done."""
    listener = _listener.get()
    if listener is not None:
        listener(done, total)
