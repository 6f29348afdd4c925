"""One connection, one POST at a time: kept between calls, made anew when it is over, encrypted, and through a proxy."""

import asyncio
import base64
import socket
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpcore2
import pytest

from ratewise.judges.client import Client
from ratewise.judges.wire import Wire

from .tls import CERTIFICATE, KEY


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.asked.append(
            (self.client_address[1], self.path, self.headers["Host"], body, self.headers["Proxy-Authorization"])
        )
        if body == b"cut":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{")
            self.close_connection = True
            return
        if body == b"long":
            self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n")
            self.close_connection = True
            try:
                for _ in range(1000):
                    self.server.sent += self.wfile.write(bytes(1_000_000))
            except OSError:
                self.server.cut.set()
            return
        self.send_response(429 if body == b"wait" else 200)
        self.send_header("Content-Length", "2")
        if body == b"wait":
            self.send_header("Retry-After", "7")
        if body == b"last":
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


def _served(context=None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.asked, server.sent, server.cut = [], 0, threading.Event()
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    return server


@pytest.fixture
def server():
    made = _served()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def secure(tmp_path):
    """A server with the certificate, and the certificate's file."""
    for name, text in (("cert.pem", CERTIFICATE), ("key.pem", KEY)):
        (tmp_path / name).write_text(text)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    made = _served(context)
    yield made, tmp_path / "cert.pem"
    made.shutdown()
    made.server_close()


def _posted(wire, address, *bodies):
    """The replies to some bodies, one after the other."""

    async def post():
        try:
            return [await wire.post(address, {"Accept": "application/json"}, body) for body in bodies]
        finally:
            await wire.close()

    return asyncio.run(post())


def test_a_connection_is_kept_until_the_server_closes_it(server):
    port = server.server_address[1]
    said = _posted(Wire(None), f"http://127.0.0.1:{port}/v1/x", b"one", b"wait", b"last", b"x" * 300_000)
    assert [reply.status for reply in said] == [200, 429, 200, 200]
    assert (b"Retry-After", b"7") in said[1].headers
    calls = [asked[0] for asked in server.asked]
    assert calls[0] == calls[1] == calls[2] != calls[3]
    assert server.asked[3][1:3] == ("/v1/x", f"127.0.0.1:{port}")
    assert len(server.asked[3][3]) == 300_000


def test_a_reply_that_breaks_off_is_an_error_and_the_next_call_has_a_connection_of_its_own(server):
    wire, address = Wire(None), f"http://127.0.0.1:{server.server_address[1]}/x"

    async def post():
        with pytest.raises(httpcore2.RemoteProtocolError):
            await wire.post(address, {}, b"cut")
        said = await wire.post(address, {}, b"one")
        await wire.close()
        return said

    assert asyncio.run(post()).content == b"{}"


def test_a_reply_is_read_up_to_the_limit_and_no_further(server):
    client = Client(f"http://127.0.0.1:{server.server_address[1]}/v1")

    async def post():
        said = await client._idle[0].post(f"{client.base_url}/x", {}, b"long", most=1_000_000)
        assert await client.post("x", {}, key="k", tokens=1) == {}  # on a connection of its own
        await client.close()
        return said

    said = asyncio.run(post())
    assert 1_000_000 < len(said.content) < 2_000_000
    assert server.cut.wait(60)
    assert server.sent < 100_000_000  # what lay in buffers on the way


def test_nobody_at_home_is_a_connect_error():
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))  # bound and not listening
        with pytest.raises(httpcore2.ConnectError):
            _posted(Wire(None), f"http://127.0.0.1:{held.getsockname()[1]}/x", b"one")


def test_an_encrypted_connection_is_kept_and_an_unknown_certificate_refused(secure):
    server, certificate = secure
    address = f"https://localhost:{server.server_address[1]}/x"
    _posted(Wire(ssl.create_default_context(cafile=certificate)), address, b"one", b"y" * 300_000)
    assert server.asked[0][0] == server.asked[1][0]
    with pytest.raises(httpcore2.ConnectError, match="CERTIFICATE_VERIFY_FAILED"):
        _posted(Wire(ssl.create_default_context()), address, b"one")


def test_a_proxy_of_the_environment_gets_the_call(server, monkeypatch):
    monkeypatch.setenv("http_proxy", f"http://me:w%20rd@127.0.0.1:{server.server_address[1]}")
    client = Client("http://judge.example.com/v1")

    async def post():
        try:
            return await client.post("x", {}, key="k", tokens=1)
        finally:
            await client.close()

    assert asyncio.run(post()) == {}
    assert server.asked[0][1:3] == ("http://judge.example.com/v1/x", "judge.example.com")
    assert server.asked[0][4] == f"Basic {base64.b64encode(b'me:w rd').decode()}"
