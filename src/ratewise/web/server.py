"""`ratewise serve`: the pages of a campaign over HTTP, and the campaign itself beside them in the same process."""

import ipaddress
import os
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import FrameType
from urllib.parse import urlsplit

import uvicorn

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError, RatewiseError
from ratewise.store.accounts import Accounts
from ratewise.web.app import make_app
from ratewise.web.live import Board
from ratewise.web.service import Door, Service

PORT = 8765
_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_GRACE = 5  # seconds that requests under way have to finish


@dataclass(frozen=True, slots=True)
class Listening:
    """Where the server listens, and how browsers reach it."""

    host: str = "127.0.0.1"
    port: int = PORT
    certificate: str | None = None
    key: str | None = None
    public_url: str | None = None

    @property
    def door(self) -> Door:
        """Refuses to be reached from elsewhere without TLS or a proxy that has it."""
        if (self.certificate is None) != (self.key is None):
            raise InputError("--tls-certificate and --tls-key go together; give both files")
        for file in filter(None, (self.certificate, self.key)):
            if not os.path.isfile(file):
                raise InputError(f"{file} is no file; name the certificate and its key")
        tls = self.certificate is not None
        named = None if self.public_url is None else urlsplit(self.public_url)
        if named is not None and (named.scheme != "https" or not named.hostname):
            raise InputError(
                f"--public-url must be an https address, as in https://label.example.org; got {self.public_url}"
            )
        if not is_loopback(self.host) and not tls and named is None:
            raise InputError(
                f"{self.host} can be reached from other machines, so passwords and answers need TLS; give "
                "--tls-certificate and --tls-key, or the https address of your reverse proxy with --public-url"
            )
        hosts = (*_LOOPBACK, *([named.hostname] if named and named.hostname else ["*"] if tls else []))
        return Door(secure=tls or named is not None, proxied=named is not None, hosts=hosts)

    @property
    def url(self) -> str:
        """The address for browsers, without a slash at its end."""
        if self.public_url is not None:
            return self.public_url.rstrip("/")
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http{'s' if self.certificate else ''}://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens there."""
    if host == "localhost":
        return True
    with suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    return False


def serve(
    campaign: Campaign,
    listening: Listening,
    *,
    ready: Callable[[str, Service], None] | None = None,
    say: Callable[[str], None] = print,
    runs: bool = True,
) -> None:
    """Serve until Ctrl-C, and run the campaign beside where no other process does; not at all with `runs=False`."""
    door = listening.door
    with ExitStack() as held, _bound(listening) as bound:
        desk = held.enter_context(campaign.labelling())
        look = held.enter_context(campaign.watch())
        service = Service(desk, Accounts(desk.store), door)
        board = Board(look)
        config = uvicorn.Config(
            make_app(service, board), log_level="warning", access_log=False, server_header=False,
            proxy_headers=False, ssl_certfile=listening.certificate, ssl_keyfile=listening.key, lifespan="off",
            timeout_graceful_shutdown=_GRACE,
        )  # fmt: skip
        stop = threading.Event()
        beside = threading.Thread(target=_run, args=(campaign, stop, say), daemon=True)
        if runs:
            beside.start()
        if ready is not None:
            ready(listening.url, service)
        try:
            with suppress(KeyboardInterrupt):  # uvicorn raises it again when it has shut down
                _Server(config, board.closing).run(sockets=[bound])
        finally:
            stop.set()
            if runs:
                beside.join(timeout=_GRACE)


class _Server(uvicorn.Server):
    """Tells open streams to end before it waits for them."""

    def __init__(self, config: uvicorn.Config, closing: threading.Event) -> None:
        super().__init__(config)
        self._closing = closing

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._closing.set()
        super().handle_exit(sig, frame)


def _run(campaign: Campaign, stop: threading.Event, say: Callable[[str], None]) -> None:
    """The campaign's own loop; what stops it is said once, and people go on with what is open."""
    try:
        reason = campaign.run(stop=stop)
    except RatewiseError as error:
        say(f"ratewise: {error}")
    else:
        if not stop.is_set():
            say(f"ratewise: the campaign is at its end: {reason}")


def _bound(listening: Listening) -> socket.socket:
    """A socket that listens already: from here on callers wait instead of being turned away."""
    if not 0 <= listening.port <= 65535:
        raise InputError(f"--port must be from 0 to 65535; got {listening.port}")
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    try:
        return socket.create_server((listening.host.strip("[]"), listening.port), family=family, backlog=128)
    except OSError as error:
        raise InputError(
            f"cannot listen at {listening.host} port {listening.port} ({error.strerror or error}); choose another with "
            "--port"
        ) from None
