"""`verify`: replay a campaign from its seed and its log, and say where they differ.

Every random number, every round's policy, every rate, draw, price and total is computed again by the very functions
that ran the campaign, and compared with what is stored. Each round goes on from what is stored, so that one
difference does not make all later ones.
"""

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ratewise.campaign import decide as d
from ratewise.campaign.history import Looked, RoundPlan
from ratewise.campaign.money import shown
from ratewise.campaign.reader import Reader, empty_history
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.store import audit
from ratewise.campaign.store import schema as t
from ratewise.campaign.store.log import Store
from ratewise.campaign.store.records import RoundRow
from ratewise.core.draw import uniform

_CLOSE = 1e-7  # relative: another machine's linear algebra may round differently
_MOST_TOLD = 20


@dataclass(slots=True)
class Verification:
    """What was checked and what differs; nothing where all is as it should be."""

    items: int = 0
    rounds: int = 0
    draws: int = 0
    ratings: int = 0
    payments: int = 0
    differences: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def differ(self, what: str) -> None:
        """Note a difference."""
        self.differences.append(what)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"passed": self.passed, **{name: getattr(self, name) for name in self.__slots__}}

    def summary(self) -> str:
        """One line, and one more for each difference."""
        counted = (
            f"{self.items:,} items, {self.rounds} rounds, {self.draws:,} draws, {self.ratings:,} ratings and "
            f"{self.payments:,} payments checked"
        )
        if self.passed:
            return f"{counted}: nothing differs"
        told = self.differences[:_MOST_TOLD]
        more = len(self.differences) - len(told)
        return "\n".join(
            [f"{counted}: {len(self.differences)} differences", *told, *([f"and {more} more"] if more else [])]
        )


def verify_log(spec: Spec, store: Store, reader: Reader) -> Verification:
    """Check everything; the reader gives facts and terms."""
    found = Verification()
    _items(spec, store, reader, found)
    rounds = store.rounds()
    _rounds(spec, store, reader, rounds, found)
    _questions(spec, store, reader, found)
    _money(store, reader, found)
    return found


def _items(spec: Spec, store: Store, reader: Reader, found: Verification) -> None:
    """Random numbers are those of seed and id, and the order too."""
    last = -1.0
    for first, end in audit.pieces(reader.facts.items):
        rows = audit.item_keys(store, first, end)
        if [row.position for row in rows] != list(range(first, end)):
            found.differ(f"items {first} to {end - 1}: some are missing")
        ids = np.array([row.id for row in rows], dtype=object)
        right = uniform(ids, seed=spec.seed)
        for i in np.flatnonzero(right != np.array([row.uniform for row in rows])).tolist():
            found.differ(
                f"item {ids[i]}: random number {rows[i].uniform!r} is not that of seed and id ({float(right[i])!r})"
            )
        order = uniform(ids, seed=f"{spec.seed}:order")
        if np.any(np.diff(np.concatenate([[last], order])) < 0):
            found.differ(f"items {first} to {end - 1} are not in the order of the seed")
        last = float(order[-1])
        found.items += len(rows)


# Rounds


def _rounds(spec: Spec, store: Store, reader: Reader, rounds: Sequence[RoundRow], found: Verification) -> None:
    history = empty_history(spec, reader.facts, reader.terms)
    free = store.meta("goal changed") is not None
    for row in rounds:
        where = f"round {row.number}"
        if row.first != history.items or row.number != history.rounds + 1:
            found.differ(f"{where} starts with item {row.first}; {history.items} were looked at before it")
        spent = audit.settled_before(store, row.first)
        state = d.State(reader.terms, history, spent, None)
        _plan(state, row.plan, where, found, goal_may_differ=free)
        batches = store.batches(row.number)
        now = d.OpenRound(row.number, row.first, row.plan, batches, row.factor)
        _draws(reader, replace(reader, history=history), now, found)
        found.rounds += 1
        if row.items is None:
            break
        if now.end - now.first != row.items:
            found.differ(f"{where} has {row.items} items; its batches have {now.end - now.first}")
        history = history.joined(row.plan, row.factor, reader.looked(row.first, row.first + row.items))


