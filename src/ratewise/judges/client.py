"""One HTTP call after the other to an OpenAI-compatible endpoint: limits, waiting as told, and plain words for trouble.

Nothing is retried here that may have cost money: such a call ends as `CallError`, its price goes into the ledger, and
whoever keeps the ledger asks again. What the server turned away unread (429, or 503 with Retry-After) costs nothing;
it is sent again after the pause that the server asks for, and all other calls wait as long. Such pauses are told, and
where they come to more than `patience` without any other answer between them, the call ends.
"""

import asyncio
import hashlib
import json
import os
import random
import re
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from decimal import Decimal
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from ratewise.errors import InputError, RatewiseWarning

if TYPE_CHECKING:
    import httpcore2

    from ratewise.judges.wire import Wire

_BUSY = (429, 503, 529)
_TURNED_AWAY = 12  # times in a row that a call may be told to wait
PATIENCE = 900.0  # seconds that a server may keep its callers waiting; beyond that it is taken to be down
_FOR_EVER = 1e9  # seconds, as many as are told from more
_WORTH_TELLING = 5.0  # seconds
_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 60.0
_NO_MONEY = b"insufficient_quota"  # a service's word for an account that is empty: waiting does not help
_LARGEST = 8_000_000  # bytes of a reply; the rest of a longer one is not read
_SHOWN = 200  # characters of a server's own words
_HEADERS = {"Content-Type": "application/json", "Accept": "application/json", "User-Agent": "ratewise"}
HIDDEN = "***"
_HERE = ("localhost", "127.0.0.1", "::1")
_CONFIRMED = "RATEWISE_KEY_OVER_HTTP"  # hosts, separated by commas


