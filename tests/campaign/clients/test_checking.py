"""Training, hidden checks and repeats: they look like all questions, are paid, and never reach the estimate."""

import json
import re
import shutil
from itertools import pairwise

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.clients.people import agrees, known_items
from ratewise.campaign.clients.respondents import Respondent
from ratewise.campaign.spec.read import read_spec
from ratewise.errors import RatewiseError
from ratewise.raters.people import PeopleSettings
from ratewise.raters.scale import RatingScale
from ratewise.store import audit, schema

from ..making import forge, tamper
from .test_labelling import ITEMS, TOML, begun

SHOW = 'show = ["question", "answer"]\n'
TRUTH = {f"What is {i}?": y for i, y in zip(ITEMS["id"], ITEMS["human"], strict=True)}
KNOWN = [
    {"question": f"What is k{i}?", "answer": "It is.", "expected": ["no", "yes"][i % 2], "why": f"*because* {i}"}
    for i in range(12)
]


def made(folder, more, *, known=KNOWN, **keys):
    """A campaign with known items that waits for its first answers; its id says where checks come, so it is fixed."""
    (folder / "known.jsonl").write_text("".join(json.dumps(row) + "\n" for row in known))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "new_campaign_id", lambda: "0123456789abcdef")
        return begun(folder, more='known = "known.jsonl"\n' + more, **keys)


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """The folder of a campaign with checks and repeats; to be copied."""
    folder = tmp_path_factory.mktemp("checked")
    made(folder, SHOW + "checks = 0.15\nrepeats = 0.15\n")
    return folder


@pytest.fixture
def campaign(checked, tmp_path):
    shutil.copytree(checked, tmp_path, dirs_exist_ok=True)
    return Campaign.open(tmp_path / "c.toml")


def right(question):
    """What an attentive person says to a question, known or not."""
    if question in TRUTH:
        return TRUTH[question]
    return int(question.removeprefix("What is k").removesuffix("?")) % 2


def play(campaign, person="ann", answer=right, most=None):
    """One person answers whatever comes: the tasks, in order."""
    out = []
    with campaign.labelling() as desk:
        while (most is None or len(out) < most) and (task := desk.next(person)) is not None:
            assert desk.answer(person, task.key, answer(task.item["question"]), seconds=2.0) == "new"
            out.append(task)
    return out


def to_the_end(campaign, **keys):
    tasks = []
    while campaign.run(wait=False) == "waiting for answers":
        tasks += play(campaign, **keys)
    return tasks


@pytest.fixture(scope="module")
def played(checked, tmp_path_factory):
    """The whole campaign, and what one person was asked in it."""
    folder = tmp_path_factory.mktemp("played")
    shutil.copytree(checked, folder, dirs_exist_ok=True)
    whole = Campaign.open(folder / "c.toml")
    return whole, to_the_end(whole)


def test_checks_and_repeats_come_and_are_no_votes(played, tmp_path):
    campaign, tasks = played
    rows = [row for row in audit_of(campaign) if row.state == "answered"]
    kinds = {what: [row for row in rows if row.what == what] for what in ("check", "repeat")}
    assert len(kinds["check"]) > 1
    assert len(kinds["repeat"]) > 1
    assert all(row.agrees for row in rows)
    status = campaign.status()
    assert len(tasks) == status.labels + len(rows)
    said = campaign.export(tmp_path / "said.csv", answers=True)
    assert said.rows == status.labels
    asked = [task.item["question"] for task in tasks]
    assert len(set(asked)) == len(asked) - len(kinds["repeat"])
    assert campaign.verify().differences == []


def audit_of(campaign):
    with campaign.look() as now:
        return list(audit.hidden_rows(now.store))


def test_they_are_paid_from_money_that_no_round_counts_on(played, tmp_path):
    campaign, _ = played
    hidden = [row for row in audit_of(campaign) if row.state == "answered"]
    status = campaign.status()
    assert status.spent_by["crowd"] == status.labels + len(hidden)
    assert status.spent <= status.budget
    assert len(hidden) <= 0.3 * 30
    ledger = campaign.export(tmp_path / "ledger.csv", ledger=True)
    assert ledger.texts("kind").tolist().count("check") == len(hidden)


def test_the_estimate_is_that_of_the_same_answers_without_them(played):
    """The same draws with the money that is left when checks are set aside give the same estimate, to the last bit."""
    campaign, _ = played
    with campaign.look() as now:
        seen = now.state.history.seen
        assert now.reader.terms.aside == int(0.3 * 30 * 10**9)
        strong = {row.position: row.value for row in audit.answer_rows(now.store, 0, 40)}
        known = {i: value for i, value in enumerate(seen.strong.tolist()) if value == value}  # noqa: PLR0124
        assert known == {position: value for position, value in strong.items() if position < seen.strong.size}


def test_no_byte_tells_a_check_from_a_question(campaign):
    """The task, its key, its lease, and how many are left: nothing differs but the texts."""
    with campaign.labelling() as desk:
        left, shapes = [], set()
        while (task := desk.next("ann")) is not None and len(left) < 12:
            assert desk.renew("ann", task.key) > 0
            told = task.to_dict()
            shapes.add((tuple(told), tuple(told["item"]), len(told["key"]), task.lease, task.compares))
            left.append(desk.left("ann"))
            desk.answer("ann", task.key, 1)
            assert desk.done("ann") == len(left)
    assert any(row.what == "check" for row in audit_of(campaign))
    assert len(shapes) == 1
    assert [a - b for a, b in pairwise(left)] == [1] * (len(left) - 1)


