"""`verify` finds every change made behind a campaign's back, and nothing where there is none."""

import json
import shutil
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign

from ..worlds import unsure_judge
from .making import forge, judged, log_of, ran, tamper

LABELLED = "SELECT position FROM ratings WHERE step = 1 AND state = 1"
NOT_DRAWN = "SELECT position FROM draws WHERE step = 1 AND selected = 0"
EARLY = f"{LABELLED} AND position IN (SELECT position FROM draws WHERE rate < 1) ORDER BY position LIMIT 1"


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Rounds of every kind: a start, rounds until their money is spent, and an exact one at the pool's end."""
    campaign = ran(tmp_path_factory.mktemp("original"), judged(700, 3, spread=0.75), goal='budget = "95"', seed=11)
    rounds = [json.loads(row[2]) for row in log_of(campaign)["rounds"]]
    assert rounds[0]["items"]
    assert "rule" not in rounds[0]
    assert any("rule" in r and r["items"] is None for r in rounds)
    assert any("rule" in r and r["items"] for r in rounds)
    return campaign


@pytest.fixture
def campaign(original, tmp_path):
    """A copy that may be spoilt."""
    shutil.copytree(original.spec.folder, tmp_path / "copy")
    return Campaign.open(tmp_path / "copy" / "c.toml")


def test_an_untouched_campaign_passes_and_everything_was_looked_at(campaign):
    found = campaign.verify()
    log = log_of(campaign)
    assert found.passed
    assert found.differences == []
    assert (found.items, found.rounds, found.draws) == (700, len(log["rounds"]), len(log["draws"]))
    assert (found.ratings, found.payments) == (len(log["ratings"]), sum(r[0] == "settle" for r in log["ledger"]))
    assert "nothing differs" in found.summary()
    assert json.loads(json.dumps(found.to_dict()))["passed"] is True


