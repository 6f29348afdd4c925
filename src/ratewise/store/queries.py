"""Statements that run for every answer of a person, handed to the driver as text: SQLAlchemy writes them once.

Making a statement ready to run takes SQLAlchemy ten times as long as SQLite takes to run it. Values go in as they are,
so these statements are for numbers and texts, and rows come back as plain tuples.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects.postgresql import psycopg
from sqlalchemy.dialects.sqlite import pysqlite

from ratewise.store import schema as t
from ratewise.store.queue import OPEN

Row = tuple[Any, ...]
_DIALECTS: dict[str, sa.Dialect] = {
    "sqlite": pysqlite.dialect(paramstyle="named"),
    "postgresql": psycopg.dialect(),  # type: ignore[no-untyped-call]
}


@dataclass(frozen=True, slots=True)
class Quick:
    """A statement of SQLAlchemy that is written out once for each kind of database."""

    statement: sa.Select[Any] | sa.Insert | sa.Update | sa.Delete
    _texts: dict[str, tuple[str, dict[str, Any]]] = field(default_factory=dict, repr=False, compare=False)

    def all(self, connection: sa.Connection, values: Mapping[str, Any]) -> Sequence[Row]:
        """All rows."""
        found: Sequence[Row] = self._run(connection, values).fetchall()
        return found

    def first(self, connection: sa.Connection, values: Mapping[str, Any]) -> Row | None:
        """The first row; None where there is none."""
        found: Row | None = self._run(connection, values).fetchone()
        return found

    def scalar(self, connection: sa.Connection, values: Mapping[str, Any]) -> Any:
        """The first column of the first row; None where there is none."""
        row = self.first(connection, values)
        return None if row is None else row[0]

    def change(self, connection: sa.Connection, values: Mapping[str, Any]) -> int:
        """How many rows were changed."""
        return int(self._run(connection, values).rowcount)

    def run(self, connection: sa.Connection, values: Mapping[str, Any]) -> None:
        """Run it, whatever comes of it."""
        self._run(connection, values)

    def _run(self, connection: sa.Connection, values: Mapping[str, Any]) -> Any:
        name = connection.dialect.name
        if name not in self._texts:
            self._texts[name] = _written(self.statement, name)
        text, fixed = self._texts[name]
        driver: Any = connection.connection.driver_connection
        try:
            return driver.execute(text, {**fixed, **values})
        except driver_error(connection) as error:
            raise translated(connection, text, error) from error


def driver_error(connection: sa.Connection) -> type[Exception]:
    """What the driver raises."""
    found: type[Exception] = connection.dialect.dbapi.Error  # type: ignore[union-attr]
    return found


def translated(connection: sa.Connection, text: str, error: Exception) -> Exception:
    """The driver's error as SQLAlchemy would raise it; a connection that is gone is not used again."""
    gone = connection.dialect.is_disconnect(error, None, None)  # type: ignore[arg-type]
    if gone:
        connection.invalidate(error)
    made: Exception = exc.DBAPIError.instance(
        text, None, error, driver_error(connection), connection_invalidated=gone, dialect=connection.dialect
    )
    return made


def _written(statement: sa.Select[Any] | sa.Insert | sa.Update | sa.Delete, name: str) -> tuple[str, dict[str, Any]]:
    """The text with names for its values, and the values that are always the same."""
    written = statement.compile(dialect=_DIALECTS[name])
    return str(written), {key: value for key, value in written.params.items() if value is not None}


@cache
def insertion(table: sa.Table, columns: tuple[str, ...]) -> Quick:
    """Adds a row with these columns; a number that the database gives it is not asked back."""
    return Quick(table.insert().values({name: sa.bindparam(name) for name in columns}).inline())


