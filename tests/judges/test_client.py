import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from ratewise.errors import InputError, RatewiseWarning
from ratewise.judges.client import CallError, Client, Pace, retry_after
from ratewise.testing.judge_server import JudgeServer

BODY = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def server():
    with JudgeServer() as running:
        yield running


@pytest.fixture(autouse=True)
def _fresh(server):
    server.faults.queue.clear()
    server._answered.clear()
    server.behaviour.key = ""


def post(server, faults=(), **endpoint):
    """One call after these faults; the client, and the reply or the error."""
    server.faults.queue.extend(faults)

    async def call():
        client = Client(server.base_url, **endpoint)
        try:
            return client, await client.post("chat/completions", BODY, key=f"{uuid4()}", tokens=10)
        except CallError as error:
            return client, error
        finally:
            await client.close()

    return asyncio.run(call())


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("7", 7.0), (" 0.5 ", 0.5), ("Mon, 16 Nov 2026 12:00:30 GMT", 30.0), ("Mon, 16 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None), ("-3", None), ("", None), ("9" * 400, 1e9),
    ],
)  # fmt: skip
def test_retry_after_in_seconds_and_as_a_date(value, seconds):
    assert retry_after(value, lambda: NOW) == seconds


def test_a_busy_server_is_waited_for_and_costs_nothing(server):
    client, reply = post(server, ["429", "429 date", "429"])
    assert reply["object"] == "chat.completion"
    assert client.waits == 3


def test_a_server_that_stays_busy_is_given_up(server, monkeypatch):
    monkeypatch.setattr("ratewise.judges.client._TURNED_AWAY", 3)
    _, error = post(server, ["429"] * 3)
    assert (error.status, error.billed) == (429, False)
    assert str(error) == "the server is too busy: Rate limit reached"
    server.behaviour.retry_after = 100_000.0
    _, error = post(server, ["429"])
    server.behaviour.retry_after = 0.05
    assert error.after == pytest.approx(100_000.0)  # nobody waits as long; the campaign is told


def test_waits_without_an_answer_are_told_and_count_together(server, monkeypatch):
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)
        clock[0] += seconds

    clock = [1000.0]
    monkeypatch.setattr("ratewise.judges.client.time.monotonic", lambda: clock[0])
    monkeypatch.setattr("ratewise.judges.client.asyncio.sleep", sleep)
    monkeypatch.setattr(server.behaviour, "retry_after", 400.0)
    with pytest.warns(RatewiseWarning, match="is busy and asks to wait 400 s") as told:
        client, error = post(server, ["429"] * 3 + [None])
    assert len(told) == 2  # after twice as long, again
    assert (client.waits, error.status, error.billed) == (2, 429, False)
    assert error.after == pytest.approx(1200.0)
    assert 800.0 <= sum(pauses) <= 802.1
    assert list(server.faults.queue) == [None]  # the fourth call was not made


@pytest.mark.parametrize(
    ("fault", "status", "billed", "said"),
    [
        ("500", 500, False, "HTTP 500: The server had an error"),
        ("503", 503, False, "HTTP 503"),
        ("401", 401, False, "HTTP 401"),
        ("cut", None, True, "the connection was cut"),
        ("malformed", 200, True, "the reply is no JSON object"),
    ],
)
def test_what_may_have_cost_money_is_not_sent_again(server, fault, status, billed, said):
    before = server.billed.calls
    _, error = post(server, [fault, None])
    assert (error.status, error.billed) == (status, billed)
    assert said in error.reason
    assert server.billed.calls - before == (fault == "malformed")
    assert list(server.faults.queue) == [None]


def test_a_slow_answer_is_cut_off(server):
    server.behaviour.slow = 30.0
    _, error = post(server, ["slow"], timeout=0.2)
    assert (error.reason, error.billed) == ("no answer within 0.2 s", True)


def test_a_server_that_is_not_there_costs_nothing():
    async def call():
        client = Client("http://127.0.0.1:9/v1")
        try:
            await client.post("chat/completions", BODY, key=f"{uuid4()}", tokens=10)
        finally:
            await client.close()

    with pytest.raises(CallError, match="cannot reach the server") as caught:
        asyncio.run(call())
    assert not caught.value.billed


def test_an_empty_account_is_not_waited_for(server):
    client, error = post(server, ["no money"])
    assert (error.status, client.waits) == (429, 0)
    assert "You exceeded your current quota" in error.reason


def test_no_proxy_leads_to_this_machine(server, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    _, reply = post(server)
    assert reply["object"] == "chat.completion"


def test_the_key_is_sent_and_shown_nowhere(server, monkeypatch):
    secret = "sk-very-secret-0123456789"
    monkeypatch.setenv("JUDGE_KEY", secret)
    server.behaviour.key = secret
    client, reply = post(server, key_env="JUDGE_KEY")
    assert reply["object"] == "chat.completion"
    assert secret not in repr(client)
    server.behaviour.key = "another"
    _, error = post(server, key_env="JUDGE_KEY")  # this server repeats the key that it refuses
    assert secret not in str(error)
    assert "***" in str(error)
    assert error.__cause__ is None
    assert error.__context__ is None


@pytest.mark.parametrize(("value", "said"), [("", "is empty"), ("  ", "is empty"), ("schlüssel", "holds no key")])
def test_a_variable_without_a_key_is_said(server, monkeypatch, value, said):
    monkeypatch.setenv("JUDGE_KEY", value)
    with pytest.raises(InputError, match=f"the environment variable JUDGE_KEY {said}"):
        Client(server.base_url, "JUDGE_KEY")


def test_a_key_goes_to_another_machine_in_readable_form_only_where_that_is_confirmed(monkeypatch):
    monkeypatch.setenv("JUDGE_KEY", "sk-very-secret")
    address = "http://judge.example.com:8000/v1"
    Client(address)
    Client("https://judge.example.com/v1", "JUDGE_KEY")
    monkeypatch.setenv("RATEWISE_KEY_OVER_HTTP", "example.com,other")
    with pytest.raises(InputError, match=r"confirm it in the environment: RATEWISE_KEY_OVER_HTTP=judge\.example") as e:
        Client(address, "JUDGE_KEY")
    assert "sk-very" not in str(e.value)
    monkeypatch.setenv("RATEWISE_KEY_OVER_HTTP", "other,judge.example.com")
    with pytest.warns(RatewiseWarning, match=r"the key goes to judge\.example\.com over http://"):
        Client(address, "JUDGE_KEY")


def test_the_pace_is_steady(monkeypatch):
    pauses = []

    async def sleep(seconds):
        pauses.append(seconds)

    monkeypatch.setattr("ratewise.judges.client.time.monotonic", lambda: 100.0)
    monkeypatch.setattr("ratewise.judges.client.asyncio.sleep", sleep)

    async def take():
        pace = Pace(6000)  # tokens a minute: 100 a second
        for amount in (50, 200, 10):
            await pace.take(amount)
        await Pace(None).take(1e9)

    asyncio.run(take())
    assert pauses == [pytest.approx(0.5), pytest.approx(2.5)]
