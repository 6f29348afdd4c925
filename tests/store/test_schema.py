"""Campaigns of older versions open in newer ones; those of newer ones are refused."""

import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa

from ratewise.campaign.campaign import Campaign
from ratewise.errors import StoreError
from ratewise.store import schema
from ratewise.store.store import Store

from ..campaign.making import judged, log_of, ran, tamper
from .older import copied, moved


@pytest.fixture
def folder(tmp_path):
    """A copy of a campaign that the first version of the tables has written."""
    return copied(tmp_path, "version1")


@pytest.fixture
def second(tmp_path):
    """A copy of one of the second version: killed while it held two questions."""
    return copied(tmp_path, "version2")


def version(folder):
    with closing(sqlite3.connect(folder / f"{folder.name}.sqlite")) as connection:
        return int(connection.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()[0])


def test_the_fixture_is_of_the_first_version(folder):
    assert version(folder) == 1
    with closing(sqlite3.connect(folder / "version1.sqlite")) as connection:
        tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert "events" not in tables
    assert schema.VERSION > 1


def test_a_campaign_of_the_first_version_opens_verifies_and_tells_the_same(folder):
    campaign = Campaign.open(folder / "version1.toml")
    found = campaign.verify()
    assert found.differences == []
    assert found.items == 500
    assert found.rounds >= 3
    assert found.earlier_plans == found.rounds  # its rules are not made again: today's would be others
    assert "planned by another version" in found.summary()
    status = campaign.status()
    assert status.ended == "the budget is spent"
    assert 88 < status.spent <= 90
    assert version(folder) == schema.VERSION  # looking has brought it to this version
    assert campaign.estimate().interval is not None


@pytest.mark.filterwarnings("ignore:with this goal")
def test_it_goes_on_with_a_larger_budget(folder):
    path = folder / "version1.toml"
    before = log_of(Campaign.open(path))
    path.write_text(path.read_text().replace('budget = "90"', 'budget = "160"'))
    campaign = Campaign.open(path)
    assert campaign.run() in ("the budget is spent", "every item has been looked at")
    after = log_of(campaign)
    found = campaign.verify()
    assert found.differences == []
    assert 0 < found.earlier_plans == len(before["rounds"]) < found.rounds
    assert 158 < campaign.status().spent <= 160
    assert len(after["rounds"]) > len(before["rounds"])
    for table in ("items", "draws", "ratings", "ledger"):
        assert after[table][: len(before[table])] == before[table]
    assert any("budget" in text for _, text in campaign.notes())


def test_running_it_again_buys_nothing(folder):
    campaign = Campaign.open(folder / "version1.toml")
    before = log_of(campaign)
    assert campaign.run() == "the budget is spent"
    assert log_of(campaign) == before


def test_migrating_twice_is_harmless(folder):
    campaign = Campaign.open(folder / "version1.toml")
    log = log_of(campaign)
    store = Store.at("version1.sqlite", str(folder), "version1")
    try:
        for _ in range(3):
            store.upgrade()
        with store.database.creating() as connection:
            assert schema.migrate(connection) == schema.VERSION
    finally:
        store.close()
    assert version(folder) == schema.VERSION
    assert log_of(campaign) == log


def test_a_killed_campaign_of_the_second_version_opens_and_verifies(second):
    assert version(second) == 2
    campaign = Campaign.open(second / "version2.toml")
    found = campaign.verify()
    assert found.differences == []
    assert (found.items, found.rounds, found.draws, found.ratings, found.payments) == (400, 2, 112, 149, 145)
    status = campaign.status()
    assert (status.ended, status.rounds, status.looked, status.labels, status.pending, status.missing) == (
        None, 1, 112, 29, 6, 2,
    )  # fmt: skip


def test_it_goes_on_to_the_end(second):
    """By the plans of this version, which says so in every round it opens."""
    campaign = Campaign.open(second / "version2.toml")
    before = log_of(campaign)
    assert campaign.run() == "every item has been looked at"
    after, status = log_of(campaign), campaign.status()
    assert campaign.verify().differences == []
    for table in ("items", "draws", "ledger"):
        assert after[table][: len(before[table])] == before[table]
    assert 99 < status.spent <= 100
    assert status.labels > 80
    assert status.pending == 0


def test_a_campaign_of_the_third_version_goes_on_with_its_people(tmp_path):
    folder = copied(tmp_path, "version3")
    assert version(folder) == 3
    campaign = Campaign.open(folder / "version3.toml")
    found = campaign.verify()
    assert found.differences == []
    assert (found.items, found.rounds, found.ratings, found.payments) == (240, 3, 308, 285)
    with campaign.people() as desk:
        for who in ("ann", "bob"):
            asked = desk.next(who)
            desk.answer(who, asked.key, asked.item["truth"])
    assert campaign.verify().differences == []


@pytest.mark.parametrize(("name", "rounds"), [("version1", 3), ("version2", 2), ("version3", 3)])
def test_rounds_from_before_the_record_are_said_to_be_so(tmp_path, name, rounds):
    folder = copied(tmp_path, name)
    campaign = Campaign.open(folder / f"{name}.toml")
    found = campaign.verify()
    assert found.differences == []
    assert (found.unrecorded >= rounds, found.entries) == (True, 1)
    assert f"rounds 1 to {found.unrecorded} were begun before there was a record" in found.summary()
    head = campaign.head()
    tamper(campaign, "UPDATE ledger SET amount = amount + 1 WHERE id = (SELECT max(id) FROM ledger)")
    assert any(line.startswith("ledger, row") for line in campaign.verify(head=head).differences)


