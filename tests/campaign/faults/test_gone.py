"""The store is deleted or replaced while a campaign runs: noticed before the next purchase, and a copy is saved."""

import os
import shutil

import pytest

from ratewise.errors import StoreError

from .world import after, ended, one_line, raters, same, start, until


def stopped_by(world, act):
    with pytest.raises(StoreError, match="deleted or replaced") as caught:
        world.run(after(9, act))
    return one_line(caught.value)


def put_back(world):
    for path in world.folder.glob("c.sqlite*"):
        if not path.name.endswith(".rescued"):
            path.unlink()
    (world.folder / "c.sqlite.rescued").rename(world.file)


@pytest.mark.parametrize("how", ["deleted", "replaced", "moved"])
def test_nothing_more_is_asked_and_the_copy_goes_on(world, calm, how):
    def act():
        if how == "deleted":
            for path in world.folder.glob("c.sqlite*"):
                path.unlink()
        elif how == "replaced":
            shutil.copy(world.file, world.folder / "other")
            os.replace(world.folder / "other", world.file)
        else:
            world.file.rename(world.folder.parent / "elsewhere")

    message = stopped_by(world, act)
    assert "c.sqlite.rescued" in message
    asked = len(world.noted("asked"))
    assert asked <= 10 + 4  # the tenth call, and those under way beside it
    put_back(world)
    assert world.run() == "every item has been looked at"
    world.check()
    assert same(world, calm)


def test_a_run_after_that_does_not_begin_anew(world):
    def act():
        for path in world.folder.glob("c.sqlite*"):
            path.unlink()

    stopped_by(world, act)
    asked = len(world.noted("asked"))
    with pytest.raises(ValueError, match="has begun already"):
        world.run()
    assert len(world.noted("asked")) == asked


SLOW = """\
    def rate(item, key):
        note("asked", key)
        time.sleep(0.01 if next(count) < 5 else 4)
        note("answered", key)
        return item["human"]
"""


@pytest.mark.parametrize("how", ["link", "lock"])
def test_a_link_or_a_deleted_lock_lets_no_second_process_in(world, how):
    raters(world, SLOW)
    process = start(world)
    until(process, lambda: len(world.noted("asked")) >= 3)
    if how == "link":
        (world.folder / "link.sqlite").symlink_to("c.sqlite")
        world.write(store="link.sqlite")
    else:
        (world.folder / "c.sqlite.lock").unlink()
    second = start(world)
    assert "another process is running" in ended(second, 3)
    process.terminate()
    process.communicate()


def test_the_number_of_a_dead_process_keeps_nobody_out(world, calm):
    raters(world, SLOW)
    process = start(world)
    until(process, lambda: len(world.noted("asked")) >= 3)
    process.kill()
    process.communicate()
    assert world.run() == "every item has been looked at"
    assert same(world, calm)
