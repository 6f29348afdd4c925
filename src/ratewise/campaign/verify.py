"""`verify`: replay a campaign from its seed and its log, and say where they differ.

Every random number, every round's policy, every rate, draw, price and total is computed again by the very functions
that ran the campaign, and compared with what is stored. Each round goes on from what is stored, so that one
difference does not make all later ones.
"""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ratewise.campaign import planner as d
from ratewise.campaign import planner as p
from ratewise.campaign.history import History, Looked, RoundPlan
from ratewise.campaign.items import Facts, LoggedItems, empty_history, later_raters
from ratewise.campaign.load import contents_of, is_same, open_pool
from ratewise.campaign.log import Reader, Round, with_open
from ratewise.campaign.planner.draw import drawn_together, holdings, new_batch, new_draws
from ratewise.campaign.planner.outcomes import hourly, rater_of
from ratewise.campaign.raters import StoreMemory, as_stored, is_quoted, quote_of, rule_of
from ratewise.campaign.seed import DIGEST, REVEALED, digest_of, known_seed
from ratewise.campaign.spec.spec import RaterSpec, SecretSeed, Spec
from ratewise.campaign.strata import Inputs
from ratewise.core.checks import Floats
from ratewise.core.draw import uniform
from ratewise.core.result import shown as with_repr
from ratewise.errors import RatewiseError
from ratewise.raters.kind import Reread
from ratewise.raters.kinds import KINDS
from ratewise.raters.people import PeopleSettings
from ratewise.raters.text import one_line
from ratewise.store import audit
from ratewise.store.desk import Vote
from ratewise.store.money import shown, to_units
from ratewise.store.queue import ANSWERED, CHECK, MISSING, OPEN, TEXTS, UNCHECK, UNDO
from ratewise.store.replay import check_record, read_head
from ratewise.store.store import Store

_MOST_TOLD = 20


@with_repr
@dataclass(slots=True)
class Verification:
    """What was checked and what differs; nothing where all is as it should be."""

    items: int = 0
    rounds: int = 0
    draws: int = 0
    ratings: int = 0
    payments: int = 0
    head: str = ""  # of the record as it is
    entries: int = 0  # of the record
    anchored: int | None = None  # the entry whose head was given: everything up to it is what it was then
    unrecorded: int = 0  # rounds that are older than the record
    told: list[str] = field(default_factory=list)  # what is worth knowing and no difference
    differences: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        """Whether nothing differs."""
        return not self.differences

    def differ(self, what: str) -> None:
        """Note a difference."""
        self.differences.append(what)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return {"passed": self.passed, **{name: getattr(self, name) for name in self.__slots__}}

    def __str__(self) -> str:
        return "\n".join(self._verdict())

    def summary(self) -> str:
        """One line, one more for each difference, and what is to be said about the record."""
        return "\n".join([*self._verdict(), *self._about_the_record()])

    def _verdict(self) -> list[str]:
        counted = (
            f"{self.items:,} items, {self.rounds} rounds, {self.draws:,} draws, {self.ratings:,} ratings and "
            f"{self.payments:,} payments checked"
        )
        if self.passed:
            return [f"{counted}: nothing differs"]
        told = self.differences[:_MOST_TOLD]
        more = len(self.differences) - len(told)
        head = f"{counted}: {_counted(len(self.differences))}"
        return [head, *told, *([f"and {more} more"] if more else [])]

    def _about_the_record(self) -> list[str]:
        """What the given head proves, the present head, and other notes."""
        lines = list(self.told)
        if self.unrecorded:
            lines.append(
                f"rounds 1 to {self.unrecorded} were begun before there was a record: a change from before that moment "
                "is found only where replaying finds it"
            )
        if self.anchored is not None:
            later = self.entries - self.anchored
            after = f"; {later} entries were written after it" if later else ""
            lines.append(f"the head is that of entry {self.anchored} of the record{after}")
        return [*lines, *([f"head of the record: {self.head}"] if self.head else [])]


