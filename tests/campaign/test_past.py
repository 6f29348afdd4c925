"""Rounds that overlap, in a store: people go on while one has the last question, and the log replays to the bit."""

import json
import shutil

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.store import audit
from ratewise.store.store import Store

from ..tomls import rater, toml_of
from .making import judged, tamper

ITEMS = judged(260, spread=0.8)
TRUTH = dict(zip(ITEMS["id"], ITEMS["human"], strict=True))
TOML = toml_of(
    rater("judge", price="0.02"),
    rater("crowd", kind="people", more='show = ["id"]'),
    top='name = "c"\nseed = 7\nstore = {store}',
    goal='budget = "60"',
)
PAUSED = "waiting for answers"


def begun(folder, store="c.sqlite"):
    rows = zip(ITEMS["id"], ITEMS["judge"], strict=True)
    (folder / "items.csv").write_text("id,judge\n" + "".join(f"{i},{g}\n" for i, g in rows))
    (folder / "c.toml").write_text(TOML.format(store=json.dumps(store)))
    campaign = Campaign.open(folder / "c.toml")
    assert campaign.run(wait=False) == PAUSED
    return campaign


def answered(campaign, *people):
    """These people answer in turn until nobody gets a question: how many answers there were."""
    count = 0
    with campaign.labelling() as desk:
        while tasks := [(person, task) for person in people if (task := desk.next(person)) is not None]:
            for person, task in tasks:
                assert desk.answer(person, task.key, TRUTH[task.item["id"]]) == "new"
                count += 1
    return count


def overlapped(campaign, run=None):
    """Ann keeps her question while bob and cid go on, as long as they get any."""
    run = run or (lambda: campaign.run(wait=False))
    with campaign.labelling() as desk:
        kept = desk.next("ann")
    while answered(campaign, "bob", "cid"):
        run()
    return kept


def ended(campaign, kept, run=None):
    run = run or (lambda: campaign.run(wait=False))
    with campaign.labelling() as desk:
        assert desk.answer("ann", kept.key, TRUTH[kept.item["id"]]) == "new"
    while (reason := run()) == PAUSED:
        assert answered(campaign, "bob", "cid")
    return reason


def drawn(campaign):
    """All that was decided: rounds with what they were learned from, rates and draws, and what was asked."""
    with campaign.look() as now:
        rounds = [(row.first, row.items, row.plan.to_json()) for row in now.reader.rounds()]
        end = now.facts.items
        draws = [tuple(row) for row in audit.draw_rows(now.store, 0, end)]
        asked = [(row.position, row.step, row.value) for row in audit.rating_rows(now.store, 0, end)]
        return rounds, draws, asked, now.store.totals()


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    campaign = begun(tmp_path_factory.mktemp("undisturbed"))
    ended(campaign, overlapped(campaign))
    return campaign


@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_two_go_on_while_the_third_keeps_a_question_and_everything_replays(tmp_path, where, request, undisturbed):
    campaign = begun(tmp_path, "c.sqlite" if where == "sqlite" else request.getfixturevalue("database"))
    first = campaign.status().pending
    kept = overlapped(campaign)
    status = campaign.status()
    assert status.labels > first  # more than the first round has
    assert status.rounds == 0  # which is not closed, as ann has her question
    assert status.spent + status.reserved <= 60
    assert campaign.verify().differences == []
    with campaign.look() as now:
        assert len(now.state.opened) > 1
        assert all(row.plan.look == 0 for row in now.reader.rounds())
    with campaign.labelling() as desk:
        assert desk.undo("bob") is not None  # nothing was decided by it
        assert desk.next("bob") is not None
    assert campaign.verify().differences == []
    answered(campaign, "bob")
    ended(campaign, kept)
    assert campaign.verify().differences == []
    status = campaign.status()
    assert (status.reserved, status.pending, status.missing) == (0, 0, 0)
    assert status.spent <= 60
    assert drawn(campaign) == drawn(undisturbed)
    assert campaign.estimate().to_dict() == undisturbed.estimate().to_dict()


class Killed(BaseException):
    """As if the process were gone."""


def test_killed_after_each_step_of_rounds_that_overlap_it_goes_on_to_the_same_end(tmp_path, monkeypatch, undisturbed):
    campaign = begun(tmp_path)
    moments = {kind: iter((False, True, True)) for kind in ("open_round", "take_up", "draw", "close_round")}

    def dying(kind, method):
        def call(self, *args):
            out = method(self, *args)
            if next(moments[kind], False):
                raise Killed
            return out

        return call

    def run():
        try:
            return campaign.run(wait=False)
        except Killed:
            return run()

    for kind in moments:
        monkeypatch.setattr(Store, kind, dying(kind, getattr(Store, kind)))
    kept = overlapped(campaign, run)
    assert campaign.verify().differences == []
    ended(campaign, kept, run)
    assert not any(left for moment in moments.values() for left in moment)  # all of them came
    assert drawn(campaign) == drawn(undisturbed)
    assert campaign.verify().differences == []


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ("UPDATE rounds SET plan = replace(plan, '\"look\": 0', '\"look\": 1') WHERE number = 2", "learned from"),
        ("UPDATE rounds SET plan = replace(plan, '\"people\": ', '\"people\": 1') WHERE number = 2", "round 2: items"),
        ("UPDATE rounds SET items = NULL WHERE number = 1", "though one before it is not"),
    ],
)
def test_a_round_that_says_it_was_learned_from_others_is_found(tmp_path, change, word, undisturbed):
    for name in ("c.toml", "items.csv", "c.sqlite"):
        shutil.copy(undisturbed.spec.folder / name, tmp_path)
    campaign = Campaign.open(tmp_path / "c.toml")
    tamper(campaign, change)
    found = campaign.verify().differences
    assert any(word in sentence for sentence in found), found
