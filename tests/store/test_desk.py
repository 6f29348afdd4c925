"""Questions in people's hands: for a time, no more of them than votes are wanted, and every answer keeps its name."""

import numpy as np
import pytest

from ratewise.store import audit
from ratewise.store.desk import Desk, LeaseTerms, Vote, median_of
from ratewise.store.queue import ANSWERED, MISSING, OPEN, NewBatch, NewDraws
from ratewise.store.store import Store

ITEMS = 4


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    """A queue with a strong question about each of its items, at a price of 10."""
    where = "q.sqlite" if request.param == "sqlite" else request.getfixturevalue("database")
    store = Store.at(where, str(tmp_path), "q")
    store.begin({"spec": "{}"}, [(p, f"i{p}", 0.5, None, None, '{"text": "t"}') for p in range(ITEMS)])
    store.open_round(1, 0, "{}")
    store.take_up(NewBatch(1, 0, ITEMS, 40, 40, None), None)
    every = np.ones((ITEMS, 1), dtype=bool)
    store.draw(NewDraws(1, 0, np.ones((ITEMS, 1)), every, np.full((ITEMS, 1), 10), 40, ((0, 40),), None))
    yield store
    store.close()


@pytest.fixture
def desk(store):
    return Desk(store, Clock())


def rating(store, position):
    (row,) = audit.rating_rows(store, position, position + 1)
    return row


def test_everyone_gets_a_question_of_their_own_until_there_are_none(desk):
    got = [desk.lease(person, 1, LeaseTerms(60)) for person in ("ann", "bob", "cid", "dot", "eve")]
    assert [None if lease is None else lease.claim.position for lease in got] == [0, 1, 2, 3, None]
    assert desk.lease("ann", 1, LeaseTerms(60)).claim == got[0].claim  # not another one
    desk.free_all("bob")
    assert desk.lease("eve", 1, LeaseTerms(60)).claim.position == 1


def said(desk):
    return [(row.annotator, row.value, row.note) for row in audit.answer_rows(desk.store, 0, ITEMS)]


def demand(desk, votes=1):
    """How many people are short of questions."""
    return desk.store.demand(1, votes, desk.clock())


def test_people_are_short_of_questions_before_the_last_one_is_taken_and_one_alone_never_is(desk):
    assert demand(desk) == 0
    for short, person in ((0, "ann"), (0, "bob"), (3, "cid")):  # then one is free, and three will want one
        desk.lease(person, 1, LeaseTerms(60))
        assert demand(desk) == short
    desk.clock.now += 61
    assert demand(desk) == 0  # all of them left
    got = [desk.lease(person, 1, LeaseTerms(60)) for person in ("ann", "bob", "cid", "dot")]
    assert desk.lease("eve", 1, LeaseTerms(60)) is None
    assert demand(desk) == 5
    assert desk.store.in_hand() == set()  # by this clock, which is not the wall's
    for lease in got[1:]:
        desk.answer(lease.claim, Vote(lease.holder, 1.0), price=10)
    assert demand(desk) == 2  # ann has the last one, and eve waits
    desk.clock.now += 11
    assert demand(desk) == 0  # eve went away
    desk.answer(got[0].claim, Vote("ann", 1.0), price=10)
    assert demand(desk) == 0


def test_with_several_votes_one_waits_who_has_said_what_they_can(desk):
    for _ in range(4):
        lease = desk.lease("ann", 1, LeaseTerms(60, votes=2))
        desk.answer(lease.claim, Vote("ann", 1.0), rule=median_of(2))
    assert demand(desk, votes=2) == 0
    assert desk.lease("ann", 1, LeaseTerms(60, votes=2)) is None
    assert demand(desk, votes=2) == 1
    bob = desk.lease("bob", 1, LeaseTerms(60, votes=2))
    assert demand(desk, votes=2) == 2
    desk.clock.now += 11
    assert demand(desk, votes=2) == 0
    assert desk.answer(bob.claim, Vote("bob", 1.0), rule=median_of(2)) == "settled"


def test_a_lease_ends_by_itself_and_not_before(desk):
    first = desk.lease("ann", 1, LeaseTerms(60))
    assert first.until == 1060
    desk.clock.now = 1059
    assert desk.lease("bob", 1, LeaseTerms(30)).claim.position == 1
    assert desk.lease("ann", 1, LeaseTerms(60)).until == 1119  # the same, for some more time
    desk.clock.now = 1118
    assert desk.lease("cid", 1, LeaseTerms(60)).claim.position == 1  # bob's has ended
    desk.clock.now = 1119
    assert desk.lease("dot", 1, LeaseTerms(60)).claim.position == 0  # and now ann's


