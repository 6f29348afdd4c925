"""CAMPAIGN.toml → `Spec`, or one error that names every mistake with its line and a hint.

First every key is checked for itself; where all are right, what they must be together.
"""

import os
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from datetime import date, datetime, time
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from ratewise.campaign.spec.checks import misfits
from ratewise.campaign.spec.spec import (
    Goal,
    InputsSpec,
    ItemsSpec,
    LearnerSpec,
    QuestionSpec,
    RatingSpec,
    Spec,
    StartSpec,
)
from ratewise.campaign.spec.toml import Place, line_numbers, line_of, read_text, read_values
from ratewise.errors import SpecError
from ratewise.raters.keys import LONGEST_SHOWN, TomlKey, TomlTable, either, keys_of, quoted
from ratewise.raters.kind import RaterSpec
from ratewise.raters.kinds import KINDS, rater_keys
from ratewise.raters.text import safe_text
from ratewise.tables.engine import one_line

TABLES: dict[str, type[TomlTable]] = {
    "items": ItemsSpec, "rating": RatingSpec, "goal": Goal, "raters": RaterSpec, "learner": LearnerSpec,
    "inputs": InputsSpec, "start": StartSpec, "question": QuestionSpec,
}  # fmt: skip
_TOP = "at the top of the file, above the first [table]"
_OURS = {"path", "teacher"}  # fields of a Spec that are no keys at the top
_CLOSE = 0.75  # so near must a key of another table be
_LONGEST_WORD = 40
_DEEPEST = 6
_MOST_DIGITS = 10**20
_BARE = re.compile(r"[A-Za-z0-9_-]{1,40}")
_NUMBER = re.compile(r"\s*[-+]?[0-9]*\.?[0-9]+\s*")


def read_spec(path: str | os.PathLike[str]) -> Spec:
    """Read a campaign's TOML; what is wrong with it is one SpecError."""
    file = os.fsdecode(path)
    text = read_text(file)
    return _spec(read_values(text, file), file, line_numbers(text))


def spec_of(data: Mapping[str, Any], path: str | os.PathLike[str]) -> Spec:
    """The inverse of `Spec.to_dict`; what is not one is a SpecError."""
    goal = data.get("goal")
    if isinstance(goal, dict) and isinstance(goal.get("deadline"), str):  # which JSON writes as text
        with suppress(ValueError):
            data = {**data, "goal": {**goal, "deadline": datetime.fromisoformat(goal["deadline"])}}
    return _spec(data, os.fsdecode(path), {})


def legal_name(stem: str) -> str:
    """A file's name without its ending, as the name of a campaign."""
    return re.sub(r"[^A-Za-z0-9_-]+", "-", stem).strip("-")[:40] or "campaign"


def _spec(values: Mapping[str, Any], file: str, lines: Mapping[Place, int]) -> Spec:
    path, mistakes = Path(file), _Mistakes(file, values, lines)
    given = {name: value for name, value in _frozen(values).items() if name not in _OURS}
    start = given.get("start")
    if isinstance(start, dict) and "from" in start:  # instead of old labels, a finished campaign to learn from
        labels = {name: value for name, value in start.items() if name != "from"}
        given |= {"teacher": start["from"], "start": labels or None}
    name = given.setdefault("name", legal_name(path.stem))
    given.setdefault("store", f"{name}.sqlite")
    if given.get("raters") == ():
        mistakes.add(("raters",), f"is empty; write {keys_of(Spec)['raters'].example}")
    for ours in _OURS & values.keys():
        mistakes.unknown((ours,))
    try:
        spec = Spec.model_validate({**given, "path": path.absolute()})
    except ValidationError as error:
        mistakes.take(error)
    mistakes.raise_any()
    for place, sentence in misfits(spec):
        mistakes.add(place, sentence)
    mistakes.raise_any()
    return spec.model_copy(update={"raters": tuple(rater.priced() for rater in spec.raters)})


