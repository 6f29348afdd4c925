"""`verify`: replay a campaign from its seed and its log, and say where they differ.

Every random number, every round's policy, every rate, draw, price and total is computed again by the very functions
that ran the campaign, and compared with what is stored. Each round goes on from what is stored, so that one
difference does not make all later ones.
"""

import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ratewise.campaign import planner as p
from ratewise.campaign.draws import draw_batch, draws_made, new_batch, second_draw
from ratewise.campaign.history import History
from ratewise.campaign.items import LoggedItems, empty_history
from ratewise.campaign.load import contents_of, is_same, open_pool
from ratewise.campaign.log import Reader
from ratewise.campaign.outcomes import hourly
from ratewise.campaign.raters import StoreMemory, as_stored, quote_of, rule_of
from ratewise.campaign.seed import DIGEST, REVEALED, digest_of, known_seed
from ratewise.campaign.spec.spec import SecretSeed, Spec
from ratewise.campaign.strata import Inputs
from ratewise.core.checks import Floats
from ratewise.core.draw import uniform
from ratewise.core.result import Result, fields_in_json
from ratewise.design.rounds import RoundDraw
from ratewise.errors import RatewiseError, StoreError
from ratewise.questions.strata import Codes
from ratewise.raters.kind import RaterSpec, Reread
from ratewise.raters.text import one_line
from ratewise.store import audit
from ratewise.store.desk import Vote
from ratewise.store.money import shown, to_units
from ratewise.store.queue import ANSWERED, CHECK, MISSING, OPEN, TEXTS, UNCHECK, UNDO, Batch
from ratewise.store.replay import check_record, read_head
from ratewise.store.store import Store
from ratewise.tables import read_table

UNREADABLE = (
    ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError
)  # fmt: skip
_MOST_TOLD = 20
_CLOSE = 1e-7  # relative: another machine's linear algebra may round differently
_END = 2**31 - 1  # beyond every position
_PIECE = 10_000  # items whose questions are checked at a time
_ROWS = 1 << 15  # of a pool, compared at a time
_GIVEN_UP = "given up"  # how the note of a question begins that was not asked to its end
_Payments = dict[str, dict[int, list[int]]]  # kind → attempt → amounts


@dataclass(slots=True, repr=False)
class Verification(Result):
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
        return not self.differences

    def differ(self, what: str) -> None:
        self.differences.append(what)

    def to_dict(self) -> dict[str, Any]:
        return {"passed": self.passed, **fields_in_json(self)}

    def summary(self) -> str:
        """One line, one more for each difference, and what is to be said about the record."""
        counted = (
            f"{self.items:,} items, {self.rounds} rounds, {self.draws:,} draws, {self.ratings:,} ratings and "
            f"{self.payments:,} payments checked"
        )
        count, more = len(self.differences), len(self.differences) - _MOST_TOLD
        found = "nothing differs" if self.passed else f"{count} difference{'' if count == 1 else 's'}"
        lines = [f"{counted}: {found}", *self.differences[:_MOST_TOLD], *([f"and {more} more"] if more > 0 else [])]
        lines += self.told
        if self.unrecorded:
            lines.append(
                f"rounds 1 to {self.unrecorded} were begun before there was a record: a change from before that moment "
                "is found only where replaying finds it"
            )
        if self.anchored is not None:
            later = self.entries - self.anchored
            after = f"; {later} entries were written after it" if later else ""
            lines.append(f"the head is that of entry {self.anchored} of the record{after}")
        return "\n".join([*lines, *([f"head of the record: {self.head}"] if self.head else [])])

    @contextmanager
    def telling(self, where: str) -> Iterator[None]:
        """Report what cannot be read or computed as a difference."""
        try:
            with np.errstate(all="ignore"):
                yield
        except (*UNREADABLE, StoreError) as error:
            if isinstance(error, StoreError) and error.may_pass:
                raise
            self.differ(f"{where} cannot be replayed: {one_line(str(error)) or type(error).__name__}")


