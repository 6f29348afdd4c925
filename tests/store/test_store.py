"""SQLite and PostgreSQL: the same campaign, bit for bit."""

import json

import numpy as np
import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.design.rounds import below_one

from ..campaign.making import judged, log_of, looked_at, ran, scored, write

CASES = {
    "auto": (judged(300, spread=0.75), {"goal": 'budget = "50"'}),
    "the pool's end": (
        judged(200, spread=0.8), {"goal": 'budget = "90"', "raters": (("judge", "0.01"), ("human", "1"))}
    ),
    "a target": (judged(400, spread=0.75), {"goal": "target_se = 0.07"}),
    "alone": (judged(100), {"method": "base", "estimand": "population"}),
    "a chain": (
        scored(200),
        {
            "rating": 'kind = "score"\nlow = 1\nhigh = 9', "goal": 'budget = "45.123456789"',
            "raters": (("judge", "0.02"), ("expert", "0.2"), ("human", "1")),
        },
    ),
    "enough for everything later": (judged(80, spread=0.8), {"goal": 'budget = "30"'}),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_both_stores_hold_the_same(tmp_path, database, name):
    """Items, rates, draws, answers, ledger, sums, estimate and status; and what is exported."""
    columns, keys = CASES[name]
    found = []
    for kind, store in (("sqlite", "c.sqlite"), ("postgresql", database)):
        campaign = ran(tmp_path / kind, columns, store=store, **keys)
        if name == "enough for everything later":  # an infinite factor, kept by both
            path = campaign.spec.path
            path.write_text(path.read_text().replace('budget = "30"', 'budget = "5000"'))
            campaign = Campaign.open(path)
            campaign.run()
        assert campaign.verify().passed
        table = campaign.export(tmp_path / kind / "out.jsonl")
        campaign.export(tmp_path / kind / "ledger.csv", ledger=True)
        found.append((log_of(campaign), campaign.estimate().to_dict(), campaign.status().to_dict(), table))
    (log, estimate, status, _), (other_log, other_estimate, other_status, _) = found
    assert log == other_log
    assert estimate == other_estimate
    assert status.pop("campaign") != other_status.pop("campaign")  # each has an id of its own
    assert status == other_status
    a, b = ((tmp_path / kind / "out.jsonl").read_bytes() for kind in ("sqlite", "postgresql"))
    assert a == b
    assert len(a.splitlines()) == status["looked"]
    lines = [(tmp_path / kind / "ledger.csv").read_text().splitlines() for kind in ("sqlite", "postgresql")]
    assert [line.split(",", 1)[1] for line in lines[0]] == [line.split(",", 1)[1] for line in lines[1]]  # but the time


def test_what_is_exported_is_what_was_drawn(tmp_path):
    """Read back, the plain inverse-rate estimate of the last round's rule is that of the log."""
    campaign = ran(tmp_path, judged(300, spread=0.75))
    campaign.export(tmp_path / "out.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    history, _ = looked_at(campaign)
    np.testing.assert_array_equal([row["rate_in_round"] for row in rows], history.looked.rates[:, 0])
    asked = history.looked.selected[:, 0]
    np.testing.assert_array_equal([row["rate"] for row in rows], below_one(history.seen.rates(), asked))
    np.testing.assert_array_equal([row["selected"] for row in rows], history.looked.selected[:, 0])
    rated = [np.nan if row["rating_human"] is None else row["rating_human"] for row in rows]
    np.testing.assert_array_equal(rated, history.looked.values[:, 0])


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_looking_at_a_campaign_that_is_over_or_going_on_again_changes_nothing(tmp_path, kind, request):
    store = "c.sqlite" if kind == "sqlite" else request.getfixturevalue("database")
    campaign = ran(tmp_path, judged(200), store=store)
    before = log_of(campaign)
    reason = campaign.status().ended
    assert Campaign.open(write(tmp_path, judged(200), store=store)).run() == reason
    campaign.status()
    campaign.verify()
    assert log_of(campaign) == before


def test_two_campaigns_in_one_database_do_not_meet(tmp_path, database):
    one = ran(tmp_path / "a", judged(100, seed=1), name="one", store=database, goal='budget = "20"')
    two = ran(tmp_path / "b", judged(120, seed=2), name="two", store=database, goal='budget = "30"', seed=9)
    assert one.verify().passed
    assert two.verify().passed
    assert (one.status().pool, two.status().pool) == (100, 120)