def _plan(state: d.State, stored: RoundPlan, where: str, found: Verification, *, goal_may_differ: bool) -> None:
    money = d.money_left(state)
    if money != stored.left and not goal_may_differ:
        found.differ(f"{where} was planned with {shown(stored.left)} left; the ledger leaves {shown(money)}")
    terms = replace(state.terms, budget=stored.left + state.spent, wanted=replace(state.terms.wanted, target_se=None))
    again = d.next_plan(replace(state, terms=terms))
    if again is None:
        found.differ(f"{where} was planned where nothing is left to do")
        return
    for name in ("policy", "weak", "items", "spend"):
        a, b = getattr(stored, name), getattr(again, name)
        if a != b and not (name == "spend" and abs(a - b) <= 1 + _CLOSE * abs(b)):
            found.differ(f"{where}: {name} is {a}; computed again it is {b}")
    _rule(stored, again, where, found)


def _rule(stored: RoundPlan, again: RoundPlan, where: str, found: Verification) -> None:
    a, b = _flat(stored.rule.to_dict() if stored.rule else {}), _flat(again.rule.to_dict() if again.rule else {})
    a["own_rates"], b["own_rates"] = stored.own_rates.tolist(), again.own_rates.tolist()
    for name in sorted(a.keys() | b.keys()):
        if not _same(a.get(name), b.get(name)):
            found.differ(f"{where}: {name} of its rule is not what earlier rounds give")


