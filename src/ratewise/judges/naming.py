"""Names of models: whether the one that has answered is the one that was asked for, and what is said if it is not."""

import re
from collections.abc import Sequence

_SAYS = "the server answers as "  # how such a sentence begins
_TOLD = re.compile(rf"rater (?P<rater>.*?): {_SAYS}")
_VERSION = re.compile(r"([-@:.]v?\d[-.\d]*)?")  # a date or a number after the name
_REVISION = re.compile(r"@[^@/]+$")  # what a hub calls a version: main, a tag, a commit


def is_asked(asked: str, answered: str) -> bool:
    """Whether a server's name is that of the model asked for, or of a dated or numbered version of it."""
    asked, answered = (name.lower().rsplit("/", 1)[-1] for name in (asked, answered))
    if ("@" in asked) != ("@" in answered):  # one of them names no revision
        asked, answered = (_REVISION.sub("", name) for name in (asked, answered))
    stem = asked.removesuffix("-latest")
    return answered == asked or (answered.startswith(stem) and _VERSION.fullmatch(answered[len(stem) :]) is not None)


def another_said(asked: str, now: str) -> str:
    """What is told of a server that has answered as another model from the first answer on."""
    return f"{_SAYS}{now!r}, though model = {asked!r} was asked for"


def changed_said(asked: str, now: str, before: str) -> str:
    """What is told of a server that answers as another model than before."""
    return (
        f"{_SAYS}{now!r} where it was {before!r} when the campaign began, though model = {asked!r} did not change: "
        "ratings of both are mixed from here on"
    )


def told_of_servers(notes: Sequence[str]) -> tuple[str, ...]:
    """Of a campaign's notes, the last one of each rater whose server answers as another model."""
    last = {found["rater"]: note for note in notes if (found := _TOLD.match(note))}
    return tuple(last.values())
