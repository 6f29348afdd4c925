"""Models of other libraries, loaded quietly: what goes wrong is told in one line, by whoever loads them."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import shorten

_LIBRARIES = ("huggingface_hub", "sentence_transformers", "transformers")
_LONGEST = 200  # letters of what a library says


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Without the bars, retries and advice that the libraries print."""
    from transformers.utils import logging as bars

    loggers = [logging.getLogger(name) for name in _LIBRARIES]
    levels = [logger.level for logger in loggers]
    bars.disable_progress_bar()
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


def reason_of(error: Exception) -> str:
    """What a library says, in one line, cut between words."""
    return shorten(str(error), _LONGEST, placeholder=" …")
