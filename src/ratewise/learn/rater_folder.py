"""The folder of a trained rater: weights or adapters, the template, the card, and what it was trained on."""

import hashlib
import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError
from scipy import special

from ratewise.core.checks import Floats
from ratewise.errors import InputError

Kind = Literal["encoder", "causal"]
KINDS: tuple[Kind, ...] = get_args(Kind)
_Word = Annotated[str, Field(min_length=1)]

SETTINGS, CARD, KNOWN = "ratewise.json", "card.json", "trained_on.json"
_WORD = re.compile(r"\w+")
_NEAR = 3  # words that stand together; texts that share nearly all of these are nearly the same
_FEWEST_RUNS = 8  # texts with fewer are only known by being the same
_ALIKE = 0.8  # share of runs that nearly the same texts have in common
_KEPT = 24  # smallest hashes of a text's runs: enough to tell 0.8 from 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a trained rater reads an item and what its number means."""

    kind: Kind
    text: Annotated[tuple[str, ...], Field(min_length=1)]
    template: str  # how the texts become one; {name} stands for a column
    low: Annotated[float, Field(allow_inf_nan=False)] = 0.0
    high: Annotated[float, Field(allow_inf_nan=False)] = 1.0
    temperature: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0
    shift: Annotated[float, Field(allow_inf_nan=False)] = 0.0  # of the log-odds, after the temperature
    longest: Annotated[int, Field(ge=1)] = 256  # tokens
    words: tuple[_Word, _Word] = ("no", "yes")  # causal: the answers that stand for low and high
    init: str = ""

    def prompt(self, row: Sequence[str]) -> str:
        filled = {f"{{{name}}}": text for name, text in zip(self.text, row, strict=True)}
        return re.sub("|".join(map(re.escape, filled)), lambda m: filled[m[0]], self.template)

    def calibrated(self, logits: Floats) -> Floats:
        """p = σ(z/T + shift)."""
        return np.asarray(special.expit(logits / self.temperature + self.shift))

    def check(self) -> None:
        """Refuse what no single key shows to be wrong."""
        if self.low >= self.high:
            raise ValueError(f"the low end of the scale, {self.low:g}, is not below the high one, {self.high:g}")
        for name in self.text:
            if f"{{{name}}}" not in self.template:
                raise ValueError(f"the template has no {{{name}}}; write it where the text of that column belongs")

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


def read_settings(folder: Path) -> Settings:
    """The settings of a trained rater's folder."""
    try:
        found = TypeAdapter(Settings).validate_json((folder / SETTINGS).read_bytes())
        found.check()
    except FileNotFoundError:
        raise InputError(f"{folder} is no trained rater: it has no {SETTINGS}; make one with ratewise train") from None
    except (OSError, ValueError) as error:
        wrong = error.errors()[0] if isinstance(error, ValidationError) else None
        said = error if wrong is None else f"{'.'.join(map(str, wrong['loc']))}: {wrong['msg']}"
        raise InputError(f"{folder / SETTINGS} cannot be used: {said}; train the rater again") from None
    return found


# What it was trained on


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:6], "big")


Look = tuple[int, tuple[int, ...]]  # of a text: its hash, and the smallest hashes of its runs of three words


def _look(text: str) -> Look:
    """Two texts share of the smallest hashes what they share of all runs of words."""
    words = _WORD.findall(text.lower())
    runs = {" ".join(words[i : i + _NEAR]) for i in range(len(words) - _NEAR + 1)}
    kept = tuple(sorted(map(_hash, runs))[:_KEPT])
    # a text without a word, such as an emoji, is known by its signs: else all of these would be one
    return _hash(" ".join(words) or text.strip()), kept if len(kept) >= _FEWEST_RUNS else ()


@dataclass(frozen=True, eq=False)
class TrainedOn:
    """Ids and texts that a rater has been trained on, as hashes: enough to know them again, not to read them."""

    ids: frozenset[int]
    rows: tuple[tuple[Look, ...], ...]  # a look for each text column

    @cached_property
    def _whole(self) -> frozenset[tuple[int, ...]]:
        return frozenset(tuple(text for text, _ in row) for row in self.rows)

    @cached_property
    def _having(self) -> dict[tuple[int, int], list[int]]:
        """Numbers of the rows by column and hash of a run."""
        having: dict[tuple[int, int], list[int]] = {}
        for number, row in enumerate(self.rows):
            for column, (_, runs) in enumerate(row):
                for each in runs:
                    having.setdefault((column, each), []).append(number)
        return having

    @classmethod
    def of(cls, ids: Iterable[str], rows: Iterable[Sequence[str]]) -> "TrainedOn":
        return cls(frozenset(map(_hash, ids)), tuple(dict.fromkeys(tuple(map(_look, row)) for row in rows)))

    def knows(self, id: str | None, row: Sequence[str]) -> bool:
        """Whether an item has the id or the texts of one that was trained on, or texts that are nearly the same."""
        if id is not None and _hash(id) in self.ids:
            return True
        looks = tuple(map(_look, row))
        if tuple(text for text, _ in looks) in self._whole:
            return True
        near = {
            k for column, (_, runs) in enumerate(looks) for each in runs for k in self._having.get((column, each), ())
        }
        return any(all(map(_alike, looks, self.rows[k])) for k in near)

    def joined(self, other: "TrainedOn") -> "TrainedOn":
        return TrainedOn(self.ids | other.ids, tuple(dict.fromkeys((*self.rows, *other.rows))))

    def to_json(self) -> str:
        lists: dict[str, Any] = {"ids": sorted(self.ids), "rows": self.rows}
        return json.dumps(lists)

    @classmethod
    def read(cls, folder: Path) -> "TrainedOn":
        try:
            data = json.loads((folder / KNOWN).read_text(encoding="utf-8"))
            rows = tuple(tuple((int(text), tuple(runs)) for text, runs in row) for row in data["rows"])
            return cls(frozenset(data["ids"]), rows)
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(
                f"{folder / KNOWN} cannot be read, so that items it was trained on cannot be told; train again"
            ) from None


def _alike(one: Look, other: Look) -> bool:
    """The same text, or one with nearly the same runs of words."""
    if one[0] == other[0]:
        return True
    shared, fewest = len(set(one[1]) & set(other[1])), min(len(one[1]), len(other[1]))
    return fewest > 0 and shared >= _ALIKE * fewest
