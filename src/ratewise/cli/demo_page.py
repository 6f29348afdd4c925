"""`ratewise demo --serve`: a made-up labelling campaign that a newcomer can click through at once."""

import json
import os
import shutil
from contextlib import suppress

import numpy as np

from ratewise.campaign.campaign import Campaign
from ratewise.cli.console import print_json, say
from ratewise.errors import TableError
from ratewise.tables.write import write_text

ITEMS = 400
_TOML = """\
# Made up: an assistant adds two numbers, and is right most of the time. A judge has given each answer a score.
name = "sums"
seed = {seed}

[items]
table = "sums.jsonl"
features = ["carries"]

[rating]
kind = "binary"

[goal]
budget = "100"

[[raters]]
name = "judge"
kind = "column"
column = "judge"
price = "0.01"

[[raters]]
name = "people"
kind = "people"
price = "1"
show = ["question", "answer"]
criterion = "The sum is right."
guidelines = "guidelines.md"
"""
_GUIDELINES = """\
# Is the sum right?

Say **yes** if the number after the last = is the sum of the two numbers, and **no** if it is not.
Do not use a calculator: this is a demo.
"""


def make_sums(folder: str, seed: int) -> str:
    """The table, the guidelines and the TOML, whose path is returned. What an earlier demo left is removed."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
    except OSError as error:
        raise TableError(f"{folder} cannot be made: {error.strerror}; choose another folder with -o") from None
    rng = np.random.default_rng([seed, 18])
    a, b = rng.integers(11, 90, (2, ITEMS)).tolist()
    right = rng.random(ITEMS) < 0.8
    slip = rng.choice([-10, -1, 1, 2, 10], ITEMS)
    score = np.round(np.clip(0.25 + 0.55 * right + 0.18 * rng.normal(size=ITEMS), 0.01, 0.99), 2)
    said = [x + y + int(by) * (not good) for x, y, by, good in zip(a, b, slip, right, strict=True)]
    lines = [
        {"id": f"sum-{i:03d}", "judge": float(score[i]), "carries": "yes" if a[i] % 10 + b[i] % 10 > 9 else "no",
         "question": f"What is {a[i]} + {b[i]}?", "answer": f"{a[i]} + {b[i]} = **{said[i]}**"}
        for i in range(ITEMS)
    ]  # fmt: skip
    write_text(os.path.join(folder, "sums.jsonl"), "".join(json.dumps(line) + "\n" for line in lines))
    write_text(os.path.join(folder, "guidelines.md"), _GUIDELINES)
    toml = os.path.join(folder, "sums.toml")
    write_text(toml, _TOML.format(seed=seed))
    return toml


def serve_demo(folder: str, *, seed: int, port: int, as_json: bool) -> None:
    """Make the campaign, print a link that signs in, and serve until Ctrl-C."""
    from ratewise.web.server import Listening, serve
    from ratewise.web.service import Service, add_person

    where = Listening(port=port)
    campaign = Campaign.open(make_sums(folder, seed))
    link = add_person(campaign, "you", admin=True, url=where.url, new_link=True)
    label = f"{link.link}?to=label"  # admins would see the live view first

    def ready(url: str, _: Service) -> None:
        if as_json:
            print_json({**link.to_dict(), "link": label, "url": url, "folder": folder})
            return
        say(
            f"A made-up campaign in {folder}: {ITEMS} sums, most of them right. Open this link and label:\n"
            f"{label}\n"
            f"Watch the estimate at {url}/live. Stop with Ctrl-C."
        )

    with suppress(KeyboardInterrupt):
        serve(campaign, where, ready=ready, say=lambda text: say(text, error=True))
