"""A table written piece by piece: into one file, or into a folder with a file for each piece."""

import os
import secrets
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import duckdb

from ratewise.errors import TableError
from ratewise.tables.engine import one_line, reason
from ratewise.tables.formats import WRITING, Format, format_of
from ratewise.tables.held import Array
from ratewise.tables.pieces import Piece, each
from ratewise.tables.write import join_parquet, move_to_end, replacing

Added = Callable[[Piece], Mapping[str, Array]]
"""The columns that are added to a piece."""


def is_folder(place: str) -> bool:
    """Whether a path to write is that of a folder: it ends like one, or is one and does not end like a table."""
    if place.endswith((os.sep, "/")):
        return True
    return os.path.isdir(place) and not os.path.splitext(place)[1]


def folder_of(place: str) -> str | None:
    """The folder that a path to write is in; none for standard output."""
    return None if place == "-" else os.path.dirname(os.path.realpath(place.rstrip("/" + os.sep) or place))


def check_place(place: str) -> None:
    """Refuse a place that cannot be written to, before long work is done for it."""
    if place == "-":
        return
    above = folder_of(place)
    if not is_folder(place):
        format_of(place, WRITING)
    elif os.path.isdir(place) and os.listdir(place):
        raise TableError(f"the folder {one_line(place)} holds files already; name a new or an empty one")
    if above is not None and not os.path.isdir(above):
        raise TableError(f"{one_line(place)} cannot be written: the folder {one_line(above)} does not exist")


def write_pieces(pieces: Sequence[Piece], added: Added, place: str) -> None:
    """The pieces with columns added, in their order; a folder gets Parquet files named part-00000.parquet and so on.

    File or folder, it is put in place when it is complete.
    """
    if place == "-":
        _to_standard_output(pieces, added)
    elif is_folder(place):
        _to_folder(pieces, added, place)
    else:
        with replacing(place) as temporary:
            _to_file(pieces, added, temporary, format_of(place, WRITING))


def _to_folder(pieces: Sequence[Piece], added: Added, place: str) -> None:
    with _new_folder(place) as folder:
        _write_each(pieces, added, folder, Format("Parquet"), ending=".parquet")


@contextmanager
def _new_folder(place: str) -> Iterator[str]:
    """A folder beside the target, which takes its place at the end; nothing is left of it on failure."""
    target = os.path.realpath(place)
    temporary = os.path.join(os.path.dirname(target), f".ratewise-{secrets.token_hex(8)}.tmp")
    try:
        os.mkdir(temporary)
        yield temporary
        os.replace(temporary, target)  # an empty folder may be there
    except (duckdb.Error, OSError, UnicodeError) as error:
        why = reason(error).replace(temporary, one_line(place))
        raise TableError(f"{one_line(place)} cannot be written: {why}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _to_standard_output(pieces: Sequence[Piece], added: Added) -> None:
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        whole = os.path.join(folder, "table")
        try:
            _to_file(pieces, added, whole, Format("CSV"))
            with open(whole, "rb") as file:
                shutil.copyfileobj(file, sys.stdout.buffer, 1 << 20)
            sys.stdout.buffer.flush()
        except (duckdb.Error, OSError) as error:
            raise TableError(f"standard output cannot be written: {reason(error)}") from error


def _to_file(pieces: Sequence[Piece], added: Added, path: str, form: Format) -> None:
    """Pieces of text follow each other, as compressed ones may; those of Parquet are put together at the end."""
    with tempfile.TemporaryDirectory(prefix=".ratewise-", dir=os.path.dirname(path)) as folder:
        parts = _write_each(pieces, added, folder, form, onto=None if form.kind == "Parquet" else path)
        if form.kind == "Parquet" and len(parts) == 1:
            os.replace(parts[0], path)
        elif form.kind == "Parquet":
            join_parquet(parts, path)


def _write_each(
    pieces: Sequence[Piece], added: Added, folder: str, form: Format, *, ending: str = "", onto: str | None = None
) -> list[str]:
    """A file for each piece; `onto` is the file they are put behind at once, where there is to be one."""
    paths = [os.path.join(folder, f"part-{number:05d}{ending}") for number in range(len(pieces))]
    number_of = {piece.first: number for number, piece in enumerate(pieces)}

    def write(piece: Piece) -> str:
        number = number_of[piece.first]
        piece.write(paths[number], form, added(piece), header=number == 0)
        return paths[number]

    for path in each(write, pieces):
        if onto is not None:
            move_to_end(path, onto)
    return paths
