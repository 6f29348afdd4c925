"""Strangers who open connections and never finish what they began, beside a campaign that people label.

The server may have few files and sockets open, the person calls from the address of the strangers, and the soak has a
thousand of them.
"""

import os
import resource
import socket
import ssl
import threading
from contextlib import ExitStack, suppress

import httpx2
import psutil
import pytest

from ratewise.errors import RaterDownError, StoreError
from ratewise.web import connections, server
from ratewise.web.service import add_person

from ..judges.tls import CERTIFICATE, KEY
from ..waiting import SECONDS, until
from .making import served, service_of, write
from .test_server import asked, end, free_port, start

HALF = {
    "nothing": b"",
    "half a header": b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ",
    "half a body": b"POST /api/v1/answers HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 60000\r\n\r\n{",
    "chunks without an end": b"POST /api/v1/next HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"1\r\n{\r\n",
    "half of the next one": b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\nGET /healthz HTTP/1.1\r\n",
}
WHOLE = {
    "answers that nobody reads": b"GET /static/label.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 200,
    "no HTTP": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
    "a header without an end": b"GET / HTTP/1.1\r\nX-A: " + b"a" * 100_000,
    "another protocol": b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
    "a wrong link": b"GET /join/wrong HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
}


def stranger(port, number, held, *, address="127.0.0.1"):
    """A connection that stays open with something unfinished on it, kept by the test."""
    made = held.enter_context(socket.socket())
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.bind((address, 0))
    made.settimeout(SECONDS)
    made.connect(("127.0.0.1", port))
    made.setblocking(False)
    sent = [*HALF.values(), *WHOLE.values()][number % (len(HALF) + len(WHOLE))]
    with suppress(OSError):  # it is closed already
        made.send(sent)
    return made


def is_closed(made):
    """Whether the server has closed it; what it has answered is read."""
    try:
        while made.recv(65536):
            pass
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def named(store, request):
    """The store of a campaign's TOML."""
    return "support.sqlite" if store == "sqlite" else request.getfixturevalue("database")


def certificate(folder):
    """The files of a certificate and its key."""
    for name, text in (("cert.pem", CERTIFICATE), ("key.pem", KEY)):
        (folder / name).write_text(text)
    return {"certificate": str(folder / "cert.pem"), "key": str(folder / "key.pem")}


@pytest.mark.parametrize(
    ("strangers", "files", "addresses", "secure", "store"),
    [
        pytest.param(300, 256, 1, False, "sqlite", id="short"),
        pytest.param(1_100, 1_024, 1, False, "sqlite", id="one address", marks=pytest.mark.soak),
        pytest.param(1_000, 1_024, 50, False, "postgresql", id="many addresses", marks=pytest.mark.soak),
        pytest.param(1_100, 1_024, 1, True, "sqlite", id="hands that nobody shakes", marks=pytest.mark.soak),
    ],
)
def test_strangers_do_not_stop_a_campaign(tmp_path, strangers, files, addresses, secure, store, request):
    """All answers are saved, rounds go on being planned, and the server says that it is well, to the end."""
    campaign = write(tmp_path, store=named(store, request))
    token = add_person(campaign, "ann", admin=False, url="http://x")["link"].rsplit("/", 1)[1]
    port = free_port()
    keys = certificate(tmp_path)
    options = ("--tls-certificate", keys["certificate"], "--tls-key", keys["key"]) if secure else ()
    running = start(tmp_path, port, *options)
    resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (files, files))
    try:
        with ExitStack() as held:
            for number in range(strangers):
                stranger(port, number * (not secure), held, address=f"127.0.0.{1 + number % addresses}")
            person = Person(held, f"http{'s' * secure}://127.0.0.1:{port}", token, keys["certificate"])

            def others_come():
                assert person.get("/healthz").status_code == 200
                for number in range(30):
                    stranger(port, number * (not secure), held)

            answered = label_to_the_end(person, meanwhile=others_come)
            assert len(os.listdir(f"/proc/{running.pid}/fd")) < 3 * files // 4
            assert person.get("/healthz").text == "ok\n"  # at its end
        assert running.poll() is None
    finally:
        end(running)
    assert campaign.status().labels == answered > 10
    assert campaign.verify().differences == []


