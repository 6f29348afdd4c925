"""People before a real Chromium; pictures of what they see are kept in build/screenshots."""

import os
import shutil
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

from ..programs import needed
from ..waiting import SECONDS

SHOTS = Path(__file__).parents[2] / "build" / "screenshots"
CHROMIUM = os.environ.get("RATEWISE_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
PHONE = {"viewport": {"width": 390, "height": 780}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def browser():
    chromium = needed(CHROMIUM, "install chromium (apt-get install chromium), or name it in RATEWISE_TEST_CHROMIUM")
    SHOTS.mkdir(parents=True, exist_ok=True)
    expect.set_options(timeout=1000 * SECONDS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-dev-shm-usage"])
        yield found
        found.close()


WATCH = "addEventListener('securitypolicyviolation', (e) => stopped(`${e.violatedDirective}: ${e.blockedURI}`))"


class Person:
    """One browser of one person; what goes wrong in its page is kept: errors, dialogs, what the policy stopped.

    What the console says besides is the browser's own, and another in the next version.
    """

    def __init__(self, browser, address, token, **keys):
        self.context = browser.new_context(**keys)
        self.context.set_default_timeout(1000 * SECONDS)
        self.page = self.context.new_page()
        self._wrong = []
        self.context.expose_binding("stopped", lambda _, told: self._wrong.append(told))
        self.context.add_init_script(WATCH)
        self.page.on("pageerror", lambda error: self._wrong.append(str(error)))
        self.page.on("dialog", lambda dialog: (self._wrong.append("a dialog"), dialog.dismiss()))
        self.page.goto(f"{address}/join/{token}")

    @property
    def complaints(self):
        self.page.evaluate("new Promise((done) => setTimeout(done))")  # what was under way has been told
        return self._wrong

    def asked(self):
        """What is shown of the question, once the person has begun."""
        self.page.locator("#answer:visible, #begin:visible").wait_for()
        if self.page.locator("#begin").is_visible():
            self.page.locator("#begin").click()
        expect(self.page.locator("#answer")).to_be_visible()
        return self.page.locator("#item").inner_text()

    def press(self, *keys):
        for key in keys:
            self.page.keyboard.press(key)

    def has_done(self, count):
        expect(self.page.locator("#progress")).to_contain_text(f"{count} done")

    def serious(self):
        found = Axe().run(self.page).response["violations"]
        return [(v["id"], v["nodes"][0]["html"][:120]) for v in found if v["impact"] in ("serious", "critical")]


def joined(browser, service, address, name, *, admin=False, **keys):
    return Person(browser, address, service.accounts.add(name, admin=admin), **keys)
