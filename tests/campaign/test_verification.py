import json

import pytest

from ratewise.campaign.verify import Verification


def test_nothing_differs_until_something_does():
    found = Verification(items=1200, rounds=2)
    assert found.passed
    assert str(found).startswith("1,200 items, 2 rounds")
    assert str(found).endswith("nothing differs")
    for number in range(25):
        found.differ(f"difference {number}")
    assert not found.passed
    lines = found.summary().split("\n")
    assert (len(lines), lines[-1]) == (22, "and 5 more")
    assert json.loads(json.dumps(found.to_dict()))["passed"] is False


def test_what_cannot_be_replayed_differs_and_bugs_of_others_pass():
    found = Verification()
    with found.telling("round 3"):
        raise ValueError("odd\nnumbers")
    with found.telling("round 4"):
        raise ZeroDivisionError
    assert found.differences[0].startswith("round 3 cannot be replayed: odd")
    assert found.differences[1] == "round 4 cannot be replayed: ZeroDivisionError"
    with pytest.raises(RuntimeError), found.telling("round 5"):
        raise RuntimeError