def _frozen(value: Any, depth: int = 0) -> Any:
    """TOML's values as records have them: lists are tuples, and JSON's null is nothing; no legal key is deeper."""
    if depth < _DEEPEST and isinstance(value, Mapping):
        return {name: _frozen(part, depth + 1) for name, part in value.items() if part is not None}
    return tuple(_frozen(part, depth + 1) for part in value) if isinstance(value, list) and depth < _DEEPEST else value


class _Mistakes:
    """The mistakes of one document: each has its line, its key and a hint."""

    def __init__(self, file: str, values: Mapping[str, Any], lines: Mapping[Place, int]) -> None:
        self._file, self._values, self._lines = one_line(file), values, lines
        raters = values.get("raters")
        listed = raters if isinstance(raters, list | tuple) else ()
        self._raters = [rater if isinstance(rater, dict) else {} for rater in listed]
        self._found: list[tuple[int | None, str]] = []

    def add(self, place: Place, sentence: str) -> None:
        """A mistake: `sentence` goes on from the key's name."""
        line = line_of(place, self._lines)
        where = self._file if line is None else f"{self._file}:{line}"
        self._found.append((line, f"{where}: {self._key(place)} {sentence}"))

    def raise_any(self) -> None:
        """Stop here if there was a mistake; they come in the order of the file."""
        if self._found:
            in_order = sorted(self._found, key=lambda found: (found[0] is None, found[0] or 0))
            raise SpecError(*(sentence for _, sentence in in_order))

    def take(self, error: ValidationError) -> None:
        """All that pydantic found, one mistake for each key."""
        found: dict[Place, ErrorDetails] = {}
        for each in error.errors(include_url=False):
            place = _place(each["loc"])
            if place not in found or each["type"] == "hint":
                found[place] = each
        meant = {self.unknown(place) for place, each in found.items() if each["type"] == "extra_forbidden"}
        for place, each in found.items():
            said = self._said(place)
            if each["type"] == "missing":
                if place not in meant:  # one slip of the pen is one mistake
                    self.add(place, f"is missing; write {said.example}")
            elif each["type"] != "extra_forbidden":
                self.add(place, _sentence(said, each, self._at(place)))

    def unknown(self, place: Place) -> Place | None:
        """Add a mistake about an unknown key: another table's, a slip, or invented; returns the key that was meant."""
        table, name, homes = self._table(place[:-1]), str(place[-1])[:LONGEST_SHOWN], _homes()
        if name in TABLES and isinstance(self._at(place), str):  # a word is no table that stands in the wrong place
            del homes[name]
        legal = [*keys_of(table), *(("from",) if table is StartSpec else ())]
        kinds = [kind for kind, its in KINDS.items() if name in keys_of(its)]
        close = get_close_matches(name.lower(), legal, n=1)
        elsewhere = get_close_matches(name.lower(), [home for home in homes if home not in legal], 1, _CLOSE)
        if place[0] == "raters" and kinds:
            kind = self._raters[int(place[1])].get("kind")
            self.add(place, f"is not for a {kind} rater; remove it, or write kind = {either(kinds)}")
            return None
        if name in homes:
            hint = f"it belongs {homes[name]}"
        elif close:
            hint = f"did you mean {close[0]!r}?"
        elif elsewhere:
            hint = f"did you mean {elsewhere[0]!r}, {homes[elsewhere[0]]}?"
        else:
            hint = f"the keys here are {', '.join(name for name in legal if name not in _OURS)}"
        self.add(place, f"is unknown; {hint}")
        return (*place[:-1], close[0]) if close and name not in homes else None

    def _table(self, place: Place) -> type[TomlTable]:
        """The record of the table at a place."""
        if not place:
            return Spec
        if place[0] == "raters":
            return KINDS.get(str(self._raters[int(place[1])].get("kind")), RaterSpec)
        return TABLES[str(place[0])]

    def _said(self, place: Place) -> TomlKey:
        """What is said of a key; of a rater that is none, what is said of raters."""
        if place == ("start", "from"):
            return keys_of(Spec)["teacher"]
        if place[0] == "raters" and len(place) < 3:
            example = keys_of(Spec)["raters"].example
            return TomlKey("a list" if len(place) == 1 else "a table", example)
        if place[0] == "raters" and place[2] == "kind":
            kinds = tuple(KINDS)
            return TomlKey(f"one of {', '.join(map(quoted, kinds))}", f"kind = {either(kinds)}", choices=kinds)
        return keys_of(self._table(place[:-1])).get(str(place[-1]), TomlKey("a legal key"))

    def _at(self, place: Place) -> object:
        """The value that was written at a place."""
        value: Any = self._values
        for part in place:
            value = value[part] if isinstance(part, int) else value.get(part)
        return value

    def _key(self, place: Place) -> str:
        """A place as people write it; a rater by its name, or by its number (from 1) if that is no name."""
        names = [name if isinstance(name := rater.get("name"), str) else "" for rater in self._raters]
        parts: list[str] = []
        for depth, part in enumerate(place):
            if isinstance(part, str):
                parts.append(part if _BARE.fullmatch(part) else quoted(part))
            elif depth == 1 and _BARE.fullmatch(names[part]) and names.count(names[part]) == 1:
                parts.append(names[part])
            else:
                parts[-1] += f"[{part + 1}]"
        return ".".join(parts)


