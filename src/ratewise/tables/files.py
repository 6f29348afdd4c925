"""Writing small text files as safely as tables."""

import os

from ratewise.tables.write import replacing


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a whole file or leave what was there."""
    with replacing(os.fsdecode(path)) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
