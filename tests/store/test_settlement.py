"""What paying comes to."""

import pytest

from ratewise.store import ledger
from ratewise.store.queue import Outcome


def claims(store):
    return store.claim(store.join(), 0, 4)


def test_an_answer_frees_what_was_reserved_and_spends_what_was_paid(asked):
    one, *_ = claims(asked)
    assert asked.totals() == (20, 0)
    assert asked.settle([Outcome(one, 2, value=1.0)], 50) == []
    assert (asked.totals(), asked.ledger_sums()["settle"], asked.freed()) == ((17, 2), 2, 3)
    assert asked.item_rows(0, 4, 1).values[one.position, 0] == 1.0


def test_what_is_settled_already_changes_nothing(asked):
    one, *_ = claims(asked)
    asked.settle([Outcome(one, 2, value=1.0)], 50)
    before = asked.head()
    assert asked.settle([Outcome(one, 3, value=0.0)], None) == []
    assert (asked.head(), asked.totals()) == (before, (17, 2))


@pytest.mark.parametrize(("budget", "cap", "open"), [(29, None, 4), (28, None, 3), (None, 29, 4), (None, 28, 3)])
def test_another_attempt_only_where_budget_and_cap_hold_it(asked, budget, cap, open):
    """Bound are 17 for the others, and 2 that were paid; another attempt is to take 10."""
    one, *_ = claims(asked)
    with asked.writing() as connection:
        ledger.set_cap(connection, cap, was=None)
    failed = Outcome(one, 2, failed=True, again=10)
    assert asked.settle([failed], budget) == [failed] * (open == 4)
    assert asked.open_by_step() == {0: open}
    assert asked.totals() == (17 + 10 * (open == 4), 2)
