"""What the tests of the commands share: made-up tables in an empty folder, and the command run in it."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ratewise
from ratewise.cli.main import main

COLUMNS = ("--weak", "judge", "--strong", "human")
PRICES = (*COLUMNS, "--weak-cost", "0.02", "--strong-cost", "1.5")
PILOT, POOL = 260, 900


@dataclass(frozen=True)
class Outcome:
    code: Any
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The JSON on standard output, which holds nothing else; numbers that JSON has not are refused."""

        def refuse(name: str) -> None:
            raise AssertionError(f"{name} is not JSON")

        return json.loads(self.out, parse_constant=refuse)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Every command runs in an empty folder of its own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """`ratewise …` in this process: its exit code, and what it wrote where."""

    def command(*arguments: object, stdin: bytes | None = None) -> Outcome:
        if stdin is not None:
            monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(stdin)))
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        return Outcome(left.value.code, *capsys.readouterr())

    return command


@pytest.fixture(scope="session")
def run_in() -> Callable[..., Outcome]:
    """`ratewise …` as a process of its own, in a folder."""

    def command(folder: Path, *arguments: object) -> Outcome:
        source = str(Path(ratewise.__file__).parents[1])
        done = subprocess.run(
            [sys.executable, "-m", "ratewise.cli.main", *map(str, arguments)],
            capture_output=True,
            check=False,
            cwd=folder,
            env={**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": "utf-8"},
        )
        return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())

    return command


@pytest.fixture
def process() -> Callable[..., Outcome]:
    """`ratewise …` as a process of its own."""

    def command(*arguments: object, stdin: bytes | None = None, encoding: str = "utf-8") -> Outcome:
        source = str(Path(ratewise.__file__).parents[1])
        done = subprocess.run(
            [sys.executable, "-m", "ratewise.cli.main", *map(str, arguments)],
            input=b"" if stdin is None else stdin,
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONPATH": source, "PYTHONIOENCODING": encoding},
        )
        return Outcome(done.returncode, done.stdout.decode(encoding), done.stderr.decode(encoding))

    return command


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return str(value)


@pytest.fixture(scope="session")
def csv_text() -> Callable[[Mapping[str, Sequence[Any]]], str]:
    """Columns as CSV, missing values as empty cells."""

    def text(columns: Mapping[str, Sequence[Any]]) -> str:
        rows = zip(*columns.values(), strict=True)
        lines = [",".join(columns), *(",".join(map(_cell, row)) for row in rows)]
        return "\n".join(lines) + "\n"

    return text


@pytest.fixture
def write(csv_text: Callable[..., str]) -> Callable[..., str]:
    """Columns as a CSV file; its name."""

    def file(name: str, columns: Mapping[str, Sequence[Any]]) -> str:
        Path(name).write_text(csv_text(columns), encoding="utf-8")
        return name

    return file


def _scores(rng: np.random.Generator, n: int) -> tuple[list[float], list[float]]:
    """A judge that is right on average: probabilities, mostly high, and what a person says."""
    judge = np.round(rng.beta(2.4, 0.6, n), 4)
    return judge.tolist(), (rng.random(n) < judge).astype(float).tolist()


@pytest.fixture(scope="session")
def pilot() -> dict[str, list[Any]]:
    """Both ratings of every row."""
    judge, human = _scores(np.random.default_rng(41), PILOT)
    return {"id": [f"p-{i:03d}" for i in range(PILOT)], "judge": judge, "human": human}


@pytest.fixture(scope="session")
def pool() -> dict[str, list[Any]]:
    """The pool with the answers a person would give, which the commands never see."""
    judge, human = _scores(np.random.default_rng(43), POOL)
    return {"id": [f"ä{i:03d}" for i in range(POOL)], "judge": judge, "truth": human}


@pytest.fixture(scope="session")
def rated() -> dict[str, list[Any]]:
    """A drawn and rated table: 140 rows at three rates; the judge is off by a little."""
    rng = np.random.default_rng(47)
    rate = rng.choice([0.25, 0.5, 0.8], 140)
    judge, human = _scores(rng, 140)
    selected = rng.random(140) < rate
    return {
        "id": list(range(1000, 1140)),
        "judge": judge,
        "human": np.where(selected, human, np.nan).tolist(),
        "rate": rate.tolist(),
        "selected": selected.tolist(),
    }


@pytest.fixture(scope="session")
def planned(tmp_path_factory, run_in, csv_text, pilot) -> Outcome:
    """The plan of the pilot, made once."""
    folder = tmp_path_factory.mktemp("planned")
    (folder / "pilot.csv").write_text(csv_text(pilot), encoding="utf-8")
    done = run_in(folder, "plan", "pilot.csv", *PRICES, "--budget", 90, "--json")
    assert done.code == 0, done.err
    return done


@pytest.fixture
def made(planned, write, pilot, pool) -> SimpleNamespace:
    """pilot.csv, pool.csv and plan.json in the folder; the plan's JSON."""
    write("pilot.csv", pilot)
    write("pool.csv", {name: pool[name] for name in ("id", "judge")})
    Path("plan.json").write_text(planned.out, encoding="utf-8")
    return SimpleNamespace(pilot="pilot.csv", pool="pool.csv", plan="plan.json", document=planned.document)
