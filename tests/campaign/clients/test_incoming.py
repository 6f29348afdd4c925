"""Labels from other tools: by page and by file mixed, each once, at its own rate; what was not drawn is refused."""

import csv
import json
import shutil

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError

from .test_labelling import ITEMS

SHOW = 'show = ["question", "answer"]'
TRUTH = {f"What is {i}?": y for i, y in zip(ITEMS["id"], ITEMS["human"], strict=True)}


def annotated(tasks, answer=TRUTH.get, *, person=1, form="JSON", name="question"):
    """What Label Studio exports when one person has answered these tasks; None is a task that was skipped."""
    out = []
    for n, task in enumerate(tasks):
        said = answer(task["data"][name])
        word = said if isinstance(said, str) else {1: "Yes", 0: "No"}.get(said)
        if form == "JSON_MIN":
            more = {"id": n, "annotator": person, "annotation_id": 90 + n, "lead_time": 3.5}
            out.append({**task["data"], **more, "rating": word})
            continue
        result = [{"from_name": "rating", "to_name": name, "type": "choices", "value": {"choices": [word]}}]
        one = {"completed_by": person, "lead_time": 3.5, "was_cancelled": word is None, "result": result * bool(word)}
        out.append({"id": n, "data": task["data"], "annotations": [one]})
    return out


def tasks_of(campaign, **keys):
    path = campaign.spec.folder / "tasks.json"
    campaign.export_questions(path, **keys)
    return json.loads(path.read_text())


def received(campaign, document, **keys):
    path = campaign.spec.folder / "labels.json"
    path.write_text(json.dumps(document))
    return campaign.import_answers(path, **keys)


def page_answers(campaign, name="ann", most=None):
    with campaign.labelling() as desk:
        while most != 0 and (task := desk.next(name)) is not None:
            desk.answer(name, task.key, TRUTH[task.item["question"]])
            most = None if most is None else most - 1


def played(campaign, answer):
    """Answer until the campaign is at its end: the estimate."""
    while campaign.run(wait=False) == "waiting for answers":
        answer(campaign)
    return campaign.estimate().value


@pytest.fixture(scope="session")
def by_page_alone(made_once, tmp_path_factory):
    """The estimate where everybody uses the page."""
    folder = tmp_path_factory.mktemp("alone") / "c"
    shutil.copytree(made_once(more=SHOW), folder)
    return played(Campaign.open(folder / "c.toml"), page_answers)


@pytest.mark.parametrize("form", ["JSON", "JSON_MIN", "csv"])
def test_page_and_import_mixed_give_the_estimate_of_the_page_alone(ready, by_page_alone, tmp_path, form):
    def by_both(campaign):
        page_answers(campaign, most=2)
        if form == "csv":
            return filled(campaign)
        done = received(campaign, annotated(tasks_of(campaign), form=form))
        assert done.taken == done.settled > 0
        assert (done.known, done.late, done.left_out, done.still_open) == (0, 0, 0, 0)
        return None

    mixed = ready(more=SHOW)
    assert played(mixed, by_both) == by_page_alone
    assert mixed.verify().differences == []
    said = mixed.export(tmp_path / "said.csv", answers=True)
    tool = "a file" if form == "csv" else "Label Studio 1"
    assert set(said.texts("annotator").tolist()) == {"ann", tool}
    if form != "csv":
        assert 3.5 in said.numbers("seconds", missing="allow").tolist()


def filled(campaign):
    """Write the questions to a CSV file, fill it in as a spreadsheet does, and bring it back."""
    path = campaign.spec.folder / "questions.csv"
    campaign.export_questions(path)
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["rating"] = {1: "yes", 0: "no"}[TRUTH[row["question"]]]
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, fieldnames=list(rows[0]))
        out.writeheader()
        out.writerows(rows)
    assert campaign.import_answers(path).taken == len(rows)


def test_a_file_that_is_read_again_changes_nothing(ready, tmp_path):
    campaign = ready(more=SHOW)
    document = annotated(tasks_of(campaign))
    first = received(campaign, document)
    before = campaign.head()
    again = received(campaign, document)
    assert (again.taken, again.known) == (0, first.taken)
    assert campaign.head() == before
    changed = received(campaign, annotated(tasks := [{"data": one["data"]} for one in document], lambda _: 1))
    zeros = sum(TRUTH[task["data"]["question"]] == 0 for task in tasks)
    assert len(changed.notes) == zeros > 0
    assert "the first answer stays" in changed.notes[0]


def test_what_the_page_has_answered_meanwhile_is_too_late(ready, tmp_path):
    campaign = ready(more=SHOW)
    document = annotated(tasks_of(campaign))
    page_answers(campaign, most=3)
    done = received(campaign, document)
    assert (done.late, done.taken) == (3, len(document) - 3)
    assert campaign.verify().differences == []


def test_questions_on_hold_are_not_handed_out_by_the_page(ready, tmp_path):
    campaign = ready(more=SHOW)
    document = annotated(tasks_of(campaign, hold=24))
    with campaign.labelling() as desk:
        assert desk.next("ann") is None
    with pytest.raises(InputError, match="nobody has in hand"):
        campaign.export_questions(tmp_path / "more.json")
    assert received(campaign, document).taken == len(document)
    assert campaign.verify().differences == []


