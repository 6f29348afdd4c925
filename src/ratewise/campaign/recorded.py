"""`verify`, the part about the record: its chain, its head, and the tables beside it."""

from ratewise.campaign.verification import Verification, telling
from ratewise.store.replay import check_record, read_head
from ratewise.store.store import Log


def check_chain(store: Log, head: str | None, found: Verification) -> None:
    """Check the record against the tables, and against a head that somebody kept."""
    if head is not None:
        read_head(head)  # one that is none is the caller's mistake, not the store's
    with telling("the record", found):
        checked = check_record(store, head)
        found.head, found.entries, found.anchored = checked.head, checked.entries, checked.anchored
        found.unrecorded = checked.before
        for problem in checked.problems:
            found.differ(problem)
