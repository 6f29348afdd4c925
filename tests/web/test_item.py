"""What people see of each kind of item, in a real Chromium: as the model wrote it, wherever they look at it."""

import json
from contextlib import ExitStack

import pytest
from playwright.sync_api import expect

from ..waiting import until
from .browsing import PHONE, SHOTS, joined
from .making import SHOW, rows, served, service_of, write

POEM = "Two roads diverged\n    in a yellow wood,\n\nAnd sorry I could not"
CODE = '#include <stdio.h>\n\nint main(void) {\n    int *p = NULL; /* none */\n    printf("%d", 10);\n    return 0;\n}'
CHAT = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hi!\nWhere is it?"},
        {"role": "assistant", "content": "On its **way**.", "tool_calls": [
            {"id": "1", "function": {"name": "find", "arguments": '{"order": 4711}'}}]}]  # fmt: skip
TABLE = "|" + "incomprehensibilities|" * 9 + "\n|" + "---|" * 9 + "\n|" + "incomprehensibilities|" * 9
HEBREW = "בירת צרפת היא **פריז**.\n\n1. העיר הגדולה\n2. על נהר הסיין\n\n```\nmap.show()\n```\n\nבירת צרפת"
WORDS = "\n\n".join(["The quick brown fox jumps over the lazy dog. " * 10] * 111) + "\n\nSo it is 42."
PIXEL = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42m"
    "Nk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


@pytest.fixture
def shown(browser, tmp_path):
    """A page that shows an answer, in a window or on a phone."""
    with ExitStack() as held:

        def show(answer, *, kind="binary", more=SHOW, rating="", **keys):
            (tmp_path / "there.gif").write_bytes(b"GIF89a\1\0\1\0\0\0\0!\xf9\4\1\0\0\0\0,\0\0\0\0\1\0\1\0\0\2\2D\1\0;")
            items = [{**row, "answer": answer or ("" if row["id"] != "q39" else "x")} for row in rows()]
            campaign = write(tmp_path, items=items, kind=kind, more=more, rating=rating)
            service, board = held.enter_context(service_of(campaign))
            address = held.enter_context(served(service, board))
            ann = joined(browser, service, address, "ann", **keys)
            ann.asked()
            return ann

        yield show


def answer_of(ann):
    return ann.page.locator(".part").last.locator(".text").first


LOOKS = {"window": {"viewport": {"width": 1280, "height": 800}},
         "phone": {**PHONE, "viewport": {"width": 375, "height": 667}}, "dark": {"color_scheme": "dark"}}  # fmt: skip
KINDS = {"poem": POEM, "code": CODE, "json": json.dumps({"a": {"b": [1, {"c": "d"}]}}), "chat": json.dumps(CHAT),
         "hebrew": HEBREW, "table": TABLE, "words": WORDS, "empty": "", "image": f"![here](there.gif) ![this]({PIXEL})",
         "maths": "So $x^2$ and\n\n$$\n\\boxed{\\frac{1}{2}}\n- y\n$$"}  # fmt: skip


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_content_can_be_read(shown, kind, look):
    """No axe violation, nothing that the policy stops, nothing to scroll sideways, and room for the item."""
    ann = shown(KINDS[kind], **LOOKS[look])
    expect(ann.page.locator("code.maths")).to_have_count(0)
    ann.page.screenshot(path=SHOTS / f"item-{kind}-{look}.png")
    assert ann.serious() == []
    assert ann.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    if look == "phone":
        assert ann.page.locator("#answer").bounding_box()["height"] <= 0.3 * 667
    assert ann.complaints == []


def test_lines_and_code_stay_as_they_were_written(shown):
    ann = shown(POEM)
    assert answer_of(ann).inner_text().replace("\u00a0", " ") == POEM


def test_code_has_colours_and_its_lines(shown):
    ann = shown(CODE)
    assert answer_of(ann).inner_text() == CODE
    assert ann.page.locator(".code-comment").all_inner_texts() == ["/* none */"]
    assert "return" in ann.page.locator(".code-keyword").all_inner_texts()
    assert ann.page.locator(".code-string").inner_text() == '"%d"'


