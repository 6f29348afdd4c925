"""Where a judge's probability comes from: the best source that its endpoint has, decided once and remembered.

decisions   POST /decisions answers with probabilities
logprobs    log-probabilities of the answer's tokens
samples     the judge is asked several times
verbal      the judge says how sure it is
none        the bare answer
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

Source = Literal["decisions", "logprobs", "samples", "verbal", "none"]
Wish = Literal["auto", "decisions", "logprobs", "samples", "verbal", "none"]
WISHES: tuple[Wish, ...] = get_args(Wish)

REFUSED = (400, 413, 422)  # of a single request: what a plain one gets is the item's fault
_GONE = (200, 400, 403, 404, 405, 415, 422, 501)  # how servers turn down a path that they do not have; some say 200
_BROKEN = (500, 502)  # some servers break on what they do not know, instead of refusing it
_LONG = re.compile(r"context.?(length|size|window)|too long|(input|prompt|request).{0,40} (too large|exceed)", re.I)
_FORM = r"response_format|json_schema|json_object|structured|guided|schema"
_WORDS: Mapping[str, str] = {  # what an endpoint may not know, and how its complaint is recognised
    "max_tokens": r"max_completion_tokens",
    "logprobs": r"logprob",
    "structured": _FORM,
    "json_object": _FORM,
    "temperature": r"temperature",
}


@dataclass(frozen=True, slots=True)
class Rung:
    """A source of probabilities, what the endpoint takes in a request, and why better sources were left."""

    source: Source
    takes: frozenset[str] = frozenset(_WORDS)
    reasons: tuple[str, ...] = ()
    settled: bool = field(default=False, compare=False)

    @property
    def form(self) -> Literal["structured", "json_object", "line"]:
        """How the form of answers is enforced: by the schema in OpenAI's words, in llama.cpp's, or not at all."""
        return "structured" if "structured" in self.takes else "json_object" if "json_object" in self.takes else "line"

    @property
    def in_words(self) -> "Rung":
        """The same source, with answers in words, as the TOML may say."""
        if self.form == "line":
            return self
        reason = "no structured output: as given"
        return replace(self, takes=self.takes - {"structured", "json_object"}, reasons=(*self.reasons, reason))

    def without(self, part: str, reason: str) -> "Rung":
        """The same source in a plainer request."""
        return replace(self, takes=self.takes - {part}, reasons=(*self.reasons, f"no {part}: {reason}"))

    def to_json(self) -> str:
        """Text to keep with a campaign."""
        return json.dumps({"source": self.source, "takes": sorted(self.takes), "reasons": list(self.reasons)})

    @classmethod
    def from_json(cls, text: str) -> "Rung":
        """The inverse of `to_json`; what was kept is settled."""
        row = json.loads(text)
        return cls(row["source"], frozenset(row["takes"]), tuple(row["reasons"]), settled=True)

    @property
    def said(self) -> str:
        """The decision in a sentence."""
        why = f" ({'; '.join(self.reasons)})" if self.reasons else ""
        return f"{_NAMES[self.source]}{why}"


_NAMES: Mapping[Source, str] = {
    "decisions": "its probabilities come from the decisions endpoint",
    "logprobs": "its probabilities come from log-probabilities of its answers",
    "samples": "its probabilities come from repeated answers",
    "verbal": "its probabilities are the confidence that it states",
    "none": "it gives bare answers, without probabilities",
}


def first_rung(wish: Wish, samples: int) -> Rung:
    """Where to begin."""
    if wish != "auto":
        return Rung(wish, reasons=("as given",))
    if samples > 1:
        return Rung("samples", reasons=(f"samples = {samples} are asked for",))
    return Rung("decisions")


def next_rung(rung: Rung, wish: Wish, status: int | None, words: str) -> Rung | None:
    """What to try after a request was turned down; None where nothing is left, or the fault is elsewhere.

    A part of the request that the complaint names goes first; otherwise one part after the other. Where a plainer
    request goes well after a server error, `is_broken` says to try the richer one again before it is given up.
    """
    if rung.source == "decisions":
        gone = status in _GONE
        return None if not gone or wish == "decisions" else Rung("logprobs", rung.takes, (f"no decisions: {words}",))
    if status not in (*REFUSED, *_BROKEN, 501):
        return None
    part = _named(words, rung)
    if part == "logprobs":
        return _below_logprobs(rung, wish, words)
    return None if part is None else rung.without(part, words)


def is_broken(status: int | None) -> bool:
    """Whether the server has failed, which may be the request's fault or the hour's."""
    return status in _BROKEN


def is_too_long(status: int | None, words: str) -> bool:
    """Whether a server has no room for this item."""
    return status == REFUSED[1] or (status in (*REFUSED, *_BROKEN) and _LONG.search(words) is not None)


def is_plain(rung: Rung) -> bool:
    """Whether nothing of a request on this rung can be left out any more."""
    return _named("", rung) is None


def no_logprobs(rung: Rung, wish: Wish) -> Rung | None:
    """What to try where answers come without log-probabilities."""
    return _below_logprobs(rung, wish, "the answer has none")


def no_confidence(rung: Rung) -> Rung:
    """What is left where a judge does not say how sure it is."""
    return Rung("none", rung.takes, (*rung.reasons, "no stated confidence: its answer has none"))


def _below_logprobs(rung: Rung, wish: Wish, words: str) -> Rung | None:
    if wish == "logprobs":
        return None
    more = "repeated answers would cost several times as much; write samples = 5 to have them"
    return Rung("verbal", rung.takes, (*rung.reasons, f"no log-probabilities: {words}", more))


def _named(words: str, rung: Rung) -> str | None:
    """The part of the request that the server does not take."""
    unused = {"json_object"} if rung.form == "structured" else set()
    unused |= {"logprobs"} if rung.source != "logprobs" else set()
    used = [part for part in _WORDS if part in rung.takes - unused]
    by_name = [part for part in used if re.search(_WORDS[part], words, re.IGNORECASE)]
    blind = [part for part in ("structured", "json_object", "logprobs", "temperature") if part in used]
    return next(iter((*by_name, *blind)), None)
