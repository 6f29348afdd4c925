"""Those who look and those who attack: secrets stay hidden, terminals obey nobody, files are kept."""

import json
import sqlite3
import tracemalloc
from pathlib import Path

import pytest

from ratewise.cli.console import in_json, visible

from ..campaign.making import drop_guards
from .test_campaign import TOML, items, toml  # noqa: F401 - fixtures

SECRET = "hunter2"


# Secrets


@pytest.mark.parametrize(
    "store",
    [
        f"postgresql://bob:{SECRET}@{SECRET}@localhost:1/db",
        f"postgresql://bob:{SECRET}/{SECRET}@localhost:1/db",
        f"postgresql://bob:{SECRET}@localhost:port/db",
        f"postgresql://bob:{SECRET}@localhost:99999/db",
        f"postgresql://bob:{SECRET}\\u0000@localhost/db",
        f"postgresql://bob:{SECRET}@[::1/db",
        f"mysql://bob:{SECRET}@localhost/db",
        f"postgresql://bob:{SECRET}@localhost:1/db?password={SECRET}",
    ],
)
@pytest.mark.parametrize("command", ["run", "status"])
def test_no_part_of_a_password_is_printed(run, toml, store, command, monkeypatch):  # noqa: F811
    monkeypatch.setattr("ratewise.campaign.clients.patience.PATIENCE", 0.0)
    Path(toml).write_text(f'store = "{store}"\n' + TOML.format(budget=40), encoding="utf-8")
    done = run(command, toml)
    assert done.code in (2, 3)
    assert len(done.err.splitlines()) == 1
    assert SECRET not in done.out + done.err
    assert "Traceback" not in done.err


COMMAND = """
[[raters]]
name = "human"
kind = "command"
command = ["python3", "rate.py", "--api-key", "{key}", "--token={key}", "https://me:{key}@host/x", "sk-{key}01234567"]
price = "1"
"""
RATE = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"key": asked["key"], "rating": asked["item"]["truth"]}), flush=True)
"""


def test_arguments_that_look_like_secrets_are_in_no_report(run, toml):  # noqa: F811
    """A key that is changed on the way is told as changed, and neither the old nor the new one is shown."""
    head = TOML.format(budget=40).rpartition("[[raters]]")[0]
    Path("rate.py").write_text(RATE, encoding="utf-8")
    Path(toml).write_text(head + COMMAND.format(key=SECRET), encoding="utf-8")
    assert run("run", toml).code == 0
    Path(toml).write_text(head.replace("40", "50") + COMMAND.format(key="correcthorse"), encoding="utf-8")
    assert run("run", toml).code == 0
    assert run("report", toml, "-o", "report.html").code == 0
    told = Path("report.html").read_text(encoding="utf-8") + run("verify", toml).out + run("status", toml).out
    assert "raters.human.command" in told
    assert "rate.py" in told
    assert SECRET not in told
    assert "correcthorse" not in told


TELLS = """
import json, os, sys
key = sys.argv[sys.argv.index("--api-key") + 1]
for number, line in enumerate(sys.stdin):
    asked = json.loads(line)
    if number == 1:
        print(json.dumps({"key": asked["key"], "error": f"401 for {key}, {sys.argv[-1]}"}), flush=True)
    elif number == 3:
        sys.exit(f"cannot log in with --api-key {key} or {os.environ['JUDGE_TOKEN']}")
    else:
        said = f"asked with {key}, {os.environ['JUDGE_TOKEN']}, {os.environ['POOL_SEED']}"
        print(json.dumps({"key": asked["key"], "rating": asked["item"]["truth"], "note": said}), flush=True)
"""
RAISES = """
import os
def rate(item):
    raise ConnectionError(f"https://me:{os.environ['PLAIN']}@host/rate said no; token={os.environ['PLAIN']}")
