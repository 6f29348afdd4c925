"""Make the pictures of the README and the home page: screenshots of a campaign that this runs, and a chart of
what the page says. `make pictures`; it needs the test extra, and Chromium (or its path in RATEWISE_TEST_CHROMIUM).
"""

import io
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from ratewise.core.chart import Span, spans_picture

PICTURES = pathlib.Path(__file__).with_name("pictures")
PORT = 8931
ANSWERS = (
    ("How do I cancel an order that has not been sent?",
     "Open **Orders**, choose the order, then:\n\n1. *Cancel order*\n2. pick a reason\n\nYou get the money back."),
    ("Can I change the delivery address?", "Yes, until the parcel is packed: **Orders → Change address**."),
    ("My voucher is refused. Why?", "Vouchers need a minimum of 20 € and cannot be combined with a sale."),
    ("How long does a refund take?", "Three to five working days, depending on your bank."),
)  # fmt: skip
TOPICS = ("delivery", "payment", "returns", "vouchers")
TOML = """name = "support-bot"
seed = 7
claim = "the support bot's answer solves the problem"
currency = "USD"
[items]
table = "items.jsonl"
features = ["topic"]
[rating]
kind = "binary"
[goal]
budget = "{budget}"
within = 0.04
[[raters]]
name = "judge"
kind = "column"
column = "judge"
price = "0.01"
[[raters]]
name = "experts"
{people}
"""
PEOPLE = """kind = "people"
price = "1"
show = ["question", "answer"]
criterion = "The answer solves the customer's problem."
guidelines = "guide.md"
"""


def items(count: int) -> list[dict[str, object]]:
    """Questions to a support bot with a judge's score and what people would say."""
    rng = np.random.default_rng(11)
    out = []
    for i in range(count):
        kind = int(rng.integers(4))
        right = float(rng.beta(*((9, 1), (4, 1), (3, 1.2), (2, 1.5))[kind]))
        question, answer = ANSWERS[kind]
        out.append({
            "id": f"chat-{i:04}", "topic": TOPICS[kind], "question": question, "answer": answer,
            "judge": round(right, 3), "expert": int(rng.random() < right),
        })  # fmt: skip
    return out


def campaign(folder: pathlib.Path, *, people: str, budget: int, count: int) -> pathlib.Path:
    """A campaign's files; what people would say is left out where people are asked."""
    folder.mkdir()
    rows = items(count)
    kept = rows if "column" in people else [{k: v for k, v in row.items() if k != "expert"} for row in rows]
    (folder / "items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept), encoding="utf-8")
    (folder / "guide.md").write_text("Say **yes** if the customer needs no further help.\n", encoding="utf-8")
    path = folder / "support.toml"
    path.write_text(TOML.format(people=people, budget=budget), encoding="utf-8")
    return path


def ratewise(*words: object) -> str:
    """What a command prints."""
    line = [sys.executable, "-m", "ratewise", *map(str, words)]
    return subprocess.run(line, check=True, capture_output=True, text=True, timeout=600).stdout


def kept(shot: bytes, name: str) -> None:
    """A screenshot as a small WebP."""
    with Image.open(io.BytesIO(shot)) as image:
        image.convert("RGB").save(PICTURES / f"{name}.webp", quality=82, method=6)


def screenshots(folder: pathlib.Path) -> None:
    """The report of a finished campaign, and the page that people label on."""
    done = campaign(folder / "done", people='kind = "column"\ncolumn = "expert"\nprice = "1"\n', budget=400, count=3000)
    ratewise("run", done, "--json")
    ratewise("report", done, "-o", folder / "report.html")
    asked = campaign(folder / "asked", people=PEOPLE, budget=60, count=200)
    server = subprocess.Popen([sys.executable, "-m", "ratewise", "serve", asked, "--port", str(PORT)],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
    chromium = os.environ.get("RATEWISE_TEST_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        _until_it_answers()
        link = re.search(
            r"http\S+/join/\S+", ratewise("people", asked, "add", "ann", "--url", f"http://127.0.0.1:{PORT}")
        )
        assert link is not None
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 860, "height": 640}, device_scale_factor=1.5)
            page.goto((folder / "report.html").as_uri())
            kept(page.screenshot(), "report")
            page.goto(link[0])
            page.wait_for_timeout(2000)
            begin = page.locator("#start, #begin, #welcome button").first
            if begin.is_visible():
                begin.click()
            page.locator("#answer").wait_for(timeout=60_000)
            for _ in range(12):  # to an answer with Markdown
                page.wait_for_timeout(500)
                if "cancel an order" in page.locator("#item").inner_text():
                    break
                page.keyboard.press("1")
                page.keyboard.press("Enter")
            kept(page.screenshot(), "page")
            browser.close()
    finally:
        server.terminate()
        server.wait(30)


def _until_it_answers() -> None:
    for _ in range(120):
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{PORT}/healthz", timeout=1).read()
        except OSError:
            time.sleep(0.5)
        else:
            return
    raise SystemExit("the labelling page did not start")


def chart() -> None:
    """The numbers that the home page says, as intervals one below the other."""
    text = " ".join((pathlib.Path(__file__).parent / "index.md").read_text(encoding="utf-8").split())
    said = re.search(
        r"give you ±([\d.]+) points\. .* ±([\d.]+) with a fair .* ±([\d.]+) with a good .* ±([\d.]+) with a", text
    )
    assert said is not None, "docs/index.md does not say the four widths any more"
    alone, fair, good, useless = map(float, said.groups())
    rows = [("300 at random", alone), ("with a good judge", good), ("with a fair judge", fair),
            ("with a useless judge", useless)]  # fmt: skip
    spans = [Span(f"{name}: ±{half:.1f}", 0.0, -half, half, marked=k > 0) for k, (name, half) in enumerate(rows)]
    words = "95% intervals for the price of 300 verdicts, in points; narrower is better. " + ", ".join(
        f"{name}: ±{half:.1f}" for name, half in rows
    )
    svg = spans_picture(spans, words, told=lambda x: f"{x:+g}".replace("-", "−") if x else "0")
    roomy = r"viewBox='0 0 (\d+) (\d+)'", lambda size: f"viewBox='-12 -8 {int(size[1]) + 24} {int(size[2]) + 12}'"
    svg = re.sub(*roomy, svg)
    (PICTURES / "why.svg").write_text(
        svg.replace("<svg", "<svg xmlns='http://www.w3.org/2000/svg'", 1), encoding="utf-8"
    )


if __name__ == "__main__":
    PICTURES.mkdir(exist_ok=True)
    chart()
    with tempfile.TemporaryDirectory() as place:
        screenshots(pathlib.Path(place))
    for path in sorted(PICTURES.iterdir()):
        print(f"{path.name}: {path.stat().st_size / 1000:,.0f} kB", file=sys.stderr)