def test_a_store_from_before_raters_told_their_uncertainty_goes_on(tmp_path):
    campaign = ran(tmp_path, judged(40), goal='budget = "10"')
    before = log_of(campaign)
    tamper(campaign, "UPDATE meta SET value = '4' WHERE key = 'version'")
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as connection:
        connection.execute("ALTER TABLE ratings DROP COLUMN doubt")
    assert campaign.verify().differences == []
    assert log_of(campaign) == before
    with closing(sqlite3.connect(tmp_path / "c.sqlite")) as connection:
        assert "doubt" in {row[1] for row in connection.execute("PRAGMA table_info(ratings)")}


REFUSED = (
    "UPDATE ledger SET amount = 0",
    "DELETE FROM draws",
    "UPDATE totals SET spent = -1",
    "INSERT INTO ledger VALUES (9999, 'settle', 0, 1, 1, -1, '')",
)


@pytest.mark.parametrize("statement", REFUSED)
def test_an_older_store_gets_the_guards_too(folder, statement):
    campaign = Campaign.open(folder / "version1.toml")
    campaign.status()
    with closing(sqlite3.connect(folder / "version1.sqlite")) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute(statement)


def test_an_older_store_with_money_below_0_is_opened_and_told(folder):
    with closing(sqlite3.connect(folder / "version1.sqlite")) as connection, connection:
        connection.execute("UPDATE ledger SET amount = -5 WHERE id = (SELECT max(id) FROM ledger)")
    assert not Campaign.open(folder / "version1.toml").verify().passed


@pytest.mark.parametrize("act", ["open", "run", "status", "verify"])
def test_a_campaign_of_a_newer_version_is_refused_and_left_alone(tmp_path, act):
    campaign = ran(tmp_path, judged(50), goal='budget = "20"')
    tamper(campaign, "UPDATE meta SET value = '99' WHERE key = 'version'")
    before = (tmp_path / "c.sqlite").read_bytes()
    with pytest.raises(StoreError, match="newer ratewise"):
        Campaign.open(campaign.spec.path) if act == "open" else getattr(campaign, act)()
    assert (tmp_path / "c.sqlite").read_bytes() == before


def test_every_version_leads_to_the_same_tables():
    """Step by step from nothing, or all at once: the columns are those of the schema."""
    engine = sa.create_engine("sqlite://")
    with engine.begin() as connection:
        assert schema.migrate(connection) == 0
        found = sa.inspect(connection)
        for table in schema.metadata.sorted_tables:
            assert [c["name"] for c in found.get_columns(table.name)] == [c.name for c in table.columns]


# On PostgreSQL


OLDER = [("version1", 1), ("version2", 2), ("version3", 3)]


def version_there(database, name):
    engine = sa.create_engine(database)
    with engine.connect() as connection:
        found = connection.exec_driver_sql(f"SELECT value FROM ratewise_{name}.meta WHERE key = 'version'").scalar()
    engine.dispose()
    return int(found)


@pytest.mark.parametrize(("name", "had"), OLDER)
def test_an_older_campaign_on_postgresql_opens_verifies_and_is_the_same_as_in_a_file(tmp_path, database, name, had):
    here = Campaign.open(copied(tmp_path / "here", name) / f"{name}.toml")
    there = Campaign.open(moved(copied(tmp_path / "there", name), database))
    assert version_there(database, name) == had
    found, same = there.verify(), here.verify()
    assert found.differences == []
    assert version_there(database, name) == schema.VERSION
    counts = ("items", "rounds", "draws", "ratings", "payments", "earlier_plans", "unrecorded", "entries")
    assert [getattr(found, name) for name in counts] == [getattr(same, name) for name in counts]
    assert log_of(there) == log_of(here)
    assert there.status().spent == here.status().spent
    assert there.verify(head=there.head()).passed


@pytest.mark.filterwarnings("ignore:with this goal")
@pytest.mark.parametrize(("name", "had"), OLDER)
def test_an_older_campaign_on_postgresql_goes_on(tmp_path, database, name, had):
    path = moved(copied(tmp_path, name), database)
    if had == 1:
        path.write_text(path.read_text().replace('budget = "90"', 'budget = "120"'))
    before = log_of(Campaign.open(path))
    campaign = Campaign.open(path)
    campaign.run(wait=False)
    if had == 3:
        with campaign.people() as desk:
            for who in ("ann", "bob"):
                asked = desk.next(who)
                desk.answer(who, asked.key, asked.item["truth"])
    assert campaign.verify().differences == []
    after = log_of(campaign)
    for table in ("items", "draws", "ledger"):
        assert after[table][: len(before[table])] == before[table]
    assert len(after["ledger"]) > len(before["ledger"])


def test_an_older_store_on_postgresql_gets_the_guards_too(tmp_path, database):
    campaign = Campaign.open(moved(copied(tmp_path, "version1"), database))
    campaign.status()
    store = Store.at(database, str(tmp_path), "version1")
    try:
        for statement in REFUSED:
            with pytest.raises(sa.exc.DBAPIError), store._write.begin() as connection:
                connection.exec_driver_sql(statement)
    finally:
        store.close()
    assert campaign.verify().differences == []
