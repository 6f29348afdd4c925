"""What forty commands and three campaigns printed, kept number by number: rebuilding the rooms changes none of it.

`RATEWISE_GOLDEN=write pytest tests/test_golden.py` writes the files anew; read the difference before you commit it.
"""

import json
import math
import os
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from ratewise.cli.main import main

KEPT = Path(__file__).parent / "golden"
WRITE = os.environ.get("RATEWISE_GOLDEN") == "write"
TOLERANCE = 1e-7  # processors differ: linear algebra for AVX-512 and for AVX2 gave savings 1.4e-8 apart
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
RATED = "--weak judge --strong human"
PRICES = f"{RATED} --weak-cost 0.02 --strong-cost 1.5"
WIDE = "--system new:judge_new:human_new --system old:judge_old:human_old"
THREE = f"{WIDE} --system mini:judge_mini:human_mini --baseline old"

COMMANDS = {
    "estimate": f"estimate rated.csv {RATED}",
    "estimate-pool": f"estimate rated.csv {RATED} --estimand pool --weak-cost 0.02 --strong-cost 1.5",
    "estimate-regression": f"estimate rated.csv {RATED} --method regression --interval t --level 0.9",
    "estimate-tuned-bootstrap": f"estimate rated.csv {RATED} --method power-tuned --interval bootstrap --seed 4",
    "estimate-anytime": f"estimate rated.csv {RATED} --method difference --interval anytime --floor 0.05",
    "estimate-recalibrated": f"estimate rated.csv {RATED} --recalibrate isotonic",
    "estimate-affine": f"estimate likert.csv {RATED} --recalibrate affine --low 1 --high 5",
    "estimate-alone": "estimate rated.csv --strong human --rate 0.4",
    "estimate-clusters": f"estimate rated.csv {RATED} --cluster talk",
    "estimate-strata": f"estimate strata.csv {RATED} --weight weight",
    "estimate-people": "estimate people.csv --weak judge --strong a,b,c",
    "estimate-words": "estimate words.csv --strong verdict --positive good,great",
    "estimate-scale": f"estimate likert.csv {RATED} --low 1 --high 5",
    "slices": f"estimate rated.csv {RATED} --by topic",
    "slices-shrunk": f"estimate rated.csv {RATED} --by topic --shrink --estimand pool",
    "plan": f"plan pilot.csv {PRICES} --budget 120",
    "plan-pool": f"plan pilot.csv {PRICES} --budget 120 --pool pool.csv --estimand pool",
    "plan-within": f"plan pilot.csv {PRICES} --within 0.03 --pool-size 5000",
    "plan-features": f"plan pilot.csv {PRICES} --budget 150 --features length,topic --calibrate auto --pool pool.csv",
    "plan-uncertainty": f"plan pilot.csv {PRICES} --target-se 0.02 --uncertainty doubt --floor 0.05 --what-if",
    "plan-slices": f"plan pilot.csv {PRICES} --budget 200 --by topic --objective worst --pool pool.csv",
    "plan-strata": f"plan pilot.csv {PRICES} --budget 200 --strata topic --pool pool.csv",
    "plan-drawn": f"plan rated.csv {PRICES} --budget 300 --drawn rate --estimand pool",
    "draw": "draw pool.csv --plan plan.json --seed 7 -o drawn.csv",
    "draw-at-random": "draw pool.csv --at-random 50 --seed 7 -o first.csv --sheet sheet.csv",
    "draw-slices": "draw pool.csv --plan plan-slices.json --seed 3 -o slices.csv",
    "compare": f"compare systems.csv {WIDE}",
    "compare-pool": f"compare systems.csv {WIDE} --estimand pool --recalibrate auto --cluster talk",
    "compare-three": f"compare systems.csv {THREE} --seed 3 --level 0.9",
    "compare-rows": f"compare long.csv --system system {RATED} --id item --baseline old",
    "compare-tables": f"compare rated.csv --with last.csv {RATED}",
    "leaderboard": "leaderboard votes.csv --weak judge --strong human",
    "leaderboard-features": "leaderboard votes.csv --weak judge --strong human --features length --level 0.9",
    "leaderboard-ask": "leaderboard votes.csv --weak judge --strong human --ask 30 -o ask.csv --seed 2",
    "regress": f"regress rated.csv {RATED} --on length,topic --family logistic",
    "regress-linear": f"regress likert.csv {RATED} --on length --family linear --features length",
    "quantile": f"quantile likert.csv {RATED} --at 0.25,0.5,0.9 --low 1 --high 5",
    "check": f"check rated.csv {RATED} --at-least 0.6",
    "check-last": f"check rated.csv {RATED} --no-worse-than last.csv --margin 2pp",
    "simulate": f"simulate full.csv {RATED} --cost-ratio 0.05 --budgets 40,80 --burn-in 40 --trials 40 --seed 1"
    " --methods base,paper-random,paper-active,oracle,ppi++,active-fixed,auto --workers 1",
    "simulate-pool": f"simulate full.csv {RATED} --cost-ratio 0.05 --budgets 60 --burn-in 0 --mode pool --trials 30"
    " --methods base,auto,limit --features length --workers 1",
}

