"""End to end in a real Chromium: people label with the keyboard, undo, lose the network; an admin watches.

Pictures of the pages are kept in build/screenshots.
"""

import json
import re

import pytest
from playwright.sync_api import expect

from ratewise.campaign.campaign import Campaign
from ratewise.core.chart import Span, spans_picture
from ratewise.core.document import Picture, grid_of
from ratewise.report import words
from ratewise.report.page import page
from ratewise.web.api import told

from ..waiting import until
from .attacks import ATTACKS, FILES, NAMES
from .browsing import PHONE, SHOTS, Person, joined
from .making import SHOW, rows, served, service_of, write


def answers(service):
    return service.labelling.store.counts().get("1:1", 0)


def test_a_person_labels_with_the_keyboard_undoes_and_reloads(browser, begun):
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann")
        page, first = ann.page, ann.asked()
        assert "/join/" not in page.url
        expect(page.locator("#title")).to_be_focused()
        expect(page.locator("[autofocus]")).to_have_count(0)  # two that ask for focus race, and the browser chooses
        ann.press("Enter")
        expect(page.locator("#news")).to_have_text("Choose an answer first.")
        ann.press("1")
        expect(page.get_by_role("radio", name="Yes")).to_be_checked()
        page.screenshot(path=SHOTS / "label.png")
        ann.press("Enter")
        ann.has_done(1)
        second = ann.asked()
        assert second != first
        ann.press("u")
        ann.has_done(0)
        assert ann.asked() == first
        ann.press("2", "c")
        page.keyboard.type("a mistake, sorry")
        page.reload()  # what was typed is kept
        ann.asked()
        expect(page.locator("#comment")).to_have_value("a mistake, sorry")
        expect(page.get_by_role("radio", name="No", exact=True)).to_be_checked()
        page.locator("#comment").press("Control+Enter")
        ann.has_done(1)
        ann.press("s")
        expect(page.locator("#news")).to_contain_text("Skipped")
        ann.press("x", "f", "Enter")
        ann.has_done(2)
        for seen in (True, False):  # beside the question
            expect(page.get_by_role("heading", name="How to rate")).to_have_count(int(seen))
            ann.press("g")
        ann.press("?")
        page.locator("#one-key").check()
        ann.press("Escape", "1")
        ann.has_done(3)
        page.go_back()
        page.goto(address)
        ann.has_done(3)
        assert ann.complaints == []
    table = begun.export(begun.spec.folder / "answers.csv", answers=True)
    assert sorted(table.texts("note", missing="allow").tolist())[-1] == "a mistake, sorry"
    assert begun.verify().differences == []


def test_double_clicks_and_two_tabs_count_once(browser, begun):
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann")
        ann.asked()
        other = ann.context.new_page()
        other.goto(address)
        expect(other.locator("#answer")).to_be_visible()
        ann.page.get_by_text("Yes", exact=True).click()
        ann.page.locator("#save").dblclick()
        ann.has_done(1)
        assert answers(service) == 1
        asked = other.locator("#item").inner_text()
        other.get_by_text("No", exact=True).click()  # the same question, answered in the first tab
        other.locator("#save").click()
        expect(other.locator("#feedback-title")).to_have_text("✗ Not saved")
        expect(other.locator("#feedback-text")).to_contain_text("this question was not saved: another answer")
        assert other.locator("#item").inner_text() == asked  # it is said of the question that it is about
        assert answers(service) == 1
        other.keyboard.press("Enter")
        expect(other.locator("#item")).not_to_have_text(asked)
        expect(other.locator("#feedback")).to_be_hidden()
        expect(other.locator("#news")).to_have_text("")
        assert ann.complaints == []


