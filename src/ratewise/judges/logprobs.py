"""Probabilities of verdicts from the log-probabilities of the token in which the verdict begins.

The server lists the likeliest tokens at that place. Tokens that are the same verdict in other spellings (" Yes",
"yes", "YES") are added up, tokens that are no verdict are left out, and the rest is scaled to sum to 1.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ratewise.judges.parsing import Said
from ratewise.judges.scale import Verdicts

_LEAST = 0.05  # of the probability must be on verdicts, or they say little about the answer
_QUOTES = " \t\n\r\"'*`.,:;!"


def chances_of(content: Sequence[Mapping[str, Any]], said: Said, verdicts: Verdicts) -> dict[float, float] | None:
    """value → probability at the place of the verdict; None where the tokens do not tell."""
    if said.start < 0:
        return None
    place = _token_at(content, said.start)
    if place is None or _meant(place["token"], verdicts) != said.value:
        return None
    weights: dict[float, float] = {}
    for token, logprob in _listed(place).items():
        value = _meant(token, verdicts)
        if value is not None:
            weights[value] = weights.get(value, 0.0) + math.exp(logprob)
    total = math.fsum(weights.values())
    if total < _LEAST:
        return None
    return {value: weight / total for value, weight in weights.items()}


def _token_at(content: Sequence[Mapping[str, Any]], start: int) -> Mapping[str, Any] | None:
    """The token that holds this character of the answer."""
    end = 0
    for place in content:
        token = place.get("token")
        if not isinstance(token, str):
            return None
        end += len(token)
        if start < end:
            return place
    return None


def _listed(place: Mapping[str, Any]) -> dict[str, float]:
    """token → log-probability of the likeliest tokens at a place, the one that was taken among them."""
    top = place.get("top_logprobs")
    rows = [*(top if isinstance(top, list) else []), place]
    out: dict[str, float] = {}
    for row in rows:
        if isinstance(row, Mapping) and isinstance(row.get("token"), str):
            logprob = row.get("logprob")
            if isinstance(logprob, int | float) and not isinstance(logprob, bool) and logprob <= 1e-6:
                out.setdefault(row["token"], float(logprob))
    return out


def _meant(token: str, verdicts: Verdicts) -> float | None:
    """The verdict that a token is, or begins if only one verdict begins so; a number must be there in full."""
    text = token.strip(_QUOTES).lower()
    value = verdicts.read(text) if text else None
    if value is not None or not text or not verdicts.words:
        return value
    begun = [v for word, v in zip(verdicts.words, verdicts.values, strict=True) if word.startswith(text)]
    return begun[0] if len(begun) == 1 and not text.lstrip("+-").isdigit() else None
