"""One connection to a server: a POST goes out in one piece, the reply comes back whole, or up to a limit.

Most of a call's processor time goes to the layers of an HTTP client: pools, models of requests, one event loop behind
another. None of them is needed for one POST at a time to one address. So HTTP/1.1 by httpcore2, which httpx2 stands on,
meets asyncio's own streams here, straight to the server or by way of a proxy.
"""

import asyncio
import ssl
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import unquote, urlsplit

import httpcore2
import httpx2

_KEPT = 5.0  # seconds without a call after which a connection is made anew


class Wire:
    """A connection that takes one call at a time; `trusted` is None for plain HTTP."""

    def __init__(self, trusted: ssl.SSLContext | None, proxy: str | None = None) -> None:
        self.trusted, self.proxy = trusted, proxy
        self._connection: httpcore2.AsyncConnectionInterface | None = None
        self._urls: dict[str, httpcore2.URL] = {}

    async def post(
        self, address: str, headers: Mapping[str, str], content: bytes, *, most: int = 1 << 23
    ) -> httpcore2.Response:
        """The reply to a POST, read to its end, or just beyond `most` bytes; trouble is an error of httpcore2."""
        if address not in self._urls:  # read once: that takes as long as a tenth of a call
            read = httpx2.URL(address)
            self._urls[address] = httpcore2.URL(
                scheme=read.raw_scheme, host=read.raw_host, port=read.port, target=read.raw_path
            )
        url = self._urls[address]
        host = b"[" + url.host + b"]" if b":" in url.host else url.host
        named = [(name.encode("ascii"), value.encode("ascii")) for name, value in headers.items()]
        named += [
            (b"Host", host if url.port is None else host + b":" + str(url.port).encode()),
            (b"Content-Length", str(len(content)).encode()),
        ]
        request = httpcore2.Request("POST", url, headers=named, content=content)
        response = await (await self._ready(url.origin)).handle_async_request(request)
        said = bytearray()
        try:
            async for part in response.aiter_stream():
                said += part
                if len(said) > most:
                    break
        finally:
            await response.aclose()  # a connection with a rest on it is closed
        whole = httpcore2.Response(response.status, headers=response.headers, content=bytes(said))
        whole.read()
        return whole

    async def close(self) -> None:
        if self._connection is not None:
            await self._connection.aclose()

    async def _ready(self, origin: httpcore2.Origin) -> httpcore2.AsyncConnectionInterface:
        """The connection, made anew where the old one is over."""
        old = self._connection
        if old is not None and old.is_idle() and not old.has_expired():
            return old
        await self.close()
        proxy = None
        if self.proxy is not None:
            named = urlsplit(self.proxy)
            known = None if named.username is None else (unquote(named.username), unquote(named.password or ""))
            proxy = httpcore2.Proxy(self.proxy, known)
        pool = httpcore2.AsyncConnectionPool(self.trusted, proxy, keepalive_expiry=_KEPT, network_backend=_Streams())
        self._connection = pool.create_connection(origin)  # of the pool nothing else is used
        return self._connection


class _Stream(httpcore2.AsyncNetworkStream):
    """asyncio's streams. What is written waits for the first read, so that head and body go out together."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._unsent: list[bytes] = []

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
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
        try:
            return _Stream(*await asyncio.open_connection(host, port))
        except OSError as error:
            raise httpcore2.ConnectError(str(error)) from error
