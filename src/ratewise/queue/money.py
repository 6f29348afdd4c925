"""Exact money: whole numbers of a billionth, which every database adds up without rounding."""

from decimal import ROUND_CEILING, Decimal, localcontext

PLACES = 9
_UNIT = Decimal(1).scaleb(-PLACES)


def to_units(amount: Decimal) -> int:
    """Billionths, rounded up where there are finer ones: what is spent is never counted too low."""
    with localcontext() as context:
        context.prec = 60
        return int((amount / _UNIT).to_integral_value(rounding=ROUND_CEILING))


def to_money(units: int) -> Decimal:
    """The exact amount, without trailing zeros."""
    amount = Decimal(units).scaleb(-PLACES)
    whole = amount.to_integral_value()
    return whole if amount == whole else amount.normalize()


def shown(units: int) -> str:
    """For people: two decimals, or as many as it takes."""
    amount = to_money(units)
    return f"{amount:,.2f}" if amount == amount.quantize(Decimal("0.01")) else f"{amount:,f}"
