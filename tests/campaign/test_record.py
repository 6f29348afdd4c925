"""The record finds every edit: about a hundred of every kind, made by one who may write the store and drops its guards.

One campaign with a column and a recording, whose raters' prices are not listed, and notes; one with `method = "base"`;
one with people. Each edit is made on a copy, and `verify` must name it.
"""

import shutil
import sqlite3
from contextlib import closing

import pytest
import sqlalchemy as sa

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.offline import verify_path
from ratewise.errors import InputError
from ratewise.store.store import Store

from .making import drop_guards, forge, judged, log_of, ran, tamper, write, write_mixed


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """Three rounds of new items, then more money, and with it a second look at items passed over."""
    folder = tmp_path_factory.mktemp("mixed")
    Campaign.open(write_mixed(folder, "30")).run()
    campaign = Campaign.open(write_mixed(folder, "33"))
    campaign.run()
    items = [row[4] for row in log_of(campaign)["rounds"]]
    assert items[2] > 0
    assert items[-1] == 0
    assert campaign.verify().differences == []
    return campaign


@pytest.fixture(scope="module")
def base(tmp_path_factory):
    return ran(tmp_path_factory.mktemp("base"), judged(60), method="base", goal='budget = "40"')


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    path = write(folder, judged(60), goal='budget = "20"')
    text = path.read_text().replace('kind = "column"\ncolumn = "human"', 'kind = "people"\nvotes = 2')
    path.write_text(text)
    campaign = Campaign.open(path)
    campaign.run(wait=False)
    with campaign.people() as desk:
        for who in ("ann", "bob") * 8:
            asked = desk.next(who)
            if asked is not None:
                desk.answer(who, asked.key, asked.item["human"], note="seen")
    assert campaign.verify().differences == []
    return campaign


def copy_of(campaign, folder):
    shutil.copytree(campaign.spec.folder, folder)
    return Campaign.open(folder / campaign.spec.path.name)


LAST = "(SELECT max(number) FROM rounds WHERE items > 0)"  # that looked at new items
LOOK = "(SELECT max(number) FROM rounds)"  # at items passed over
IN_LAST = f"position >= (SELECT first FROM rounds WHERE number = {LAST})"
ANSWERED = "step = 1 AND state = 1"
ONE = f"position = (SELECT max(position) FROM ratings WHERE {ANSWERED})"
FIRST_PAID = "id = (SELECT min(id) FROM ledger WHERE kind = 'settle' AND step = 1)"
LAST_PAID = "id = (SELECT max(id) FROM ledger WHERE kind = 'settle' AND step = 1)"


def setting(old, new):
    return f"UPDATE meta SET value = replace(value, '{old}', '{new}') WHERE key = 'spec'"


