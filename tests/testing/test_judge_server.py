"""The rehearsal server: a hidden rule, its words, faults, and the protocol."""

import csv
import json
import random
from http.client import HTTPConnection, HTTPException

import pytest

from ratewise.testing.answering import decided, drawn, logprobs_of, rate, tokens_of, worded
from ratewise.testing.hidden_rule import HiddenRule, bell, chance, content_of, logistic, made_up_rows
from ratewise.testing.judge_server import FAULTS, Faults, JudgeServer, main

BODY = {"model": "m", "temperature": 0, "messages": [{"role": "user", "content": "x"}]}


@pytest.fixture(scope="module")
def running():
    with JudgeServer() as server:
        server.behaviour.slow = 0.01
        yield server


@pytest.fixture
def post(running):
    running.faults.queue.clear()

    def call(body=BODY, path="/v1/chat/completions", **headers):
        connection = HTTPConnection("127.0.0.1", running.port, timeout=30)
        try:
            connection.request("POST", path, json.dumps(body) if isinstance(body, dict) else body, headers)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()
        finally:
            connection.close()

    return call


def test_every_answer_is_counted_with_its_tokens(running, post):
    before = running.billed.calls, running.billed.input, running.billed.output
    status, _, content = post()
    data = json.loads(content)
    assert (status, data["model"], data["system_fingerprint"]) == (200, "m", "fp_1")
    used = data["usage"]
    assert (running.billed.calls, running.billed.input, running.billed.output) == (
        before[0] + 1, before[1] + used["prompt_tokens"], before[2] + used["completion_tokens"],
    )  # fmt: skip


def test_a_repeated_key_is_billed_once(running, post):
    headers = {"Idempotency-Key": "k1"}
    first = post(**headers)
    before = running.billed.calls
    assert post(**headers)[2] == first[2]
    assert running.billed.calls == before
    assert running.billed.repeated >= 1


@pytest.mark.parametrize("fault", FAULTS)
def test_it_fails_in_every_way_it_can(running, post, fault):
    running.faults.queue.append(fault)
    if fault == "cut":
        with pytest.raises((OSError, HTTPException)):
            post()
        return
    status, headers, content = post()
    expected = {"429": 429, "429 date": 429, "no money": 429, "500": 500, "503": 503, "401": 401}
    assert status == expected.get(fault, 200)
    assert ("Retry-After" in headers) == fault.startswith("429")
    assert ("GMT" in headers.get("Retry-After", "")) == (fault == "429 date")
    if fault == "malformed":
        with pytest.raises(json.JSONDecodeError):
            json.loads(content)


def test_what_it_does_not_know_is_refused(post):
    assert post(path="/v1/embeddings")[0] == 404
    assert post("no JSON")[0] == 400


def test_it_can_lack_what_other_endpoints_lack(running, post):
    running.behaviour.logprobs = running.behaviour.structured = running.behaviour.decisions = False
    try:
        assert post({**BODY, "logprobs": True})[0] == 400
        assert post({**BODY, "response_format": {}})[0] == 400
        assert post({"model": "m"}, "/v1/decisions")[0] == 404
    finally:
        running.behaviour.logprobs = running.behaviour.structured = running.behaviour.decisions = True


def test_faults_of_the_next_calls_come_first_then_their_shares():
    faults = Faults({"500": 0.2, "429": 0.1})
    faults.queue.extend(["cut", None])
    assert [faults.next(), faults.next()] == ["cut", None]
    found = [faults.next() for _ in range(2000)]
    assert 300 < found.count("500") < 500
    assert 120 < found.count("429") < 280
    assert Faults().next() is None


def test_a_table_of_items_with_what_people_say(tmp_path):
    main(["--table", str(tmp_path / "items.csv"), "--items", "50", "--only-table"])
    with open(tmp_path / "items.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert rows == made_up_rows(50, HiddenRule())
    assert len({row["answer"] for row in rows}) == 50
    assert {row["human"] for row in rows} == {"0", "1"}
    shown = [("question", rows[0]["question"]), ("answer", rows[0]["answer"])]
    assert rows[0]["human"] == str(HiddenRule().truth(content_of(shown)))


def test_the_same_words_give_the_same_chance():
    assert chance("a", "b") == chance("a", "b") != chance("ab")
    draws = [chance("x", str(i)) for i in range(4000)]
    assert sum(draws) / 4000 == pytest.approx(0.5, abs=0.03)  # six standard errors
    normal = [bell("x", str(i)) for i in range(4000)]
    assert sum(x * x for x in normal) / 4000 == pytest.approx(1.0, abs=0.15)


def test_truth_follows_worth_and_models_see_it_through_noise():
    rule = HiddenRule(noise=1.0)
    texts = [f"text {i}" for i in range(4000)]
    gap = sum(rule.truth(text) - rule.worth(text) for text in texts) / 4000
    assert abs(gap) < 0.04  # above five standard errors of a fair coin's
    assert HiddenRule(noise=0.0).seen("x", "m") == rule.quality("x") != rule.seen("x", "m")
    assert rule.seen("x", "m") == rule.seen(" x ", "m") != rule.seen("x", "other")


def test_comparisons():
    rule = HiddenRule()
    found = {(a, b): rule.better(str(a), str(b)) for a in range(20) for b in range(20)}
    assert all(found[a, b] == 1 - found[b, a] for a, b in found)
    assert logistic(-800.0) == 0.0
    assert logistic(800.0) == 1.0


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
