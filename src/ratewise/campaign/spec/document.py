"""A campaign's file → its text; whatever prevents it is one SpecError with its place."""

import os
import stat

from ratewise.errors import SpecError
from ratewise.tables.engine import one_line

_LARGEST = 2**18  # bytes; no campaign is described at such length


def read_text(file: str) -> str:
    """The whole file, which must be a short one in UTF-8."""
    shown = one_line(file)
    try:
        with open(file, "rb", opener=_open_at_once) as opened:
            if not stat.S_ISREG(os.fstat(opened.fileno()).st_mode):
                raise SpecError(f"{shown} is not a regular file; give the path of a campaign's TOML")
            data = opened.read(_LARGEST + 1)
    except FileNotFoundError:
        raise SpecError(f"{shown} does not exist; check the path, or write an example with `ratewise init`") from None
    except IsADirectoryError:
        raise SpecError(f"{shown} is a directory; give the path of the TOML in it") from None
    except PermissionError:
        raise SpecError(f"{shown} may not be read; ask its owner for the permission") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise SpecError(f"{shown} cannot be read: {reason.lower()}; check the path") from None
    if len(data) > _LARGEST:
        raise SpecError(f"{shown} is larger than {_LARGEST // 2**10} KiB; give the TOML, not the table of items")
    return _decoded(data, shown)


def _open_at_once(path: str, flags: int) -> int:
    """Open without waiting for a writer, as a pipe otherwise would."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _decoded(data: bytes, shown: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise SpecError(f"{shown}:{line}: the file is not UTF-8 text; save it in that encoding") from None