def test_what_is_answered_without_a_network_is_sent_when_it_is_back(browser, begun):
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann")
        first = ann.asked()
        ann.context.set_offline(True)
        ann.press("1", "Enter")
        expect(ann.page.locator("#news")).to_contain_text("kept on this device")
        assert answers(service) == 0
        ann.context.set_offline(False)
        ann.has_done(1)
        assert ann.asked() != first
        assert answers(service) == 1


def test_what_is_shown_while_a_save_waits_is_what_is_saved(browser, tmp_path):
    campaign = write(tmp_path, kind="likert", rating="low = 1\nhigh = 5")
    with service_of(campaign) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann")
        page, first = ann.page, ann.asked()
        ann.context.set_offline(True)
        ann.press("3", "Enter")
        expect(page.locator("#news")).to_contain_text("kept on this device")
        ann.press("5", "f", "c", "Enter")
        page.get_by_text("5", exact=True).click(force=True)
        page.locator("#save").click(force=True)
        page.locator("#flag").click(force=True)
        expect(page.get_by_role("radio", name="3", include_hidden=True)).to_be_checked()
        expect(page.locator("#comment-box")).to_be_hidden()
        expect(page.locator("#flag")).to_have_attribute("aria-pressed", "false")
        assert ann.asked() == first
        ann.press("?")  # what is beside the answer stays open
        expect(page.get_by_role("heading", name="Keys")).to_be_visible()
        ann.press("Escape")
        ann.context.set_offline(False)
        ann.has_done(1)
        ann.press("5", "Enter")  # the next one is open again
        ann.has_done(2)
        assert ann.complaints == []
    said = campaign.export(tmp_path / "a.csv", answers=True)
    assert sorted(said.numbers("rating").tolist()) == [3.0, 5.0]
    assert "flagged" not in said.columns


@pytest.mark.parametrize("kind", ["binary", "pairwise", "likert", "score"])
def test_undo_brings_back_what_was_said(browser, tmp_path, kind):
    """In another browser, too, which has no drafts; of a comparison as the person saw its sides."""
    more = {"pairwise": 'show = ["question"]\na = "left"\nb = "right"'}.get(kind, SHOW)
    ends = {"likert": "low = 1\nhigh = 5", "score": "low = 0\nhigh = 100"}.get(kind, "")
    campaign = write(tmp_path, kind=kind, rating=ends, more=more)
    with service_of(campaign) as (service, board), served(service, board) as address:
        token = service.accounts.add("ann")
        ann = Person(browser, address, token)
        for count in range(1, 5 if kind == "pairwise" else 2):  # both orders of the sides of a comparison
            first = ann.asked()
            ann.page.locator("#number").fill("62.5") if kind == "score" else ann.press("2")
            ann.press("f", "c")
            ann.page.keyboard.type(f"why {count}")
            ann.page.locator("#comment").press("Control+Enter")
            ann.has_done(count)
            there = Person(browser, address, token)
            there.asked()
            there.press("u")
            there.has_done(count - 1)
            assert there.asked() == first
            for _ in range(2):  # kept over a reload, too
                expect(there.page.locator("#comment")).to_have_value(f"why {count}")
                expect(there.page.locator("#flag")).to_have_attribute("aria-pressed", "true")
                if kind == "score":
                    expect(there.page.locator("#number")).to_have_value("62.5")
                else:
                    checked = there.page.locator(".choice[data-key='2'] input")
                    expect(checked).to_be_checked()
                there.page.reload()
                there.asked()
            there.press("Enter")
            there.has_done(count)
            assert there.complaints == []
            there.context.close()
            ann.page.reload()
    assert campaign.verify().differences == []


def test_a_server_that_comes_back_takes_what_was_kept(browser, begun):
    """Killed while an answer is under way; the page is even closed meanwhile."""
    with service_of(begun, run=False) as (service, board):
        with served(service, board) as address:
            ann = joined(browser, service, address, "ann")
            ann.asked()
        ann.press("1", "Enter")
        expect(ann.page.locator("#news")).to_contain_text("kept on this device")
        with served(service, board, port=int(address.rsplit(":", 1)[1])):
            ann.page.goto(address)
            ann.has_done(1)
            assert answers(service) == 1
    assert begun.verify().differences == []


