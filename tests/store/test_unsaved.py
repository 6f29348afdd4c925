"""Answers in hand when the store cannot be written: kept in a file, and taken in later."""

import pytest

from ratewise.store.queue import Outcome
from ratewise.store.unsaved import Unsaved


def test_answers_are_kept_and_taken_in_once(asked, tmp_path):
    unsaved = Unsaved(tmp_path / "q.unsaved.jsonl")
    unsaved.reserve(5)
    room = unsaved.path.stat().st_size
    claims = asked.claim(1, 0, 2)
    assert unsaved.keep([Outcome(c, 3, value=1.0) for c in claims])
    assert unsaved.path.stat().st_size == room  # written over the room that was set aside
    read = {c.position: Outcome(c, 3, value=1.0) for c in claims}
    assert unsaved.restore(asked, 100, lambda row: read[row["claim"]["position"]]) == []
    assert asked.totals() == (14, 6)
    assert not list(tmp_path.glob("*.jsonl"))
    assert unsaved.restore(asked, 100, lambda row: pytest.fail("there is nothing left")) == []


def test_lines_that_cannot_be_read_are_set_aside(asked, tmp_path):
    unsaved = Unsaved(tmp_path / "q.unsaved.jsonl", "abc")
    assert unsaved.keep([Outcome(asked.claim(1, 0, 1)[0], 3, value=1.0)])

    def refuse(row):
        assert row["campaign"] == "abc"
        raise ValueError("no")

    assert unsaved.restore(asked, 100, refuse) == ["no"]
    assert (tmp_path / "q.set-aside.jsonl").read_bytes().count(b"\n") == 1
    assert asked.totals()[1] == 0


def test_room_that_was_not_needed_is_given_back_and_answers_are_not(asked, tmp_path):
    unsaved = Unsaved(tmp_path / "q.unsaved.jsonl")
    unsaved.reserve(1)
    unsaved.release()
    assert not unsaved.path.exists()
    assert unsaved.keep([Outcome(asked.claim(1, 0, 1)[0], 3, value=1.0)])
    unsaved.release()
    assert unsaved.path.exists()


def test_a_folder_that_is_gone_is_told(asked, tmp_path):
    outcome = Outcome(asked.claim(1, 0, 1)[0], 3)
    assert not Unsaved(tmp_path / "gone" / "q.unsaved.jsonl").keep([outcome])
