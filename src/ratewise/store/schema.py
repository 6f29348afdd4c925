"""The tables of a campaign, and how a file of an older version becomes one of this version.

meta      what the campaign is: version, the TOML as it was taken, how features are coded, why it ended
items     the pool in the campaign's own order, each with its random number and its row
rounds    each round's policy, frozen when it was opened
batches   the items a round has taken up, and whether they have been drawn
draws     each item's rate and draw per step of the chain, written before anyone is asked
ratings   what was asked for: open, answered or missing
ledger    money: hold, reserve, settle, release; rows are only ever added
totals    the ledger's sums; one row, whose update is what keeps the budget
workers   processes that take part
events    what users should know of
leases    questions in the hands of people, each until a moment
answers   what each annotator said to a question, below the rating that is settled
people    who may sign in to the labelling page, by a hash of their link
sessions  browsers that are signed in, by a hash of their cookie
handed    keys of questions that people were given on the page, and what came of each
refits    what a model trained on closed rounds' labels predicts of every item, where the campaign trains one
chain     the record of everything above but items' rows, workers, leases, people, sessions and handed; see chain.py
"""

import json
import secrets
from collections.abc import Callable

import sqlalchemy as sa
from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
)

from ratewise.errors import StoreError

metadata = MetaData()


def new_campaign_id() -> str:
    """Made once, when a campaign begins: no two campaigns share one, whatever their names are."""
    return secrets.token_hex(8)


meta = Table("meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

items = Table(
    "items",
    metadata,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("id", Text, nullable=False, unique=True),
    Column("uniform", Float(53), nullable=False),
    Column("numbers", LargeBinary),  # uncertainty and coded features, as float64
    Column("prices", Text),  # JSON list, one for each rater, where prices differ by item
    Column("content", Text, nullable=False),  # the row as JSON
)

rounds = Table(
    "rounds",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("first", Integer, nullable=False),
    Column("plan", Text, nullable=False),
    Column("factor", Float(53)),  # of a pool's last items, known when they are drawn
    Column("items", Integer),  # looked at; null while the round is open
    Column("opened_at", Text, nullable=False),
    Column("closed_at", Text),
)

batches = Table(
    "batches",
    metadata,
    Column("first", Integer, primary_key=True, autoincrement=False),
    Column("end", Integer, nullable=False),
    Column("round", Integer, nullable=False),
    Column("drawn", Boolean, nullable=False),
    Column("cost", BigInteger, nullable=False),  # at worst, of what was asked for; before the draw, of what may be
)

draws = Table(
    "draws",
    metadata,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("step", SmallInteger, primary_key=True, autoincrement=False),
    Column("rate", Float(53), nullable=False),
    Column("selected", Boolean, nullable=False),
)

ratings = Table(
    "ratings",
    metadata,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("step", SmallInteger, primary_key=True, autoincrement=False),
    Column("state", SmallInteger, nullable=False),
    Column("worker", Integer),
    Column("attempts", SmallInteger, nullable=False),  # failed ones
    Column("value", Float(53)),
    Column("note", Text),
    Column("at", Text),
    Column("doubt", Float(53)),  # expected squared error, by the rater's own account; null where it gives none
    Index("ratings_open", "step", "position", sqlite_where=sa.text("state = 0"), postgresql_where=sa.text("state = 0")),
)

ledger = Table(
    "ledger",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("kind", Text, nullable=False),
    Column("position", Integer),  # of a hold: the first of its batch
    Column("step", SmallInteger),
    Column("attempt", SmallInteger),
    Column("amount", BigInteger, nullable=False),
    Column("at", Text, nullable=False),
    Index("ledger_position", "position", "step"),
    CheckConstraint("amount >= 0", name="ledger_not_negative"),
)

totals = Table(
    "totals",
    metadata,
    Column("only", Integer, primary_key=True, autoincrement=False),
    Column("reserved", BigInteger, nullable=False),
    Column("spent", BigInteger, nullable=False),
    Column("cap", BigInteger),  # the budget; null: no limit
    CheckConstraint("reserved >= 0 AND spent >= 0", name="totals_not_negative"),
)

workers = Table(
    "workers",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=True),
    Column("host", Text, nullable=False),
    Column("process", Integer, nullable=False),
    Column("joined_at", Text, nullable=False),
    Column("left_at", Text),
)

