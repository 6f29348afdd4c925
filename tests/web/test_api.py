"""The JSON interface: what INTERFACE promises, every answer once, blind to the byte, and no request breaks it."""

import html
import json
import re
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from markupsafe import escape

from ratewise.campaign.campaign import Campaign
from ratewise.store.desk import name_key

from .attacks import NAMES as NAMES_OF_ATTACKERS
from .making import SECRET, Visitor, app_of, service_of, write

POSTS = ("next", "answers", "undo", "skip", "renew")


def test_a_person_labels(site):
    ann = site.visitor("ann")
    me = ann.get("/api/v1/me").json()
    assert (me["name"], me["admin"], me["done"]) == ("ann", False, 0)
    assert me["left"] > 1
    task = ann.post("/api/v1/next").json()
    assert task["item"].keys() == {"question", "answer"}
    assert (task["kind"], task["scale"]) == ("binary", {"low": 0.0, "high": 1.0})
    answer = {"key": task["key"], "rating": 1, "comment": "clear"}
    assert ann.post("/api/v1/answers", answer).status_code == 201
    assert ann.post("/api/v1/answers", answer).status_code == 200
    refused = ann.post("/api/v1/answers", {**answer, "rating": 0})
    assert refused.status_code == 409
    assert "undo" in refused.json()["error"]
    assert ann.get("/api/v1/me").json()["done"] == 1
    undone = ann.post("/api/v1/undo")
    assert undone.status_code == 200
    assert undone.json()["key"] == ann.post("/api/v1/next").json()["key"] != task["key"]
    assert undone.json() == {"key": undone.json()["key"], "rating": 1.0, "comment": "clear", "flagged": False}
    assert ann.post("/api/v1/undo").status_code == 409
    assert ann.post("/api/v1/answers", {"key": undone.json()["key"], "rating": None}).status_code == 201


def test_the_next_question_comes_with_the_reply_where_it_is_asked_for(site):
    ann = site.visitor("ann")
    task, seen = ann.post("/api/v1/next").json(), []
    while task is not None:
        seen.append(task["key"])
        reply = ann.post("/api/v1/answers", {"key": task["key"], "rating": 1, "next": True})
        assert reply.status_code == 201
        again = ann.post("/api/v1/answers", {"key": task["key"], "rating": 1, "next": True})  # the reply was lost
        assert (again.status_code, again.json()["next"]) == (200, reply.json()["next"])
        task = reply.json()["next"]
    assert len(seen) == len(set(seen)) == ann.get("/api/v1/me").json()["done"] > 1
    refused = ann.post("/api/v1/answers", {"key": seen[0], "rating": 0, "next": True})
    assert refused.status_code == 409


def test_where_there_is_nothing_the_answer_is_204(site):
    ann = site.visitor("ann")
    while (found := ann.post("/api/v1/next")).status_code == 200:
        assert ann.post("/api/v1/answers", {"key": found.json()["key"], "rating": "yes"}).status_code == 201
    assert (found.status_code, found.content) == (204, b"")


def test_nothing_is_served_without_a_session_or_to_other_sites(site):
    nobody = site.stranger()
    for name in POSTS:
        refused = nobody.post(f"/api/v1/{name}", {"key": "k", "rating": 1})
        assert refused.status_code == 401
        assert refused.json().keys() == {"error"}
    for path in ("/api/v1/me", "/api/v1/live", "/api/v1/live/events", "/images/a.png"):
        assert nobody.get(path).status_code == 401
    ann = site.visitor("ann")
    for sent in ("", "wrong", "é"):
        for name in POSTS:
            headers = {"X-CSRF-Token": sent.encode("latin-1")}
            assert ann.client.post(f"/api/v1/{name}", json={}, headers=headers).status_code == 403


def test_nobody_reads_or_changes_anothers_answers(site):
    ann, bob = site.visitor("ann"), site.visitor("bob")
    task = ann.post("/api/v1/next").json()
    for name in ("answers", "skip", "renew"):
        assert bob.post(f"/api/v1/{name}", {"key": task["key"], "rating": 0}).status_code in (404, 409)
    assert ann.post("/api/v1/answers", {"key": task["key"], "rating": 1}).status_code == 201
    assert bob.post("/api/v1/undo").status_code == 409
    assert bob.post("/api/v1/answers", {"key": task["key"], "rating": 1}).status_code == 404


