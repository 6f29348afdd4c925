"""`verify`: replay a campaign from its seed and its log, and say where they differ.

Every random number, every round's policy, every rate, draw, price and total is computed again by the very functions
that ran the campaign, and compared with what is stored. Each round goes on from what is stored, so that one
difference does not make all later ones.
"""

import json
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ratewise.campaign import planner as d
from ratewise.campaign.by_reference import check_pool
from ratewise.campaign.cost import check_quotes
from ratewise.campaign.history import History, Looked, RoundPlan
from ratewise.campaign.items import LoggedItems, empty_history, later_raters
from ratewise.campaign.learner import check_refits
from ratewise.campaign.log import Reader, Round
from ratewise.campaign.past import Past
from ratewise.campaign.planner.draw import drawn_together, holdings, new_batch, new_draws
from ratewise.campaign.raters import is_quoted
from ratewise.campaign.receipts import END, check_money, check_questions
from ratewise.campaign.recorded import check_chain
from ratewise.campaign.rereading import check_answers
from ratewise.campaign.seed import DIGEST, REVEALED, digest_of, known_seed
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.spec.tables import SecretSeed
from ratewise.campaign.strata import Inputs
from ratewise.campaign.verification import Verification, telling
from ratewise.core.checks import Floats
from ratewise.core.draw import uniform
from ratewise.store import audit
from ratewise.store.money import shown, to_units
from ratewise.store.store import Store

_CLOSE = 1e-7  # relative: another machine's linear algebra may round differently


def verify_log(
    spec: Spec, store: Store, items: LoggedItems, reader: Reader, *, head: str | None = None
) -> Verification:
    """Check everything; the reader gives terms and rounds. Whatever is wrong in the log is reported, never raised."""
    found = Verification()
    rounds: list[Round] = []
    whole = False
    with telling("the file", found):
        for problem in store.damage():
            found.differ(f"the database says of itself: {problem}")
    check_chain(store, head, found)
    with telling("the items", found):
        whole = _items(spec, store, items, found)
    with telling("the pool", found):
        check_pool(spec, store, items.facts, found)
    with telling("the prices", found):
        _prices(spec, store, items, found)
    with telling("the rounds", found):
        rounds = reader.rounds()
    if whole:
        _rounds(spec, store, items, reader, rounds, found)
    check_questions(spec, store, items, rounds, found)
    with telling("the answers", found):
        check_answers(spec, store, items, found)
    with telling("the ledger", found):
        check_money(store, reader.terms.budget, found)
    return found


def _items(spec: Spec, store: Store, items: LoggedItems, found: Verification) -> bool:
    """Check random numbers and order against seed and ids, and whether all items are there."""
    seed, last, whole = _seed(spec, store, found), -2.0, True
    turns: list[Floats] = []
    for first, end in audit.pieces(items.facts.items):
        rows = audit.item_keys(store, first, end)
        if [row.position for row in rows] != list(range(first, end)):
            found.differ(f"items {first} to {end - 1}: {end - first - len(rows)} are missing")
            whole = False
        found.items += len(rows)
        if not rows or seed is None:
            continue
        ids = np.array([row.id for row in rows], dtype=object)
        right = uniform(ids, seed=seed)
        for i in np.flatnonzero(right != np.array([row.uniform for row in rows], dtype=np.float64)).tolist():
            found.differ(
                f"item {ids[i]}: random number {rows[i].uniform!r} is not that of seed and id ({float(right[i])!r})"
            )
        order = uniform(ids, seed=f"{seed}:order")
        turns.append(order)
        if items.facts.start is not None:
            order = order + 2.0 * items.facts.start.group(_old_labels(spec, store, items, first, end, found))
        if items.facts.inputs is None and np.any(np.diff(np.concatenate([[last], order])) < 0):
            found.differ(f"items {first} to {end - 1} are not in the order of the seed")
        last = float(order[-1])
    if whole and turns and items.facts.inputs is not None:
        _strata(store, items, items.facts.inputs, np.concatenate(turns), found)
    if audit.item_keys(store, items.facts.items, END):
        found.differ(f"there are more than {items.facts.items} items")
    return whole