def test_two_people_race_and_an_admin_sees_the_interval_move(browser, tmp_path):
    items = [dict(row, topic=ATTACKS[i % 20]) for i, row in enumerate(rows(60))]
    campaign = write(tmp_path, items=items, budget=70)
    with service_of(campaign) as (service, board), served(service, board) as address:
        people = [joined(browser, service, address, name) for name in ("ann", "<img src=x onerror=window.pwned=1>")]
        boss = joined(browser, service, address, "boss", admin=True)
        expect(boss.page.locator("#figures h2")).to_have_text(["Money", "Answers"])  # no estimate, no empty box
        seen = {person.asked() for person in people}
        assert len(seen) == 2
        for person in people:
            person.press("1", "Enter")
            person.has_done(1)
        expect(boss.page.locator("#people")).to_contain_text("<img src=x")  # as text
        desk, count = service.labelling, 0
        while (task := desk.next("cid")) is not None or campaign.run(wait=False) == "waiting for answers":
            if task is not None:
                count += 1
                reply = {"key": task.key, "rating": count % 3 != 0, "seconds": 7.0}
                service.labelling.answer("cid", task.key, reply["rating"], seconds=reply.get("seconds"))
                continue
            for name in ("ann", "<img src=x onerror=window.pwned=1>", "boss"):  # what they have in hand
                if (held := desk.next(name)) is not None:
                    desk.answer(name, held.key, 1)
        expect(boss.page.locator("#state")).not_to_contain_text("running")
        expect(boss.page.locator("#chart svg.chart")).to_be_visible()
        expect(boss.page.locator("#figures")).to_contain_text("final: the campaign has ended")
        boss.page.screenshot(path=SHOTS / "live.png", full_page=True)
        assert boss.serious() == []
        assert boss.page.evaluate("window.pwned") is None
        boss.page.emulate_media(color_scheme="dark")
        assert boss.serious() == []
        boss.page.screenshot(path=SHOTS / "live-dark.png", full_page=True)
        for each in (*people, boss):
            assert each.complaints == []
        people[0].page.reload()
        expect(people[0].page.locator("#idle")).to_contain_text("All done")
    assert campaign.verify().differences == []


@pytest.mark.parametrize("kind", ["pairwise", "likert", "score"])
def test_other_scales(browser, tmp_path, kind):
    more = {"pairwise": 'show = ["question"]\na = "left"\nb = "right"'}.get(kind, SHOW)
    ends = {"likert": "low = 1\nhigh = 5", "score": "low = 0\nhigh = 100"}.get(kind, "")
    campaign = write(tmp_path, kind=kind, rating=ends, more=more)
    with service_of(campaign) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann")
        ann.asked()
        if kind == "score":
            ann.press("7")
            page = ann.page
            page.locator("#number").fill("250")
            ann.press("Enter")
            expect(page.locator("#news")).to_contain_text("number from 0 to 100")
            page.locator("#number").fill("62.5")
        else:
            ann.press("3")
        ann.page.screenshot(path=SHOTS / f"{kind}.png")
        assert ann.serious() == []
        ann.press("Enter")
        ann.has_done(1)
        assert ann.complaints == []
    said = campaign.export(tmp_path / "a.csv", answers=True).numbers("rating").tolist()
    assert said == [{"pairwise": 0.5, "likert": 3.0, "score": 62.5}[kind]]


