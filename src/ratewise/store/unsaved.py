"""Answers that were paid for when the store could not be written: a file beside the TOML, taken in by the next run.

A full disk is the likeliest reason, and would not take this file either. So where the store is a file, room is set
aside while a campaign runs: blank lines, which are written over in need.
"""

import json
import os
import uuid
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from glob import escape
from pathlib import Path
from typing import Any

from ratewise.store.queue import Claim, Outcome
from ratewise.store.store import Store

_LINE = 400  # bytes set aside for an answer
_MOST = 4_000_000  # bytes set aside in all


Read = Callable[[Mapping[str, Any]], Outcome]  # of a line; a ValueError says what is wrong with it


class Unsaved:
    """One file, which holds something only in need; each line names the campaign that it belongs to."""

    def __init__(self, path: Path, campaign: str = "") -> None:
        self.path, self.campaign = path, campaign

    @property
    def aside(self) -> Path:
        """The file for lines that cannot be taken in."""
        return self.path.with_name(self.path.name.replace(".unsaved", ".set-aside"))

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
        lines = "".join("\n" + json.dumps(_row(o, self.campaign)) for o in outcomes).encode() + b"\n"
        try:
            has_room = self.path.exists() and self.path.read_bytes().endswith(b"\n\n")
            with open(self.path, "r+b" if has_room else "ab", buffering=0) as file:
                if file.readable():
                    file.seek(len(file.read().rstrip(b"\n")))
                whole = file.write(lines) == len(lines)
                os.fsync(file.fileno())
        except OSError:
            return False
        return whole

    def restore(self, store: Store, budget: int | None, read: Read) -> list[str]:
        """Settle what was kept and can be believed, then delete it; what was settled in the meantime stays as it is.

        Returns what is wrong with each line that was set aside.
        """
        with suppress(FileNotFoundError):  # taken under a name of its own, so that nobody adds to it meanwhile
            if self.path.read_bytes().strip():
                self.path.rename(self.path.with_suffix(f".{uuid.uuid4().hex[:8]}{self.path.suffix}"))
        wrong: list[str] = []
        for path in self.path.parent.glob(f"{escape(self.path.stem)}.*{self.path.suffix}"):
            outcomes, bad = _sorted_out(path, read)
            if bad:  # kept for people to look at; the disk may refuse that
                with suppress(OSError), open(self.aside, "ab") as file:
                    file.write(b"".join(line + b"\n" for line, _ in bad))
            wrong += [reason for _, reason in bad]
            if outcomes:
                store.settle(outcomes, budget, for_anyone=True)  # what failed is asked again
            path.unlink(missing_ok=True)
        return wrong


def kept_outcomes(path: Path, read: Read | None = None) -> list[Outcome]:
    """What a file of unsaved answers holds, for those who only read it; without `read`, as it stands there."""
    return _sorted_out(path, _as_it_stands if read is None else read)[0]


def _as_it_stands(row: Mapping[str, Any]) -> Outcome:
    try:
        told, prices = dict(row["claim"]), row["claim"]["prices"]
        claim = Claim(**told | {"content": "", "prices": None if prices is None else tuple(prices)})
        return Outcome(**{name: value for name, value in row.items() if name != "campaign"} | {"claim": claim})
    except (TypeError, KeyError) as error:
        raise ValueError("it is no answer") from error


def _row(o: Outcome, campaign: str) -> dict[str, Any]:
    row = asdict(o)
    del row["claim"]["content"]  # may be long, and is known
    return {"campaign": campaign, **row}


def _sorted_out(path: Path, read: Read) -> tuple[list[Outcome], list[tuple[bytes, str]]]:
    """What can be taken in, and lines that cannot, with the reason."""
    good, bad = [], []
    with suppress(FileNotFoundError):  # another process was first
        for line in filter(None, path.read_bytes().split(b"\n")):
            try:
                row = json.loads(line)
                if not isinstance(row, dict):
                    raise ValueError("it is no JSON object")
                good.append(read(row))
            except (ValueError, RecursionError) as error:
                torn = isinstance(error, json.JSONDecodeError | RecursionError | UnicodeDecodeError)
                bad.append((line, "it is no JSON: torn by a crash" if torn else str(error)))
    return good, bad
