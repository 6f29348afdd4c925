"""Campaigns that go on: with a larger budget, another level, or without their table."""

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