class CallError(Exception):
    """A call without a reply that can be used: why, the HTTP status if there was one, and what that means for money."""

    def __init__(self, reason: str, *, status: int | None = None, billed: bool = False, after: float = 0.0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status
        self.billed = billed  # whether the server may have done the work, so that it has to be counted
        self.after = after  # seconds to wait before the next attempt; above the client's patience, all waits together
        self.paid = Decimal(0)  # for everything on the way to this trouble


class Pace:
    """A steady pace of so much a minute, without bursts: many services enforce their limits by the second."""

    def __init__(self, per_minute: float | None) -> None:
        self._per_minute, self._next = per_minute, 0.0

    async def take(self, amount: float) -> None:
        if self._per_minute is None:
            return
        now = time.monotonic()
        start = max(now, self._next)
        self._next = start + 60.0 * amount / self._per_minute
        if start > now:
            await asyncio.sleep(start - now)


class Client:
    """Calls to an endpoint within its limits; the key is read from the environment when the client is made."""

    def __init__(
        self, base_url: str, key_env: str | None = None, *, timeout: float = 60.0, concurrency: int = 1,
        per_minute: float | None = None, tokens_per_minute: float | None = None, patience: float = PATIENCE,
    ) -> None:  # fmt: skip
        self.base_url, self.timeout, self.patience = base_url, timeout, patience
        self.waits = 0  # times that the server has asked to wait
        self._secret = "" if key_env is None else _key(key_env)
        if self._secret:
            _check_readable(base_url)
        self._headers = _HEADERS | ({"Authorization": f"Bearer {self._secret}"} if self._secret else {})
        self._idle = _wires(base_url, concurrency)
        self._free = asyncio.Semaphore(concurrency)
        self._calls, self._tokens = Pace(per_minute), Pace(tokens_per_minute)
        self._not_before = self._waited = 0.0  # seconds that the server has asked for since another answer
        self._tell_at = _WORTH_TELLING  # seconds of them

    async def post(self, path: str, body: Mapping[str, Any], *, key: str, tokens: int) -> dict[str, Any]:
        """The reply as a JSON object. `key` stays the same if the call is repeated after a crash.

        It may be any text. The server gets a digest of it and of the request: the same header means the same bytes.
        """
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        key = hashlib.sha256(b"\n".join((key.encode("utf-8", "replace"), path.encode(), content))).hexdigest()
        pause = _FIRST_PAUSE
        for turn in range(_TURNED_AWAY):
            while (left := self._not_before - time.monotonic()) > 0:
                await asyncio.sleep(left)
            await self._calls.take(1)
            await self._tokens.take(tokens)
            response = await self._send(path, content, key)
            later = next((value for name, value in response.headers if name.lower() == b"retry-after"), None)
            wait = None if later is None else retry_after(later.decode("latin-1"))
            if response.status not in _BUSY or (response.status != 429 and wait is None):
                self._waited, self._tell_at = 0.0, _WORTH_TELLING
                return self._read(response)
            seconds = wait if wait is not None else pause * random.uniform(0.5, 1.0)
            now = time.monotonic()
            waited = self._waited + max(now + seconds - max(self._not_before, now), 0.0)
            if turn == _TURNED_AWAY - 1 or waited > self.patience or _NO_MONEY in response.content:
                break
            self.waits += 1
            self._waited = waited
            self._tell_of_wait(seconds)
            seconds += random.uniform(0.0, min(0.1 * seconds, 1.0))  # all calls wait, and do not knock together
            self._not_before = max(self._not_before, now + seconds)
            pause = min(2 * pause, _LONGEST_PAUSE)
        after = waited if waited > self.patience else wait or 0.0
        raise CallError(f"the server is too busy: {self._words(response)}", status=response.status, after=after)

    def _tell_of_wait(self, seconds: float) -> None:
        """Tell of a wait that people would take for a standstill, and again when they have waited twice as long."""
        if self._waited < self._tell_at:
            return
        self._tell_at = 2 * self._waited
        server = urlsplit(self.base_url).netloc
        warnings.warn(
            f"{server} is busy and asks to wait {seconds:,.0f} s, {self._waited:,.0f} s so far; above "
            f"{self.patience:,.0f} s (patience) the run ends, and everything is kept",
            RatewiseWarning,
            stacklevel=2,
        )

    async def close(self) -> None:
        for http in self._idle:
            await http.close()

    async def _send(self, path: str, content: bytes, key: str) -> "httpcore2.Response":
        import httpcore2

        address = f"{self.base_url.rstrip('/')}/{path}"
        try:
            async with self._free, asyncio.timeout(self.timeout):
                wire = self._idle.pop()  # the one used last
                try:
                    return await wire.post(address, self._headers | {"Idempotency-Key": key}, content, most=_LARGEST)
                finally:
                    self._idle.append(wire)
        except (TimeoutError, httpcore2.TimeoutException):
            reason, billed = f"no answer within {self.timeout:g} s", True
        except httpcore2.ConnectError as error:
            reason, billed = f"cannot reach the server: {error}", False
        except (
            httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ProxyError, httpcore2.ConnectionNotAvailable,
            OSError,
        ) as error:  # fmt: skip
            reason, billed = f"the connection was cut: {str(error) or type(error).__name__}", True
        raise CallError(self.safe(reason), billed=billed) from None  # the original holds the request, and so the key

    def _read(self, response: "httpcore2.Response") -> dict[str, Any]:
        status = response.status
        if status != 200:
            raise CallError(f"HTTP {status}: {self._words(response)}", status=status)
        if len(response.content) > _LARGEST:
            raise CallError(f"the reply is longer than {_LARGEST:,} bytes", status=status, billed=True)
        try:
            data = json.loads(response.content)
        except (ValueError, RecursionError):
            data = None
        if not isinstance(data, dict):
            raise CallError("the reply is no JSON object", status=status, billed=True)
        return data

    def _words(self, response: "httpcore2.Response") -> str:
        """What the server says about an error, without the key, in one line."""
        text = response.content[:4000].decode("utf-8", "replace")
        with suppress(ValueError, TypeError, KeyError, RecursionError):
            found = json.loads(response.content)["error"]
            text = str(found["message"] if isinstance(found, dict) else found)
        return self.safe(text) or "no reason was given"

    def safe(self, text: str) -> str:
        """Foreign text in one line, without the key."""
        hidden = text.replace(self._secret, HIDDEN) if self._secret else text
        line = " ".join("".join(c if c.isprintable() else " " for c in hidden).split())
        return line if len(line) <= _SHOWN else line[: _SHOWN - 3] + "..."


def retry_after(value: str, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> float | None:
    """Seconds that a Retry-After header asks for, given as a number or as a date; None where it says nothing."""
    if re.fullmatch(r"\s*[0-9]+(\.[0-9]+)?\s*", value):
        return min(float(value), _FOR_EVER)
    try:
        moment = parsedate_to_datetime(value)
    except (TypeError, ValueError):
        return None
    moment = moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    return max((moment - now()).total_seconds(), 0.0)


def _key(variable: str) -> str:
    found = os.environ.get(variable, "").strip()
    if not found:
        raise InputError(f"the environment variable {variable} is empty; put the judge's key into it")
    if not (found.isascii() and found.isprintable()):
        raise InputError(f"the environment variable {variable} holds no key: only plain ASCII can be sent")
    return found


def _check_readable(address: str) -> None:
    """Refuse to send a key to another machine in readable form, unless whoever has the key has confirmed it.

    Not the TOML, which may be a stranger's.
    """
    parts = urlsplit(address)
    if parts.scheme != "http" or parts.hostname in _HERE:
        return
    said = f"the key goes to {parts.hostname} over http://, where everyone on the way can read it"
    if parts.hostname not in os.environ.get(_CONFIRMED, "").split(","):
        raise InputError(
            f"{said}; write base_url with https://, or confirm it in the environment: {_CONFIRMED}={parts.hostname}"
        )
    warnings.warn(f"{said} (confirmed in {_CONFIRMED})", RatewiseWarning, stacklevel=2)


def _wires(address: str, count: int) -> "list[Wire]":
    """A wire for each call at once, by the proxy that the environment names (HTTPS_PROXY, ALL_PROXY), if it does."""
    try:
        import httpx2

        from ratewise.judges.wire import Wire
    except ImportError:
        raise InputError("LLM judges need httpx2; install it with: pip install 'ratewise[llm]'") from None
    parts = urlsplit(address)
    is_here, named = parts.hostname in _HERE, getproxies()
    proxy = named.get(parts.scheme) or named.get("all")
    if is_here or proxy_bypass(parts.hostname or ""):  # no proxy leads to this machine, nor where NO_PROXY says so
        proxy = None
    trusted = None if is_here and parts.scheme == "http" else httpx2.create_ssl_context()  # once: it takes a while
    try:
        if httpx2.URL(address).scheme not in ("http", "https"):
            raise ValueError("it must begin with http:// or https://")
        proxy = proxy if proxy is None or "://" in proxy else f"http://{proxy}"
        return [Wire(trusted, proxy) for _ in range(count)]
    except (httpx2.InvalidURL, ValueError) as error:
        raise InputError(f"base_url cannot be used: {error}") from None
