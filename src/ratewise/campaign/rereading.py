"""`verify`, the part about answers that can be looked up: columns and recordings are read again and compared."""

import json
from typing import Any

from ratewise.campaign.items import LoggedItems
from ratewise.campaign.planner.outcomes import rater_of
from ratewise.campaign.raters import as_stored
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.verification import Verification, telling
from ratewise.errors import RatewiseError
from ratewise.raters.kind import Reread
from ratewise.raters.kinds import KINDS
from ratewise.store import audit
from ratewise.store.queue import ANSWERED, MISSING
from ratewise.store.store import Store

_GIVEN_UP = "given up"  # how the note of a question begins that was not asked to its end


def check_answers(spec: Spec, store: Store, items: LoggedItems, found: Verification) -> None:
    """Check that every rating by a column or a recording is one that it gives."""
    sources = {k: source for k in range(len(spec.raters)) if (source := _source(spec, store, k, found)) is not None}
    if not sources:
        return
    for first, end in audit.pieces(items.facts.items):
        rows = [r for r in audit.rating_rows(store, first, end) if rater_of(spec, r.step) in sources]
        contents = {r.position: r for r in audit.item_contents(store, first, end)} if rows else {}
        for row in rows:
            k = rater_of(spec, row.step)
            with telling(f"item {row.position}, rater {spec.raters[k].name!r}", found):
                item = contents[row.position]
                said = sources[k](item.id, json.loads(item.content))
                _compare(spec, k, row, [_number(spec, k, raw) for raw in said or ()], found)


def _source(spec: Spec, store: Store, k: int, found: Verification) -> Reread | None:
    """The source of a rater's answers; `None` where they cannot be looked up, with a note if they should be."""
    rater = spec.raters[k]
    make = KINDS[rater.kind].reread
    if make is None:
        return None
    if not as_stored(spec, rater, store):
        found.told.append(f"answers of rater {rater.name!r} were not read again: where they come from has changed")
        return None
    try:
        return make(rater.settings, str(spec.folder))
    except RatewiseError as error:
        found.told.append(f"answers of rater {rater.name!r} were not read again: {error}")
        return None


def _number(spec: Spec, k: int, raw: object) -> float | None:
    """The answer as a number; `None` where it is no rating."""
    try:
        return None if raw is None else spec.rating(k, raw)
    except ValueError:
        return None


def _compare(spec: Spec, k: int, row: Any, said: list[float | None], found: Verification) -> None:
    rater = spec.raters[k]
    where = f"item {row.position}, rater {rater.name!r}"
    if row.state == ANSWERED and row.value not in said:
        found.differ(f"{where}: {row.value!r} is stored; the {_WORDS[rater.kind]} says {_shown(said)}")
    given_up = str(row.note or "").startswith(_GIVEN_UP)
    if row.state == MISSING and said and None not in said and not given_up:
        found.differ(f"{where}: stored as missing; the {_WORDS[rater.kind]} says {_shown(said)}")


_WORDS = {"column": "column", "recorded": "recording"}


def _shown(said: list[float | None]) -> str:
    return " or ".join("nothing" if x is None else repr(x) for x in dict.fromkeys(said)) or "nothing"
