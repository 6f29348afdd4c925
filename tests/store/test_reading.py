"""What a running campaign reads again and again: parts of the items, free questions, rounds and batches."""

import numpy as np

from ratewise.store import queries as q


def test_items_and_answers_of_a_part(asked):
    claims = asked.claim(1, 0, 2)
    assert [c.position for c in claims] == [0, 1]
    with asked.reading() as connection:
        assert [uniform for uniform, _ in q.ITEMS.all(connection, first=2, end=5)] == [0.2, 0.3, 0.4]
        assert q.ANSWERS.all(connection, first=0, end=10) == []
        assert q.TOTALS.first(connection) == (20, 0)
    assert asked.item_prices(0, 3) == [None, None, None]


def test_what_is_free_is_fresh_first_and_no_more_than_asked_for(asked):
    where = {"step": 0, "at": 0.0, "limit": 10}
    asked.claim(1, 0, 1)
    with asked.writing() as connection:
        connection.exec_driver_sql("UPDATE ratings SET attempts = 1 WHERE position = 1")
        assert q.FREE.column(connection, **where) == [1, 2, 3]
        assert q.FRESH.column(connection, **where) == [2, 3]
        assert q.FREE.column(connection, **where | {"limit": 2}) == [1, 2]


def test_a_round_and_its_batches(asked):
    assert [(r.number, r.items) for r in asked.rounds()] == [(1, None)]
    assert asked.rounds(after=1) == []
    assert [(b.first, b.end, b.drawn, b.cost) for b in asked.batches(1)] == [(0, 4, False, 20)]
    assert asked.open_by_step() == {0: 4}
    rows = asked.item_rows(0, 4, 1)
    np.testing.assert_array_equal(rows.numbers, np.arange(8.0).reshape(4, 2))
    assert np.isnan(rows.values).all()