"""
SEED = "correct-horse-battery-staple"


def test_what_raters_say_is_kept_and_shown_without_secrets(run, toml, monkeypatch):  # noqa: F811
    """A key of the command, a password in an address, variables that sound like keys, and the secret seed."""
    for name, value in {"JUDGE_TOKEN": "swordfish-99", "POOL_SEED": SEED, "PLAIN": "opensesame"}.items():
        monkeypatch.setenv(name, value)
    head = TOML.format(budget=12).rpartition("[[raters]]")[0].replace("seed = 3", 'seed = { env = "POOL_SEED" }')
    Path("rate.py").write_text(TELLS, encoding="utf-8")
    Path("raises.py").write_text(RAISES, encoding="utf-8")
    Path(toml).write_text(head + COMMAND.format(key=SECRET) + "batch = 1\nbackoff = 0\nattempts = 9", encoding="utf-8")
    told = [run("run", toml)]
    down = head + '[[raters]]\nname = "human"\nkind = "python"\nfunction = "raises:rate"\nprice = "1"\nbackoff = 0'
    Path("down.toml").write_text(down, encoding="utf-8")
    told += [run("run", "down.toml"), run("status", "down.toml"), run("status", toml), run("verify", toml)]
    assert "***" in told[1].err
    assert told[1].code == 3
    before = "".join(done.out + done.err for done in told)
    files = [path.read_bytes() for path in Path().glob("*.sqlite*")]
    for arguments in (
        ("report", toml, "-o", "r.html"),
        ("export", toml, "-o", "out/"),
        ("report", "down.toml", "-o", "d.html"),
    ):
        before += run(*arguments).err
    files += [path.read_bytes() for path in (*Path().glob("*.html"), *Path("out").glob("*"), *Path().glob("*unsaved*"))]
    assert b"asked with ***, ***, ***" in b"".join(files)
    assert f"asked with ***, ***, {SEED}".encode() not in b"".join(files)  # it is public only at the end
    for secret in (SECRET, "swordfish-99", "opensesame"):
        assert secret not in before
        assert all(secret.encode() not in data for data in files), secret


# Long ids


WRITERS = {"csv": "write_csv", "jsonl": "write_ndjson", "parquet": "write_parquet"}


@pytest.mark.parametrize("ending", WRITERS)
def test_a_long_id_takes_no_more_room_than_itself(run, tmp_path, ending):
    """400 rows, one of whose ids has 10 MB: an array as wide as the longest id would take 16 GB."""
    import polars

    ids = [f"i{i}" for i in range(400)]
    ids[7] = "x" * 10_000_000
    judge, truth = [(i * 37 % 101) / 101 for i in range(400)], [float(i % 3 > 0) for i in range(400)]
    frame = polars.DataFrame({"id": ids, "judge": judge, "truth": truth})
    getattr(frame, WRITERS[ending])(f"long.{ending}")
    named = (f"long.{ending}", "--weak", "judge", "--strong", "truth")
    plan = run("plan", *named, "--weak-cost", "0.1", "--strong-cost", "1", "--budget", "100", "--json")
    Path("plan.json").write_text(plan.out, encoding="utf-8")
    Path("c.toml").write_text(TOML.format(budget=12).replace("items.csv", f"long.{ending}"), encoding="utf-8")
    tracemalloc.start()
    try:
        reads = (("estimate", *named), ("draw", named[0], "--plan", "plan.json", "--seed", "1", "-o", "drawn.csv"))
        campaign = (("run", "c.toml"), ("verify", "c.toml"))  # which has one reader for all formats
        for arguments in reads + campaign * (ending == "parquet"):
            done = run(*arguments)
            assert done.code == 0, done.err
            assert len(done.out) < 20_000
        assert tracemalloc.get_traced_memory()[1] < 400e6
    finally:
        tracemalloc.stop()


# What a terminal would obey

EVIL = "\x1b[2K\x1b[1Aall is well\x07\x9b31m\u202e\r"


def test_control_signs_are_shown_as_escapes():
    assert visible("plain ä 😀\n\tx") == "plain ä 😀\n\tx"
    assert visible(EVIL) == "\\x1b[2K\\x1b[1Aall is well\\x07\\x9b31m\\u202e\\x0d"
    assert json.loads(in_json(json.dumps(EVIL, ensure_ascii=False))) == EVIL
    assert not set(in_json(json.dumps(EVIL, ensure_ascii=False))) & set(EVIL) - set("all is well[2K1A31m")


def assert_harmless(done):
    for sign in "\x1b\x07\x9b\u202e\r\x7f":
        assert sign not in done.out + done.err


def test_an_id_cannot_command_the_terminal_from_verify(run, write):
    ids = [f"{EVIL[:-1]}{i}" for i in range(200)]  # a return would be the end of a line
    write("items.csv", {"id": ids, "judge": [0.5] * 200, "truth": [i % 2 for i in range(200)]})
    Path("c.toml").write_text(TOML.format(budget=40), encoding="utf-8")
    assert run("run", "c.toml").code == 0
    with sqlite3.connect("c.sqlite") as connection:
        drop_guards(connection)
        connection.execute("UPDATE items SET uniform = 0.5 WHERE position = 1")
    found = run("verify", "c.toml")
    assert found.code == 4
    assert "\\x1b[2K" in found.out
    for command in (("verify",), ("verify", "--json"), ("status",)):
        assert_harmless(run(command[0], "c.toml", *command[1:]))


def test_nor_from_errors(run, write):
    write("t.csv", {"id": [EVIL, EVIL], "a": [1, 0], "b": [1, 0], EVIL: [1, 2]})
    for arguments in (
        ("plan", "t.csv", "--weak", EVIL, "--strong", "b", "--weak-cost", "0", "--strong-cost", "1", "--budget", "5"),
        ("estimate", EVIL, "--strong", "b"),
        ("estimate", "t.csv", "--strong", "c", "--weak", EVIL),
        ("status", EVIL),
        ("run", EVIL),
        (EVIL,),
        ("estimate", "t.csv", f"--{EVIL}"),
    ):
        done = run(*arguments)
        assert done.code == 2
        assert_harmless(done)


# Files


def test_a_campaign_s_own_files_are_not_overwritten(run, toml):  # noqa: F811
    assert run("run", toml).code == 0
    Path("link").symlink_to("campaign.sqlite")
    Path("campaign.unsaved.jsonl").touch()
    before = {path.name: path.read_bytes() for path in Path().iterdir() if path.is_file()}
    for command, target in [
        ("report", "campaign.sqlite"), ("report", "campaign.toml"), ("report", "items.csv"), ("report", "./items.csv"),
        ("report", "campaign.sqlite-wal"), ("report", "campaign.unsaved.jsonl"), ("report", "link"),
        ("export", "items.csv"), ("export", "campaign.sqlite"), ("export", "campaign.toml"),
    ]:  # fmt: skip
        done = run(command, toml, "-o", target)
        assert done.code == 2, (command, target)
        assert len(done.err.splitlines()) == 1
        assert "another" in done.err
        for name, content in before.items():
            if not name.endswith(("-shm", "-wal")):
                assert Path(name).read_bytes() == content, (command, target)


# Raters that print, and cells that a spreadsheet would run


def test_a_rater_that_prints_does_not_break_json(run, toml):  # noqa: F811
    Path("chatty.py").write_text(
        "print('hello from the module')\ndef rate(item):\n    print('asked', item['id'])\n    return item['truth']\n",
        encoding="utf-8",
    )
    own = 'kind = "python"\nfunction = "chatty:rate"'
    text = TOML.format(budget=40).replace('kind = "column"\ncolumn = "truth"', own)
    Path(toml).write_text(text, encoding="utf-8")
    done = run("run", toml, "--json")
    assert done.code == 0
    assert done.document["labels"] > 0
    assert "hello from the module" in done.err


FORMULAS = ["=1+1", "+1", "-x", "@sum", "plain", "'quoted"]


def test_safe_cells(run, write):
    ids = [f"{FORMULAS[i % 6]}{i}" for i in range(60)]
    write("items.csv", {"id": ids, "judge": [0.5] * 60, "truth": [i % 2 for i in range(60)]})
    Path("c.toml").write_text(TOML.format(budget=40), encoding="utf-8")
    assert run("run", "c.toml").code == 0
    assert run("export", "c.toml", "-o", "raw.csv").code == 0
    assert run("export", "c.toml", "-o", "safe.csv", "--safe-cells").code == 0
    raw, safe = (Path(name).read_text(encoding="utf-8").splitlines() for name in ("raw.csv", "safe.csv"))
    assert len(raw) == len(safe)
    assert any(line.startswith("=1+1") for line in raw)
    assert not any(line.startswith(tuple("=+-@")) for line in safe)
    assert any(line.startswith("'=1+1") for line in safe)
    assert any(line.startswith("plain") for line in safe)
