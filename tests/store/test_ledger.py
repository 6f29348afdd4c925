"""Money in a transaction: what an open question holds, and what its answer writes."""

import pytest

from ratewise.errors import StoreError
from ratewise.store import ledger as sql
from ratewise.store.queue import ANSWERED, MISSING, Claim, Outcome


def test_a_question_is_open_at_its_attempt_only(asked):
    (first, *_) = asked.claim(1, 0, 4)
    late = Claim(first.position, 0, 2, first.id, "{}", None)
    with asked.writing() as connection:
        assert sql.held_money(connection, [first, late]) == {(0, 0, 1): 3}
        connection.exec_driver_sql("DROP TRIGGER guard_ledger_delete")
        connection.exec_driver_sql("DELETE FROM ledger")
        with pytest.raises(StoreError, match="holds no money for item 0"):
            sql.held_money(connection, [first])


def test_an_answer_and_none():
    claim = Claim(0, 1, 2, "a", "{}", None)
    answered, missing = sql._answers([Outcome(claim, 1, value=0.5), Outcome(claim, 1, note="gave up", failed=True)])
    assert (answered["state"], answered["attempts"]) == (ANSWERED, 1)
    assert (missing["state"], missing["attempts"]) == (MISSING, 2)


def test_money_is_bound_within_the_budget_and_the_cap(asked):
    """20 are bound already."""
    with asked.writing() as connection:
        assert not sql.reserve(connection, 6, 25)
        assert sql.reserve(connection, 5, 25)
        assert sql.set_cap(connection, 30, was=None)
        assert not sql.reserve(connection, 6, None)
        assert sql.reserve(connection, 5, None)
        assert not sql.set_cap(connection, 29, was=30)
    assert asked.totals() == (30, 0)


def test_items_that_are_gone_are_told(store):
    with pytest.raises(StoreError, match="2 items are missing"):
        store.item_rows(8, 12, 1)
