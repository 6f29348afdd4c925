"""Questions as files for other tools: only what is open and drawn, blind to the byte."""

import json

import pytest

from ratewise.campaign.clients.files import key_of, write_sheet
from ratewise.errors import InputError

from .test_labelling import ITEMS

SHOW = 'show = ["question", "answer"]'


@pytest.mark.parametrize("ending", ["json", "csv", "jsonl"])
def test_no_byte_of_the_files_tells_what_to_expect(ready, tmp_path, ending):
    campaign = ready()  # without `show`: everything that may be seen
    sent = campaign.export_questions(tmp_path / f"out.{ending}")
    text = "".join(path.read_text() for path in tmp_path.glob("out.*"))
    assert sent.questions == campaign.status().pending
    assert len(sent.files) == (2 if ending == "json" else 1)
    for word in ("gpt-secret", "judge", '"id"', "id,", "prediction", "0.05", "seed", *map(str, ITEMS["judge"][:9])):
        assert word not in text, word
    assert "What is q" in text


def test_tasks_hold_a_key_and_what_is_shown_in_an_order_of_their_own(ready, tmp_path):
    campaign = ready(more=SHOW)
    campaign.export_questions(tmp_path / "out.json")
    tasks = json.loads((tmp_path / "out.json").read_text())
    assert all(task.keys() == {"data"} for task in tasks)
    assert all(task["data"].keys() == {"ratewise_key", "question", "answer"} for task in tasks)
    keys = [task["data"]["ratewise_key"] for task in tasks]
    assert keys == sorted(keys)
    with campaign.labelling() as desk:
        first = [claim.content for claim in desk._desk.open(1)]
    assert [json.loads(one)["question"] for one in first] != [task["data"]["question"] for task in tasks]
    assert key_of("one campaign", 1, "q1") != key_of("another", 1, "q1")


def test_what_somebody_has_in_hand_stays_here(ready, tmp_path):
    campaign = ready(more=SHOW)
    with campaign.labelling() as desk:
        mine = desk.next("ann").item["question"]
    sent = campaign.export_questions(tmp_path / "out.json")
    assert sent.questions == campaign.status().pending - 1
    assert mine not in (tmp_path / "out.json").read_text()


def test_cells_that_a_spreadsheet_would_run_are_text(tmp_path):
    write_sheet([("k", {"question": "=HYPERLINK(1)"})], str(tmp_path / "out.csv"))
    assert "'=HYPERLINK" in (tmp_path / "out.csv").read_text()


def test_refusals(ready, tmp_path):
    campaign = ready(more=SHOW)
    for hold in (-1, 1e9):
        with pytest.raises(InputError, match="--hold"):
            campaign.export_questions(tmp_path / "a.json", hold=hold)
    with pytest.raises(InputError, match="there are: crowd"):
        campaign.export_questions(tmp_path / "a.json", rater="nobody")
    with pytest.raises(InputError, match="the table of the campaign"):
        campaign.export_questions(tmp_path / "items.jsonl")
