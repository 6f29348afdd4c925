"""`verify`, the part about what was known when: the state that each round was planned from, in their order."""

from collections.abc import Iterator
from dataclasses import dataclass

from ratewise.campaign import planner as p
from ratewise.campaign.history import History
from ratewise.campaign.log import Reader, Round, with_open
from ratewise.store import audit
from ratewise.store.store import Store


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
        spent = audit.settled_before(store, known.items, known.again)
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
