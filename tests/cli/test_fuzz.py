"""Every command on tables, plans and stores that nobody would write: one line or a result, no traceback, no `nan`.

A few examples run with the other tests, hundreds with `make soak`. One that hangs is ended by the limit of all tests.
"""

import contextlib
import io
import json
import random
import re
import shutil
import sqlite3
import tempfile
import warnings
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ratewise.cli.main import main

from ..tomls import rater, toml_of

CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]
FEW = settings(max_examples=6, deadline=None, suppress_health_check=CHECKS, derandomize=True)
MANY = settings(max_examples=300, deadline=None, suppress_health_check=CHECKS)
NASTY = (
    "", "nan", "inf", "-inf", "1e308", "-1e308", "1.7e308", "1e-320", "5e-324", "1e50", "-1e50", "1e12", "-0", "0", "1",
    "2", "-1", "x", "1_0", "9" * 400, "\x1b[2K", "=1+1", "true", "1e9", "0.5", " 1 ", "１", "NULL",
)  # fmt: skip
PLAN = "plan t.csv --weak w --strong h --weak-cost 0.1 --strong-cost 1"
TABLE = {
    "plan": f"{PLAN} --budget 20",
    "plan with features": f"{PLAN} --budget 20 --calibrate auto --features f",
    "plan by strata": f"{PLAN} --target-se 0.1 --strata g",
    "plan by slice": f"{PLAN} --budget 20 --by g",
    "estimate": "estimate t.csv --weak w --strong h",
    "estimate alone": "estimate t.csv --strong h",
    "estimate normal": "estimate t.csv --weak w --strong h --interval normal",
    "estimate recalibrated": "estimate t.csv --weak w --strong h --recalibrate affine",
    "estimate clusters": "estimate t.csv --weak w --strong h --cluster g",
    "estimate slices": "estimate t.csv --weak w --strong h --by g --shrink",
    "compare": "compare t.csv --system a:w:h --system b:f:k",
    "regress": "regress t.csv --weak w --strong h --on f,g",
    "quantile": "quantile t.csv --weak w --strong h --at 0.5,0.9",
    "leaderboard": "leaderboard t.csv --weak w --strong h --model-a g --model-b g2",
}


def said(*arguments):
    """Run a command; its exit code and output. Anything but an orderly end is an error here."""
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        warnings.simplefilter("ignore", RuntimeWarning)
        with pytest.raises(SystemExit) as left:
            main(list(arguments))
    return left.value.code, out.getvalue(), err.getvalue()


def check(*arguments, names=()):
    """No traceback, one line of error, no number that is none; a group may be called so (`names`)."""
    code, out, err = said(*arguments)
    assert code in (0, 2, 3, 4), (arguments, code, err)
    assert "Traceback" not in err
    assert "No such option" not in err  # else nothing is tried
    assert "\x1b" not in out + err
    if code in (2, 3):
        assert len([line for line in err.splitlines() if "warning" not in line]) == 1, err
        return code
    numbers = out.replace('"inf"', "").replace('"nan"', "")  # in quotes they are a feature's own words
    found = set(re.findall(r"(?<![\w.])(nan|inf)(?![\w.])", numbers))
    assert found <= set(names), (arguments, out)
    if "--json" in arguments:
        document = json.loads(out, parse_constant=pytest.fail)
        if arguments[0] == "estimate" and "value" in document:
            assert document["value"] is not None, arguments
    return code