events = Table(
    "events",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("at", Text, nullable=False),
    Column("text", Text, nullable=False),
)


leases = Table(
    "leases",
    metadata,
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("step", SmallInteger, primary_key=True, autoincrement=False),
    Column("holder", Text, primary_key=True),
    Column("until", Float(53), nullable=False),  # seconds since 1970
)

answers = Table(
    "answers",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("position", Integer, nullable=False),
    Column("step", SmallInteger, nullable=False),
    Column("annotator", Text, nullable=False),
    Column("value", Float(53)),  # null: cannot tell
    Column("note", Text),
    Column("at", Text, nullable=False),
    Column("seconds", Float(53)),  # that it took, without pauses; null where nobody timed it
    Column("sides", Text),  # of a comparison: "ab" or "ba", as this person saw it
    Column("flagged", Boolean),  # by the annotator, for others to look at
    Index("answers_question", "position", "step", "annotator", unique=True),
)

people = Table(
    "people",
    metadata,
    Column("name", Text, primary_key=True),
    Column("admin", Boolean, nullable=False),
    Column("token", Text, unique=True),  # SHA-256 of the link's secret; null: taken back
    Column("made_at", Text, nullable=False),
)

sessions = Table(
    "sessions",
    metadata,
    Column("token", Text, primary_key=True),  # SHA-256 of the cookie
    Column("name", Text, nullable=False),
    Column("csrf", Text, nullable=False),
    Column("until", Float(53), nullable=False),  # seconds since 1970
    Index("sessions_name", "name"),
)

