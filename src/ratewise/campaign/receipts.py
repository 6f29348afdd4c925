"""`verify`, the part about questions: just what was drawn was asked for, and every call was paid for once."""

from collections.abc import Sequence
from typing import Any

from ratewise.campaign.items import LoggedItems, later_raters
from ratewise.campaign.log import Round
from ratewise.campaign.planner.outcomes import hourly, rater_of
from ratewise.campaign.raters import rule_of
from ratewise.campaign.spec.raters import RaterSpec
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.verification import Verification, telling
from ratewise.raters.kinds import KINDS
from ratewise.raters.people import PeopleSettings
from ratewise.store import audit
from ratewise.store.desk import Vote
from ratewise.store.money import shown
from ratewise.store.queue import ANSWERED, CHECK, OPEN, TEXTS, UNCHECK, UNDO
from ratewise.store.store import Store

END = 2**31 - 1  # beyond every position
Payments = dict[str, dict[int, list[int]]]  # kind → attempt → amounts


def check_questions(spec: Spec, store: Store, items: LoggedItems, rounds: Sequence[Round], found: Verification) -> None:
    """Check that exactly the drawn items were asked for, answers are legal, and every call was paid once."""
    at = 0
    for row in rounds:
        with telling(f"round {row.number}", found):
            batches = store.batches(row.number)
            end = min(max((b.end for b in batches), default=row.first), items.facts.items)
            for first in range(row.first, end, 10_000):
                _piece(spec, store, items, row, first, min(first + 10_000, end), found)
            at = max(at, end)
    tables = (
        ("asked", audit.rating_rows), ("drawn", audit.draw_rows), ("paid for", audit.ledger_rows),
        ("answered", audit.answer_rows),
    )  # fmt: skip
    for name, rows in tables:
        for row in (*rows(store, -END, 0), *rows(store, at, END)):
            found.differ(f"item {row.position}: {name}, though no round has taken it up")


def _piece(spec: Spec, store: Store, items: LoggedItems, row: Round, first: int, end: int, found: Verification) -> None:
    ratings = {(r.position, r.step): r for r in audit.rating_rows(store, first, end)}
    wanted = {(x.position, x.step) for x in audit.draw_rows(store, first, end) if x.selected}
    second = {(x.position, later_raters(spec)) for x in audit.again_rows(store, first, end) if x.selected}
    wanted |= second
    if row.plan.asks_first:
        wanted |= {(p, 0) for p in range(first, end)}
    for position, step in sorted(ratings.keys() - wanted):
        found.differ(f"item {position}: rater {step} was asked without having been drawn")
    for position, step in sorted(wanted - ratings.keys()):
        found.differ(f"item {position}: rater {step} was drawn and never asked")
    worst = items.worst(first, end)
    paid = _payments(audit.ledger_rows(store, first, end))
    votes = _votes(audit.answer_rows(store, first, end))
    for (position, step), r in ratings.items():
        found.ratings += 1
        with telling(f"item {position}, rater {step}", found):
            k = rater_of(spec, step)
            _rating(spec, row, r, k, found, second=(position, step) in second)
            said, money = votes.pop((position, step), []), paid.pop((position, step), {})
            _settled(r, said, spec.raters[k], found)
            _by_the_hour(r, said, money, spec.raters[k], found)
            _paid(r, money, int(worst[position - first, k]), spec.raters[k], found)
    for position, step in votes:
        found.differ(f"item {position}: somebody answered for rater {step}, who was not asked")
    for position, step in paid:
        found.differ(f"item {position}: money moved for rater {step}, who was not asked")


def _rating(spec: Spec, row: Round, r: Any, k: int, found: Verification, *, second: bool) -> None:
    where = f"item {r.position}, rater {spec.raters[k].name!r}"
    if r.state == OPEN and row.items is not None and not second:
        found.differ(f"{where}: no answer, though its round is closed")
    if (r.state == ANSWERED) != (r.value is not None):
        found.differ(f"{where}: its state does not fit its value")
    if r.value is not None:
        try:
            right = spec.rating(k, r.value)
        except ValueError as error:
            found.differ(f"{where}: {error}")
        else:
            if right != r.value:
                found.differ(f"{where}: {r.value!r} is not on the scale")


def _votes(rows: Sequence[Any]) -> dict[tuple[int, int], list[Vote]]:
    """The votes of each question."""
    out: dict[tuple[int, int], list[Vote]] = {}
    for row in rows:
        out.setdefault((row.position, row.step), []).append(Vote(row.annotator, row.value, seconds=row.seconds))
    return out


