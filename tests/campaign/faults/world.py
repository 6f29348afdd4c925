"""Small campaigns to be disturbed: a folder with a TOML, items whose truth is known, and raters that do as told.

A rater in this process is a function in a module that lives in memory only. Every call of it is noted in the folder,
when it starts and when it answers, so that what was paid for can be held against what the ledger says.
"""

import json
import os
import subprocess
import sys
import textwrap
import types
import uuid
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import ratewise
from ratewise.campaign.campaign import Campaign
from ratewise.errors import StoreError
from ratewise.store import audit
from ratewise.store.money import to_units
from ratewise.store.store import Store

from ... import waiting
from ...tomls import rater, toml_of

TOML = toml_of(
    rater("judge", price="0.01"),
    '[[raters]]\nname = "human"\n{human}\nprice = "1"\nbackoff = 0.0\n{more}\n',
    top='seed = {seed}\nstore = "{store}"',
    items='id = "id"',
    rating='kind = "{kind}"',
    goal="{goal}",
)
ITEMS, BUDGET = 120, 40


@dataclass
class World:
    """One campaign's folder; `run` in the house style of tests: short patience, everything checked afterwards."""

    folder: Path
    seed: int = 3
    goal: str = f'budget = "{BUDGET}"'
    store: str = "c.sqlite"
    kind: str = "binary"
    human: str = ""
    more: str = ""
    items: int = ITEMS
    module: str = field(default_factory=lambda: f"rater_{uuid.uuid4().hex}")

    def __post_init__(self):
        self.folder.mkdir(exist_ok=True)
        rng = np.random.default_rng(11)
        judge = np.round(rng.random(self.items), 3)
        human = (rng.random(self.items) < judge).astype(int)
        rows = [f"i{k},{judge[k]},{human[k]}" for k in range(self.items)]
        (self.folder / "items.csv").write_text("id,judge,human\n" + "\n".join(rows) + "\n")
        self.truth = {f"i{k}": int(human[k]) for k in range(self.items)}
        self.human = self.human or f'kind = "python"\nfunction = "{self.module}:rate"\nconcurrency = 4'
        self.write()

    def write(self, **changed):
        """The TOML, with what is to be changed."""
        vars(self).update(changed)
        names = ("seed", "store", "kind", "goal", "human", "more")
        self.toml.write_text(TOML.format(**{name: getattr(self, name) for name in names}))

    @property
    def toml(self):
        return self.folder / "c.toml"

    @property
    def file(self):
        return self.folder / "c.sqlite"

    @property
    def unsaved(self):
        return self.folder / "c.unsaved.jsonl"

    def open(self):
        return Campaign.open(self.toml)

    def run(self, rate=None, *, patience=0.2, progress=None):
        """Run with a function of (item, key) as the expensive rater; by default it tells the truth."""
        rate = rate or (lambda item, key: item["human"])

        def noted(item, key):
            self.note("asked", key)
            found = rate(item, key)
            self.note("answered", key)
            return found

        module = types.ModuleType(self.module)
        module.rate, module.__file__ = noted, str(self.folder / f"{self.module}.py")
        sys.modules[self.module] = module
        try:
            return self.open().run(patience=patience, progress=progress)
        finally:
            del sys.modules[self.module]

    def note(self, what, key):
        with open(self.folder.parent / f"{self.folder.name}.calls", "a", encoding="utf-8") as file:
            file.write(f"{what} {key}\n")

    def noted(self, what):
        """Keys, in order."""
        path = self.folder.parent / f"{self.folder.name}.calls"
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [line.split(" ", 1)[1] for line in lines if line.startswith(what + " ")]

    @contextmanager
    def log(self):
        """The store, for looking."""
        spec = self.open().spec
        store = Store.at(spec.store, str(spec.folder), spec.name)
        try:
            yield store
        finally:
            store.close()

    def ledger(self, kind="settle", step=1):
        """{key of the call: amount} of the expensive rater."""
        with self.log() as store:
            ids = {row.position: row.id for row in audit.item_keys(store, 0, self.items)}
            rows = [row for row in audit.ledger_rows(store, 0, self.items) if (row.kind, row.step) == (kind, step)]
            whose = f"c-{store.meta('campaign')}"
        keys = [f"{whose}:{ids[row.position]}:{step}:{row.attempt}" for row in rows]
        assert len(keys) == len(set(keys)), "paid twice"
        return dict(zip(keys, (row.amount for row in rows), strict=True))

    def key(self, item, attempt=1, step=1):
        """The idempotency key of a question."""
        with self.log() as store:
            return f"c-{store.meta('campaign')}:{item}:{step}:{attempt}"

    def notes(self):
        with self.log() as store:
            return [text for _, text in store.notes()]

    def check(self, *, budget=BUDGET, asked_twice=(), answered_twice=()):
        """Nothing paid for is lost, nothing is paid twice, the budget is kept, and the log is as it should be.

        `asked_twice`: calls that were cut off, and asked again with the same key; `answered_twice` where the answer
        was thrown away.
        """
        campaign = self.open()
        found = campaign.verify()
        assert found.passed, found.summary()
        answered, paid = self.noted("answered"), self.ledger()
        assert {key for key in answered if answered.count(key) > 1} <= set(answered_twice), "asked twice for one answer"
        assert set(answered) <= paid.keys(), "an answer is lost"
        asked = self.noted("asked")
        assert {key for key in asked if asked.count(key) > 1} <= set(asked_twice)
        status = campaign.status()
        assert status.spent + status.reserved <= budget
        weak = self.ledger(step=0)
        assert to_units(status.spent) == sum(paid.values()) + sum(weak.values())
        return status