def test_raw_text_is_remembered(shown):
    ann = shown("Some **bold** words")
    expect(ann.page.locator("#item strong")).to_have_text("bold")
    ann.press("r")
    expect(answer_of(ann)).to_have_text("Some **bold** words")
    expect(ann.page.locator("#raw")).to_have_attribute("aria-pressed", "true")
    ann.press("1", "Enter")
    ann.has_done(1)
    expect(answer_of(ann)).to_have_text("Some **bold** words")
    ann.page.reload()
    ann.asked()
    expect(answer_of(ann)).to_have_text("Some **bold** words")
    ann.page.locator("#raw").click()
    expect(ann.page.locator("#item strong")).to_have_text("bold")


def test_json_is_a_tree_that_folds(shown):
    ann = shown(KINDS["json"])
    expect(answer_of(ann)).to_contain_text("“d”")
    ann.page.get_by_text("1 key", exact=True).first.click()
    expect(ann.page.get_by_text("“d”")).to_be_hidden()


def test_a_conversation_has_bubbles_and_folds(shown):
    ann = shown(KINDS["chat"])
    user, model = ann.page.locator(".turn.user"), ann.page.locator(".turn.assistant")
    expect(user).to_contain_text("Hi!")
    assert user.inner_text().split("\n")[-2:] == ["Hi!", "Where is it?"]
    assert user.bounding_box()["x"] > model.bounding_box()["x"]
    expect(ann.page.get_by_text("4711", exact=True)).to_be_hidden()
    ann.page.get_by_text("Calls find").click()
    expect(ann.page.get_by_text("4711", exact=True)).to_be_visible()


def test_hebrew_runs_from_the_right(shown):
    ann = shown(HEBREW)
    starts = "(e) => { const r = document.createRange(); r.selectNodeContents(e); const b = r.getBoundingClientRect(); "
    starts += "const p = e.closest('.text').getBoundingClientRect(); return p.right - b.right < b.left - p.left }"
    assert ann.page.locator("#item p").last.evaluate(starts)
    assert ann.page.locator("#item li").first.evaluate(starts)
    assert ann.page.locator("#item ol").evaluate("(e) => getComputedStyle(e).direction") == "rtl"
    assert ann.page.locator("#item pre").evaluate(starts) is False  # code runs from the left in every language
    assert ann.page.locator(".part").first.locator("p").evaluate(starts) is False  # the question is English


def test_a_wide_table_scrolls_and_keeps_its_words(shown):
    ann = shown(TABLE, **LOOKS["phone"])
    box = ann.page.locator(".scroll")
    assert box.evaluate("(e) => e.scrollWidth > 2 * e.clientWidth")
    assert ann.page.locator("td").first.bounding_box()["height"] < 60  # one line
    box.focus()
    ann.press("ArrowRight")
    until(lambda: box.evaluate("(e) => e.scrollLeft > 0"))


def test_a_long_answer_shows_its_end_and_opens(shown):
    ann = shown(WORDS, **LOOKS["window"])
    last = ann.page.get_by_text("So it is 42.")
    expect(last.last).to_be_in_viewport()
    ann.page.get_by_role("button", name="Show all").click()
    expect(last).to_have_count(2)
    assert answer_of(ann).bounding_box()["height"] > 5000
    ann.page.get_by_role("button", name="Show less").click()
    assert answer_of(ann).bounding_box()["height"] < 500


def test_an_empty_answer_says_so(shown):
    ann = shown("")
    expect(answer_of(ann)).to_have_text("empty answer")
    ann.press("r")
    expect(answer_of(ann)).to_have_text("empty answer")


def test_pictures_are_those_of_the_folder_and_of_the_text(shown):
    ann = shown(f"![here](there.gif) ![this]({PIXEL}) ![gone](gone.png) ![far](https://x.example/a.png)")
    sizes = "[...document.querySelectorAll('.text img')].map((e) => e.naturalWidth)"
    until(lambda: ann.page.evaluate(sizes) == [1, 1])
    expect(answer_of(ann)).to_contain_text("picture that is not there: gone")
    expect(ann.page.get_by_role("link", name="picture elsewhere: far")).to_have_attribute(
        "rel", "noopener noreferrer nofollow"
    )
    expect(answer_of(ann)).to_contain_text("(x.example)")
    assert ann.complaints == []