RATINGS = {
    "the last round's strong ratings turned": f"UPDATE ratings SET value = 1 - value WHERE {ANSWERED} AND {IN_LAST}",
    "one strong rating of the last round turned": f"UPDATE ratings SET value = 1 - value WHERE {ANSWERED} AND {ONE}",
    "all strong ratings of the last round 1": f"UPDATE ratings SET value = 1 WHERE {ANSWERED} AND {IN_LAST}",
    "all strong ratings 1": f"UPDATE ratings SET value = 1 WHERE {ANSWERED}",
    "all strong ratings 0": f"UPDATE ratings SET value = 0 WHERE {ANSWERED}",
    "weak ratings of the last round": f"UPDATE ratings SET value = value + 0.01 WHERE step = 0 AND {IN_LAST}",
    "a weak rating by a hair": "UPDATE ratings SET value = value + 1e-12 WHERE step = 0 AND position = 3",
    "a weak rating": "UPDATE ratings SET value = 1 - value WHERE step = 0 AND position = 1",
    "an answer made missing": f"UPDATE ratings SET state = 2, value = NULL WHERE {ANSWERED} AND {ONE}",
    "a missing one answered": "UPDATE ratings SET state = 1, value = 1 WHERE step = 1 AND state = 2",
    "a note of a rating": f"UPDATE ratings SET note = 'fine' WHERE {ANSWERED} AND {ONE}",
    "a note taken away": f"UPDATE ratings SET note = NULL WHERE {ANSWERED} AND {ONE}",
    "failed calls forgotten": "UPDATE ratings SET attempts = 0 WHERE attempts > 0",
    "a failed call added": f"UPDATE ratings SET attempts = attempts + 1 WHERE {ANSWERED} AND {ONE}",
    "when a rating came": f"UPDATE ratings SET at = '2020-01-01T00:00:00+00:00' WHERE {ANSWERED} AND {ONE}",
    "a rating deleted": f"DELETE FROM ratings WHERE {ANSWERED} AND {ONE}",
    "ratings of the last round deleted": f"DELETE FROM ratings WHERE {IN_LAST}",
    "all weak ratings deleted": "DELETE FROM ratings WHERE step = 0",
    "a rating given to another item": "UPDATE ratings SET position = "
    f"(SELECT max(position) FROM items WHERE position NOT IN (SELECT position FROM ratings WHERE step = 1)) "
    f"WHERE {ANSWERED} AND {ONE}",
    "a rating that is text": f"UPDATE ratings SET value = 'one' WHERE {ANSWERED} AND {ONE}",
    "a rating of another rater": f"UPDATE ratings SET step = 2 WHERE {ANSWERED} AND {ONE}",
    "a state that is none": f"UPDATE ratings SET state = 9 WHERE {ANSWERED} AND {ONE}",
    "a rating added": "INSERT INTO ratings (position, step, state, attempts, value) VALUES (118, 3, 1, 0, 1)",
}
MONEY = {
    "payments tripled": "UPDATE ledger SET amount = amount * 3 WHERE kind = 'settle' AND step = 1",
    "payments set to 0": "UPDATE ledger SET amount = 0 WHERE kind = 'settle' AND step = 1",
    "a payment of -500": f"UPDATE ledger SET amount = -500000000000 WHERE {LAST_PAID}",
    "one payment tripled": f"UPDATE ledger SET amount = amount * 3 WHERE {FIRST_PAID}",
    "one payment 0": f"UPDATE ledger SET amount = 0 WHERE {LAST_PAID}",
    "one payment by a billionth": f"UPDATE ledger SET amount = amount + 1 WHERE {LAST_PAID}",
    "a payment deleted": f"DELETE FROM ledger WHERE {LAST_PAID}",
    "the first payment deleted": f"DELETE FROM ledger WHERE {FIRST_PAID}",
    "the last row of the ledger deleted": "DELETE FROM ledger WHERE id = (SELECT max(id) FROM ledger)",
    "the ledger emptied": "DELETE FROM ledger",
    "a payment made another item's": f"UPDATE ledger SET position = 0 WHERE {LAST_PAID}",
    "a payment made another rater's": f"UPDATE ledger SET step = 0 WHERE {LAST_PAID}",
    "a payment made another attempt's": f"UPDATE ledger SET attempt = 7 WHERE {LAST_PAID}",
    "a payment made a reservation": f"UPDATE ledger SET kind = 'reserve' WHERE {LAST_PAID}",
    "when a payment was made": f"UPDATE ledger SET at = '2020-01-01T00:00:00+00:00' WHERE {LAST_PAID}",
    "a payment added": "INSERT INTO ledger (kind, position, step, attempt, amount, at) "
    "VALUES ('settle', 1, 1, 1, 5, '')",
    "a payment of 0 added": "INSERT INTO ledger (kind, position, step, attempt, amount, at) "
    "VALUES ('settle', 119, 1, 1, 0, '')",
    "money held": "UPDATE ledger SET amount = amount + 1 WHERE id = (SELECT max(id) FROM ledger WHERE kind = 'hold')",
    "money given back": "UPDATE ledger SET amount = 0 WHERE kind = 'unhold'",
    "what is spent": "UPDATE totals SET spent = spent - 1",
    "what is spent, negative": "UPDATE totals SET spent = -1",
    "what is reserved": "UPDATE totals SET reserved = reserved + 1",
    "the sums deleted": "DELETE FROM totals",
    "second sums": "INSERT INTO totals VALUES (2, 0, 0, NULL)",
    "the cap raised": "UPDATE totals SET cap = cap * 10",
    "the cap by a billionth": "UPDATE totals SET cap = cap + 1",
    "the cap taken away": "UPDATE totals SET cap = NULL",
    "the last reservation": "UPDATE ledger SET amount = 1 WHERE id = "
    "(SELECT max(id) FROM ledger WHERE kind = 'reserve')",
}
ITEMS = {
    "an item's row": "UPDATE items SET content = replace(content, '0', '1') WHERE position = 5",
    "an item's row by a space": "UPDATE items SET content = content || ' ' WHERE position = 119",
    "an item's row emptied": "UPDATE items SET content = '{}' WHERE position = 17",
    "all rows": "UPDATE items SET content = replace(content, 'judge', 'juror')",
    "an item's id": "UPDATE items SET id = 'other' WHERE position = 17",
    "a random number": "UPDATE items SET uniform = 0.5 WHERE position = 17",
    "a random number by a bit": "UPDATE items SET uniform = uniform + 1e-16 WHERE position = 17",
    "an item deleted": "DELETE FROM items WHERE position = 100",
    "the last item deleted": "DELETE FROM items WHERE position = 119",
    "an item added": "INSERT INTO items VALUES (120, 'more', 0.5, NULL, NULL, '{}')",
    "an item's numbers": "UPDATE items SET numbers = x'000000000000f03f' WHERE position = 20",
    "an item's prices": "UPDATE items SET prices = '[1, 1]' WHERE position = 20",
}
DRAWS = {
    "a rate": "UPDATE draws SET rate = rate / 2 WHERE rate < 1 AND position = (SELECT max(position) FROM draws)",
    "a rate by a hair": "UPDATE draws SET rate = rate * (1 - 1e-12) WHERE rate < 1",
    "all rates 1": "UPDATE draws SET rate = 1 WHERE rate < 1",
    "a draw": "UPDATE draws SET selected = 1 - selected WHERE position = (SELECT max(position) FROM draws)",
    "a draw that is 5": "UPDATE draws SET selected = 5 WHERE position = 0",
    "a draw deleted": "DELETE FROM draws WHERE position = (SELECT max(position) FROM draws)",
    "all draws deleted": "DELETE FROM draws",
    "a rate of a second look": "UPDATE draws SET rate = rate / 2 WHERE step = -1 AND position = "
    "(SELECT max(position) FROM draws WHERE step = -1)",
    "a draw of a second look": "UPDATE draws SET selected = 1 - selected WHERE step = -1 AND selected",
    "a second look's draws deleted": "DELETE FROM draws WHERE step = -1",
    "a draw added": "INSERT INTO draws VALUES (0, 2, 0.5, 0)",
}
ROUNDS = {
    "the last round's plan": f"UPDATE rounds SET plan = json_set(plan, '$.spend', 1) WHERE number = {LAST}",
    "what the last round expects": "UPDATE rounds SET plan = json_set(plan, '$.expected_se', 0.1) "
    f"WHERE number = {LAST}",
    "a policy": "UPDATE rounds SET plan = json_set(plan, '$.policy', 'random') WHERE number = 2",
    "spaces in a plan": "UPDATE rounds SET plan = plan || ' ' WHERE number = 1",
    "a round's items": f"UPDATE rounds SET items = items - 1 WHERE number = {LAST}",
    "a closed round opened": f"UPDATE rounds SET items = NULL, closed_at = NULL WHERE number = {LAST}",
    "when a round was opened": "UPDATE rounds SET opened_at = '2020-01-01T00:00:00+00:00' WHERE number = 1",
    "when a round was closed": f"UPDATE rounds SET closed_at = NULL WHERE number = {LAST}",
    "the last round deleted": f"DELETE FROM rounds WHERE number = {LAST}",
    "the first round deleted": "DELETE FROM rounds WHERE number = 1",
    "a round added": "INSERT INTO rounds (number, first, plan, opened_at) VALUES (99, 119, '{}', '')",
    "a second look's money": f"UPDATE rounds SET plan = json_set(plan, '$.spend', 1) WHERE number = {LOOK}",
    "a second look's factor": f"UPDATE rounds SET factor = 2 WHERE number = {LOOK}",
    "a second look deleted": f"DELETE FROM rounds WHERE number = {LOOK}",
    "a round's factor": f"UPDATE rounds SET factor = 2 WHERE number = {LAST}",
    "a batch's cost": "UPDATE batches SET cost = cost + 1 WHERE first = (SELECT max(first) FROM batches)",
    "a batch's round": "UPDATE batches SET round = 1 WHERE first = (SELECT max(first) FROM batches)",
    "a batch's end": "UPDATE batches SET end = end - 1 WHERE first = (SELECT max(first) FROM batches)",
    "a batch not drawn": "UPDATE batches SET drawn = 0 WHERE first = 0",
    "a batch deleted": "DELETE FROM batches WHERE first = (SELECT max(first) FROM batches)",
}
SETTINGS = {
    "the estimand": setting('"estimand": "pool"', '"estimand": "population"'),
    "the level": setting('"level": 0.95', '"level": 0.5'),
    "the budget": setting('"budget": "33"', '"budget": "330"'),
    "a price": setting('"price": "0.05"', '"price": "0.5"'),
    "where answers come from": setting("answers.jsonl", "other.jsonl"),
    "the mark that the goal was changed": "DELETE FROM meta WHERE key = 'goal changed'",
    "the mark that the goal was changed, emptied": "UPDATE meta SET value = '' WHERE key = 'goal changed'",
    "why it ended": "UPDATE meta SET value = 'the precision is reached' WHERE key = 'ended'",
    "that it ended": "DELETE FROM meta WHERE key = 'ended'",
    "the digest of the table": "UPDATE meta SET value = '0' WHERE key = 'digest'",
    "mean prices": "UPDATE meta SET value = '[50000000.0, 1000000001.0]' WHERE key = 'prices'",
    "what raters are made of": "UPDATE meta SET value = '{}' WHERE key = 'raters'",
    "the campaign's id": "UPDATE meta SET value = '0123456789abcdef' WHERE key = 'campaign'",
    "the campaign's id deleted": "DELETE FROM meta WHERE key = 'campaign'",
    "a fact added": "INSERT INTO meta VALUES ('audited', 'yes')",
    "a note": "UPDATE events SET text = 'all was well' WHERE id = 1",
    "when a note was made": "UPDATE events SET at = '' WHERE id = 1",
    "a note deleted": "DELETE FROM events WHERE id = (SELECT max(id) FROM events)",
    "all notes deleted": "DELETE FROM events",
    "a note added": "INSERT INTO events (at, text) VALUES ('', 'checked by the auditor')",
}
RECORD = {
    "an entry's body": "UPDATE chain SET body = replace(body, '1', '2') WHERE number = 9",
    "an entry's body that is none": "UPDATE chain SET body = 'x' WHERE number = 9",
    "an entry's digest": "UPDATE chain SET digest = '0' || substr(digest, 2) WHERE substr(digest, 1, 1) <> '0'",
    "an entry deleted": "DELETE FROM chain WHERE number = 9",
    "the last entry deleted": "DELETE FROM chain WHERE number = (SELECT max(number) FROM chain)",
    "the first entry deleted": "DELETE FROM chain WHERE number = 1",
    "the record emptied": "DELETE FROM chain",
    "an entry added": "INSERT INTO chain SELECT number + 1, '[[\"+\", \"events\", [\"at\", \"text\"], []]]', digest"
    " FROM chain ORDER BY number DESC LIMIT 1",
    "entries in another order": "UPDATE chain SET number = 100000 + number WHERE number = 5",
}  # fmt: skip
EDITS = RATINGS | MONEY | ITEMS | DRAWS | ROUNDS | SETTINGS | RECORD


