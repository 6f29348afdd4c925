"""A rater that does not answer at once: questions stay open, other clients answer them, and the campaign goes on."""

import json
import subprocess
import sys
import threading

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError
from ratewise.store import audit
from ratewise.store.queue import MISSING
from ratewise.store.store import Store

from ...tomls import rater, toml_of
from ...waiting import no_longer, until
from ..making import judged, tamper

TOML = toml_of(
    rater("judge", price="0.05"),
    rater("crowd", kind="people", more="{more}"),
    top='name = "c"\nseed = 7\nstore = {store}',
    goal='budget = "30"\n{goal}',
)
ENDS = ("the budget is spent", "every item has been looked at")  # by the plan, which may look at the whole pool
ITEMS = judged(150)
TRUTH = dict(zip(ITEMS["id"], ITEMS["human"], strict=True))


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request):
    return "c.sqlite" if request.param == "sqlite" else request.getfixturevalue("database")


def write(folder, *, store="c.sqlite", more="", goal=""):
    rows = zip(ITEMS["id"], ITEMS["judge"], strict=True)
    (folder / "items.csv").write_text("id,judge\n" + "".join(f"{i},{g}\n" for i, g in rows))
    (folder / "c.toml").write_text(TOML.format(store=json.dumps(store), more=more, goal=goal))
    return folder / "c.toml"


def answer_all(campaign, *people):
    """Each person in turn, until nobody gets a question: how many answers there were."""
    count = 0
    with campaign.people() as desk:
        while asked := [(person, q) for person in people if (q := desk.next(person)) is not None]:
            for person, question in asked:
                desk.answer(person, question.key, TRUTH[question.item["id"]])
                count += 1
    return count


def test_a_name_in_capitals_is_the_same_person(tmp_path):
    campaign = Campaign.open(write(tmp_path, more="votes = 2"))
    campaign.run(wait=False)
    with campaign.people() as desk:
        first = desk.next("Ben")
        assert desk.answer("Ben", first.key, 1) == "more answers are needed"
        assert desk.next(" ben").key != first.key
        desk.answer("BEN", first.key, 0)  # another answer of the same person, under the name that is there
        assert desk.next("ann").key == first.key
    with campaign.look() as now:
        said = [(row.annotator, row.value) for row in audit.answer_rows(now.store, 0, now.facts.items)]
    assert said == [("Ben", 0.0)]


def test_runs_and_people_take_turns_until_the_campaign_is_at_its_end(tmp_path, store):
    campaign = Campaign.open(write(tmp_path, store=store))
    reasons = []
    while not reasons or reasons[-1] == "waiting for answers":
        reasons.append(campaign.run(wait=False))
        answered = answer_all(campaign, "ann", "bob")
        assert (answered > 0) == (reasons[-1] == "waiting for answers")
    assert reasons[-1] in ENDS
    assert len(reasons) >= 3  # two rounds or more
    assert campaign.verify().differences == []
    status = campaign.status()
    assert 29 <= status.spent <= 30
    assert (status.reserved, status.pending) == (0, 0)
    assert status.labels > 20


def test_it_comes_to_what_raters_that_answer_at_once_come_to(tmp_path):
    """Who answers and when makes no difference to rates, draws and the estimate."""
    for folder in ("people", "column"):
        (tmp_path / folder).mkdir()
    campaign = Campaign.open(write(tmp_path / "people"))
    while campaign.run(wait=False) == "waiting for answers":
        answer_all(campaign, "ann", "bob", "cid")
    path = write(tmp_path / "column")
    path.write_text(path.read_text().replace('kind = "people"', 'kind = "column"\ncolumn = "human"'))
    rows = zip(*ITEMS.values(), strict=True)
    (tmp_path / "column" / "items.csv").write_text("id,judge,human\n" + "".join(f"{i},{g},{h}\n" for i, g, h in rows))
    other = Campaign.open(path)
    other.run()
    assert campaign.estimate().to_dict() == other.estimate().to_dict()
    assert campaign.status().spent == other.status().spent


def test_open_questions_that_nobody_answers_for_a_while_are_not_damage(tmp_path, store, monkeypatch):
    """More looks than a process of its own would take before it says that the log is damaged."""
    monkeypatch.setattr("ratewise.campaign.engine._IDLE", 3)
    monkeypatch.setattr("ratewise.campaign.engine._POLL", 0.01)
    campaign = Campaign.open(write(tmp_path, store=store))
    found = []
    run = threading.Thread(target=lambda: found.append(campaign.run()))
    run.start()
    until(lambda: begun(tmp_path / "c.toml") and campaign.status().pending > 0)
    assert not no_longer(run.is_alive, seconds=0.3)
    until(lambda: not run.is_alive(), each=lambda: answer_all(campaign, "ann"))  # in the store that the run waits on
    run.join()
    assert found[0] in ENDS
    assert campaign.verify().passed


def begun(path):
    try:
        Campaign.open(path).status()
    except InputError:
        return False
    return True