@pytest.mark.parametrize("look", ["light", "dark", "phone"])
def test_nothing_serious_for_screen_readers_and_phones(browser, begun, look):
    keys = {"light": {}, "dark": {"color_scheme": "dark"}, "phone": PHONE}[look]
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann", admin=True, **keys)
        assert ann.page.url == f"{address}/live"  # an admin watches, and holds no question
        expect(ann.page.locator("#figures")).to_contain_text("0 in people's hands")
        ann.page.goto(address)
        ann.asked()
        assert ann.serious() == []
        ann.page.screenshot(path=SHOTS / f"label-{look}.png")
        ann.page.locator("#open-guidelines").click()
        assert ann.serious() == []
        ann.press("Escape")
        if look == "phone":
            width = ann.page.evaluate("document.documentElement.scrollWidth")
            assert width <= 390  # nothing to scroll sideways
            ann.page.get_by_text("Yes", exact=True).tap()  # and no more
            ann.has_done(1)
        ann.page.goto(f"{address}/live")
        expect(ann.page.locator("#figures")).to_contain_text("Money")
        assert ann.serious() == []
        ann.page.locator("text=Label").first.click()
        ann.page.locator("#sign-out").click()
        expect(ann.page.get_by_role("heading", name="You are not signed in")).to_be_visible()
        assert ann.serious() == []


def test_what_the_policy_stops_is_a_complaint(browser, begun):
    """So that "no complaints" says something."""
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann")
        ann.asked()
        assert ann.complaints == []
        ann.page.evaluate("document.body.append(Object.assign(new Image(), { src: 'https://evil.example/x.png' }))")
        until(lambda: ann.complaints)
        assert [text.split(":")[0] for text in ann.complaints] == ["img-src"]


def test_no_attack_runs_in_the_browser(browser, begun):
    """Every attack is rendered as a part of a question, by the server's own code and under its own policy."""
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        task = service.labelling.next("ann")
        item = {f"{i} {attack[:20]}": attack for i, attack in enumerate(ATTACKS)}
        body = told(type(task)(task.key, task.rater, item, task.kind, task.scale, task.until, False, 600.0, ATTACKS[0]))
        ann = joined(browser, service, address, "ann")
        ann.page.route("**/api/v1/next", lambda route: route.fulfill(json=body))
        elsewhere = []
        ann.page.on("request", lambda request: elsewhere.append(request.url))
        ann.page.reload()
        ann.asked()
        expect(ann.page.locator(".part")).to_have_count(len(ATTACKS))
        for link in ann.page.locator(".text a").all():
            assert link.get_attribute("href").startswith(("http:", "https:", "mailto:"))
        ann.page.mouse.move(200, 300)
        ann.press("Tab", "Tab", "Tab")
        ann.page.screenshot(path=SHOTS / "attacks.png")
        assert ann.page.evaluate("window.pwned") is None
        assert ann.page.locator(".text script, .text iframe, .text svg, .text form, .text style").count() == 0
        assert {url.split("/")[2] for url in elsewhere} == {address.split("/")[2]}
        assert ann.complaints == []  # the policy had nothing to stop


