"""Questions as lines, and lines as answers."""

import datetime as dt
import json
import math
from decimal import Decimal

import numpy as np
import pytest

from ratewise.raters.protocol import Answer, Failure, Question, question_line, read_object, read_price, read_reply


def test_a_question_is_one_line_of_plain_ascii_that_any_program_can_read():
    item = {
        "text": "été\nzwei 😀 \ud800",
        "n": np.int64(3),
        "x": math.nan,
        "y": np.float32(0.5),
        "when": dt.date(2024, 5, 1),
    }
    item |= {"many": np.array([1.0, np.inf]), "deep": {"a": (1, None, True)}, "money": Decimal("1.5")}
    line = question_line(Question("k", "i", item))
    assert line.isascii()
    assert line.index(b"\n") == len(line) - 1
    assert json.loads(line) == {
        "key": "k",
        "id": "i",
        "item": {"text": item["text"], "n": 3, "x": None, "y": 0.5, "when": "2024-05-01", "many": [1.0, None]}
        | {"deep": {"a": [1, None, True]}, "money": 1.5},
    }


@pytest.mark.parametrize(
    "line",
    [b"", b"hello", b"[1]", b"1", b"null", b'{"a":', b"\xff{}", b"[" * 10**5, b'{"a":' * 10**5],
    ids=lambda x: repr(x)[:9],
)
def test_what_is_no_object(line):
    with pytest.raises(ValueError, match="no JSON object"):
        read_object(line)


def test_an_answer_with_everything():
    line = {"rating": "yes", "price": "0.0020", "note": "sure"}
    assert read_reply(line) == Answer("yes", Decimal("0.0020"), "sure")


def test_answers_and_failures():
    assert read_reply({"rating": None, "note": None}) == Answer(None)
    assert read_reply({"rating": 3, "error": None}) == read_reply({"rating": 3, "error": ""}) == Answer(3)
    assert read_reply({"error": "too long\n…", "price": 0.002}) == Failure("too long", Decimal("0.002"))
    assert read_reply({"rating": 3, "error": {"code": 7}}) == Failure("{'code': 7}")
    with pytest.raises(ValueError, match='neither a "rating" nor an "error"'):
        read_reply({"key": 1})


@pytest.mark.parametrize(
    "raw",
    ["-1", -1, "nan", "inf", "1e999999", True, [], "x", "１", "1_0", "9" * 10**6, 10**5000, 1e300],
    ids=lambda x: type(x).__name__,
)
def test_prices_that_make_no_sense(raw):
    with pytest.raises(ValueError, match=r"^price .* makes no sense$"):
        read_price(raw)


def test_prices():
    assert read_price(None) is None
    assert [read_price(x) for x in ("0.10", 0.1, 2)] == [Decimal("0.10"), Decimal("0.1"), Decimal(2)]
