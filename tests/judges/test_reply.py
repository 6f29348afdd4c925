"""Replies: the verdict in the form asked for, and the probabilities of its tokens."""

import json
import math
from dataclasses import replace

import pytest

from ratewise.judges.reply import chances_of, has_logprobs, read_answer, read_reply
from ratewise.judges.verdicts import Ballot, NoVerdict, Verdicts

from .asking import CODE, prompt, spec
from .injections import ALL


def value(answer, kind="binary", form="json", source="none"):
    said = read_answer(answer, prompt(kind, form, source), spec(kind).verdicts)
    return None if said is None else said.value


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ('{"verdict": "yes"}', 1.0),
        (' {"reasons": "fine", "verdict": "No"} ', 0.0),
        ('```json\n{"verdict": "yes"}\n```', 1.0),
        ('{"verdict": "yes"} I hope this helps', None),
        ('Sure: {"verdict": "yes"}', None),
        ('{"verdict": "yes", "verdict": "no"}', None),
        ('{"verdict": "yes", "also": 1}', None),
        ('[{"verdict": "yes"}]', None),
        ('{"verdict": ["yes"]}', None),
        ('{"verdict": "maybe"}', None),
        ('{"verdict": NaN}', None),
        ("yes", None),
        ("", None),
        ("[" * 100_000, None),
    ],
)
def test_json_must_be_the_whole_answer(answer, said):
    assert value(answer) == said


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (f"Because.\nVERDICT {CODE}: yes", 1.0),
        (f"**VERDICT {CODE}: no**\n\n", 0.0),
        (f"VERDICT {CODE}: yes.", 1.0),
        ("Because.\nVERDICT: yes", None),
        ("VERDICT 0000000000000000: yes", None),
        (f"VERDICT {CODE}: yes\nVERDICT {CODE}: no", None),
        (f"VERDICT {CODE}: yes\nOn second thoughts, no.", None),
        (f"I would not say VERDICT {CODE}: yes", None),
        (f"VERDICT {CODE}: yes or no", None),
    ],
)
def test_a_line_must_carry_the_code_and_be_the_last(answer, said):
    assert value(answer, form="line") == said


def test_confidence_is_a_number_from_0_to_100():
    asked = prompt(source="verbal")
    said = read_answer('{"verdict": "yes", "confidence": 85}', asked, spec().verdicts)
    assert (said.value, said.confidence) == (1.0, 0.85)
    for wrong in ('"high"', "101", "-1", "true", "null"):
        assert read_answer(f'{{"verdict": "yes", "confidence": {wrong}}}', asked, spec().verdicts) is None
    line = read_answer(f"VERDICT {CODE}: no 70%", prompt(form="line", source="verbal"), spec().verdicts)
    assert (line.value, line.confidence) == (0.0, 0.7)
    assert value(f"VERDICT {CODE}: no", form="line", source="verbal") is None


@pytest.mark.parametrize("kind", ["binary", "likert", "score", "pairwise"])
def test_quoted_content_is_never_taken_for_a_verdict(kind):
    """A judge that quotes an attack in its reasons: its own verdict counts, and without one there is none."""
    own, worth = {
        "binary": ("no", 0.0), "likert": (2, 2.0), "score": (2.5, 2.5), "pairwise": ("second", 0.0),
    }[kind]  # fmt: skip
    for attack in ALL:
        assert value(f"The content says: {attack}\nThat is no answer.", kind, "line") is None, attack
        assert value(f"The content says: {attack}\nThat is no answer.", kind) is None, attack
        assert value(f"It says: {attack}\nVERDICT {CODE}: {own}", kind, "line") == worth, attack
        assert value(json.dumps({"reasons": attack, "verdict": own}), kind) == worth, attack


def test_the_place_of_the_verdict_is_that_of_its_own_key():
    answer = '{"reasons": "it says \\"verdict\\": \\"yes\\"", "verdict": "no"}'
    said = read_answer(answer, prompt(), spec().verdicts)
    assert answer[said.start :].startswith('no"')


def tokens(*parts):
    """Tokens of an answer; a part with alternatives is (token, {token: probability})."""
    out = []
    for part in parts:
        token, listed = part if isinstance(part, tuple) else (part, {part: 1.0})
        top = [{"token": name, "logprob": math.log(p)} for name, p in listed.items()]
        out.append({"token": token, "logprob": math.log(listed.get(token, 1.0)), "top_logprobs": top})
    return out


def chances(content, kind="binary", high=5.0, answer=None):
    """Chances by the tokens; the server's own text may be shorter than theirs."""
    answer = "".join(place["token"] for place in content) if answer is None else answer
    verdicts = Verdicts.of(kind, 1.0, high)
    return chances_of(content, answer, read_answer(answer, prompt(kind), verdicts), verdicts)


def test_spellings_are_added_up_and_other_words_left_out():
    listed = {"yes": 0.4, " Yes": 0.1, "YES": 0.1, "no": 0.15, " No": 0.05, "perhaps": 0.2}
    found = chances(tokens('{"verdict": "', ("yes", listed), '"}'))
    assert found == {1.0: pytest.approx(0.75), 0.0: pytest.approx(0.25)}


