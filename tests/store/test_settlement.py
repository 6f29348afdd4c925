"""What paying comes to, without a database."""

from ratewise.store.ledger import settlement
from ratewise.store.queue import Claim, Outcome


def claim(position=4, attempt=1):
    return Claim(position, 1, attempt, f"i{position}", "{}", None)


def test_an_answer_frees_what_was_reserved_and_spends_what_was_paid():
    found = settlement([Outcome(claim(), 7, value=1.0)], {(4, 1, 1): 10}, 10, 50)
    assert (found.reserved, found.spent) == (-10, 7)
    assert found.entries == [("settle", 4, 1, 1, 7)]
    assert [o.value for o in found.done] == [1.0]
    assert not found.again


def test_what_is_settled_already_changes_nothing():
    found = settlement([Outcome(claim(), 7, value=1.0)], {}, 0, None)
    assert (found.entries, found.done, found.reserved, found.spent) == ([], [], 0, 0)


def test_another_attempt_only_where_the_budget_holds_it():
    failed = Outcome(claim(), 2, failed=True, again=10)
    held = {(4, 1, 1): 10}
    again = settlement([failed], held, 10, 12, None)
    assert again.again == [failed]
    assert again.entries == [("settle", 4, 1, 1, 2), ("reserve", 4, 1, 2, 10)]
    assert (again.reserved, again.spent) == (0, 2)
    done = settlement([failed], held, 10, None, 11)
    assert (done.again, done.done) == ([], [failed])
