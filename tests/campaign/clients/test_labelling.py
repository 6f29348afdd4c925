"""The questions behind the labelling page: blind, each answer once, undone with its payment, given up after tries."""

import json
from decimal import Decimal

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.clients.people import Labelling
from ratewise.errors import InputError

from ...tomls import rater, toml_of
from ..making import judged, tamper

ITEMS = judged(40)
TOML = toml_of(
    rater("judge", price="0.05"),
    rater("crowd", kind="people", more="{more}"),
    top='name = "c"\nseed = 7\nstore = {store}',
    table="items.jsonl",
    rating='kind = "{kind}"\n{rating}',
)


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def begun(folder, *, kind="binary", rating="", more="", store="c.sqlite"):
    """A campaign that waits for its first answers."""
    rows = [
        {"id": i, "judge": g, "model": "gpt-secret", "question": f"What is {i}?", "answer": f"It is {i}.",
         "left": f"L{i}", "right": f"R{i}"}
        for i, g in zip(ITEMS["id"], ITEMS["judge"], strict=True)
    ]  # fmt: skip
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = TOML.format(kind=kind, rating=rating, more=more, store=json.dumps(store))
    if "per_hour" in more:
        text = text.replace('price = "1"\n', "").replace('budget = "30"', 'budget = "9"')
    (folder / "c.toml").write_text(text)
    campaign = Campaign.open(folder / "c.toml")
    assert campaign.run(wait=False) == "waiting for answers"
    return campaign


@pytest.fixture
def campaign(tmp_path):
    return begun(tmp_path, more='show = ["question", "answer"]')


@pytest.mark.parametrize("where", ["sqlite", "postgresql"])
def test_an_answer_counts_once_and_undoing_it_takes_the_payment_back(tmp_path, where, request):
    store = "c.sqlite" if where == "sqlite" else request.getfixturevalue("database")
    campaign = begun(tmp_path, more='show = ["question", "answer"]', store=store)
    with campaign.labelling() as desk:
        task = desk.next("ann")
        assert task.item.keys() == {"question", "answer"}
        assert desk.next("ann").key == task.key  # a reload, another tab
        assert desk.answer("ann", task.key, 1) == "new"
        assert desk.answer("ann", task.key, "yes") == "same"
        assert desk.answer("ann", task.key, 0) == "another"
        assert desk.answer("bob", task.key, 1) == "unknown"
        spent = campaign.status().spent
        undone = desk.undo("ann")
        again = undone.key
        assert again != task.key
        assert (undone.value, undone.note or "") == (1.0, "")
        assert campaign.status().spent == spent - 1
        assert campaign.verify().differences == []
        assert desk.answer("ann", task.key, 1) == "too late"  # what was under way when it was undone
        assert desk.next("ann").key == again
        assert desk.next("ann").item == task.item
        assert desk.answer("ann", again, 0, comment="typo") == "new"
        assert desk.undo("bob") is None
        sums = desk.store.ledger_sums()
        assert sums["undo"] == 10**9
    assert campaign.status().spent == spent
    assert campaign.status().failed_calls == 0
    assert campaign.verify().differences == []


def test_what_a_round_has_used_cannot_be_undone(campaign):
    with campaign.labelling() as desk:
        while (task := desk.next("ann")) is not None:
            desk.answer("ann", task.key, 1)
        campaign.run(wait=False)
        assert desk.undo("ann") is None
    assert campaign.verify().differences == []


def test_a_campaign_with_undone_answers_comes_to_its_end_and_to_the_same_estimate(tmp_path):
    ends = []
    for undoes in (False, True):
        folder = tmp_path / str(undoes)
        folder.mkdir()
        campaign = begun(folder, more='show = ["question"]')
        truth = {f"What is {i}?": h for i, h in zip(ITEMS["id"], ITEMS["human"], strict=True)}
        while True:
            with campaign.labelling() as desk:
                while (task := desk.next("ann")) is not None:
                    right = truth[task.item["question"]]
                    if undoes:
                        desk.answer("ann", task.key, 1 - right)
                        assert desk.undo("ann") is not None
                        task = desk.next("ann")
                    desk.answer("ann", task.key, right)
            if campaign.run(wait=False) != "waiting for answers":
                break
        assert campaign.verify().differences == []
        ends.append((campaign.estimate().to_dict(), campaign.status().spent))
    assert ends[0] == ends[1]


