"""Where the server listens, what it insists on, and a whole one in a process of its own."""

import json
import signal
import subprocess
import sys

import httpx2
import pytest

from ratewise.errors import InputError
from ratewise.web.server import Listening, is_loopback
from ratewise.web.service import add_person

from ..waiting import SECONDS, until
from .making import write


def test_only_this_machine_unless_there_is_tls(tmp_path):
    for host in ("127.0.0.1", "localhost", "::1", "127.8.8.8"):
        assert is_loopback(host)
        assert not Listening(host).door.secure
    for host in ("0.0.0.0", "192.168.1.7", "::", "label.example"):
        with pytest.raises(InputError, match="--tls-certificate"):
            _ = Listening(host).door
    pem = tmp_path / "x.pem"
    pem.write_text("")
    assert Listening("0.0.0.0", certificate=str(pem), key=str(pem)).door.secure
    proxied = Listening("0.0.0.0", public_url="https://label.example.org/")
    assert proxied.door.proxied
    assert proxied.door.secure
    assert "label.example.org" in proxied.door.hosts
    assert proxied.url == "https://label.example.org"
    assert Listening("::1", 9).url == "http://[::1]:9"


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        ({"certificate": "x.pem"}, "go together"),
        ({"certificate": "none.pem", "key": "none.pem"}, "no file"),
        ({"public_url": "http://label.example.org"}, "https"),
        ({"public_url": "label.example.org"}, "https"),
    ],
)
def test_half_settings_are_refused(keys, word):
    with pytest.raises(InputError, match=word):
        _ = Listening(**keys).door


def test_a_server_is_killed_under_way_and_goes_on(tmp_path):
    """`ratewise serve` runs the campaign beside its pages; after kill -9 nothing is lost or doubled."""
    campaign = write(tmp_path)
    token = add_person(campaign, "ann", admin=False, url="http://x")["link"].rsplit("/", 1)[1]
    port, answered, killed = free_port(), 0, False
    server = start(tmp_path, port)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=SECONDS) as client:
            client.get(f"/join/{token}")
            headers = {"X-CSRF-Token": client.get("/api/v1/me").json()["csrf"]}
            while True:
                found = until(lambda: asked(client, headers))
                if found == "ended":
                    break
                body = {"key": found["key"], "rating": 1}
                assert client.post("/api/v1/answers", json=body, headers=headers).status_code == 201
                answered += 1
                if answered == 5 and not killed:
                    end(server)
                    server, killed = start(tmp_path, port), True
                    assert client.post("/api/v1/answers", json=body, headers=headers).status_code == 200
            assert client.get("/api/v1/me").json()["done"] == answered
        server.send_signal(signal.SIGINT)
        assert server.wait(timeout=SECONDS) == 0
    finally:
        end(server)
    assert campaign.status().labels == answered > 10
    assert campaign.verify().differences == []


def asked(client, headers):
    """A question, or the word "ended"; None where the next round is being planned."""
    found = client.post("/api/v1/next", json={}, headers=headers)
    if found.status_code == 200:
        return found.json()
    return "ended" if client.get("/api/v1/me").json()["ended"] else None


def start(folder, port, *options, stderr=None):
    command = [
        sys.executable,
        "-m",
        "ratewise.cli.main",
        "serve",
        str(folder / "c.toml"),
        "--port",
        str(port),
        "--json",
    ]
    server = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, stderr=stderr, text=True)
    told = ""
    while not told.rstrip().endswith("}"):
        line = server.stdout.readline()
        assert line, told
        told += line
    assert json.loads(told)["url"].endswith(f"://127.0.0.1:{port}")
    return server


def end(server):
    server.kill()
    server.wait()
    server.stdout.close()


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
