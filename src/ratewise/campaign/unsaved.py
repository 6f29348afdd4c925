"""Answers that were paid for when the store could not be written: a file beside the TOML, taken in by the next run."""

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass

from ratewise.campaign.store.log import Store
from ratewise.campaign.store.records import Claim, Outcome


@dataclass(frozen=True, slots=True)
class Unsaved:
    """One file, which is there only in need."""

    path: str

    def keep(self, outcomes: Sequence[Outcome]) -> None:
        """Add the outcomes; where even that fails they are lost, and asked for again with the same key."""
        with suppress(OSError), open(self.path, "a", encoding="utf-8") as file:
            for o in outcomes:
                file.write(json.dumps(asdict(o)) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def restore(self, store: Store, budget: int | None) -> int:
        """Settle what is in the file, then delete it; what was settled in the meantime stays as it is."""
        if not os.path.exists(self.path):
            return 0
        with open(self.path, encoding="utf-8") as file:
            lines = [json.loads(line) for line in file if line.endswith("\n")]
        outcomes = [Outcome(**{**line, "claim": _claim(line["claim"])}) for line in lines]
        store.settle(outcomes, budget)
        os.remove(self.path)
        return len(outcomes)


def _claim(data: dict[str, object]) -> Claim:
    prices = data["prices"]
    return Claim(**{**data, "prices": tuple(prices) if isinstance(prices, list) else None})  # type: ignore[arg-type]
