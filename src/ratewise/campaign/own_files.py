"""The files that a campaign lives on: nothing that is written out may take their place."""

import os
from collections.abc import Iterator

from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError
from ratewise.raters.text import one_line

_BESIDE = ("", "-wal", "-shm", "-journal", ".lock")  # of a SQLite file


def check_output(spec: Spec, output: str | os.PathLike[str]) -> None:
    """Refuse a file of the campaign itself, whatever links lead to it."""
    target = os.fspath(output)
    if target == "-":
        return
    for path, what in _own(spec):
        if _same(path, target):
            raise InputError(f"{one_line(target)} is {what} of the campaign; name another file after -o")


def _own(spec: Spec) -> Iterator[tuple[str, str]]:
    yield str(spec.path), "the TOML"
    yield str(spec.table_path), "the table"
    stem = os.path.join(spec.folder, spec.path.stem)
    yield from ((stem + ending, "a file of answers") for ending in (".unsaved.jsonl", ".set-aside.jsonl"))
    if "://" not in spec.store:
        store = os.path.join(spec.folder, spec.store)
        yield from ((store + ending, "the store") for ending in _BESIDE)
        yield from ((os.path.realpath(store) + ending, "the store") for ending in _BESIDE)
    for rater in spec.raters:
        file = getattr(rater.settings, "file", None)
        if file is not None:
            yield os.path.join(spec.folder, file), "a recording"


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other) or (
        os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)
    )
