"""Verifies a campaign on a pool that stays where it is: the items must be its first ones, as they are there."""

from ratewise.campaign.items import Facts
from ratewise.campaign.load import contents_of, is_same, open_pool
from ratewise.campaign.seed import known_seed
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.verification import Verification
from ratewise.errors import RatewiseError
from ratewise.store import audit
from ratewise.store.store import Store

_ROWS = 1 << 15  # compared at a time


def check_pool(spec: Spec, store: Store, facts: Facts, found: Verification) -> None:
    """Draw the first items once more and compare their rows; a pool that is gone or has changed is only told of."""
    if facts.pool <= facts.items:
        return
    seed = known_seed(spec, store)
    there = "the seed is secret" if seed is None else _changed(spec, store)
    if there is not None:
        found.told.append(f"items were not compared with {spec.items.table}: {there}")
        return
    pool = open_pool(spec, seed=seed)
    if pool.rows != facts.pool:
        found.differ(f"{spec.items.table} has {pool.rows:,} rows, and the campaign began with {facts.pool:,}")
    stored = {
        row.id: row.content
        for first, end in audit.pieces(facts.items)
        for row in audit.item_contents(store, first, end)
    }  # fmt: skip
    column = spec.items.id or "id"
    for rows in pool.relation.scan(rows=_ROWS):
        for id, content in zip(rows.texts(column).tolist(), contents_of(rows), strict=True):
            if stored.get(id) != content:
                what = "is not stored" if id not in stored else "is stored otherwise"
                found.differ(f"item {id}: it is among the first {facts.items:,} of {spec.items.table}, and {what}")


def _changed(spec: Spec, store: Store) -> str | None:
    """Why the pool cannot be compared with; None where it can."""
    try:
        return None if is_same(spec.table_path, store.meta("digest")) else "it has changed since the campaign began"
    except (RatewiseError, OSError):
        return "it is not there"
