"""The head file beside the TOML: what a run has seen of the record, so that an older copy of the store is noticed.

A store that was put back from a backup does not know what was asked since, and would ask and pay for it again. The file
is written while a campaign runs, a few times a second, and at its end.
"""

import json
import os
from contextlib import suppress
from pathlib import Path

from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError
from ratewise.store.connection import damaged
from ratewise.store.queue import ANSWERED, MISSING
from ratewise.store.store import Store


def head_file(spec: Spec) -> Path | None:
    """The file; None where there is no TOML that it could lie beside."""
    return spec.path.with_name(f"{spec.path.stem}.head.json") if spec.path.is_file() else None


def asked(store: Store) -> int:
    """Questions that were brought to an end, by all raters."""
    ends = (f":{ANSWERED}", f":{MISSING}")
    return sum(number for name, number in store.counts().items() if name.endswith(ends))


def keep_head(spec: Spec, store: Store, asked: int) -> None:
    """Write down the record's head, and how many questions were asked so far, those under way among them."""
    path = head_file(spec)
    if path is None:
        return
    row = {"campaign": store.meta("campaign"), "head": store.head(), "asked": asked}
    with suppress(OSError):  # a full disk, or a folder that may not be written: an older head stays
        new = path.with_name(f"{path.name}.{os.getpid()}")
        new.write_text(json.dumps(row) + "\n", encoding="utf-8")
        os.replace(new, path)


def check_head(spec: Spec, store: Store, *, after_restore: bool) -> None:
    """Refuse a store whose record does not hold what was seen of it, unless that is meant; then it is written down."""
    seen = _seen(spec)
    if seen is None or seen[0] != store.meta("campaign") or store.holds(seen[1]):
        return
    if problems := store.damage():
        raise damaged(store.database.shown, problems[0])
    more = max(seen[2] - asked(store), 0)
    what = f"the store is at {store.head()[:12]}…, and {seen[1][:12]}… was seen of the same campaign"
    if not after_restore:
        raise InputError(
            f"{spec.path.name}: {what}: it is an older copy, or was rescued, and up to {more:,} questions may have "
            "been asked and paid since. Put the newer store back (with the file …-wal beside it); or go on from this "
            f"one, which asks them again under the same keys: ratewise run {spec.path.name} --after-restore"
        )
    store.note(f"went on from an older copy: {what}; up to {more:,} questions are asked again under the same keys")
    keep_head(spec, store, asked(store))


def unheld(spec: Spec, store: Store, *, anew: bool) -> list[str]:
    """What was seen of a campaign and is not in its rescued store, whose record is the old one or begins `anew`."""
    seen = _seen(spec)
    if seen is None or seen[0] != store.meta("campaign"):
        return []
    more = max(seen[2] - asked(store), 0)
    if more if anew else not store.holds(seen[1]):
        return [f"what was written last: {seen[1][:12]}… was seen of this campaign, and {more:,} more answers, perhaps"]
    return []


def _seen(spec: Spec) -> tuple[str, str, int] | None:
    """(campaign, head, questions asked) of the file; None where there is none that can be read."""
    path = head_file(spec)
    with suppress(OSError, ValueError, TypeError, KeyError, RecursionError):
        row = json.loads(path.read_bytes()) if path is not None else {}
        return str(row["campaign"]), str(row["head"]), int(row["asked"])
    return None
