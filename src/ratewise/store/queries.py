"""The statements of the log: SQL that SQLite and PostgreSQL both take, handed to their drivers as text.

SQLAlchemy makes tables, connections and transactions; a statement of its own takes ten times as long to be made ready
as SQLite takes to run it. Values stand by name, as `:position`; `IN :positions` takes a list, and `FOR UPDATE`, at the
end, is for PostgreSQL alone: in SQLite, whoever writes is alone.

In `ratings`, `state = 0` is a question without an answer, and `worker` is the process that has it in hand.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import sqlalchemy as sa
from sqlalchemy import exc

Row = tuple[Any, ...]
Values = Mapping[str, Any]
_NAME = re.compile(r"(?<!:):(\w+)")
_LIST = re.compile(r"\bIN :(\w+)")


class Query:
    """One statement, and how to run it inside a transaction; errors are those of SQLAlchemy."""

    def __init__(self, text: str) -> None:
        plain = " ".join(text.split())
        named = _NAME.sub(r"%(\1)s", _LIST.sub(r"= ANY(:\1)", plain.replace("%", "%%")))
        listed = _LIST.sub(r"IN (SELECT value FROM json_each(:\1))", plain.partition(" FOR UPDATE")[0])
        self._texts = {"sqlite": listed, "postgresql": named}

    def all(self, connection: sa.Connection, /, **values: Any) -> list[Row]:
        found: list[Row] = self._run(connection, values).fetchall()
        return found

    def first(self, connection: sa.Connection, /, **values: Any) -> Row | None:
        """The first row; None where there is none."""
        found: Row | None = self._run(connection, values).fetchone()
        return found

    def scalar(self, connection: sa.Connection, /, **values: Any) -> Any:
        """The first column of the first row; None where there is none."""
        row = self.first(connection, **values)
        return None if row is None else row[0]

    def column(self, connection: sa.Connection, /, **values: Any) -> list[Any]:
        return [row[0] for row in self.all(connection, **values)]

    def change(self, connection: sa.Connection, /, **values: Any) -> int:
        return int(self._run(connection, values).rowcount)

    def many(self, connection: sa.Connection, rows: Sequence[Values]) -> None:
        """Run it once with the values of each row."""
        if len(rows) == 1:
            self._run(connection, rows[0])
        else:
            self._run(connection, rows)

    def _run(self, connection: sa.Connection, values: Values | Sequence[Values]) -> Any:
        name = connection.dialect.name
        if name == "sqlite" and isinstance(values, Mapping):
            values = {key: json.dumps(each) if isinstance(each, list) else each for key, each in values.items()}
        text, cursor = self._texts[name], connection.connection.cursor()
        try:
            if isinstance(values, Mapping):
                cursor.execute(text, values)
            else:
                cursor.executemany(text, values)
        except _driver_error(connection) as error:
            raise _translated(connection, text, error) from error
        return cursor


def _driver_error(connection: sa.Connection) -> type[Exception]:
    found: type[Exception] = connection.dialect.dbapi.Error  # type: ignore[union-attr]
    return found


def _translated(connection: sa.Connection, text: str, error: Exception) -> Exception:
    """The driver's error as SQLAlchemy would raise it; a connection that is gone is not used again."""
    gone = connection.dialect.is_disconnect(error, None, None)  # type: ignore[arg-type]
    if gone:
        connection.invalidate(error)
    known: Exception = exc.DBAPIError.instance(
        text, None, error, _driver_error(connection), connection_invalidated=gone, dialect=connection.dialect
    )
    return known


def _quoted(columns: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in columns)


def _equal(columns: Iterable[str], between: str) -> str:
    return between.join(f'"{name}" = :{name}' for name in columns)


@cache
def insertion(table: str, columns: tuple[str, ...]) -> Query:
    """Adds a row with these columns."""
    values = ", ".join(f":{name}" for name in columns)
    return Query(f"INSERT INTO {table} ({_quoted(columns)}) VALUES ({values})")


@cache
def update(table: str, keys: tuple[str, ...], columns: tuple[str, ...], also: str = "") -> Query:
    """Gives the row with these keys new values; `also` is a further assignment, such as "worker = NULL"."""
    settings = ", ".join(filter(None, [_equal(columns, ", "), also]))
    return Query(f"UPDATE {table} SET {settings} WHERE {_equal(keys, ' AND ')}")


@cache
def deletion(table: str, keys: tuple[str, ...]) -> Query:
    """Takes out the rows with these keys."""
    return Query(f"DELETE FROM {table} WHERE {_equal(keys, ' AND ')}")


# Facts, workers and notes