def test_labels_of_items_that_were_not_drawn_are_refused(ready, tmp_path):
    campaign = ready(more=SHOW)
    asked = {row["data"]["question"] for row in tasks_of(campaign)}
    undrawn = next(i for i in ITEMS["id"] if f"What is {i}?" not in asked)
    drawn = next(i for i in ITEMS["id"] if f"What is {i}?" in asked)
    path = tmp_path / "own.csv"
    path.write_text(f"id,rating\n{drawn},yes\n{undrawn},yes\nzzz,no\n")
    before = campaign.head()
    with pytest.raises(InputError, match=rf"row 2: item '{undrawn}' was not drawn.*would bias.*1 more.*--leave-out"):
        campaign.import_answers(path)
    assert campaign.head() == before
    done = campaign.import_answers(path, leave_out=True, person="ann")
    assert (done.taken, done.left_out) == (1, 2)
    assert "left out: not drawn" in done.summary()


def test_skipped_tasks_are_missing_and_never_zero(ready, tmp_path):
    campaign = ready(more=SHOW)
    tasks = tasks_of(campaign)
    skipped = tasks[0]["data"]["question"]
    document = annotated(tasks, lambda q: None if q == skipped else TRUTH[q])
    document += annotated(tasks[1:2], lambda _: None, person=2)  # somebody else has answered it
    received(campaign, document)
    said = campaign.export(tmp_path / "said.csv", answers=True)
    assert said.texts("note", missing="allow").tolist().count("skipped in Label Studio") == 1
    assert campaign.status().missing == 1
    assert set(said.texts("annotator").tolist()) == {"Label Studio 1"}


def test_several_votes_come_from_several_people_and_none_twice(ready, tmp_path):
    campaign = ready(more=SHOW + "\nvotes = 2")
    tasks = tasks_of(campaign)
    first = received(campaign, annotated(tasks, person={"id": 4, "email": "a@x.org"}))
    assert (first.taken, first.settled) == (len(tasks), 0)
    for spelled in ("a@x.org", "A@X.org"):
        same = received(campaign, annotated(tasks, lambda _: 1, person={"id": 4, "email": spelled}))
        assert (same.taken, same.known) == (0, len(tasks))
    second = received(campaign, annotated(tasks, person=5))
    assert (second.settled, second.still_open) == (len(tasks), 0)
    assert campaign.verify().differences == []


def test_comparisons_come_back_with_their_sides(ready, tmp_path):
    """The annotator always likes R, on whichever side it stands: then b wins every time."""
    campaign = ready(kind="pairwise", more='show = ["question"]\na = "left"\nb = "right"')
    tasks = tasks_of(campaign)
    firsts = {task["data"]["a"][0] for task in tasks}
    assert firsts == {"L", "R"}
    for task in tasks:
        task["data"]["liked"] = "A" if task["data"]["a"].startswith("R") else "B"
    received(campaign, annotated(tasks, lambda liked: liked, name="liked"))
    said = campaign.export(tmp_path / "said.csv", answers=True)
    assert set(said.numbers("rating").tolist()) == {0.0}
    assert set(said.texts("sides").tolist()) == {"ab", "ba"}


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("id,label\nq1,yes\n", "--question"),
        ("name,rating\nq1,yes\n", "nobody knows what was rated"),
        ("id,rating\nq1,\n", "no label yet"),
        ("id,rating\nDRAWN,maybe\n", "row 1.*no binary rating.*Cannot tell"),
    ],
)
def test_files_that_cannot_be_read_are_refused_with_the_reason(ready, tmp_path, text, word):
    campaign = ready(more=SHOW)
    drawn = tasks_of(campaign)[0]["data"]["question"].removeprefix("What is ").removesuffix("?")
    (tmp_path / "own.csv").write_text(text.replace("DRAWN", drawn))
    before = campaign.head()
    with pytest.raises(InputError, match=word):
        campaign.import_answers(tmp_path / "own.csv")
    assert campaign.head() == before


def test_a_question_of_another_name_is_asked_for(ready, tmp_path):
    campaign = ready(more=SHOW)
    document = annotated(tasks_of(campaign)[:1])
    document[0]["annotations"][0]["result"][0]["from_name"] = "verdict"
    with pytest.raises(InputError, match="--question: verdict"):
        received(campaign, document)
    assert received(campaign, document, question="verdict").taken == 1


def test_numbers_as_label_studio_writes_them_into_a_csv_file(ready, tmp_path):
    campaign = ready(kind="score", rating="low = 0\nhigh = 100", more=SHOW)
    keys = [task["data"]["ratewise_key"] for task in tasks_of(campaign)]
    lines = [f'1,2.5,{keys[0]},"[{{""number"":62.5}}]",', f"1,2.5,{keys[1]},,Cannot tell", f"1,2.5,{keys[2]},,"]
    head = "annotation_id,lead_time,ratewise_key,rating,cannot_tell"
    (tmp_path / "own.csv").write_text("\n".join([head, *lines]) + "\n")
    assert campaign.import_answers(tmp_path / "own.csv").taken == 2
    said = campaign.export(tmp_path / "said.csv", answers=True)
    assert sorted(said.texts("rating", missing="allow").tolist()) == ["", "62.5"]
    assert set(said.numbers("seconds").tolist()) == {2.5}
