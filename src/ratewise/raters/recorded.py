"""A rater whose answers are written down beforehand: for tests, demos and dry runs."""

import asyncio
import math
import os
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from ratewise.errors import InputError
from ratewise.raters.keys import STILL_THE_SAME, Text, key
from ratewise.raters.kind import RaterPlace, RaterSpec, Reread
from ratewise.raters.protocol import Answer, Failure, Question, Rater, not_asked, read_object, read_reply
from ratewise.raters.text import short


class RecordedSettings(RaterSpec):
    """Kind "recorded"."""

    file: Text = key(
        ..., "answers that were recorded before", must_be="the path of a file, as text", example='"answers.jsonl"',
        note=STILL_THE_SAME,
    )  # fmt: skip

    is_written: ClassVar[bool] = True

    def make(self, place: RaterPlace) -> Rater:
        return RecordedRater(os.path.join(place.folder, self.file))

    def reread(self, folder: str) -> Reread:
        """All recorded answers of an item."""
        takes = _read(os.path.join(folder, self.file))

        def said(item: str, _: Mapping[str, Any]) -> tuple[object, ...] | None:
            found = takes.get(item)
            return None if found is None else tuple(getattr(reply, "value", None) for reply, _ in found)

        return said


_Take = tuple[Answer | Failure, float]  # a recorded answer, and the seconds that it takes to come


class RecordedRater:
    """Plays a JSONL file: the lines of an id are its answers to attempt 1, 2, …, and the last one repeats."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._takes = _read(path)
        self._attempts: Counter[str] = Counter()

    async def rate(self, questions: Sequence[Question]) -> Sequence[Answer | Failure]:
        """The next recorded answer of every item, after the delay of the slowest."""
        takes = [self._next(question.id) for question in questions]
        await asyncio.sleep(max((seconds for _, seconds in takes), default=0.0))
        return [reply for reply, _ in takes]

    async def close(self) -> None:
        """Close the rater; it holds nothing open."""

    def _next(self, item: str) -> _Take:
        takes = self._takes.get(item)
        if not takes:
            return not_asked(f"{self._path} has no answer for the item {short(item)}"), 0.0
        attempt = self._attempts[item]
        self._attempts[item] += 1
        return takes[min(attempt, len(takes) - 1)]


def _read(path: str) -> dict[str, list[_Take]]:
    try:
        content = Path(path).read_bytes().removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise InputError(f"cannot read the recording {path}: {error.strerror or error}") from None
    takes = defaultdict(list)
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            try:
                item, take = _take(line)
            except ValueError as error:
                raise InputError(f"{path}, line {number}: {error}") from None
            takes[item].append(take)
    return dict(takes)


def _take(line: bytes) -> tuple[str, _Take]:
    row = read_object(line)
    item, seconds = row.get("id"), row.get("seconds", 0)
    if isinstance(item, bool) or not isinstance(item, str | int):
        raise ValueError(f'"id" must be text or a whole number; got {short(item)}')
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 <= seconds < math.inf:
        raise ValueError(f'"seconds" must be a number of at least 0; got {short(seconds)}')
    return str(item), (read_reply(row), float(seconds))
