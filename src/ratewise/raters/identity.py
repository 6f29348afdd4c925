"""Digests of what a rater is made of: its settings and its files."""

import hashlib
import importlib.util
import json
import os
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ratewise.raters.kind import RaterKind

SETTINGS = "its settings"


def identity(kind: RaterKind, settings: Any, folder: str) -> dict[str, str]:
    """SHA-256 by name: of the settings, and of every file in them that can be read."""
    said = json.dumps(asdict(settings), sort_keys=True, default=str)
    out = {SETTINGS: hashlib.sha256(said.encode()).hexdigest()}
    words = [word for value in asdict(settings).values() for word in _words(value)]
    for name in (*words, *kind.sources(settings, folder)):
        found = _digest(Path(folder, name))
        if found is not None:
            out[name] = found
    return out | kind.digests(settings, folder)


def module_file(function: str, folder: str) -> tuple[str, ...]:
    """The file of a function's module: in the folder, or where Python finds it."""
    name = function.partition(":")[0]
    for place in (Path(*name.split(".")).with_suffix(".py"), Path(*name.split("."), "__init__.py")):
        if Path(folder, place).is_file():
            return (str(place),)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return ()
    return (spec.origin,) if spec is not None and spec.origin is not None and os.path.isfile(spec.origin) else ()


def _words(value: object) -> list[str]:
    """Words of a setting, each of which may name a file."""
    if isinstance(value, str):
        try:
            return [value, *shlex.split(value)] if value else []
        except ValueError:
            return [value]
    return [word for word in value if isinstance(word, str)] if isinstance(value, tuple | list) else []


def _digest(path: Path) -> str | None:
    try:
        if not path.is_file():
            return None
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return None
