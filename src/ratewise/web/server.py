"""`ratewise serve`: the pages of a campaign over HTTP, and the campaign itself beside them in the same process."""

import ipaddress
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from types import FrameType
from urllib.parse import urlsplit

import uvicorn
from starlette.types import ASGIApp

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError, RatewiseError, StoreError
from ratewise.store.accounts import Accounts
from ratewise.web.app import make_app
from ratewise.web.connections import SLOWEST, Connection, Listener, ProxiedConnection
from ratewise.web.live import LiveView
from ratewise.web.service import ADDRESS, PORT, Door, Service, address_of_pages

_LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
_BACKLOG = 128  # calls that wait to be taken
_GRACE = 5  # seconds that requests under way have to finish
_PAUSE, _LONGEST_PAUSE = 1.0, 60.0  # seconds before what died begins again: twice as long each time


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
    with ExitStack() as held, bind(listening) as bound:
        desk = held.enter_context(campaign.labelling())
        look = held.enter_context(campaign.watch())
        service = Service(desk, Accounts(desk.store), door)
        before = address_of_pages(desk)
        if listening.port:
            desk.store.set_meta(ADDRESS, listening.url)
        if before not in (None, listening.url) and any(person.active for person in service.accounts.list()):
            say(f"ratewise: links that begin with {before} begin with {listening.url} now")
        board = LiveView(look)
        server = Server(make_app(service, board), listening, board.closing)
        stop = threading.Event()
        beside = threading.Thread(
            target=keep_running,
            args=(lambda: campaign.run(stop=stop), stop, say),
            daemon=True,
            name="ratewise-campaign",
        )
        if runs:
            beside.start()
        if ready is not None:
            ready(listening.url, service)
        try:
            with suppress(KeyboardInterrupt):  # uvicorn raises it again when it has shut down
                server.run(sockets=[bound])
        finally:
            stop.set()
            if runs:
                beside.join(timeout=_GRACE)


class Server(uvicorn.Server):
    """Closes connections that keep it waiting, and tells open streams to end before it waits for them."""

    def __init__(self, app: ASGIApp, listening: Listening, closing: threading.Event) -> None:
        super().__init__(uvicorn.Config(
            app, log_level="error", access_log=False, server_header=False, proxy_headers=False, lifespan="off",
            ssl_certfile=listening.certificate, ssl_keyfile=listening.key, timeout_graceful_shutdown=_GRACE,
            http=ProxiedConnection if listening.door.proxied else Connection, ws="none",
            loop="asyncio", backlog=_BACKLOG,  # its loop takes calls by `Listener.accept`
        ))  # fmt: skip
        self._closing = closing

    async def on_tick(self, counter: int) -> bool:
        """Ten times a second."""
        for one in tuple(self.server_state.connections):
            if isinstance(one, Connection) and one.waits and one.loop.time() - one.since > SLOWEST:
                one.drop()
        return await super().on_tick(counter)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._closing.set()
        super().handle_exit(sig, frame)


def keep_running(run: Callable[[], object], stop: threading.Event, say: Callable[[str], None]) -> None:
    """Run until that returns why it ended, or an error says what somebody must do; what dies otherwise begins again.

    Each is said once, and people go on with what is open.
    """
    pause, again = _PAUSE, True
    while again and not stop.is_set():
        began = time.monotonic()
        try:
            told, again = f"the campaign is at its end: {run()}", False
            if stop.is_set():
                return
        except Exception as error:
            again = not isinstance(error, RatewiseError) or (isinstance(error, StoreError) and error.may_pass)
            if time.monotonic() - began > _LONGEST_PAUSE:
                pause = _PAUSE
            dead = f"what plans the campaign died ({type(error).__name__}: {error}); it begins again in {pause:g} s"
            told = dead if again else str(error)
        with suppress(OSError):  # nobody reads it any more
            say(f"ratewise: {told}")
        if again:
            stop.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)


def bind(listening: Listening) -> Listener:
    """A socket that listens already: from here on callers wait instead of being turned away."""
    if not 0 <= listening.port <= 65535:
        raise InputError(f"--port must be from 0 to 65535; got {listening.port}")
    family = socket.AF_INET6 if ":" in listening.host else socket.AF_INET
    try:
        made = socket.create_server((listening.host.strip("[]"), listening.port), family=family, backlog=_BACKLOG)
        bound = Listener(fileno=made.detach())
        bound.secure = listening.certificate is not None
        return bound
    except OSError as error:
        raise InputError(
            f"cannot listen at {listening.host} port {listening.port} ({error.strerror or error}); choose another with "
            "--port"
        ) from None