_b = sa.bindparam
_is_open = t.ratings.c.state == OPEN
_between = {  # from item `first` to before `end`
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
OPEN_BY_STEP = sa.select(t.ratings.c.step, sa.func.count()).where(_is_open).group_by(t.ratings.c.step)
OPEN_BEFORE = OPEN_BY_STEP.where(t.ratings.c.position < _b("before"))
ITEMS = sa.select(t.items.c.uniform, t.items.c.numbers).where(_between[t.items]).order_by(t.items.c.position)
PRICES = sa.select(t.items.c.prices).where(_between[t.items]).order_by(t.items.c.position)
ANSWERS = sa.select(t.ratings.c.position, t.ratings.c.step, t.ratings.c.value, t.ratings.c.doubt).where(
    _between[t.ratings], t.ratings.c.value.is_not(None)
)
DRAWS = sa.select(t.draws.c.position, t.draws.c.step, t.draws.c.rate, t.draws.c.selected).where(
    _between[t.draws], t.draws.c.step > 0
)

_lent_out = sa.and_(
    t.leases.c.position == t.ratings.c.position, t.leases.c.step == _b("step"), t.leases.c.until > _b("at")
)
FREE = (  # of rater `step` at time `at`, no more than `limit`
    sa.select(t.ratings.c.position)
    .where(_is_open, t.ratings.c.step == _b("step"), t.ratings.c.worker.is_(None), ~sa.exists().where(_lent_out))
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


_bind = sa.bindparam
_asked_of = sa.and_(t.ratings.c.state == OPEN, t.ratings.c.step == _bind("step"))

NOTHING = -1  # the item of one who asked for a question and got none

_live = sa.and_(t.leases.c.step == _bind("step"), t.leases.c.until > _bind("at"))
_in_hand = t.ratings.c.position.in_(sa.select(t.leases.c.position).where(_live, t.leases.c.holder == _bind("person")))

_answers = sa.and_(t.answers.c.position == t.ratings.c.position, t.answers.c.step == _bind("step"))
_said = sa.exists().where(_answers, t.answers.c.annotator == _bind("person"))
_answered = sa.select(sa.func.count()).select_from(t.answers).where(_answers).scalar_subquery()
_lent = (
    sa.select(sa.func.count()).select_from(t.leases).where(_live, t.leases.c.position == t.ratings.c.position)
).scalar_subquery()
_skipped = sa.exists().where(
    t.handed.c.position == t.ratings.c.position, t.handed.c.step == _bind("step"), t.handed.c.person == _bind("person"),
    t.handed.c.state == "skipped",
)  # fmt: skip


def _free(wanted: sa.ColumnElement[bool]) -> sa.ColumnElement[bool]:
    """Questions in no process's hands that want another answer, and have none of this person."""
    return sa.and_(t.ratings.c.worker.is_(None), ~_said, wanted)


def _first(which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(t.ratings.c.position).where(_asked_of, which).order_by(t.ratings.c.position).limit(1)


def _count(which: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return sa.select(sa.func.count()).select_from(t.ratings).where(_asked_of, sa.or_(_in_hand, which))


_wants_votes = _free(_answered + _lent < _bind("votes"))
_wants_decision = _free(sa.and_(_answered >= _bind("votes"), _lent < 1))


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
    .where(_asked_of, t.ratings.c.position == _bind("position"))
)
VOTES = Quick(
    sa.select(t.answers.c.annotator, t.answers.c.value, t.answers.c.note, t.answers.c.seconds)
    .where(t.answers.c.position == _bind("position"), t.answers.c.step == _bind("step"))
    .order_by(t.answers.c.id)
)

# of a step and moment: questions, the votes and leases of these, and people
_asked = sa.select(t.ratings.c.position).where(_asked_of, t.ratings.c.worker.is_(None))
_others = t.leases.alias()  # of those who got none
_left_without = sa.and_(
    _others.c.step == _bind("step"), _others.c.until > _bind("at"), _others.c.position == NOTHING,
    ~sa.exists().where(_live, t.leases.c.holder == _others.c.holder, t.leases.c.position != NOTHING),
)  # fmt: skip
_could_say = (
    sa.select(t.answers.c.id)
    .where(_answers, t.answers.c.annotator == _others.c.holder)
    .correlate(t.ratings, _others)
    .exists()
)
_could = sa.exists().where(_asked_of, t.ratings.c.worker.is_(None), _answered + _lent < _bind("votes"), ~_could_say)


def _number(what: Any, table: sa.FromClause, *which: sa.ColumnElement[bool]) -> Any:
    return sa.select(what).select_from(table).where(*which).scalar_subquery()


DEMAND = sa.select(
    _number(sa.func.count(), t.ratings, _asked_of, t.ratings.c.worker.is_(None)).label("asked"),
    _number(
        sa.func.count(), t.answers, t.answers.c.step == _bind("step"), t.answers.c.position.in_(_asked)
    ).label("answered"),
    _number(sa.func.count(), t.leases, _live, t.leases.c.position.in_(_asked)).label("lent"),
    _number(sa.func.count(sa.distinct(t.leases.c.holder)), t.leases, _live).label("people"),
    _number(sa.func.count(), _others, _left_without, ~_could).label("waiting"),
)  # fmt: skip

# keys
KEY = ("number", "position", "step", "attempt", "sides", "at", "state")  # columns of a key's row
WHOLE_ROW = sa.select(t.handed).where(t.handed.c.key == _bind("key"), t.handed.c.person == _bind("person"))
ROW = Quick(
    sa.select(*(t.handed.c[name] for name in KEY)).where(
        t.handed.c.key == _bind("key"), t.handed.c.person == _bind("person")
    )
)  # fmt: skip
_of_question = sa.and_(
    t.handed.c.position == _bind("position"), t.handed.c.step == _bind("step"), t.handed.c.attempt == _bind("attempt")
)
OPEN_KEY = Quick(
    sa.select(t.handed.c.key, t.handed.c.sides).where(
        _of_question, t.handed.c.person == _bind("person"), t.handed.c.state == "open"
    )
)
STATES = Quick(sa.select(t.handed.c.number, t.handed.c.person, t.handed.c.state).where(_of_question))
LIVE = Quick(sa.select(t.leases.c.holder).where(_live, t.leases.c.position == _bind("position")))
_others_of = t.handed.alias()
_last_turn = (
    sa.select(sa.func.coalesce(sa.func.max(_others_of.c.turn), 0)).where(_others_of.c.person == _bind("of_person"))
).scalar_subquery()
DONE = Quick(
    sa.select(sa.func.count()).select_from(t.handed).where(
        t.handed.c.person == _bind("person"), t.handed.c.state == "answered"
    )
)  # fmt: skip
_here = sa.and_(t.leases.c.position == _bind("here"), t.leases.c.step == _bind("of_step"))
END_LEASES = Quick(
    t.leases.delete().where(_here, sa.or_(t.leases.c.holder == _bind("person"), t.leases.c.until <= _bind("at")))
)
ALL_LEASES = Quick(t.leases.delete().where(_here))
LEND = insertion(t.leases, ("position", "step", "holder", "until"))
HAND = insertion(t.handed, ("position", "step", "attempt", "person", "key", "sides", "at", "state"))
LAST_TURN = Quick(sa.select(_last_turn))
ANSWERED = Quick(
    t.handed.update().where(t.handed.c.number == _bind("row")).values(state="answered", turn=_last_turn + 1)
)
UNSAY = Quick(
    t.answers.delete().where(
        t.answers.c.position == _bind("here"),
        t.answers.c.step == _bind("of_step"),
        t.answers.c.annotator == _bind("person"),
    )
)