def test_an_answer_settles_is_paid_once_and_names_its_annotator(desk, store):
    claim = desk.lease("ann", 1, LeaseTerms(60)).claim
    assert desk.answer(claim, Vote("ann", 1.0, "sure"), price=7) == "settled"
    assert (rating(store, 0).state, rating(store, 0).value) == (ANSWERED, 1.0)
    assert store.totals() == (30, 7)
    assert said(desk) == [("ann", 1.0, "sure")]
    assert desk.answer(claim, Vote("bob", 0.0), price=7) == "was settled before"
    assert said(desk) == [("ann", 1.0, "sure")]
    assert store.totals() == (30, 7)
    assert desk.question(0, 1) is None
    assert desk.lease("ann", 1, LeaseTerms(60)).claim.position == 1


def test_who_answers_after_the_lease_has_ended_is_heard_while_the_question_is_open(desk):
    claim = desk.lease("ann", 1, LeaseTerms(60)).claim
    desk.clock.now = 5000
    other = desk.lease("bob", 1, LeaseTerms(60)).claim
    assert other == claim
    assert desk.answer(claim, Vote("ann", 1.0)) == "settled"
    assert desk.answer(other, Vote("bob", 0.0)) == "was settled before"


def test_votes_are_collected_from_different_people_and_their_median_settles(desk, store):
    rule = median_of(3)
    leases = [desk.lease(person, 1, LeaseTerms(60, votes=3)) for person in ("ann", "bob", "cid", "dot")]
    assert [lease.claim.position for lease in leases] == [0, 0, 0, 1]  # three at once, and no more
    claim = leases[0].claim
    assert desk.answer(claim, Vote("ann", 1.0), price=9, rule=rule) == "more answers are needed"
    assert desk.lease("ann", 1, LeaseTerms(60, votes=3)).claim.position == 1  # nobody twice
    assert desk.answer(claim, Vote("ann", 0.0), price=9, rule=rule) == "more answers are needed"  # thought better of it
    assert desk.answer(claim, Vote("bob", 1.0), price=9, rule=rule) == "more answers are needed"
    assert store.totals() == (40, 0)
    assert rating(store, 0).state == OPEN
    assert desk.answer(claim, Vote("cid", 1.0), price=9, rule=rule) == "settled"
    assert store.totals() == (30, 9)
    assert rating(store, 0).value == 1.0
    assert [name for name, *_ in said(desk)] == ["ann", "bob", "cid"]


def test_nobody_can_tell(desk, store):
    claim = desk.lease("ann", 1, LeaseTerms(60)).claim
    assert desk.answer(claim, Vote("ann", None, "blank")) == "settled"
    assert (rating(store, 0).state, rating(store, 0).value, rating(store, 0).note) == (MISSING, None, "blank")


def test_people_and_processes_do_not_take_each_other_s_questions(desk, store):
    desk.lease("ann", 1, LeaseTerms(60))
    worker = store.join()
    assert [c.position for c in store.claim(worker, 1, 2, at=1000.0)] == [1, 2]
    assert desk.lease("bob", 1, LeaseTerms(60)).claim.position == 3
    assert store.claim(worker, 1, 9, at=1059.0) == []
    assert [c.position for c in store.claim(worker, 1, 9, at=1060.0)] == [0, 3]
    desk.clock.now = 2000
    assert desk.lease("cid", 1, LeaseTerms(60)) is None


def test_questions_in_nobody_s_hands_are_given_up_for_nothing(store):
    worker = store.join()
    (held,) = store.claim(worker, 1, 1)
    assert store.give_up("it is late") == ITEMS - 1
    assert store.totals() == (10, 0)
    assert [rating(store, p).state for p in range(ITEMS)] == [OPEN, MISSING, MISSING, MISSING]
    assert rating(store, 1).note == "given up: it is late"
    assert store.in_hands_of([worker]) == [held]


def test_ben_and_ben_in_capitals_have_one_vote(desk):
    claim = desk.lease("ben", 1, LeaseTerms(60, votes=2)).claim
    assert desk.answer(claim, Vote("ben", 1.0), rule=median_of(2)) == "more answers are needed"
    assert desk.answer(claim, Vote("Ben", 0.0), rule=median_of(2)) == "more answers are needed"
    assert [(name, value) for name, value, _ in said(desk)] == [("Ben", 0.0)]
    assert desk.answer(claim, Vote("bea", 0.0), rule=median_of(2)) == "settled"
