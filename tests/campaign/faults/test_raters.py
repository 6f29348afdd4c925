"""Raters that raise, hang, or answer with something else, for some items or all, once or for ever."""

import json
import math
import sys
import threading
import time
from decimal import Decimal

import pytest
import sqlalchemy as sa

from ratewise.errors import RaterDownError
from ratewise.raters.protocol import Answer, Failure
from ratewise.raters.python import PythonRater
from ratewise.store.money import to_units

from .world import World, one_line, same

BAD = {
    "raises": lambda item: 1 / 0,
    "exits": lambda item: sys.exit("bye"),
    "text": lambda item: "I would say yes",
    "nan": lambda item: math.nan,
    "infinite": lambda item: math.inf,
    "out of range": lambda item: 7,
    "a list": lambda item: [item["human"]],
    "a failure": lambda item: Failure("not today"),
    "no price": lambda item: Answer(1, Decimal("NaN")),
    "an absurd price": lambda item: Answer(1, Decimal(10) ** 11),
}


def misbehave(kind, item):
    """Free of charge, so that it changes nothing in the end."""
    found = BAD[kind](item)
    return found if isinstance(found, Answer | Failure) else Answer(found, Decimal(0))


def test_bad_answers_for_some_items(world, calm):
    """Every second item fails at first, in every way there is: retries make it whole."""
    world.write(more='failed_price = "0"')
    ways = {name: list(BAD)[k % len(BAD)] for k, name in enumerate(calm_labels(calm)[::2])}

    def rate(item, key):
        return misbehave(ways[item["id"]], item) if key.endswith(":1") and item["id"] in ways else item["human"]

    assert world.run(rate) == "every item has been looked at"
    status = world.check()
    asked = set(world.noted("asked"))
    tried = {key for key in asked if key.endswith(":1") and key.split(":")[1] in ways}
    assert {ways[key.split(":")[1]] for key in tried} == set(BAD)
    assert status.failed_calls == len(tried)
    assert {key[:-1] + "2" for key in tried} <= asked
    assert asked == world.ledger().keys()
    assert same(world, calm)


def test_the_wrong_number_of_answers(world, calm, monkeypatch):
    """Nobody knows whose is missing, so all of the call are asked again, one by one."""
    world.write(more='failed_price = "0"', human=world.human.replace("concurrency = 4", "concurrency = 2\nbatch = 3"))
    rate = PythonRater.rate

    async def one_less(self, questions):
        found = await rate(self, questions)
        return found[1:] if len(found) == 3 else found

    monkeypatch.setattr(PythonRater, "rate", one_less)
    assert world.run() == "every item has been looked at"
    assert world.check().failed_calls >= 3
    assert same(world, calm)


def test_a_rater_that_hangs(world, calm):
    world.write(more='failed_price = "0"\ntimeout = 0.2')
    hung = threading.Event()
    first = sorted(world.truth)[:40]

    def rate(item, key):
        if item["id"] in first and key.endswith(":1"):
            hung.wait(30)
        return item["human"]

    try:
        assert world.run(rate) == "every item has been looked at"
        status = world.check()
        assert status.failed_calls > 0
        assert status.missing == 0
        with world.log() as store, store.reading() as connection:
            notes = {row.note for row in connection.execute(sa.text("SELECT note FROM ratings"))}
        assert notes <= {None, ""}
        assert same(world, calm)
    finally:
        hung.set()


@pytest.mark.parametrize("kind", ["raises", "text", "an absurd price"])
def test_bad_answers_for_all_items(world, calm, kind):
    """The rater is down: a clear error; its items stay open, and are asked again when it is back."""
    world.write(more='failed_price = "0"\nattempts = 2')

    def rate(item, key):
        return misbehave(kind, item)

    for _ in range(3):
        with pytest.raises(RaterDownError, match="'human' failed on") as caught:
            world.run(rate)
        message = one_line(caught.value)
        assert "run again" in message
        status = world.open().status()
        assert (status.labels, status.missing) == (0, 0)
        assert world.open().verify().passed
    assert world.notes()[-1] == message
    assert world.run() == "every item has been looked at"
    status = world.check()
    assert status.missing == 0
    assert same(world, calm)


