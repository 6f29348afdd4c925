"""The strict server: a key with other bytes is refused, and each key has one bill."""

import json
from http.client import HTTPConnection

import pytest

from ratewise.testing.judge_server import Billed, JudgeServer

BODY = {"model": "m", "temperature": 1, "messages": [{"role": "user", "content": "x"}]}


@pytest.fixture
def server():
    with JudgeServer(strict=True) as running:
        yield running


def post(server, key, body=BODY):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    try:
        connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Idempotency-Key": key} if key else {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def test_a_key_is_billed_once_and_answered_again(server):
    first = post(server, "k1")
    assert post(server, "k1") == first
    assert (first[0], server.asked["k1"], server.refused) == (200, 2, 0)
    assert server.bills == {"k1": Billed(1, server.billed.input, server.billed.output)}


def test_a_key_with_other_bytes_is_refused_and_so_is_none(server):
    assert post(server, "k1")[0] == 200
    assert post(server, "k1", BODY | {"temperature": 0})[0] == 422
    assert (post(server, "")[0], post(server, "k" * 256)[0]) == (400, 400)
    assert (server.refused, server.billed.calls) == (3, 1)


def test_without_replays_every_call_is_billed(server):
    server.replays = False
    assert post(server, "k1")[0] == post(server, "k1")[0] == 200
    assert server.bills["k1"].calls == 2


def test_an_answer_that_helps_nobody_is_billed_once_too(server):
    server.faults.queue.append("malformed")
    first = post(server, "k1")
    assert post(server, "k1") == first
    assert server.bills["k1"].calls == 1
