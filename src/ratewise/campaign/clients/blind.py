"""What a person sees of an item: nothing that tells what to expect, and nothing that the TOML does not show."""

from collections.abc import Mapping
from typing import Any

from ratewise.campaign.spec.raters import RaterSpec
from ratewise.campaign.spec.spec import Spec
from ratewise.raters.kinds import KINDS
from ratewise.raters.people import PeopleSettings
from ratewise.tables.blind import seen


def shown_item(spec: Spec, rater: RaterSpec, row: Mapping[str, Any], sides: str | None) -> dict[str, Any]:
    """The columns that people see, in order; the texts of a comparison as "a" and "b", by this person's sides."""
    settings = rater.settings
    assert isinstance(settings, PeopleSettings)
    out = {name: row.get(name) for name in _columns(spec, settings, row)}
    if settings.sides is not None:
        first, second = settings.sides if sides != "ba" else settings.sides[::-1]
        out |= {"a": row.get(first), "b": row.get(second)}
    return out


def _columns(spec: Spec, settings: PeopleSettings, row: Mapping[str, Any]) -> list[str]:
    both = set(settings.sides or ())
    if settings.show:
        return [name for name in settings.show if name not in both]
    return seen(row, hidden=telling(spec) | both)


def telling(spec: Spec) -> set[str]:
    """Columns that would tell what to expect: ids, other raters' ratings, their uncertainty, prices, old labels."""
    named = {rater.name for rater in spec.raters} | {spec.items.id or "id"}
    for rater in spec.raters:
        if rater.kind == "column":
            named |= set(KINDS[rater.kind].columns(rater.settings))
        if rater.price_column is not None:
            named.add(rater.price_column)
    if spec.start is not None:
        named |= {spec.start.labels, spec.start.drawn}
    return named | {name for name in (spec.items.uncertainty, spec.items.clusters) if name is not None}
