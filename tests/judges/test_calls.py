from dataclasses import replace

import pytest

from ratewise.judges.reply import has_logprobs, read_reply
from ratewise.judges.verdicts import Ballot, NoVerdict

from .asking import prompt, spec


def reply(content='{"verdict": "yes"}', **choice):
    return {"choices": [{"message": {"content": content}, "finish_reason": "stop", **choice}]}


def read(data, kind="binary", source="none"):
    return read_reply(data, prompt(kind, source=source), spec(kind).verdicts)


def test_a_request_asks_for_what_the_endpoint_takes():
    judge = spec("pairwise")
    body = judge.body(prompt("pairwise", source="logprobs"))
    assert (body["logprobs"], body["top_logprobs"], body["max_tokens"], body["temperature"]) == (True, 20, 700, 0.0)
    assert body["response_format"]["json_schema"]["strict"] is True
    plain = judge.body(prompt("pairwise", "line"))
    assert set(plain) == {"model", "messages", "max_completion_tokens"}
    sure = judge.body(prompt("pairwise", source="verbal"))["response_format"]["json_schema"]["schema"]
    assert "confidence" in sure["properties"]


@pytest.mark.parametrize(("kind", "type_"), [("binary", "predicate"), ("pairwise", "choice"), ("likert", "score")])
def test_decisions_ask_a_question_of_their_own(kind, type_):
    body = spec(kind).body(prompt(kind, source="decisions"))
    (question,) = body["questions"]
    assert question["type"] == type_
    assert "The answer is correct." in question["instructions"]
    assert [message["role"] for message in body["input"]] == ["system", "user"]
    assert spec(kind).can_decide
    halves = replace(spec("score").verdicts, low=0.0, high=0.5)
    assert not replace(spec("score"), verdicts=halves).can_decide


def test_answers_of_decisions_are_probabilities():
    assert read({"answers": [{"type": "predicate", "probability": 0.8}]}, source="decisions").chances == {
        1.0: 0.8, 0.0: pytest.approx(0.2),
    }  # fmt: skip
    rows = [{"value": "first", "probability": 0.5}, {"value": "second", "probability": 0.25}, {"value": True}]
    choice = read({"answers": [{"type": "choice", "probabilities": rows}]}, "pairwise", "decisions")
    assert choice == Ballot(1.0, {1.0: pytest.approx(2 / 3), 0.0: pytest.approx(1 / 3)}, told=True)
    levels = [{"label": "4", "value": 3, "probability": 0.6}, {"label": "5", "value": 4, "probability": 0.4}]
    assert read({"answers": [{"type": "score", "probabilities": levels}]}, "likert", "decisions").vote == 4.0
    assert isinstance(read({"answers": [{"type": "refusal"}]}, source="decisions"), NoVerdict)
    for wrong in ({}, {"answers": []}, {"answers": [{"type": "predicate", "probability": 3}]}, {"answers": [5]}):
        assert read(wrong, source="decisions") is None


def test_refusals_are_no_verdicts_and_need_no_repair():
    for data in (reply(message={"content": None, "refusal": "No."}), reply(finish_reason="content_filter")):
        assert read(data) == NoVerdict("the judge refused to answer")


def test_what_cannot_be_read_may_be_repaired():
    found = read(reply("well", finish_reason="length"))
    assert (found.reason, found.repairable) == ("the answer holds no verdict (it was cut at max_tokens)", True)
    assert read(reply(None)).repairable
    for wrong in ({}, {"choices": []}, {"choices": [{}]}, {"choices": "x"}, {"choices": [{"message": 3}]}):
        assert read(wrong) is None


def test_the_source_gives_the_chances():
    assert read(reply()) == Ballot(1.0, {1.0: 1.0}, told=False)
    sure = read(reply('{"verdict": "yes", "confidence": 90}'), source="verbal")
    assert not read(reply('{"verdict": "yes", "confidence": 90}')).told  # nobody has asked for it
    assert sure.chances == {1.0: 0.9, 0.0: pytest.approx(0.1)}
    assert not has_logprobs(reply())
    assert has_logprobs(reply(logprobs={"content": [{"token": "x"}]}))