def test_formulas_are_set_and_wrong_ones_stay(shown):
    ann = shown("It is $\\frac{1}{2}$ or $\\nonsense{$ or \\(x\\), for $5.")
    expect(ann.page.locator(".formula .katex")).to_have_count(2)
    expect(ann.page.locator(".formula").first).to_have_attribute("aria-label", "\\frac{1}{2}")
    expect(answer_of(ann)).to_contain_text("$\\nonsense{$")
    ann.page.evaluate("document.fonts.ready")
    assert ann.page.evaluate("[...document.fonts].some((f) => f.family.startsWith('KaTeX') && f.status === 'loaded')")
    assert ann.complaints == []


def test_differences_are_marked_on_request(shown):
    ann = shown("x", kind="pairwise", more='show = ["question"]\na = "left"\nb = "right"')
    expect(ann.page.locator("mark")).to_have_count(0)
    ann.press("d")
    marked = ann.page.locator(".side mark")
    assert sorted(marked.all_inner_texts()) == ["Left", "Right"]
    assert ann.serious() == []
    ann.press("1", "Enter")
    ann.has_done(1)
    expect(marked).to_have_count(2)  # remembered
    ann.page.locator("#differences").click()
    expect(marked).to_have_count(0)


def test_the_shortest_list_of_differences(shown):
    """Held against a slow search for the longest common words, on random texts."""
    ann = shown("x")
    wrong = ann.page.evaluate("""async () => {
      const { markDifferences } = await import("/static/differences.js");
      let seed = 7;
      const next = (n) => (seed = (seed * 48271) % 2147483647) % n;
      const text = () => Array.from({ length: next(12) }, () => "abc"[next(3)]).join(" ");
      const common = (a, b) => !a.length || !b.length ? 0 : a[0] === b[0] ? 1 + common(a.slice(1), b.slice(1))
        : Math.max(common(a.slice(1), b), common(a, b.slice(1)));
      const wrong = [];
      for (let i = 0; i < 200; i++) {
        const pair = [text(), text()], words = (t) => t.match(/\\w/g) ?? [];
        const boxes = pair.map((t) => Object.assign(document.createElement("p"), { textContent: t }));
        markDifferences(...boxes);
        for (const box of boxes) box.querySelectorAll("mark").forEach((m) => m.remove());
        const kept = boxes.map((box) => words(box.textContent));
        const longest = common(...pair.map(words));
        if (kept[0].join() !== kept[1].join() || kept[0].length !== longest) wrong.push([pair, kept]);
      }
      return wrong;
    }""")
    assert wrong == []


@pytest.mark.parametrize("kind", ["binary", "likert", "likert to 10", "score", "pairwise"])
def test_the_answer_takes_little_of_a_phone_and_one_tap(shown, kind):
    more = 'show = ["question"]\na = "left"\nb = "right"' if kind == "pairwise" else SHOW
    more += '\nends = ["not at all", "fully"]' if kind == "score" else ""
    rating = {"likert": "low = 1\nhigh = 7", "likert to 10": "low = 0\nhigh = 10", "score": "low = 0\nhigh = 100"}.get(
        kind, ""
    )
    more = more.replace("solves the customer's problem.", "solves all that the customer has asked for. " * 6)
    ann = shown("x", kind=kind.split()[0], more=more, rating=rating, **LOOKS["phone"])
    ann.page.screenshot(path=SHOTS / f"phone-{kind}.png")
    assert ann.page.locator("#answer").bounding_box()["height"] <= 0.3 * 667
    assert ann.page.locator("legend").inner_text()
    if kind == "likert":
        expect(ann.page.locator(".ends")).to_contain_text("7 = highest")
    assert ann.serious() == []
    if kind == "score":
        expect(ann.page.locator(".ends")).to_contain_text("100 = fully")
        ann.page.locator("#number").fill("50")
        ann.page.locator("#save").tap()
    else:
        ann.page.locator(".choice").nth(1).tap()
    ann.has_done(1)
    ann.page.locator("#undo").tap()
    ann.has_done(0)
    assert ann.complaints == []
