"""A judge under load: a whole campaign in a process of its own against the judge server, killed on the way if wanted.

What the server has counted is held against the campaign's ledger, to the last unit.
"""

import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from ratewise.testing.hidden_rule import HiddenRule, made_up_rows, write_rows
from ratewise.testing.judge_server import JudgeServer

_INPUT, _OUTPUT = Decimal("0.15"), Decimal("0.60")  # per million tokens
_LOOK = 0.005  # seconds between looks at the server's count
_LONGEST = 3600.0  # seconds for one run
_TOML = """
seed = 7
method = "base"
[items]
table = "items.csv"
[rating]
kind = "binary"
[goal]
budget = "1000"
[[raters]]
name = "judge"
kind = "llm"
model = "small-judge"
base_url = "{url}"
judge = "binary"
show = ["question", "answer"]
prices = {{ input = "0.15", output = "0.60" }}
concurrency = {concurrency}
"""


@dataclass(frozen=True, slots=True)
class Load:
    """What a campaign under load has come to."""

    items: int
    rated: int
    calls: int  # that the server has billed
    repeated: int  # that it answered again, for the same key
    billed: Decimal
    spent: Decimal  # by the campaign's ledger
    kills: int
    seconds: float
    client_seconds: float  # of the campaign's processors, all runs together

    @property
    def cpu_per_call(self) -> float:
        """Milliseconds of the client's processors for each call, its start included."""
        return 1000 * self.client_seconds / max(self.calls, 1)


def under_load(folder: Path, *, items: int, concurrency: int, kill_at: Sequence[int] = ()) -> Load:
    """Rate so many items with so many calls at once; the campaign is killed when the server has billed these calls."""
    with JudgeServer(HiddenRule()) as server:
        server.keep_requests = False
        write_rows(folder / "items.csv", made_up_rows(items, server.rule))
        (folder / "c.toml").write_text(_TOML.format(url=server.base_url, concurrency=concurrency), encoding="utf-8")
        began, used = time.monotonic(), _children()
        for calls in kill_at:
            _killed(folder, server, calls)
        _command(folder, "run", "c.toml", "--json").communicate(timeout=_LONGEST)
        seconds, used = time.monotonic() - began, _children() - used
        out, _ = _command(folder, "status", "c.toml", "--json", read=True).communicate(timeout=_LONGEST)
        status, count = json.loads(out), server.billed
        bill = (count.input * _INPUT + count.output * _OUTPUT) / 1_000_000
        return Load(
            items, status["labels"], count.calls, count.repeated, bill, Decimal(status["spent"]), len(kill_at), seconds,
            used,
        )  # fmt: skip


def _killed(folder: Path, server: JudgeServer, calls: int) -> None:
    """Run until the server has billed so many calls, then kill -9."""
    process = _command(folder, "run", "c.toml", "--json")
    while server.billed.calls < calls and process.poll() is None:
        time.sleep(_LOOK)
    process.kill()
    process.communicate()


def _command(folder: Path, *words: str, read: bool = False) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "ratewise", *words], cwd=folder,
        stdout=subprocess.PIPE if read else subprocess.DEVNULL,
    )  # fmt: skip


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