def test_there_are_about_a_hundred():
    assert len(EDITS) >= 100


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_is_found(mixed, tmp_path, name):
    campaign = copy_of(mixed, tmp_path / "copy")
    tamper(campaign, EDITS[name])
    found = verify_path(str(campaign.spec.path))  # as the command does it
    assert not found.passed, name
    assert found.summary().count("\n") >= 1
    assert all("\n" not in line for line in found.differences)


@pytest.mark.parametrize(("name", "table"), [("mixed", "ledger"), ("people", "answers")])
def test_rows_in_another_order_are_found(request, tmp_path, name, table):
    campaign = copy_of(request.getfixturevalue(name), tmp_path / "copy")
    tamper(campaign, f"UPDATE {table} SET id = -id")
    assert any(f"{table}, row 1" in line for line in campaign.verify().differences)


def test_two_ratings_exchanged_are_found(mixed, tmp_path):
    campaign = copy_of(mixed, tmp_path / "copy")
    one, other = (
        f"(SELECT {f}(position) FROM ratings WHERE step = 1 AND value = {v})" for f, v in [("max", 1), ("max", 0)]
    )
    with closing(sqlite3.connect(campaign.spec.folder / "c.sqlite")) as connection:
        a, b = (connection.execute(f"SELECT {place}").fetchone()[0] for place in (one, other))
    tamper(campaign, f"UPDATE ratings SET value = 1 - value WHERE step = 1 AND position IN ({a}, {b})")
    told = "\n".join(campaign.verify().differences)
    assert f"ratings, position {a}, step 1: value is 0.0; the record has 1.0" in told
    assert f"ratings, position {b}, step 1: value is 1.0; the record has 0.0" in told
    assert "the recording says" in told