CHANGES = {
    "a rate": (
        f"UPDATE draws SET rate = rate * 1.001 WHERE position = ({NOT_DRAWN} ORDER BY position LIMIT 1)", "rate"
    ),
    "a draw that was none": (
        f"UPDATE draws SET selected = 1 WHERE position = ({NOT_DRAWN} ORDER BY position LIMIT 1)", "not give"
    ),
    "a draw taken back": (f"UPDATE draws SET selected = 0 WHERE position = ({EARLY})", "not give"),
    "a draw of the exact round": (
        f"UPDATE draws SET selected = 1 WHERE position = ({NOT_DRAWN} ORDER BY position DESC LIMIT 1)", "not give"
    ),
    "a deleted draw": (f"DELETE FROM draws WHERE position = ({EARLY})", "drawn"),
    "a random number": ("UPDATE items SET uniform = 0.5 WHERE position = 3", "random number"),
    "the random number of an item not looked at": ("UPDATE items SET uniform = 0.0 WHERE position = 499", "random"),
    "an id": ("UPDATE items SET id = 'another' WHERE position = 7", "random number"),
    "two ids exchanged": (
        "UPDATE items SET id = CASE position WHEN 0 THEN (SELECT id FROM items WHERE position = 300) || ' '"
        " ELSE id END WHERE position = 0",
        "random number",
    ),
    "a deleted item": ("DELETE FROM items WHERE position = 400", "missing"),
    "a rating out of the scale": (f"UPDATE ratings SET value = 7 WHERE step = 1 AND position = ({EARLY})", "rating"),
    "a strong rating between 0 and 1": (
        f"UPDATE ratings SET value = 0.5 WHERE step = 1 AND position = ({EARLY})", "no binary rating"
    ),
    "an absurd rating": (f"UPDATE ratings SET value = 1e300 WHERE step = 1 AND position = ({EARLY})", "item"),
    "an infinite rating": (f"UPDATE ratings SET value = 9e999 WHERE step = 1 AND position = ({EARLY})", "item"),
    "a rating that is text": (f"UPDATE ratings SET value = 'good' WHERE step = 1 AND position = ({EARLY})", "item"),
    "a strong rating within the scale": (
        f"UPDATE ratings SET value = 1 - value WHERE step = 1 AND position = ({EARLY})", "earlier rounds"
    ),
    "a weak rating": ("UPDATE ratings SET value = 1 - value WHERE step = 0 AND position = 2", "earlier rounds"),
    "a weak rating of the last round": (
        "UPDATE ratings SET value = value + 0.2 WHERE step = 0 AND position = (SELECT max(position) FROM ratings)",
        "rate",
    ),
    "an answer taken back": (f"UPDATE ratings SET value = NULL WHERE step = 1 AND position = ({EARLY})", "state"),
    "an answer opened again": (
        f"UPDATE ratings SET state = 0, value = NULL WHERE step = 1 AND position = ({EARLY})", "no answer"
    ),
    "a rating never drawn": (
        f"INSERT INTO ratings (position, step, state, attempts, value) SELECT position, 1, 1, 0, 1.0 FROM ({NOT_DRAWN}"
        " ORDER BY position LIMIT 1)",
        "without having been drawn",
    ),
    "a rating of an unknown rater": (
        "INSERT INTO ratings (position, step, state, attempts, value) VALUES (1, 5, 1, 0, 1.0)", "without having been"
    ),
    "a missing rating": (f"DELETE FROM ratings WHERE step = 1 AND position = ({EARLY})", "never asked"),
    "a missing weak rating": ("DELETE FROM ratings WHERE step = 0 AND position = 5", "never asked"),
    "failed calls": (f"UPDATE ratings SET attempts = 3 WHERE step = 1 AND position = ({EARLY})", "failed calls"),
    "a reserved amount": (
        f"UPDATE ledger SET amount = amount + 1 WHERE kind = 'reserve' AND step = 1 AND position = ({EARLY})", "price"
    ),
    "a settled amount": (
        f"UPDATE ledger SET amount = amount - 1 WHERE kind = 'settle' AND step = 1 AND position = ({EARLY})", "spent"
    ),
    "a deleted reservation": (
        f"DELETE FROM ledger WHERE kind = 'reserve' AND step = 1 AND position = ({EARLY})", "attempts"
    ),
    "a deleted payment": (
        f"DELETE FROM ledger WHERE kind = 'settle' AND step = 1 AND position = ({EARLY})", "do not match"
    ),
    "a payment twice": (
        "INSERT INTO ledger (kind, position, step, attempt, amount, at) SELECT kind, position, step, attempt, amount,"
        f" at FROM ledger WHERE kind = 'settle' AND step = 1 AND position = ({EARLY})",
        "paid twice",
    ),
    "a payment of nobody": (
        "INSERT INTO ledger (kind, position, step, attempt, amount, at) SELECT 'settle', position, 1, 1, 5, 'now' FROM"
        f" ({NOT_DRAWN} LIMIT 1)",
        "who was not asked",
    ),
    "an unknown kind of row": (
        f"UPDATE ledger SET kind = 'gift' WHERE kind = 'settle' AND step = 1 AND position = ({EARLY})", "unknown kind"
    ),
    "money held": (
        "UPDATE ledger SET amount = amount + 5 WHERE id = (SELECT min(id) FROM ledger WHERE kind = 'hold')", "held"
    ),
    "money held and given back": (
        "DELETE FROM ledger WHERE kind IN ('hold', 'unhold') AND position = 0", "held"
    ),
    "what is spent": ("UPDATE totals SET spent = spent + 1", "said to be spent"),
    "what is reserved": ("UPDATE totals SET reserved = reserved + 1", "said to be reserved"),
    "a round's money": (
        "UPDATE rounds SET plan = json_set(plan, '$.spend', json_extract(plan, '$.spend') + 1000000) WHERE number = 2",
        "spend",
    ),
    "what a round had left": (
        "UPDATE rounds SET plan = json_set(plan, '$.left', json_extract(plan, '$.left') + 1000) WHERE number = 2",
        "left",
    ),
    "what a round aims at": (
        "UPDATE rounds SET plan = json_set(plan, '$.aims', json('true')) WHERE number = 2", "left"
    ),
    "a round's policy": ("UPDATE rounds SET plan = json_set(plan, '$.policy', 'oracle') WHERE number = 2", "policy"),
    "what a round expects": (
        "UPDATE rounds SET plan = json_set(plan, '$.expected_se', 0.001) WHERE number = 2", "expected_se"
    ),
    "how many a round takes": ("UPDATE rounds SET plan = json_set(plan, '$.items', 19) WHERE number = 1", "items"),
    "a rule's scale": (
        "UPDATE rounds SET plan = json_set(plan, '$.rule.scale', json_extract(plan, '$.rule.scale') * 1.01)"
        " WHERE number = 2",
        "rule.scale",
    ),
    "a rule's own rates": (
        "UPDATE rounds SET plan = json_set(plan, '$.own_rates[0]', 0.123456) WHERE number = 2", "own_rates"
    ),
    "a rule that is none": ("UPDATE rounds SET plan = '{' WHERE number = 2", "cannot be replayed"),
    "a rule with a part missing": (
        "UPDATE rounds SET plan = json_remove(plan, '$.rule.model') WHERE number = 2", "cannot be replayed"
    ),
    "the factor of the last items": ("UPDATE rounds SET factor = factor * 1.01 WHERE factor IS NOT NULL", "factor"),
    "a round's items": ("UPDATE rounds SET items = items - 1 WHERE number = 2", "items"),
    "a deleted round": ("DELETE FROM rounds WHERE number = 2", "starts with item"),
    "a batch's cost": ("UPDATE batches SET cost = cost - 1 WHERE first = 0", "cost"),
    "a batch's end": ("UPDATE batches SET end = end + 1 WHERE first = 0", "items"),
    "a batch without end": ("UPDATE batches SET end = 1000000000000000000 WHERE first = 0", "items that are not there"),
    "a batch that was drawn": ("UPDATE batches SET drawn = 0 WHERE first = 0", "not drawn"),
    "a deleted batch": ("DELETE FROM batches WHERE first = 0", "item"),
    "the mean price": (
        "UPDATE meta SET value = '[50000001.0, 1000000000.0]' WHERE key = 'prices'", "mean price"
    ),
    "a round that begins nowhere": ("UPDATE rounds SET first = 1e999 WHERE number = 2", "no finite number"),
    "items without end": (
        "UPDATE meta SET value = '1000000000000000000' WHERE key = 'items'", "it has 1,000,000,000,000,000,000 items"
    ),
    "fewer items": ("UPDATE meta SET value = '499' WHERE key = 'items'", "more than 499"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_found(campaign, name):
    statement, word = CHANGES[name]
    tamper(campaign, statement)
    found = campaign.verify()
    assert not found.passed
    assert any(word in sentence for sentence in found.differences), found.differences[:5]
    assert str(len(found.differences)) in found.summary()
    json.dumps(found.to_dict())


def test_a_payment_and_the_sum_changed_together(campaign):
    """The books balance, but a column costs its price."""
    last = "(SELECT max(position) FROM ratings WHERE step = 1)"
    tamper(
        campaign,
        f"UPDATE ledger SET amount = amount - 1000 WHERE kind = 'settle' AND step = 1 AND position = {last}",
        "UPDATE totals SET spent = spent - 1000",
    )
    assert any("a column costs its price" in sentence for sentence in campaign.verify().differences)


def test_items_that_no_round_has_taken_up_have_nothing(tmp_path):
    campaign = ran(tmp_path, judged(500), goal='budget = "30"')
    assert campaign.verify().passed
    tamper(campaign, "INSERT INTO ratings (position, step, state, attempts, value) VALUES (499, 1, 1, 0, 1.0)")
    tamper(campaign, "INSERT INTO draws (position, step, rate, selected) VALUES (498, 1, 0.5, 1)")
    tamper(
        campaign,
        "INSERT INTO ledger (kind, position, step, attempt, amount, at) VALUES ('hold', 497, NULL, NULL, 0, '')",
    )
    told = [sentence for sentence in campaign.verify().differences if "no round has taken it up" in sentence]
    assert {sentence.split(":")[0] for sentence in told} == {"item 497", "item 498", "item 499"}


def test_an_overspent_budget_is_told(campaign):
    tamper(
        campaign,
        "UPDATE totals SET spent = spent + 100000000000",
        "INSERT INTO ledger (kind, position, step, attempt, amount, at) VALUES ('settle', 0, 1, 2, 100000000000, '')",
    )
    assert any("more than the budget" in sentence for sentence in campaign.verify().differences)


def test_another_seed_is_told_at_every_item(campaign):
    """As if the campaign had been drawn with another seed than the TOML says."""
    with closing(sqlite3.connect(campaign.spec.folder / campaign.spec.store)) as connection, connection:
        spec = json.loads(connection.execute("SELECT value FROM meta WHERE key = 'spec'").fetchone()[0])
        connection.execute("UPDATE meta SET value = ? WHERE key = 'spec'", [json.dumps({**spec, "seed": 8})])
    path = campaign.spec.path
    path.write_text(path.read_text().replace("seed = 11", "seed = 8"))
    found = Campaign.open(path).verify()
    assert sum("random number" in sentence for sentence in found.differences) == 700
    assert "and 6" in found.summary()  # twenty are told, the rest counted


def test_chains_and_scores_are_replayed_too(tmp_path):
    judge, expert, human = (column.tolist() for column in unsure_judge(900, 1))
    columns = {"id": [f"q{i}" for i in range(900)], "judge": judge, "expert": expert, "human": human}
    campaign = ran(
        tmp_path, columns, rating='kind = "score"\nlow = 0\nhigh = 1', goal='budget = "200"',
        raters=(("judge", "0.01"), ("expert", "0.15"), ("human", "1")),
    )  # fmt: skip
    assert campaign.verify().passed
    log = log_of(campaign)
    assert json.loads(log["rounds"][-1][2])["policy"] == "chain"
    shutil.copytree(tmp_path, tmp_path / "copy")
    tamper(campaign, f"UPDATE ratings SET value = value + 0.5 WHERE step = 1 AND position = ({LABELLED} LIMIT 1)")
    forge(campaign)  # the record agrees, and the plans that were made from the old value do not
    assert any("round" in sentence for sentence in campaign.verify().differences)
    copy = Campaign.open(tmp_path / "copy" / "c.toml")
    tamper(copy, "UPDATE draws SET rate = rate * 0.99 WHERE step = 2 AND position = (SELECT max(position) FROM draws)")
    assert any("rate" in sentence for sentence in copy.verify().differences)


def test_a_target_is_replayed_with_what_it_was_expected_to_take(tmp_path):
    campaign = ran(tmp_path, judged(2500, spread=0.75), goal="target_se = 0.04")
    assert campaign.verify().passed
    plans = [json.loads(row[2]) for row in log_of(campaign)["rounds"]]
    assert all(plan["aims"] for plan in plans)
    assert len(plans) > 1
    tamper(
        campaign, "UPDATE rounds SET plan = json_set(plan, '$.left', json_extract(plan, '$.left') * 2) WHERE number = 2"
    )
    assert any("left" in sentence for sentence in campaign.verify().differences)


def test_numbers_are_compared_up_to_the_rounding_of_another_machine(campaign):
    """Rates that differ in the twelfth digit are the same when they are replayed; in the sixth they are not."""
    at = f"({NOT_DRAWN} ORDER BY position LIMIT 1)"
    tamper(campaign, f"UPDATE draws SET rate = rate * (1 + 1e-12) WHERE position = {at}")
    assert not campaign.verify().passed  # the record has every bit
    forge(campaign)
    assert campaign.verify().passed
    tamper(campaign, f"UPDATE draws SET rate = rate * (1 + 1e-6) WHERE position = {at}")
    forge(campaign)
    assert not campaign.verify().passed


def test_it_only_reads(campaign):
    path = campaign.spec.folder / campaign.spec.store
    before = log_of(campaign)
    campaign.verify()
    assert log_of(campaign) == before
    assert np.isfinite(path.stat().st_size)
