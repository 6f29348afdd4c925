"""How a report looks in a real browser: readable by everybody, on a phone, in the dark and on paper, from one file."""

import os
import re
import shutil

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright
from typer.testing import CliRunner

from ratewise.campaign.campaign import Campaign
from ratewise.cli.main import app
from ratewise.report.campaign import campaign_page
from ratewise.tables import read_table, write_table

from ..campaign.making import judged, ran, write
from ..programs import needed

CHROMIUM = os.environ.get("RATEWISE_TEST_CHROMIUM") or shutil.which("chromium")
POEM = "Roses are red,\n  violets are <i>blue</i>.\n\n" + "A long line of an answer. " * 40


@pytest.fixture(scope="module")
def browser():
    chromium = needed(CHROMIUM, "install chromium (apt-get install chromium), or name it in RATEWISE_TEST_CHROMIUM")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """The pages of a campaign and of each command that writes one, by name."""
    folder, rng = tmp_path_factory.mktemp("look"), np.random.default_rng(5)
    columns = judged(300) | {"topic": [f"topic {i % 3}" for i in range(300)], "text": [POEM] * 300}
    keys = {"items": 'features = ["topic"]', "currency": "USD"}
    campaign: Campaign = ran(folder / "c", columns, goal='budget = "90"\nwithin = 0.01', **keys)
    asked = judged(300) | {"topic": [f"topic {i % 3}" for i in range(300)]}
    path = write(folder / "q", asked, goal='budget = "90"\nwithin = 0.5', currency="USD")
    path.write_text(path.read_text() + '\n[question]\nkind = "slices"\nby = "topic"\n')
    question = Campaign.open(path)
    question.run()
    g, n = rng.beta(4, 1, 400).round(3), 400
    h = (rng.random(n) < g).astype(int)
    table = {"id": np.arange(n), "g": g, "h": h, "g2": (0.8 * g).round(3), "h2": h * (rng.random(n) < 0.8)}
    write_table(read_table(table | {"t": np.array(["a", "b"] * 200)}, name="t"), folder / "t.csv")
    votes = {"model_a": ["x", "y", "z"] * 60, "model_b": ["y", "z", "x"] * 60, "human": rng.integers(0, 2, 180)}
    write_table(read_table({k: np.array(v) for k, v in votes.items()}, name="v"), folder / "v.csv")
    weak = ["--weak", "g", "--strong", "h"]
    systems = ["--system", "new:g:h", "--system", "old:g2:h2"]
    found = {"campaign": campaign_page(campaign, truth=0.7), "question": campaign_page(question)}
    for name, line in {
        "estimate": ["estimate", "t.csv", *weak], "slices": ["estimate", "t.csv", *weak, "--by", "t"],
        "check": ["check", "t.csv", *weak, "--at-least", "0.5"], "compare": ["compare", "t.csv", *systems],
        "many": ["compare", "t.csv", *systems, "--system", "also:g:h2", "--baseline", "old"],
        "leaderboard": ["leaderboard", "v.csv", "--strong", "human"],
    }.items():  # fmt: skip
        line[1] = str(folder / line[1])
        for ending in ("html", "md"):
            path = folder / f"{name}.{ending}"
            told = CliRunner().invoke(app, [*line, "--report", str(path)])
            assert told.exit_code == 0, told.output
            found[name if ending == "html" else f"{name}.md"] = path.read_text(encoding="utf-8")
    return found


PAGES = ("campaign", "question", "estimate", "slices", "check", "compare", "many", "leaderboard")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everybody_can_read_it(browser, reports, name, scheme):
    page = browser.new_page(viewport={"width": 1000, "height": 800}, color_scheme=scheme)
    page.set_content(reports[name])
    found = Axe().run(page).response["violations"]
    assert [(one["id"], one["nodes"][0]["html"][:150]) for one in found] == []
    assert page.locator("main").count() == page.locator("h1").count() == page.locator("footer").count() == 1
    page.close()


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [320, 375])
def test_a_phone_shows_every_column_without_scrolling(browser, reports, name, width):
    page = browser.new_page(viewport={"width": width, "height": 700})
    page.set_content(reports[name])
    wide = (
        "els => els.map(e => e.getBoundingClientRect().right).filter(x => x > document.documentElement.clientWidth + 1)"
    )
    assert page.eval_on_selector_all("h1, p, dl, td, th, svg, pre", wide) == []
    page.close()


@pytest.mark.parametrize("name", PAGES)
def test_paper_cuts_nothing_off(browser, reports, name):
    page = browser.new_page(viewport={"width": 688, "height": 1000})  # A4 between its margins
    page.emulate_media(media="print")
    page.set_content(reports[name])
    assert page.evaluate("document.documentElement.scrollWidth <= 688")
    boxes = "els => els.filter(e => e.scrollWidth > e.clientWidth + 1).length"
    assert page.eval_on_selector_all(".wide", boxes) == 0
    page.close()


def test_the_headline_is_the_sentence_and_every_figure_has_one_unit(reports):
    page = reports["campaign"]
    headline = re.search("<h1[^>]*>(.*?)</h1>", page)[1]
    assert re.fullmatch(r"[\d.]+% of the items get a yes from human \(95% interval [\d.]+–[\d.]+%\)", headline)
    assert (
        page.index("<h1")
        < page.index("<svg")
        < page.index("The goal of ±1.0 points is not reached")
        < page.index("<h2")
    )
    assert "saved" in page
    assert "USD 90" in page
    shown = re.sub(
        r"<svg.*?</svg>|<pre.*?</pre>|<style.*?</style>|<code.*?</code>|<footer.*", " ", page, flags=re.DOTALL
    )
    assert re.findall(r"(?<![\d.])0\.\d{3,}", re.sub("<[^>]*>", " ", shown)) == []


def test_a_question_is_answered_first_with_its_goal(reports):
    head = reports["question"].partition("<h2")[0]
    assert re.search(r"<h1[^>]*>The mean rating is [\d.]+%: by topic, from [\d.]+% \(topic \d\) to [\d.]+%", head)
    assert "Every goal is reached." in head
    assert "USD" in head


def test_the_whole_item_is_shown_as_it_was_written(browser, reports):
    page = browser.new_page()
    page.set_content(reports["campaign"])
    text = page.locator("td.text dt:has-text('text') + dd").first
    assert text.text_content() == POEM
    assert text.evaluate("e => getComputedStyle(e).whiteSpace") == "pre-wrap"
    page.close()


@pytest.mark.parametrize("name", PAGES[2:])
def test_every_command_writes_the_same_as_markdown(reports, name):
    headline = re.sub("<[^>]*>", "", re.search("<h1[^>]*>(.*?)</h1>", reports[name])[1])
    title = next(line for line in reports[f"{name}.md"].splitlines() if line.startswith("# "))
    assert title.removeprefix("# ").replace("\\", "") == headline
    assert "Do it again" in reports[name]


@pytest.mark.parametrize("name", ["check", "compare"])
def test_a_comparison_of_yes_and_no_speaks_of_per_cent(reports, name):
    said = re.sub("<[^>]*>", " ", re.search("<main>(.*?)Do it again", reports[name], re.DOTALL)[1])
    assert "%" in said
    assert re.findall(r"(?<![\d.])0\.\d{3,}", said) == []


def test_a_file_that_is_no_report_is_refused_before_anything_is_read():
    told = CliRunner().invoke(app, ["estimate", "no.csv", "--weak", "g", "--strong", "h", "--report", "x.pdf"])
    assert told.exit_code == 2
    assert ".html or .md" in told.output