@st.composite
def tables(draw):
    """A sensible table in which some cells, perhaps whole columns, are not."""
    n = draw(st.integers(1, 40))
    luck = random.Random(draw(st.integers(0, 10**6)))
    rows = [
        {
            "id": str(i), "w": f"{luck.random():.3f}", "h": luck.choice(["0", "1"]), "k": luck.choice(["0", "1"]),
            "f": f"{luck.gauss(0, 1):.3f}", "g": luck.choice("ab"), "g2": luck.choice("bc"),
            "rate": luck.choice(["0.5", "1"]),
        }
        for i in range(n)
    ]  # fmt: skip
    columns = list(rows[0])
    for _ in range(draw(st.integers(0, 6))):
        column, value = draw(st.sampled_from(columns)), draw(st.sampled_from(NASTY))
        where = range(n) if draw(st.booleans()) else [draw(st.integers(0, n - 1))]
        for i in where:
            rows[i][column] = value
    return "\n".join([",".join(columns), *(",".join(row.values()) for row in rows)]) + "\n"


def _codes_of_tables(command, how):
    """The exit codes of a command on tables that hypothesis makes; as text and as JSON they are the same."""
    codes, words = [], TABLE[command].split()

    def one(table):
        Path("t.csv").write_text(table, encoding="utf-8")
        names = {cell.removeprefix("-") for line in table.splitlines()[1:] for cell in line.split(",")[4:7]}
        codes.append(check(*words, names=names))
        assert check(*words, "--json", names=names) == codes[-1]

    how(given(table=tables())(one))()
    return codes


@pytest.mark.parametrize("command", TABLE)
def test_tables(folder, command):
    codes = _codes_of_tables(command, FEW)
    assert len(codes) >= FEW.max_examples
    assert set(codes) <= {0, 2}


@pytest.mark.soak
@pytest.mark.parametrize("command", TABLE)
def test_tables_at_length(folder, command):
    codes = _codes_of_tables(command, MANY)
    assert len(codes) >= MANY.max_examples
    assert set(codes) == {0, 2}  # some tables can be used, and some cannot


# Plans


PLANS = {
    "auto": "", "calibrated": "--calibrate isotonic", "features": "--calibrate auto --features f",
    "strata": "--strata g", "slices": "--by g"
}  # fmt: skip


@pytest.fixture(scope="module")
def plans(tmp_path_factory):
    """A plan of each kind, and the pool they are for."""
    folder, luck = tmp_path_factory.mktemp("plans"), random.Random(3)
    rows = [
        f"{i},{luck.random():.3f},{luck.randint(0, 1)},{luck.gauss(0, 1):.3f},{luck.choice('ab')}" for i in range(120)
    ]
    (folder / "t.csv").write_text("id,w,h,f,g\n" + "\n".join(rows) + "\n", encoding="utf-8")
    table = str(folder / "t.csv")
    made = {}
    for name, more in PLANS.items():
        prices = ("--weak", "w", "--strong", "h", "--weak-cost", "0.01", "--strong-cost", "1", "--budget", "30")
        code, out, err = said("plan", table, *prices, *more.split(), "--json")
        assert code == 0, err
        made[name] = out
    return table, made


def places(node, path=()):
    """Every way to a value."""
    yield path
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, child in children:
        yield from places(child, (*path, key))


VALUES = (
    None,
    True,
    -1,
    0,
    2,
    1e308,
    -1e308,
    1e-320,
    10**400,
    "x",
    "",
    [],
    {},
    [1],
    {"a": 1},
    float("nan"),
    float("inf"),
)


def damaged(text, seed):
    """The plan with a value replaced, deleted, doubled or cut, or with bytes that are others."""
    luck = random.Random(seed)
    if luck.random() < 0.2:
        at = luck.randrange(len(text))
        return text[:at] + luck.choice(["", "}", "0", '"', "\x00", "é"]) + text[at + luck.randint(0, 3) :]
    document = json.loads(text)
    for _ in range(luck.randint(1, 3)):
        path = luck.choice(list(places(document)))
        if not path:
            continue
        node = document
        for key in path[:-1]:
            node = node[key]
        how = luck.random()
        if how < 0.3:
            del node[path[-1]]
        elif how < 0.4 and isinstance(node[path[-1]], list):
            node[path[-1]] = node[path[-1]][: luck.randint(0, 3)]
        else:
            node[path[-1]] = luck.choice(VALUES)
    return json.dumps(document)


