"""A campaign's own random id: in its store, keys, files and reports, so that no other campaign is taken for it."""

import json

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import AlreadyBegunError
from ratewise.report.campaign import campaign_page

from .faults.world import World, kept
from .making import judged, ran, write


def test_two_campaigns_of_one_name_share_no_key(tmp_path):
    one, other = World(tmp_path / "one"), World(tmp_path / "other")
    for world in (one, other):
        assert world.run() == "every item has been looked at"
    assert one.noted("asked")
    assert not set(one.noted("asked")) & set(other.noted("asked"))
    assert all(":" in key and key.startswith("c-") for key in one.noted("asked"))


def test_the_id_is_in_status_report_and_unsaved_file(tmp_path):
    world = World(tmp_path / "c")
    lines = kept(world, 10)
    campaign = world.open()
    found = campaign.status().campaign
    assert len(found) == 16
    assert {json.loads(line)["campaign"] for line in lines} == {found}
    assert campaign.status().to_dict()["campaign"] == found
    assert found in campaign_page(campaign)
    assert world.open().status().campaign == found  # made once


def test_a_mistyped_store_beside_the_campaign_is_asked_about(tmp_path):
    campaign = ran(tmp_path, judged(60), goal='budget = "20"')
    path = campaign.spec.path
    path.write_text('store = "d.sqlite"\n' + path.read_text())
    slipped = Campaign.open(path)
    with pytest.raises(AlreadyBegunError, match=r"c\.sqlite lies beside.*ratewise run c\.toml --new") as caught:
        slipped.run()
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "d.sqlite").exists()
    assert slipped.run(new=True)
    assert slipped.status().campaign != campaign.status().campaign
    assert slipped.run()  # it has begun, so there is nothing to ask


def test_a_lost_store_with_unsaved_answers_is_asked_about(tmp_path):
    world = World(tmp_path / "c")
    kept(world, 10)
    for path in world.folder.glob("c.sqlite*"):
        path.unlink()
    with pytest.raises(AlreadyBegunError, match=r"c\.unsaved\.jsonl"):
        world.run()


def test_another_campaign_in_the_same_folder_is_none_of_its_business(tmp_path):
    ran(tmp_path, judged(60), goal='budget = "20"')
    other = Campaign.open(write(tmp_path, judged(60), name="other", goal='budget = "20"'))
    assert other.run()
