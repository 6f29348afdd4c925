"""A judge on this machine: a real HTTP server that speaks the OpenAI protocols, rates by a hidden rule, and can fail.

    from ratewise.testing.judge_server import JudgeServer

    with JudgeServer() as server:
        print(server.base_url)      # for base_url in a campaign's TOML

From a shell: python -m ratewise.testing.judge_server --port 8000 --table items.csv

Every call is counted with its tokens, so that a ledger can be compared with what the server would bill. A call that is
repeated with the same Idempotency-Key gets the same answer and is billed once. With strict=True it bills as strict
services do: a key that comes again with other bytes is refused (422), and so is a request without a key (400).
"""

import argparse
import asyncio
import hashlib
import json
import random
import re
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, Literal, Self, get_args

from ratewise.testing.answering import Asked, decided, drawn, logprobs_of, rate, tokens_of, worded
from ratewise.testing.hidden_rule import HiddenRule, chance, made_up_rows, write_rows

Fault = Literal[
    "429", "429 date", "no money", "500", "503", "slow", "cut", "malformed", "no usage", "refusal", "truncated",
    "rambling", "401",
]  # fmt: skip
FAULTS: tuple[Fault, ...] = get_args(Fault)


class Faults:
    """Shares of calls with a fault, and faults of the next calls, which come first."""

    def __init__(self, shares: Mapping[Fault, float] | None = None) -> None:
        self.shares = dict(shares or {})
        self.queue: deque[Fault | None] = deque()
        self._calls = 0

    def next(self) -> Fault | None:
        """The fault of this call; None: it goes well."""
        if self.queue:
            return self.queue.popleft()
        self._calls += 1
        at, upto = chance("fault", str(self._calls)), 0.0
        for fault, share in self.shares.items():
            upto += share
            if at < upto:
                return fault
        return None


_LARGEST = 16_000_000  # bytes of a request
_CUT = 0  # the status of a connection that is cut
_HEADERS = "HTTP/1.1 {status} {word}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{more}\r\n"
_KEY = re.compile(r"[!-~]{1,255}")
_WORDS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 429: "Too Many Requests"}


@dataclass(slots=True)
class Billed:
    """What the server has counted, in all or for one key."""

    calls: int = 0
    input: int = 0
    output: int = 0
    repeated: int = 0  # calls answered again for the same key, at no cost
    turned_away: int = 0  # calls answered with an error