FACT = Query("SELECT value FROM meta WHERE key = :key")
SET_FACT = Query("INSERT INTO meta (key, value) VALUES (:key, :value) ON CONFLICT (key) DO UPDATE SET value = :value")
NEW_WORKER = Query(
    "INSERT INTO workers (host, process, joined_at) VALUES (:host, :process, :joined_at) RETURNING number"
)
FREE_WORKERS = Query("UPDATE ratings SET worker = NULL WHERE state = 0 AND worker IN :workers")
IN_HANDS = Query("SELECT 1 FROM ratings WHERE state = 0 AND step = :step AND worker IS NOT NULL LIMIT 1")
AT_WORK = Query("SELECT DISTINCT worker FROM ratings WHERE state = 0 AND worker IS NOT NULL")
NOTES = Query("SELECT at, text FROM events ORDER BY id")

# Money. Amounts are added by their billions and what is left of them: SQLite adds in 64 bits, and what was reserved and
# freed again leaves those.

TOTALS = Query("SELECT reserved, spent FROM totals")
LOCK = Query("SELECT reserved, spent, cap FROM totals FOR UPDATE")
MOVE = Query("""
    UPDATE totals SET reserved = reserved + :reserve, spent = spent + :spend
    WHERE reserved <= :most_reserved AND spent <= :most_spent
""")
HELD = Query("""
    SELECT r.position, r.attempts + 1, l.amount FROM ratings r LEFT JOIN ledger l
    ON l.kind = 'reserve' AND l.position = r.position AND l.step = r.step AND l.attempt = r.attempts + 1
    WHERE r.state = 0 AND r.step = :step AND r.position IN :positions FOR UPDATE OF r
""")
PAID_AT = Query("""
    SELECT kind, amount FROM ledger WHERE position = :position AND step = :step AND attempt = :attempt
""")
LAST_PAID = Query("SELECT max(attempt) FROM ledger WHERE position = :position AND step = :step AND kind = 'settle'")

PART = 10**9


def _sums(rows: str = "ledger l", by: str = "l.kind") -> Query:
    """Sums of amounts by one or two columns, for `exact`."""
    return Query(f"SELECT {by}, sum(l.amount / {PART}), sum(l.amount % {PART}) FROM {rows} GROUP BY {by}")


def exact(rows: Iterable[Row]) -> dict[Any, int]:
    """What a query of sums has found, by its columns."""
    return {(key[0] if len(key) == 1 else tuple(key)): int(a) * PART + int(b) for *key, a, b in rows}


SUMS = _sums()
SUMS_BEFORE = _sums("ledger l WHERE l.position < :position")
SUMS_BY_STEP = _sums("ledger l WHERE l.step IS NOT NULL", "l.kind, l.step")
SUMS_BESIDE = _sums("ledger l WHERE l.position IS NULL")
_failed = "l.kind = 'settle' AND l.attempt <= r.attempts"
SUMS_FAILED = _sums(f"""
    ledger l JOIN ratings r ON r.position = l.position AND r.step = l.step
    WHERE l.position < :position AND (({_failed}) OR l.kind = 'undo')
""")
SUMS_LATER = _sums("""
    ledger l JOIN draws d ON d.position = l.position AND d.step < :step AND d.selected WHERE l.step > 0
""")
SUMS_FREED = _sums("""
    ledger l JOIN ledger s ON s.kind = 'settle' AND s.position = l.position AND s.step = l.step
    AND s.attempt = l.attempt WHERE l.kind = 'reserve'
""")

# Rounds and items

ROUNDS = Query('SELECT number, "first", plan, factor, items FROM rounds WHERE number > :after ORDER BY number')
FIRST_OF = Query('SELECT "first" FROM rounds WHERE number = :number')
BATCHES = Query("""
    SELECT "first", "end", drawn, cost, (SELECT count(*) FROM draws d WHERE d.position = b."first" AND d.step > 0)
    FROM batches b WHERE round = :number ORDER BY "first"
""")
OPEN_BY_STEP = Query("SELECT step, count(*) FROM ratings WHERE state = 0 GROUP BY step")
OPEN_BEFORE = Query("SELECT step, count(*) FROM ratings WHERE state = 0 AND position < :before GROUP BY step")
IS_ASKED = Query("""
    SELECT EXISTS (SELECT 1 FROM ratings
    WHERE state = 0 AND position >= :first AND position < :end AND step < :step)
""")
LAST_STEP = Query("SELECT max(step) FROM draws")
AGAIN = Query("SELECT position, rate, selected FROM draws WHERE step = :step ORDER BY position")
ITEMS = Query("SELECT uniform, numbers FROM items WHERE position >= :first AND position < :end ORDER BY position")
PRICES = Query("SELECT prices FROM items WHERE position >= :first AND position < :end ORDER BY position")
ANSWERS = Query("""
    SELECT position, step, value, doubt FROM ratings
    WHERE position >= :first AND position < :end AND value IS NOT NULL
""")
DRAWS = Query("""
    SELECT position, step, rate, selected FROM draws WHERE position >= :first AND position < :end AND step > 0
""")
REFIT_ROUNDS = Query("SELECT round FROM refits ORDER BY round")
REFIT = Query("SELECT labels, predictions FROM refits WHERE round = :round")

