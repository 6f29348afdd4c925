"""Load and kill -9: nothing is lost, nothing is paid twice, and the ledger is what the server bills."""

import pytest
from studies.judge_load import under_load


def test_a_killed_campaign_loses_nothing_and_pays_what_the_server_bills(tmp_path):
    found = under_load(tmp_path, items=150, concurrency=16, kill_at=[60])
    assert (found.items, found.rated, found.calls, found.kills) == (150, 150, 150, 1)
    assert found.spent == found.billed


@pytest.mark.soak
def test_ten_thousand_ratings_at_64_calls_at_once(tmp_path):
    found = under_load(tmp_path, items=10_000, concurrency=64, kill_at=[3000, 7000])
    assert (found.rated, found.calls) == (10_000, 10_000)
    assert found.spent == found.billed
