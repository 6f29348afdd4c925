"""Transfer (A1): a fitted policy as a small readable file, applied to a new pool with a look at how it has drifted."""

import json
import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats, choice, number
from ratewise.core.names import POLICIES, Estimand, PolicyName
from ratewise.core.ratings import active_rates
from ratewise.core.result import JsonRecord, Result, fields_in_json, record_of
from ratewise.errors import InputError, RatewiseError, TableError
from ratewise.learn.calibration import Calibration
from ratewise.learn.covariates import Covariates
from ratewise.learn.error_model import ErrorModel, LearnedError
from ratewise.learn.features import Coding, feature_matrix
from ratewise.learn.rating_model import RatingModel
from ratewise.learn.texts import TextReading
from ratewise.questions.strata import InputPlan
from ratewise.tables import Table
from ratewise.tables.engine import one_line
from ratewise.tables.words import Meaning, in_numbers
from ratewise.tables.write import write_text

WEAK_DIFFERENCE, STRONG_DIFFERENCE = "weak_difference", "strong_difference"
WEAK_BELOW, STRONG_BELOW, UNCERTAINTY = "weak_at_or_below", "strong_at_or_below", "expected_disagreement"


@dataclass(frozen=True, slots=True)
class Derived(JsonRecord):
    """The difference of two weak ratings, or whether one is at or below a number, and how likely that is wrong."""

    kind: Literal["difference", "at or below"]
    columns: tuple[str, ...]
    at: float | None = None
    error: ErrorModel | None = None  # of the weak rating: how likely the strong one is on the other side

    def added_to(self, table: Table) -> Table:
        """The table with these columns; as it is where it has them, or has nothing to make them of."""
        if not set(self.columns) <= set(table.columns) or set(self.made) <= set(table.columns):
            return table
        weak = [table.numbers(column) for column in self.columns]
        if self.kind == "difference":
            made = [weak[0] - weak[1]]
        else:
            assert self.at is not None
            assert self.error is not None
            made = [(weak[0] <= self.at).astype(np.float64), self.error.predict(weak[0])]
        new = zip(self.made, made, strict=True)
        return table.with_columns({name: values for name, values in new if name not in table.columns})

    @property
    def made(self) -> tuple[str, ...]:
        """The columns that are made."""
        return (WEAK_DIFFERENCE,) if self.kind == "difference" else (WEAK_BELOW, UNCERTAINTY)


Counts = NDArray[np.intp]

VERSION = 1
_QUANTILES = 101  # enough to see a shift of one per cent of the items
_FALSE_ALARM = 1e-3
_SIDES: tuple[Literal["left", "right"], ...] = ("left", "right")


@dataclass(frozen=True, slots=True)
class Reference(JsonRecord):
    """What the pool looked like when the policy was learned: quantiles of its weak ratings and of u(x)."""

    items: int
    weak: tuple[float, ...]
    error: tuple[float, ...]

    @classmethod
    def of(cls, weak: Floats, error: Floats) -> "Reference":
        """Quantiles of a pool."""
        levels = np.linspace(0, 1, _QUANTILES)
        return cls(weak.size, *(tuple(np.quantile(x, levels).tolist()) for x in (weak, error)))


@dataclass(frozen=True, slots=True, repr=False)
class Drift(Result):
    """How far a new pool is from the one learned on: the largest gap between the shares below a score (0 to 1)."""

    weak: float
    error: float
    threshold: float  # larger gaps come by chance less than once in a thousand pools

    @property
    def drifted(self) -> bool:
        """Whether either gap is larger than chance explains."""
        return max(self.weak, self.error) > self.threshold

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return fields_in_json(self) | {"drifted": self.drifted}

    def summary(self) -> str:
        """One line for people."""
        gaps = (
            f"largest gap {self.weak:.3f} in weak ratings, {self.error:.3f} in u; chance explains {self.threshold:.3f}"
        )
        if not self.drifted:
            return f"the pool looks like the one the policy was learned on ({gaps})"
        return f"the pool has drifted from the one the policy was learned on ({gaps}): label a new pilot first"


