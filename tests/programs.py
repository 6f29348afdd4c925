"""Programs that some tests need: `make test` installs them where it may; elsewhere those tests say what is missing."""

import os

import pytest


def needed(found: str | None, todo: str) -> str:
    """The program, or a reason to leave the test out; in CI, where all are there, a failure."""
    if found:
        return found
    if os.environ.get("RATEWISE_TEST_ALL") == "1":
        pytest.fail(todo)
    pytest.skip(todo)
