"""Goes on with a campaign that has begun: what its TOML may still change, and what would invalidate the statistics."""

import json
import warnings
from contextlib import suppress
from decimal import Decimal

from ratewise.campaign.load import pays_for_all, stored_form
from ratewise.campaign.pool import is_same
from ratewise.campaign.raised import expected_of, reported
from ratewise.campaign.raters_seen import check_raters
from ratewise.campaign.seed import check_secret
from ratewise.campaign.spec.changes import changes
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.texts import book_texts
from ratewise.errors import InputError, RatewiseWarning, SpecError, StoreError
from ratewise.store.money import shown, to_units
from ratewise.store.store import Store


def check_going_on(spec: Spec, store: Store) -> None:
    """Refuse what would invalidate the statistics, with the reason."""
    old = stored_spec(spec, store)
    found = changes(old, spec)
    if found.refused:
        raise InputError(
            f"{spec.path.name} was changed in a way that a campaign under way cannot take: "
            f"{'; '.join(found.refused)}. Undo that, or begin another campaign under another name"
        )
    check_raters(spec, store)
    if not same_table(spec, store):
        raise InputError(
            f"{spec.items.table} has changed since the campaign began; items that may be drawn already "
            "cannot change. Put the old file back, or begin another campaign under another name"
        )
    bound, budget = sum(store.totals()), spec.goal.budget
    if budget is not None and budget != old.goal.budget and bound > to_units(budget):
        raise _below(budget, bound)


def take_changes(spec: Spec, store: Store) -> None:
    """Check the TOML, and write what changed in it into the store."""
    check_going_on(spec, store)
    store.upgrade()
    book_texts(spec, store)
    check_secret(spec, store)
    old = stored_spec(spec, store)
    if (old.goal, old.level) != (spec.goal, spec.level):
        _change_goal(spec, store, old)
    for sentence in changes(old, spec).taken:
        store.note(f"changed: {sentence}")
    set_cap(spec, store, old.goal.budget)
    store.set_meta("spec", stored_form(spec))


def _change_goal(spec: Spec, store: Store, old: Spec) -> None:
    """Write down that the goal was changed after looking; warn where more money is not expected to help."""
    before = reported(old, store)
    store.set_meta("goal changed", "after looking")
    store.set_meta("ended", None)
    found = expected_of(spec, store, before) if old.goal.budget != spec.goal.budget else None
    if found is not None:
        found.warn()
    prices = json.loads(store.meta("prices") or "[0]")
    if old.goal.budget != spec.goal.budget:
        warn_of_budget(store, pays_for_all(spec, int(store.meta("items") or 0), float(prices[-1])))


def warn_of_budget(store: Store, doubt: str | None) -> None:
    """Tell, before anything is bought, that a budget would rate the whole pool, and write it down."""
    if doubt is not None:
        store.note(doubt)
        warnings.warn(doubt, RatewiseWarning, stacklevel=2)


def set_cap(spec: Spec, store: Store, old: Decimal | None) -> None:
    """Write the budget into the store, where every process reads it."""
    budget = spec.goal.budget
    if not store.set_cap(_units(budget), was=_units(old)):
        raise _below(budget, sum(store.totals()))


def stored_spec(spec: Spec, store: Store) -> Spec:
    """The TOML as it was last taken in."""
    try:
        return Spec.from_dict(json.loads(store.meta("spec") or "{}"), spec.path)
    except SpecError as error:
        reason = error.mistakes[0]
        raise StoreError(
            f"the TOML that the campaign began with cannot be read back from its store ({reason})"
        ) from None


def edits(spec: Spec, stored: Spec, store: Store) -> tuple[str, ...]:
    """Sentences on what differs from the store: the TOML's keys, and the table."""
    found = changes(stored, spec)
    other = () if same_table(spec, store) else (f"{spec.items.table} is not the table that was loaded",)
    return (*found.taken, *found.refused, *other)


def same_table(spec: Spec, store: Store) -> bool:
    """Whether the table is the one that was loaded; one that is gone counts as the same, since nothing reads it."""
    with suppress(OSError):
        return is_same(spec.table_path, store.meta("digest"))
    return True


def _units(amount: Decimal | None) -> int | None:
    return None if amount is None else to_units(amount)


def _below(budget: Decimal | None, bound: int) -> InputError:
    return InputError(
        f"goal.budget of {budget} is below the {shown(bound)} that are spent or promised already; raise it"
    )
