"""Queries that a running campaign makes again and again: built once, as that takes longer than running them."""

import sqlalchemy as sa

from ratewise.store import schema as t
from ratewise.store.quick import Quick
from ratewise.store.records import OPEN

_b = sa.bindparam
_open = t.ratings.c.state == OPEN
_here = {  # from item `first` to before `end`
    table: sa.and_(table.c.position >= _b("first"), table.c.position < _b("end"))
    for table in (t.items, t.ratings, t.draws)
}

TOTALS = sa.select(t.totals.c.reserved, t.totals.c.spent)
ROUNDS = sa.select(t.rounds).where(t.rounds.c.number > _b("after")).order_by(t.rounds.c.number)
_drawn_steps = (
    sa.select(sa.func.count())
    .where(t.draws.c.position == t.batches.c.first, t.draws.c.step > 0)
    .scalar_subquery()
    .label("steps")
)
BATCHES = sa.select(t.batches, _drawn_steps).where(t.batches.c.round == _b("number")).order_by(t.batches.c.first)
OPEN_BY_STEP = sa.select(t.ratings.c.step, sa.func.count()).where(_open).group_by(t.ratings.c.step)
OPEN_BEFORE = OPEN_BY_STEP.where(t.ratings.c.position < _b("before"))
ITEMS = sa.select(t.items.c.uniform, t.items.c.numbers).where(_here[t.items]).order_by(t.items.c.position)
PRICES = sa.select(t.items.c.prices).where(_here[t.items]).order_by(t.items.c.position)
ANSWERS = sa.select(t.ratings.c.position, t.ratings.c.step, t.ratings.c.value, t.ratings.c.doubt).where(
    _here[t.ratings], t.ratings.c.value.is_not(None)
)
DRAWS = sa.select(t.draws.c.position, t.draws.c.step, t.draws.c.rate, t.draws.c.selected).where(
    _here[t.draws], t.draws.c.step > 0
)

_lent = sa.and_(t.leases.c.position == t.ratings.c.position, t.leases.c.step == _b("step"), t.leases.c.until > _b("at"))
FREE = (  # of rater `step` at time `at`, no more than `limit`
    sa.select(t.ratings.c.position)
    .where(_open, t.ratings.c.step == _b("step"), t.ratings.c.worker.is_(None), ~sa.exists().where(_lent))
    .order_by(t.ratings.c.position)
    .limit(_b("limit"))
    .with_for_update(skip_locked=True)
)
FRESH = FREE.where(t.ratings.c.attempts == 0)  # and never failed

# of money, and of one question `p`, `s` at its `attempt`
BOUND = Quick(sa.select(t.totals.c.reserved, t.totals.c.spent).with_for_update())
MOVE = Quick(
    t.totals.update()
    .where(t.totals.c.reserved <= _b("most_reserved"), t.totals.c.spent <= _b("most_spent"))
    .values(reserved=t.totals.c.reserved + _b("reserve"), spent=t.totals.c.spent + _b("spend"))
)
HELD = Quick(
    sa.select(t.ledger.c.amount).where(
        t.ledger.c.kind == "reserve", t.ledger.c.position == _b("p"), t.ledger.c.step == _b("s"),
        t.ledger.c.attempt == _b("attempt"),
    )
)  # fmt: skip
ANSWER = Quick(
    t.ratings.update()
    .where(t.ratings.c.position == _b("p"), t.ratings.c.step == _b("s"))
    .values({
        "worker": sa.null(), **{name: _b(f"new_{name}") for name in ("state", "value", "note", "attempts", "at")},
    })
)  # fmt: skip