def test_base_alone_with_all_ratings_1_is_found(base, tmp_path):
    campaign = copy_of(base, tmp_path / "copy")
    assert campaign.verify().differences == []
    tamper(campaign, "UPDATE ratings SET value = 1 WHERE value = 0")
    told = campaign.verify().differences
    assert any("value is 1.0; the record has 0.0" in line for line in told)
    assert any("the column says 0.0" in line for line in told)


@pytest.mark.parametrize("edit", [
    "UPDATE answers SET value = 1 - value WHERE id = 1", "UPDATE answers SET annotator = 'eve' WHERE id = 1",
    "UPDATE answers SET note = 'unseen' WHERE id = 2", "UPDATE answers SET at = '' WHERE id = 2",
    "DELETE FROM answers WHERE id = (SELECT max(id) FROM answers)",
    "INSERT INTO answers (position, step, annotator, value, at) VALUES (0, 1, 'eve', 1, '')",
])  # fmt: skip
def test_an_edit_of_what_people_said_is_found(people, tmp_path, edit):
    campaign = copy_of(people, tmp_path / "copy")
    tamper(campaign, edit)
    assert any(line.startswith("answers, row") for line in campaign.verify().differences)


# With the head


def test_a_whole_new_record_is_found_with_the_head(base, tmp_path):
    """The books balance, the column says so too, and the chain holds: only the head tells."""
    campaign = copy_of(base, tmp_path / "copy")
    head = campaign.head()
    assert campaign.verify(head=head).passed
    tamper(
        campaign, "UPDATE ratings SET value = 1 WHERE value = 0",
        "UPDATE items SET content = json_set(content, '$.human', 1)",
    )  # fmt: skip
    forge(campaign)
    assert campaign.verify().differences == []
    (told,) = campaign.verify(head=head).differences
    assert "older copy" in told or "not the one of the head" in told


