"""A store of a newer version is refused and left alone."""

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import StoreError

from ..campaign.making import judged, ran, tamper


@pytest.mark.parametrize("act", ["open", "run", "status", "verify"])
def test_a_campaign_of_a_newer_version_is_refused_and_left_alone(tmp_path, act):
    campaign = ran(tmp_path, judged(50), goal='budget = "20"')
    tamper(campaign, "UPDATE meta SET value = '99' WHERE key = 'version'")
    before = (tmp_path / "c.sqlite").read_bytes()
    with pytest.raises(StoreError, match="newer ratewise"):
        Campaign.open(campaign.spec.path) if act == "open" else getattr(campaign, act)()
    assert (tmp_path / "c.sqlite").read_bytes() == before
