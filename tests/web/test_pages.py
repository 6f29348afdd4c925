"""The pages: sign in by a link, out again, headers that let nothing else run, and images of the folder only."""

import json
import re
import threading
from contextlib import suppress

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError
from ratewise.web.server import Listening, serve
from ratewise.web.service import Door, add_person

from .making import Visitor, app_of, rows, service_of, write
from .test_server import free_port


def test_a_link_signs_in_until_it_is_taken_back(site):
    token = site.service.accounts.add("ann")
    visitor = site.stranger()
    joined = visitor.get(f"/join/{token}")
    assert (joined.status_code, joined.headers["location"]) == (303, "/")
    cookie = joined.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie
    assert "secure" not in cookie  # on this machine only
    page = visitor.get("/")
    assert page.status_code == 200
    assert "support" in page.text
    assert "How to rate" in page.text
    assert token not in page.text
    site.service.accounts.remove("ann")
    assert visitor.get("/").status_code == 401
    assert visitor.get("/api/v1/me").status_code == 401
    assert site.stranger().get(f"/join/{token}").status_code == 404


def test_a_new_link_ends_the_old_one_and_its_sessions(site):
    old = site.visitor("ann")
    with pytest.raises(InputError, match="--new-link"):
        site.visitor("ann")
    assert old.get("/api/v1/me").status_code == 200
    new = Visitor(site.app, site.service.accounts.renew("ann"))
    assert old.get("/api/v1/me").status_code == 401
    assert new.get("/api/v1/me").status_code == 200


def test_nothing_in_the_store_signs_in(site, tmp_path):
    token = site.service.accounts.add("ann")
    visitor = Visitor(site.app, token)
    secret = visitor.client.cookies["ratewise_session"]
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if "sqlite" in path.name)
    assert token.encode() not in stored
    assert secret.encode() not in stored


def test_guessing_links_is_slowed_down_and_slows_nobody_else(site):
    guesser = site.stranger()
    codes = [guesser.get(f"/join/guess{i}").status_code for i in range(12)]
    assert codes[:10] == [404] * 10
    assert codes[10:] == [429] * 2
    assert guesser.get(f"/join/{site.service.accounts.add('ann')}").status_code == 303  # from this address
    assert guesser.get("/join/guess").status_code == 429


def test_signing_out_ends_the_session_on_the_server(site):
    ann = site.visitor("ann")
    cookie = ann.client.cookies["ratewise_session"]
    assert ann.client.post("/sign-out").status_code == 403
    assert ann.post("/sign-out").status_code == 204
    thief = site.stranger()
    thief.client.cookies.set("ratewise_session", cookie)
    assert thief.get("/api/v1/me").status_code == 401


def test_every_response_has_strict_headers(site):
    ann = site.visitor("ann", admin=True)
    for path in ("/", "/live", "/api/v1/me", "/static/label.js", "/nowhere", "/healthz", "/join/x"):
        headers = ann.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
    assert ann.get("/").headers["cache-control"] == "no-store"


def test_pages_load_nothing_from_elsewhere(site):
    ann = site.visitor("ann", admin=True)
    for path in ("/", "/live", "/static/label.js", "/static/live.js", "/static/page.css"):
        text = ann.get(path).text.replace("http://www.w3.org/2000/svg", "")
        assert "http://" not in text
        assert "https://" not in text
        assert "//cdn" not in text


def test_a_name_that_is_not_the_servers_is_refused(begun):
    """A page of another name that points here cannot read what is served: DNS rebinding."""
    with service_of(begun, run=False, door=Door()) as (service, board):
        app = app_of(service, board)
        assert Visitor(app, base="http://evil.example").get("/static/page.css").status_code == 400
        assert Visitor(app, base="http://localhost:8765").get("/static/page.css").status_code == 200


def test_over_tls_the_cookie_is_secure(begun):
    with service_of(begun, run=False, door=Door(secure=True, hosts=("*",))) as (service, board):
        visitor = Visitor(app_of(service, board), base="https://label.example")
        joined = visitor.get(f"/join/{service.accounts.add('ann')}")
        assert "secure" in joined.headers["set-cookie"].lower()
        assert "strict-transport-security" in joined.headers


