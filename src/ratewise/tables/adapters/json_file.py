"""JSON that other tools wrote, read with limits: a hostile or damaged file is one line, not all of the memory."""

import gzip
import json
import os
import zlib
from collections.abc import Iterator
from io import BufferedReader
from typing import Any

from ratewise.errors import TableError
from ratewise.tables.engine import LONGEST_LINE, one_line, reason

LARGEST_DOCUMENT = 256 * 2**20
"""The largest JSON document that is read, in bytes: it is read whole."""

MOST_VALUES = 8_000_000
"""The most values of one document: a short text can hold very many empty lists, and each takes memory."""


GZIPPED = b"\x1f\x8b"
"""What a file begins with that gzip has packed."""

UNREADABLE = (OSError, EOFError, zlib.error)
"""What reading a file ends in where it is gone, or packed and cut off."""


def opened(path: str) -> gzip.GzipFile | BufferedReader:
    """The bytes of a file, unpacked on the way where gzip has packed it: by its first bytes, whatever its name is."""
    with open(path, "rb") as file:
        packed = file.read(len(GZIPPED)) == GZIPPED
    return gzip.open(path) if packed else open(path, "rb")


def read_json(path: str, name: str | None = None) -> Any:
    """What the file holds; a missing, broken or overlong file is one clear line."""
    name = name or one_line(os.path.basename(path))
    try:
        size = os.path.getsize(path)
        if size > LARGEST_DOCUMENT:
            raise too_large(name, size)
        with opened(path) as file:
            data = file.read(LARGEST_DOCUMENT + 1)
    except FileNotFoundError as error:
        raise TableError(f"{one_line(path)} does not exist; check the path") from error
    except UNREADABLE as error:
        raise TableError(f"{name} cannot be read: {reason(error)}") from error
    return parsed(data, name)


def read_lines(path: str, name: str | None = None) -> Iterator[tuple[int, Any]]:
    """The value of every line that is not blank, with the line's number."""
    name = name or one_line(os.path.basename(path))
    try:
        with opened(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE + 1), b""), start=1):
                if len(line) > LONGEST_LINE:
                    raise TableError(f"line {number} of {name} is longer than {LONGEST_LINE // 2**20} MiB")
                if not line.isspace():
                    yield number, parsed(line, f"line {number} of {name}")
    except FileNotFoundError as error:
        raise TableError(f"{one_line(path)} does not exist; check the path") from error
    except UNREADABLE as error:
        raise TableError(f"{name} cannot be read: {reason(error)}") from error


def parsed(data: bytes | str, name: str) -> Any:
    """The value of a text; `name` is what messages call it."""
    if len(data) > LARGEST_DOCUMENT:
        raise too_large(name, len(data))
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        many = sum(text.count(sign) for sign in ",[{") > MOST_VALUES
        value = None if many else json.loads(text)
    except UnicodeDecodeError as error:
        raise TableError(f"{name} is not JSON: it is not UTF-8 text") from error
    except RecursionError as error:
        raise TableError(f"{name} is not JSON that can be read: it is nested too deeply") from error
    except ValueError as error:
        raise TableError(f"{name} is not JSON: {one_line(str(error))[:200]}") from error
    if many:
        raise TableError(f"{name} holds more than {MOST_VALUES:,} JSON values; export fewer rows at a time")
    return value


def too_large(name: str, size: int) -> TableError:
    """The complaint about a document that would have to be read whole."""
    return TableError(
        f"{name} is {size / 2**20:,.0f} MiB; a JSON document is read whole, up to {LARGEST_DOCUMENT // 2**20} MiB:"
        " export fewer rows at a time, or JSONL"
    )
