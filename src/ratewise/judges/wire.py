"""One connection to a server: a POST goes out in one piece, the reply comes back whole.

Most of a call's processor time goes to the layers of an HTTP client: pools, models of requests, one event loop behind
another. None of them is needed for one POST at a time to one address. So HTTP/1.1 by httpcore2, which httpx2 stands on,
meets asyncio's own streams here. Through a proxy, httpx2 does all of it.
"""

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Protocol

import httpcore2
import httpx2

_KEPT = 5.0  # seconds without a call after which a connection is made anew
_LINE = "POST"


@dataclass(frozen=True, slots=True)
class WireReply:
    """What the server said."""

    status: int
    content: bytes
    retry_after: str | None


class Wire(Protocol):
    """A connection that takes one call at a time."""

    async def post(self, address: str, headers: Mapping[str, str], content: bytes) -> WireReply:
        """The reply to a POST; trouble is an error of httpx2."""

    async def close(self) -> None:
        """Close the connection."""


@dataclass(slots=True, eq=False)
class Direct:
    """Straight to the server."""

    trusted: ssl.SSLContext | None  # None: for plain HTTP
    _connection: httpcore2.AsyncHTTPConnection | None = field(init=False, default=None)
    _urls: dict[str, httpcore2.URL] = field(init=False, default_factory=dict)

    async def post(self, address: str, headers: Mapping[str, str], content: bytes) -> WireReply:
        """The reply to a POST; trouble is an error of httpx2."""
        url = self._url(address)
        named = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
        named += [(b"Host", _host(url)), (b"Content-Length", str(len(content)).encode())]
        request = httpcore2.Request(_LINE, url, headers=named, content=content)
        try:
            response = await (await self._ready(url)).handle_async_request(request)
            try:
                body = await response.aread()
            finally:
                await response.aclose()
        except httpcore2.ConnectError as error:
            raise httpx2.ConnectError(str(error)) from None
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.ConnectionNotAvailable) as error:
            raise httpx2.NetworkError(str(error) or type(error).__name__) from None
        later = next((value for name, value in response.headers if name.lower() == b"retry-after"), None)
        return WireReply(response.status, body, None if later is None else later.decode("latin-1"))

    async def close(self) -> None:
        """Close the connection."""
        if self._connection is not None:
            await self._connection.aclose()

    async def _ready(self, url: httpcore2.URL) -> httpcore2.AsyncHTTPConnection:
        """The connection, made anew where the old one is over."""
        old = self._connection
        if old is not None and old.is_idle() and not old.has_expired():
            return old
        if old is not None:
            await old.aclose()
        self._connection = httpcore2.AsyncHTTPConnection(
            url.origin, ssl_context=self.trusted, keepalive_expiry=_KEPT, network_backend=_Streams()
        )
        return self._connection

    def _url(self, address: str) -> httpcore2.URL:
        """The address, read once: that takes as long as a tenth of a call."""
        if address not in self._urls:
            read = httpx2.URL(address)
            self._urls[address] = httpcore2.URL(
                scheme=read.raw_scheme, host=read.raw_host, port=read.port, target=read.raw_path
            )
        return self._urls[address]


def _host(url: httpcore2.URL) -> bytes:
    host = b"[" + url.host + b"]" if b":" in url.host else url.host
    return host if url.port is None else host + b":" + str(url.port).encode()


@dataclass(slots=True, eq=False)
class Proxied:
    """By way of a proxy."""

    transport: httpx2.AsyncHTTPTransport

    async def post(self, address: str, headers: Mapping[str, str], content: bytes) -> WireReply:
        """The reply to a POST; trouble is an error of httpx2."""
        request = httpx2.Request(_LINE, address, headers=dict(headers), content=content)
        response = await self.transport.handle_async_request(request)
        try:
            await response.aread()
        finally:
            await response.aclose()
        return WireReply(response.status_code, response.content, response.headers.get("retry-after"))

    async def close(self) -> None:
        """Close the connection."""
        await self.transport.aclose()


class _Stream(httpcore2.AsyncNetworkStream):
    """asyncio's streams. What is written waits for the first read, so that head and body go out together."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._unsent: list[bytes] = []

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Keep what is to be sent."""
        self._unsent.append(buffer)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Send what was kept, then wait for the server's words; b"" at their end."""
        try:
            if self._unsent:
                self._writer.write(b"".join(self._unsent))
                self._unsent.clear()
                await self._writer.drain()
            return await self._reader.read(max_bytes)
        except OSError as error:
            raise httpcore2.ReadError(str(error)) from error

    async def aclose(self) -> None:
        """Close the connection without waiting for the server's goodbye."""
        with suppress(OSError, RuntimeError):  # RuntimeError: its event loop is over
            self._writer.close()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.AsyncNetworkStream:
        """The same connection, encrypted."""
        try:
            await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except (OSError, EOFError) as error:
            raise httpcore2.ConnectError(str(error) or type(error).__name__) from error
        return self

    def get_extra_info(self, info: str) -> Any:
        """Whether the server has hung up, and how the connection is encrypted."""
        if info == "is_readable":
            return self._reader.at_eof() or self._writer.is_closing()
        return self._writer.get_extra_info("ssl_object") if info == "ssl_object" else None


class _Streams(httpcore2.AsyncNetworkBackend):
    """Connections by asyncio."""

    async def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:  # fmt: skip
        """A new connection."""
        try:
            return _Stream(*await asyncio.open_connection(host, port))
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
