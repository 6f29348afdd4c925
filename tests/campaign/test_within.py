"""`within = 0.05` in a campaign: it stops where the interval reaches that far, as with the standard error of it."""

import pytest
from scipy import special

from .making import judged, ran


def test_a_campaign_stops_within(tmp_path):
    columns = judged(1500)
    found = ran(tmp_path / "a", columns, goal="within = 0.06", level=0.9).estimate()
    assert 0.5 * (found.high - found.low) <= 0.06
    assert found.labels < 1500
    z = float(special.ndtri(0.95))
    same = ran(tmp_path / "b", columns, goal=f"target_se = {0.06 / z!r}", level=0.9).estimate()
    assert (same.value, *same.interval) == pytest.approx((found.value, *found.interval))
