"""Small pieces of SQL: money that stays within a budget, and parts of what databases take at once."""

import pytest
import sqlalchemy as sa

from ratewise.errors import StoreError
from ratewise.store import ledger as sql
from ratewise.store import schema as t
from ratewise.store.queue import ANSWERED, MISSING, Claim, Outcome


def test_many_positions_are_several_lists(monkeypatch):
    monkeypatch.setattr(sql, "_AT_ONCE", 3)
    text = str(sql.within(t.ratings, range(7)))
    assert text.count(" IN ") == 3


def test_a_question_is_open_at_its_attempt_only(asked):
    (first, *_) = asked.claim(1, 0, 4)
    late = Claim(first.position, 0, 2, first.id, "{}", None)
    with asked.writing() as connection:
        assert sql.still_open(connection, [first, late]) == {(0, 0, 1): 3}
        connection.exec_driver_sql("DROP TRIGGER guard_ledger_delete")
        connection.execute(sa.delete(t.ledger))
        with pytest.raises(StoreError, match="holds no money for item 0"):
            sql.still_open(connection, [first])


def test_an_answer_and_none():
    claim = Claim(0, 1, 2, "a", "{}", None)
    assert sql.answer(Outcome(claim, 1, value=0.5))["state"] == ANSWERED
    missing = sql.answer(Outcome(claim, 1, note="gave up", failed=True))
    assert (missing["state"], missing["attempts"]) == (MISSING, 2)


def test_items_that_are_gone_are_told(store):
    with pytest.raises(StoreError, match="2 items are missing"):
        store.item_rows(8, 12, 1)
