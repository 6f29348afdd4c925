"""What calls cost: prices per million tokens, from the TOML or from a dated list; never guessed."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
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
        """What one call cost, exactly."""
        fresh = usage.input - usage.cached
        tokens = fresh * self.input + usage.cached * self.cached + usage.output * self.output
        return tokens / _MILLION + self.call

    @property
    def dearest_input(self) -> Decimal:
        """The highest price of an input token, cached or not."""
        return max(self.input, self.cached)

    def most(self, input_tokens: int, output_tokens: int) -> Decimal:
        """The most that a call with so many tokens can cost."""
        return (input_tokens * self.dearest_input + output_tokens * self.output) / _MILLION + self.call

    def to_json(self) -> str:
        """Text to keep with a campaign."""
        return json.dumps({name: f"{getattr(self, name):f}" for name in PARTS} | {"source": self.source})

    @classmethod
    def from_json(cls, text: str) -> "TokenPrices":
        """The inverse of `to_json`."""
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
    """Prices from the snapshot of genai-prices; a model that it does not know is an error."""
    try:
        from genai_prices.data_snapshot import get_snapshot
    except ImportError:
        raise InputError(f"no price list is installed; {_WRITE}, or install ratewise[llm]") from None
    snapshot = get_snapshot()
    try:
        provider, info = snapshot.find_provider_model(model, None, None, _known_address(base_url))
    except LookupError:
        raise InputError(f"the price of model {model[:80]!r} is unknown; {_WRITE}") from None
    return _of_model(snapshot, provider.id, info, model)


def _known_address(base_url: str) -> str:
    """The address, by which the list finds the service; not of one's own server, whose owner knows what it costs."""
    host = urlsplit(base_url).hostname or ""
    if host in ("localhost", "127.0.0.1", "::1") or re.fullmatch(r"[0-9.]+|.*\.(local|internal|lan)", host):
        raise LookupError(host)
    return base_url


def _of_model(snapshot: Any, provider: str, info: Any, model: str) -> TokenPrices:
    found = info.get_prices(datetime.now(UTC))
    row = {
        "input": getattr(found, "input_mtok", None), "output": getattr(found, "output_mtok", None),
        "cached": getattr(found, "cache_read_mtok", None), "call": None,
    }  # fmt: skip
    requests = getattr(found, "requests_kcount", None)
    parts = {name: _highest(value) for name, value in row.items()}
    if parts["input"] is None or parts["output"] is None:
        raise InputError(f"the price list has no price of text for model {model[:80]!r}; {_WRITE}")
    cached = parts["input"] if parts["cached"] is None else parts["cached"]
    call = Decimal(0) if requests is None else Decimal(str(requests)) / 1000
    source = f"genai-prices {_version()}, newest price of {_date(snapshot)} ({provider}/{info.id})"
    return TokenPrices(parts["input"], parts["output"], cached, call, source)


def _highest(price: Any) -> Decimal | None:
    """A price; of several tiers the highest, so that what is reserved is enough."""
    if price is None:
        return None
    tiers = getattr(price, "tiers", None)
    if tiers is None:
        return Decimal(str(price))
    return max(Decimal(str(part)) for part in (price.base, *(tier.price for tier in tiers)))


def _version() -> str:
    from importlib.metadata import version

    return version("genai-prices")


def _date(snapshot: Any) -> str:
    """Day of the newest price in the list, which has no date of its own; the list is at least as new."""
    today = datetime.now(UTC).date()
    dated = (
        getattr(one.constraint, "start_date", None)
        for provider in snapshot.providers
        for model in provider.models
        for one in (model.prices if isinstance(model.prices, list) else ())
    )
    return max((day for day in dated if day is not None and day <= today), default=today).isoformat()


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
