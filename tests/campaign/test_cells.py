"""Each cell of the schema changed alone, a row taken out, a row put in: found, or bookkeeping that the guide names.

The edits come from the schema, so a new table or column fails here until it is recorded, or named as bookkeeping in
`store/chain.py` and in docs/guides/trust.md.
"""

import re
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest
import sqlalchemy as sa

from ratewise.errors import RatewiseError
from ratewise.store import chain
from ratewise.store import schema as t
from ratewise.store.accounts import Accounts
from ratewise.store.queue import Refit
from ratewise.store.replay import check_record
from ratewise.store.store import Store

from .clients.test_checking import SHOW, made, play
from .making import drop_guards

TRUST = Path(__file__).parents[2] / "docs/guides/trust.md"
TABLES = t.metadata.sorted_tables
PASSING = set(chain.BOOKKEEPING)


@pytest.fixture(params=["sqlite", "postgresql"])
def campaign(request, tmp_path):
    """A campaign with rows in every table: people with links, votes, training, checks and repeats, a refit, notes."""
    where = "c.sqlite" if request.param == "sqlite" else request.getfixturevalue("database")
    campaign = made(
        tmp_path, SHOW + "votes = 2\nchecks = 0.2\nrepeats = 0.1\ntraining = 2\npass_mark = 0\n", store=where
    )
    while campaign.run(wait=False) == "waiting for answers":
        for person in ("ann", "ben"):
            play(campaign, person)
    with campaign.labelling() as desk:
        store, accounts = desk.store, Accounts(desk.store)
        for person in ("ann", "ben"):
            accounts.sign_in(accounts.add(person, admin=person == "ann"))
            store.note(f"{person} came")
        desk._desk.hold(1, [0], "a file", seconds=60, votes=1)
    with campaign.look() as now:
        seen = now.state.history.seen
        refit = Refit(now.state.history.rounds, int(seen.labelled.sum()), np.zeros(now.facts.items))
    with store_of(campaign) as store:
        store.keep_refit(refit)
    assert campaign.verify().differences == []
    return campaign


@contextmanager
def store_of(campaign):
    store = Store.at(campaign.spec.store, str(campaign.spec.folder), campaign.spec.name)
    try:
        yield store
    finally:
        store.close()


@contextmanager
def writing(store):
    """As one does who may write the store: guards and CHECKs are no obstacle, and nothing is recorded."""
    with store._write.begin() as connection:
        if connection.dialect.name == "sqlite":
            drop_guards(connection.connection.driver_connection)
        else:
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        yield connection


def changed(column, value):
    """Another value that the column takes; of a row's number, one before all others."""
    if column is column.table.autoincrement_column:
        return -1
    if isinstance(column.type, sa.Boolean):
        return not value
    if isinstance(column.type, sa.LargeBinary):
        return (value or b"") + bytes(8)
    if isinstance(column.type, sa.Text):
        return (value or "") + " "
    return (value or 0) + (0.25 if isinstance(column.type, sa.Float) else 1)


def last_row(store, table):
    """A row to edit: the last one, and of facts one that is recorded."""
    chosen = sa.select(table).order_by(*(column.desc() for column in table.primary_key))
    if table is t.meta:
        chosen = chosen.where(t.meta.c.key == "campaign")
    with store.reading() as connection:
        row = connection.execute(chosen).mappings().first()
    assert row is not None, f"{table.name} has no row: make one in the fixture, so that its edits are tried"
    return dict(row)


def where(table, row):
    return sa.and_(*(column == row[column.name] for column in table.primary_key))


def is_found(campaign, store):
    """The record tells most edits, and quickly; `verify` begins with it, and is asked about the rest."""
    with suppress(Exception):
        if check_record(store).problems:
            return True
    try:
        return not campaign.verify().passed
    except RatewiseError:  # refused, in a sentence
        return True


def unique(table):
    """Columns in which two rows differ."""
    indexed = (column for index in table.indexes if index.unique for column in index.columns)
    return {*table.primary_key, *indexed, *(column for column in table.columns if column.unique)}


def test_every_edit_of_a_cell_or_row_is_found_or_is_of_bookkeeping(campaign):
    unfound = set()
    with store_of(campaign) as store:
        for table in TABLES:
            row = last_row(store, table)
            for column in table.columns:
                edited = {**row, column.name: changed(column, row[column.name])}
                with writing(store) as connection:
                    connection.execute(table.update().where(where(table, row)).values(edited))
                if not is_found(campaign, store):
                    unfound.add(f"{table.name}.{column.name}")
                with writing(store) as connection:
                    connection.execute(table.update().where(where(table, edited)).values(row))
            with writing(store) as connection:
                connection.execute(table.delete().where(where(table, row)))
            if not is_found(campaign, store):
                unfound.add(f"DELETE FROM {table.name}")
            twin = {**row, **{column.name: changed(column, row[column.name]) for column in unique(table)}}
            with writing(store) as connection:
                connection.execute(table.insert(), [row, twin])
            if not is_found(campaign, store):
                unfound.add(f"INSERT INTO {table.name}")
            with writing(store) as connection:
                connection.execute(table.delete().where(where(table, twin)))
    assert campaign.verify().differences == []
    whole = {table.name for table in TABLES if table.name in PASSING}
    of_rows = {f"{act} {name}" for name in whole for act in ("DELETE FROM", "INSERT INTO")}
    of_cells = {str(c) for table in TABLES for c in table.columns if {str(c), table.name} & PASSING}
    assert unfound == of_rows | of_cells


def test_the_guide_names_all_bookkeeping_and_nothing_else():
    section = TRUST.read_text().partition("### What is not in the record\n")[2].partition("\n#")[0]
    named = set(re.findall(r"^\| `([^`]+)`", section, flags=re.M))
    assert named == PASSING | {f"meta: {fact}" for fact in chain.PASSING}
