"""Queries that are built once say the same as ones made for the occasion."""

import numpy as np
import sqlalchemy as sa

from ratewise.store import queries
from ratewise.store import schema as t


def test_items_and_answers_of_a_part(asked):
    claims = asked.claim(1, 0, 2)
    assert [c.position for c in claims] == [0, 1]
    with asked.reading() as connection:
        part = connection.execute(queries.ITEMS, {"first": 2, "end": 5}).all()
        right = connection.execute(sa.select(t.items.c.uniform).where(t.items.c.position.between(2, 4))).scalars()
        assert [row.uniform for row in part] == list(right) == [0.2, 0.3, 0.4]
        assert connection.execute(queries.ANSWERS, {"first": 0, "end": 10}).all() == []
        assert tuple(connection.execute(queries.TOTALS).one()) == (20, 0)
    assert asked.item_prices(0, 3) == [None, None, None]


def test_what_is_free_is_fresh_first_and_no_more_than_asked_for(asked):
    where = {"step": 0, "at": 0.0, "limit": 10}
    asked.claim(1, 0, 1)
    with asked.writing() as connection:
        connection.execute(sa.update(t.ratings).where(t.ratings.c.position == 1).values(attempts=1))
        assert connection.scalars(queries.FREE, where).all() == [1, 2, 3]
        assert connection.scalars(queries.FRESH, where).all() == [2, 3]
        assert connection.scalars(queries.FREE, where | {"limit": 2}).all() == [1, 2]


def test_a_round_and_its_batches(asked):
    assert [(r.number, r.items) for r in asked.rounds()] == [(1, None)]
    assert asked.rounds(after=1) == []
    assert [(b.first, b.end, b.drawn, b.cost) for b in asked.batches(1)] == [(0, 4, False, 20)]
    assert asked.open_questions() == (4, 0)
    rows = asked.item_rows(0, 4, 1)
    np.testing.assert_array_equal(rows.numbers, np.arange(8.0).reshape(4, 2))
    assert np.isnan(rows.values).all()
