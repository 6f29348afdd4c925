"""What a campaign knows of its LLM judges: where their probabilities come from, who answered, what was lost."""

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from ratewise.campaign.made import fact_name
from ratewise.campaign.snapshot import Snapshot
from ratewise.core.result import shown
from ratewise.judges.ladder import Rung
from ratewise.judges.naming import is_asked
from ratewise.judges.prices import Prices
from ratewise.judges.votes import MANY_ALIKE, PlaceEffect, alike_said, place_effect
from ratewise.raters.llm import LlmSettings
from ratewise.store import audit
from ratewise.store.queue import ANSWERED, MISSING

_MOST_MODELS = 5  # that are named
_UNKNOWN = "unknown"


@shown
@dataclass(frozen=True, slots=True)
class JudgeFound:
    """One judge of a campaign, as its ratings show it."""

    name: str
    model: str
    source: str | None  # of its probabilities: the whole sentence; None before its first answer
    priced: str | None  # where the prices of its tokens come from; None: the TOML gives a price for each rating
    rated: int
    missing: int  # asked, and no verdict came
    bare: int  # ratings with a verdict whose probability was promised by the source and not found
    alike: int | None  # samples for each item, where all were the same answer on all items; else None
    answered_as: tuple[tuple[str, int], ...]  # names and fingerprints that the server gave, with how many ratings
    place: PlaceEffect | None  # of comparisons

    @property
    def sentences(self) -> tuple[str, ...]:
        """What is known, a sentence each."""
        out = [f"{self.name} asked {self.model}: {self.rated:,} ratings, {self.missing:,} without a verdict"]
        out += [self.source] if self.source else []
        if self.bare:
            found = f"no probability was found in {self.bare:,} of {self.rated:,} ratings"
            out.append(f"{found}: their bare verdict counts, without uncertainty")
        out += [f"prices of its tokens: {self.priced}"] if self.priced else []
        out += [alike_said(self.rated, self.alike)] if self.alike is not None else []
        if len(self.answered_as) > 1:
            named = ", ".join(f"{name} ({count:,})" for name, count in self.answered_as[:_MOST_MODELS])
            out.append(f"the server answered under several names: {named}")
        elif (name := self._answered) and not is_asked(self.model, name):
            out.append(f"the server answered as {name}, though {self.model} was asked for")
        out += [self.place.said] if self.place is not None else []
        return tuple(out)

    @property
    def _answered(self) -> str:
        """The first name that the server gave, without the fingerprint; empty where it gave none."""
        name = self.answered_as[0][0].partition(" ")[0] if self.answered_as else ""
        return "" if name == _UNKNOWN else name

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        out = {
            name: getattr(self, name)
            for name in ("name", "model", "source", "priced", "rated", "missing", "bare", "alike")
        }
        place = None if self.place is None else {name: getattr(self.place, name) for name in self.place.__slots__}
        return out | {"answered_as": dict(self.answered_as), "position_effect": place}


def judges_found(now: Snapshot) -> tuple[JudgeFound, ...]:
    """Every LLM judge of a campaign."""
    first = 0 if len(now.spec.raters) > 1 else 1
    steps = {first + k: rater for k, rater in enumerate(now.spec.raters) if isinstance(rater.settings, LlmSettings)}
    return tuple(_found(now, step, rater.name, rater.settings) for step, rater in steps.items())


def _found(now: Snapshot, step: int, name: str, asked: LlmSettings) -> JudgeFound:
    ladder, prices = (now.store.meta(fact_name(name, fact)) for fact in ("ladder", "prices"))
    looked = now.status.looked
    rows = [
        row for first, end in audit.pieces(looked) for row in audit.rating_rows(now.store, first, end)
        if row.step == step
    ]  # fmt: skip
    notes = [row.note or "" for row in rows if row.state == ANSWERED]
    is_alike = len(notes) >= MANY_ALIKE and all("alike" in _facts(note) for note in notes)
    return JudgeFound(
        name, asked.model, None if ladder is None else Rung.from_json(ladder).said,
        None if prices is None else Prices.from_json(prices).source, len(notes),
        sum(row.state == MISSING for row in rows), sum("bare" in _facts(note) for note in notes),
        asked.samples if is_alike else None, tuple(Counter(map(_who, notes)).most_common()), place_effect(notes),
    )  # fmt: skip


def _who(note: str) -> str:
    """Model and fingerprint that the server gave with a rating."""
    row = _facts(note)
    return f"{row.get('model', '')} {row.get('fingerprint', '')}".strip() if row else _UNKNOWN


def _facts(note: str) -> dict[str, Any]:
    """What is stored with a rating; empty where it is no record."""
    try:
        row = json.loads(note)
    except ValueError:
        return {}
    return row if isinstance(row, dict) else {}
