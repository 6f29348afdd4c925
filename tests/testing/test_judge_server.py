"""The shipped server, over plain HTTP: what it says, what it counts, and how it fails."""

import json
from http.client import HTTPConnection, HTTPException

import pytest

from ratewise.testing.judge_server import FAULTS, JudgeServer

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
