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
from dataclasses import dataclass
from typing import Literal, get_args

Source = Literal["decisions", "logprobs", "samples", "verbal", "none"]
Wish = Literal["auto", "decisions", "logprobs", "samples", "verbal", "none"]
WISHES: tuple[Wish, ...] = get_args(Wish)

REFUSED = (400, 413, 422)  # of a single request: what a plain one gets is the item's fault
_GONE = (200, 400, 403, 404, 405, 415, 422, 501)  # how servers turn down a path that they do not have; some say 200
BROKEN = (500, 502)  # some servers break on what they do not know, instead of refusing it
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

    @classmethod
    def first(cls, wish: Wish, samples: int) -> "Rung":
        if wish != "auto":
            return cls(wish, reasons=("as given",))
        return cls("samples", reasons=(f"samples = {samples} are asked for",)) if samples > 1 else cls("decisions")

    @property
    def form(self) -> Literal["structured", "json_object", "line"]:
        """How the form of answers is enforced: by the schema in OpenAI's words, in llama.cpp's, or not at all."""
        return "structured" if "structured" in self.takes else "json_object" if "json_object" in self.takes else "line"

    @property
    def in_words(self) -> "Rung":
        """The same source, with answers in words, as the TOML may say."""
        return (
            self if self.form == "line" else self._without({"structured", "json_object"}, "structured output: as given")
        )

    @property
    def is_plain(self) -> bool:
        """Whether nothing of a request on this rung can be left out any more."""
        return self._named("") is None

    def after(self, wish: Wish, status: int | None, words: str) -> "Rung | None":
        """What to try after a request was turned down; None where nothing is left, or the fault is elsewhere.

        A part of the request that the complaint names goes first; otherwise one part after the other. Where a plainer
        request goes well after a server error, the richer one is tried again before it is given up.
        """
        if self.source == "decisions":
            return self.below(wish, words) if status in _GONE else None
        part = self._named(words) if status in (*REFUSED, *BROKEN, 501) else None
        if part == "logprobs":
            return self.below(wish, words)
        return None if part is None else self._without({part}, f"{part}: {words}")

    def below(self, wish: Wish, words: str) -> "Rung | None":
        """The next best source; None where this one was asked for."""
        if wish == self.source or self.source not in _BELOW:
            return None
        source, missing, *more = _BELOW[self.source]
        return Rung(source, self.takes, (*self.reasons, f"no {missing}: {words}", *more))

    def _without(self, parts: set[str], reason: str) -> "Rung":
        return Rung(self.source, self.takes - parts, (*self.reasons, f"no {reason}"))

    def _named(self, words: str) -> str | None:
        """The part of the request that the server does not take."""
        unused = {"json_object"} if self.form == "structured" else set()
        unused |= {"logprobs"} if self.source != "logprobs" else set()
        used = [part for part in _WORDS if part in self.takes - unused]
        by_name = [part for part in used if re.search(_WORDS[part], words, re.IGNORECASE)]
        blind = [part for part in ("structured", "json_object", "logprobs", "temperature") if part in used]
        return next(iter((*by_name, *blind)), None)

    def to_json(self, *, by: str) -> str:
        """As it is kept, with the key of the question that has found it out."""
        return json.dumps({"source": self.source, "takes": sorted(self.takes), "reasons": list(self.reasons), "by": by})

    @classmethod
    def from_json(cls, text: str) -> "Rung":
        row = json.loads(text)
        return cls(row["source"], frozenset(row["takes"]), tuple(row["reasons"]))

    @property
    def said(self) -> str:
        why = f" ({'; '.join(self.reasons)})" if self.reasons else ""
        return f"{_NAMES[self.source]}{why}"


_NAMES: Mapping[Source, str] = {
    "decisions": "its probabilities come from the decisions endpoint",
    "logprobs": "its probabilities come from log-probabilities of its answers",
    "samples": "its probabilities come from repeated answers",
    "verbal": "its probabilities are the confidence that it states",
    "none": "it gives bare answers, without probabilities",
}
_BELOW: Mapping[Source, tuple[Source, str, *tuple[str, ...]]] = {  # the next source, what the endpoint has not, and why
    "decisions": ("logprobs", "decisions"),
    "logprobs": (
        "verbal", "log-probabilities",
        "repeated answers would cost several times as much; write samples = 5 to have them",
    ),
    "verbal": ("none", "stated confidence"),
}  # fmt: skip


def is_too_long(status: int | None, words: str) -> bool:
    """Whether a server has no room for this item."""
    return status == REFUSED[1] or (status in (*REFUSED, *BROKEN) and _LONG.search(words) is not None)
