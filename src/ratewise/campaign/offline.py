"""`verify` without the campaign's TOML: an exported record, a folder of exports, or a store by itself."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.export import FILES, RECORD, export_table
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.read import spec_of
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.verify import Verification
from ratewise.errors import InputError, SpecError
from ratewise.store.archive import FIRST_LINE, copied, store_of_record
from ratewise.store.store import Store

_SQLITE = b"SQLite format 3\0"


def verify_path(path: str, *, head: str | None = None) -> Verification:
    """By what the path is: a folder of exports, a record, a store, or else a campaign's TOML."""
    if os.path.isdir(path):
        return _folder(path, head)
    kind = _begins(path)
    if not kind.startswith((_SQLITE, FIRST_LINE.encode())):
        return Campaign.at(path).verify(head=head)
    with _opened(path, is_store=kind.startswith(_SQLITE)) as campaign:
        return campaign.verify(head=head)


def _begins(path: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(64)
    except OSError:
        return b""  # what is wrong with it is told by whoever reads it


def _folder(path: str, head: str | None) -> Verification:
    record = os.path.join(path, RECORD)
    if not os.path.isfile(record):
        raise InputError(f"{path} holds no {RECORD}; make it with: ratewise export CAMPAIGN.toml -o {path}")
    with _opened(record, is_store=False) as campaign, campaign.look() as now:
        found = now.verify(head)
        for file, name in FILES.items():
            if os.path.isfile(os.path.join(path, file)):
                _compare(now, os.path.join(path, file), name, found)
    return found


def _compare(now: Snapshot, file: str, table: str, found: Verification) -> None:
    """The table, exported again from the record: as it is, or with cells that are safe in a spreadsheet."""
    name, said = os.path.basename(file), Path(file).read_bytes().split(b"\n")
    forms = [_again(now, name, table, safe_cells=safe) for safe in (False, True)]
    if said in forms:
        return
    right = max(forms, key=lambda form: _same(said, form))  # the form that it was written in
    number = _same(said, right)
    if number < min(len(said), len(right)):
        found.differ(f"{name}, line {number + 1} is not what the record gives")
    else:
        found.differ(f"{name} has {len(said) - 1} lines; the record gives {max(len(right) - 1, 0)}")


def _same(said: list[bytes], right: list[bytes]) -> int:
    """Lines before the first one that differs."""
    pairs = enumerate(zip(said, right, strict=False))
    return next((i for i, (a, b) in pairs if a != b), min(len(said), len(right)))


def _again(now: Snapshot, name: str, table: str, *, safe_cells: bool) -> list[bytes]:
    """The lines of a table by the record; none where it has no rows."""
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        path = os.path.join(folder, name)
        try:
            export_table(now, path, table, safe_cells=safe_cells)
        except InputError:
            return []
        return Path(path).read_bytes().split(b"\n")


@contextmanager
def _opened(path: str, *, is_store: bool) -> Iterator[Campaign]:
    """A copy, with the settings that it holds itself."""
    with ExitStack() as held:
        folder = held.enter_context(tempfile.TemporaryDirectory(prefix="ratewise-"))
        if is_store:
            copy = copied(path, folder)
        else:
            copy = os.path.join(folder, "record.sqlite")
            store_of_record(path, copy)
        spec = _spec(copy, Path(path).absolute())
        yield Campaign(spec)


def _spec(copy: str, path: Path) -> Spec:
    store = Store.at(copy, "", "")
    try:
        text = store.meta("spec") if store.exists() else None
    finally:
        store.close()
    try:
        return spec_of({**json.loads(text or "{}"), "store": copy}, path)
    except (SpecError, ValueError) as error:
        raise InputError(f"{path.name} holds no settings of a campaign that can be read ({error})") from None