def test_without_show_nothing_that_tells_is_sent(tmp_path):
    with begun(tmp_path).labelling() as desk:
        assert desk.next("ann").item.keys() == {"question", "answer", "left", "right"}


def test_sides_are_mixed_per_person_and_recorded(tmp_path):
    campaign = begun(tmp_path, kind="pairwise", more='show = ["question"]\na = "left"\nb = "right"\nvotes = 2')
    seen = []
    with campaign.labelling() as desk:
        for person in ("ann", "bob"):
            while (task := desk.next(person)) is not None:
                assert task.item.keys() == {"question", "a", "b"}
                seen.append(task.item["a"][0])
                desk.answer(person, task.key, "a" if task.item["a"].startswith("L") else "b")
    assert {*seen} == {"L", "R"}
    table = campaign.export(tmp_path / "answers.csv", answers=True)
    assert {*table.texts("sides").tolist()} == {"ab", "ba"}
    assert {*table.numbers("rating").tolist()} == {1.0}  # the left text, whichever side it was on
    (tmp_path / "c.toml").write_text(TOML.format(kind="pairwise", rating="", more="", store='"c.sqlite"'))
    spec = Campaign.at(tmp_path / "c.toml").spec
    with pytest.raises(InputError, match="answer_a"):
        Labelling(spec, None)


def test_a_split_goes_to_the_named_person_and_nobody_votes_twice(tmp_path):
    campaign = begun(tmp_path, more='votes = 2\nadjudicator = "eve"')
    with campaign.people() as programs:
        assert programs.next("Eve") is None
    with campaign.labelling() as desk:
        assert desk.next("eve") is None
        assert desk.next("Eve") is None
        one, two = desk.next("ann"), desk.next("bob")
        assert one.item == two.item
        assert desk.next("cid").item != one.item  # two have it in hand
        desk.answer("ann", one.key, 1)
        assert desk.next("ann").item != one.item
        before = campaign.status().labels
        desk.answer("bob", two.key, 0)
        assert campaign.status().labels == before
        split = desk.next("eve")
        assert split.item == one.item
        assert desk.answer("eve", split.key, 0) == "new"
        assert desk.next("eve") is None
    assert campaign.status().labels == before + 1
    assert campaign.verify().differences == []


def test_who_never_comes_back_is_not_waited_for_and_after_tries_the_answer_is_missing(tmp_path):
    campaign = begun(tmp_path, more="lease = 60\nattempts = 2")
    with campaign.labelling() as opened:
        clock = Clock()
        desk = Labelling(opened.spec, opened.store, clock)
        first = desk.next("ann")
        assert desk.next("bob").item != first.item
        clock.now += 61
        taken = desk.next("cid")
        assert taken.item == first.item
        assert desk.renew("cid", taken.key) == clock.now + 60
        assert desk.renew("ann", first.key) is None  # others have it by now
        clock.now += 61
        assert desk.next("dan").item != first.item  # two had it
        assert campaign.status().missing >= 1
        assert desk.answer("ann", first.key, 1) == "too late"
    assert campaign.verify().differences == []


def test_one_who_answers_late_is_heard_while_the_question_is_open(tmp_path):
    campaign = begun(tmp_path, more="lease = 60")
    with campaign.labelling() as opened:
        clock = Clock()
        desk = Labelling(opened.spec, opened.store, clock)
        first = desk.next("ann")
        clock.now += 1000
        assert desk.answer("ann", first.key, 1) == "new"


