"""A plan that came from a file: whatever is wrong with it is told in one line that names the file."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from ratewise.core.checks import Floats
from ratewise.errors import RatewiseError, TableError
from ratewise.tables.engine import one_line

_DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, RecursionError, MemoryError,
)  # fmt: skip


@contextmanager
def believed(path: str | os.PathLike[str]) -> Iterator[None]:
    """Errors from a plan's own numbers: a list that is too short, a word where a number belongs, a number too large."""
    try:
        with np.errstate(all="ignore"):
            yield
    except RatewiseError:
        raise
    except _DAMAGE as error:
        what = one_line(str(error)) or "it does not fit together"
        raise TableError(
            f"{one_line(os.fspath(path))} cannot be used as a plan, it is damaged ({type(error).__name__}: {what}); "
            "make it again with `ratewise plan`"
        ) from None


def check_rates(rates: Floats, *, where: str = "the plan") -> None:
    """Rates are probabilities above 0, NaN where an item is not looked at; a damaged plan may give anything."""
    bad = ~(np.isnan(rates) | ((rates > 0) & (rates <= 1)))
    if bad.any() or np.isnan(rates).all():
        i = int(np.argmax(bad))
        raise TableError(
            f"{where} gives item {i + 1} the rate {rates[i]:g}, which is not above 0 and at most 1; make it again with "
            "`ratewise plan`"
        )