def label_to_the_end(person, meanwhile=lambda: None):
    """How many answers it took."""
    answered = 0
    while (found := until(lambda: asked(person, person.headers))) != "ended":
        body = {"key": found["key"], "rating": 1}
        assert person.post("/api/v1/answers", json=body, headers=person.headers).status_code in (200, 201)
        answered += 1
        meanwhile()
    return answered


class Person:
    """Labels like the page: where a connection breaks, the same is sent again."""

    def __init__(self, held, address, token, certificate):
        trusted = ssl.create_default_context(cafile=certificate)
        self.client = held.enter_context(httpx2.Client(base_url=address, verify=trusted, timeout=SECONDS))
        assert self.get(f"/join/{token}").status_code == 303
        self.headers = {"X-CSRF-Token": self.get("/api/v1/me").json()["csrf"]}

    def get(self, path):
        return self._until_it_arrives("GET", path)

    def post(self, path, **keys):
        return self._until_it_arrives("POST", path, **keys)

    def _until_it_arrives(self, method, path, **keys):
        def reply():
            try:
                return [self.client.request(method, path, **keys)]
            except httpx2.TransportError:
                return []

        return until(reply)[0]


def admin(site, held, address):
    """An admin's browser, and the lines of the live view's stream: an answer that goes on and on."""
    client = held.enter_context(httpx2.Client(base_url=address, timeout=SECONDS))
    client.get(f"/join/{site.service.accounts.add('boss', admin=True)}")
    news = held.enter_context(client.stream("GET", "/api/v1/live/events")).iter_lines()
    assert next(news).startswith("data:")
    return client, news


def hears_news(site, news):
    site.service.labelling.store.note("news")
    assert next(line for line in news if line.startswith("data:"))


def callers(port):
    """The ports of those who are connected to a server of this process."""
    found = psutil.Process().net_connections("tcp")
    return {one.raddr.port for one in found if one.raddr and one.laddr.port == port}


def test_who_keeps_the_server_waiting_is_let_go(site, monkeypatch):
    monkeypatch.setattr(connections, "SLOWEST", 0.5)
    monkeypatch.setattr(server, "SLOWEST", 0.5)
    with ExitStack() as held, served(site.service, site.board) as address:
        port = int(address.rsplit(":", 1)[1])
        _, news = admin(site, held, address)
        deaf = stranger(port, [*HALF, *WHOLE].index("answers that nobody reads"), held)
        made = {name: stranger(port, number, held) for number, name in enumerate(HALF | WHOLE)}
        slow = stranger(port, 1, held)  # half a header, and now and then another byte of it

        def drip():
            with suppress(OSError):
                slow.send(b"a")

        for name, one in {**made, "a drip": slow}.items():
            until(lambda one=one: is_closed(one), each=drip, why=lambda name=name: name)
        until(lambda: deaf.getsockname()[1] not in callers(port))
        hears_news(site, news)  # an answer that goes on is no waiting


def test_from_one_address_the_slowest_makes_room(site, monkeypatch):
    """The newest is served, the oldest goes; another address keeps what it has, and so does who is being served."""
    monkeypatch.setattr(connections, "_MOST", 40)
    with ExitStack() as held, served(site.service, site.board) as address:
        port = int(address.rsplit(":", 1)[1])
        client, news = admin(site, held, address)
        elsewhere = stranger(port, 1, held, address="127.0.0.2")
        here = [stranger(port, 1, held) for _ in range(30)]
        until(lambda: sum(map(is_closed, here)) == 21)  # nine wait beside the stream
        assert all(map(is_closed, here[:21]))
        assert not is_closed(elsewhere)
        assert client.get("/api/v1/me").json()["name"] == "boss"
        hears_news(site, news)


