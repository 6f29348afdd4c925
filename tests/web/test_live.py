"""The live view: what it tells, to whom, and that news are pushed."""

import json

from ratewise.web import live

from ..waiting import SECONDS
from .making import SHOW, served, service_of, write


def test_admins_only(site):
    ann, boss = site.visitor("ann"), site.visitor("boss", admin=True)
    assert ann.get("/api/v1/live").status_code == 403
    assert ann.get("/api/v1/live/events").status_code == 403
    assert ann.get("/live").status_code == 403
    assert site.stranger().get("/live").status_code == 303
    assert boss.get("/live").status_code == 200


def test_what_it_tells(site):
    boss = site.visitor("boss", admin=True)
    found = boss.get("/api/v1/live").json()
    assert found["estimate"] is None
    assert found["interval"] is None
    assert float(found["spend"]["spent"]) > 0
    assert found["spend"]["budget"] == "30.00"
    assert found["round"] == {"number": 1, "answered": 0, "asked": found["queue"]["open"]}
    assert found["goal"] == ""  # a budget alone
    assert found["queue"]["open"] > 0
    desk = site.service.labelling
    while (task := desk.next("cid")) is not None:
        desk.answer("cid", task.key, 1 if "1" in task.item["question"] else 0, seconds=5.0)
    found = boss.get("/api/v1/live").json()
    assert found["people"][0]["answers"] == desk.done("cid")
    assert found["round"]["answered"] == desk.done("cid") == found["round"]["asked"]
    assert found["round"]["number"] == 1
    assert "of work at this pace" in found["outlook"]


def test_flags_and_comments_are_a_list_to_work_through(site):
    desk, boss = site.service.labelling, site.visitor("boss", admin=True)
    for comment, flagged in (("too long", False), ("", True), ("", False), ("wrong <b>", True)):
        task = desk.next("cid")
        desk.answer("cid", task.key, 1, comment=comment, flagged=flagged)
    found = boss.get("/api/v1/live").json()["remarks"]
    assert [(one["comment"], one["flagged"]) for one in found][2] == ("too long", False)  # flags first
    assert {(one["comment"], one["flagged"]) for one in found} == {("", True), ("wrong <b>", True), ("too long", False)}
    assert {(one["person"], one["rating"]) for one in found} == {("cid", "Yes")}
    assert all(one["texts"][0]["text"].startswith("How do I cancel") for one in found)
    report = boss.get("/report").text
    assert "Flags and comments" in report
    assert "wrong &lt;b&gt;" in report
    desk.undo("cid")
    assert len(boss.get("/api/v1/live").json()["remarks"]) == 2


def test_the_goal_has_a_verdict(tmp_path):
    campaign = write(tmp_path, more=SHOW, budget='1000"\nwithin = 0.2\n# "')
    with service_of(campaign) as (service, board):
        assert board.newest()[1]["goal"] == ""
        desk = service.labelling
        while True:
            while (task := desk.next("cid")) is not None:
                desk.answer("cid", task.key, 1 if "1" in task.item["question"] else 0)
            if campaign.run(wait=False) != "waiting for answers":
                break
        found = board.newest()[1]
        assert "points" in found["goal"]
        low, high = found["interval"]
        assert ("not reached" in found["goal"]) == (high - low > 0.4)


def test_the_report_is_for_admins_and_runs_nothing(site):
    assert site.visitor("ann").get("/report").status_code == 403
    report = site.visitor("boss", admin=True).get("/report")
    assert (report.status_code, "<!doctype html>" in report.text) == (200, True)
    policy = report.headers["content-security-policy"]
    assert "script" not in policy
    assert "sandbox" in policy
    assert "default-src 'none'" in policy


def test_after_a_round_there_is_an_interval_and_what_people_alone_say(begun):
    with begun.labelling() as desk:
        while True:
            while (task := desk.next("cid")) is not None:
                desk.answer("cid", task.key, 1 if "1" in task.item["question"] else 0, seconds=5.0)
            if begun.run(wait=False) != "waiting for answers":
                break
    with begun.look() as now:
        found = live.document(now)
    json.dumps(found)
    assert "of the items get a yes from" in found["says"]
    low, high = found["interval"]
    assert low < found["estimate"]["value"] < high
    alone, (last,) = found["human_only"], found["history"][-1:]
    assert alone["value"] == last["alone"]
    assert last["alone_low"] < alone["low"] < alone["high"] < last["alone_high"]  # final, as the one beside it
    assert len(found["history"]) == now.status.rounds
    assert found["history"][-1]["spent"] == float(now.status.spent)
    assert found["judge"]
    assert found["ended"]
    assert {one["column"] for one in found["slices"]} <= {"topic"}
    assert found["columns"] == ["topic"]  # no answers, ratings or ids; the model is the same everywhere


def test_slices_by_any_column(site):
    boss = site.visitor("boss", admin=True)
    assert boss.get("/api/v1/live", params={"slices": "topic"}).json()["slices"] == []  # too few answers yet
    assert boss.get("/api/v1/live", params={"slices": "no such"}).status_code == 404


def test_news_are_pushed(site):
    boss = site.visitor("boss", admin=True)
    cookie = boss.client.cookies["ratewise_session"]
    desk = site.service.labelling
    import httpx2

    with (
        served(site.service, site.board) as address,
        httpx2.stream(
            "GET", f"{address}/api/v1/live/events", cookies={"ratewise_session": cookie}, timeout=SECONDS
        ) as stream,
    ):
        lines = (line for line in stream.iter_lines() if line.startswith("data: "))
        first = json.loads(next(lines)[6:])
        task = desk.next("ann")
        desk.answer("ann", task.key, 1)
        second = json.loads(next(lines)[6:])
    assert second["queue"]["answered"] == first["queue"]["answered"] + 1
