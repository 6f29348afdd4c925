"""Which process plans a campaign in a SQLite file, in words that the store can keep."""

import json
import os
import socket
from contextlib import suppress

import psutil  # type: ignore[import-untyped]

LEADER = "leader"  # the fact that names it


def this_process() -> str:
    """Machine, number and start of this process: numbers are used again, but not at the same moment."""
    return json.dumps([socket.gethostname(), os.getpid(), psutil.Process().create_time()])


def is_alive(described: str | None) -> bool:
    """Whether the process still runs; one of another machine, or this one itself, does not count."""
    with suppress(ValueError, TypeError, psutil.Error):
        host, number, started = json.loads(described or "null")
        if host == socket.gethostname() and number != os.getpid():
            process = psutil.Process(number)
            return bool(process.status() != psutil.STATUS_ZOMBIE and abs(process.create_time() - started) < 1.0)
    return False