def _flat(data: dict[str, Any], before: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for name, value in data.items():
        if isinstance(value, dict):
            out |= _flat(value, f"{before}{name}.")
        else:
            out[before + name] = value
    return out


def _same(a: Any, b: Any) -> bool:
    """Numbers up to rounding of another machine, by the size of the largest among them."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        if all(isinstance(x, int | float) for x in (*a, *b)):
            size = max((abs(float(x)) for x in b), default=0.0)
            return all(abs(float(x) - float(y)) <= _CLOSE * size for x, y in zip(a, b, strict=True))
        return all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_same(a[k], b[k]) for k in a)
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=_CLOSE, abs_tol=1e-300)
    return bool(a == b)


def _draws(reader: Reader, past: Reader, now: d.OpenRound, found: Verification) -> None:
    """Rates by the stored rule, draws by the stored rates."""
    where = f"round {now.number}"
    groups = [(now.first, now.end)] if now.plan.exact else [(b.first, b.end) for b in now.batches]
    at = now.first
    for first, end in groups:
        if first != at:
            found.differ(f"{where}: items {at} to {first - 1} were not taken up")
        at = end
        if end <= first or not all(b.drawn for b in now.batches if first <= b.first < end):
            continue
        looked = reader.looked(first, end)
        worst = reader.worst(first, end)
        again = d.draw_batch(past.history, now, looked, worst)
        _compare_draws(looked, again, first, where, found)
        _compare_cost(now, again, worst, first, end, where, found)


def _compare_draws(looked: Looked, again: d.Drawn, first: int, where: str, found: Verification) -> None:
    off = ~np.isclose(looked.rates, again.rates, rtol=_CLOSE, atol=0)
    for i, k in zip(*np.nonzero(off), strict=True):
        found.differ(f"{where}, item {first + i}: rate {looked.rates[i, k]!r} is not {again.rates[i, k]!r}")
    clear = again.selected if again.factor is not None else looked.uniform[:, None] < looked.rates
    if again.factor is None:
        clear = clear & again.selected.any(axis=0)  # steps that nobody asks, where strong ratings are bought alone
    for i, k in zip(*np.nonzero(clear != looked.selected), strict=True):
        said = "drawn" if looked.selected[i, k] else "not drawn"
        found.differ(f"{where}, item {first + i}: stored as {said}, which its random number and rate do not give")
    found.draws += looked.rates.size


def _compare_cost(
    now: d.OpenRound, again: d.Drawn, worst: Any, first: int, end: int, where: str, found: Verification
) -> None:
    steps = again.selected.shape[1]
    weak = int(worst[:, 0].sum()) if now.plan.weak else 0
    right = weak + int((worst[:, -steps:] * again.selected).sum())
    cost = sum(b.cost for b in now.batches if first <= b.first < end)
    if cost != right:
        found.differ(
            f"{where}, items {first} to {end - 1}: stored to cost {shown(cost)}; by their prices {shown(right)}"
        )
    if sum(b.cost for b in now.batches if b.drawn) > now.plan.spend:
        found.differ(f"{where} has bound more than its money")


# Questions, answers and payments


def _questions(spec: Spec, store: Store, reader: Reader, found: Verification) -> None:
    """Just what was drawn was asked for, answers are legal, and every call was paid for once."""
    rounds = store.rounds()
    for row in rounds:
        batches = store.batches(row.number)
        end = batches[-1].end if batches else row.first
        drawn_end = max((b.end for b in batches if b.drawn), default=row.first)
        for first in range(row.first, end, 10_000):
            last = min(first + 10_000, end)
            _piece(spec, store, reader, row, first, last, drawn_end, found)


def _piece(
    spec: Spec, store: Store, reader: Reader, row: RoundRow, first: int, end: int, drawn_end: int, found: Verification
) -> None:
    ratings = {(r.position, r.step): r for r in audit.rating_rows(store, first, end)}
    wanted = {(x.position, x.step) for x in audit.draw_rows(store, first, end) if x.selected}
    if row.plan.weak:
        wanted |= {(p, 0) for p in range(first, end)}
    for position, step in sorted(ratings.keys() - wanted):
        found.differ(f"item {position}: rater {step} was asked without having been drawn")
    for position, step in sorted(wanted - ratings.keys()):
        found.differ(f"item {position}: rater {step} was drawn and never asked")
    worst = reader.worst(first, end)
    paid = _payments(audit.ledger_rows(store, first, end))
    for (position, step), r in ratings.items():
        found.ratings += 1
        k = step if spec.steps > 1 else 0
        _rating(spec, row, r, k, found)
        _paid(r, paid.pop((position, step), {}), int(worst[position - first, k]), found)
    for position, step in paid:
        found.differ(f"item {position}: money moved for rater {step}, who was not asked")
    found.payments += sum(1 for _ in ratings)


def _rating(spec: Spec, row: RoundRow, r: Any, k: int, found: Verification) -> None:
    where = f"item {r.position}, rater {spec.raters[k].name!r}"
    if r.state == t.OPEN and row.items is not None:
        found.differ(f"{where}: no answer, though its round is closed")
    if (r.state == t.ANSWERED) != (r.value is not None):
        found.differ(f"{where}: its state does not fit its value")
    if r.value is not None:
        try:
            right = spec.scale.strong(r.value) if k == spec.steps - 1 else spec.scale.weak(r.value)
        except ValueError as error:
            found.differ(f"{where}: {error}")
        else:
            if right != r.value:
                found.differ(f"{where}: {r.value!r} is not on the scale")


def _payments(rows: Sequence[Any]) -> dict[tuple[int, int], dict[str, dict[int, list[int]]]]:
    """By question: kind → attempt → amounts."""
    out: dict[tuple[int, int], dict[str, dict[int, list[int]]]] = {}
    for row in rows:
        if row.step is not None:
            kinds = out.setdefault(
                (row.position, row.step), {"reserve": defaultdict(list), "settle": defaultdict(list)}
            )
            kinds[row.kind][row.attempt].append(row.amount)
    return out


def _paid(r: Any, kinds: dict[str, dict[int, list[int]]], worst: int, found: Verification) -> None:
    """Each attempt reserved once at its price and settled once; the last is open only while the question is."""
    where = f"item {r.position}, rater {r.step}"
    reserved, settled = kinds.get("reserve", {}), kinds.get("settle", {})
    if any(len(amounts) != 1 for amounts in (*reserved.values(), *settled.values())):
        found.differ(f"{where}: an attempt was paid twice")
    attempts = sorted(reserved)
    if attempts != list(range(1, len(attempts) + 1)) or not attempts:
        found.differ(f"{where}: attempts {attempts} are not one after the other")
    if any(amount != worst for amounts in reserved.values() for amount in amounts):
        found.differ(f"{where}: reserved at another price than {shown(worst)}")
    unsettled = [a for a in attempts if a not in settled]
    if unsettled != (attempts[-1:] if r.state == t.OPEN else []) or not settled.keys() <= reserved.keys():
        found.differ(f"{where}: reservations and payments do not match")


def _money(store: Store, reader: Reader, found: Verification) -> None:
    """The sums are the ledger's, and within the budget."""
    sums = audit.ledger_sums(store)
    reserved, spent = store.totals()
    if spent != sums.get("settle", 0):
        found.differ(f"{shown(spent)} are said to be spent; the ledger has {shown(sums.get('settle', 0))}")
    held = sums.get("hold", 0) - sums.get("unhold", 0)
    right = held + sums.get("reserve", 0) - audit.freed(store)
    if reserved != right or held < 0:
        found.differ(f"{shown(reserved)} are said to be reserved; the ledger has {shown(right)}")
    budget = reader.terms.budget
    if budget is not None and reserved + spent > budget:
        found.differ(f"{shown(reserved + spent)} are spent or reserved, more than the budget of {shown(budget)}")
