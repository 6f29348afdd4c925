"""The tables of a campaign, and what the database itself refuses to do with them.

meta      what the campaign is: the TOML as it was taken, how features are coded, why it ended
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
chain     the record of everything above but items' rows, workers, leases and sessions; see chain.py
"""

import secrets
from functools import cache

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
from sqlalchemy.schema import CreateIndex, CreateTable

from ratewise.errors import StoreError

FORMAT = 1  # of the tables; a release that changes them counts on, so that older ones leave its campaigns alone
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
    Index("ratings_open", "step", "position", info={"where": " WHERE state = 0"}),
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
    Column("labels", Integer, nullable=False),  # that it has learned from
    Column("predictions", Text, nullable=False),  # of all items, as float32 in base 64
    Column("at", Text, nullable=False),
)

chain = Table(
    "chain",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),  # what a transaction has changed, as JSON
    Column("digest", Text, nullable=False),  # of this entry and the digest before it
)


def create(connection: sa.Connection) -> None:
    """Make the tables and put up their guards; those that are there stay."""
    if not sa.inspect(connection).has_table("totals"):
        for statement in definitions(connection.dialect):
            connection.exec_driver_sql(statement)
        connection.execute(totals.insert().values(only=1, reserved=0, spent=0))
        connection.execute(meta.insert().values(key="version", value=str(FORMAT)))
        raise_guards(connection)


@cache
def definitions(dialect: sa.Dialect) -> tuple[str, ...]:
    """The tables and their indexes in a database's words."""
    made = []
    for table in metadata.sorted_tables:
        made.append(str(CreateTable(table).compile(dialect=dialect)))
        for index in sorted(table.indexes, key=lambda i: str(i.name)):
            made.append(f"{CreateIndex(index).compile(dialect=dialect)}{index.info.get('where', '')}")
    return tuple(made)


def check_format(connection: sa.Connection) -> None:
    """Refuse a campaign that a newer release has written."""
    found = connection.scalar(sa.select(meta.c.value).where(meta.c.key == "version"))
    if int(found or 0) > FORMAT:
        raise StoreError("this campaign was written by a newer ratewise; install that one or a later one")


# Guards keep mistakes out, ours and those of people with a database prompt: rows that are only ever added stay as they
# are. One who may change the tables may drop the guards, too; what such a person does is found by `verify`.

_ADDED_ONLY = ("items", "draws", "ledger", "events", "chain", "refits")
_KEPT = ("rounds", "ratings", "batches", "totals", "people", "handed")  # rows stay, and change in few ways
# An answer may be taken back by the one who gave it: then the question is open, and a new attempt begins.
_UNDONE = "NEW.state = 0 AND NEW.value IS NULL AND NEW.attempts > OLD.attempts"
_FIXED = {  # of these, rows that nobody may change any more
    "rounds": "OLD.items IS NOT NULL OR NEW.plan <> OLD.plan OR NEW.first <> OLD.first",
    "ratings": f"OLD.state = 1 AND NOT ({_UNDONE})",
    "batches": "OLD.drawn",
    "handed": "OLD.state IN ('trained', 'undone') OR OLD.state = 'answered' AND NEW.state <> 'undone'",
}
_FUNCTION = """
CREATE OR REPLACE FUNCTION ratewise_guard() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION USING MESSAGE = 'a row of ' || TG_TABLE_NAME || ' may not be changed or taken out'; END $$
"""


def raise_guards(connection: sa.Connection) -> None:
    """Put the guards up; those that are there stay."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_FUNCTION)
    for table in _ADDED_ONLY:
        _guard(connection, table, "UPDATE")
    for table, when in _FIXED.items():
        _guard(connection, table, "UPDATE", when)
    for table in (*_ADDED_ONLY, *_KEPT):
        _guard(connection, table, "DELETE")
        if connection.dialect.name == "postgresql":
            _guard(connection, table, "TRUNCATE")


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
