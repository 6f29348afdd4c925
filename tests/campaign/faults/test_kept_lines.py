"""The file of unsaved answers can be edited: each line is checked like an answer, bad ones are set aside."""

import json

import pytest

from ratewise.store.money import to_units

from .world import kept, same

BAD = {
    "a payment below nothing": {"paid": -1000 * 10**9},
    "a payment beyond all prices": {"paid": 10**30},
    "half a payment": {"paid": 0.5},
    "a rating off the scale": {"value": 7},
    "a rating that is a word": {"value": "1"},
    "a rating that is no number": {"value": float("nan")},
    "another campaign's": {"campaign": "0123456789abcdef"},
    "nobody's": {"campaign": None},
    "failed and answered": {"failed": True, "value": 1},
    "no question": {"claim": None},
    "a question that is text": {"claim": {"position": "0", "step": 1, "attempt": 1, "id": "i0"}},
    "an item that is not there": {"claim": {"position": 10**6, "step": 1, "attempt": 1, "id": "i0", "prices": None}},
    "a rater that is not there": {"claim": {"position": 0, "step": 9, "attempt": 1, "id": "i0", "prices": None}},
    "an item at another's place": {"id": "somebody"},
}


def changed(line, change):
    row = json.loads(line)
    if "id" in change:
        return json.dumps({**row, "claim": {**row["claim"], **change}}).encode()
    return json.dumps({**row, **change}).encode()


@pytest.mark.parametrize("what", BAD)
def test_a_bad_line_is_set_aside_and_told(world, calm, what):
    first, *others = kept(world, 10)
    bad = changed(first, BAD[what])
    world.unsaved.write_bytes(b"\n".join([bad, *others]))
    again = [world.key(json.loads(first)["claim"]["id"])]
    assert world.run() == "every item has been looked at"
    assert (world.folder / "c.set-aside.jsonl").read_bytes() == bad + b"\n"
    (note,) = world.notes()
    assert "c.unsaved.jsonl: a line was not taken in" in note
    assert "c.set-aside.jsonl" in note
    status = world.check(asked_twice=again, answered_twice=again)
    assert status.spent >= 0
    assert all(0 <= amount <= to_units(1) for amount in world.ledger().values())
    assert same(world, calm)


def test_lines_that_are_no_json_are_told_too(world, calm):
    lines = kept(world, 10)
    world.unsaved.write_bytes(b"\n".join([*lines, b'["a list"]', b"\xff\xfe", b"[" * 100_000]))
    assert world.run() == "every item has been looked at"
    (note,) = world.notes()
    assert "and 2 more" in note
    world.check()
    assert same(world, calm)
