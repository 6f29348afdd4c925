"""Who runs a test."""

import os
from contextlib import contextmanager

NOBODY = 65534


@contextmanager
def plain_user():
    """Root may do anything, so it becomes nobody for a while."""
    root = os.geteuid() == 0
    if root:
        os.seteuid(NOBODY)
    try:
        yield
    finally:
        if root:
            os.seteuid(0)