def test_votes_settle_at_their_median_and_every_answer_is_kept(tmp_path):
    campaign = Campaign.open(write(tmp_path, more="votes = 3"))
    assert campaign.run(wait=False) == "waiting for answers"
    pending = campaign.status().pending
    assert answer_all(campaign, "ann", "bob") == 2 * pending
    assert campaign.status().labels == 0
    with campaign.people() as desk:
        question = desk.next("cid")
        assert desk.answer("cid", question.key, "no") == "settled"
        assert desk.answer("dot", question.key, "yes") == "was settled before"
    assert campaign.status().labels == 1
    assert campaign.verify().passed
    table = campaign.export(tmp_path / "who.csv", answers=True)
    assert table.rows == 2 * pending + 1
    assert list(table.texts("annotator"))[:5] == ["ann", "bob", "cid", "ann", "bob"]
    assert list(table.numbers("rating"))[2] == 0.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("UPDATE answers SET value = 1 - value WHERE position = 0", "is not what the people's answers come to"),
        ("DELETE FROM answers WHERE position = 0 AND annotator = 'ann'", "only 2 people have answered"),
        ("UPDATE answers SET position = 140 WHERE position = 0 AND annotator = 'ann'", "though no round has taken"),
    ],
)
def test_verify_compares_ratings_with_the_answers_they_were_made_of(tmp_path, change, said):
    campaign = Campaign.open(write(tmp_path, more="votes = 3"))
    campaign.run(wait=False)
    answer_all(campaign, "ann", "bob", "cid")
    assert campaign.verify().passed
    tamper(campaign, change)
    assert any(said in difference for difference in campaign.verify().differences)


def test_an_answer_that_is_not_on_the_scale_or_has_no_key_is_refused_and_changes_nothing(tmp_path):
    campaign = Campaign.open(write(tmp_path))
    campaign.run(wait=False)
    with campaign.people() as desk:
        question = desk.next("ann")
        with pytest.raises(InputError, match="7 is no binary rating"):
            desk.answer("ann", question.key, 7)
        with pytest.raises(InputError, match="is no key of a question"):
            desk.answer("ann", "nonsense", 1)
        assert desk.answer("ann", "0:0:1", 1) == "was settled before"  # the judge's
        assert desk.next("ann").key == question.key
    assert campaign.status().labels == 0


# Other processes on the same SQLite file


OTHER = """\
import json, sys
from ratewise.store.queue import Outcome
from ratewise.store.store import Store

store = Store.at("c.sqlite", sys.argv[1], "c")
worker = store.join(planning=False)
claims = store.claim(worker, 1, 5)
print(worker, len(claims), flush=True)
sys.stdin.readline()
truth = json.loads(sys.argv[2])
store.settle([Outcome(c, 10**9, float(truth[c.id])) for c in claims], None)
store.leave(worker)
store.close()
"""


@pytest.mark.parametrize("killed", [False, True])
def test_another_process_claims_and_answers_while_one_plans(tmp_path, killed):
    """Its claims are its own while it lives, and free when it is dead."""
    campaign = Campaign.open(write(tmp_path))
    campaign.run(wait=False)
    pending = campaign.status().pending
    store = Store.at("c.sqlite", str(tmp_path), "c")
    try:
        planner = store.join()
        other = subprocess.Popen(
            [sys.executable, "-c", OTHER, str(tmp_path), json.dumps(TRUTH)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        worker, claimed = map(int, other.stdout.readline().split())
        assert claimed == 5
        assert store.running()
        assert store.leads()
        assert store.dead(planner) == []  # it lives
        assert store.open_elsewhere(planner, []) == 5
        if killed:
            other.kill()
            other.communicate()
            assert store.dead(planner) == [worker]
            store.let_go([worker])
            assert store.open_elsewhere(planner, []) == 0
        else:
            other.communicate("go\n")
            assert other.returncode == 0
            assert store.dead(planner) == []
    finally:
        store.close()
    assert [p.name for p in tmp_path.glob("*.lock")] == ["c.sqlite.lock"]
    assert campaign.status().pending == (pending if killed else pending - 5)
    assert campaign.verify().passed


# The deadline


def test_what_people_have_not_answered_at_the_deadline_stays_open_or_is_given_up(tmp_path):
    path = write(tmp_path)
    campaign = Campaign.open(path)
    campaign.run(wait=False)
    with campaign.people() as desk:
        for person in ("ann", "bob", "cid"):
            question = desk.next(person)
            desk.answer(person, question.key, TRUTH[question.item["id"]])
    pending = campaign.status().pending
    late = write(tmp_path, goal="deadline = 2020-01-01T00:00:00Z")
    campaign = Campaign.open(late)
    assert campaign.run() == "the deadline has passed"  # does not wait for answers
    assert (campaign.status().pending, campaign.status().rounds, campaign.estimate()) == (pending, 0, None)
    campaign = Campaign.open(write(tmp_path, goal='deadline = 2020-01-01T00:00:00Z\nunanswered = "give up"'))
    spent = campaign.status().spent
    assert campaign.run() == "the deadline has passed"
    status = campaign.status()
    assert (status.pending, status.missing, status.labels, status.rounds) == (0, pending, 3, 1)
    assert (status.spent, status.reserved) == (spent, 0)
    assert campaign.estimate().interval is not None
    assert campaign.verify().differences == []
    with campaign.look() as now:
        notes = {r.note for r in audit.rating_rows(now.store, 0, 150) if r.state == MISSING}
    assert notes == {"given up: the deadline has passed"}