def check_chain(store: Store, head: str | None, found: Verification) -> None:
    """Check the record against the tables, and against a head that somebody kept."""
    if head is not None:
        read_head(head)  # one that is none is the caller's mistake, not the store's
    with found.telling("the record"):
        checked = check_record(store, head)
        found.head, found.entries, found.anchored = checked.head, checked.entries, checked.anchored
        found.unrecorded = checked.before
        found.differences += checked.problems


def verify_log(spec: Spec, store: Store, reader: Reader, *, head: str | None = None) -> Verification:
    """Check everything; the reader gives terms and rounds. Whatever is wrong in the log is reported, never raised."""
    assert isinstance(reader.items, LoggedItems)
    look = _Replay(spec, store, reader.items, reader)
    with look.found.telling("the file"):
        for problem in store.damage():
            look.differ(f"the database says of itself: {problem}")
    check_chain(store, head, look.found)
    checks: tuple[tuple[str, Callable[[], None]], ...] = (
        ("the items", look.items_and_order), ("the pool", look.pool), ("the prices", look.prices),
        ("the plans", look.plans), ("the questions", look.questions), ("the answers", look.answers),
        ("the ledger", look.money),
    )  # fmt: skip
    for where, check in checks:
        with look.found.telling(where):
            check()
    return look.found