def test_no_name_comment_or_file_name_runs_in_the_browser(browser, begun):
    """People's names and slices in the live view, comments on the page, and all of them in the report."""
    images = [f"![x](<{name}>)" for name in FILES] + [f"![{name}](x.png)" for name in FILES]
    hostile = (*NAMES, *images, *ATTACKS)
    assert len(hostile) > 200
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        boss = joined(browser, service, address, "boss", admin=True)
        found = board.newest()[1]
        one = {**dict.fromkeys(("answers", "seconds", "per_hour", "cannot_tell", "flags"), 1), "agree": None}
        part = {
            "column": hostile[1],
            **dict.fromkeys(("items", "labels"), 1),
            **dict.fromkeys(("value", "low", "high")),
        }
        found |= {
            **dict.fromkeys(("name", "goal", "says", "outlook", "currency"), hostile[0]),
            "judge": list(hostile), "columns": [hostile[1]],
            "people": [{**one, "name": each, "told": [each], "in_hand": True} for each in hostile],
            "slices": [{**part, "name": each} for each in hostile],
            "remarks": [{**dict.fromkeys(("id", "person", "comment", "rating"), each), "position": 1, "flagged": True,
                         "texts": [{"name": each, "text": each}]} for each in hostile],
        }  # fmt: skip
        body = f"data: {json.dumps(found)}\n\n"
        boss.page.route("**/live/events", lambda route: route.fulfill(body=body, content_type="text/event-stream"))
        boss.page.reload()
        expect(boss.page.locator("#people tbody tr")).to_have_count(len(hostile))
        ann = joined(browser, service, address, NAMES[0])
        ann.asked()
        ann.press("c")
        ann.page.locator("#comment").fill("\n".join(hostile)[:4000])
        ann.page.reload()
        ann.asked()
        expect(ann.page.locator("#comment")).to_have_value(re.compile("pwned"))
        paper = ann.context.new_page()  # the report has no policy to help it
        rows = [(each,) * 6 for each in hostile]
        paper.set_content(
            page("x", [grid_of(words.PEOPLE, rows), Picture(lambda: one_span(*hostile[:2]), "".join(hostile))])
        )
        for each in (boss.page, ann.page, paper):
            each.mouse.move(200, 300)
            assert each.evaluate("window.pwned") is None
            assert (
                each.locator("main script, main iframe, table script, table img, figure img, figcaption *").count() == 0
            )
        assert boss.complaints + ann.complaints == []


def one_span(name, said):
    return spans_picture([Span(name, 0.5, 0.4, 0.6)], said)


def test_training_tells_what_was_right_and_then_real_questions_come(browser, tmp_path):
    known = [{"question": f"Known {i}?", "answer": "a", "expected": "yes", "why": "**because**"} for i in range(2)]
    (tmp_path / "known.jsonl").write_text("".join(json.dumps(row) + "\n" for row in known))
    campaign = write(tmp_path, more=SHOW + '\nknown = "known.jsonl"\ntraining = 2\npass_mark = 0.5')
    with service_of(campaign) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann")
        assert "Known 0?" in ann.asked()
        expect(ann.page.locator("#training")).to_contain_text("Training 1 of 2")
        ann.press("2", "Enter")
        expect(ann.page.locator("#feedback")).to_contain_text("The answer is: Yes")
        expect(ann.page.locator("#feedback-why strong")).to_have_text("because")
        expect(ann.page.locator("#feedback-close")).to_be_focused()
        ann.page.screenshot(path=SHOTS / "training.png")
        assert ann.serious() == []
        ann.press("Enter")
        expect(ann.page.locator("#training")).to_contain_text("Training 2 of 2")
        ann.press("1", "Enter")
        expect(ann.page.locator("#feedback-end")).to_contain_text("Training passed, 50 % right")
        ann.press("Enter")
        expect(ann.page.locator("#item")).to_contain_text("How do I cancel order")
        expect(ann.page.locator("#training")).to_be_hidden()
        ann.press("1", "Enter")
        ann.has_done(1)
        assert ann.complaints == []


def test_a_lease_is_renewed_while_the_page_is_open(browser, tmp_path):
    campaign = write(tmp_path, more='show = ["question"]\nlease = 9')
    with service_of(campaign) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann")
        ann.asked()
        renewed = []
        ann.page.on("request", lambda request: renewed.append(request.url) if "renew" in request.url else None)
        until(lambda: renewed, each=lambda: (ann.page.mouse.move(9, len(renewed) + 9), ann.page.wait_for_timeout(200)))
    assert Campaign.open(tmp_path / "c.toml").verify().differences == []