def _place(loc: Place) -> Place:
    """The key that pydantic's place is in."""
    if loc[0] == "teacher":
        return ("start", "from")
    return loc[: 3 if loc[0] == "raters" else 2 if loc[0] in TABLES else 1]


def _homes() -> dict[str, str]:
    """The table that each key belongs to; keys such as name and kind, which fit several, are left out."""
    owners = [(_TOP, [name for name in keys_of(Spec) if name not in _OURS and name not in TABLES])]
    owners += [(f"under [{name}]", list(keys_of(table))) for name, table in TABLES.items() if name != "raters"]
    owners.append(("under [[raters]]", rater_keys()))
    times = Counter(name for _, names in owners for name in names)
    once = {name: where for where, names in owners for name in names if times[name] == 1}
    return once | dict.fromkeys(TABLES, _TOP)


def _sentence(said: TomlKey, error: ErrorDetails, value: object) -> str:
    """What a value must be, what was written, and what was meant."""
    if error["type"] == "model_type":
        return f"must be a table; got {_shown(value)}; write {said.example}"
    got, inner = _shown(value), error["input"]
    if isinstance(value, list | tuple) and inner is not value and isinstance(error["loc"][-1], int):
        got += f" with {_shown(inner)} in it"
    hint = error["msg"] if error["type"] == "hint" else _guess(said, value)
    if said.expected == "a list":
        hint = f"write {said.example}"
    return f"must be {said.expected}; got {got}" + (f"; {hint}" if hint else "")


def _guess(said: TomlKey, value: object) -> str:
    """A hint at what a wrong text was meant to be; empty where there is none."""
    if not isinstance(value, str):
        return ""
    close = get_close_matches(value.lower()[:_LONGEST_WORD], said.choices, n=1)
    if close:
        return f"did you mean {quoted(close[0])}?"
    return "leave the quotes out" if _NUMBER.fullmatch(value) and "number" in said.expected else ""


def _shown(value: object) -> str:
    """What was written, for people: its kind where that could be the mistake."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f"the text {quoted(safe_text(value))}"
    if isinstance(value, int) and abs(value) >= _MOST_DIGITS:  # Python may refuse to print it
        return "a number of more than 20 digits"
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, date | time):
        kind = "date-time" if isinstance(value, datetime) else "date" if isinstance(value, date) else "time"
        return f"the {kind} {value.isoformat()}"
    return "a list" if isinstance(value, list | tuple) else "a table" if isinstance(value, dict) else "nothing"