class _Replay:
    """One look at a whole log, check by check; `found` says what differs."""

    closed: list[History]  # what was known after no round, the first, the second, …

    def __init__(self, spec: Spec, store: Store, items: LoggedItems, reader: Reader) -> None:
        self.spec, self.store, self.items, self.reader = spec, store, items, reader
        self.found = Verification()
        self.whole = False  # whether all items are there
        self.opened: list[p.Round] = []  # all rounds so far, whether or not they are closed

    def differ(self, what: str) -> None:
        self.found.differ(what)

    @cached_property
    def pieces(self) -> list[tuple[int, int]]:
        return list(audit.pieces(self.items.facts.items))

    @cached_property
    def rounds(self) -> list[p.Round]:
        return self.reader.rounds()

    # Items

    def items_and_order(self) -> None:
        """All items are there, with the random numbers and the order that seed, ids and their rows give."""
        facts, seed, turns = self.items.facts, self._seed(), []
        self.whole = True
        for first, end in self.pieces:
            rows = audit.item_keys(self.store, first, end)
            if [row.position for row in rows] != list(range(first, end)):
                self.differ(f"items {first} to {end - 1}: {end - first - len(rows)} are missing")
                self.whole = False
            self.found.items += len(rows)
            if not rows or seed is None:
                continue
            ids = np.array([row.id for row in rows], dtype=object)
            names = ids if self.spec.together is None else self._prompts(first, end)
            right = uniform(names, seed=seed)
            for i in np.flatnonzero(right != np.array([row.uniform for row in rows], dtype=np.float64)).tolist():
                given, of_seed = rows[i].uniform, float(right[i])
                self.differ(f"item {ids[i]}: random number {given!r} is not that of seed and id ({of_seed!r})")
            turns.append(uniform(names, seed=f"{seed}:order"))
        self._places()
        if self.whole and turns:
            turn, how = np.concatenate(turns), "the seed"
            order = np.argsort(turn, kind="stable")
            if facts.start is not None:
                order = facts.start.order(np.concatenate([self._old_labels(*span) for span in self.pieces]), turn)
            if facts.inputs is not None:
                order, how = facts.inputs.order(self._strata(facts.inputs), turn), "their strata's shares and the seed"
            if not np.array_equal(order, np.arange(turn.size)):
                self.differ(f"the items are not in the order of {how}")
        if audit.item_keys(self.store, facts.items, _END):
            self.differ(f"there are more than {facts.items} items")

    def _prompts(self, first: int, end: int) -> Any:
        """What rows are drawn by where all of the same prompt are drawn together."""
        rows = audit.item_contents(self.store, first, end)
        return np.array([_text(json.loads(row.content)[self.spec.together]) for row in rows], dtype=object)

    def _places(self) -> None:
        """Each item stands in the question where its row says."""
        asked = self.items.facts.question
        if not asked.grouped:
            return
        counted = np.zeros(len(asked.sizes), dtype=np.int64)
        for first, end in self.pieces:
            rows = [json.loads(row.content) for row in audit.item_contents(self.store, first, end)]
            right = asked.place(read_table({c: [_text(row[c]) for row in rows] for c in asked.columns}))
            stored = self.items.looked(first, end).x.place
            assert right is not None
            assert stored is not None
            counted += np.bincount(right[:, 0].astype(np.intp), minlength=counted.size)
            for i in np.flatnonzero(right[:, 0] != stored[:, 0]).tolist():
                self.differ(f"item {first + i}: where it stands in the question is not what its row says")
        if tuple(counted.tolist()) != asked.sizes:
            self.differ("the sizes of the question's groups are not those of their items")

    def _seed(self) -> int | str | None:
        """The seed; `None` for a secret that is not known here, and then a note says what is not checked."""
        seed, revealed = known_seed(self.spec, self.store), self.store.meta(REVEALED)
        if revealed is not None and digest_of(revealed) != self.store.meta(DIGEST):
            self.differ("the seed that was revealed is not the one whose SHA-256 was stored at the start")
        elif seed is None and isinstance(self.spec.seed, SecretSeed):
            self.found.told.append(
                f"random numbers were not checked: the seed is secret; set ${self.spec.seed.env} to check them"
            )
        return seed

    def _old_labels(self, first: int, end: int) -> Floats:
        """Old labels, checked against the items' rows and their ratings."""
        old, start = self.items.known(first, end), self.spec.start
        assert old is not None
        assert start is not None
        for row, stored in zip(audit.item_contents(self.store, first, end), old.tolist(), strict=True):
            said = json.loads(row.content)[start.labels]
            blank = said is None or not str(said).strip()
            right = math.nan if blank else self.spec.rating_of(self.spec.steps[-1], said)
            if not (stored == right or (math.isnan(stored) and math.isnan(right))):
                self.differ(f"item {row.id}: its label from before is stored as {stored!r}, and its row says {right!r}")
        for r in audit.rating_rows(self.store, first, end):
            known = old[r.position - first] if r.step == self.spec.steps[-1] else math.nan
            if not math.isnan(known) and r.value != known:
                self.differ(f"item {r.position}: rated {r.value!r}, though its label from before is {known!r}")
        return old

    def _strata(self, inputs: Inputs) -> Codes:
        """The number of each item's stratum, checked against its row."""
        parts = []
        for first, end in self.pieces:
            code = self.items.looked(first, end).strata
            assert code is not None
            parts.append(code)
            for row, s in zip(audit.item_contents(self.store, first, end), code.tolist(), strict=True):
                said = json.loads(row.content)[inputs.column]
                if inputs.names[s] != str(said):
                    self.differ(f"item {row.id}: stored as of stratum {inputs.names[s]!r}, and its row says {said!r}")
        found = np.concatenate(parts)
        if tuple(np.bincount(found, minlength=len(inputs.names)).tolist()) != inputs.sizes:
            self.differ("the sizes of the strata are not those of their items")
        return found

    def pool(self) -> None:
        """The items are the first ones of a pool that stays where it is; one that has changed is only told of."""
        facts, table, seed = self.items.facts, self.spec.items.table, known_seed(self.spec, self.store)
        if facts.pool <= facts.items:
            return
        there = "the seed is secret"
        if seed is not None:
            try:
                same = is_same(self.spec.table_path, self.store.meta("digest"))
                there = "" if same else "it has changed since the campaign began"
            except (RatewiseError, OSError):
                there = "it is not there"
        if there:
            self.found.told.append(f"items were not compared with {table}: {there}")
            return
        relation, pool = open_pool(self.spec, seed=seed)
        if pool != facts.pool:
            self.differ(f"{table} has {pool:,} rows, and the campaign began with {facts.pool:,}")
        stored = {row.id: row.content for row in audit.walk(audit.item_contents, self.store, facts.items)}
        for rows in relation.scan(rows=_ROWS):
            for id, content in zip(rows.texts(self.spec.items.id or "id").tolist(), contents_of(rows), strict=True):
                if stored.get(id) != content:
                    what = "is not stored" if id not in stored else "is stored otherwise"
                    self.differ(f"item {id}: it is among the first {facts.items:,} of {table}, and {what}")

    def prices(self) -> None:
        """The mean prices that rounds are planned with are those of the items, or of their texts."""
        facts, raters = self.items.facts, self.spec.raters
        quotes, sums = {}, np.zeros(len(raters))
        for k, rater in enumerate(raters):
            try:
                quotes[k] = quote_of(self.spec, rater, StoreMemory(self.store, rater.name, k))
            except RatewiseError as error:
                self.found.told.append(f"prices of rater {rater.name!r} were not computed again: {error}")
        for first, end in self.pieces if any(rater.price is None for rater in raters) else ():
            listed = [json.loads(text or "[]") for text in self.store.item_prices(first, end)]
            sums += np.array(listed, dtype=np.float64).sum(0)
            for k, quote in quotes.items():
                if quote is None:
                    continue
                for row, prices in zip(audit.item_contents(self.store, first, end), listed, strict=True):
                    usual, most = quote.of(json.loads(row.content))
                    sums[k] += to_units(usual) - prices[k]
                    if prices[k] != to_units(most):
                        self.differ(f"item {row.position}, rater {raters[k].name!r}: its price is not that of its text")
        for k in quotes:
            price = raters[k].price
            right = sums[k] / facts.items if price is None else float(to_units(price))
            if not math.isclose(right, facts.prices[k], rel_tol=1e-9, abs_tol=1e-6):
                self.differ(f"rater {raters[k].name!r}: mean price {facts.prices[k]!r} is not that of its items")

    # Rounds

    def plans(self) -> None:
        """Each round was planned, drawn and closed as the rounds before it say; each model was trained on labels."""
        if not self.whole:
            return
        self.closed = [empty_history(self.spec, self.items.facts, self.reader.terms)]
        known = {each.rounds: each for each in self.reader.closed}  # of this look, with their fits
        for row in self.rounds:
            where = f"round {row.number}"
            self.found.rounds += 1
            with self.found.telling(where):
                self._plan(row, where)
            now = self.reader.opened(row)
            with self.found.telling(where):
                (self._second_look if row.plan.again else self._drawn)(now, where)
            if row.items is not None and now.end - now.first != row.items:
                self.differ(f"{where} has {row.items} items; its batches have {now.end - now.first}")
            with self.found.telling(where):
                self.opened.append(now)
                if row.items is not None:
                    self.closed.append(known.get(row.number) or self.reader.taken_in(self.closed[-1], row))
        with self.found.telling("the refits"):
            self._refits()

    def _plan(self, row: p.Round, where: str) -> None:
        """The round has its place, and its plan is what the planner gives for the rounds before it."""
        plan, at, closed = row.plan, self.opened[-1].end if self.opened else 0, len(self.closed) - 1
        if row.first != at or row.number != len(self.opened) + 1:
            self.differ(f"{where} starts with item {row.first}; {at} were looked at before it")
        if row.items is not None and closed + 1 < row.number:
            self.differ(f"{where} is closed, though one before it is not")
        if not 0 <= plan.look <= closed:
            self.differ(f"{where} says that it was learned from {plan.look} rounds; {closed} are closed before it")
        if bool(plan.people) != (plan.look < row.number - 1):
            self.differ(f"{where} was learned from {plan.look} rounds, with {plan.people} people at work meanwhile")
        known, terms = self.closed[plan.look], self.reader.terms
        opened = self.opened[known.rounds :] if plan.people else []
        out = sum(each.cost for each in opened)
        state = p.State(
            terms, self.reader.with_open(known, opened), self.store.settled_before(known.items, known.again) + out,
            self.items.worst(row.first, min(row.first + p.BATCH, terms.pool)),
            failed=self.store.failed_before(known.items), closed=known if plan.people else None, out=out,
            people=plan.people,
        )  # fmt: skip
        begun = p.draft(state)
        same = begun.aims == plan.aims and _near(begun.left, plan.left, exact=not begun.aims)
        if not same and self.store.meta("goal changed") is None:
            self.differ(f"{where} was planned with {shown(plan.left)} left; the ledger leaves {shown(begun.left)}")
        again = p.next_plan(state, replace(begun, left=plan.left, spend=plan.left, aims=plan.aims))
        if again is None:
            self.differ(f"{where} was planned where nothing is left to do")
            return
        said, right = (_flat(json.loads(one.to_json())) for one in (plan, again))
        for name in sorted(said.keys() | right.keys()):
            a, b = said.get(name), right.get(name)
            if not (_near(plan.spend, again.spend) if name == "spend" else _same(a, b)):
                values = "" if isinstance(a, list) or isinstance(b, list) else f": {a}, and not {b}"
                self.differ(f"{where}: {name} is not what earlier rounds give{values}")

    def _drawn(self, now: p.Round, where: str) -> None:
        """Batches follow each other within the round's money, rates are the rule's, and draws those of the rates."""
        if any(not 0 <= b.first <= b.end <= self.items.facts.items for b in now.batches):
            self.differ(f"{where} has taken up items that are not there; there are {self.items.facts.items:,}")
            return
        at, moved = now.first, []
        past = self.reader.with_open(self.closed[-1], self.opened[self.closed[-1].rounds :])
        for group in now.groups:
            first, end = group[0].first, group[-1].end
            looked, worst = self.items.looked(first, end), self.items.worst(first, end)
            for b in group:
                if b.first != at or b.end <= b.first:
                    self.differ(f"{where}: items {at} to {b.first - 1} were not taken up")
                at = b.end
                new = new_batch(now, b.first, worst[b.first - first : b.end - first])
                moved.append((b.first, new.hold))
                if not b.drawn:
                    self._undrawn(now, b, new.cost, where)
            stored = RoundDraw(looked.rates, looked.selected, now.factor)
            moved += [(first, -made.release) for made in draws_made(now, group, stored, worst)]
            if end <= first or not all(b.drawn for b in group):
                continue
            right = draw_batch(past, now, looked, worst)
            cost, listed = sum(b.cost for b in group), draws_made(now, group, right, worst)[-1].costs
            if cost != sum(each for _, each in listed):
                what = f"stored to cost {shown(cost)}; by their prices {shown(sum(each for _, each in listed))}"
                self.differ(f"{where}, items {first} to {end - 1}: {what}")
            if right.factor is None:  # draws are those of the stored rates, of steps that somebody asks
                asked = (looked.uniform[:, None] < looked.rates) & right.asked.any(axis=0)
                right = replace(right, asked=asked)
            self._compare(where, range(first, end), stored, right)
        rows = [row for row in audit.ledger_rows(self.store, now.first, now.end) if row.step is None]
        if sorted((row.position, row.amount if row.kind == "hold" else -row.amount) for row in rows) != sorted(moved):
            self.differ(f"{where}: the money held for its items and given back is not what they could cost")
        if now.left < 0:
            self.differ(f"{where} has bound more than its money")

    def _undrawn(self, now: p.Round, b: Batch, cost: int, where: str) -> None:
        """A batch that waits for its first ratings, or of a chain for those of a step."""
        here, stages = f"items {b.first} to {b.end - 1}", now.plan.stages(self.spec.steps[-1])
        if now.items is not None:
            self.differ(f"{where}: {here} were not drawn, though it is closed")
        if audit.draw_rows(self.store, b.first, b.end) and b.steps not in {stage.stop for stage in stages[:-1]}:
            self.differ(f"{where}: {here} have draws, though they are not drawn")
        if b.cost != cost:
            self.differ(f"{where}, {here}: stored to cost {shown(b.cost)}, not by their prices")

    def _second_look(self, now: p.Round, where: str) -> None:
        """Items passed over were drawn again by the stored rule and the hash of their random numbers."""
        stored, known = self.store.again(now.plan.again), self.closed[-1]
        if not stored.positions.size:
            return
        again = second_draw(known, now, self.items.worst(0, known.items))
        if not np.array_equal(stored.positions, again.positions):
            self.differ(f"{where}: the items drawn again are not those that were passed over")
            return
        made, right = (
            RoundDraw(rows.rates[:, None], rows.selected[:, None], factor)
            for rows, factor in ((stored, now.factor), (again, again.factor))
        )
        self._compare(where, stored.positions.tolist(), made, right, how=" again")

    def _compare(
        self, where: str, positions: Sequence[int], stored: RoundDraw, right: RoundDraw, how: str = ""
    ) -> None:
        """Stored rates and draws against what they should be."""
        off = ~np.isclose(stored.rates, right.rates, rtol=_CLOSE, atol=0)
        for i, k in zip(*np.nonzero(off), strict=True):
            self.differ(f"{where}, item {positions[i]}: rate {stored.rates[i, k]!r} is not {right.rates[i, k]!r}")
        for i, k in zip(*np.nonzero(stored.asked != right.asked), strict=True):
            said = f"{'drawn' if stored.asked[i, k] else 'not drawn'}{how}"
            self.differ(f"{where}, item {positions[i]}: stored as {said}, which its random number and rate do not give")
        if not _same(stored.factor, right.factor):
            self.differ(f"{where}: the factor of its rates is {stored.factor!r}, not {right.factor!r}")
        self.found.draws += stored.rates.size

    def _refits(self) -> None:
        """Each refit is of rounds that are closed, of their labels, and of all items."""
        items = self.items.facts.items
        for number in self.store.refit_rounds():
            refit, where = self.store.refit(number), f"the refit after round {number}"
            if not 0 < number < len(self.closed):
                self.differ(f"{where} is of a round that is not closed")
                continue
            seen = self.closed[number].seen
            labels = 0 if seen is None else int(np.count_nonzero(seen.labelled))
            if refit.labels != labels:
                self.differ(f"{where} says that it was trained on {refit.labels} labels; there were {labels}")
            if refit.predictions.size != items:
                self.differ(f"{where} is of {refit.predictions.size} items; there are {items}")

    # Questions and money

    def questions(self) -> None:
        """Exactly the drawn items were asked for, answers are legal, and every call was paid once."""
        at = 0
        for row in self.rounds:
            with self.found.telling(f"round {row.number}"):
                batches = self.store.batches(row.number)
                end = min(max((b.end for b in batches), default=row.first), self.items.facts.items)
                for first in range(row.first, end, _PIECE):
                    self._questions_of(row, first, min(first + _PIECE, end))
                at = max(at, end)
        tables = {
            "asked": audit.rating_rows, "drawn": audit.draw_rows, "paid for": audit.ledger_rows,
            "answered": audit.answer_rows,
        }  # fmt: skip
        for name, rows in tables.items():
            for stray in (*rows(self.store, -_END, 0), *rows(self.store, at, _END)):
                self.differ(f"item {stray.position}: {name}, though no round has taken it up")

    def _questions_of(self, row: p.Round, first: int, end: int) -> None:
        store = self.store
        ratings = {(r.position, r.step): r for r in audit.rating_rows(store, first, end)}
        second = {(x.position, self.spec.steps[-1]) for x in audit.again_rows(store, first, end) if x.selected}
        wanted = second | {(x.position, x.step) for x in audit.draw_rows(store, first, end) if x.selected}
        if row.plan.asks_first:
            wanted |= {(position, 0) for position in range(first, end)}
        for position, step in sorted(ratings.keys() - wanted):
            self.differ(f"item {position}: rater {step} was asked without having been drawn")
        for position, step in sorted(wanted - ratings.keys()):
            self.differ(f"item {position}: rater {step} was drawn and never asked")
        worst = self.items.worst(first, end)
        votes: dict[tuple[int, int], list[Vote]] = defaultdict(list)
        for a in audit.answer_rows(store, first, end):
            votes[a.position, a.step].append(Vote(a.annotator, a.value, seconds=a.seconds))
        paid: dict[tuple[int, int], _Payments] = defaultdict(dict)
        for entry in audit.ledger_rows(store, first, end):
            if entry.step is not None:
                attempts = paid[entry.position, entry.step].setdefault(entry.kind, {})
                attempts.setdefault(entry.attempt, []).append(entry.amount)
        for (position, step), r in ratings.items():
            self.found.ratings += 1
            with self.found.telling(f"item {position}, rater {step}"):
                k = self.spec.index(step)
                open_too_long = r.state == OPEN and row.items is not None and (position, step) not in second
                said, money = votes.pop((position, step), []), paid.pop((position, step), {})
                where = f"item {position}, rater {self.spec.raters[k].name!r}"
                for problem in (
                    *(["no answer, though its round is closed"] if open_too_long else []), *_rating(self.spec, r),
                    *_votes(r, said, money, self.spec.raters[k]),
                    *_payments(r, money, int(worst[position - first, k]), self.spec.raters[k]),
                ):  # fmt: skip
                    self.differ(f"{where}: {problem}")
                self.found.payments += len(money.get("settle", {}))
        for position, step in votes:
            self.differ(f"item {position}: somebody answered for rater {step}, who was not asked")
        for position, step in paid:
            self.differ(f"item {position}: money moved for rater {step}, who was not asked")

    def answers(self) -> None:
        """Ratings by a column or a recording are read again where they come from, and are what it gives."""
        spec = self.spec
        sources = {step: source for step in spec.steps if (source := self._source(step)) is not None}
        for first, end in self.pieces if sources else ():
            rows = [r for r in audit.rating_rows(self.store, first, end) if r.step in sources]
            contents = {r.position: r for r in audit.item_contents(self.store, first, end)} if rows else {}
            for row in rows:
                rater = spec.at(row.step)
                where = f"item {row.position}, rater {rater.name!r}"
                with self.found.telling(where):
                    item = contents[row.position]
                    said: list[float | None] = []
                    for raw in sources[row.step](item.id, json.loads(item.content)) or ():
                        try:
                            said.append(None if raw is None else spec.rating_of(row.step, raw))
                        except ValueError:  # no rating
                            said.append(None)
                    for problem in _compared(rater, row, said):
                        self.differ(f"{where}: {problem}")

    def _source(self, step: int) -> Reread | None:
        """The source of a rater's answers; `None` where they cannot be looked up, with a note if they should be."""
        rater = self.spec.at(step)
        if not rater.is_written:
            return None
        try:
            if as_stored(self.spec, rater, self.store):
                return rater.reread(str(self.spec.folder))
            why = "where they come from has changed"
        except RatewiseError as error:
            why = str(error)
        self.found.told.append(f"answers of rater {rater.name!r} were not read again: {why}")
        return None

    def money(self) -> None:
        """The sums are the ledger's, and within the budget."""
        store, budget, sums = self.store, self.reader.terms.budget, self.store.ledger_sums()
        reserved, spent = store.totals()
        checks, answered = sums.get(CHECK, 0) - sums.get(UNCHECK, 0), audit.hidden_rows(store)
        if checks != (right := sum(row.paid or 0 for row in answered)):
            self.differ(
                f"{shown(checks)} were paid for hidden checks and repeats; their answers come to {shown(right)}"
            )
        paid = sums.get("settle", 0) - sums.get(UNDO, 0) + checks + sums.get(TEXTS, 0)
        if spent != paid:
            self.differ(f"{shown(spent)} are said to be spent; the ledger has {shown(paid)}")
        held = sums.get("hold", 0) - sums.get("unhold", 0)
        right = held + sums.get("reserve", 0) - store.freed()
        if reserved != right or held < 0:
            self.differ(f"{shown(reserved)} are said to be reserved; the ledger has {shown(right)}")
        if budget is not None and reserved + spent > budget:
            self.differ(f"{shown(reserved + spent)} are spent or reserved, more than the budget of {shown(budget)}")


