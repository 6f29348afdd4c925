"""The documentation's site: it is built, everybody can read it, and what is copied from it can be typed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

import ratewise
from ratewise.cli.main import named_groups

from .programs import needed

ROOT = Path(__file__).parents[1]
CHROMIUM = os.environ.get("RATEWISE_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    line = [sys.executable, "-m", "mkdocs", "build", "--strict", "-q", "-d", str(folder)]
    quietly = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    told = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, check=False, env=quietly)
    assert told.returncode == 0, told.stderr
    return folder


@pytest.fixture(scope="module")
def browser():
    chromium = needed(CHROMIUM, "install chromium (apt-get install chromium), or name it in RATEWISE_TEST_CHROMIUM")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["index", "install", "cli/plan", "reference/plan", "guides/campaigns", "everyday"])
def test_everybody_can_read_it(browser, site, name, scheme):
    page = browser.new_page(viewport={"width": 1200, "height": 800}, color_scheme=scheme)
    page.goto((site / f"{name}.html").as_uri())
    found = Axe().run(page).response["violations"]
    serious = [one for one in found if one["impact"] in ("serious", "critical")]
    assert [(one["id"], one["nodes"][0]["html"][:150]) for one in serious] == []
    link = page.locator("article p a:not(.headerlink), article li a:not(.headerlink)").first
    if link.count():
        assert "underline" in link.evaluate("e => getComputedStyle(e).textDecorationLine")
    page.close()


def test_what_is_copied_from_a_console_is_what_is_typed(browser, site):
    """The theme marks a block while it copies it; the prompt is then no part of it."""
    page = browser.new_page()
    page.goto((site / "index.html").as_uri())
    block = page.locator("pre code").first
    assert block.inner_text().startswith("$ ")
    block.evaluate("e => e.closest('.highlight').setAttribute('data-md-copying', '')")
    assert block.inner_text().strip().startswith("pip install")
    assert "$" not in block.inner_text()
    page.close()


def test_every_command_and_group_of_names_has_a_page_in_the_navigation(site):
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for name in (name for names in named_groups().values() for name in names):
        assert f"- {name}: cli/{name}.md" in nav
        assert (site / "cli" / f"{name}.html").exists()
    for group in ratewise._GROUPS:
        assert f": reference/{group}.md" in nav
    assert "0.1.0" in (site / "changelog.html").read_text(encoding="utf-8")
    assert re.search(r"md-footer__link--next", (site / "tutorial.html").read_text(encoding="utf-8"))


def test_pictures_are_small():
    found = list((ROOT / "docs" / "pictures").iterdir())
    assert {"report.webp", "page.webp", "why.svg"} <= {path.name for path in found}
    assert sum(path.stat().st_size for path in found) < 600_000
