"""Questions, programs and modules for the raters."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ratewise.raters.protocol import Question


@pytest.fixture
def ask() -> Callable[..., list[Question]]:
    """Questions about the items named, keyed k-<id>."""

    def make(*ids: str, **item: object) -> list[Question]:
        return [Question(key=f"k-{i}", id=i, item={"text": f"text of {i}", **item}) for i in ids]

    return make


@pytest.fixture
def program(tmp_path: Path) -> Callable[[str], list[str]]:
    """A Python program as a command."""

    def write(source: str) -> list[str]:
        (tmp_path / "program.py").write_text("import json, os, subprocess, sys, time\n" + source, encoding="utf-8")
        return [sys.executable, "-S", "program.py"]

    return write


@pytest.fixture
def module(tmp_path: Path) -> Iterator[Callable[[str], str]]:
    """A module in tmp_path with a name of its own; the path and the loaded modules are put back afterwards."""
    path, loaded = list(sys.path), set(sys.modules)

    def write(source: str, name: str = f"judge_{abs(hash(tmp_path))}") -> str:
        (tmp_path / f"{name}.py").write_text(source, encoding="utf-8")
        return name

    yield write
    sys.path[:] = path
    for name in set(sys.modules) - loaded:
        if "judge" in name or "neighbour" in name:
            del sys.modules[name]
