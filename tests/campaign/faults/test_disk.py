"""The disk is full, the file or its folder may not be written, and answers that are in hand then are kept."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from ratewise.errors import StoreError
from ratewise.store.queue import Claim, Outcome
from ratewise.store.store import Store
from ratewise.store.unsaved import Unsaved

from ...users import plain_user
from .world import World, after, ended, kept, one_line, raters, same, start


@pytest.fixture
def small_disk(tmp_path):
    """A disk of its own that can be filled."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", folder], capture_output=True, text=True, check=False
    ) if os.geteuid() == 0 and shutil.which("mount") else None  # fmt: skip
    if mounted is None or mounted.returncode:
        pytest.skip("only root may mount a disk; test_no_more_bytes does the same with a limit")
    yield folder
    subprocess.run(["umount", "--lazy", folder], check=True)


def fill(folder):
    """Until not a byte more fits."""
    with open(folder / "ballast", "ab", buffering=0) as file:
        for size in (1 << 16, 1 << 10, 1):
            while True:
                try:
                    if not file.write(b"x" * size):
                        break
                except OSError:
                    break


def test_disk_full_for_a_moment(small_disk, calm):
    """Within the patience the run goes on by itself."""
    world = World(small_disk / "c")

    def fill_for_a_moment():
        fill(small_disk)
        threading.Timer(0.5, (small_disk / "ballast").unlink).start()

    assert world.run(after(7, fill_for_a_moment), patience=20) == "every item has been looked at"
    world.check()
    assert same(world, calm)


def test_disk_full_for_good(small_disk, calm):
    """Answers in hand go into the room set aside, and are taken in by the next run."""
    world = World(small_disk / "c")
    with pytest.raises(StoreError, match="full") as caught:
        world.run(after(7, lambda: fill(small_disk)))
    assert "run again" in one_line(caught.value)
    assert "could not be kept" not in str(caught.value)
    assert world.unsaved.read_bytes().strip()
    with pytest.raises(StoreError):  # still full: clear, and nothing is asked
        world.run()
    asked = world.noted("asked")
    (small_disk / "ballast").unlink()
    assert world.run() == "every item has been looked at"
    assert not world.unsaved.exists()
    assert len(asked) < len(world.noted("asked"))
    world.check()
    assert same(world, calm)


LIMITED = """\
    def rate(item, key):
        note("asked", key)
        note("answered", key)
        if next(count) == 9 and {seconds} >= 0:
            most = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
            resource.setrlimit(resource.RLIMIT_FSIZE, (os.path.getsize("c.sqlite-wal"), most))
            back = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            timer = threading.Timer({seconds}, back)
            timer.daemon = True
            timer.start()
        return item["human"]
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits are POSIX")
@pytest.mark.parametrize(("seconds", "patience", "code"), [(0.5, 20, 0), (60, 0.2, 3)])
def test_no_more_bytes(world, calm, seconds, patience, code):
    """The system refuses every further byte of the file, for a moment or for good."""
    raters(world, LIMITED.format(seconds=seconds))
    said = ended(start(world, patience=patience), code)
    assert ("c.sqlite failed" in said) == bool(code)
    assert bool(code) == world.unsaved.exists()
    assert world.run() == "every item has been looked at"
    world.check()
    assert same(world, calm)


def test_unsaved_answers_are_taken_in(world, calm):
    lines = kept(world, 10)
    assert 1 <= len(lines) <= 4
    before = set(world.ledger())
    assert {world.key(json.loads(line)["claim"]["id"]) for line in lines}.isdisjoint(before)
    assert world.run() == "every item has been looked at"
    world.check()
    assert same(world, calm)


def test_all_calls_under_way_are_kept(world, calm, monkeypatch):
    """Also those that come back after the store was given up."""
    count, settle, settled = iter(range(1000)), Store.settle, []

    def slow(item, key):
        time.sleep(0.02 if next(count) < 9 else 0.5)
        return item["human"]

    def gone(self, outcomes, budget, **options):
        strong = [o for o in outcomes if o.claim.step]
        if len(settled) + len(strong) > 8:  # four calls are under way by then
            raise StoreError("gone", may_pass=True)
        settled.extend(strong)
        return settle(self, outcomes, budget, **options)

    monkeypatch.setattr(Store, "settle", gone)
    with pytest.raises(StoreError):
        world.run(slow)
    monkeypatch.undo()
    assert len(world.noted("answered")) == len(settled) + 4
    assert world.run() == "every item has been looked at"
    world.check()
    assert same(world, calm)


def test_a_torn_line_is_asked_again(world, calm):
    """The others are taken in; what is added to such a file later is not lost with it."""
    *whole, torn = kept(world, 10)
    claim = json.loads(torn)["claim"]
    world.unsaved.write_bytes(b"\n".join([*whole, torn[:-20]]))
    extra = Outcome(Claim(**{**claim, "position": 10_000, "content": ""}), 5)
    assert Unsaved(world.unsaved).keep([extra])
    assert [json.loads(line)["paid"] for line in world.unsaved.read_bytes().splitlines()[len(whole) + 1 :]] == [5]
    assert world.run() == "every item has been looked at"
    again = [world.key(claim["id"])]
    world.check(asked_twice=again, answered_twice=again)
    assert same(world, calm)


@pytest.fixture
def open_folder():
    """A folder that nobody may enter, in a place that everybody may."""
    folder = Path(tempfile.mkdtemp(prefix="ratewise-", dir="/tmp"))
    folder.chmod(0o755)
    yield folder
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o700)
    shutil.rmtree(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions are POSIX")
@pytest.mark.parametrize("what", ["file", "folder", "new"])
def test_read_only(open_folder, calm, what):
    """A file, its folder, or a folder in which the file is to be made."""
    world = World(open_folder / "c")
    if what != "new":
        kept(world, 10)
    files = {path: path.stat().st_mode for path in world.folder.iterdir()}
    for path in files:
        path.chmod(0o444 if path == world.file or what != "file" else 0o666)
    world.folder.chmod(0o777 if what == "file" else 0o555)
    before = world.file.read_bytes() if what != "new" else None
    with plain_user(), pytest.raises(StoreError) as caught:
        world.run(patience=0)
    message = one_line(caught.value)
    assert message.startswith(("c.sqlite cannot be written", "c.sqlite cannot be opened"))
    assert "writable" in message
    world.folder.chmod(0o755)
    for path, mode in files.items():
        path.chmod(mode)
    assert before is None or world.file.read_bytes() == before
    assert world.run() == "every item has been looked at"
    world.check()
    assert same(world, calm)