def _codes_of_plans(plans, kind, seeds):
    """The exit code of a draw by each damaged plan; one that is refused writes nothing."""
    (table, made), codes = plans, []
    for seed in seeds:
        Path("plan.json").write_text(damaged(made[kind], seed), encoding="utf-8")
        codes.append(check("draw", table, "--plan", "plan.json", "--seed", "7", "-o", "out.csv"))
        assert Path("out.csv").exists() == (codes[-1] == 0)
        Path("out.csv").unlink(missing_ok=True)
    return codes


@pytest.mark.parametrize("kind", PLANS)
def test_damaged_plans(folder, plans, kind):
    codes = _codes_of_plans(plans, kind, range(25))
    assert 2 in codes  # damage is seen
    assert set(codes) <= {0, 2}


@pytest.mark.soak
@pytest.mark.parametrize("kind", PLANS)
def test_damaged_plans_at_length(folder, plans, kind):
    codes = _codes_of_plans(plans, kind, range(25, 1000))
    assert 2 in codes
    assert set(codes) <= {0, 2}


# Stores

TOML = toml_of(rater("judge", price="0.01"), rater("human"), top="seed = 3")


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    """A campaign at its end."""
    folder, luck = tmp_path_factory.mktemp("campaign"), random.Random(5)
    rows = [f"{i},{luck.random():.3f},{luck.randint(0, 1)}" for i in range(150)]
    (folder / "items.csv").write_text("id,judge,human\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (folder / "c.toml").write_text(TOML, encoding="utf-8")
    code, _, err = said("run", str(folder / "c.toml"))
    assert code == 0, err
    with closing(sqlite3.connect(folder / "c.sqlite")) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return folder


def scramble(path, seed):
    """Change one cell, or delete or double rows, of the store as its tables allow."""
    luck = random.Random(seed)
    with closing(sqlite3.connect(path)) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        for (name,) in triggers:  # one who attacks has dropped them
            connection.execute(f'DROP TRIGGER "{name}"')
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        table = luck.choice([name for name in tables if not name.startswith("sqlite")])
        columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
        count = connection.execute(f'SELECT count(*) FROM "{table}"').fetchone()[0]
        if not count:
            return
        (row,) = connection.execute(f'SELECT rowid FROM "{table}" LIMIT 1 OFFSET ?', [luck.randrange(count)]).fetchone()
        value = luck.choice(
            [None, -1, 0, 1, 2, 10**18, 1e308, 5e-324, "x", "", "{}", "[]", b"\x00\xff", "null", "1e999"]
        )
        with contextlib.suppress(sqlite3.IntegrityError, sqlite3.OperationalError):
            if luck.random() < 0.15:
                connection.execute(f'DELETE FROM "{table}" WHERE rowid = ?', [row])
            else:
                connection.execute(f'UPDATE "{table}" SET "{luck.choice(columns)}" = ? WHERE rowid = ?', [value, row])
        connection.commit()


def _found(campaign, seeds):
    """Of how many damaged stores `verify` says so, or a command that they are damaged; every command ends in order."""
    found = 0
    for seed in seeds:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            for name in ("items.csv", "c.toml", "c.sqlite"):
                shutil.copy(campaign / name, folder / name)
            scramble(folder / "c.sqlite", seed)
            toml = str(folder / "c.toml")
            changed = (folder / "c.sqlite").read_bytes() != (campaign / "c.sqlite").read_bytes()
            codes = [check("verify", toml), check("status", toml), check("report", toml, "-o", str(folder / "r.html"))]
            codes += [check("run", toml), check("export", toml, "-o", str(folder / "out.csv"))]
            found += changed and any(code in (3, 4) for code in codes)
    return found


def test_logically_damaged_stores(folder, campaign):
    assert _found(campaign, range(12)) >= 1


@pytest.mark.soak
def test_logically_damaged_stores_at_length(folder, campaign):
    assert _found(campaign, range(12, 400)) >= 40