def _old_labels(
    spec: Spec, store: Store, items: LoggedItems, first: int, end: int, found: Verification
) -> Floats:  # fmt: skip
    """Check old labels against the items' rows and their ratings; returns the old labels."""
    old = items.known(first, end)
    assert old is not None
    assert spec.start is not None
    for row, stored in zip(audit.item_contents(store, first, end), old.tolist(), strict=True):
        said = json.loads(row.content)[spec.start.labels]
        blank = said is None or not str(said).strip()
        right = math.nan if blank else spec.rating(len(spec.raters) - 1, said)
        if not (stored == right or (math.isnan(stored) and math.isnan(right))):
            found.differ(f"item {row.id}: its label from before is stored as {stored!r}, and its row says {right!r}")
    for r in audit.rating_rows(store, first, end):
        known = old[r.position - first] if r.step == later_raters(spec) else math.nan
        if not math.isnan(known) and r.value != known:
            found.differ(f"item {r.position}: rated {r.value!r}, though its label from before is {known!r}")
    return old


def _seed(spec: Spec, store: Store, found: Verification) -> int | str | None:
    """The seed; `None` for a secret that is not known here, and then a note says what is not checked."""
    seed, revealed = known_seed(spec, store), store.meta(REVEALED)
    if revealed is not None and digest_of(revealed) != store.meta(DIGEST):
        found.differ("the seed that was revealed is not the one whose SHA-256 was stored at the start")
    elif seed is None and isinstance(spec.seed, SecretSeed):
        found.told.append(f"random numbers were not checked: the seed is secret; set ${spec.seed.env} to check them")
    return seed


def _strata(store: Store, items: LoggedItems, inputs: Inputs, turns: Floats, found: Verification) -> None:
    """Check each item's stratum against its row, and the order against quotas and seed."""
    parts = []
    for first, end in audit.pieces(items.facts.items):
        code = items.looked(first, end).strata
        assert code is not None
        parts.append(code)
        for row, s in zip(audit.item_contents(store, first, end), code.tolist(), strict=True):
            said = json.loads(row.content)[inputs.column]
            if inputs.names[s] != str(said):
                found.differ(f"item {row.id}: stored as of stratum {inputs.names[s]!r}, and its row says {said!r}")
    code = np.concatenate(parts)
    if tuple(np.bincount(code, minlength=len(inputs.names)).tolist()) != inputs.sizes:
        found.differ("the sizes of the strata are not those of their items")
    if not np.array_equal(inputs.order(code, turns), np.arange(code.size)):
        found.differ("the items are not in the order of their strata's shares and the seed")


def _prices(spec: Spec, store: Store, items: LoggedItems, found: Verification) -> None:
    """The mean prices that rounds are planned with."""
    sums = np.zeros(len(spec.raters))
    own = any(rater.price is None for rater in spec.raters)
    for first, end in audit.pieces(items.facts.items if own else 0):
        sums += np.array([json.loads(text or "[]") for text in store.item_prices(first, end)], dtype=np.float64).sum(0)
    for k, rater in enumerate(spec.raters):
        if is_quoted(rater):
            check_quotes(spec, store, items.facts, k, found)
            continue
        right = sums[k] / items.facts.items if rater.price is None else float(to_units(rater.price))
        if not math.isclose(right, items.facts.prices[k], rel_tol=1e-9, abs_tol=1e-6):
            found.differ(f"rater {rater.name!r}: mean price {items.facts.prices[k]!r} is not that of its items")


# Rounds


def _rounds(
    spec: Spec, store: Store, items: LoggedItems, reader: Reader, rounds: Sequence[Round], found: Verification
) -> None:
    past = Past(reader, [empty_history(spec, items.facts, reader.terms)], [])
    free = store.meta("goal changed") is not None
    known = {closed.round.number: closed.history for closed in reader.closed}  # of this look, with their fits
    for row in rounds:
        where = f"round {row.number}"
        found.rounds += 1
        with telling(where, found):
            for said in past.misfits(row):
                found.differ(f"{where} {said}")
            _plan(past.state_before(row, store), row.plan, where, found, goal_may_differ=free)
        now = reader.opened(row)
        with telling(where, found):
            if row.plan.again:
                _second_look(store, items, past.drawn_on, now, found)
            else:
                _batches(store, items, now, found, closed=row.items is not None)
                _draws(items, past.drawn_on, now, found)
        if row.items is not None and now.end - now.first != row.items:
            found.differ(f"{where} has {row.items} items; its batches have {now.end - now.first}")
        with telling(where, found):
            past.add(row, now, known.get(row.number))
    with telling("the refits", found):
        check_refits(store, past.closed, found)


def _plan(state: d.State, stored: RoundPlan, where: str, found: Verification, *, goal_may_differ: bool) -> None:
    purse = d.money_left(state)
    if not goal_may_differ and (purse.aims != stored.aims or not _near(purse.left, stored.left, exact=not purse.aims)):
        found.differ(f"{where} was planned with {shown(stored.left)} left; the ledger leaves {shown(purse.left)}")
    again = d.next_plan(state, d.Purse(stored.left, stored.aims))
    if again is None:
        found.differ(f"{where} was planned where nothing is left to do")
        return
    for name in ("policy", "weak", "items", "spend", "look", "expected_se", "design", "trial", "hopes"):
        a, b = getattr(stored, name), getattr(again, name)
        if not (_near(a, b) if name == "spend" else _same(a, b)):
            found.differ(f"{where}: {name} is {a}; computed again it is {b}")
    _rule(stored, again, where, found)