def _text(value: object) -> str:
    """A cell as tables have it as text."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "" if value is None else str(value)


# Whether values are equal


def _near(a: int, b: int, *, exact: bool = False) -> bool:
    """Whether two amounts are equal up to rounding of floats."""
    return a == b or (not exact and abs(a - b) <= 1 + _CLOSE * abs(b))


def _flat(data: Any, name: str = "") -> dict[str, Any]:
    """The values within dictionaries and lists of such, by their paths."""
    records = isinstance(data, list) and data and isinstance(data[0], dict)
    if not records and not isinstance(data, dict):
        return {name: data}
    inside = enumerate(data) if records else data.items()
    return {at: x for key, one in inside for at, x in _flat(one, f"{name}.{key}" if name else str(key)).items()}


def _same(a: Any, b: Any) -> bool:
    """Whether numbers are equal up to another machine's rounding, relative to the largest."""
    if isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        if all(isinstance(x, int | float) for x in (*a, *b)):
            size = max((abs(float(x)) for x in b), default=0.0)
            return all(abs(float(x) - float(y)) <= _CLOSE * size for x, y in zip(a, b, strict=True))
        return all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=_CLOSE, abs_tol=1e-300)
    return bool(a == b)


# What is wrong with one question


def _rating(spec: Spec, r: Any) -> Iterator[str]:
    """What is wrong with a rating for itself."""
    if (r.state == ANSWERED) != (r.value is not None):
        yield "its state does not fit its value"
    if r.value is not None:
        try:
            if spec.rating_of(r.step, r.value) != r.value:
                yield f"{r.value!r} is not on the scale"
        except ValueError as error:
            yield str(error)


