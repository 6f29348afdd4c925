"""Sheets in Python: the same as `draw --sheet` and `merge`, on tables in memory."""

import numpy as np
import pytest

import ratewise as rw
from ratewise.errors import InputError, TableError


def drawn(**more):
    return {
        "id": ["a", "b", "c", "d"], "judge": [0.1, 0.9, 0.4, 0.6], "text": ["A", "B", "C", "D"],
        "rate": [0.5] * 4, "selected": [True, False, True, True], **more,
    }  # fmt: skip


def test_a_sheet_shows_what_is_drawn_and_not_rated_yet():
    sheet = rw.blind_sheet(drawn(human=[1.0, np.nan, np.nan, np.nan]), seed=1, fill=["human"], hide=["judge"])
    assert sheet.columns == ("id", "text", "human")
    assert sorted(sheet.texts("id")) == ["c", "d"]


def test_labels_that_were_picked_by_hand_are_not_shown():
    sheet = rw.blind_sheet(drawn(human_by_hand=["", "no", "", "no"]), seed=1, fill=["human"])
    assert "human_by_hand" not in sheet.columns


def test_the_order_is_that_of_the_seed():
    many = {"id": [f"q{i}" for i in range(50)], "rate": [1.0] * 50, "selected": [True] * 50}
    first, again, other = (rw.blind_sheet(many, seed=seed).texts("id").tolist() for seed in (1, 1, 2))
    assert first == again != other
    assert sorted(first) == sorted(other)


def test_answers_come_back_beside_those_that_were_there():
    table = drawn(human=[1.0, np.nan, np.nan, np.nan])
    merged = rw.merge_sheet(table, {"id": ["d", "c"], "human": ["0", ""]})
    np.testing.assert_array_equal(merged.table.numbers("human", missing="allow"), [1, np.nan, np.nan, 0])
    assert (merged.answers, merged.waiting, merged.columns) == (1, 1, ("human",))


def test_two_columns_are_filled_in_at_once():
    sheet = rw.blind_sheet(drawn(), seed=1, fill=["first", "second"], hide=["judge"])
    filled = {"id": sheet.texts("id"), "first": [1, 0, 1], "second": [0, 0, None]}
    merged = rw.merge_sheet(drawn(), filled, fill=["first", "second"])
    assert (merged.answers, merged.waiting) == (5, 1)


def test_a_table_that_was_not_drawn_and_one_that_is_all_rated_have_no_sheet():
    with pytest.raises(TableError, match="draw first"):
        rw.blind_sheet({"id": ["a"]}, seed=1)
    with pytest.raises(InputError, match="nothing to ask"):
        rw.blind_sheet(drawn(human=[1, 1, 1, 1]), seed=1, fill=["human"])


def test_the_column_must_be_named_where_the_sheet_has_several_of_its_own():
    with pytest.raises(InputError, match="comment, human to bring back; name one"):
        rw.merge_sheet(drawn(), {"id": ["a"], "comment": ["hm"], "human": [1]})


def test_nothing_in_a_sheet_runs_in_a_spreadsheet_and_nothing_is_lost():
    ids, texts = ["=a", "'=a", "-7", "@d"], ["=HYPERLINK(1)", "+1", "-x", "fine"]
    table = {**drawn(), "id": ids, "text": texts, "selected": [True] * 4}
    sheet = rw.blind_sheet(table, seed=1, fill=["human"], hide=["judge"])
    cells = [*sheet.texts("id"), *sheet.texts("text")]
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in cells)
    answers = {cell: str(i) for i, cell in enumerate(sheet.texts("id"))}
    merged = rw.merge_sheet(table, {"id": list(answers), "text": sheet.texts("text"), "human": list(answers.values())})
    said = dict(zip(merged.table.texts("id"), merged.table.numbers("human"), strict=True))
    assert said == {cell[1:]: float(x) for cell, x in answers.items()}
    assert merged.table.texts("text").tolist() == texts


def test_a_spreadsheet_that_took_the_apostrophes_away_and_a_table_that_has_them_fit_too():
    table = {**drawn(), "id": ["=a", "b", "c", "d"]}
    assert rw.merge_sheet(table, {"id": ["=a"], "human": [1]}).answers == 1
    safe = {**drawn(), "id": ["'=a", "b", "c", "d"]}  # as `draw --safe-cells` writes it
    assert rw.merge_sheet(safe, {"id": ["'=a"], "human": [1]}).answers == 1


def test_words_come_back_as_they_were_written():
    table = drawn(human=["Good", "", "", ""])
    filled = {"id": ["c", "d"], "human": ["bad", "good"]}
    merged = rw.merge_sheet(table, filled, positive="good")
    assert merged.table.texts("human", missing="allow").tolist() == ["Good", "", "bad", "good"]
    assert (merged.answers, merged.waiting) == (2, 0)
    assert merged.notes == ("words as ratings: 'good' counts as 1 and 'bad' as 0",)
    known = rw.merge_sheet(drawn(), {"id": ["c", "d"], "human": ["yes", "No"]})
    assert known.table.texts("human", missing="allow").tolist() == ["", "", "yes", "No"]
    with pytest.raises(InputError, match=r"'bad' is no number; write one.* say what the words mean with positive or"):
        rw.merge_sheet(drawn(), filled)
    with pytest.raises(InputError, match="'good' is not on the scale; write one of bad, ok"):
        rw.merge_sheet(drawn(), filled, scale=["bad", "ok"])
    with pytest.raises(InputError, match="says bad, and table has Good already"):
        rw.merge_sheet(table, {"id": ["a"], "human": ["bad"]}, positive="good")
