"""`verify` of a campaign whose pool stays where it is: its first items are drawn once more from the files."""

import pytest

from ratewise.campaign.campaign import Campaign

from .making import tamper
from .test_pool import put


@pytest.fixture
def begun(tmp_path):
    campaign = Campaign.open(put(tmp_path, raters=(("judge", "0"), ("human", "1"))))
    campaign.begin()
    return campaign


def test_items_are_compared_with_the_pool(begun):
    assert begun.verify().passed
    tamper(begun, "UPDATE items SET content = replace(content, 'judge', 'jugde') WHERE position = 3")
    assert any("of pool, and is stored otherwise" in line for line in begun.verify().differences)


def test_a_pool_that_is_gone_is_told_of(begun):
    (begun.spec.folder / "pool" / "a.parquet").unlink()
    found = Campaign.at(begun.spec.path).verify()
    assert found.passed
    assert "items were not compared with pool: it has changed since the campaign began" in found.told