def _near(a: int, b: int, *, exact: bool = False) -> bool:
    """Whether two amounts are equal up to rounding of floats."""
    return a == b or (not exact and abs(a - b) <= 1 + _CLOSE * abs(b))


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
    """Whether numbers are equal up to another machine's rounding, relative to the largest."""
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


def _batches(store: Store, items: LoggedItems, now: d.OpenRound, found: Verification, *, closed: bool) -> None:
    """Check that batches follow each other within the round's money, and each hold was given back once."""
    where, at, later = f"round {now.number}", now.first, later_raters(items.spec)
    if any(not 0 <= b.first <= b.end <= items.facts.items for b in now.batches):
        found.differ(f"{where} has taken up items that are not there; there are {items.facts.items:,}")
        return
    for b in now.batches:
        if b.first != at or b.end <= b.first:
            found.differ(f"{where}: items {at} to {b.first - 1} were not taken up")
        at = b.end
        if closed and not b.drawn:
            found.differ(f"{where}: items {b.first} to {b.end - 1} were not drawn, though it is closed")
        stages = now.plan.stages(later)
        if not b.drawn and audit.draw_rows(store, b.first, b.end) and b.steps not in {s.stop for s in stages[:-1]}:
            found.differ(f"{where}: items {b.first} to {b.end - 1} have draws, though they are not drawn")
        if not b.drawn and b.cost != new_batch(now, b.first, items.worst(b.first, b.end)).cost:
            found.differ(
                f"{where}, items {b.first} to {b.end - 1}: stored to cost {shown(b.cost)}, not by their prices"
            )
    stored = [
        (row.position, row.amount if row.kind == "hold" else -row.amount)
        for row in audit.ledger_rows(store, now.first, now.end)
        if row.step is None
    ]
    if sorted(stored) != sorted(holdings(now, items.worst, lambda first, end: items.looked(first, end).selected)):
        found.differ(f"{where}: the money held for its items and given back is not what they could cost")
    if sum(b.cost for b in now.batches) > now.plan.spend:
        found.differ(f"{where} has bound more than its money")


def _draws(items: LoggedItems, past: History, now: d.OpenRound, found: Verification) -> None:
    """Check rates against the stored rule, and draws against the stored rates."""
    where = f"round {now.number}"
    for first, end in drawn_together(now):
        if end <= first:
            continue
        looked, worst = items.looked(first, end), items.worst(first, end)
        again = d.draw_batch(past, now, looked, worst)
        _compare_draws(looked, again, first, where, found)
        right = sum(cost for _, cost in new_draws(now, first, again, worst).costs)
        cost = sum(b.cost for b in now.batches if first <= b.first < end)
        if cost != right:
            found.differ(
                f"{where}, items {first} to {end - 1}: stored to cost {shown(cost)}; by their prices {shown(right)}"
            )
        if not _same(now.factor, again.factor):
            found.differ(f"{where}: the factor of its rates is {now.factor!r}, not {again.factor!r}")


def _second_look(store: Store, items: LoggedItems, past: History, now: d.OpenRound, found: Verification) -> None:
    """Check that items passed over were drawn again by the stored rule and the hash of their random numbers."""
    where, stored = f"round {now.number}", store.again(now.plan.again)
    if not stored.positions.size:
        return
    again = d.second_draw(past, now, items.worst(0, past.items))
    found.draws += stored.positions.size
    if not np.array_equal(stored.positions, again.rows.positions):
        found.differ(f"{where}: the items drawn again are not those that were passed over")
        return
    for i in np.flatnonzero(~np.isclose(stored.rates, again.rows.rates, rtol=_CLOSE, atol=0)).tolist():
        position = stored.positions[i]
        found.differ(f"{where}, item {position}: rate {stored.rates[i]!r} is not {again.rows.rates[i]!r}")
    for i in np.flatnonzero(stored.selected != again.rows.selected).tolist():
        said = "drawn" if stored.selected[i] else "not drawn"
        position = stored.positions[i]
        found.differ(f"{where}, item {position}: stored as {said} again, which its random number and rate do not give")
    if not _same(now.factor, again.factor):
        found.differ(f"{where}: the factor of its rates is {now.factor!r}, not {again.factor!r}")


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