@dataclass(slots=True)
class Behaviour:
    """What the endpoint has and how it behaves; may be changed while it runs."""

    logprobs: bool = True
    silent: bool = False  # whether log-probabilities that it does not have are left out without a word
    decisions: bool = True
    structured: bool = True
    json_object: bool = False  # a schema in llama.cpp's words, where `structured` is not there
    temperature: bool = True
    sampling: bool = True  # else every answer is the likeliest
    breaks: bool = False  # whether what it does not know ends in HTTP 500, as some servers do, instead of 400
    context: int | None = None  # characters of a request that it takes
    key: str = ""  # that callers must send; empty: none
    retry_after: float = 0.05  # seconds that a busy server asks for
    slow: float = 5.0  # seconds that a slow answer takes
    delay: float = 0.0  # seconds that every answer takes
    position_bias: float = 0.0  # by which the answer in the first place seems better
    reported_model: str | None = None  # None: the model that was asked for
    fingerprint: str = "fp_1"
    noise: dict[str, float] = field(default_factory=dict)  # of single models; others have the rule's


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back over the wire."""

    status: int
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


class JudgeServer:
    """Serves on 127.0.0.1 in a thread of its own, from `start` (or `with`) to `stop`; port 0 is any free one."""

    def __init__(
        self, rule: HiddenRule | None = None, behaviour: Behaviour | None = None, *, port: int = 0, strict: bool = False
    ) -> None:
        self.rule, self.behaviour, self.faults = rule or HiddenRule(), behaviour or Behaviour(), Faults()
        self.port, self.strict = port, strict
        self.replays = True  # whether a key that comes again gets its answer again; else it is billed again
        self.billed = Billed()
        self.bills: dict[str, Billed] = {}  # by key
        self.asked: Counter[str] = Counter()  # times that each key came
        self.refused = 0  # keys that came with other bytes, or were none, where it is strict
        self.requests: list[dict[str, Any]] = []  # bodies that were read, in order
        self.keep_requests = True
        self._requested: dict[str, str] = {}  # by key, a digest of its request
        self._answered: dict[str, Reply] = {}
        self._times: Counter[str] = Counter()  # that each text was answered
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._open: set[asyncio.StreamWriter] = set()

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> Self:
        ready = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, args=(ready,), name="judge-server", daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def stop(self) -> None:
        """Stop serving; connections that are open are closed."""
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    # The wire

    def _run(self, ready: threading.Event) -> None:
        assert self._loop is not None
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(asyncio.start_server(self._serve, "127.0.0.1", self.port, backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        try:
            self._loop.run_forever()
        finally:
            server.close()
            for writer in self._open:
                writer.transport.abort()
            running = asyncio.all_tasks(self._loop)
            for task in running:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*running, return_exceptions=True))
            self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection: requests one after the other until the other side has enough."""
        self._open.add(writer)
        try:
            while (found := await _request(reader)) is not None:
                reply = await self._reply(*found)
                if reply.status == _CUT:
                    writer.transport.abort()
                    return
                writer.write(_wire(reply))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError, ValueError, asyncio.LimitOverrunError):
            pass  # the other side is gone, or does not speak HTTP
        except asyncio.CancelledError:
            pass  # the server stops; asyncio of Python 3.11 would print it for every connection
        finally:
            self._open.discard(writer)
            writer.close()

    async def _reply(self, path: str, headers: Mapping[str, str], content: bytes) -> Reply:
        key = headers.get("idempotency-key", "")
        if self.strict and (wrong := self._wrong_key(key, path, content)) is not None:
            self.refused += 1
            return wrong
        self.asked[key] += 1
        if self.behaviour.delay:
            await asyncio.sleep(self.behaviour.delay)
        if self.behaviour.key and headers.get("authorization") != f"Bearer {self.behaviour.key}":
            return self._error(401, f"Incorrect API key provided: {headers.get('authorization', 'none')}")
        if key and key in self._answered:
            self.billed.repeated += 1
            return self._answered[key]
        fault = self.faults.next()
        if fault == "slow":
            await asyncio.sleep(self.behaviour.slow)
        reply = self._turned_away(fault)
        if reply is None:
            before, bill = replace(self.billed), self.bills.setdefault(key, Billed())
            reply = self._answer(path, content, fault)
            for name in ("calls", "input", "output"):
                more = getattr(self.billed, name) - getattr(before, name)
                setattr(bill, name, getattr(bill, name) + more)
        if reply.status == 200 and key and self.replays and (self.strict or fault is None):
            self._answered[key] = reply  # a strict server repeats one that helps nobody, too: it was billed
        return reply

    def _wrong_key(self, key: str, path: str, content: bytes) -> Reply | None:
        if _KEY.fullmatch(key) is None:
            return self._error(400, "An Idempotency-Key of 1 to 255 printable ASCII characters is needed")
        request = hashlib.sha256(path.encode() + b"\n" + content).hexdigest()
        if self._requested.setdefault(key, request) != request:
            return self._error(422, "Keys for idempotent requests can only be used with the same request")
        return None

    def _turned_away(self, fault: Fault | None) -> Reply | None:
        wait = self.behaviour.retry_after
        if fault == "429":
            return self._error(429, "Rate limit reached", (("Retry-After", f"{wait:.12g}"),))
        if fault == "429 date":
            moment = format_datetime(datetime.now(UTC) + timedelta(seconds=wait), usegmt=True)
            return self._error(429, "Rate limit reached", (("Retry-After", moment),))
        if fault == "no money":
            return self._error(429, "You exceeded your current quota", code="insufficient_quota")
        if fault in ("500", "503", "401"):
            return self._error(int(fault), "The server had an error while processing your request")
        if fault == "cut":
            self.billed.turned_away += 1
            return Reply(_CUT, b"")
        return None

    def _error(
        self, status: int, message: str, headers: tuple[tuple[str, str], ...] = (), code: str | None = None
    ) -> Reply:
        self.billed.turned_away += 1
        kind = "invalid_request_error" if status < 500 else "server_error"
        return Reply(status, json.dumps({"error": {"message": message, "type": kind, "code": code}}).encode(), headers)

    # Answers

    def _answer(self, path: str, content: bytes, fault: Fault | None) -> Reply:
        try:
            body = json.loads(content)
        except ValueError:
            return self._error(400, "We could not parse the JSON body of your request")
        if self.keep_requests:
            self.requests.append(body)
        if path.endswith("/chat/completions"):
            return self._chat(body, fault)
        if path.endswith("/decisions") and self.behaviour.decisions:
            return self._decide(body, fault)
        return self._error(404, f"Unknown request URL: POST {path}")

    def _chat(self, body: dict[str, Any], fault: Fault | None) -> Reply:
        refused = self._refused(body)
        if refused:
            return self._error(500 if self.behaviour.breaks else 400, refused)
        text = "\n".join(str(message["content"]) for message in body["messages"])
        asked = self._rated(text, body["model"])
        self._times[text] += 1  # so that what is said does not depend on what else was asked meanwhile
        rng = random.Random(chance("sample", text, str(self._times[text])))
        word = drawn(asked, rng, float(body.get("temperature", 1.0)) if self.behaviour.sampling else 0.0)
        answer, end = worded(asked, word, body, text), "stop"
        if fault == "truncated":
            answer, end = answer[: max(len(answer) // 2, 1)], "length"
        elif fault == "rambling":
            answer = f"Well, one could say {word}, or not."
        message: dict[str, Any] = {"role": "assistant", "content": answer, "refusal": None}
        if fault == "refusal":
            message = {"role": "assistant", "content": None, "refusal": "I cannot help with that."}
        choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": end, "logprobs": None}
        if body.get("logprobs") and self.behaviour.logprobs:
            choice["logprobs"] = {"content": logprobs_of(answer, word, asked)}
        used = _usage(text, answer, ("prompt_tokens", "completion_tokens"))
        return self._done(body, {"object": "chat.completion", "choices": [choice], "usage": used}, fault)

    def _refused(self, body: Mapping[str, Any]) -> str:
        """What the endpoint does not take; empty where it takes all."""
        if self.behaviour.breaks:
            wrong = "logprobs" in body and not self.behaviour.logprobs
            wrong |= "response_format" in body and not self._takes(body["response_format"])
            return "Internal Server Error" if wrong else ""
        size = sum(len(str(message["content"])) for message in body["messages"])
        if self.behaviour.context is not None and size > self.behaviour.context:
            return f"This model's maximum context length is {self.behaviour.context}, and you asked for {size}."
        if body.get("logprobs") and not self.behaviour.logprobs and not self.behaviour.silent:
            return "You are not allowed to request logprobs from this model."
        form = body.get("response_format", {})
        if "response_format" in body and not self._takes(form):
            return (
                f"Invalid parameter: 'response_format' of type '{form.get('type')}' is not supported with this model."
            )
        if "temperature" in body and not self.behaviour.temperature:
            return "Unsupported value: 'temperature' does not support 0 with this model."
        return ""

    def _takes(self, form: Mapping[str, Any]) -> bool:
        """Whether the endpoint enforces this form of answers."""
        return self.behaviour.json_object if form.get("type") == "json_object" else self.behaviour.structured

    def _decide(self, body: dict[str, Any], fault: Fault | None) -> Reply:
        text = "\n".join(str(message["content"]) for message in body["input"])
        asked = self._rated(text, body["model"])
        answers = [decided(question, asked) for question in body["questions"]]
        if fault == "refusal":
            answers = [{"type": "refusal", "name": question.get("name")} for question in body["questions"]]
        used = _usage(text, json.dumps(body["questions"]), ("input_tokens", "output_tokens"))
        return self._done(body, {"answers": answers, "usage": used}, fault)

    def _rated(self, text: str, model: str) -> Asked:
        noise = self.behaviour.noise.get(model, self.rule.noise)
        return rate(text, self.rule, model, noise=noise, position_bias=self.behaviour.position_bias)

    def _done(self, body: Mapping[str, Any], data: dict[str, Any], fault: Fault | None) -> Reply:
        self.billed.calls += 1
        used = data["usage"]
        self.billed.input += used.get("prompt_tokens", used.get("input_tokens", 0))
        self.billed.output += used.get("completion_tokens", used.get("output_tokens", 0))
        data |= {
            "id": f"judgement-{self.billed.calls}", "created": int(time.time()),
            "model": self.behaviour.reported_model or body["model"], "system_fingerprint": self.behaviour.fingerprint,
        }  # fmt: skip
        if fault == "no usage":
            del data["usage"]
        content = json.dumps(data).encode()
        return Reply(200, content[: len(content) // 2] if fault == "malformed" else content)


def _usage(text: str, answer: str, names: tuple[str, str]) -> dict[str, Any]:
    taken, given = len(text.encode("utf-8", "replace")) // 4 + 1, len(tokens_of(answer))
    return {names[0]: taken, names[1]: given, "total_tokens": taken + given}


def _wire(reply: Reply) -> bytes:
    more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers)
    word = _WORDS.get(reply.status, "Error")
    head = _HEADERS.format(status=reply.status, word=word, length=len(reply.body), more=more)
    return head.encode("latin-1") + reply.body


async def _request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes] | None:
    """Path, headers and body of the next request; None where the connection has ended."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")
    pairs = (line.partition(":") for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    length = int(headers.get("content-length", "0"))
    if length > _LARGEST:
        raise ValueError("the request is too large")
    return first.split(" ")[1], headers, await reader.readexactly(length)


def main(arguments: Sequence[str] | None = None) -> None:
    """Serve until Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m ratewise.testing.judge_server", description=__doc__)
    parser.add_argument("--port", type=int, default=8000, help="port on 127.0.0.1")
    parser.add_argument("--table", type=Path, help="write a table of items with the right ratings, then serve")
    parser.add_argument("--items", type=int, default=2000, help="rows of that table")
    parser.add_argument("--noise", type=float, default=1.0, help="error of the judge; 0: it sees the worth exactly")
    parser.add_argument("--only-table", action="store_true", help="write the table and leave")
    given = parser.parse_args(arguments)
    rule = HiddenRule(noise=given.noise)
    if given.table is not None:
        write_rows(given.table, made_up_rows(given.items, rule))
    if given.only_table:
        return
    server = JudgeServer(rule, port=given.port).start()
    print(f"a judge that costs nothing: base_url = {server.base_url!r}; stop it with Ctrl-C", flush=True)
    try:
        assert server._thread is not None
        server._thread.join()
    except KeyboardInterrupt:
        server.stop()


if __name__ == "__main__":
    main()
