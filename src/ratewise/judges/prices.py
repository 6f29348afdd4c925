"""What calls cost: prices per million tokens, from the TOML or from a dated list; never guessed."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from importlib.metadata import version
from typing import Any
from urllib.parse import urlsplit

from ratewise.errors import InputError

PARTS = ("input", "output", "cached", "call")  # per million tokens, but for `call`, which is for one
_MILLION = Decimal(1_000_000)
_WRITE = (
    'write prices = { input = "0.15", output = "0.60" }, or --prices input=0.15,output=0.60 for `ratewise judge` '
    '(per million tokens; "0" if it costs nothing)'
)
_RUN = re.compile(r"[A-Za-z]+")
_PER_MESSAGE = 32  # tokens that a server may add around each message


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one call as the server counts them; `cached` are part of `input`."""

    input: int = 0
    output: int = 0
    cached: int = 0


@dataclass(frozen=True, slots=True)
class TokenPrices:
    """Prices of a model's tokens, and where they come from."""

    input: Decimal
    output: Decimal
    cached: Decimal
    call: Decimal
    source: str

    def cost(self, usage: Usage) -> Decimal:
        """Exact cost of one call."""
        fresh = usage.input - usage.cached
        tokens = fresh * self.input + usage.cached * self.cached + usage.output * self.output
        return tokens / _MILLION + self.call

    def most(self, input_tokens: int, output_tokens: int) -> Decimal:
        """The most that a call with so many tokens can cost, cached or not."""
        return (input_tokens * max(self.input, self.cached) + output_tokens * self.output) / _MILLION + self.call

    def to_json(self) -> str:
        return json.dumps({name: f"{getattr(self, name):f}" for name in PARTS} | {"source": self.source})

    @classmethod
    def from_json(cls, text: str) -> "TokenPrices":
        row = json.loads(text)
        bought, made, cached, call = (Decimal(row[name]) for name in PARTS)
        return cls(bought, made, cached, call, row["source"])


IN_TOML = "TOML"
"""The source of prices that are the user's own."""


def given_prices(given: Mapping[Any, Decimal]) -> TokenPrices:
    """Prices as the TOML gives them; cached tokens cost what others do, where it does not say."""
    nothing = Decimal(0)
    bought = given.get("input", nothing)
    return TokenPrices(
        bought, given.get("output", nothing), given.get("cached", bought), given.get("call", nothing), IN_TOML
    )


def listed_prices(model: str, base_url: str) -> TokenPrices:
    """Prices from the snapshot of genai-prices; a model that it does not know is an error.

    The address tells the service. Of one's own server only the owner knows what it costs.
    """
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        raise InputError(f"no price list is installed; {_WRITE}, or install ratewise[llm]") from None
    snapshot, host = get_snapshot(), urlsplit(base_url).hostname or ""
    try:
        if host in ("localhost", "127.0.0.1", "::1") or re.fullmatch(r"[0-9.]+|.*\.(local|internal|lan)", host):
            raise LookupError(host)
        provider, info = snapshot.find_provider_model(model, None, None, base_url)
    except LookupError:
        raise InputError(f"the price of model {model[:80]!r} is unknown; {_WRITE}") from None
    row, now = info.get_prices(datetime.now(UTC)), datetime.now(UTC).date()
    bought, made, cached, thousand = (
        _highest(getattr(row, name, None))
        for name in ("input_mtok", "output_mtok", "cache_read_mtok", "requests_kcount")
    )
    if bought is None or made is None:
        raise InputError(f"the price list has no price of text for model {model[:80]!r}; {_WRITE}")
    # the list has no date of its own; it is at least as new as its newest price
    priced = (
        price for one in snapshot.providers for m in one.models if isinstance(m.prices, list) for price in m.prices
    )
    days = (getattr(price.constraint, "start_date", None) for price in priced)
    newest = max((day for day in days if day is not None and day <= now), default=now)
    source = f"genai-prices {version('genai-prices')}, newest price of {newest.isoformat()} ({provider.id}/{info.id})"
    call = Decimal(0) if thousand is None else thousand / 1000
    return TokenPrices(bought, made, bought if cached is None else cached, call, source)


def _highest(price: Any) -> Decimal | None:
    """A price; of several tiers the highest, so that what is reserved is enough."""
    if price is None:
        return None
    parts = (price,) if getattr(price, "tiers", None) is None else (price.base, *(tier.price for tier in price.tiers))
    return max(Decimal(str(part)) for part in parts)


def read_usage(data: Mapping[str, Any]) -> Usage | None:
    """Tokens that a reply reports, in the words of chat completions or of decisions; None where it reports none."""
    usage = data.get("usage")
    if not isinstance(usage, Mapping):
        return None
    taken, given = _count(usage, "prompt_tokens", "input_tokens"), _count(usage, "completion_tokens", "output_tokens")
    if taken is None or given is None:
        return None
    details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
    cached = _count(details, "cached_tokens", "cached_tokens") if isinstance(details, Mapping) else None
    return Usage(taken, given, min(cached or 0, taken))


def _count(row: Mapping[str, Any], *names: str) -> int | None:
    found = next((row[name] for name in names if row.get(name) is not None), None)
    is_count = isinstance(found, int) and not isinstance(found, bool) and 0 <= found < 10**9
    return found if is_count else None


def most_tokens(messages: Sequence[Mapping[str, str]]) -> int:
    """More tokens than these messages have: two letters each, one digit or sign, one byte of other alphabets."""
    return sum(_at_most(message["content"]) + _PER_MESSAGE for message in messages)


def _at_most(text: str) -> int:
    plain = len(_RUN.sub(lambda found: "x" * ((len(found[0]) + 1) // 2), text.replace(" ", "")))
    return plain if text.isascii() else plain + len(text.encode("utf-8", "replace")) - len(text)


def usual_tokens(messages: Sequence[Mapping[str, str]]) -> int:
    """About as many tokens as these messages have: four bytes each."""
    return sum(len(message["content"].encode("utf-8", "replace")) // 4 + 4 for message in messages)
