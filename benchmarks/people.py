"""Many people without think time on one server: how long save-and-next takes, and whether anything is lost or doubled.

The server is killed once in the middle and started again. Run: python benchmarks/people.py --people 50 --labels 2000
"""

import argparse
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from functools import partial
from pathlib import Path

import httpx2
import numpy as np

from ratewise.campaign.campaign import Campaign
from ratewise.web.people import add_person

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
    parser.add_argument("--store", default="load.sqlite", help="a file, or postgresql://…")
    parser.add_argument("--no-kill", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        load(Path(folder), given)


def load(folder: Path, given: argparse.Namespace) -> None:
    rows = [{"id": f"i{i}", "text": f"Text number {i}. " * 20} for i in range(given.labels)]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "c.toml").write_text(TOML.format(store=json.dumps(given.store), labels=given.labels))
    campaign = Campaign.open(folder / "c.toml")
    campaign.run(wait=False)
    tokens = [add_person(campaign, f"p{i}", admin=False, url="").link for i in range(given.people)]
    port = free_port()
    servers = [start(folder, port)]
    took: list[float] = []
    answered: list[str] = []
    threads = [threading.Thread(target=work, args=(port, token, took, answered)) for token in tokens]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    if not given.no_kill:
        while len(answered) < given.labels // 2 and any(thread.is_alive() for thread in threads):
            time.sleep(0.05)
        servers[-1].kill()
        servers[-1].wait()
        servers.append(start(folder, port))
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - began
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
    print(f"verify: {campaign.verify().differences or 'no difference'}")


def work(port: int, link: str, took: list[float], answered: list[str]) -> None:
    with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
        client.get(link)
        headers = {"X-CSRF-Token": client.get("/api/v1/me").json()["csrf"]}
        task = patiently(lambda: client.post("/api/v1/next", json={}, headers=headers))
        while task.status_code == 200:
            key = task.json()["key"]
            started = time.perf_counter()
            send = partial(client.post, "/api/v1/answers", json={"key": key, "rating": 1}, headers=headers)
            saved = patiently(send)
            calm = saved.status_code == 201
            if saved.status_code in (200, 201):
                answered.append(key)
            task = patiently(lambda: client.post("/api/v1/next", json={}, headers=headers))
            if calm:
                took.append(time.perf_counter() - started)


def patiently(call):
    """What the page does while the server is away: the same again."""
    while True:
        try:
            return call()
        except httpx2.TransportError:
            time.sleep(0.2)


def start(folder: Path, port: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "ratewise", "serve", str(folder / "c.toml"), "--port", str(port), "--json"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    assert server.stdout is not None
    while server.stdout.readline().strip() != "}":
        pass
    return server


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if __name__ == "__main__":
    main()