def test_an_older_copy_is_found_with_the_head(tmp_path):
    campaign = Campaign.open(write_mixed(tmp_path, "20"))
    campaign.run()
    shutil.copytree(tmp_path, tmp_path / "old")
    early = campaign.head()
    campaign = Campaign.open(write_mixed(tmp_path, "30"))
    campaign.run()
    late = campaign.head()
    found = campaign.verify(head=early)
    assert found.passed
    assert found.anchored == int(early.split("-")[0])
    assert "entries were written after it" in found.summary()
    for name in ("c.sqlite", "c.sqlite-wal", "c.toml"):
        if (tmp_path / "old" / name).exists():
            shutil.copy(tmp_path / "old" / name, tmp_path / name)
        else:
            (tmp_path / name).unlink(missing_ok=True)
    back = Campaign.open(tmp_path / "c.toml")
    assert back.verify().passed
    assert any("older copy" in line for line in back.verify(head=late).differences)


def test_a_last_round_taken_out_everywhere_is_found_with_the_head(mixed, tmp_path):
    """Tables and record as they were before the round, as if it had never been."""
    campaign = copy_of(mixed, tmp_path / "copy")
    head = campaign.head()
    with closing(sqlite3.connect(campaign.spec.folder / "c.sqlite")) as connection, connection:
        drop_guards(connection)
        (first,) = connection.execute(f"SELECT first FROM rounds WHERE number = {LAST}").fetchone()
        connection.execute(f"DELETE FROM rounds WHERE number >= {LAST}")
        second = "step = 1 AND position IN (SELECT position FROM draws WHERE step < 0 AND selected)"
        for table in ("ratings", "ledger"):
            connection.execute(f"DELETE FROM {table} WHERE {second}")
        connection.execute("DELETE FROM draws WHERE step < 0")
        for table in ("ratings", "draws", "ledger"):
            connection.execute(f"DELETE FROM {table} WHERE position >= {first}")
        connection.execute(f"DELETE FROM batches WHERE first >= {first}")
        spent = "SELECT sum(amount) FROM ledger WHERE kind = 'settle'"
        connection.execute(f"UPDATE totals SET reserved = 0, spent = ({spent})")
    forge(campaign)
    assert campaign.verify().differences == []
    assert not campaign.verify(head=head).passed


