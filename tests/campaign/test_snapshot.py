"""One look at a campaign: it agrees with itself while the campaign runs, reads only what is new, and fits once."""

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.queue.store import Store
from ratewise.report.campaign import campaign_page
from ratewise.rounds import auto, seen

from .making import judged, ran, write


def counted(monkeypatch, owner, name):
    """Calls of a function from now on, as a list of their arguments."""
    calls, plain = [], getattr(owner, name)

    def call(*args, **keys):
        calls.append(args)
        return plain(*args, **keys)

    monkeypatch.setattr(owner, name, call)
    return calls


def test_a_report_is_one_look(tmp_path, monkeypatch):
    campaign = ran(tmp_path, judged(300, spread=0.75))
    looks = counted(monkeypatch, Store, "still")
    campaign_page(campaign)
    assert len(looks) == 1


def test_what_a_look_says_is_of_one_moment_whatever_is_bought_meanwhile(tmp_path):
    """A second campaign goes on with more money between two sentences of the first look."""
    path = write(tmp_path, judged(300, spread=0.75), goal='budget = "40"')
    Campaign.open(path).run()
    with Campaign.open(path).look() as now:
        before = now.status
        write(tmp_path, judged(300, spread=0.75), goal='budget = "80"')
        Campaign.open(path).run()
        assert now.status is before
        assert now.story[-1].number == before.rounds
        assert sum(chapter.labels for chapter in now.story) == before.labels
        assert now.estimate.labels == before.labels
    assert Campaign.open(path).status().labels > before.labels


def test_watching_reads_only_what_is_new(tmp_path, monkeypatch):
    campaign = ran(tmp_path, judged(300, spread=0.75))
    with campaign.watch() as look:
        first = look().status
        reads, fits = counted(monkeypatch, Store, "item_rows"), counted(monkeypatch, seen, "learn")
        for _ in range(3):
            assert look().status == first
        assert reads == []
        assert fits == []


def test_watching_sees_what_is_bought_meanwhile(tmp_path):
    path = write(tmp_path, judged(300, spread=0.75), goal='budget = "40"')
    Campaign.open(path).run()
    with Campaign.open(path).watch() as look:
        before = look().status
        write(tmp_path, judged(300, spread=0.75), goal='budget = "80"')
        Campaign.open(path).run()
        after = look().status
    assert after.rounds > before.rounds
    assert after.labels > before.labels
    assert after.estimate.to_dict() == Campaign.open(path).status().estimate.to_dict()


@pytest.mark.parametrize("progress", [None, lambda status: None])
def test_the_end_of_a_round_towards_a_target_fits_its_labels_a_few_times(tmp_path, monkeypatch, progress):
    """One for the plan, one for each of three estimates (at the stop, around the population, at this look)."""
    fits = []
    for module in (auto, seen):
        plain = module.learn
        monkeypatch.setattr(module, "learn", lambda bought, plain=plain: fits.append(bought) or plain(bought))
    raters = (("judge", "0.01"), ("human", "1"))
    campaign = Campaign.open(write(tmp_path, judged(4000, spread=0.75), raters=raters, goal="target_se = 0.02"))
    campaign.run(progress=progress)
    by_round = [sum(1 for bought in fits if bought is one) for one in dict.fromkeys(fits)]
    assert len(by_round) >= 2
    assert max(by_round) <= 4  # it was ten
