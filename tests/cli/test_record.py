"""The record on the command line: its head is printed and checked, copies are made, and what is edited is told."""

import re
import sqlite3
from pathlib import Path

import pytest

HEAD = re.compile(r"\b\d+-[0-9a-f]{40}\b")


@pytest.fixture
def ended(run):
    """A campaign that was run, as `init --table` writes it."""
    assert run("init", "campaign.toml", "--table").code == 0
    done = run("run", "campaign.toml")
    assert done.code == 0, done.err
    return done


def head_in(text):
    (found,) = set(HEAD.findall(text))
    return found


def test_status_report_export_and_run_print_the_head_and_verify_takes_it(run, ended):
    head = head_in(ended.out)
    assert head_in(run("status", "campaign.toml").out) == head
    assert run("status", "campaign.toml", "--json").document["head"] == head
    assert head_in(run("report", "campaign.toml", "-o", "r.html").out) == head
    assert head_in(Path("r.html").read_text(encoding="utf-8")) == head
    assert f"ratewise verify campaign.toml --head {head}" in Path("r.html").read_text(encoding="utf-8")
    assert run("report", "campaign.toml", "-o", "r.html", "--json").document["head"] == head
    assert head_in(run("export", "campaign.toml", "-o", "rated.csv").out) == head
    assert run("export", "campaign.toml", "-o", "rated.csv", "--json").document["head"] == head
    assert run("run", "campaign.toml", "--json").document["head"] == head  # nothing is written where nothing is left
    checked = run("verify", "campaign.toml", "--head", head)
    assert (checked.code, checked.err) == (0, "")
    assert "the head is that of entry" in checked.out
    assert run("verify", "campaign.toml", "--json").document["head"] == head


def test_a_head_that_does_not_fit_exits_with_4_and_one_that_is_none_with_2(run, ended):
    other = run("verify", "campaign.toml", "--head", "1-" + 40 * "a")
    assert other.code == 4
    assert "entry 1 of the record is not the one of the head" in other.out
    wrong = run("verify", "campaign.toml", "--head", "hello")
    assert (wrong.code, wrong.out) == (2, "")
    assert len(wrong.err.splitlines()) == 1


def test_an_edit_exits_with_4_and_names_what_differs(run, ended):
    with sqlite3.connect("campaign.sqlite") as connection:
        connection.execute("DROP TRIGGER guard_ratings_update")
        connection.execute("UPDATE ratings SET note = 'x' WHERE position = 3 AND step = 0")
    found = run("verify", "campaign.toml")
    assert found.code == 4
    assert "ratings, position 3, step 0: note is 'x'; the record has None" in found.out


def test_exports_are_checked_without_the_campaign(run, ended):
    head = head_in(ended.out)
    written = run("export", "campaign.toml", "--record", "-o", "record.jsonl")
    assert written.code == 0
    assert head_in(written.out) == head
    folder = run("export", "campaign.toml", "-o", "out/")
    assert "rated.csv, ledger.csv, record.jsonl written to out/" in folder.out
    for path in ("record.jsonl", "out"):
        checked = run("verify", path, "--head", head)
        assert (checked.code, checked.err) == (0, ""), path
        assert "nothing differs" in checked.out
    for options in (("--record", "--ledger"), ("--record", "--answers")):
        assert run("export", "campaign.toml", *options, "-o", "x.jsonl").code == 2
    assert run("export", "campaign.toml", "--ledger", "-o", "out/").code == 2


def test_backup_and_rescue(run, ended):
    head = head_in(ended.out)
    copied = run("backup", "campaign.toml", "-o", "copy.sqlite")
    assert copied.code == 0
    assert head_in(copied.out) == head
    assert run("verify", "copy.sqlite", "--head", head).code == 0
    assert run("backup", "campaign.toml", "-o", "copy.sqlite").code == 2
    assert run("backup", "campaign.toml", "-o", "again.sqlite", "--json").document["head"] == head
    saved = run("rescue", "campaign.toml", "-o", "rescued.sqlite")
    assert saved.code == 0
    assert "missing: nothing that is known of" in saved.out
    assert run("verify", "rescued.sqlite", "--head", head).code == 0
    assert run("rescue", "campaign.toml", "-o", "other.sqlite", "--json").document["missing"] == []
    assert run("rescue", "nowhere.toml", "-o", "x.sqlite").code == 2


def test_a_toml_that_was_edited_is_told_by_all_who_look(run, ended):
    toml = Path("campaign.toml")
    text = toml.read_text(encoding="utf-8")
    (budget,) = re.findall(r'^budget = "(\d+)"', text, re.MULTILINE)
    toml.write_text(text.replace(f'budget = "{budget}"', f'budget = "{int(budget) + 7}"'), encoding="utf-8")
    for words in (("status",), ("verify",), ("report", "-o", "r.html")):
        told = run(words[0], "campaign.toml", *words[1:])
        assert told.code == 0
        assert "no run has used it yet: goal.budget" in " ".join(told.out.split()), words
    assert "no run has used it yet: goal.budget" in Path("r.html").read_text(encoding="utf-8")
    assert f"of {budget}" in run("status", "campaign.toml").out


def test_a_secret_seed_is_told_at_the_start_and_at_the_end(run, monkeypatch):
    run("init", "campaign.toml", "--table")
    toml = Path("campaign.toml")
    text = re.sub(r"^seed = \d+", 'seed = { env = "POOL_SEED" }', toml.read_text(encoding="utf-8"), flags=re.MULTILINE)
    toml.write_text(text, encoding="utf-8")
    assert "openssl rand -hex 16" in run("run", "campaign.toml").err
    monkeypatch.setenv("POOL_SEED", "a very long secret 123")
    done = run("run", "campaign.toml")
    assert done.code == 0
    assert "the seed is secret until the end; its SHA-256 is" in done.err
    run("report", "campaign.toml", "-o", "r.html")
    assert "a very long secret 123; it was secret" in Path("r.html").read_text(encoding="utf-8")