def test_over_tls_the_slowest_to_shake_hands_makes_room(site, monkeypatch, tmp_path):
    monkeypatch.setattr(connections, "_MOST", 40)
    files = certificate(tmp_path)
    with ExitStack() as held, served(site.service, site.board, **files) as address:
        port = int(address.rsplit(":", 1)[1])
        elsewhere = stranger(port, 0, held, address="127.0.0.2")
        here = [stranger(port, 0, held) for _ in range(30)]
        until(lambda: sum(map(is_closed, here)) == 20)
        assert all(map(is_closed, here[:20]))
        trusted = ssl.create_default_context(cafile=files["certificate"])
        with httpx2.Client(base_url=address, verify=trusted, timeout=SECONDS) as client:
            assert client.get("/").status_code == 401
        assert not is_closed(elsewhere)


def test_a_server_takes_no_call_that_would_leave_nothing_to_the_campaign():
    """Over TLS a connection takes a descriptor before it is counted."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as held:
        listening = held.enter_context(
            connections.Listener(fileno=socket.create_server(("127.0.0.1", 0), backlog=300).detach())
        )

        def take_calls():
            while True:
                held.enter_context(socket.create_connection(listening.getsockname(), timeout=SECONDS))
                held.enter_context(listening.accept()[0])

        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
            with pytest.raises(ConnectionAbortedError):
                take_calls()
            with open(os.devnull):
                pass  # the campaign can still open files
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


# What plans the campaign


def test_what_dies_begins_again_and_is_told(begun, monkeypatch):
    monkeypatch.setattr(server, "_PAUSE", 0.01)
    deaths = [OSError(24, "Too many open files"), StoreError("a full disk", may_pass=True), KeyError("a bug")]
    told, stop, left = [], threading.Event(), list(deaths)

    def run():
        if left:
            raise left.pop(0)
        return begun.run(stop=stop)

    with service_of(begun, run=False) as (service, _):
        beside = threading.Thread(target=server.keep_running, args=(run, stop, told.append))
        beside.start()
        until(service.labelling.store.running)
        stop.set()
        beside.join(SECONDS)
    assert [type(error).__name__ in line for error, line in zip(deaths, told, strict=True)] == [True] * 3
    assert all("begins again" in line for line in told)


def test_a_server_goes_on_when_what_failed_is_over(tmp_path):
    """For a while nothing can be opened: what plans the campaign dies, is begun again, and health says both."""
    campaign = write(tmp_path)
    token = add_person(campaign, "ann", admin=False, url="http://x")["link"].rsplit("/", 1)[1]
    port = free_port()
    with open(tmp_path / "told", "w") as told, ExitStack() as held:
        running = start(tmp_path, port, stderr=told)
        held.callback(end, running)
        person = Person(held, f"http://127.0.0.1:{port}", token, certificate(tmp_path)["certificate"])
        until(lambda: person.get("/healthz").status_code == 200)
        _, hard = resource.prlimit(running.pid, resource.RLIMIT_NOFILE)
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (8, hard))
        until(lambda: "begins again" in (tmp_path / "told").read_text())
        resource.prlimit(running.pid, resource.RLIMIT_NOFILE, (1_024, hard))
        until(lambda: person.get("/healthz").status_code == 200)
        answered = label_to_the_end(person)
    assert campaign.status().labels == answered > 10


@pytest.mark.parametrize("error", [RaterDownError("down"), StoreError("another process runs it")])
def test_what_somebody_must_look_at_is_told_once(error):
    told = []

    def run():
        raise error

    server.keep_running(run, threading.Event(), told.append)
    assert told == [f"ratewise: {error}"]


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
def test_health_is_what_plans(tmp_path, store, request):
    """503 where nothing plans, 200 while something does; at the end nothing has to (see above)."""
    begun = write(tmp_path, store=named(store, request))
    with service_of(begun) as (service, board), served(service, board) as address:
        assert httpx2.get(f"{address}/healthz").status_code == 503
        stop = threading.Event()
        beside = threading.Thread(target=lambda: begun.run(stop=stop))
        beside.start()
        until(lambda: httpx2.get(f"{address}/healthz").status_code == 200)
        stop.set()
        beside.join(SECONDS)
        assert httpx2.get(f"{address}/healthz").status_code == 503