@contextmanager
def telling(where: str, found: Verification) -> Iterator[None]:
    """Report what cannot be read or computed as a difference."""
    try:
        with np.errstate(all="ignore"):
            yield
    except (ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        found.differ(f"{where} cannot be replayed: {one_line(str(error)) or type(error).__name__}")


def _counted(differences: int) -> str:
    return "1 difference" if differences == 1 else f"{differences} differences"


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
    sums = store.ledger_sums()
    reserved, spent = store.totals()
    beside = sums.get(CHECK, 0) - sums.get(UNCHECK, 0) + sums.get(TEXTS, 0)  # which belongs to no item
    paid = sums.get("settle", 0) - sums.get(UNDO, 0) + beside
    if spent != paid:
        found.differ(f"{shown(spent)} are said to be spent; the ledger has {shown(paid)}")
    held = sums.get("hold", 0) - sums.get("unhold", 0)
    right = held + sums.get("reserve", 0) - store.freed()
    if reserved != right or held < 0:
        found.differ(f"{shown(reserved)} are said to be reserved; the ledger has {shown(right)}")
    if budget is not None and reserved + spent > budget + store.overrun():
        found.differ(f"{shown(reserved + spent)} are spent or reserved, more than the budget of {shown(budget)}")


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


def check_chain(store: Store, head: str | None, found: Verification) -> None:
    """Check the record against the tables, and against a head that somebody kept."""
    if head is not None:
        read_head(head)  # one that is none is the caller's mistake, not the store's
    with telling("the record", found):
        checked = check_record(store, head)
        found.head, found.entries, found.anchored = checked.head, checked.entries, checked.anchored
        found.unrecorded = checked.before
        for problem in checked.problems:
            found.differ(problem)


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


@dataclass(slots=True, eq=False)
class Past:
    """What was known after each round that is closed, and all rounds so far."""

    reader: Reader
    closed: list[History]  # after no round, the first, the second, …
    rounds: list[p.OpenRound]

    @property
    def drawn_on(self) -> History:
        """All rounds so far as the next one's draws see them: those that are still open without answers."""
        known = self.closed[-1]
        return with_open(known, self.rounds[known.rounds :], self.reader.items)

    def misfits(self, row: Round) -> Iterator[str]:
        """What cannot be right about a round's place and what it says it was learned from."""
        at = self.rounds[-1].end if self.rounds else 0
        if row.first != at or row.number != len(self.rounds) + 1:
            yield f"starts with item {row.first}; {at} were looked at before it"
        if row.items is not None and len(self.closed) < row.number:
            yield "is closed, though one before it is not"
        if not 0 <= row.plan.look < len(self.closed):
            yield f"says that it was learned from {row.plan.look} rounds; {len(self.closed) - 1} are closed before it"
        if bool(row.plan.people) != (row.plan.look < row.number - 1):
            yield f"was learned from {row.plan.look} rounds, with {row.plan.people} people at work meanwhile"

    def state_before(self, row: Round, store: Store) -> p.State:
        """The state that a round was planned from: closed rounds, and those that were open without their answers."""
        known, terms, items = self.closed[row.plan.look], self.reader.terms, self.reader.items
        spent = store.settled_before(known.items, known.again)
        worst = items.worst(row.first, min(row.first + p.BATCH, terms.pool))
        failed = store.failed_before(known.items)
        state = p.State(terms, known, spent, None, worst=worst, failed=failed)
        if not row.plan.people:
            return state
        opened = self.rounds[known.rounds :]
        overlap = p.Overlap(known, sum(each.cost for each in opened), row.plan.people)
        taken = with_open(known, opened, items)
        return p.State(terms, taken, spent + overlap.cost, None, worst=worst, failed=failed, overlap=overlap)

    def add(self, row: Round, now: p.OpenRound, known: History | None) -> None:
        """One more round; `known` is what was known after it, where it is there already."""
        self.rounds.append(now)
        if row.items is not None:
            self.closed.append(known or self.reader.taken_in(self.closed[-1], row))


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


def check_quotes(spec: Spec, store: Store, facts: Facts, k: int, found: Verification) -> None:
    """Check that every item is priced by its text, at the prices that the campaign began with."""
    rater = spec.raters[k]
    try:
        quote = quote_of(spec, rater, StoreMemory(store, rater.name, k))
    except RatewiseError as error:
        found.told.append(f"prices of rater {rater.name!r} were not computed again: {error}")
        return
    assert quote is not None
    sums = 0
    for first, end in audit.pieces(facts.items):
        stored = [json.loads(text or "[]") for text in store.item_prices(first, end)]
        for row, prices in zip(audit.item_contents(store, first, end), stored, strict=True):
            usual, most = quote.of(json.loads(row.content))
            sums += to_units(usual)
            if prices[k] != to_units(most):
                found.differ(f"item {row.position}, rater {rater.name!r}: its price is not that of its text")
    if not math.isclose(sums / facts.items, facts.prices[k], rel_tol=1e-9, abs_tol=1e-6):
        found.differ(f"rater {rater.name!r}: mean price {facts.prices[k]!r} is not that of its items")


def check_refits(store: Store, closed: Sequence[History], found: Verification) -> None:
    """Check that each refit is of rounds that are closed, of their labels, and of all items; `closed` is by rounds."""
    items = int(store.meta("items") or 0)
    for number in store.refit_rounds():
        refit, where = store.refit(number), f"the refit after round {number}"
        if not 0 < number < len(closed):
            found.differ(f"{where} is of a round that is not closed")
            continue
        seen = closed[number].seen
        labels = 0 if seen is None else int(np.count_nonzero(seen.labelled))
        if refit.labels != labels:
            found.differ(f"{where} says that it was trained on {refit.labels} labels; there were {labels}")
        if refit.predictions.size != items:
            found.differ(f"{where} is of {refit.predictions.size} items; there are {items}")
