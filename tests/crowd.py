"""A campaign of people rehearsed in memory, on a clock of its own: who takes how long, who leaves, who waits.

    game = Rehearsal(pool, pool.terms(budget=Decimal(400), votes=1))
    crowd = Crowd(game, seconds=lambda person, item: rng.lognormal(3.0, 0.8), people=8, leaves=((1, 300.0, 3600.0),))
    crowd.play()
    crowd.idle_share

Everything is decided by the planner as ever; only hours pass in no time.
"""

import heapq
import math
from collections.abc import Callable
from dataclasses import dataclass, field

from ratewise.campaign import planner as p
from ratewise.campaign.history import RoundPlan
from ratewise.campaign.rehearsal import Rehearsal
from ratewise.store.queue import Claim, Outcome

Leave = tuple[int, float, float]  # who, from the first question after this moment on, for so many seconds


@dataclass(slots=True, eq=False)
class Crowd:
    """People with numbers from 1 on; weak raters answer at once. Times are in seconds from the start."""

    game: Rehearsal
    seconds: Callable[[int, int], float]  # that a person takes for an item
    people: int = 8
    lease: float = 600.0
    leaves: tuple[Leave, ...] = ()
    look: float = 0.0  # seconds between looks of the planner; 0: it looks whenever something happens
    now: float = field(init=False, default=0.0)
    reason: str | None = field(init=False, default=None)
    idle: float = field(init=False, default=0.0)  # seconds of all people without a question, until the last fresh one
    worked: float = field(init=False, default=0.0)  # and of all their time
    overlaps: int = field(init=False, default=0)  # rounds that were opened while others were open
    _events: list[tuple[float, int, Callable[[], None]]] = field(init=False, default_factory=list)
    _since: dict[int, float] = field(init=False, default_factory=dict)  # who waits, and since when
    _waits: list[tuple[float, float]] = field(init=False, default_factory=list)
    _away: list[tuple[float, float]] = field(init=False, default_factory=list)
    _given: set[int] = field(init=False, default_factory=set)
    _last_fresh: float = field(init=False, default=0.0)
    _count: int = field(init=False, default=0)  # of events

    @property
    def idle_share(self) -> float:
        """The share of people's time without a question, until the last one was given out for the first time."""
        return self.idle / self.worked

    def play(self, *, most: float = math.inf) -> str | None:
        """Play to the end, or until so many seconds have passed; returns why it ended, None where it did not."""
        if not self._given:
            self._since = dict.fromkeys(range(1, self.people + 1), self.now)
            self._at(self.now, self._look if self.look else lambda: None)
        while self.reason is None and self._events and self._events[0][0] <= most:
            self.now, _, happens = heapq.heappop(self._events)
            happens()
            if not self.look:
                self._plan()
            self._hand_out()
        self._add_up()
        return self.reason

    def _at(self, moment: float, happens: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (moment, self._count, happens))  # of one moment, what was first comes first

    def _look(self) -> None:
        self._plan()
        self._at(self.now + self.look, self._look)

    # The planner

    def _plan(self) -> None:
        """Let the planner act until it waits."""
        game = self.game
        last = game.terms.later_raters
        while True:
            game.queue.waiting = set(self._since)
            state = game.reader.state(self.now)
            action = p.decide(state)
            if isinstance(action, p.Done):
                self.reason = str(action)
            if isinstance(action, p.Done) or action is p.Command.WAIT:
                return
            assert game.reader.carry_out(state, action)
            if isinstance(action, RoundPlan):
                game.plans.append(action)
                self.overlaps += state.open is not None
            game.queue.answer_all(game.pool.answers(last), steps=last)

    # The people

    def _hand_out(self) -> None:
        """Give a question to everyone who waits, those first who wait longest, and plan again when there are few."""
        step, queue = self.game.terms.later_raters, self.game.queue
        for person in sorted(self._since, key=lambda who: (self._since[who], who)):
            if self.reason is not None:
                return
            claims = queue.claim(person, step, 1)
            if not claims and not self.look:
                self._plan()
                claims = queue.claim(person, step, 1)
            if not claims:
                return
            self._give(person, claims[0])

    def _give(self, person: int, claim: Claim) -> None:
        self._waits.append((self._since.pop(person), self.now))
        if claim.position not in self._given:
            self._given.add(claim.position)
            self._last_fresh = self.now
        away = next((one for one in self.leaves if one[0] == person and one[1] <= self.now), None)
        if away is not None:
            self.leaves = tuple(one for one in self.leaves if one is not away)
            self._away.append((self.now, self.now + away[2]))
            self._at(self.now + self.lease, lambda: self._lapse(person, claim))
            self._at(self.now + away[2], lambda: self._since.update({person: self.now}))
            return
        self._at(self.now + self.seconds(person, claim.position), lambda: self._answer(person, claim))

    def _lapse(self, person: int, claim: Claim) -> None:
        """The lease ends by itself: the question is free for others."""
        workers = self.game.queue.workers
        if workers[claim.position, claim.step] == person:
            workers[claim.position, claim.step] = 0

    def _answer(self, person: int, claim: Claim) -> None:
        queue, step = self.game.queue, claim.step
        said = float(self.game.pool.answers(step)[claim.position, step])
        price = int(self.game.worst(claim.position, claim.position + 1)[0, -1])
        value = None if math.isnan(said) else said
        queue.settle([Outcome(claim, price, value)], self.game.terms.budget)
        self._since[person] = self.now

    # The sums

    def _add_up(self) -> None:
        end = self._last_fresh
        waits = [*self._waits, *((since, self.now) for since in self._since.values())]
        self.idle = sum(max(min(until, end) - since, 0.0) for since, until in waits)
        away = sum(max(min(back, end) - left, 0.0) for left, back in self._away)
        self.worked = max(self.people * end - away, 1e-9)