CAMPAIGNS = {
    "pair": """
seed = 11
[items]
table = "full.csv"
id = "id"
features = ["length", "topic"]
[rating]
kind = "binary"
[goal]
budget = "90"
[[raters]]
name = "judge"
kind = "column"
column = "judge"
price = "0.05"
[[raters]]
name = "human"
kind = "column"
column = "human"
price = "1"
""",
    "chain": """
seed = 12
[items]
table = "full.csv"
id = "id"
[rating]
kind = "binary"
[goal]
budget = "140"
[[raters]]
name = "judge"
kind = "column"
column = "judge"
price = "0.02"
[[raters]]
name = "better"
kind = "column"
column = "better"
price = "0.2"
[[raters]]
name = "human"
kind = "column"
column = "human"
price = "1.5"
""",
    "target": """
seed = 13
estimand = "population"
[items]
table = "full.csv"
id = "id"
[rating]
kind = "binary"
[goal]
within = 0.07
budget = "200"
[[raters]]
name = "judge"
kind = "column"
column = "judge"
price = "0.05"
[[raters]]
name = "human"
kind = "column"
column = "human"
price = "1"
""",
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """A folder with the tables that the commands read, the same on every machine."""
    folder = tmp_path_factory.mktemp("golden")
    for name, columns in _tables().items():
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(map(_cell, row)) for row in rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def _tables():
    rng = np.random.default_rng(2026)
    full = _judged(rng, 400)
    pilot = _judged(rng, 220)
    pool = {name: column for name, column in _judged(rng, 900).items() if name != "human"}
    rated = _asked(rng, _judged(rng, 700))
    last = _asked(rng, _judged(rng, 500))
    strata = _asked(rng, _judged(rng, 300))
    strata["weight"] = [{"law": 0.5, "code": 0.3, "chat": 0.2}[topic] for topic in strata["topic"]]
    likert = _judged(rng, 300)
    score = 1 + np.floor(5 * np.clip(np.array(likert["judge"]) * 0.9 + 0.2 * rng.random(300) - 0.05, 0, 0.999))
    likert["human"] = score
    likert["judge"] = np.clip(score + rng.choice([-1, 0, 0, 1], 300), 1, 5)
    likert = _asked(rng, likert)
    people = _judged(rng, 200)
    for name in "abc":
        noisy = np.where(rng.random(200) < 0.1, 1 - people["human"], people["human"])
        people[name] = np.where(rng.random(200) < 0.4, noisy, np.nan)
    people["rate"] = np.full(200, 1 - 0.6**3)
    words = {"verdict": rng.choice(["good", "great", "bad"], 80, p=[0.5, 0.3, 0.2])}
    return {
        "full": full, "pilot": pilot, "pool": pool, "rated": rated, "last": last, "strata": strata, "likert": likert,
        "people": people, "words": words, **_systems(rng), "votes": _votes(rng),
    }  # fmt: skip


def _judged(rng, n):
    judge = np.round(rng.beta(2.4, 0.7, n), 3)
    human = (rng.random(n) < judge).astype(float)
    better = np.where(rng.random(n) < 0.06, 1 - human, human)
    return {
        "id": [f"i-{i:04d}" for i in range(n)], "judge": judge, "better": better, "human": human,
        "doubt": np.round(np.sqrt(judge * (1 - judge)), 4), "length": rng.integers(5, 60, n),
        "topic": rng.choice(["law", "code", "chat"], n, p=[0.3, 0.3, 0.4]), "talk": [f"t{i // 3}" for i in range(n)],
    }  # fmt: skip


def _asked(rng, columns):
    n = len(columns["human"])
    rate = rng.choice([0.2, 0.4, 0.9], n)
    return {**columns, "rate": rate, "human": np.where(rng.random(n) < rate, columns["human"], np.nan)}


def _systems(rng):
    n = 260
    rate = rng.choice([0.3, 0.6, 1.0], n)
    asked = rng.random(n) < rate
    wide = {"id": [f"q{i}" for i in range(n)], "rate": rate, "talk": [f"t{i // 4}" for i in range(n)]}
    long = {"item": [], "system": [], "judge": [], "human": [], "rate": []}
    for name, mean in (("new", 0.8), ("old", 0.65), ("mini", 0.4)):
        human = (rng.random(n) < mean).astype(float)
        judge = np.where(rng.random(n) < 0.12, 1 - human, human) * 0.8 + 0.1
        wide[f"judge_{name}"], wide[f"human_{name}"] = judge, np.where(asked, human, np.nan)
        for column, values in (("item", wide["id"]), ("system", [name] * n), ("judge", judge), ("rate", rate)):
            long[column] += list(values)
        long["human"] += list(np.where(asked, human, np.nan))
    return {"systems": wide, "long": long}


def _votes(rng):
    n, names, level = 360, np.array(["ada", "bob", "cyd", "dan"]), np.array([0.8, 0.3, 0.0, -0.7])
    a = rng.integers(0, 4, n)
    b = (a + rng.integers(1, 4, n)) % 4
    wins = (rng.random(n) < 1 / (1 + np.exp(level[b] - level[a]))).astype(float)
    wins = np.where(rng.random(n) < 0.1, 0.5, wins)
    judge = np.clip(wins + rng.normal(0, 0.25, n), 0, 1).round(3)
    rate = rng.choice([0.3, 0.7], n)
    human = np.where(rng.random(n) < rate, wins, np.nan)
    return {
        "id": [f"v{i}" for i in range(n)], "model_a": names[a], "model_b": names[b], "judge": judge, "human": human,
        "rate": rate, "length": rng.integers(10, 99, n),
    }  # fmt: skip


def _cell(value):
    return "" if isinstance(value, float) and math.isnan(value) else str(value)


def _run(capsys, *words):
    capsys.readouterr()
    with pytest.raises(SystemExit) as left:
        main(list(words))
    out, err = capsys.readouterr()
    return left.value.code, out, err


def _differences(kept, found, where=""):
    """Places where two documents differ; numbers may differ in their last digits."""
    if isinstance(kept, dict) and isinstance(found, dict):
        for name in kept.keys() | found.keys():
            if name not in kept or name not in found:
                yield f"{where}.{name}: only {'found' if name in found else 'kept'}"
            else:
                yield from _differences(kept[name], found[name], f"{where}.{name}")
    elif isinstance(kept, list) and isinstance(found, list):
        if len(kept) != len(found):
            yield f"{where}: {len(kept)} kept, {len(found)} found"
        for i, (one, other) in enumerate(zip(kept, found, strict=False)):
            yield from _differences(one, other, f"{where}[{i}]")
    elif isinstance(kept, float | int) and isinstance(found, float | int) and not isinstance(kept, bool):
        if not _close(kept, found):
            yield f"{where}: {kept!r} kept, {found!r} found"
    elif kept != found and not _same_row(kept, found):
        yield f"{where}: {kept!r} kept, {found!r} found"


def _same_row(kept, found):
    """Whether two rows of a file differ in the last digits of numbers alone."""
    if not (isinstance(kept, str) and isinstance(found, str)) or NUMBER.split(kept) != NUMBER.split(found):
        return False
    return all(map(_close, map(float, NUMBER.findall(kept)), map(float, NUMBER.findall(found))))


def _close(kept, found):
    return math.isclose(kept, found, rel_tol=TOLERANCE, abs_tol=1e-9)


def _compared(name, document):
    path = KEPT / f"{name}.json"
    if WRITE:
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    kept = json.loads(path.read_text(encoding="utf-8"))
    assert list(_differences(kept, document))[:10] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_says_what_it_said(name, tables, capsys, monkeypatch, recwarn):
    monkeypatch.chdir(tables)
    for plan in ("plan", "plan-slices"):
        if name.startswith("draw") and not Path(f"{plan}.json").exists():
            _, out, _ = _run(capsys, *shlex.split(COMMANDS[plan]), "--json")
            Path(f"{plan}.json").write_text(out, encoding="utf-8")
    words = shlex.split(COMMANDS[name])
    code, out, err = _run(capsys, *words, "--json")
    document = {"code": code, "out": json.loads(out) if out else None, "err": "" if out else err}
    if "-o" in words:
        document["file"] = Path(words[words.index("-o") + 1]).read_text(encoding="utf-8").splitlines()
    _compared(name, document)


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_a_campaign_ends_as_it_ended(name, tables, capsys, monkeypatch, recwarn):
    folder = tables / name
    folder.mkdir()
    (folder / "full.csv").write_bytes((tables / "full.csv").read_bytes())
    (folder / "campaign.toml").write_text(CAMPAIGNS[name], encoding="utf-8")
    monkeypatch.chdir(folder)
    code, _, err = _run(capsys, "run", "campaign.toml", "--json")
    assert code == 0, err
    _, out, _ = _run(capsys, "status", "campaign.toml", "--json")
    status = {name: value for name, value in json.loads(out).items() if name not in {"campaign", "head"}}
    code, _, err = _run(capsys, "export", "campaign.toml", "-o", "export.csv")
    assert code == 0, err
    code, _, err = _run(capsys, "verify", "campaign.toml")
    assert code == 0, err
    _compared(f"campaign-{name}", {"status": status, "export": Path("export.csv").read_text("utf-8").splitlines()})
