"""What is wrong with a campaign's TOML, collected: every mistake with its place, in plain words, with a hint."""

import json
import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from datetime import date, datetime, time
from difflib import get_close_matches
from typing import Any

from ratewise.campaign.spec.places import Place, line_numbers, line_of
from ratewise.errors import SpecError
from ratewise.raters.text import safe_text
from ratewise.tables.engine import one_line

_LONGEST = 40  # signs of a text or a key that are shown
_CLOSE = 0.75  # so near must a key of another table be
_MOST_DIGITS = 10**20
_BARE = re.compile(r"[A-Za-z0-9_-]{1,40}")


class Mistakes:
    """The mistakes of one document; `text` is what it was read from, for the lines.

    `wrong` are lines that are no TOML, and what is wrong there; on `broken` lines nothing else is told.
    """

    def __init__(
        self, file: str, document: Mapping[str, Any], text: str = "", *,
        wrong: Iterable[tuple[int, str]] = (), broken: Container[int] = (),
    ) -> None:  # fmt: skip
        self._file = one_line(file)
        self._raters = _rater_names(document)
        self._lines = line_numbers(text)
        self._broken = broken
        self._found: list[tuple[int | None, str]] = [(line, f"{self._file}:{what}") for line, what in wrong]
        self._torn = bool(self._found)

    @property
    def any(self) -> bool:
        """Whether there is one so far."""
        return bool(self._found)

    def lacks(self, place: Place, sentence: str) -> None:
        """Something is missing; where lines are no TOML, it may stand in one of them."""
        if not self._torn:
            self.add(place, sentence)

    def add(self, place: Place, sentence: str) -> None:
        """A mistake: `sentence` goes on from the key's name."""
        if any(self._lines.get(place[:length]) in self._broken for length in range(1, len(place) + 1)):
            return
        line = line_of(place, self._lines)
        where = self._file if line is None else f"{self._file}:{line}"
        self._found.append((line, f"{where}: {self.key(place)} {sentence}"))

    def unknown(
        self, place: Place, legal: Iterable[str], homes: Mapping[str, str], listed: Iterable[str] = ()
    ) -> str | None:
        """Add a mistake about an unknown key: another table's, a slip, or invented. Returns the key that was meant."""
        name, every = str(place[-1])[:_LONGEST], list(legal)
        legal, others = list(listed) or every, [home for home in homes if home not in every]
        close = get_close_matches(name.lower(), legal, n=1)
        elsewhere = get_close_matches(name.lower(), others, n=1, cutoff=_CLOSE)
        if name in homes:
            hint = f"it belongs {homes[name]}"
        elif close:
            hint = f"did you mean {close[0]!r}?"
        elif elsewhere:
            hint = f"did you mean {elsewhere[0]!r}, {homes[elsewhere[0]]}?"
        else:
            hint = f"the keys here are {', '.join(legal)}"
        self.add(place, f"is unknown; {hint}")
        return close[0] if close and name not in homes else None

    def key(self, place: Place) -> str:
        """A place as people write it; a rater by its name, or by its number (from 1) if that is no name."""
        parts: list[str] = []
        for depth, part in enumerate(place):
            if isinstance(part, str):
                parts.append(part if _BARE.fullmatch(part) else quoted(part))
            elif depth == 1 and part in self._raters:
                parts.append(self._raters[part])
            else:
                parts[-1] += f"[{part + 1}]"
        return ".".join(parts)

    def raise_any(self) -> None:
        """Stop here if there was a mistake; they come in the order of the file."""
        if self._found:
            in_order = sorted(self._found, key=lambda found: (found[0] is None, found[0] or 0))
            raise SpecError(*(sentence for _, sentence in in_order))


def _rater_names(document: Mapping[str, Any]) -> dict[int, str]:
    """Names of the raters that a name alone identifies, by number."""
    raters = document.get("raters")
    listed = raters if isinstance(raters, list) else []
    given = [rater.get("name") if isinstance(rater, dict) else None for rater in listed]
    names = [name if isinstance(name, str) else "" for name in given]
    times = Counter(names)
    return {number: name for number, name in enumerate(names) if _BARE.fullmatch(name) and times[name] == 1}


def quoted(text: str) -> str:
    """A text as TOML writes it, on one line, cut where it is long."""
    cut = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return one_line(json.dumps(cut, ensure_ascii=False))


def either(words: Iterable[str]) -> str:
    """Words for a sentence: "a", "b" or "c"."""
    *most, last = map(quoted, words)
    return f"{', '.join(most)} or {last}" if most else last


def shown(value: object) -> str:
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
    return "a list" if isinstance(value, list) else "a table" if isinstance(value, dict) else "nothing"