def same(one, other):
    """Whether two campaigns came to the same, to the last bit."""
    return json.dumps(one.open().estimate().to_dict()) == json.dumps(other.open().estimate().to_dict())


def one_line(error):
    """The message of an error, which is one line that says what to do."""
    message = str(error)
    assert "\n" not in message
    assert len(message) < 600
    return message


def after(calls, act):
    """A rater that tells the truth, and does something at one of its calls."""
    count = iter(range(1_000_000))

    def rate(item, key):
        if next(count) == calls:
            act()
        return item["human"]

    return rate


RUN = """\
import sys
from ratewise.campaign.campaign import Campaign
from ratewise.errors import RatewiseError

try:
    print(Campaign.open("c.toml").run(patience=float(sys.argv[1])))
except RatewiseError as error:
    print(error)
    sys.exit(error.exit_code)
"""


def raters(world, text):
    """Functions of a sub-process; `note` works as in this one."""
    path = world.folder.parent / f"{world.folder.name}.calls"
    head = f"""\
        import itertools, os, resource, threading, time

        count = itertools.count(1)

        def note(what, key):
            with open({str(path)!r}, "a") as file:
                file.write(f"{{what}} {{key}}\\n")

        """
    (world.folder / f"{world.module}.py").write_text(textwrap.dedent(head) + textwrap.dedent(text))


def start(world, *, patience=0.2):
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", RUN, str(patience)],
        cwd=world.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        env={**os.environ, "PYTHONPATH": str(Path(ratewise.__file__).parents[1])},
    )  # fmt: skip


def ended(process, code):
    out, _ = process.communicate(timeout=120)
    assert process.returncode == code, out
    assert out.count("\n") == 1, out
    return out.strip()


def until(process, condition):
    """Until it happens, or the process ends before that."""
    waiting.until(lambda: condition() or process.poll() is not None, seconds=90)
    assert process.poll() is None, process.communicate()[0]


def kept(world, count):
    """A run whose store refuses to settle after some answers; returns the lines that it kept."""
    settle, seen = Store.settle, []

    def settle_some(self, outcomes, budget, **options):
        seen.extend(o for o in outcomes if o.claim.step == 1)
        if len(seen) >= count:
            raise StoreError("gone", may_pass=True)
        return settle(self, outcomes, budget, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Store, "settle", settle_some)
        with pytest.raises(StoreError):
            world.run()
    return [line for line in world.unsaved.read_bytes().split(b"\n") if line]
