"""Where a table lies: in one file, in the files of a folder, or in those that a pattern finds."""

import glob
import os
import shutil
import tempfile
import weakref

from ratewise.errors import TableError
from ratewise.tables.engine import one_line
from ratewise.tables.formats import READING, Kind, format_of
from ratewise.tables.plain import PATTERN, checked_file, plain_file


class Folder:
    """A folder of our own for as long as this object is referred to."""

    def __init__(self) -> None:
        self.path = tempfile.mkdtemp(prefix="ratewise-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)

    def __truediv__(self, name: str) -> str:
        return os.path.join(self.path, name)


def files_of(path: str) -> tuple[str, ...]:
    """The files of a table in the order of their names, at least one, all of one format."""
    found = files_among(path)
    if found is None:
        return (path,)
    files = [file for file in found if is_table(os.path.basename(file))]
    if not files:
        raise TableError(
            f"the folder {one_line(path)} has no table in it; the legal endings are {', '.join(READING)}"
            if os.path.isdir(path)
            else f"no table matches {one_line(path)}; check the pattern"
        )
    _refuse_mixture(path, files)
    return tuple(files)


def files_among(path: str) -> tuple[str, ...] | None:
    """The files of a folder, or those that a pattern finds, in the order of their names; None of a single path.

    What other programs hide or leave beside them (".…", "_…") is no part of it.
    """
    if os.path.isdir(path):
        found = [os.path.join(path, name) for name in os.listdir(path)]
    elif PATTERN.search(path) and not os.path.lexists(path):
        found = glob.glob(path, recursive=True)
    else:
        return None
    return tuple(sorted(file for file in found if os.path.isfile(file) and os.path.basename(file)[0] not in "._"))


def kind_of(files: tuple[str, ...]) -> Kind:
    """The format of the files, each of which is there and has something in it."""
    kinds = [checked_file(file).kind for file in files]
    return kinds[0]


def plain_files(files: tuple[str, ...], name: str, folder: Folder) -> list[str]:
    """Paths that DuckDB takes literally, as `plain_file` makes them, in a folder that must outlive their use."""
    return [
        plain_file(file, format_of(file), shown(file, files, name), folder / f"file-{number}")
        for number, file in enumerate(files)
    ]


def name_of(path: str) -> str:
    """What messages call the table at a path, unless it is given a name."""
    return one_line(os.path.basename(os.path.normpath(path)))


def shown(file: str, files: tuple[str, ...], name: str) -> str:
    """What messages call a file: the table's name where it is the only one."""
    return name if len(files) == 1 else name_of(file)


def is_table(name: str) -> bool:
    """Whether a file's name has the ending of a table."""
    try:
        format_of(name)
    except TableError:
        return False
    return True


def _refuse_mixture(path: str, files: list[str]) -> None:
    kinds = {format_of(file).kind: os.path.splitext(file.removesuffix(".gz"))[1] for file in files}
    if len(kinds) > 1:
        ending = next(iter(kinds.values()))
        folder = path if os.path.isdir(path) else os.path.dirname(path)
        raise TableError(
            f"{one_line(path)} holds {' and '.join(sorted(kinds))} files; name those of one format,"
            f" such as {one_line(os.path.join(folder, '*' + ending))}"
        )