def test_what_was_skipped_comes_last(campaign):
    with campaign.labelling() as desk:
        first = desk.next("ann")
        count = desk.left("ann")
        assert desk.skip("ann", first.key) == "new"
        assert desk.skip("ann", first.key) == "same"
        assert desk.skip("bob", first.key) == "unknown"
        items = []
        while (task := desk.next("ann")) is not None:
            items.append(task.item)
            desk.answer("ann", task.key, None)
        assert len(items) == count == desk.done("ann")
        assert items[-1] == first.item


def test_an_answer_that_is_off_the_scale_is_refused(campaign):
    with campaign.labelling() as desk:
        task = desk.next("ann")
        with pytest.raises(InputError, match="is no binary rating"):
            desk.answer("ann", task.key, 7)


def test_a_campaign_without_people_says_so(tmp_path):
    campaign = begun(tmp_path)
    text = (tmp_path / "c.toml").read_text()
    (tmp_path / "c.toml").write_text(text.replace('kind = "people"', 'kind = "column"\ncolumn = "judge"'))
    spec = Campaign.at(tmp_path / "c.toml").spec
    with pytest.raises(InputError, match="nobody labels"):
        Labelling(spec, None)
    assert campaign.has_begun()


# Pay by the hour


HOURLY = 'show = ["question"]\nper_hour = "36"\nanswer_seconds = 20\nmost_seconds = 50'  # a cent a second


def test_people_who_are_paid_by_the_hour_are_paid_for_their_seconds(tmp_path):
    campaign, clock = begun(tmp_path, more=HOURLY), Clock()
    assert campaign.spec.strong.price == Decimal("0.2")
    assert campaign.spec.strong.max_price == Decimal("0.5")
    with campaign.labelling() as real:
        desk = Labelling(real.spec, real.store, clock)
        paid = []
        for seconds, passed in ((12.0, 30.0), (40.0, 25.0), (1000.0, 2000.0), (None, 100.0)):
            before, task = campaign.status().spent, desk.next("ann")
            clock.now += passed
            assert desk.answer("ann", task.key, 1, seconds=seconds) == "new"
            paid.append(campaign.status().spent - before)
        assert paid == [Decimal(each) for each in ("0.12", "0.25", "0.5", "0.2")]
        assert desk.undo("ann") is not None
        assert campaign.status().spent - before == 0
    assert campaign.verify().differences == []
    tamper(campaign, "UPDATE answers SET seconds = 13 WHERE seconds = 12")
    assert any("its seconds come to" in each for each in campaign.verify().differences)


def test_a_campaign_by_the_hour_spends_no_more_than_its_budget_and_goes_on_with_what_is_left(tmp_path):
    campaign, clock = begun(tmp_path, more=HOURLY), Clock()
    truth = {f"What is {i}?": h for i, h in zip(ITEMS["id"], ITEMS["human"], strict=True)}
    reason = None
    while reason in (None, "waiting for answers"):
        with campaign.labelling() as real:
            desk = Labelling(real.spec, real.store, clock)
            while (task := desk.next("ann")) is not None:
                clock.now += 100.0
                desk.answer("ann", task.key, truth[task.item["question"]], seconds=25.0)
        status = campaign.status()
        assert status.spent + status.reserved <= 9
        reason = campaign.run(wait=False)
    assert campaign.status().labels > 20
    assert campaign.status().spent > 5
    assert campaign.verify().differences == []
    assert Campaign.open(campaign.spec.path).spec == campaign.spec


@pytest.mark.parametrize(
    ("more", "word"),
    [
        ('per_hour = "36"\nmax_price = "5"', "per_hour and max_price are both given"),
        ('per_hour = "0"', "per_hour"),
        ('per_hour = "36"\nmost_seconds = 10', "most_seconds must be at least answer_seconds"),
    ],
)
def test_what_cannot_be_paid_by_the_hour_is_refused(tmp_path, more, word):
    with pytest.raises(InputError, match=word):
        begun(tmp_path, more=more)
