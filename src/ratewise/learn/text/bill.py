"""What embeddings cost: tokens that an endpoint has billed, and the money that they may take."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from ratewise.errors import InputError

LONGEST = 20_000  # characters of a text that are sent
_MILLION = Decimal(1_000_000)
_MARKS = 2  # tokens that a model adds to each text


@dataclass(slots=True)
class Bill:
    """What was billed so far, and for how many calls."""

    tokens: int = 0
    calls: int = 0

    def cost(self, price: str | None) -> Decimal:
        """The money, by the price of a million tokens."""
        return cost_of(self.tokens, price)


def cost_of(tokens: int, price: str | None) -> Decimal:
    """The money for so many tokens, by the price of a million; 0 where no price is known."""
    return Decimal(0) if price is None else tokens * Decimal(price) / _MILLION


def most_tokens(texts: Sequence[str]) -> int:
    """The most tokens that texts can have: no token is shorter than a byte."""
    return sum(len(text[:LONGEST].encode("utf-8", "replace")) + _MARKS for text in texts)


def usual_tokens(texts: Sequence[str]) -> int:
    """Tokens to be expected: about four letters each."""
    return sum(len(text[:LONGEST]) // 4 + _MARKS for text in texts)


@dataclass(frozen=True, slots=True)
class Purse:
    """The money that all embeddings of a campaign may take, and the price of a million tokens."""

    most: Decimal
    price: str

    def check(self, tokens: int, texts: Sequence[str]) -> None:
        """Refuse to send texts if they could cost more than is left once so many tokens are paid."""
        paid, next_one = cost_of(tokens, self.price), cost_of(most_tokens(texts), self.price)
        if paid + next_one > self.most:
            raise InputError(
                f"the embeddings of the texts may pass the budget: {paid:f} of {self.most:f} are paid, and the next "
                f'{len(texts):,} texts may cost {next_one:f}; raise goal.budget, or learn by kind = "words"'
            )
