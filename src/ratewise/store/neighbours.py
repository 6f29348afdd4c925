"""Other stores beside a campaign that is about to begin: the campaign may be there already, under another file name."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from urllib.parse import quote

_HEADER = b"SQLite format 3\0"
_MOST_FILES = 1000  # looked at in a folder


def stores_of(name: str, folder: str) -> list[str]:
    """Files in a folder in which a campaign of this name has begun, with their names; none is written."""
    return sorted(path.name for path in _files(folder) if _campaign_in(path) == name)


def _files(folder: str) -> Iterator[Path]:
    with suppress(OSError):
        for number, entry in enumerate(os.scandir(folder)):
            if number >= _MOST_FILES:
                return
            if entry.is_file() and not entry.name.endswith((".lock", "-wal", "-shm", "-journal")):
                yield Path(entry.path)


def _campaign_in(path: Path) -> str | None:
    """The name of the campaign in a file; None where it is no store."""
    with suppress(OSError, sqlite3.Error, ValueError, TypeError, AttributeError):
        with path.open("rb") as file:
            if file.read(len(_HEADER)) != _HEADER:
                return None
        with closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as connection:
            (spec,) = connection.execute("SELECT value FROM meta WHERE key = 'spec'").fetchone()
        return str(json.loads(spec).get("name"))
    return None