handed = Table(
    "handed",
    metadata,
    Column("number", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("key", Text, nullable=False, unique=True),
    Column("person", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("step", SmallInteger, nullable=False),
    Column("attempt", SmallInteger, nullable=False),
    Column("sides", Text),
    Column("at", Float(53), nullable=False),  # seconds since 1970
    Column("state", Text, nullable=False),  # open | answered | trained | undone | skipped | lapsed
    Column("turn", Integer),  # of an answered one: in which order this person answered
    Column("what", Text),  # null: a question of the campaign; else training, check or repeat, and what was said to it
    Column("value", Float(53)),
    Column("note", Text),
    Column("seconds", Float(53)),
    Column("flagged", Boolean),
    Column("agrees", Boolean),  # with the known answer, or with what this person said before
    Column("paid", BigInteger),
    Index("handed_question", "position", "step", "attempt"),
    Index("handed_person", "person", "state"),
)

refits = Table(
    "refits",
    metadata,
    Column("round", Integer, primary_key=True, autoincrement=False),  # the last one that it has learned from
    Column("first", Integer, primary_key=True, autoincrement=False),  # item
    Column("labels", Integer, nullable=False),  # that it has learned from
    Column("predictions", Text, nullable=False),  # of the items from the first on, as float32 in base 64
    Column("at", Text, nullable=False),
)

chain = Table(
    "chain",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),  # what a transaction has changed, as JSON
    Column("digest", Text, nullable=False),  # of this entry and the digest before it
)


def _first_version(connection: sa.Connection) -> None:
    metadata.create_all(connection, tables=[meta, items, rounds, batches, draws, ratings, ledger, totals, workers])
    connection.execute(totals.insert().values(only=1, reserved=0, spent=0))


def _with_events(connection: sa.Connection) -> None:
    metadata.create_all(connection, tables=[events])


def _with_people(connection: sa.Connection) -> None:
    metadata.create_all(connection, tables=[leases, answers])


def _with_campaign_id(connection: sa.Connection) -> None:
    """Give an older campaign an id for the keys of its questions; what may have been asked keeps its old key."""
    if connection.scalar(sa.select(meta.c.value).where(meta.c.key == "spec")) is None:
        return  # one that begins now gets it with its other facts
    asked = sa.select(ratings.c.position, ratings.c.step, ratings.c.attempts).where(ratings.c.state == 0)
    old = [[position, step, attempts + 1] for position, step, attempts in connection.execute(asked)]
    facts = {"campaign": new_campaign_id(), "old keys": json.dumps(old)}
    connection.execute(meta.insert(), [{"key": key, "value": value} for key, value in facts.items()])


def _with_cap(connection: sa.Connection) -> None:
    """Add the budget, where every process reads it; the next run writes it."""
    if "cap" not in {column["name"] for column in sa.inspect(connection).get_columns("totals")}:
        connection.exec_driver_sql("ALTER TABLE totals ADD COLUMN cap BIGINT")


def _with_doubt(connection: sa.Connection) -> None:
    """Add the uncertainty that raters tell beside their ratings."""
    if "doubt" not in {column["name"] for column in sa.inspect(connection).get_columns("ratings")}:
        kind = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "FLOAT"
        connection.exec_driver_sql(f"ALTER TABLE ratings ADD COLUMN doubt {kind}")


def _with_record(connection: sa.Connection) -> None:
    from ratewise.store.adopt import adopt  # which reads the tables that are made here
    from ratewise.store.schema import raise_guards

    metadata.create_all(connection, tables=[chain])
    adopt(connection, version_of(connection))
    raise_guards(connection)


def _with_details(connection: sa.Connection) -> None:
    """Add what the page tells of an answer: its seconds, the sides of a comparison, and a flag."""
    there = {column["name"] for column in sa.inspect(connection).get_columns("answers")}
    number = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "FLOAT"
    for name, kind in (("seconds", number), ("sides", "TEXT"), ("flagged", "BOOLEAN")):
        if name not in there:
            connection.exec_driver_sql(f"ALTER TABLE answers ADD COLUMN {name} {kind}")


def _with_page(connection: sa.Connection) -> None:
    from ratewise.store.schema import let_undo

    _with_details(connection)
    metadata.create_all(connection, tables=[people, sessions, handed])
    let_undo(connection)


def _with_checks(connection: sa.Connection) -> None:
    """Add what is said to training items, checks and repeats, which are never votes."""
    there = {column["name"] for column in sa.inspect(connection).get_columns("handed")}
    number = "DOUBLE PRECISION" if connection.dialect.name == "postgresql" else "FLOAT"
    kinds = {"what": "TEXT", "value": number, "note": "TEXT", "seconds": number, "flagged": "BOOLEAN",
             "agrees": "BOOLEAN", "paid": "BIGINT"}  # fmt: skip
    for name, kind in kinds.items():
        if name not in there:
            connection.exec_driver_sql(f"ALTER TABLE handed ADD COLUMN {name} {kind}")


def _with_refits(connection: sa.Connection) -> None:
    from ratewise.store.schema import raise_guards

    metadata.create_all(connection, tables=[refits])
    raise_guards(connection)


def _fourth_version(connection: sa.Connection) -> None:
    _with_campaign_id(connection)
    _with_cap(connection)
    _with_doubt(connection)  # the record is made of today's columns
    _with_details(connection)
    metadata.create_all(connection, tables=[refits])
    _with_record(connection)  # last, so that it holds those above


# Number n leads from version n to n + 1. One that was released is never changed.
MIGRATIONS: tuple[Callable[[sa.Connection], None], ...] = (
    _first_version, _with_events, _with_people, _fourth_version, _with_doubt, _with_page, _with_checks,
    _with_refits,
)  # fmt: skip
VERSION = len(MIGRATIONS)


def is_foreign(connection: sa.Connection) -> bool:
    """Whether there are tables, but not ours."""
    found = set(sa.inspect(connection).get_table_names())
    return bool(found) and not {"meta", "items", "ratings", "ledger"} <= found


def version_of(connection: sa.Connection) -> int:
    """Version of the tables; 0 where there are none. A newer version than this is refused."""
    if not sa.inspect(connection).has_table("meta"):
        return 0
    found = int(connection.scalar(sa.select(meta.c.value).where(meta.c.key == "version")) or 0)
    if found > VERSION:
        raise StoreError(
            f"this campaign was written by a newer ratewise (its tables are of version {found}, this one knows "
            f"{VERSION}); install that one or a later one"
        )
    return found


def migrate(connection: sa.Connection) -> int:
    """Bring the tables to this version, in the caller's transaction; returns the version they had."""
    had = version_of(connection)
    for step in MIGRATIONS[had:]:
        step(connection)
    if had < VERSION:
        connection.execute(meta.delete().where(meta.c.key == "version"))
        connection.execute(meta.insert().values(key="version", value=str(VERSION)))
    return had


_ADDED_ONLY = ("items", "draws", "ledger", "events", "chain", "refits")
_KEPT = ("rounds", "ratings", "batches", "totals")  # rows stay, and change in few ways
# An answer may be taken back by the one who gave it: then the question is open, and a new attempt begins.
_UNDONE = "NEW.state = 0 AND NEW.value IS NULL AND NEW.attempts > OLD.attempts"
_FIXED = {  # of these, rows that nobody may change any more
    "rounds": "OLD.items IS NOT NULL OR NEW.plan <> OLD.plan OR NEW.first <> OLD.first",
    "ratings": f"OLD.state = 1 AND NOT ({_UNDONE})",
    "batches": "OLD.drawn",
}
_AMOUNTS = {"ledger": ("amount",), "totals": ("reserved", "spent")}
_FUNCTION = """
CREATE OR REPLACE FUNCTION ratewise_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING MESSAGE = 'a row of ' || TG_TABLE_NAME || ' may not be changed or taken out'; END $$
"""


def raise_guards(connection: sa.Connection) -> None:
    """Put them all up; those that are there stay."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_FUNCTION)
    there = set(sa.inspect(connection).get_table_names())
    added_only = [table for table in _ADDED_ONLY if table in there]  # a store on its way to this version may lack some
    for table in added_only:
        _guard(connection, table, "UPDATE")
    for table, when in _FIXED.items():
        _guard(connection, table, "UPDATE", when)
    for table in (*added_only, *_KEPT):
        _guard(connection, table, "DELETE")
        if connection.dialect.name == "postgresql":
            _guard(connection, table, "TRUNCATE")
    for table, columns in _AMOUNTS.items():
        _no_negative(connection, table, columns)


def let_undo(connection: sa.Connection) -> None:
    """Put the guard of ratings up anew: older ones let nobody take an answer back."""
    on = " ON ratings" if connection.dialect.name == "postgresql" else ""
    connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS guard_ratings_update{on}")
    raise_guards(connection)


def _guard(connection: sa.Connection, table: str, act: str, when: str = "") -> None:
    name, condition = f"guard_{table}_{act.lower()}", f" WHEN ({when})" if when else ""
    if connection.dialect.name == "postgresql":
        each = "STATEMENT" if act == "TRUNCATE" else "ROW"
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {name} ON {table}")
        connection.exec_driver_sql(
            f"CREATE TRIGGER {name} BEFORE {act} ON {table} FOR EACH {each}{condition} "
            "EXECUTE FUNCTION ratewise_guard()"
        )
        return
    said = f"a row of {table} may not be changed or taken out"
    connection.exec_driver_sql(
        f"CREATE TRIGGER IF NOT EXISTS {name} BEFORE {act} ON {table}{condition} "
        f"BEGIN SELECT RAISE(ABORT, '{said}'); END"
    )


def _no_negative(connection: sa.Connection, table: str, columns: tuple[str, ...]) -> None:
    """A new store has CHECKs in its tables. In an older one, rows that are there already are left to `verify`."""
    name, legal = f"{table}_not_negative", " AND ".join(f"{column} >= 0" for column in columns)
    if name in {check["name"] for check in sa.inspect(connection).get_check_constraints(table)}:
        return
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"ALTER TABLE {table} ADD CONSTRAINT {name} CHECK ({legal}) NOT VALID")
        return
    wrong = " OR ".join(f"NEW.{column} < 0" for column in columns)
    for act in ("INSERT", "UPDATE"):
        connection.exec_driver_sql(
            f"CREATE TRIGGER IF NOT EXISTS guard_{table}_negative_{act.lower()} BEFORE {act} ON {table} "
            f"WHEN ({wrong}) BEGIN SELECT RAISE(ABORT, 'money of {table} may not be negative'); END"
        )
