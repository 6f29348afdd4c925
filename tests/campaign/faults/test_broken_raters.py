"""A rater that is broken from the start does not eat the budget."""

from decimal import Decimal

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.errors import InputError, OutsideError, RaterDownError
from ratewise.raters.protocol import Answer, Failure, RaterError

from ...tomls import rater, toml_of
from .world import World, one_line


def wide(tmp_path, **keys):
    """Sixteen calls at once."""
    world = World(tmp_path / "c", goal='budget = "50"', **keys)
    world.write(human=f'kind = "python"\nfunction = "{world.module}:rate"\nconcurrency = 16')
    return world


def broken(item, key):
    raise RuntimeError("no network")


def test_a_rater_that_always_fails_is_found_out_by_its_first_calls(tmp_path):
    """Three of one kind, of two items; it was 48.2 of 50 when sixteen were asked at once."""
    world = wide(tmp_path)
    with pytest.raises(RaterDownError, match=r"failed in the same way several times.*no network") as caught:
        world.run(broken)
    one_line(caught.value)
    assert len(world.noted("asked")) == 4
    assert world.open().status().spent < 6
    assert world.run() == "every item has been looked at"
    assert world.open().verify().passed


def test_a_rater_that_is_still_broken_is_found_out_by_one_call(tmp_path):
    """What it was stopped for is remembered until it has answered again; numbers and names in its words may differ."""
    world, asked = wide(tmp_path), []

    def wrong(item, key):
        raise KeyError(f"field {len(asked)}")

    for calls in (4, 5, 6):
        with pytest.raises(RaterDownError, match="KeyError"):
            world.run(wrong)
        assert len(world.noted("asked")) == calls
    assert world.run() == "every item has been looked at"
    assert world.open().status().missing == 0
    with world.log() as log:
        assert log.meta("rater human: stopped") is None
    assert world.open().verify().passed


def test_what_costs_nothing_is_tried_for_longer(tmp_path):
    world = wide(tmp_path)

    def busy(item, key):
        raise RaterError("the server is busy", Decimal(0))

    with pytest.raises(RaterDownError, match="failed on 5 items in a row"):
        world.run(busy)
    assert len(world.noted("asked")) == 15
    assert set(world.ledger().values()) <= {0, 10**7}


def test_one_hard_item_at_the_beginning_is_none_of_that(tmp_path):
    world, first = wide(tmp_path), []

    def rate(item, key):
        first.append(item["id"])
        if item["id"] == first[0]:
            raise KeyError("field")
        return item["human"]

    assert world.run(rate) == "every item has been looked at"
    assert world.open().status().missing == 1


@pytest.mark.parametrize(("kind", "most"), [("column", 3), ("python", 9)])
def test_a_wrong_scale_is_found_out_by_three_items(tmp_path, kind, most):
    """Ratings of 1 and 5 where 0 and 1 are meant: 1 counts as yes, and all others were paid for three times."""
    world = World(tmp_path / "c", goal='budget = "50"')
    rows = [line.split(",") for line in (world.folder / "items.csv").read_text().split()[1:]]
    lines = [f"{name},{judge},{5 if human == '1' else 1}" for name, judge, human in rows]
    (world.folder / "items.csv").write_text("id,judge,human\n" + "\n".join(lines) + "\n")
    if kind == "column":
        world.write(human='kind = "column"\ncolumn = "human"')
    with pytest.raises(RaterDownError, match=r"'?5'? is no binary rating") as caught:
        world.run()
    one_line(caught.value)
    assert 'kind = "likert", low = 1, high = 5' in str(caught.value)
    now = world.open().status()
    assert now.labels < 20
    assert 3 <= now.spent - now.labels < most + 2  # and the judge's cents
    with pytest.raises(RaterDownError):
        world.run()
    assert world.open().status().spent - now.spent < 6  # a few good ones, and those of one call


def test_a_rater_that_always_answers_nothing_is_down(tmp_path, calm):
    world = wide(tmp_path)
    with pytest.raises(RaterDownError, match="gave no rating for any of its first 10 items") as caught:
        world.run(lambda item, key: None)
    one_line(caught.value)
    assert "each time with: the function gave None" in str(caught.value)
    assert len(world.noted("asked")) == 10
    with pytest.raises(RaterDownError, match="gave no rating for any of its first 3 items"):
        world.run(lambda item, key: None)
    assert len(world.noted("asked")) == 13
    assert world.open().verify().passed, world.open().verify().summary()
    assert world.run() == "every item has been looked at"  # what was given up is asked again
    status = world.check(budget=50)
    assert status.missing == 0


