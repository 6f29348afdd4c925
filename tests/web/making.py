"""A campaign for people and its pages, in this process or behind a real port: what tests of the web share."""

import json
import threading
from contextlib import ExitStack, contextmanager
from urllib.parse import urlsplit

from starlette.testclient import TestClient

from ratewise.campaign.campaign import Campaign
from ratewise.store.accounts import Accounts
from ratewise.web.app import make_app
from ratewise.web.live import LiveView
from ratewise.web.server import Listening, Server, bind
from ratewise.web.service import Door, Service

from ..tomls import rater, toml_of
from ..waiting import SECONDS, until

SECRET = "gpt-unmentionable"
TOML = toml_of(
    rater("judge", price="0.05", column="judge_says"),
    rater("crowd", kind="people", more="{more}"),
    top='name = "support"\nseed = 7\nstore = {store}',
    table="items.jsonl",
    items='features = ["topic"]',
    rating='kind = "{kind}"\n{rating}',
    goal='budget = "{budget}"',
)
SHOW = (
    'show = ["question", "answer"]\ncriterion = "The answer solves the customer\'s problem."\nguidelines = "guide.md"'
)


def rows(items=40):
    """Questions with what a judge says of them; 0.7317… is a number that no page may show."""
    return [
        {"id": f"q{i}", "judge_says": round(0.7317 + (i % 20) / 100, 4), "model": SECRET, "topic": "ab"[i % 2],
         "question": f"How do I cancel order {i}?", "answer": f"Open **settings**, then choose *cancel* ({i}).",
         "left": f"Left text {i}", "right": f"Right text {i}"}
        for i in range(items)
    ]  # fmt: skip


def write(folder, *, kind="binary", rating="", more=SHOW, budget=30, items=None, store="support.sqlite"):
    folder.mkdir(parents=True, exist_ok=True)
    table = rows() if items is None else items
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
    (folder / "guide.md").write_text("# How to rate\n\nSay **yes** if the problem is solved.\n")
    (folder / "c.toml").write_text(
        TOML.format(kind=kind, rating=rating, more=more, budget=budget, store=json.dumps(store))
    )
    return Campaign.open(folder / "c.toml")


@contextmanager
def service_of(campaign, *, run=True, door=None):
    """The service of a campaign that waits for answers, with its live board."""
    if run:
        assert campaign.run(wait=False) == "waiting for answers"
    with ExitStack() as held:
        desk = held.enter_context(campaign.labelling())
        look = held.enter_context(campaign.watch())
        yield Service(desk, Accounts(desk.store), door or Door(hosts=("*",))), LiveView(look)


class Visitor:
    """A browser without a window: keeps its cookie, sends its token."""

    def __init__(self, app, token=None, *, base="http://127.0.0.1"):
        self.client = TestClient(app, base_url=base, follow_redirects=False, raise_server_exceptions=False)
        self.csrf = ""
        if token is not None:
            assert self.client.get(f"/join/{token}").status_code == 303
            self.csrf = self.client.get("/api/v1/me").json()["csrf"]

    def get(self, path, **keys):
        return self.client.get(path, **keys)

    def post(self, path, body=None, **keys):
        headers = {"X-CSRF-Token": self.csrf, **keys.pop("headers", {})}
        return self.client.post(path, json={} if body is None else body, headers=headers, **keys)


def app_of(service, board):
    return make_app(service, board)


@contextmanager
def served(service, board, **keys):
    """A real server at a port of its own: the address."""
    listening = Listening(**{"port": 0, **keys})
    server = Server(make_app(service, board), listening, board.closing)
    server.config.timeout_graceful_shutdown = 1
    with bind(listening) as bound:
        thread = threading.Thread(target=lambda: server.run(sockets=[bound]), daemon=True)
        thread.start()
        try:
            until(lambda: server.started)
            yield f"{urlsplit(listening.url).scheme}://127.0.0.1:{bound.getsockname()[1]}"
        finally:
            board.closing.set()
            server.should_exit = True
            thread.join(timeout=SECONDS)
            board.closing.clear()  # it may be served again
