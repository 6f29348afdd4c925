"""Campaigns that go on: with a larger budget, another level, or without their table."""

import json

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError, RatewiseWarning

from .making import holds, judged, log_of, looked_at, ran, strong_mean, write


def test_going_on_with_a_larger_budget_keeps_what_was_done_and_widens_the_interval(tmp_path):
    columns = judged(2500, spread=0.75)
    path = write(tmp_path, columns)
    first = Campaign.open(path)
    first.run()
    before = log_of(first)
    path.write_text(path.read_text().replace('budget = "60"', 'budget = "130"'))
    second = Campaign.open(path)
    with pytest.warns(RatewiseWarning, match="wider than the interval there is"):
        assert second.run() == "the budget is spent"
    after = log_of(second)
    for table in ("items", "draws", "ratings", "ledger"):
        assert after[table][: len(before[table])] == before[table]
    status = holds(second)
    assert 128 < status.spent <= 130
    assert second.estimate().interval_method.startswith("anytime")
    assert first.estimate().interval_method.startswith("anytime")  # the goal was changed: the log knows
    path.write_text(path.read_text().replace('budget = "130"', 'budget = "90"'))
    with pytest.raises(InputError, match="below"):
        Campaign.open(path)


def test_a_level_that_is_changed_with_a_target_still_verifies(tmp_path):
    path = write(tmp_path, judged(2000), goal="target_se = 0.05")
    Campaign.open(path).run()
    path.write_text("level = 0.9\n" + path.read_text())
    campaign = Campaign.open(path)
    campaign.run()
    holds(campaign)
    assert campaign.estimate().level == 0.9


def test_a_budget_raised_to_cover_everything_asks_everyone_that_is_left(tmp_path):
    """The factor of the last rates is infinite, and rates of 0 times that are no number."""
    columns = judged(900, spread=0.8)
    path = write(tmp_path, columns)
    assert Campaign.open(path).run() == "the budget is spent"
    path.write_text(path.read_text().replace('budget = "60"', 'budget = "5000"'))
    campaign = Campaign.open(path)
    assert campaign.run() == "every item has been looked at"
    status = holds(campaign)
    assert status.looked == 900
    assert status.labels > 450
    history, _ = looked_at(campaign)
    assert np.all(np.isfinite(history.seen.mass))
    found = campaign.estimate()
    assert found.interval[0] <= strong_mean(columns) <= found.interval[1]


def test_verify_and_estimate_need_no_table_any_more(tmp_path):
    campaign = ran(tmp_path, judged(300))
    value = campaign.estimate().value
    (tmp_path / "items.csv").unlink()
    again = Campaign.open(tmp_path / "c.toml")
    assert again.verify().passed
    assert again.estimate().value == value


# What looks at a campaign goes by the settings in its store, and says where the TOML differs.


def edited(campaign, old, new):
    path = campaign.spec.path
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))
    return Campaign.open(path)


def test_a_target_taken_out_of_the_toml_after_the_stop_changes_nothing(tmp_path):
    """It gave a narrower interval, as if nobody had stopped on what was seen."""
    campaign = ran(tmp_path, judged(2500, spread=0.75), goal='target_se = 0.04\nbudget = "2000"')
    before, status = campaign.estimate(), campaign.status()
    assert before.interval_method.startswith("anytime")
    again = edited(campaign, "target_se = 0.04\n", "")
    assert again.estimate().to_dict() == before.to_dict()
    assert again.status().to_dict() == status.to_dict()
    found = again.verify()
    assert found.differences == []
    assert "c.toml has changed, and no run has used it yet: goal.target_se from 0.04 to none" in found.summary()
    with again.look() as now:
        assert "goal.target_se from 0.04 to none" in now.told[0]


@pytest.mark.filterwarnings("ignore:with this goal:ratewise.errors.RatewiseWarning")
def test_a_legal_edit_is_no_false_alarm(tmp_path):
    """A budget below what is spent made `verify` say that too much was."""
    campaign = ran(tmp_path, judged(300))
    again = edited(campaign, 'budget = "60"', 'budget = "600"')
    assert again.status().budget == 60
    assert again.verify().differences == []
    again.run()
    assert Campaign.open(campaign.spec.path).verify().differences == []
    with again.look() as now:
        assert now.told == []


PYTHON = 'kind = "python"\nfunction = "{module}:human"'


def with_function(folder, module):
    path = write(folder, judged(60), goal='budget = "20"')
    path.write_text(path.read_text().replace('kind = "column"\ncolumn = "human"', PYTHON.format(module=module)))
    return path


@pytest.mark.filterwarnings("ignore:with this goal:ratewise.errors.RatewiseWarning")
def test_a_function_that_changed_on_the_way_is_told(tmp_path):
    path = with_function(tmp_path, "rater_one")
    (tmp_path / "rater_one.py").write_text("def human(item):\n    return item['human']\n")
    Campaign.open(path).run()
    Campaign.open(path).run()  # nothing has changed, nothing is told
    (tmp_path / "rater_one.py").write_text("def human(item):\n    return 1\n")
    path.write_text(path.read_text().replace('budget = "20"', 'budget = "30"'))
    with pytest.warns(
        RatewiseWarning, match=r"rater 'human' is not what it was at the last run: rater_one.py has changed"
    ):
        Campaign.open(path).run()
    campaign = Campaign.open(path)
    with campaign.look() as now:
        (line,) = now.told
    assert "changed on the way: rater 'human': rater_one.py has changed" in line
    assert campaign.verify().differences == []


