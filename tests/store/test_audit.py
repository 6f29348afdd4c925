"""The log read piece by piece, for whoever checks it."""

from ratewise.store import audit
from ratewise.store.queue import Outcome


def test_rows_are_in_order_and_sums_add_up(asked):
    claims = asked.claim(1, 0, 4)
    asked.settle([Outcome(c, 2 + (c.position == 3) * 4, value=0.5) for c in claims], 100)
    assert [(row.position, row.id) for row in audit.item_keys(asked, 2, 4)] == [(2, "i2"), (3, "i3")]
    assert [row.content for row in audit.item_contents(asked, 0, 1)] == ['{"n": 1}']
    assert [row.value for row in audit.rating_rows(asked, 0, 10)] == [0.5] * 4
    kinds = [row.kind for row in audit.ledger_rows(asked, 0, 10)]
    assert kinds == ["hold"] + ["reserve"] * 4 + ["settle"] * 4
    assert asked.ledger_sums() == {"hold": 8, "reserve": 12, "settle": 12}
    assert asked.settled_before(2) == 4
    assert asked.freed() == 12
    assert audit.draw_rows(asked, 0, 10) == audit.answer_rows(asked, 0, 10) == []


def test_pieces_cover_everything_once():
    assert list(audit.pieces(25, 10)) == [(0, 10), (10, 20), (20, 25)]
    assert list(audit.pieces(0, 10)) == []