def _votes(r: Any, votes: Sequence[Vote], money: _Payments, rater: RaterSpec) -> Iterator[str]:
    """What does not fit people's votes, and their seconds where they are paid by the hour.

    A question that was given up may lack some votes, and one that a process answered has none.
    """
    settled = money.get("settle", {})
    if not votes:
        return
    verdict = rule_of(rater)(votes)
    if verdict is None and r.state == ANSWERED:
        yield f"rated, though only {len(votes)} people have answered"
    if verdict is not None and (r.state == OPEN or verdict[0] != r.value):
        yield f"{r.value!r} is not what the people's answers come to"
    if rater.hourly is not None and r.state != OPEN and r.value is not None:
        right, paid = hourly(rater).pay(vote.seconds for vote in votes), settled.get(max(settled, default=0), [])
        if paid != [right]:
            yield f"paid {', '.join(map(shown, paid))}; its seconds come to {shown(right)}"


def _payments(r: Any, kinds: _Payments, worst: int, rater: RaterSpec) -> Iterator[str]:
    """What breaks the rule that each attempt is reserved once and settled once; the last may be open."""
    reserved, settled, undone = kinds.get("reserve", {}), kinds.get("settle", {}), kinds.get(UNDO, {})
    if kinds.keys() - {"reserve", "settle", UNDO}:
        yield "the ledger has rows of an unknown kind"
    if any(amounts != settled.get(attempt) for attempt, amounts in undone.items()):
        yield "more or less was taken back than was paid"
    if any(len(amounts) != 1 for amounts in (*reserved.values(), *settled.values())):
        yield "an attempt was paid twice"
    attempts = sorted(reserved)
    if attempts != list(range(1, len(attempts) + 1)) or not attempts:
        yield f"attempts {attempts} are not one after the other"
    if any(amount != worst for amounts in reserved.values() for amount in amounts):
        yield f"reserved at another price than {shown(worst)}"
    unsettled = [a for a in attempts if a not in settled]
    if unsettled != (attempts[-1:] if r.state == OPEN else []) or not settled.keys() <= reserved.keys():
        yield "reservations and payments do not match"
    good = len(settled) - r.attempts  # calls that did not fail
    if good not in ({0} if r.state == OPEN else {1} if r.state == ANSWERED else {0, 1}):
        yield f"{r.attempts} failed calls do not fit {len(settled)} payments"
    if rater.flat_price and rater.max_price in (None, rater.price) and good == 1:
        last = settled.get(max(settled, default=0), [worst])
        if last != [worst]:
            yield f"paid {', '.join(map(shown, last))}; a {rater.kind} costs its price of {shown(worst)}"


def _compared(rater: RaterSpec, row: Any, said: Sequence[float | None]) -> Iterator[str]:
    """What differs between a stored rating and what its source says."""
    source = "recording" if rater.kind == "recorded" else rater.kind
    told = " or ".join("nothing" if x is None else repr(x) for x in dict.fromkeys(said)) or "nothing"
    if row.state == ANSWERED and row.value not in said:
        yield f"{row.value!r} is stored; the {source} says {told}"
    given_up = str(row.note or "").startswith(_GIVEN_UP)
    if row.state == MISSING and said and None not in said and not given_up:
        yield f"stored as missing; the {source} says {told}"