def test_a_rater_down_in_mid_run(world, calm):
    """With calls under way and retries waiting; money was taken for all of them, and none is given up."""
    world.write(
        more='failed_price = "0"\nattempts = 3', human=world.human.replace("concurrency = 4", "concurrency = 16")
    )
    count, good, gone = iter(range(10_000)), [], threading.Event()

    def rate(item, key):
        """Five answers, so that six are asked at once; then three hang while five more are answered, and it is gone."""
        if (number := next(count)) < 5:
            return item["human"]
        if 8 <= number < 13:
            good.append(key)
            if len(good) == 5:
                gone.set()
            return item["human"]
        gone.wait(30)
        time.sleep(0.05)  # so that answers on their way are heard first
        raise ConnectionError("refused")

    with pytest.raises(RaterDownError, match="refused"):
        world.run(rate)
    assert world.open().status().missing == 0
    assert world.open().verify().passed
    assert world.run() == "every item has been looked at"
    world.check()
    assert len(good) == 5
    assert same(world, calm)


def test_weak_rater_down(tmp_path, calm):
    """The cheap rater too."""
    world = World(tmp_path / "c")
    world.toml.write_text(
        world.toml.read_text().replace(
            'kind = "column"\ncolumn = "judge"', f'kind = "python"\nbackoff = 0\nfunction = "{world.module}:rate"'
        )
    )
    judge = {
        row.split(",")[0]: float(row.split(",")[1]) for row in (world.folder / "items.csv").read_text().splitlines()[1:]
    }
    down = [True]

    def rate(item, key):
        if key.split(":")[2] == "0":
            return Failure("down", Decimal(0)) if down[0] else judge[item["id"]]
        return item["human"]

    with pytest.raises(RaterDownError, match="'judge' failed on"):
        world.run(rate)
    down[0] = False
    assert world.run(rate) == "every item has been looked at"
    assert world.open().verify().passed
    assert same(world, calm)


def test_many_bad_cells_are_not_a_rater_that_is_down(tmp_path):
    """A column with words in it answers for all the other items: those are given up, and the campaign goes on."""
    world = World(tmp_path / "c")
    table = world.folder / "items.csv"
    head, *rows = table.read_text().splitlines()
    bad = [row.replace(f",{row.split(',')[1]},", ",unknown,") if k % 5 == 0 else row for k, row in enumerate(rows)]
    table.write_text("\n".join([head, *bad]) + "\n")
    world.write()
    text = world.toml.read_text().replace(
        'column = "judge"', 'column = "judge"\nattempts = 2\nbackoff = 0\nfailed_price = 0'
    )
    world.toml.write_text(text)
    assert world.run() == "every item has been looked at"
    assert world.open().verify().passed
    assert world.open().status().missing == 0  # of the strong ratings
    assert world.open().estimate().interval is not None


def test_one_bad_item_for_ever(world, calm):
    """Given up after its attempts, and counted at both ends of the scale."""
    world.write(more="attempts = 3\nfailed_price = 0")
    with world.log() as store:
        assert not store.exists()
    bad = calm_labels(calm)[-1]

    def rate(item, key):
        if item["id"] == bad:
            raise ValueError("cannot read it")
        return item["human"]

    assert world.run(rate) == "every item has been looked at"
    status = world.check()
    assert status.missing == 1
    assert [key for key in world.noted("asked") if key.split(":")[1] == bad] == [world.key(bad, k) for k in (1, 2, 3)]
    bounds_hold(world, calm, bad)


