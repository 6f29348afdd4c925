"""`within = 0.05` in a campaign: it stops where the interval reaches that far, as with the standard error of it."""

import pytest
from scipy import special

from ratewise.campaign.spec.spec import read_spec
from ratewise.errors import SpecError

from .making import judged, ran, write


def test_a_campaign_stops_within(tmp_path):
    columns = judged(1500)
    found = ran(tmp_path / "a", columns, goal="within = 0.06", level=0.9).estimate()
    assert 0.5 * (found.high - found.low) <= 0.06
    assert found.labels < 1500
    z = float(special.ndtri(0.95))
    same = ran(tmp_path / "b", columns, goal=f"target_se = {0.06 / z!r}", level=0.9).estimate()
    assert (same.value, *same.interval) == pytest.approx((found.value, *found.interval))


def test_two_precisions_are_one_too_many(tmp_path):
    with pytest.raises(
        SpecError, match=r"goal\.within and target_se are both given; keep the one that says how precise"
    ):
        read_spec(write(tmp_path, judged(20), goal="within = 0.02\ntarget_se = 0.01"))
