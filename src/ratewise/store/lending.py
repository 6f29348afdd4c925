"""Queries that handing out questions makes again and again: built once, as that takes longer than running them."""

from typing import Any

import sqlalchemy as sa

from ratewise.store import schema as t
from ratewise.store.quick import Quick, insertion
from ratewise.store.records import OPEN

_b = sa.bindparam
_open = sa.and_(t.ratings.c.state == OPEN, t.ratings.c.step == _b("step"))

NOTHING = -1  # the item of one who asked for a question and got none

_live = sa.and_(t.leases.c.step == _b("step"), t.leases.c.until > _b("at"))
_in_hand = t.ratings.c.position.in_(sa.select(t.leases.c.position).where(_live, t.leases.c.holder == _b("person")))

_answers = sa.and_(t.answers.c.position == t.ratings.c.position, t.answers.c.step == _b("step"))
_said = sa.exists().where(_answers, t.answers.c.annotator == _b("person"))
_answered = sa.select(sa.func.count()).select_from(t.answers).where(_answers).scalar_subquery()
_lent = (
    sa.select(sa.func.count()).select_from(t.leases).where(_live, t.leases.c.position == t.ratings.c.position)
).scalar_subquery()
_skipped = sa.exists().where(
    t.handed.c.position == t.ratings.c.position, t.handed.c.step == _b("step"), t.handed.c.person == _b("person"),
    t.handed.c.state == "skipped",
)  # fmt: skip


def _free(wanted: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Questions in no process's hands that want another answer, and have none of this person."""
    return sa.and_(t.ratings.c.worker.is_(None), ~_said, wanted)


def _first(which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(t.ratings.c.position).where(_open, which).order_by(t.ratings.c.position).limit(1)


def _count(which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(sa.func.count()).select_from(t.ratings).where(_open, sa.or_(_in_hand, which))


_wants_votes = _free(_answered + _lent < _b("votes"))
_wants_decision = _free(sa.and_(_answered >= _b("votes"), _lent < 1))


# of a person, step and moment; by whether splits are lent
def _next(wanted: sa.ColumnElement[bool]) -> Quick:
    """What the person has in hand, else the first that is free, else the first that they skipped."""
    turns = (_in_hand, sa.and_(wanted, ~_skipped), wanted)
    return Quick(sa.select(sa.func.coalesce(*(_first(which).scalar_subquery() for which in turns))))


IN_HAND = Quick(_first(_in_hand))
NEXT = {False: _next(_wants_votes), True: _next(_wants_decision)}
COUNT = {False: _count(_wants_votes), True: _count(_wants_decision)}

CLAIM = Quick(  # an open question with its item
    sa.select(
        t.ratings.c.position, t.ratings.c.step, t.ratings.c.attempts, t.items.c.id, t.items.c.content, t.items.c.prices
    )
    .join(t.items, t.items.c.position == t.ratings.c.position)
    .where(_open, t.ratings.c.position == _b("position"))
)
VOTES = Quick(
    sa.select(t.answers.c.annotator, t.answers.c.value, t.answers.c.note, t.answers.c.seconds)
    .where(t.answers.c.position == _b("position"), t.answers.c.step == _b("step"))
    .order_by(t.answers.c.id)
)

# of a step and moment: questions, the votes and leases of these, and people
_asked = sa.select(t.ratings.c.position).where(_open, t.ratings.c.worker.is_(None))
_others = t.leases.alias()  # of those who got none
_left_without = sa.and_(
    _others.c.step == _b("step"), _others.c.until > _b("at"), _others.c.position == NOTHING,
    ~sa.exists().where(_live, t.leases.c.holder == _others.c.holder, t.leases.c.position != NOTHING),
)  # fmt: skip
_could_say = (
    sa.select(t.answers.c.id)
    .where(_answers, t.answers.c.annotator == _others.c.holder)
    .correlate(t.ratings, _others)
    .exists()
)
_could = sa.exists().where(_open, t.ratings.c.worker.is_(None), _answered + _lent < _b("votes"), ~_could_say)


def _number(what: Any, table: sa.FromClause, *which: sa.ColumnElement[bool]) -> Any:
    return sa.select(what).select_from(table).where(*which).scalar_subquery()


DEMAND = sa.select(
    _number(sa.func.count(), t.ratings, _open, t.ratings.c.worker.is_(None)).label("asked"),
    _number(
        sa.func.count(), t.answers, t.answers.c.step == _b("step"), t.answers.c.position.in_(_asked)
    ).label("answered"),
    _number(sa.func.count(), t.leases, _live, t.leases.c.position.in_(_asked)).label("lent"),
    _number(sa.func.count(sa.distinct(t.leases.c.holder)), t.leases, _live).label("people"),
    _number(sa.func.count(), _others, _left_without, ~_could).label("waiting"),
)  # fmt: skip

# keys
KEY = ("number", "position", "step", "attempt", "sides", "at", "state")  # columns of a key's row
WHOLE_ROW = sa.select(t.handed).where(t.handed.c.key == _b("key"), t.handed.c.person == _b("person"))
ROW = Quick(
    sa.select(*(t.handed.c[name] for name in KEY)).where(
        t.handed.c.key == _b("key"), t.handed.c.person == _b("person")
    )
)  # fmt: skip
_of_question = sa.and_(
    t.handed.c.position == _b("position"), t.handed.c.step == _b("step"), t.handed.c.attempt == _b("attempt")
)
OPEN_KEY = Quick(
    sa.select(t.handed.c.key, t.handed.c.sides).where(
        _of_question, t.handed.c.person == _b("person"), t.handed.c.state == "open"
    )
)
STATES = Quick(sa.select(t.handed.c.number, t.handed.c.person, t.handed.c.state).where(_of_question))
LIVE = Quick(sa.select(t.leases.c.holder).where(_live, t.leases.c.position == _b("position")))
_others_of = t.handed.alias()
_last_turn = (
    sa.select(sa.func.coalesce(sa.func.max(_others_of.c.turn), 0)).where(_others_of.c.person == _b("of_person"))
).scalar_subquery()
DONE = Quick(
    sa.select(sa.func.count()).select_from(t.handed).where(
        t.handed.c.person == _b("person"), t.handed.c.state == "answered"
    )
)  # fmt: skip
_here = sa.and_(t.leases.c.position == _b("here"), t.leases.c.step == _b("of_step"))
END_LEASES = Quick(
    t.leases.delete().where(_here, sa.or_(t.leases.c.holder == _b("person"), t.leases.c.until <= _b("at")))
)
ALL_LEASES = Quick(t.leases.delete().where(_here))
LEND = insertion(t.leases, ("position", "step", "holder", "until"))
HAND = insertion(t.handed, ("position", "step", "attempt", "person", "key", "sides", "at", "state"))
LAST_TURN = Quick(sa.select(_last_turn))
ANSWERED = Quick(t.handed.update().where(t.handed.c.number == _b("row")).values(state="answered", turn=_last_turn + 1))
UNSAY = Quick(
    t.answers.delete().where(
        t.answers.c.position == _b("here"), t.answers.c.step == _b("of_step"), t.answers.c.annotator == _b("person")
    )
)