def _settled(r: Any, votes: Sequence[Vote], rater: RaterSpec, found: Verification) -> None:
    """Check a rating by people against their votes; one that was given up may lack some, a process has none."""
    if not isinstance(rater.settings, PeopleSettings) or not votes:
        return
    verdict = rule_of(rater.settings)(votes)
    if verdict is None and r.state == ANSWERED:
        found.differ(f"item {r.position}, rater {rater.name!r}: rated, though only {len(votes)} people have answered")
    if verdict is not None and (r.state == OPEN or verdict.value != r.value):
        found.differ(f"item {r.position}, rater {rater.name!r}: {r.value!r} is not what the people's answers come to")


def _by_the_hour(r: Any, votes: Sequence[Vote], kinds: Payments, rater: RaterSpec, found: Verification) -> None:
    """Check that people who are paid by the hour were paid for the seconds that they took."""
    settings, settled = rater.settings, kinds.get("settle", {})
    if not isinstance(settings, PeopleSettings) or settings.per_hour is None or not votes or r.state == OPEN:
        return
    right, paid = hourly(settings).pay(vote.seconds for vote in votes), settled.get(max(settled, default=0), [])
    if r.value is not None and paid != [right]:
        found.differ(
            f"item {r.position}, rater {rater.name!r}: paid {', '.join(map(shown, paid))}; its seconds come to "
            f"{shown(right)}"
        )


def _payments(rows: Sequence[Any]) -> dict[tuple[int, int], Payments]:
    """The payments of each question."""
    out: dict[tuple[int, int], Payments] = {}
    for row in rows:
        if row.step is not None:
            kinds = out.setdefault((row.position, row.step), {})
            kinds.setdefault(row.kind, {}).setdefault(row.attempt, []).append(row.amount)
    return out


def _paid(r: Any, kinds: Payments, worst: int, rater: RaterSpec, found: Verification) -> None:
    """Check that each attempt was reserved once and settled once; the last may be open while the question is."""
    where = f"item {r.position}, rater {rater.name!r}"
    reserved, settled = kinds.get("reserve", {}), kinds.get("settle", {})
    found.payments += len(settled)
    undone = kinds.get(UNDO, {})
    if kinds.keys() - {"reserve", "settle", UNDO}:
        found.differ(f"{where}: the ledger has rows of an unknown kind")
    if any(amounts != settled.get(attempt) for attempt, amounts in undone.items()):
        found.differ(f"{where}: more or less was taken back than was paid")
    if any(len(amounts) != 1 for amounts in (*reserved.values(), *settled.values())):
        found.differ(f"{where}: an attempt was paid twice")
    attempts = sorted(reserved)
    if attempts != list(range(1, len(attempts) + 1)) or not attempts:
        found.differ(f"{where}: attempts {attempts} are not one after the other")
    if any(amount != worst for amounts in reserved.values() for amount in amounts):
        found.differ(f"{where}: reserved at another price than {shown(worst)}")
    unsettled = [a for a in attempts if a not in settled]
    if unsettled != (attempts[-1:] if r.state == OPEN else []) or not settled.keys() <= reserved.keys():
        found.differ(f"{where}: reservations and payments do not match")
    good = len(settled) - r.attempts  # calls that did not fail
    if good not in ({0} if r.state == OPEN else {1} if r.state == ANSWERED else {0, 1}):
        found.differ(f"{where}: {r.attempts} failed calls do not fit {len(settled)} payments")
    if KINDS[rater.kind].flat_price(rater.settings) and rater.max_price in (None, rater.price) and good == 1:
        last = settled.get(max(settled, default=0), [worst])
        if last != [worst]:
            found.differ(
                f"{where}: paid {', '.join(map(shown, last))}; a {rater.kind} costs its price of {shown(worst)}"
            )


def check_money(store: Store, budget: int | None, found: Verification) -> None:
    """Check that the sums are the ledger's, and within the budget."""
    sums = audit.ledger_sums(store)
    reserved, spent = store.totals()
    beside = sums.get(CHECK, 0) - sums.get(UNCHECK, 0) + sums.get(TEXTS, 0)  # which belongs to no item
    paid = sums.get("settle", 0) - sums.get(UNDO, 0) + beside
    if spent != paid:
        found.differ(f"{shown(spent)} are said to be spent; the ledger has {shown(paid)}")
    held = sums.get("hold", 0) - sums.get("unhold", 0)
    right = held + sums.get("reserve", 0) - audit.freed(store)
    if reserved != right or held < 0:
        found.differ(f"{shown(reserved)} are said to be reserved; the ledger has {shown(right)}")
    if budget is not None and reserved + spent > budget + audit.overrun(store):
        found.differ(f"{shown(reserved + spent)} are spent or reserved, more than the budget of {shown(budget)}")