def test_a_token_may_hold_the_quote_or_the_beginning_of_the_word():
    found = chances(tokens('{"verdict":', (' "first', {' "first': 0.5, ' "second': 0.3, ' "t': 0.2}), '"}'), "pairwise")
    assert found == {1.0: pytest.approx(0.5), 0.0: pytest.approx(0.3), 0.5: pytest.approx(0.2)}


def test_only_the_place_of_the_verdict_counts():
    quoted = ("yes", {"yes": 0.99, "no": 0.01})
    found = chances(tokens('{"reasons": "', quoted, '", "verdict": "', ("no", {"yes": 0.3, "no": 0.7}), '"}'))
    assert found == {1.0: pytest.approx(0.3), 0.0: pytest.approx(0.7)}


def test_a_number_may_be_several_tokens():
    """All by hand: P(10) is P(1) times P(0 after 1); what follows "1" says how much of it is 1."""
    found = chances(
        tokens('{"verdict": "', ("1", {"1": 0.6, "9": 0.3, "8": 0.1}), ("0", {"0": 0.9, '"': 0.1}), '"}'),
        "likert", 10.0,
    )  # fmt: skip
    assert found == {k: pytest.approx(p) for k, p in ((10.0, 0.54), (1.0, 0.06), (9.0, 0.3), (8.0, 0.1))}
    ends = ('"}', {'"}': 0.8, "0": 0.2})
    found = chances(tokens('{"verdict": "', ("1", {"1": 0.5, " 2": 0.5}), ends), "likert", 10.0)
    assert found == {1.0: pytest.approx(0.4), 10.0: pytest.approx(0.1), 2.0: pytest.approx(0.5)}
    found = chances(
        tokens('{"verdict": ', ("8", {"8": 0.6, "9": 0.4}), ("5", {"5": 0.5, "0": 0.4, "}": 0.1}), "}"), "score", 100.0
    )
    assert found == {k: pytest.approx(p) for k, p in ((85.0, 0.3), (80.0, 0.24), (8.0, 0.06), (90.0, 0.4))}
    found = chances(
        tokens('{"verdict": ', ("7", {"7": 0.9, "8": 0.1}), ".", ("5", {"5": 0.75, "0": 0.25}), "}"), "score", 10.0
    )
    assert found == {7.5: pytest.approx(0.675), 7.0: pytest.approx(0.225), 8.0: pytest.approx(0.1)}


def test_a_beginning_of_several_numbers_counts_as_the_nearest_to_the_verdict():
    nine = tokens('{"verdict": "', ("9", {"9": 0.5, "1": 0.4, "8": 0.1}), '"}')
    found = chances(nine, "likert", 10.0)
    assert sum(value * p for value, p in found.items()) == pytest.approx(9.3)
    assert chances(nine, "likert", 9.0)[1.0] == pytest.approx(0.4)  # there is no 10
    listed = tokens('{"verdict": "', ("9", {"9": 0.5, "10": 0.3, "1": 0.2}), '"}')
    assert chances(listed, "likert", 10.0) == {
        9.0: pytest.approx(0.5), 10.0: pytest.approx(0.3), 1.0: pytest.approx(0.2)
    }  # fmt: skip
    found = chances(tokens('{"verdict": "', ("4", {"4": 0.6, "5": 0.3, "44": 0.1}), '"}'), "likert")
    assert found == {4.0: pytest.approx(2 / 3), 5.0: pytest.approx(1 / 3)}


@pytest.mark.parametrize("before", ["\n", "   ", "<think>yes or no?</think>\n"])
@pytest.mark.parametrize("after", ["", "\n", "<|im_end|>"])
def test_the_place_is_found_where_the_server_trims_its_text(before, after):
    verdict = ("yes", {"yes": 0.7, "no": 0.3})
    end = [after] if after else []
    found = chances(tokens(before, '{"verdict": "', verdict, '"}', *end), answer='{"verdict": "yes"}')
    assert found == {1.0: pytest.approx(0.7), 0.0: pytest.approx(0.3)}


def test_half_a_letter_is_counted_by_its_bytes():
    content = tokens('{"reasons": "na', "\ufffd", "\ufffd", 've", "verdict": "', ("no", {"yes": 0.2, "no": 0.8}), '"}')
    for place, half in zip(content[1:3], "ï".encode(), strict=True):
        place["bytes"] = [half]
    found = chances(content, answer='{"reasons": "naïve", "verdict": "no"}')
    assert found == {1.0: pytest.approx(0.2), 0.0: pytest.approx(0.8)}


def test_what_makes_no_sense_gives_nothing():
    assert chances(tokens('{"verdict": "', ("yes", {"yes": 0.01, "hm": 0.99}), '"}')) is None  # nearly all elsewhere
    said = read_answer('{"verdict": "yes"}', prompt(), spec().verdicts)
    assert chances_of([], '{"verdict": "yes"}', said, spec().verdicts) is None
    assert chances_of([{"token": 3}], '{"verdict": "yes"}', said, spec().verdicts) is None
    assert chances(tokens('{"verdict": "no"}'), answer='{"verdict": "yes"}') is None  # tokens of another answer
    odd = [{"token": '{"verdict": "yes"}', "top_logprobs": [{"token": "yes", "logprob": "high"}]}]
    assert chances_of(odd, '{"verdict": "yes"}', said, spec().verdicts) is None


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
