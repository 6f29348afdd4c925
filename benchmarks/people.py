"""Many people without think time on one server: how long save-and-next takes, and whether anything is lost or doubled.

The server is killed once in the middle and started again. Run: python benchmarks/people.py --people 50 --labels 2000
"""

import argparse
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from ratewise.campaign.campaign import Campaign
from ratewise.web.service import add_person

TOML = """\
name = "load"
seed = 1
store = {store}
[items]
table = "items.jsonl"
[rating]
kind = "binary"
[goal]
budget = "{labels}"
[[raters]]
name = "crowd"
kind = "people"
price = "1"
show = ["text"]
lease = 30
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--people", type=int, default=10)
    parser.add_argument("--labels", type=int, default=2000)
    parser.add_argument("--store", default="load.sqlite", help="a file, or postgresql://…, or postgresql: one is made")
    parser.add_argument("--no-kill", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        if given.store == "postgresql":
            sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))
            given.store = held.enter_context(import_module("postgres").Server()).url
        load(Path(folder), given)


def load(folder: Path, given: argparse.Namespace) -> None:
    rows = [{"id": f"i{i}", "text": f"Text number {i}. " * 20} for i in range(given.labels)]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "c.toml").write_text(TOML.format(store=json.dumps(given.store), labels=given.labels))
    campaign = Campaign.open(folder / "c.toml")
    campaign.run(wait=False)
    tokens = [add_person(campaign, f"p{i}", admin=False, url="")["link"] for i in range(given.people)]
    port = free_port()
    servers = [start(folder, port)]
    took: list[float] = []
    answered: list[str] = []
    threads = [threading.Thread(target=work, args=(port, token, took, answered)) for token in tokens]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    busy = 0.0
    if not given.no_kill:
        while len(answered) < given.labels // 2 and any(thread.is_alive() for thread in threads):
            time.sleep(0.05)
        busy = seconds_of(servers[-1])
        servers[-1].kill()
        servers[-1].wait()
        servers.append(start(folder, port))
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
    busy += seconds_of(servers[-1])
    servers[-1].send_signal(signal.SIGINT)
    servers[-1].wait()
    labels, spent = campaign.status().labels, campaign.status().spent
    ms = 1000 * np.array(took)
    kind = given.store.split(":")[0]
    print(f"{given.people} people, {labels:,} labels, {kind}: {seconds:.1f} s, {labels / seconds:,.0f} a second")
    print(
        "save-and-next, ms: "
        + ", ".join(f"p{q} {np.percentile(ms, q):.0f}" for q in (50, 95, 99))
        + f", most {ms.max():.0f}"
    )
    print(
        f"said to be saved {len(answered):,}, of them different {len(set(answered)):,}; stored {labels:,}, paid {spent}"
    )
    ours = time.process_time() / labels * 1000
    print(f"processor time a label, ms: server {busy / labels * 1000:.1f}, these people {ours:.1f}")
    print(f"verify: {campaign.verify().differences or 'no difference'}")


def work(port: int, link: str, took: list[float], answered: list[str]) -> None:
    """One person: sign in, then save and get the next question in one request, until there is none."""
    caller = Caller(port)
    caller.sign_in(link)
    task = caller.next()
    while task is not None:
        started = time.perf_counter()
        status, found = caller.post("/api/v1/answers", {"key": task["key"], "rating": 1, "next": True})
        if status in (200, 201):
            answered.append(task["key"])
        if status == 201:
            took.append(time.perf_counter() - started)
        task = found["next"] if status in (200, 201) else caller.next()
        task = task or caller.next()


class Caller:
    """A browser's connection: kept open, and the same again while the server is away, as the page does."""

    def __init__(self, port: int) -> None:
        self.port, self.headers = port, {"Content-Type": "application/json"}
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def sign_in(self, link: str) -> None:
        """Keep the cookie, and the token that every change needs."""
        self._call("GET", link, None)
        cookie = self.last.getheader("set-cookie") or ""
        self.headers["Cookie"] = cookie.split(";")[0]
        self.headers["X-CSRF-Token"] = json.loads(self._call("GET", "/api/v1/me", None)[1])["csrf"]

    def next(self) -> dict[str, str] | None:
        """The next question; None where there is none and the campaign has ended."""
        while True:
            status, found = self.post("/api/v1/next", {})
            if status == 200:
                return found
            if json.loads(self._call("GET", "/api/v1/me", None)[1])["ended"]:
                return None
            time.sleep(0.2)

    def post(self, path: str, body: dict[str, object]) -> tuple[int, dict[str, Any]]:
        """Status and JSON of the answer."""
        status, raw = self._call("POST", path, json.dumps(body))
        return status, json.loads(raw) if raw else {}

    def _call(self, method: str, path: str, body: str | None) -> tuple[int, bytes]:
        while True:
            try:
                self.connection.request(method, path, body, self.headers)
                self.last = self.connection.getresponse()
                return self.last.status, self.last.read()
            except (OSError, http.client.HTTPException):
                self.connection.close()
                time.sleep(0.2)


def start(folder: Path, port: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "ratewise", "serve", str(folder / "c.toml"), "--port", str(port), "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    assert server.stdout is not None
    while server.stdout.readline().strip() != "}":
        pass
    return server


def seconds_of(server: "subprocess.Popen[str]") -> float:
    """Processor time that a process has used; 0 where the system does not tell."""
    try:
        parts = Path(f"/proc/{server.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
