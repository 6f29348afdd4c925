"""A rater of kind "sheet": runs write questions to files and stop, and go on with what was filled in."""

import csv
import warnings
from decimal import Decimal

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.clients import sheets as client
from ratewise.cli.main import main
from ratewise.errors import InputError, RatewiseWarning

from ...tomls import rater, toml_of
from ..making import judged, ran

TOML = toml_of(rater("judge", price="0.05"), rater("human", kind="sheet", more="{more}"), top='name = "c"\nseed = 7')
ITEMS = judged(150)
TRUTH = dict(zip(ITEMS["id"], ITEMS["human"], strict=True))


@pytest.fixture
def campaign(tmp_path):
    return written(tmp_path)


def written(folder, more=""):
    rows = zip(ITEMS["id"], ITEMS["judge"], strict=True)
    (folder / "items.csv").write_text("id,judge,text\n" + "".join(f"{i},{g},what {i} says\n" for i, g in rows))
    (folder / "c.toml").write_text(TOML.format(more=more))
    return Campaign.open(folder / "c.toml")


def rows_of(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def fill(path, answer=TRUTH.get, most=None):
    """Answer the rows that have no answer yet, at most so many of them."""
    rows = rows_of(path)
    for row in [row for row in rows if not row["human"]][:most]:
        row["human"] = answer(row["id"])
    save(path, rows)


def save(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, fieldnames=list(rows[0]))
        out.writeheader()
        out.writerows(rows)


def play(campaign, most=20):
    """Fill in every sheet until the campaign is at its end: the reasons of all runs."""
    reasons = []
    for _ in range(most):
        reasons.append(str(campaign.run()))
        if not reasons[-1].startswith("waiting"):
            return reasons
        for path in campaign.spec.folder.glob("questions-*.csv"):
            fill(path)
    raise AssertionError(reasons)


@pytest.mark.parametrize("kind", ["sheet", "people"])
def test_people_see_no_other_rating_and_no_system(tmp_path, kind):
    more = {"judge_helpful": 1, "rater2": 0, "system": "v2", "length": 7, "topic": "law"}
    lines = [f"{i},{g},what {i} says,{','.join(map(str, more.values()))}\n" for i, g in
             zip(ITEMS["id"], ITEMS["judge"], strict=True)]  # fmt: skip
    (tmp_path / "items.csv").write_text(f"id,judge,text,{','.join(more)}\n" + "".join(lines))
    asked = rater("human", kind=kind)
    features = 'features = ["judge_helpful", "length"]'
    toml = toml_of(rater("judge", price="0.05"), asked, top='name = "c"\nseed = 7', items=features)
    (tmp_path / "c.toml").write_text(toml)
    campaign = Campaign.open(tmp_path / "c.toml")
    campaign.run(wait=False)
    if kind == "people":
        campaign.export_questions(tmp_path / "questions-1.csv")
    sheet = rows_of(tmp_path / "questions-1.csv")
    assert [name for name in sheet[0] if name in {"text", *more}] == ["text", "length", "topic"]


def test_a_run_writes_the_questions_blind_and_stops(campaign, tmp_path):
    reason = str(campaign.run())
    sheet = rows_of(tmp_path / "questions-1.csv")
    assert reason == f"waiting for {len(sheet)} answers in questions-1.csv"
    assert list(sheet[0]) == ["id", "text", "human"]
    assert {row["human"] for row in sheet} == {""}
    with campaign.look() as now:
        order = [claim.id for claim in client.Desk(now.store).open(1)]
    assert [row["id"] for row in sheet] != order
    assert sorted(row["id"] for row in sheet) == sorted(order)


def test_sheets_take_turns_with_runs_and_end_where_people_who_are_called_end(campaign, tmp_path):
    reasons = play(campaign)
    assert len(reasons) >= 3
    assert reasons[1].endswith(" in questions-2.csv")
    called = ran(tmp_path / "called", ITEMS, goal='budget = "30"', raters=(("judge", "0.05"), ("human", "1")))
    assert campaign.status().spent == called.status().spent
    assert campaign.estimate().value == called.estimate().value
    assert campaign.verify().differences == []


def test_a_sheet_that_is_partly_filled_in_gives_what_it_has_and_the_rest_is_waited_for(campaign, tmp_path):
    campaign.run()
    path = tmp_path / "questions-1.csv"
    asked = len(rows_of(path))
    fill(path, most=5)
    assert campaign.run() == f"waiting for {asked - 5} answers in questions-1.csv"
    assert campaign.status().labels == 5
    before = campaign.status().spent
    assert campaign.run() == f"waiting for {asked - 5} answers in questions-1.csv"
    assert campaign.status().spent == before  # nothing is paid twice
    assert len(list(tmp_path.glob("questions-*"))) == 1
    play(campaign)
    assert campaign.verify().differences == []
    assert campaign.status().spent <= Decimal(30)


def test_one_who_cannot_tell_says_so(campaign, tmp_path):
    campaign.run()
    fill(tmp_path / "questions-1.csv", answer=lambda _: "cannot tell", most=1)
    campaign.run()
    assert (campaign.status().labels, campaign.status().missing) == (0, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: rows[2].update(human="7"), "questions-1.csv, row 3 (id "),
        (lambda rows: rows[2].update(id="nobody"), "this item was not asked for there"),
        (lambda rows: rows[2].update(id=rows[0]["id"]), "is in row 1 already"),
    ],
)
def test_a_sheet_that_does_not_fit_is_refused_before_any_answer_is_taken(campaign, tmp_path, change, message):
    campaign.run()
    path = tmp_path / "questions-1.csv"
    fill(path)
    rows = rows_of(path)
    change(rows)
    save(path, rows)
    with pytest.raises(InputError) as refused:
        campaign.run()
    assert message in str(refused.value)
    assert campaign.status().labels == 0
    good = [{**row, "id": row["id"], "human": ""} for row in rows]
    assert len(good) == len(rows_of(path))