def test_the_same_answer_counts_once_and_undo_takes_the_payment_back(campaign):
    with campaign.labelling() as desk:
        while True:
            task = desk.next("ann")
            spent = desk.store.totals()[1]
            assert desk.answer("ann", task.key, 1, comment="so") == "new"
            if "What is k" in task.item["question"]:
                break
        assert desk.answer("ann", task.key, 1, comment="so") == "same"
        assert desk.answer("ann", task.key, 0) == "another"
        assert desk.answer("eve", task.key, 0) == "unknown"
        assert desk.store.totals()[1] == spent + 10**9
        undone = desk.undo("ann")
        key = undone.key
        assert (undone.value, undone.note or "") == (1.0, "so")
        assert desk.store.totals()[1] == spent
        again = desk.next("ann")
        assert (again.key, again.item) == (key, task.item)
        assert desk.answer("ann", task.key, 1) == "too late"
        assert desk.skip("ann", key) == "new"
        assert desk.next("ann").item != task.item
    assert campaign.verify().differences == []


def test_the_books_of_checks_balance_or_verify_says_so(played, tmp_path):
    """Also where the whole record was written anew."""
    shutil.copytree(played[0].spec.folder, tmp_path, dirs_exist_ok=True)
    campaign = Campaign.open(tmp_path / "c.toml")
    tamper(campaign, "UPDATE handed SET paid = 2 * paid WHERE number = (SELECT max(number) FROM handed WHERE paid > 0)")
    forge(campaign)
    assert any("hidden checks and repeats" in line for line in campaign.verify().differences)


def test_training_comes_first_tells_the_answer_and_has_a_pass_mark(campaign):
    with open(campaign.spec.path, "a") as toml:
        toml.write("training = 4\npass_mark = 0.75\n")
    campaign = Campaign.open(campaign.spec.path)
    with campaign.labelling() as desk:
        for rating, attempt in ((0, 1), (None, 2)):
            for n in range(4):
                task = desk.next("ann")
                assert task.training == (n + 1, 4)
                given = right(task.item["question"]) if rating is None else rating
                assert desk.answer("ann", task.key, given) == "new"
                told = desk.feedback("ann", task.key)
                assert (told.right, told.expected, told.why) == (
                    given == n % 2, ["No", "Yes"][n % 2], f"*because* {n}"
                )  # fmt: skip
                assert desk.undo("ann") is None
            assert told.passed is (attempt == 2)
            assert told.share == (0.5 if attempt == 1 else 1.0)
        assert desk.next("ann").training is None
        assert desk.done("ann") == 0
        assert "check" not in desk.store.ledger_sums()  # training is not paid
        assert desk.next("bob").training == (1, 4)


def test_comparisons_have_sides_of_their_own(tmp_path):
    known = [{"question": f"k{i}", "left": "L", "right": "R", "expected": "b"} for i in range(9)]
    more = 'checks = 0.3\nshow = ["question"]\na = "left"\nb = "right"'
    campaign = made(tmp_path, more, known=known, kind="pairwise")
    with campaign.labelling() as desk:
        for _ in range(14):
            task = desk.next("ann")
            liked = "a" if task.item["a"].startswith("R") else "b"
            desk.answer("ann", task.key, liked)
    found = [row for row in audit_of(campaign) if row.state == "answered"]
    assert len(found) > 1
    assert all(row.agrees and row.value == 0.0 for row in found)


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"training": 2, "known": "none.csv"}, "no file beside"),
        ({"checks": 0.1}, 'known = "known.jsonl"'),
        ({"known": "known.jsonl", "show": ()}, "say what people see"),
        ({"training": 12, "checks": 0.1, "known": "known.jsonl"}, "at least 13"),
        ({"training": 1, "known": "known.jsonl", "show": ("question", "picture")}, "no column 'picture'"),
        ({"training": 1, "known": "wrong.jsonl"}, "row 1, column expected.*maybe"),
        ({"training": 1, "known": "empty.jsonl"}, "is empty"),
    ],
)
def test_what_is_wrong_with_known_items_is_said(tmp_path, keys, word):
    for name, rows in (("known", KNOWN), ("wrong", [{**KNOWN[0], "expected": "maybe"}]), ("empty", [])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "c.toml").write_text(TOML.format(kind="binary", rating="", more=SHOW, store='"c.sqlite"'))
    settings = PeopleSettings(name="r", kind="people", **{"show": ("question", "answer"), **keys})
    said = settings.check(str(tmp_path))
    if not said:
        with pytest.raises(RatewiseError) as refused:
            known_items(Respondent(read_spec(tmp_path / "c.toml"), 1), settings, {})
        said = str(refused.value)
    assert re.search(word, said)


def test_cells_of_known_items_are_of_the_kind_that_items_have(tmp_path):
    (tmp_path / "known.csv").write_text("question,answer,expected\n7,8,yes\n")
    (tmp_path / "c.toml").write_text(TOML.format(kind="binary", rating="", more=SHOW, store='"c.sqlite"'))
    settings = PeopleSettings(name="r", kind="people", show=("question", "answer"), known="known.csv", training=1)
    [found] = known_items(Respondent(read_spec(tmp_path / "c.toml"), 1), settings, {"question": 3, "answer": "text"})
    assert (found.row, found.expected) == ({"question": 7, "answer": "8"}, 1.0)


@pytest.mark.parametrize(
    ("scale", "value", "expected", "same"),
    [
        (RatingScale("binary"), 1.0, 1.0, True),
        (RatingScale("binary"), None, 1.0, False),
        (RatingScale("likert", 1, 5), 4.0, 5.0, False),
        (RatingScale("score", 0, 100), 55.0, 60.0, True),
        (RatingScale("score", 0, 100), 40.0, 60.0, False),
    ],
)
def test_what_is_right(scale, value, expected, same):
    assert agrees(scale, value, expected) is same