@pytest.fixture
def pictured(tmp_path):
    """A campaign whose items, guidelines and known items show images; others lie beside, or lead out of the folder."""
    folder = tmp_path / "c"
    more = 'show = ["question", "answer"]\nguidelines = "guide.md"\nknown = "known.jsonl"\ntraining = 1'
    items = [{**row, "answer": f"![a](./shots/a%20{i}.png)", "left": "![x](left.png)"} for i, row in enumerate(rows())]
    folder.mkdir()
    known = {"question": "![k](known.png)", "answer": "yes", "expected": 1, "why": "![w](why.png)"}
    (folder / "known.jsonl").write_text(json.dumps(known))
    campaign = write(folder, more=more, items=items)
    outside = tmp_path / "outside.png"
    outside.write_bytes(b"secret")
    (folder / "link.png").symlink_to(outside)
    (folder / "shots").mkdir()
    for path in (
        ".hidden.png",
        "left.png",
        "guide.png",
        "known.png",
        "why.png",
        *(f"shots/a {i}.png" for i in range(40)),
    ):
        (folder / path).write_bytes(b"\x89PNG " + path.encode())
    named = " ".join(f"![g]({path})" for path in ("guide.png", "link.png", ".hidden.png", "none.png", "c.toml"))
    (folder / "guide.md").write_text(named)
    with service_of(campaign) as (service, board):
        yield Visitor(app_of(service, board), service.accounts.add("ann")), Visitor(app_of(service, board))


def test_images_are_those_of_the_items_that_one_is_shown(pictured):
    ann, nobody = pictured

    def seen():
        paths = ("left", "guide", "known", "why", *(f"shots/a {i}" for i in range(40)))
        return {
            path for path in paths if ann.get(f"/images/{path}.png").content.startswith(b"\x89PNG " + path.encode())
        }

    assert seen() == {"guide"}
    ann.post("/api/v1/next")
    assert seen() == {"guide", "known"}
    task, expected = ann.post("/api/v1/next").json(), {"guide", "known", "why"}
    while task is not None and len(expected) < 6:
        reply = ann.post("/api/v1/answers", {"key": task["key"], "rating": 1, "next": True}).json()
        task = reply["next"]
        number = re.search(r"a%20(\d+)", task["item"]["answer"])[1]
        assert f'src="/images/./shots/a%20{number}.png"' in str(task["parts"])
        expected.add(f"shots/a {number}")
        assert seen() == expected
    ann.post("/api/v1/undo")
    assert seen() == expected
    assert nobody.get("/images/guide.png").status_code == 401


def test_images_may_lie_beside_the_table(tmp_path):
    campaign = write(tmp_path, items=[{**row, "answer": "![a](a.png) ![b](b.png)"} for row in rows()])
    (tmp_path / "data").mkdir()
    (tmp_path / "items.jsonl").rename(tmp_path / "data" / "items.jsonl")
    toml = tmp_path / "c.toml"
    toml.write_text(toml.read_text().replace("items.jsonl", "data/items.jsonl"))
    for path in ("data/a.png", "b.png", "data/c.png"):
        (tmp_path / path).write_bytes(b"\x89PNG " + path.encode())
    with service_of(Campaign.open(campaign.spec.path)) as (service, board):
        ann = Visitor(app_of(service, board), service.accounts.add("ann"))
        ann.post("/api/v1/next")
        assert [ann.get(f"/images/{name}.png").status_code for name in "abc"] == [200, 200, 404]


def test_images_come_from_the_folder_only(pictured):
    ann, _ = pictured
    for path in ("c.toml", "support.sqlite", "items.jsonl", "none.png", ".hidden.png", "link.png", "../outside.png",
                 "..%2foutside.png", "%2e%2e/outside.png", "%00.png", "a" * 5000 + ".png"):  # fmt: skip
        assert ann.get(f"/images/{path}").status_code in (400, 404), path


def test_what_is_not_served_is_a_page_for_people_and_json_for_programs(site):
    ann = site.visitor("ann")
    for path, status, title in (("/nowhere", 404, "There is no such page"), ("/live", 403, "This page is not for you")):
        page = ann.get(path, headers={"Accept": "text/html,*/*"})
        assert (page.status_code, page.headers["content-type"].split(";")[0]) == (status, "text/html")
        assert f"<h1>{title}</h1>" in page.text
        assert 'href="/"' in page.text
        assert ann.get(path).json().keys() == {"error"}
    assert ann.get("/api/v1/nowhere", headers={"Accept": "text/html"}).json().keys() == {"error"}
    report = site.stranger().get("/report", headers={"Accept": "text/html"})
    assert (report.status_code, "You are not signed in" in report.text) == (401, True)


def test_links_lead_where_the_campaign_was_served_last(begun):
    assert add_person(begun, "ann", admin=False)["link"].startswith("http://127.0.0.1:8765/join/")
    told, port = [], free_port()
    stop = threading.Event()

    def ready(url, _):
        stop.set()
        raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        serve(begun, Listening(port=port), ready=ready, say=told.append, runs=False)
    assert stop.is_set()
    assert add_person(begun, "ben", admin=False)["link"].startswith(f"http://127.0.0.1:{port}/join/")
    assert add_person(begun, "cid", admin=False, url="https://x.example/")["link"].startswith("https://x.example/join/")
    assert add_person(begun, "dan", admin=False)["link"].startswith("https://x.example/join/")
    with suppress(KeyboardInterrupt):
        serve(begun, Listening(port=port), ready=ready, say=told.append, runs=False)
    assert [line.count("http") for line in told] == [2]  # from where, to where
    assert begun.verify().differences == []
