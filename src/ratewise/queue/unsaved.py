"""Answers that were paid for when the store could not be written: a file beside the TOML, taken in by the next run.

A full disk is the likeliest reason, and would not take this file either. So where the store is a file, room is set
aside while a campaign runs: blank lines, which are written over in need.
"""

import json
import os
import uuid
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ratewise.queue.records import Claim, Outcome
from ratewise.queue.store import Store

_LINE = 400  # bytes set aside for an answer
_MOST = 4_000_000  # bytes set aside in all


@dataclass(frozen=True, slots=True)
class Unsaved:
    """One file, which holds something only in need."""

    path: Path

    def reserve(self, answers: int) -> None:
        """Set room aside; one process only, since it writes over what is blank."""
        with suppress(OSError), open(self.path, "ab") as file:
            file.write(b"\n" * max(min(answers * _LINE, _MOST) - file.tell(), 0))
            file.flush()
            os.fsync(file.fileno())

    def release(self) -> None:
        """Give the room back where there was no need."""
        with suppress(OSError):
            if not self.path.read_bytes().strip():
                self.path.unlink()

    def keep(self, outcomes: Sequence[Outcome]) -> bool:
        """Add the outcomes; where even that fails they are lost, and asked for again with the same key."""
        lines = "".join("\n" + json.dumps(_row(o)) for o in outcomes).encode() + b"\n"
        try:
            with open(self.path, "r+b" if self._has_room() else "ab", buffering=0) as file:
                if file.readable():
                    file.seek(len(file.read().rstrip(b"\n")))
                whole = file.write(lines) == len(lines)
                os.fsync(file.fileno())
        except OSError:
            return False
        return whole

    def _has_room(self) -> bool:
        return self.path.exists() and self.path.read_bytes().endswith(b"\n\n")

    def restore(self, store: Store, budget: int | None) -> int:
        """Settle what was kept, then delete it; what was settled in the meantime stays as it is."""
        with suppress(FileNotFoundError):  # taken under a name of its own, so that nobody adds to it meanwhile
            if self.path.read_bytes().strip():
                self.path.rename(self.path.with_suffix(f".{uuid.uuid4().hex[:8]}{self.path.suffix}"))
        count = 0
        for path in self.path.parent.glob(f"{_literal(self.path.stem)}.*{self.path.suffix}"):
            outcomes = _outcomes(path)
            if outcomes:
                store.settle(outcomes, budget, for_anyone=True)  # what failed is asked again
            path.unlink(missing_ok=True)
            count += len(outcomes)
        return count


def kept_outcomes(path: Path) -> list[Outcome]:
    """What a file of unsaved answers holds, for those who only read it."""
    return _outcomes(path)


def _literal(text: str) -> str:
    return "".join(f"[{c}]" if c in "*?[" else c for c in text)


def _row(o: Outcome) -> dict[str, Any]:
    row = asdict(o)
    del row["claim"]["content"]  # may be long, and is known
    return row


def _outcomes(path: Path) -> list[Outcome]:
    """What can be read: a line that was torn by a crash is lost, and its question asked again."""
    found = []
    with suppress(FileNotFoundError):  # another process was first
        for line in filter(None, path.read_bytes().split(b"\n")):
            with suppress(ValueError, TypeError, KeyError):
                row = json.loads(line)
                found.append(Outcome(**{**row, "claim": _claim(row["claim"])}))
    return found


def _claim(row: dict[str, Any]) -> Claim:
    prices = row["prices"]
    return Claim(**{**row, "content": "", "prices": None if prices is None else tuple(prices)})
