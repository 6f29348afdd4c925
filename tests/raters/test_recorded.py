"""Answers from a file."""

import asyncio
import json
import time
from decimal import Decimal

import pytest

from ratewise.errors import InputError
from ratewise.raters.protocol import Answer, Failure
from ratewise.raters.recorded import RecordedRater


@pytest.fixture
def record(tmp_path):
    def write(*lines: object) -> str:
        path = tmp_path / "answers.jsonl"
        text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


def test_attempts_in_order_and_the_last_repeats(record, ask):
    path = record(
        {"id": "a", "error": "busy", "price": 0},
        "",
        {"id": "a", "rating": 1, "price": "0.1"},
        {"id": 7, "rating": None},
    )

    async def go():
        rater = RecordedRater(path)
        return [await rater.rate(ask("a", "7")) for _ in range(3)]

    first, second, third = asyncio.run(go())
    assert first == [Failure("busy", Decimal(0)), Answer(None)]
    assert second == third == [Answer(1, Decimal("0.1")), Answer(None)]


def test_an_item_twice_in_one_call_is_two_attempts(record, ask):
    path = record({"id": "a", "rating": 1}, {"id": "a", "rating": 2})
    assert asyncio.run(RecordedRater(path).rate(ask("a", "a"))) == [Answer(1), Answer(2)]


def test_an_item_without_a_line_is_a_failure(record, ask):
    (failure,) = asyncio.run(RecordedRater(record()).rate(ask("b")))
    assert isinstance(failure, Failure)
    assert failure.reason.endswith("has no answer for the item 'b'")


def test_seconds_are_slept(record, ask):
    rater = RecordedRater(record({"id": "a", "rating": 1, "seconds": 0.1}, {"id": "b", "rating": 0, "seconds": 0.05}))
    start = time.monotonic()
    asyncio.run(rater.rate(ask("a", "b")))
    assert 0.1 <= time.monotonic() - start < 5


@pytest.mark.parametrize(
    ("line", "why"),
    [("{", "no JSON object"), ({"rating": 1}, '"id" must be'), ({"id": True, "rating": 1}, '"id" must be')]
    + [({"id": "a"}, "neither"), ({"id": "a", "rating": 1, "price": -1}, "makes no sense")]
    + [({"id": "a", "rating": 1, "seconds": s}, '"seconds" must be') for s in (-1, "1", True, None, float("inf"))],
)
def test_a_bad_line_is_named(record, line, why):
    with pytest.raises(InputError, match=rf"answers\.jsonl, line 2: .*{why}"):
        RecordedRater(record({"id": "x", "rating": 1}, line))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"cannot read the recording .*nothing\.jsonl: No such file"):
        RecordedRater(str(tmp_path / "nothing.jsonl"))


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(tmp_path, ask):
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'\xef\xbb\xbf{"id": "a", "rating": 1}\r\n')
    assert asyncio.run(RecordedRater(str(path)).rate(ask("a"))) == [Answer(1)]
