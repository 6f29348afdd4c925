"""`verify` without the campaign's TOML: an exported record, a folder of exports, or a store by itself."""

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.taking_out import RECORD, TABLES, export_table
from ratewise.campaign.verification import Verification
from ratewise.errors import InputError, SpecError
from ratewise.queue.archive import FIRST_LINE, store_of_record
from ratewise.queue.copies import copied
from ratewise.queue.store import Store

_SQLITE = b"SQLite format 3\0"


def verify_path(path: str, *, head: str | None = None) -> Verification:
    """Verify whatever lies at the path: a folder of exports, a record, a store, or else a campaign's TOML."""
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
        for name, which in TABLES.items():
            if os.path.isfile(os.path.join(path, name)):
                _compare(now, os.path.join(path, name), which, found)
    return found


def _compare(now: Snapshot, file: str, which: dict[str, bool], found: Verification) -> None:
    """Compare a table with the one exported again from the record."""
    name = os.path.basename(file)
    with tempfile.TemporaryDirectory(prefix="ratewise-") as folder:
        again = os.path.join(folder, name)
        try:
            export_table(now, again, **which)
            right = Path(again).read_bytes().split(b"\n")
        except InputError:
            right = []
    said = Path(file).read_bytes().split(b"\n")
    for number, (a, b) in enumerate(zip(said, right, strict=False), start=1):
        if a != b:
            found.differ(f"{name}, line {number} is not what the record gives")
            return
    if len(said) != len(right):
        found.differ(f"{name} has {len(said) - 1} lines; the record gives {max(len(right) - 1, 0)}")


@contextmanager
def _opened(path: str, *, is_store: bool) -> Iterator[Campaign]:
    """A copy of the store, opened with the settings it holds itself."""
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
        return Spec.from_dict({**json.loads(text or "{}"), "store": copy}, path)
    except (SpecError, ValueError) as error:
        raise InputError(f"{path.name} holds no settings of a campaign that can be read ({error})") from None