def test_a_welcome_comes_once_and_holds_no_question(browser, begun):
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann")
        page, begin = ann.page, ann.page.locator("#begin")
        expect(begin).to_be_focused()
        for said in ("The answer solves the customer's problem.", "1.00 a question", "How to rate"):
            expect(page.locator("#welcome")).to_contain_text(said)
        assert ann.serious() == []
        page.screenshot(path=SHOTS / "welcome.png")
        ann.press("1", "s", "u")  # nothing to answer yet
        assert service.labelling.store.in_hand() == set()
        ann.press("Enter")
        ann.has_done(0)
        expect(page.locator("#answer")).to_be_visible()
        page.reload()
        expect(page.locator("#answer")).to_be_visible()
        expect(page.locator("#welcome")).to_be_hidden()
        (begun.spec.folder / "guide.md").write_text("Other guidelines")
        page.reload()
        expect(page.locator("#welcome")).to_contain_text("Other guidelines")
        assert ann.complaints == []


@pytest.mark.parametrize("ended", [False, True])
def test_the_last_answer_can_be_undone_where_nothing_is_left(browser, begun, ended):
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        ann, desk = joined(browser, service, address, "ann"), service.labelling
        last = ann.asked()
        while (task := desk.next("ben")) is not None:
            desk.answer("ben", task.key, 1)
        ann.press("1", "Enter")
        expect(ann.page.locator("#idle")).to_be_visible()
        if ended:
            desk.store.set_meta("ended", "stopped by hand")
            expect(ann.page.locator("#idle")).to_contain_text("All done")
        ann.page.locator("#undo-idle").click()
        assert ann.asked() == last
        expect(ann.page.get_by_role("radio", name="Yes")).to_be_checked()
        assert ann.complaints == []


def test_a_save_that_waits_can_be_seen(browser, begun):
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann")
        ann.asked()
        expect(ann.page.locator("#saving")).to_be_hidden()
        ann.context.set_offline(True)
        ann.press("1", "Enter")
        expect(ann.page.locator("#saving")).to_be_visible()
        assert ann.serious() == []
        ann.context.set_offline(False)
        ann.has_done(1)
        expect(ann.page.locator("#saving")).to_be_hidden()


def test_a_second_tap_is_not_for_the_next_question(browser, begun):
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        ann = joined(browser, service, address, "ann", **PHONE)
        ann.asked()
        ann.page.evaluate("""async () => {
          const how = { detail: 1, bubbles: true, cancelable: true };
          const tap = () => document.querySelector(".choice").dispatchEvent(new MouseEvent("click", how));
          const shown = document.querySelector("#item").textContent;
          tap();
          while (document.querySelector("#item").textContent === shown) await new Promise((done) => setTimeout(done));
          tap();
        }""")
        ann.has_done(1)
        expect(ann.page.get_by_role("radio", name="Yes")).not_to_be_checked()
        assert answers(service) == 1


def test_flags_and_comments_are_worked_through_in_the_live_view(browser, begun):
    with service_of(begun, run=False) as (service, board), served(service, board) as address:
        desk, boss = service.labelling, joined(browser, service, address, "boss", admin=True)
        expect(boss.page.locator("#remarks")).to_contain_text("Nobody has flagged")
        desk.answer("ann", desk.next("ann").key, 1, comment="not so", flagged=True)
        expect(boss.page.locator("#remarks")).to_contain_text("not so")
        boss.page.get_by_text("The item").click()
        expect(boss.page.locator("#remarks pre").first).to_contain_text("How do I cancel")
        boss.page.get_by_role("checkbox").check()
        desk.answer("ann", desk.next("ann").key, 1)
        expect(boss.page.locator("#figures")).to_contain_text("2 of ")
        expect(boss.page.locator("#remarks pre").first).to_be_visible()  # still open
        assert boss.serious() == []
        boss.page.reload()
        expect(boss.page.get_by_role("checkbox")).to_be_checked()
        boss.page.get_by_role("link", name="Report").click()
        expect(boss.page.get_by_text("not so")).to_be_visible()
        boss.page.goto(f"{address}/nowhere")
        assert boss.serious() == []
        boss.page.get_by_role("link", name="Go to the questions").click()
        boss.asked()
        assert boss.complaints == []