# Questions in the hands of processes


def _claims(which: str) -> Query:
    """Open questions with their items, for `ledger.claims`."""
    return Query(f"""
        SELECT r.position, r.step, r.attempts, i.id, i.content, i.prices
        FROM ratings r JOIN items i ON i.position = r.position
        WHERE r.state = 0 AND {which} ORDER BY r.position, r.step
    """)


CLAIM = _claims("r.position = :position AND r.step = :step")
CLAIMS_AT = _claims("r.step = :step AND r.position IN :positions")
CLAIMS_OF = _claims("r.worker IN :workers")
UNCLAIMED = _claims("r.worker IS NULL")
UNCLAIMED_OF_STEP = _claims("r.worker IS NULL AND r.step = :step")

_free = """
    SELECT position FROM ratings r WHERE state = 0 AND step = :step AND worker IS NULL {0} AND NOT EXISTS
    (SELECT 1 FROM leases l WHERE l.position = r.position AND l.step = :step AND l.until > :at)
    ORDER BY position LIMIT :limit FOR UPDATE SKIP LOCKED
"""
FREE = Query(_free.format(""))
FRESH = Query(_free.format("AND attempts = 0"))  # and never failed
TAKE = Query("UPDATE ratings SET worker = :worker WHERE state = 0 AND step = :step AND position IN :positions")
ELSEWHERE = Query("SELECT count(*) FROM ratings WHERE state = 0 AND (step IN :steps OR worker <> :worker)")
COUNTS = Query("SELECT step, state, count(*) FROM ratings GROUP BY step, state")
FAILED = Query("SELECT coalesce(sum(attempts), 0) - (SELECT count(*) FROM ledger WHERE kind = 'undo') FROM ratings")
LOOKED = Query('SELECT coalesce(max("end"), 0) FROM batches')

# A question from whose answer nothing has followed yet: in an open round, or drawn by the latest second look; a weak
# one only before its item is drawn.
IS_PENDING = Query("""
    SELECT r.state, r.attempts FROM ratings r
    WHERE r.position = :position AND r.step = :step
    AND EXISTS (SELECT 1 FROM rounds WHERE items IS NULL)
    AND (
        r.position >= (SELECT min("first") FROM rounds WHERE items IS NULL)
        OR EXISTS (
            SELECT 1 FROM draws d WHERE d.position = r.position AND d.step < 0 AND d.selected
            AND d.step = (SELECT min(step) FROM draws)
        )
    )
    AND (
        r.step > 0
        OR NOT (SELECT drawn FROM batches b WHERE b."first" <= r.position AND b."end" > r.position)
    )
    FOR UPDATE
""")

# Questions in the hands of people

NOTHING = -1  # the item of one who asked for a question and got none

_live = "l.step = :step AND l.until > :at"
_in_hand = f"r.position IN (SELECT l.position FROM leases l WHERE {_live} AND l.holder = :person)"
_said = "EXISTS (SELECT 1 FROM answers a WHERE a.position = r.position AND a.step = :step AND a.annotator = {})"
_answered = "(SELECT count(*) FROM answers a WHERE a.position = r.position AND a.step = :step)"
_lent = f"(SELECT count(*) FROM leases l WHERE {_live} AND l.position = r.position)"
_skipped = """
    EXISTS (SELECT 1 FROM handed h
    WHERE h.position = r.position AND h.step = :step AND h.person = :person AND h.state = 'skipped')
"""
_mine = f"r.worker IS NULL AND NOT {_said.format(':person')}"  # wants an answer of this person
_wanted = {  # by whether only questions are lent that have all their votes and are open still
    False: f"{_mine} AND {_answered} + {_lent} < :votes",
    True: f"{_mine} AND {_answered} >= :votes AND {_lent} < 1",
}


def _next(wanted: str) -> Query:
    """What the person has in hand, else the first that is free, else the first that they skipped."""
    turns = (_in_hand, f"{wanted} AND NOT {_skipped}", wanted)
    first = "(SELECT r.position FROM ratings r WHERE r.state = 0 AND r.step = :step AND {} ORDER BY r.position LIMIT 1)"
    return Query(f"SELECT coalesce({', '.join(first.format(turn) for turn in turns)})")