@dataclass(frozen=True, slots=True, eq=False)
class LearnedModels(JsonRecord):
    """f(x) and u(x) as `auto` learns them, and how features become numbers."""

    features: tuple[Coding, ...]
    rating: RatingModel
    error: LearnedError
    text: TextReading | None = None

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return {name: value for name, value in fields_in_json(self).items() if value is not None}

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of a table that are read besides the ratings."""
        names = tuple(coding.name for coding in self.features)
        return names if self.text is None else (*names, *self.text.names)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LearnedModels) and self.to_dict() == other.to_dict()

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class KnownLabels(JsonRecord):
    """Labels that the pool has already: their column, how they were drawn, and what a plan without each says of it."""

    strong: str
    drawn: str  # "at random", "by hand", or a column of rates
    estimand: Estimand
    ids: tuple[str, ...]
    rates: tuple[float, ...]  # with the new draw, by a rule made without the label
    weak: tuple[float, ...]  # calibrated by the other labels, where the policy calibrates


@dataclass(frozen=True, slots=True, repr=False)
class Transfer(Result):
    """All a policy needs to give rates to a new pool; everything in it can be read in the file."""

    policy: PolicyName
    rate: float
    scale: float
    floor: float
    weak: str
    uncertainty: str | None
    variance: float
    weak_error: float
    weak_cost: float
    strong_cost: float
    budget: float | None
    items: float  # how many to look at; for base, how many strong ratings to buy
    pool_size: float | None  # that was planned for
    calibration: Calibration | None
    error_model: ErrorModel
    reference: Reference
    models: LearnedModels | None = None  # f and u as auto learns them, in place of calibration and error_model
    inputs: InputPlan | None = None  # how many items of each stratum to look at, in place of the policy for all
    words: Meaning = field(default_factory=Meaning)  # what words as weak ratings stand for
    derived: Derived | None = None  # how a pool gets the weak rating, where that is no column of its own
    old: KnownLabels | None = None  # labels that the pool has already, which the draw does not ask for again

    @property
    def calibrates(self) -> bool:
        """Whether the weak rating is mapped to the strong one first."""
        return self.calibration is not None or self.models is not None

    def prepared(self, pool: Table) -> Table:
        """The pool with every column that the policy reads, where it can be made from those the pool has."""
        if self.derived is None:
            return pool
        there = [name for name in self.derived.columns if name in pool.columns]
        return self.derived.added_to(in_numbers(pool, strong=(), weak=there, meaning=self.words)[0])

    def columns(self, table: Table) -> tuple[Floats, Floats]:
        """The pool's weak ratings (calibrated if the policy is) and u(x)."""
        g = in_numbers(table, strong=(), weak=(self.weak,), meaning=self.words)[0].numbers(self.weak)
        if self.models is not None:
            own = None if self.uncertainty is None else table.numbers(self.uncertainty)
            text = None if self.models.text is None else self.models.text.columns(table)
            x = Covariates(g, feature_matrix(table, self.models.features), own, text)
            f = self.models.rating.predict(x)
            return f, self.models.error.predict(f, x)
        if self.calibration is not None:
            g = self.calibration.predict(g)
        column = g if self.uncertainty is None else table.numbers(self.uncertainty)
        return g, self.error_model.predict(column)

    def rates(self, error: Floats, *, rows: int | None = None) -> Floats:
        """π of every item: one rate for all, or clip(γ·sqrt(u), floor, 1); base asks for `items` of the pool.

        `rows` are those of the whole pool, where this is a part of it.
        """
        if self.policy == "base":
            return np.full(error.size, min(1.0, self.items / (error.size if rows is None else rows)))
        if self.policy == "random":
            return np.full(error.size, self.rate)
        return active_rates(error, scale=self.scale, floor=self.floor)

    def drift(self, weak: Floats, error: Floats) -> Drift:
        """Compare a pool with the one learned on (Kolmogorov–Smirnov)."""
        return self.drift_of(self.counts(weak, error), weak.size)

    def counts(self, weak: Floats, error: Floats) -> Counts:
        """How many items lie below, and up to, each quantile of the reference; those of a pool's parts add up."""
        each = ((weak, self.reference.weak), (error, self.reference.error))
        return np.stack([[np.searchsorted(np.sort(x), q, side=side) for side in _SIDES] for x, q in each])

    def drift_of(self, counts: Counts, items: int) -> Drift:
        """Compare a pool of so many items, given by its `counts`, with the one learned on."""
        learned = self.reference.items
        chance = math.sqrt(-0.5 * math.log(_FALSE_ALARM / 2) * (items + learned) / (items * learned))
        weak, error = map(_gap, counts / items, (self.reference.weak, self.reference.error))
        return Drift(weak, error, chance + 1.0 / (_QUANTILES - 1))

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        out = {"version": VERSION} | fields_in_json(self)
        return {name: value for name, value in out.items() if name != "old" or value is not None}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Transfer":
        """The inverse of `to_dict`; refuses what it cannot read, such as a file that was edited by hand."""
        if data.get("version") != VERSION:
            raise InputError(
                f"this policy file is of version {data.get('version')}; this ratewise reads version {VERSION}"
            )
        choice(data["policy"], POLICIES, name="policy")
        for name in ("scale", "rate", "floor", "weak_cost", "strong_cost", "items"):
            number(data[name], name=name, minimum=0)
        if not isinstance(data["weak"], str) or not isinstance(data["uncertainty"], str | None):
            found = f"got {data['weak']!r} and {data['uncertainty']!r}"
            raise InputError(f"weak and uncertainty must be column names; {found}")
        return record_of(cls, data)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the policy as JSON."""
        write_text(path, json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n")


_DAMAGE = (
    ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError, RecursionError, MemoryError,
)  # fmt: skip


def load_transfer(path: str | os.PathLike[str]) -> Transfer:
    """A policy from its own file or from a plan's JSON."""
    shown = os.fspath(path)
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
        return Transfer.from_dict(data.get("transfer", data))
    except InputError as error:
        raise TableError(f"{shown} cannot be used: {error}") from None
    except FileNotFoundError:
        raise TableError(
            f"{shown} does not exist; save a plan there first: ratewise plan … --json > {shown}, or plan.save in Python"
        ) from None
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise TableError(f"{shown} cannot be read as a plan: {str(error).splitlines()[0]}") from None
    except _DAMAGE as error:
        raise TableError(
            f"{shown} is not a plan or policy file ({type(error).__name__}: {error}); make one with `ratewise plan`"
        ) from None


def _gap(shares: Floats, quantiles: tuple[float, ...]) -> float:
    """Largest distance between the new pool's distribution and the stored one (Kolmogorov–Smirnov).

    The stored one is flat between its quantiles and the other never falls, so it is largest at one of them.
    """
    q = np.asarray(quantiles)
    stored = np.stack([np.searchsorted(q, q, side=side) / q.size for side in _SIDES])
    return float(np.abs(shares - stored).max())


@contextmanager
def plan_errors(path: str | os.PathLike[str]) -> Iterator[None]:
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
