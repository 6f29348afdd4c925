"""Damaged files: a rescued store has all that was recorded, or says that something is missing.

Damage is by seed; `make soak` tries hundreds of them.
"""

import json
import random
import shutil
import sqlite3
from contextlib import closing

import pytest

from ratewise.campaign.campaign import Campaign
from ratewise.campaign.offline import verify_path
from ratewise.campaign.rescue import rescue
from ratewise.store import chain

from .clients.test_checking import SHOW, made, play
from .making import judged, ran, write

PAGE = 4096


def columns(folder):
    """A campaign with raters in columns, at its end."""
    ran(folder, judged(300, 3, spread=0.75), goal='budget = "60"', seed=11)


def people(folder):
    """One with votes, training, checks and repeats, under way."""
    folder.mkdir()
    campaign = made(folder, SHOW + "votes = 2\nchecks = 0.2\nrepeats = 0.1\ntraining = 2\npass_mark = 0\n")
    while campaign.run(wait=False) == "waiting for answers":
        for person in ("ann", "ben"):
            play(campaign, person)


def logged(folder):
    """One whose last writes are in the write-ahead log, as a kill leaves them."""
    path = write(folder / "begun", judged(300, 5, spread=0.75), goal='budget = "90"')
    campaign = Campaign.open(path)
    campaign.begin()
    with closing(sqlite3.connect(folder / "begun" / "c.sqlite")) as other:  # while it reads, the log stays
        other.execute("SELECT 1 FROM meta").fetchone()
        campaign.run()
        shutil.copytree(folder / "begun", folder, dirs_exist_ok=True)
    shutil.rmtree(folder / "begun")
    (folder / "c.sqlite-shm").unlink()


KINDS = {"columns": columns, "people": people, "logged": logged}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A function: the folder of a campaign of this kind, what its record says, and its file as it was before."""
    kept = {}

    def one(kind):
        if kind not in kept:
            folder = tmp_path_factory.mktemp(kind) / "c"
            KINDS[kind](folder)
            if kind != "logged":
                checkpoint(folder / "c.sqlite")
            before = (folder / "c.sqlite").read_bytes()
            copied = shutil.copytree(folder, folder.with_name("copy"))
            kept[kind] = folder, recorded(copied / "c.sqlite"), before
        return kept[kind]

    return one


def checkpoint(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def recorded(path):
    """Every row that a number, a report or a payment rests on."""
    out = {}
    with closing(sqlite3.connect(path)) as connection:
        for table in chain.RECORDED:
            cells = ", ".join(f'"{column.name}"' for column in chain.recorded_columns(table))
            out[table.name] = sorted(connection.execute(f"SELECT {cells} FROM {table.name}").fetchall(), key=repr)
        out["meta"] = [row for row in out["meta"] if row[0] not in chain.PASSING]
        out["items"] = connection.execute("SELECT * FROM items ORDER BY position").fetchall()
        out["totals"] = connection.execute("SELECT * FROM totals").fetchall()
    return out


def overwrite(data, at, what):
    data[at : at + len(what)] = what


def damage(data, log, luck):
    """Damage a file, or the write-ahead log beside it, in one of the ways that disks and people have; says how."""
    pages = len(data) // PAGE
    page, other = luck.randrange(pages) * PAGE, luck.randrange(pages) * PAGE
    one, two = bytes(data[page : page + PAGE]), bytes(data[other : other + PAGE])
    how = luck.choice(["schema", "zeros", "noise", "copy", "swap", "bytes", "header", "gone", "end", "part", "log"])
    if how == "schema":
        overwrite(data, 0, luck.randbytes(PAGE))
    elif how == "zeros":
        overwrite(data, page, bytes(PAGE))
    elif how == "noise":
        overwrite(data, page, luck.randbytes(PAGE))
    elif how == "copy":
        overwrite(data, page, two)
    elif how == "swap":
        overwrite(data, page, two)
        overwrite(data, other, one)
    elif how == "bytes":
        for _ in range(luck.choice([1, 20])):
            data[page + luck.randrange(PAGE)] = luck.randrange(256)
    elif how == "header":
        overwrite(data, 0, bytes(100))
    elif how == "gone":
        del data[:100]
    elif how == "end":
        del data[-luck.randint(1, 3 * PAGE) :]
    elif how == "part":
        at = luck.randrange(len(data) - 600)
        overwrite(data, at, luck.randbytes(600))
    elif how == "log" and log:
        at = luck.randrange(len(log))
        overwrite(log, at, luck.randbytes(luck.choice([1, 100, 5000]))[: len(log) - at])
    return f"{how} at page {page // PAGE + 1}"


def rescued(whole, kind, seed, place, *, times=1):
    """(how it was damaged, whether the new store has all that was recorded, what it says is missing)."""
    folder, right, before = whole(kind)
    luck, data = random.Random(f"{kind} {seed}"), bytearray(before)
    log = bytearray((folder / "c.sqlite-wal").read_bytes()) if kind == "logged" else bytearray()
    how = [damage(data, log, luck) for _ in range(times)]
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place)
    (place / "c.sqlite").write_bytes(data)
    if log:
        (place / "c.sqlite-wal").write_bytes(log)
    source = place / luck.choice(["c.toml", "c.sqlite"])
    found = rescue(str(source), str(place / "out.sqlite"))
    with closing(sqlite3.connect(place / "out.sqlite")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    same = recorded(place / "out.sqlite") == right
    if not found.missing:
        assert verify_path(str(place / "out.sqlite")).differences == [], how
    return how, same, found.missing


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("times", [1, 3])
@pytest.mark.parametrize(
    "seeds", [range(5), *(pytest.param(range(n, n + 50), marks=pytest.mark.soak) for n in (5, 55, 105, 155))]
)
def test_a_rescued_store_is_the_same_or_says_what_is_missing(whole, tmp_path, kind, times, seeds):
    for seed in seeds:
        how, same, missing = rescued(whole, kind, f"{times} {seed}", tmp_path / "c", times=times)
        assert same or missing, (seed, how)


def test_a_record_that_ends_before_the_tables_do_gives_way_to_them(whole, tmp_path):
    """A page that is an older one of its own: nothing in the file is out of place, and yet rows are not there."""
    folder, right, _ = whole("columns")
    place = shutil.copytree(folder, tmp_path / "c")
    with closing(sqlite3.connect(place / "c.sqlite")) as connection, connection:
        connection.execute("DROP TRIGGER guard_chain_delete")
        connection.execute("DELETE FROM chain WHERE number > (SELECT max(number) FROM chain) - 4")
    found = rescue(str(place / "c.toml"), str(place / "out.sqlite"))
    assert not found.whole
    assert recorded(place / "out.sqlite") == right
    assert found.missing == []


def test_what_was_seen_and_is_not_there_is_told(whole, tmp_path):
    """The head file beside the TOML knows of what an older file does not."""
    folder, _, _ = whole("columns")
    place = shutil.copytree(folder, tmp_path / "c")
    head = json.loads((place / "c.head.json").read_text())
    (place / "c.head.json").write_text(json.dumps(head | {"head": "999-" + "0" * 40, "asked": head["asked"] + 7}))
    found = rescue(str(place / "c.toml"), str(place / "out.sqlite"))
    assert [line for line in found.missing if "7 more answers" in line]
