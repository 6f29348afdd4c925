"""Connections, as strangers may use them: half a request without an end, an answer never read, a thousand at once.

Of a connection that waits for the other side, nothing is lost when it is closed. So it is closed when it has waited
for `SLOWEST` seconds; and where too many are open, from one address or in all, the one that has waited longest goes and
the new one is served. Whoever opens many closes their own. Half of what the process may open is left to the campaign.
"""

import asyncio
import socket
from contextlib import suppress
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

SLOWEST = 20.0  # seconds for a request to arrive, headers and body, and for a part of an answer to be taken
_MOST = 512  # connections at once
_SHARE = 4  # one address has at most a quarter of them


def descriptors() -> int:
    """How many files and sockets this process may have open."""
    soft = -1 if resource is None else resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return soft if soft > 0 else 2 * _MOST


def most() -> int:
    """How many connections there may be."""
    return min(_MOST, descriptors() // 2)


class Connection(H11Protocol):
    """One connection of a browser, or of somebody else; h11 keeps no header beyond 64 kB."""

    share = _SHARE
    since = 0.0  # when it began to wait for the other side

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since = self.loop.time()
        _shaking.pop(transport.get_extra_info("socket").fileno(), None)
        _make_room([one for one in self._all if one.address == self.address], most() // self.share)
        _make_room(self._all, most())

    def on_response_complete(self) -> None:
        self.since = self.loop.time()
        super().on_response_complete()

    def pause_writing(self) -> None:
        self.since = self.loop.time()
        super().pause_writing()

    @property
    def address(self) -> str:
        return self.client[0] if self.client else ""

    @property
    def waits(self) -> bool:
        """Whether the other side is to go on: with a request, its body, or reading; else we are."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body or self.flow.write_paused

    def drop(self) -> None:
        self.connections.discard(self)
        self.transport.abort()

    @property
    def _all(self) -> "list[Connection]":
        return [one for one in self.connections if isinstance(one, Connection)]


class ProxiedConnection(Connection):
    """One from a proxy, which stands for all callers: its address may have them all."""

    share = 1


def _make_room(crowd: list[Connection], limit: int) -> None:
    """Close the one that has waited longest where there are too many; the newest waits, too."""
    if len(crowd) > limit:
        min((one for one in crowd if one.waits), key=lambda one: one.since).drop()


_shaking: dict[int, tuple[socket.socket, str]] = {}  # callers who shake hands over TLS, oldest first, by descriptor


class Listener(socket.socket):
    """A socket that lets nobody in beyond three quarters of what the process may open.

    A caller is a connection once it has shaken hands. Over TLS that takes as long as the caller likes, so those who
    have not done so are held to the same limits here.
    """

    secure = False  # whether hands are shaken

    def accept(self) -> tuple[socket.socket, Any]:
        made, address = super().accept()
        is_full = made.fileno() >= 3 * descriptors() // 4  # the system gives the lowest that is free
        if self.secure:
            _let_go_of_the_slowest(None if is_full else address[0])
        if is_full:
            made.close()
            raise ConnectionAbortedError("too many connections are open")  # asyncio goes on with its other work
        if self.secure:
            _shaking[made.fileno()] = made, address[0]
        return made, address


def _let_go_of_the_slowest(host: str | None) -> None:
    """Of those who shake hands, where there are too many from this address; of all, where no more can come in."""
    for gone in [number for number, (one, _) in _shaking.items() if one.fileno() < 0]:
        del _shaking[gone]
    slow = [number for number, (_, one) in _shaking.items() if host is None or one == host]
    if len(slow) >= (1 if host is None else most() // _SHARE):
        with suppress(OSError):  # its caller has gone
            _shaking.pop(slow[0])[0].shutdown(socket.SHUT_RDWR)  # the loop sees its end, and closes it