def test_an_item_that_cannot_be_told(world, calm):
    """Nothing is an answer: paid, asked once, missing."""
    bad = calm_labels(calm)[-1]
    assert world.run(lambda item, key: None if item["id"] == bad else item["human"]) == "every item has been looked at"
    status = world.check()
    assert (status.missing, status.failed_calls) == (1, 0)
    assert world.noted("asked").count(world.key(bad)) == 1
    assert world.ledger()[world.key(bad)] == to_units(Decimal(1))
    bounds_hold(world, calm, bad)


def calm_labels(calm):
    """Items whose strong rating was drawn, in order."""
    return [key.split(":")[1] for key in calm.ledger()]


def bounds_hold(world, calm, bad):
    """The interval is wider, and holds the estimates with the missing answer at either end."""
    found, whole = world.open().estimate(), calm.open().estimate()
    width = found.interval[1] - found.interval[0]
    assert width > whole.interval[1] - whole.interval[0]
    assert any("missing" in note for note in found.notes)
    for end in (0, 1):  # up to what the missing label would have changed in the fit of the weak ratings
        other = World(world.folder.parent / f"end{end}")
        other.run(lambda item, key, end=end: end if item["id"] == bad else item["human"])
        at_end = other.open().estimate()
        assert found.interval[0] <= at_end.interval[0] + 0.002 < at_end.value
        assert found.interval[1] >= at_end.interval[1] - 0.002 > at_end.value


@pytest.mark.parametrize("price", ["0.25", "1"])
def test_flaky(world, price):
    """Every first attempt fails: all attempts are in the ledger, paid, and shown."""
    world.write(goal='budget = "90"', more=f'failed_price = "{price}"')

    def rate(item, key):
        if key.endswith(":1"):
            raise TimeoutError
        return item["human"]

    assert world.run(rate)
    status = world.check(budget=90)
    paid = world.ledger()
    assert paid.keys() == set(world.noted("asked"))
    first = [amount for key, amount in paid.items() if key.endswith(":1")]
    assert set(first) == {to_units(Decimal(price))}
    assert status.failed_calls == len(first)
    assert status.labels == len(paid) - len(first)
    assert status.labels == len(first)
    assert status.missing == 0  # money was kept back for every second attempt
    assert status.left < 3


COMMAND = """\
import json, sys

seen = set()
for line in sys.stdin:
    question = json.loads(line)
    key, right = question["key"], question["item"]["human"]
    again = key.endswith(":2")
    mode = sys.argv[1]
    answers = [{{"key": key, "rating": right}}]
    if not again and int(question["id"][1:]) % 12 == 0:
        if mode == "same twice":
            answers *= 2
        if mode == "two answers":
            answers = [{{"key": key, "rating": 1 - right}}, *answers]
        if mode == "late":
            answers = answers[:0]
        if mode == "unknown key":
            answers = [{{"key": "x" + key, "rating": 1}}]
        if mode == "text":
            print("Sure! The rating is 1")
        if mode == "dies":
            sys.exit(3)
    for answer in answers:
        print(json.dumps(answer), flush=True)
"""


@pytest.mark.parametrize("mode", ["same twice", "two answers", "late", "unknown key", "text", "dies"])
def test_command_that_misbehaves(tmp_path, calm, mode):
    """A program that answers twice, otherwise the second time, not at all, or with something else."""
    words = json.dumps([sys.executable, "tool.py", mode])
    human = f'kind = "command"\ncommand = {words}\nconcurrency = 2\nbatch = 4'
    world = World(tmp_path / "c", human=human, more="failed_price = 0\ntimeout = 1\nattempts = 6")
    (world.folder / "tool.py").write_text(COMMAND.format())
    assert world.run() == "every item has been looked at"
    assert world.open().verify().passed
    status = world.open().status()
    assert (status.failed_calls > 0) == (mode not in {"same twice"})
    if mode in {"same twice", "late", "unknown key", "text", "dies"}:
        assert status.missing == 0
        assert same(world, calm)
