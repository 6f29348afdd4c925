"""Raters that were trained on labels: what they have seen may not be an item of the campaign."""

from ratewise.campaign.content import plain_rows
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError
from ratewise.raters.kinds import KINDS
from ratewise.tables import Relation

_ROWS = 1 << 13


def refuse_known(spec: Spec, relation: Relation, id_column: str | None) -> None:
    """Refuse items that a rater was trained on: it knows their ratings, and would look better than it is."""
    for rater in spec.raters:
        made = KINDS[rater.kind].knows
        if made is None:
            continue
        knows, found, first, count = made(rater.settings, str(spec.folder)), 0, "", 0
        for rows in relation.scan(rows=_ROWS):
            for row in plain_rows(rows):
                id = None if id_column is None else str(row[id_column])
                if knows(id, row):
                    found, first = found + 1, first or (id if id is not None else str(count))
                count += 1
        if found:
            raise InputError(
                f"rater {rater.name!r} was trained on {found:,} of {count:,} items of {relation.name} (the first is "
                f"{first!r}; the id, the text or nearly the text), so that it knows their ratings; leave them out"
            )
