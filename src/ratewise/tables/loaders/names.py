"""What the names of a table's columns must be, whatever the format."""

from collections import Counter
from collections.abc import Iterable, Sequence

from ratewise.errors import TableError


def different(names: list[str], table: str) -> list[str]:
    """The names, if there is one at least and no two are the same."""
    if not names:
        raise TableError(f"{table} has no columns; there is nothing to work on")
    if len(set(names)) < len(names):
        raise TableError(f"{table} has two columns with the name {repeated(names)!r}; rename one")
    return names


def repeated(names: Iterable[str]) -> str:
    """A name that is there twice."""
    return Counter(names).most_common(1)[0][0]


def refuse_other_columns(files: Sequence[tuple[str, list[str]]]) -> None:
    """Files that are one table have the same columns, in any order; each is given with its name."""
    (first, names), *others = files
    for file, found in others:
        odd = sorted(set(names) ^ set(found))
        if odd:
            has, lacks = (first, file) if odd[0] in names else (file, first)
            raise TableError(f"{lacks} has no column {odd[0]!r}, which {has} has; add it, or leave the file out")
