"""Writing small text files safely."""

import os
import tempfile

from ratewise.errors import TableError


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file or leave what was there: a temporary file beside it, then a rename."""
    shown = os.fspath(path)
    folder = os.path.dirname(os.path.abspath(shown))
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".ratewise-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, shown)
        except BaseException:
            os.unlink(temporary)
            raise
    except OSError as error:
        raise TableError(f"{shown} cannot be written: {error.strerror or error}") from None
