"""Chapters of a campaign add up to its log."""

from ratewise.store.money import to_units

from .making import judged, log_of, looked_at, ran


def test_rounds_add_up_to_what_was_bought(tmp_path):
    campaign = ran(tmp_path, judged(250, spread=0.75), goal='budget = "40"')
    story, status = campaign.story(), campaign.status()
    history, _ = looked_at(campaign)
    assert [chapter.number for chapter in story] == [row[0] for row in log_of(campaign)["rounds"]]
    assert sum(chapter.items for chapter in story) == history.items == status.looked
    assert sum(chapter.labels for chapter in story) == status.labels
    assert story[0].policy == "start"
    assert story[-1].spent == to_units(status.spent)
    assert [c.spent for c in story] == sorted(c.spent for c in story)
    assert all(0 < chapter.mean_rate <= 1 for chapter in story)
