"""What the database itself refuses: to change or take out rows that are only ever added, and money below 0.

This keeps mistakes out, ours and those of people with a database prompt. One who may change the tables may drop the
guards, too; what such a person does is found by `verify`.
"""

import sqlalchemy as sa

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