@pytest.mark.parametrize("text", ["", "12", "x-y", "0-" + 40 * "a", "12-" + 39 * "a", "12-" + 40 * "g"])
def test_a_head_that_is_none_is_refused(base, text):
    with pytest.raises(InputError, match="no head of a record"):
        base.verify(head=text)


# Guards


REFUSED = [
    "UPDATE ledger SET amount = 0", "DELETE FROM ledger", "UPDATE draws SET rate = 1", "DELETE FROM draws",
    "UPDATE items SET content = ''", "DELETE FROM items", "UPDATE events SET text = ''", "DELETE FROM events",
    "UPDATE chain SET body = ''", "DELETE FROM chain", "DELETE FROM rounds", "UPDATE rounds SET plan = ''",
    "DELETE FROM ratings", "UPDATE ratings SET value = 0 WHERE state = 1", "DELETE FROM batches", "DELETE FROM totals",
    "UPDATE totals SET spent = -1",
    "INSERT INTO ledger (kind, position, step, attempt, amount, at) VALUES ('settle', 0, 1, 9, -1, '')",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:with this goal:ratewise.errors.RatewiseWarning")
@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_database_refuses_what_is_never_done(tmp_path, kind, request):
    store = "c.sqlite" if kind == "sqlite" else request.getfixturevalue("database")
    campaign = ran(tmp_path, judged(60), store=store, goal='budget = "20"')
    path = campaign.spec.path  # a larger budget is a note
    path.write_text(path.read_text().replace('budget = "20"', 'budget = "21"'))
    Campaign.open(path).run()
    opened = Store.at(store, str(tmp_path), "c")
    try:
        for statement in REFUSED:
            with (
                pytest.raises(sa.exc.DBAPIError, match=r"may not be|not_negative|CHECK"),
                opened._write.begin() as connection,
            ):
                connection.exec_driver_sql(statement)
        if kind == "postgresql":
            with pytest.raises(sa.exc.DBAPIError, match="may not be"), opened._write.begin() as connection:
                connection.exec_driver_sql("TRUNCATE ledger")
    finally:
        opened.close()
    assert Campaign.open(path).verify().differences == []


EDITS_THERE = [
    "UPDATE ratings SET value = 1 - value WHERE step = 1 AND position = "
    "(SELECT max(position) FROM ratings WHERE step = 1 AND state = 1)",
    "UPDATE ledger SET amount = amount + 1 WHERE id = (SELECT max(id) FROM ledger)",
    "DELETE FROM draws WHERE position = (SELECT max(position) FROM draws)",
    "UPDATE meta SET value = 'x' WHERE key = 'ended'",
    "UPDATE totals SET cap = cap + 1",
    "UPDATE items SET content = content || ' ' WHERE position = 5",
    "DELETE FROM chain WHERE number = (SELECT max(number) FROM chain)",
]


def test_edits_in_postgresql_are_found(tmp_path, make_database):
    """Each on a copy of one finished campaign's database."""
    database = make_database()
    campaign = ran(tmp_path, judged(60), store=database, goal='budget = "20"')
    assert campaign.verify(head=campaign.head()).differences == []
    text = campaign.spec.path.read_text()
    for edit in EDITS_THERE:
        copy = make_database(like=database)
        campaign.spec.path.write_text(text.replace(database, copy))
        opened = Store.at(copy, str(tmp_path), "c")
        with opened._write.begin() as connection:
            for table in ("ratings", "ledger", "draws", "meta", "items", "chain"):
                connection.exec_driver_sql(f"ALTER TABLE {table} DISABLE TRIGGER ALL")
            assert connection.exec_driver_sql(edit).rowcount == 1
        opened.close()
        assert not Campaign.open(campaign.spec.path).verify().passed, edit
