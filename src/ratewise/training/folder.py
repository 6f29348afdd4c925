"""The folder of a trained rater: weights or adapters, the template, the card, and what it was trained on."""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from ratewise.errors import InputError

Kind = Literal["encoder", "causal"]

SETTINGS, CARD, KNOWN = "ratewise.json", "card.json", "trained_on.json"
_WORD = re.compile(r"\w+")
_NEAR = 3  # words that stand together; texts that share nearly all of these are nearly the same
_FEWEST_SHINGLES = 8  # texts with fewer are only known by being the same
_ALIKE = 0.85  # share of shingles that nearly the same texts have in common
_KEPT = 24  # smallest hashes of a text's shingles: enough to tell 0.85 from 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How a trained rater reads an item and what its number means."""

    kind: Kind
    text: tuple[str, ...]
    template: str  # how the texts become one; {name} stands for a column
    low: float = 0.0
    high: float = 1.0
    temperature: float = 1.0
    shift: float = 0.0  # of the log-odds, after the temperature
    longest: int = 256  # tokens
    words: tuple[str, str] = ("no", "yes")  # causal: the answers that stand for low and high
    init: str = ""

    def prompt(self, row: Sequence[str]) -> str:
        """The item as the model reads it."""
        filled = dict(zip(self.text, row, strict=True))
        return re.sub(r"\{(\w+)\}", lambda m: filled.get(m[1], m[0]), self.template)

    def to_json(self) -> str:
        """Text of the file."""
        return json.dumps(asdict(self), indent=2, ensure_ascii=False)


def read_settings(folder: Path) -> Settings:
    """The settings of a trained rater's folder."""
    try:
        data = json.loads((folder / SETTINGS).read_text(encoding="utf-8"))
        data["text"], data["words"] = tuple(data["text"]), tuple(data["words"])
        return Settings(**data)
    except FileNotFoundError:
        raise InputError(f"{folder} is no trained rater: it has no {SETTINGS}; make one with ratewise train") from None
    except (ValueError, TypeError, KeyError) as error:
        raise InputError(f"{folder / SETTINGS} cannot be read: {error}; train the rater again") from None


def write_text(path: Path, text: str) -> None:
    """Whole or not at all."""
    part = path.with_suffix(f"{path.suffix}.{os.getpid()}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(path)


# What it was trained on


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "replace")).digest()[:6], "big")


def _plain(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _sketch(text: str) -> list[int]:
    """The smallest hashes of runs of three words: two texts share of them what they share of all runs."""
    words = _plain(text)
    runs = {" ".join(words[i : i + _NEAR]) for i in range(max(len(words) - _NEAR + 1, 1))}
    return sorted(map(_hash, runs))[:_KEPT]


@dataclass(frozen=True, slots=True, eq=False)
class TrainedOn:
    """Ids and texts that a rater has been trained on, as hashes: enough to know them again, not to read them."""

    ids: frozenset[int]
    texts: frozenset[int]
    sketches: tuple[tuple[int, ...], ...]
    _by_hash: dict[int, list[int]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        found: dict[int, list[int]] = {}
        for number, sketch in enumerate(self.sketches):
            for each in sketch:
                found.setdefault(each, []).append(number)
        object.__setattr__(self, "_by_hash", found)

    @classmethod
    def of(cls, ids: Iterable[str], texts: Iterable[str]) -> "TrainedOn":
        """The hashes of what is trained on."""
        listed = list(texts)
        sketches = {tuple(_sketch(text)) for text in listed}
        long = tuple(sorted(sketch for sketch in sketches if len(sketch) >= _FEWEST_SHINGLES))
        return cls(frozenset(map(_hash, ids)), frozenset(_hash(" ".join(_plain(text))) for text in listed), long)

    def knows(self, id: str | None, text: str) -> bool:
        """Whether an item has the id or the text of one that was trained on, or nearly its text."""
        if id is not None and _hash(id) in self.ids:
            return True
        return _hash(" ".join(_plain(text))) in self.texts or self._knows_nearly(text)

    def _knows_nearly(self, text: str) -> bool:
        own = _sketch(text)
        if len(own) < _FEWEST_SHINGLES:
            return False
        shared: dict[int, int] = {}
        for each in own:
            for number in self._by_hash.get(each, ()):
                shared[number] = shared.get(number, 0) + 1
        return any(count >= _ALIKE * min(len(own), len(self.sketches[k])) for k, count in shared.items())

    def to_json(self) -> str:
        """Text of the file."""
        lists: dict[str, Any] = {"ids": sorted(self.ids), "texts": sorted(self.texts), "sketches": self.sketches}
        return json.dumps(lists)

    @classmethod
    def read(cls, folder: Path) -> "TrainedOn":
        """From a trained rater's folder."""
        try:
            data = json.loads((folder / KNOWN).read_text(encoding="utf-8"))
            return cls(frozenset(data["ids"]), frozenset(data["texts"]), tuple(map(tuple, data["sketches"])))
        except (OSError, ValueError, KeyError, TypeError):
            raise InputError(
                f"{folder / KNOWN} cannot be read, so that items it was trained on cannot be told; train again"
            ) from None