NEXT = {splits: _next(wanted) for splits, wanted in _wanted.items()}
LEFT = {
    splits: Query(f"SELECT count(*) FROM ratings r WHERE r.state = 0 AND r.step = :step AND ({_in_hand} OR ({wanted}))")
    for splits, wanted in _wanted.items()
}
_asked = "SELECT r.position FROM ratings r WHERE r.state = 0 AND r.step = :step AND r.worker IS NULL"
DEMAND = Query(f"""
    SELECT
        (SELECT count(*) FROM ({_asked}) q),
        (SELECT count(*) FROM answers a WHERE a.step = :step AND a.position IN ({_asked})),
        (SELECT count(*) FROM leases l WHERE {_live} AND l.position IN ({_asked})),
        (SELECT count(DISTINCT l.holder) FROM leases l WHERE {_live}),
        (
            SELECT count(*) FROM leases w WHERE w.step = :step AND w.until > :at AND w.position = {NOTHING}
            AND NOT EXISTS (SELECT 1 FROM leases l WHERE {_live} AND l.holder = w.holder AND l.position <> {NOTHING})
            AND NOT EXISTS ({_asked} AND {_answered} + {_lent} < :votes AND NOT {_said.format("w.holder")})
        )
""")
IN_HAND = Query(f"SELECT r.position FROM ratings r WHERE r.state = 0 AND r.step = :step AND {_in_hand}")
HOLDERS = Query(f"SELECT DISTINCT holder FROM leases WHERE until > :at AND position <> {NOTHING}")
LIVE = Query(f"SELECT l.holder FROM leases l WHERE {_live} AND l.position = :position")
LENT = Query(f"SELECT l.position, count(*) FROM leases l WHERE {_live} GROUP BY l.position")
END_LEASES = Query("""
    DELETE FROM leases WHERE position = :position AND step = :step AND (holder = :person OR until <= :at)
""")
END_OTHERS = Query("DELETE FROM leases WHERE holder = :person AND (position <> :position OR step <> :step)")

VOTES = Query("""
    SELECT annotator, value, note, seconds FROM answers WHERE position = :position AND step = :step ORDER BY id
""")
ANSWERED = Query("SELECT position, count(*) FROM answers WHERE step = :step GROUP BY position")
SAID = Query("""
    SELECT value, note, seconds, sides, flagged FROM answers
    WHERE position = :position AND step = :step AND annotator = :person
""")
SAID_BY = Query("SELECT position, annotator, value FROM answers WHERE step = :step")
SETTLED = Query("""
    SELECT i.id, r.value FROM items i JOIN ratings r ON i.position = r.position
    WHERE r.step = :step AND r.state <> 0
""")
ASKED = Query("""
    SELECT i.id, r.position FROM ratings r JOIN items i ON i.position = r.position
    WHERE r.step = :step ORDER BY r.position
""")
IS_ITEM = Query("SELECT position FROM items WHERE id = :id")
CONTENT = Query("SELECT content FROM items WHERE position = :position")

# Keys of questions that people were given on the page


class Key(NamedTuple):
    """The row of a key, in the order of its columns."""

    key: str
    person: str
    position: int
    step: int
    attempt: int
    sides: str | None
    at: float
    state: str
    turn: int | None
    what: str | None
    value: float | None
    note: str | None
    seconds: float | None
    flagged: bool | None
    agrees: bool | None
    paid: int | None


_key = f"SELECT {_quoted(Key._fields)} FROM handed"
ROW = Query(f"{_key} WHERE key = :key AND person = :person")
LAST_ANSWERED = Query(f"{_key} WHERE person = :person AND state = 'answered' ORDER BY turn DESC LIMIT 1")
GIVEN = Query(f"{_key} WHERE person = :person AND step = :step AND state <> 'undone' ORDER BY number")
_question = "position = :position AND step = :step AND attempt = :attempt"
OPEN_KEY = Query(f"SELECT key, sides FROM handed WHERE {_question} AND person = :person AND state = 'open'")
STATES = Query(f"SELECT key, person, state FROM handed WHERE {_question}")
DONE = Query("SELECT count(*) FROM handed WHERE person = :person AND state = 'answered'")
LAST_TURN = Query("SELECT coalesce(max(turn), 0) FROM handed WHERE person = :person")
OPEN_CHECKS = Query("SELECT count(*) FROM handed WHERE what IN ('check', 'repeat') AND state = 'open'")

# Accounts

PEOPLE = Query("SELECT name, admin, token, made_at FROM people ORDER BY name")
LINK = Query("SELECT name FROM people WHERE token = :token")
SESSION = Query("""
    SELECT s.name, p.admin, s.csrf FROM sessions s JOIN people p ON p.name = s.name AND p.token IS NOT NULL
    WHERE s.token = :token AND s.until > :at
""")
OLD_SESSIONS = Query("DELETE FROM sessions WHERE until <= :at")
ANNOTATORS = Query("SELECT DISTINCT annotator FROM answers")