def test_two_people_get_two_items_and_one_who_skips_gets_another(site):
    ann, bob = site.visitor("ann"), site.visitor("bob")
    one, two = ann.post("/api/v1/next").json(), bob.post("/api/v1/next").json()
    assert one["item"] != two["item"]
    assert ann.post("/api/v1/renew", {"key": one["key"]}).json()["until"] > 0
    assert ann.post("/api/v1/skip", {"key": one["key"]}).status_code == 200
    assert ann.post("/api/v1/next").json()["item"] not in (one["item"], two["item"])


@pytest.mark.parametrize(
    ("body", "status", "word"),
    [
        ({"rating": 1}, 422, "key"),
        ({"key": "none such", "rating": 1}, 404, "given to you"),
        ({"key": 7, "rating": 1}, 422, "text"),
        ({"key": "x"}, 422, "null where you cannot tell"),
        ({"key": "KEY", "rating": 2}, 422, "binary"),
        ({"key": "KEY", "rating": [1]}, 422, "binary"),
        ({"key": "KEY", "rating": 1, "comment": "x" * 4001}, 422, "longer"),
        ({"key": "KEY", "rating": 1, "comment": "\ud800"}, 422, "no text"),
        ({"key": "KEY", "rating": 1, "seconds": "long"}, 422, "number"),
        ({"key": "KEY", "rating": 1, "flagged": 3}, 422, "true or false"),
    ],
)
def test_a_wrong_answer_is_refused_with_the_reason(site, body, status, word):
    ann = site.visitor("ann")
    key = ann.post("/api/v1/next").json()["key"]
    raw = json.dumps(body).replace("KEY", key).encode()
    headers = {"X-CSRF-Token": ann.csrf}
    refused = ann.client.post("/api/v1/answers", content=raw, headers=headers)
    assert refused.status_code == status
    assert word in refused.json()["error"]
    for huge in ("1e999", "-1" + "0" * 400, "1" + "0" * 5000):
        raw = f'{{"key": "{key}", "rating": {huge}, "seconds": {huge}}}'.encode()
        assert ann.client.post("/api/v1/answers", content=raw, headers=headers).status_code in (400, 422)
    for bad, code in ((b"{", 400), (b"[]", 400), (b"\xff", 400), (b"[" * 50_000, 400), (b" " * 70_000, 413)):
        assert ann.client.post("/api/v1/answers", content=bad, headers=headers).status_code == code
    assert ann.get("/api/v1/me").json()["done"] == 0


@pytest.mark.parametrize("seconds", ["1" + "0" * 400, "-1" + "0" * 400, "1e999", "NaN"])
def test_any_number_of_seconds_is_a_number(site, seconds):
    ann = site.visitor("ann")
    raw = f'{{"key": "{ann.post("/api/v1/next").json()["key"]}", "rating": 1, "seconds": {seconds}}}'.encode()
    headers = {"X-CSRF-Token": ann.csrf}
    assert ann.client.post("/api/v1/answers", content=raw, headers=headers).status_code == 201


def test_every_byte_that_a_person_gets_is_blind(tmp_path):
    """Weak rating, rate, model, id, and others' answers and comments: none of them leaves the server."""
    more = 'show = ["question", "answer"]\nvotes = 2'
    with service_of(write(tmp_path, more=more)) as (service, board):
        app = app_of(service, board)
        eve = Visitor(app, service.accounts.add("eve-the-other"))
        ann = Visitor(app, service.accounts.add("ann"))
        sent = b""
        for _ in range(4):
            task = eve.post("/api/v1/next").json()
            eve.post("/api/v1/answers", {"key": task["key"], "rating": 0, "comment": "unspeakable remark"})
        for path in ("/", "/api/v1/me", "/live", "/api/v1/live", "/static/label.js", "/static/page.css"):
            found = ann.get(path)
            sent += found.content + repr(found.headers).encode()
        while (found := ann.post("/api/v1/next")).status_code == 200:
            reply = ann.post("/api/v1/answers", {"key": found.json()["key"], "rating": 1})
            sent += found.content + repr(found.headers).encode() + reply.content
        for word in (SECRET, "model", "0.73", "0.74", "0.9", "judge", "eve-the-other", "unspeakable", '"q1', '"rate"'):
            assert word.encode() not in sent, word