def test_an_answer_that_is_changed_after_it_was_taken_stays_and_is_told(campaign, tmp_path):
    campaign.run()
    path = tmp_path / "questions-1.csv"
    fill(path, answer=lambda _: 1, most=3)
    campaign.run()
    rows = [{**row, "human": "0" if row["human"] else ""} for row in rows_of(path)]
    save(path, rows)
    with pytest.warns(RatewiseWarning, match="was changed after it was taken; 1 stays"):
        campaign.run()
    assert campaign.status().labels == 3


def test_a_sheet_that_is_lost_is_written_again(campaign, tmp_path):
    campaign.run()
    path = tmp_path / "questions-1.csv"
    fill(path, most=4)
    campaign.run()
    asked = {row["id"] for row in rows_of(path) if not row["human"]}
    path.unlink()
    assert campaign.run() == f"waiting for {len(asked)} answers in questions-1.csv"
    assert {row["id"] for row in rows_of(path)} == asked


def test_a_run_that_is_killed_at_any_step_loses_nothing_and_pays_nothing_twice(tmp_path, monkeypatch):
    """Every write to disk or log is a place where a run may end: the next run goes on as if it had not."""
    (tmp_path / "whole").mkdir()
    whole = written(tmp_path / "whole")
    play(whole)
    for place in range(0, 60, 7):
        folder = tmp_path / str(place)
        folder.mkdir()
        campaign, left = written(folder), [place]

        def dying(function, left=left):
            def call(*arguments, **options):
                left[0] -= 1
                if left[0] == 0:
                    raise KeyboardInterrupt
                found = function(*arguments, **options)
                left[0] -= 1
                if left[0] == 0:
                    raise KeyboardInterrupt
                return found

            return call

        with monkeypatch.context() as patch:
            patch.setattr(client, "write_table", dying(client.write_table))
            patch.setattr(client.Store, "set_meta", dying(client.Store.set_meta))
            patch.setattr(client.Desk, "answer", dying(client.Desk.answer))
            died = False
            try:
                play(campaign)
            except KeyboardInterrupt:
                died = True
        assert died == (place > 0)
        play(campaign)
        assert campaign.status().spent == whole.status().spent
        assert campaign.estimate().value == whole.estimate().value
        assert campaign.verify().differences == []


def test_a_question_that_begins_like_a_formula_does_not_run_and_its_answer_finds_it(tmp_path):
    rows = zip(ITEMS["id"], ITEMS["judge"], strict=True)
    (tmp_path / "items.csv").write_text("id,judge,text\n" + "".join(f"={i},{g},=1+1\n" for i, g in rows))
    (tmp_path / "c.toml").write_text(TOML.format(more=""))
    campaign = Campaign.open(tmp_path / "c.toml")
    campaign.run()
    sheet = rows_of(tmp_path / "questions-1.csv")
    assert {row["text"] for row in sheet} == {"'=1+1"}
    assert all(row["id"].startswith("'=") for row in sheet)
    fill(tmp_path / "questions-1.csv", answer=lambda item: TRUTH[item.removeprefix("'=")])
    campaign.run()
    assert campaign.status().labels == len(sheet)


def test_files_of_others_are_not_written_over(campaign, tmp_path):
    (tmp_path / "questions-1.csv").write_text("mine\n")
    assert str(campaign.run()).endswith(" in questions-2.csv")
    assert (tmp_path / "questions-1.csv").read_text() == "mine\n"


def test_the_toml_says_what_the_sheet_shows_and_how_it_is_called(tmp_path):
    campaign = written(tmp_path, more='show = ["text", "judge"]\nsheets = "to-label"')
    assert str(campaign.run()).endswith(" in to-label-1.csv")
    assert list(rows_of(tmp_path / "to-label-1.csv")[0]) == ["id", "text", "judge", "human"]


def test_sheets_give_no_warnings_where_all_is_well(campaign):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        play(campaign)
    assert told == []


def test_the_command_ends_with_0_and_says_what_it_waits_for(campaign, tmp_path, capsys):
    with pytest.raises(SystemExit) as left:
        main(["run", str(campaign.spec.path)])
    asked = len(rows_of(tmp_path / "questions-1.csv"))
    assert left.value.code in (0, None)
    said = f"waiting for {asked} answers in questions-1.csv; fill in what you can, then `ratewise run` goes on"
    assert said in capsys.readouterr().out