def test_what_the_campaign_went_on_without_is_not_said_to_lack_money(tmp_path):
    """People have answered the first round's items by the time that the silent judge is found out."""
    (tmp_path / "items.csv").write_text("id,human\n" + "".join(f"{i},{i % 2}\n" for i in range(60)))
    (tmp_path / "says_nothing.py").write_text("def judge(item):\n    return None\n")
    judge = rater("judge", kind="python", price="0.00001", more='function = "says_nothing:judge"')
    toml = toml_of(judge, rater("human"), top="seed = 3", goal='budget = "20"')
    (tmp_path / "c.toml").write_text(toml)
    campaign = Campaign.open(tmp_path / "c.toml")
    with pytest.raises(RaterDownError, match="gave no rating") as caught:
        campaign.run()
    status = campaign.status()
    assert status.labels >= 9
    assert status.left > 1
    assert "money" not in str(caught.value)
    assert f"{status.labels} of them stay missing, as the campaign has gone on without them" in str(caught.value)


def test_single_items_that_cannot_be_rated_are_none_of_that(world):
    silent = iter([True, True, True, False] * 1000)
    assert world.run(lambda item, key: None if next(silent) else item["human"])
    world.check()


def test_calls_at_once_grow_with_answers(tmp_path):
    import threading

    world, lock, now, most = wide(tmp_path), threading.Lock(), [0], []

    def rate(item, key):
        with lock:
            now[0] += 1
            most.append(now[0])
        threading.Event().wait(0.02)
        with lock:
            now[0] -= 1
        return item["human"]

    assert world.run(rate)
    assert most[:3] == [1, 1, 2]
    assert 8 <= max(most) <= 16
    world.check(budget=50)


def test_one_that_breaks_on_the_way_is_slowed_down(tmp_path):
    world, count = wide(tmp_path), iter(range(1000))

    def rate(item, key):
        if next(count) >= 20:
            raise RuntimeError("no network")
        return item["human"]

    with pytest.raises(RaterDownError):
        world.run(rate)
    assert len(world.noted("asked")) <= 20 + 16 + 15


def test_a_program_that_cannot_be_started_costs_nothing(tmp_path):
    world = World(tmp_path / "c")
    program = world.folder / "judge"
    program.write_text("#!/nowhere/at/all\n")
    program.chmod(0o755)
    world.write(human='kind = "command"\ncommand = ["./judge"]')
    with pytest.raises(RaterDownError, match="cannot start"):
        world.run()
    assert set(world.ledger().values()) == {0}


def test_a_function_that_takes_no_item_is_refused_before_anything_is_bought(tmp_path):
    world = World(tmp_path / "c")
    (world.folder / "mine.py").write_text("def judge(item, other): return 1\n")
    world.write(human='kind = "python"\nfunction = "mine:judge"')
    with pytest.raises(InputError, match="cannot be called with one item"):
        world.run()
    assert not world.file.exists()


def test_unusual_spending_is_told_once(tmp_path):
    world = World(tmp_path / "c", goal='budget = "90"', more='max_price = "4"')
    assert world.run(lambda item, key: Answer(item["human"], Decimal(3)))
    assert [note for note in world.notes() if "unusual spending" in note and "by its price" in note]
    assert sum("unusual spending" in note for note in world.notes()) == 1


@pytest.mark.parametrize("price", ["2.01", "999999.99", "999999999"])
def test_a_charge_above_what_was_reserved_is_a_dispute(tmp_path, price):
    """The rating is kept, what was reserved is counted, both figures are told, and the next run goes on."""
    world = World(tmp_path / "c", more='max_price = "2"')
    world.write(human=world.human.replace("concurrency = 4", "concurrency = 1"), goal='budget = "10"')
    with pytest.raises(
        OutsideError, match=rf"charged {Decimal(price):,.2f} for item 'i\d+', and 2\.00 were reserved"
    ) as caught:
        world.run(lambda item, key: Answer(item["human"], Decimal(price)))
    assert caught.value.exit_code == 3
    assert "its rating is kept, 2.00 is counted" in one_line(caught.value)
    (said,) = world.notes()
    assert "in dispute" in said
    assert list(world.ledger().values()) == [2 * 10**9]
    assert world.check(budget=10).labels == 1
    assert world.run()
    world.check(budget=10)


def test_a_failure_that_is_too_dear_is_a_dispute_too(tmp_path):
    world = World(tmp_path / "c")
    with pytest.raises(OutsideError, match=r"charged 3\.00 .* it brought no rating, 1\.00 is counted"):
        world.run(lambda item, key: Failure("unlucky", Decimal(3)))
    world.check()
