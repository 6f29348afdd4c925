import random

import pytest

from ratewise.testing.answering import decided, drawn, logprobs_of, rate, tokens_of, worded
from ratewise.testing.hidden_rule import HiddenRule

RULE = HiddenRule()


def fenced(*blocks):
    return "\n\n".join(f"BEGIN {'0' * 16}\n{block}\nEND {'0' * 16}" for block in blocks)


def test_it_reads_what_is_asked_from_the_fences():
    yes = rate(fenced("x"), RULE, "m", noise=0.0, position_bias=0.0)
    assert list(yes) == ["yes", "no"]
    assert yes["yes"] == pytest.approx(RULE.worth("x"))
    score = rate(fenced("x") + "\nGive a whole number from 1 to 5.", RULE, "m", noise=0.0, position_bias=0.0)
    assert list(score) == ["1", "2", "3", "4", "5"]
    assert sum(score.values()) == pytest.approx(1.0)
    pair = fenced("q", "a", "b") + "\n(first, second or tie)"
    plain, bent = (rate(pair, RULE, "m", noise=0.0, position_bias=bias) for bias in (0.0, 2.0))
    assert bent["first"] > plain["first"]
    assert sum(plain.values()) == pytest.approx(1.0)


def test_it_answers_in_the_form_asked_for():
    asked = {"yes": 0.75, "no": 0.25}
    schema = {
        "type": "json_schema",
        "json_schema": {"schema": {"properties": {"reasons": {}, "verdict": {"type": "string"}}}},
    }
    assert worded(asked, "yes", {"response_format": schema}, "") == (
        '{"reasons": "I looked at it closely.", "verdict": "yes"}'
    )
    line = f"VERDICT, the code {'a' * 16}, a colon, and your verdict, a space, and how sure you are"
    assert worded(asked, "no", {}, line).endswith(f"VERDICT {'a' * 16}: no 25")
    assert worded(asked, "no", {}, "") == "no"
    assert drawn(asked, random.Random(1), 0.0) == "yes"
    assert {drawn(asked, random.Random(i), 1.0) for i in range(30)} == {"yes", "no"}


def test_tokens_are_the_text_and_the_verdict_has_alternatives():
    answer = '{"verdict": "yes"}'
    assert "".join(tokens_of(answer + "\n")) == answer + "\n"
    places = logprobs_of(answer, "yes", {"yes": 0.75, "no": 0.25})
    assert [len(place["top_logprobs"]) for place in places].count(5) == 1


def test_decisions_in_all_three_kinds():
    asked = {"1": 0.75, "2": 0.25}
    assert decided({"type": "predicate"}, {"yes": 0.75, "no": 0.25})["probability"] == 0.75
    assert decided({"type": "choice"}, asked)["choice"] == "1"
    assert decided({"type": "score"}, asked)["score"] == 0.25
