"""Probabilities of verdicts from the log-probabilities of the tokens in which the verdict is written.

A verdict may be one token or several: "10" is "1" and "0" to many models. At each of its places the server lists the
likeliest tokens. Tokens that are the same verdict in other spellings (" Yes", "yes", "YES") are added up, those that
are no verdict are left out, the one that was taken passes its probability on to the next place, and the sum is scaled
to 1. With P(1) = 0.6 and P(9) = 0.4 at the first place and P(0) = 0.9 at the second one, P(10) = 0.54.

A token that was not taken, and with which several verdicts begin (the "1" of 1 and of 10 beside a verdict of 9),
counts as the nearest of them to the verdict, since nobody knows how it would have gone on; it is 1 where the list has
"10" as a token of its own.
"""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ratewise.judges.parsing import Said
from ratewise.judges.scale import Verdicts

_LEAST = 0.05  # of the probability must be on verdicts, or they say little about the answer
_QUOTES = " \t\n\r\"'*`.,:;!"
_WORD = re.compile(r"[a-z]+|[0-9+.-]+")


def chances_of(
    content: Sequence[Mapping[str, Any]], answer: str, said: Said, verdicts: Verdicts
) -> dict[float, float] | None:
    """value → probability by the tokens of the verdict; None where they are not found or do not tell."""
    tokens = [_bytes(row) for row in content]
    at = _place(b"".join(tokens), answer, said)
    if at < 0:
        return None
    weights: dict[float, float] = {}
    left, written, end = 1.0, "", 0  # probability of what of the verdict is written so far
    for row, token in zip(content, tokens, strict=True):
        start, end = end, end + len(token)
        if end <= at:
            continue
        before = token[: max(at - start, 0)].decode("utf-8", "replace")
        word, is_over = _read(token.decode("utf-8", "replace"), before, written)
        passed_on = 0.0
        listed = [(*_read(text, before, written), p) for text, p in _listed(row).items()]
        whole = any(len(other) > len(written) + 1 and verdicts.read(other) is not None for other, _, _ in listed)
        for other, ends_here, p in listed:
            if (other, ends_here) == (word, is_over):
                passed_on += p
                continue
            value = verdicts.read(other) if ends_here else _begun(other, said.value, whole, verdicts)
            if value is not None:
                weights[value] = weights.get(value, 0.0) + left * p
        left, written = left * passed_on, word
        if is_over or not verdicts.goes_on(word):
            break
    if verdicts.read(written.rstrip(".")) != said.value:
        return None
    weights[said.value] = weights.get(said.value, 0.0) + left
    total = math.fsum(weights.values())
    return None if total < _LEAST else {value: weight / total for value, weight in weights.items()}


def _place(joined: bytes, answer: str, said: Said) -> int:
    """Where the verdict's word stands in the joined tokens; −1 where it is not found.

    Servers trim answers, and leave out what was thought before, so places in answer and tokens differ.
    """
    if said.start < 0:
        return -1
    tail = answer[said.start :].rstrip().encode("utf-8", "replace")
    whole = answer.strip().encode("utf-8", "replace")
    at = joined.rfind(whole)
    return joined.rfind(tail) if at < 0 else at + len(whole) - len(tail)


def _bytes(row: Mapping[str, Any]) -> bytes:
    """A token as the server counts it: its bytes, which may be half a letter, or its text."""
    found = row.get("bytes")
    if isinstance(found, list) and all(isinstance(b, int) and 0 <= b < 256 for b in found):
        return bytes(found)
    token = row.get("token")
    return token.encode("utf-8", "replace") if isinstance(token, str) else b""


def _read(token: str, before: str, written: str) -> tuple[str, bool]:
    """(what is written of a word after a token, whether the word is over with it)."""
    text = token.removeprefix(before).lower()
    text = text if written else text.lstrip(_QUOTES)
    found = _WORD.match(text)
    more = found[0] if found else ""
    is_over = len(more) < len(text)
    return (written + more).rstrip("." if is_over else ""), is_over


def _listed(row: Mapping[str, Any]) -> dict[str, float]:
    """token → probability of the likeliest tokens at a place, the one that was taken among them."""
    top = row.get("top_logprobs")
    out: dict[str, float] = {}
    for one in [*(top if isinstance(top, list) else []), row]:
        logprob = one.get("logprob") if isinstance(one, Mapping) else None
        if isinstance(logprob, int | float) and not isinstance(logprob, bool) and logprob <= 1e-6:
            out.setdefault(_bytes(one).decode("utf-8", "replace"), math.exp(logprob))
    return out


def _begun(text: str, verdict: float, whole: bool, verdicts: Verdicts) -> float | None:
    """The verdict that begins so: itself where the list has `whole` numbers, else the nearest to the one given."""
    itself, found = verdicts.read(text), verdicts.beginning(text)
    if (whole and itself is not None) or (len(found) > 1 and not text.isdigit()):
        return itself
    return min(found, key=lambda value: (abs(value - verdict), value), default=itself)