@pytest.mark.parametrize("kind", ["command", "recorded"])
def test_a_program_or_a_recording_that_changed_is_told(tmp_path, kind):
    columns = judged(60)
    path = write(tmp_path, columns, goal='budget = "20"')
    if kind == "command":
        program = (
            "import json, sys\nfor line in sys.stdin:\n    row = json.loads(line)\n"
            "    print(json.dumps({'key': row['key'], 'rating': row['item']['human']}), flush=True)\n"
        )
        (tmp_path / "ask.py").write_text(program)
        rater, file, more = 'kind = "command"\ncommand = ["python3", "ask.py"]', "ask.py", "# another one\n"
    else:
        lines = [json.dumps({"id": i, "rating": v}) for i, v in zip(columns["id"], columns["human"], strict=True)]
        (tmp_path / "said.jsonl").write_text("\n".join(lines) + "\n")
        rater, file, more = 'kind = "recorded"\nfile = "said.jsonl"', "said.jsonl", '{"id": "new", "rating": 1}\n'
    path.write_text(path.read_text().replace('kind = "column"\ncolumn = "human"', rater))
    Campaign.open(path).run()
    with open(tmp_path / file, "a") as opened:
        opened.write(more)
    with pytest.warns(RatewiseWarning, match=f"{file} has changed"):
        Campaign.open(path).run()
    assert any(f"{file} has changed" in text for _, text in Campaign.open(path).notes())


def test_a_changed_recording_is_not_read_again_and_that_is_told(tmp_path):
    columns = judged(60)
    path = write(tmp_path, columns, goal='budget = "20"')
    lines = [json.dumps({"id": i, "rating": v}) for i, v in zip(columns["id"], columns["human"], strict=True)]
    (tmp_path / "said.jsonl").write_text("\n".join(lines) + "\n")
    path.write_text(
        path.read_text().replace('kind = "column"\ncolumn = "human"', 'kind = "recorded"\nfile = "said.jsonl"')
    )
    Campaign.open(path).run()
    (tmp_path / "said.jsonl").unlink()
    found = Campaign.open(path).verify()
    assert found.differences == []
    assert "answers of rater 'human' were not read again" in found.summary()


# A secret seed

SECRET = "5b1d7b4e9c0f4a6e8d2c"


@pytest.fixture
def secret(tmp_path, monkeypatch):
    path = write(tmp_path, judged(200), goal='budget = "30"', seed='{ env = "POOL_SEED" }')
    monkeypatch.setenv("POOL_SEED", SECRET)
    return path


def test_a_secret_seed_is_told_at_the_end_only(secret, monkeypatch):
    campaign = Campaign.open(secret)
    campaign.begin()
    with campaign.look() as now:
        assert SECRET not in now.seed
        assert "secret until the end; its SHA-256 is a" in now.seed.replace(now.seed[-64:], "a" + now.seed[-63:])
        digest = now.seed[-64:]
        assert SECRET not in str(now.store.meta("spec"))
    assert SECRET.encode() not in (secret.parent / "c.sqlite").read_bytes()
    campaign.run()
    monkeypatch.delenv("POOL_SEED")
    again = Campaign.open(secret)
    with again.look() as now:
        assert now.seed == f"{SECRET}; it was secret, with the SHA-256 {digest}"
    found = again.verify()  # checked with the revealed one
    assert found.differences == []
    assert "secret" not in found.summary()


def test_draws_go_by_the_secret(secret, tmp_path, monkeypatch):
    from ratewise.core.draw import uniform
    from ratewise.store import audit

    campaign = Campaign.open(secret)
    campaign.begin()
    with campaign.look() as now:
        rows = audit.item_keys(now.store, 0, 200)
    assert [row.uniform for row in rows] == uniform([row.id for row in rows], seed=SECRET).tolist()


def test_before_the_end_verify_needs_the_secret_and_says_so(secret, monkeypatch):
    campaign = Campaign.open(secret)
    campaign.begin()
    assert campaign.verify().told == []
    monkeypatch.delenv("POOL_SEED")
    found = Campaign.open(secret).verify()
    assert found.passed
    assert "set $POOL_SEED to check them" in found.summary()


@pytest.mark.parametrize(("value", "message"), [
    (None, r"\$POOL_SEED, which is not set"), ("short", "only 5 characters"),
    ("x" * 20, "another seed than the campaign"),
])  # fmt: skip
def test_a_run_without_the_secret_is_refused(secret, monkeypatch, value, message):
    if value == "x" * 20:
        Campaign.open(secret).begin()
    monkeypatch.delenv("POOL_SEED")
    if value is not None:
        monkeypatch.setenv("POOL_SEED", value)
    with pytest.raises(InputError, match=message):
        Campaign.open(secret).run()


@pytest.mark.parametrize("seed", ['{ env = "" }', "{ env = 7 }", '{ file = "x" }', '{ env = "A", file = "b" }'])
def test_what_is_no_seed_says_how_to_write_one(tmp_path, seed):
    with pytest.raises(InputError, match=r'seed = \{ env = "NAME" \}'):
        Campaign.open(write(tmp_path, judged(20), seed=seed))


def test_a_revealed_seed_that_is_another_is_found(secret):
    from .making import forge, tamper

    campaign = Campaign.open(secret)
    campaign.run()
    tamper(campaign, "UPDATE meta SET value = 'another secret altogether' WHERE key = 'seed'")
    forge(campaign)
    assert any("not the one whose SHA-256" in line for line in campaign.verify().differences)