WORDS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=30), st.lists(st.integers(), max_size=3),
    st.dictionaries(st.text(max_size=5), st.integers(), max_size=2),
)  # fmt: skip
NAMES = st.sampled_from(["key", "rating", "comment", "seconds", "flagged", "other"])


def test_no_request_breaks_the_server(begun):
    """Any body at any address, with and without a session: never a 5xx, and nothing but refusals without one."""
    with service_of(begun, run=False) as (service, board):
        app = app_of(service, board)
        ann, nobody = Visitor(app, service.accounts.add("ann", admin=True)), Visitor(app)

        @settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
        @given(
            st.sampled_from(POSTS),
            st.dictionaries(NAMES, WORDS, max_size=5),
            st.booleans(),
            st.binary(max_size=60),
            st.text(max_size=20),
        )
        def check(name, body, own_key, raw, text):
            if own_key and (found := ann.post("/api/v1/next")).status_code == 200:
                body["key"] = found.json()["key"]
            for who in (ann, nobody):
                json_body = json.dumps(body).encode()
                answers = [
                    who.client.post(f"/api/v1/{name}", content=sent, headers={"X-CSRF-Token": who.csrf})
                    for sent in (json_body, raw)
                ]
                quoted = text.encode("utf-8", "replace").hex()
                answers += [who.get(f"/{place}{quoted}") for place in ("join/", "images/", "static/", "api/v1/", "")]
                assert all(answer.status_code < 500 for answer in answers)
                if who is nobody:
                    assert all(answer.status_code in (400, 401, 404, 429) for answer in answers)

        check()
    assert begun.verify().differences == []


def test_methods_and_addresses_that_are_not_there(site):
    ann = site.visitor("ann")
    assert ann.get("/api/v1/answers").status_code == 405
    assert ann.get("/nowhere").json().keys() == {"error"}
    assert site.stranger().client.delete("/api/v1/me").status_code == 405


def test_every_route_is_fuzzed(begun):
    """Each address of the application, with anything in its path, query and body: no 5xx, nothing for strangers."""
    with service_of(begun, run=False) as (service, board):
        app = app_of(service, board)
        boss, nobody = Visitor(app, service.accounts.add("boss", admin=True)), Visitor(app)
        places = {(method, route.path) for route in app.routes if hasattr(route, "methods") for method in route.methods}
        assert {("GET", "/live"), ("POST", "/sign-out"), ("GET", "/images/{path:path}")} < places
        assert len(places) > 12
        free = {"/healthz", "/", "/join/{token}", "/live"}  # what strangers get there says how to sign in

        @settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
        @given(
            st.text(max_size=30),
            st.dictionaries(NAMES | st.text(max_size=8), st.text(max_size=12), max_size=3),
            st.binary(max_size=40),
        )
        def check(text, query, raw):
            for method, path in sorted(places):
                where = re.sub(r"\{.*?\}", quote(text, safe=""), path)
                for who in (boss, nobody):
                    if who is boss and path in ("/api/v1/live/events", "/sign-out"):
                        continue  # a stream without an end, and the end of the session
                    headers = {"X-CSRF-Token": who.csrf}
                    found = who.client.request(method, where, params=query, content=raw, headers=headers)
                    assert found.status_code < 500 or path == "/healthz", (method, where)  # nothing plans here
                    if who is nobody and path not in free:
                        assert found.status_code in (400, 401, 404, 405), (method, where)
                    assert SECRET.encode() not in found.content or who is boss

        check()
    assert begun.verify().differences == []


def test_names_of_people_are_text_on_their_page(site):
    for name in {name_key(name): name for name in NAMES_OF_ATTACKERS}.values():
        page = site.visitor(name).get("/").text
        assert str(escape(name)) in page
        assert name not in page or name == html.escape(name)


def test_the_claim_is_what_a_yes_means_where_no_criterion_is_given(tmp_path):
    campaign = write(tmp_path, more='show = ["question", "answer"]')
    toml = tmp_path / "c.toml"
    toml.write_text('claim = "The answer is right"\n' + toml.read_text())
    with service_of(Campaign.open(campaign.spec.path)) as (service, board):
        task = Visitor(app_of(service, board), service.accounts.add("ann")).post("/api/v1/next").json()
        assert task["criterion"] == "The answer is right"
