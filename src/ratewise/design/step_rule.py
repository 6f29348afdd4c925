"""Rates of a chain that learns: each step's rate goes by everything that the raters before it have said.

At level j the answers of the raters up to step j are known. f_j predicts the strong rating from them and u_j(x) its
expected squared error; what later raters will leave open, u_l with l > j, is foretold from what is known at level j.
The rate of the next step is that of METHODS section 2 for these errors, never above the rate of the step before.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ratewise.core.chain import gains, pooled_gain_per_cost
from ratewise.core.checks import Floats
from ratewise.design.designs import Design
from ratewise.learn.learned_error import ErrorBasis, LearnedError
from ratewise.learn.rating_model import Covariates, RatingModel, Standard
from ratewise.learn.ridge import RidgePath, ridge_path

_LEAST_SHARE = 0.05  # of the mean: nothing is foretold to be perfect
_NUMBERS = ("scale", "before", "total", "least")


@dataclass(frozen=True, slots=True, eq=False)
class Foretold:
    """u of a later level, foretold from what is known earlier."""

    basis: ErrorBasis
    path: RidgePath
    penalty: int
    mean: float

    @classmethod
    def of(cls, f: Floats, x: Covariates, later: Floats, weights: Floats, bounds: tuple[float, float]) -> "Foretold":
        """Fitted to items whose later u is known."""
        basis = ErrorBasis.of(f, x, bounds)
        path = ridge_path(basis(f, x), later, weights, intercept=True)
        return cls(basis, path, path.best, float(np.dot(weights, later) / weights.sum()))

    def predict(self, f: Floats, x: Covariates) -> Floats:
        """The later u of any items."""
        return np.maximum(self.basis.along(self.path.line(self.penalty), f, x), _LEAST_SHARE * self.mean)

    def to_dict(self) -> dict[str, Any]:
        """All that predictions need, ready for JSON."""
        return {
            "bends": self.basis.bends.tolist(), "bounds": list(self.basis.bounds),
            "columns": self.basis.standard.to_dict(), "line": self.path.to_dict(self.penalty), "mean": self.mean,
        }  # fmt: skip

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Foretold":
        """The inverse of `to_dict`."""
        standard = Standard.from_dict(data["columns"])
        basis = ErrorBasis(np.array(data["bends"]), (data["bounds"][0], data["bounds"][1]), standard)
        return cls(basis, RidgePath.from_dict(data["line"]), 0, data["mean"])


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """What is learned of the items at one level."""

    model: RatingModel
    error: LearnedError
    later: tuple[Foretold, ...]  # u of each later level

    def errors(self, x: Covariates) -> Floats:
        """Items × levels from this one on: u here, and what later levels will leave."""
        f = self.model.predict(x)
        return np.column_stack([self.error.predict(f, x), *(one.predict(f, x) for one in self.later)])

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        later = [one.to_dict() for one in self.later]
        return {"model": self.model.to_dict(), "error": self.error.to_dict(), "later": later}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Level":
        """The inverse of `to_dict`."""
        later = tuple(Foretold.from_dict(one) for one in data["later"])
        return cls(RatingModel.from_dict(data["model"]), LearnedError.from_dict(data["error"]), later)


def roots(errors: Sequence[Floats], costs: Sequence[float]) -> Floats:
    """sqrt(gain per cost) of each step, by what is known when it is drawn; items × steps.

    `errors` has the errors known at each level, items × levels from that one on.
    """
    c = np.array(costs)
    found = [pooled_gain_per_cost(gains(u), c[j:])[:, 0] for j, u in enumerate(errors)]
    return np.sqrt(np.stack(found, axis=1))


def _times(rates: Floats, factor: float) -> Floats:
    return np.minimum(rates * factor, 1.0) if math.isfinite(factor) else np.ones_like(rates)


@dataclass(frozen=True, slots=True, eq=False)
class StepRule:
    """A round's rates of every step: they bring those over all rounds up to clip(γ·max(root, low), 0, 1)."""

    design: Design
    levels: tuple[Level, ...]
    costs: tuple[float, ...]  # of each step and of the last rater
    lows: tuple[float, ...]  # the least root of each step
    scale: float
    before: float  # items looked at before this round
    total: float  # items planned in all
    least: float = 1e-3  # rate of items that have had their share already
    factor: float = 1.0  # of the last rater's rates, to spend the money of a pool's last items exactly,
    step_factor: float = 1.0  # and of the steps before

    def errors(self, x: Covariates, said: Floats) -> list[Floats]:
        """What is known of the errors at each level; where a rater was not asked, what was foretold before."""
        out: list[Floats] = []
        for j, level in enumerate(self.levels):
            here = np.ones(x.items, dtype=np.bool_) if j == 0 else ~np.isnan(said[:, self.design.steps[j - 1] - 1])
            u = np.empty((x.items, len(self.levels) - j)) if j == 0 else out[j - 1][:, 1:].copy()
            if here.any():
                u[here] = level.errors(self.design.covariates(x.rows(here), said[here], j))
            out.append(u)
        return out

    def wanted(self, root: Floats) -> Floats:
        """Rates over all rounds, items × steps; they never rise along a row."""
        with np.errstate(invalid="ignore"):
            raw = np.nan_to_num(self.scale * np.maximum(root, self.lows), nan=1.0, posinf=1.0)
        return np.minimum.accumulate(np.clip(raw, 0.0, 1.0), axis=1)

    def rates_for(self, root: Floats, mass: Floats) -> Floats:
        """Rates of this round for items on which earlier rounds have spent `mass`, before the factor."""
        missing = (self.total * self.wanted(root) - mass) / max(self.total - self.before, 1.0)
        return np.minimum.accumulate(np.clip(missing, self.least, 1.0), axis=1)

    def scaled(self, rates: Floats) -> Floats:
        """The rates times the factors of the steps and of the last rater; they never rise along a row."""
        return np.minimum.accumulate(
            np.column_stack([_times(rates[:, :-1], self.step_factor), _times(rates[:, -1:], self.factor)]), axis=1
        )

    def rates(self, x: Covariates, said: Floats, mass: Floats) -> Floats:
        """Rates of this round, items × steps."""
        return self.scaled(self.rates_for(roots(self.errors(x, said), self.costs), mass))

    def with_factors(self, steps: float, last: float) -> "StepRule":
        """The rule with the factors that its draw has found."""
        return replace(self, step_factor=steps, factor=last)

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        numbers = {name: getattr(self, name) for name in _NUMBERS}
        levels = {str(j): level.to_dict() for j, level in enumerate(self.levels)}
        lists = {"costs": list(self.costs), "lows": list(self.lows)}
        return {"design": self.design.to_dict(), "levels": levels, **lists, **numbers}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "StepRule":
        """The inverse of `to_dict`: the same rates, bit for bit."""
        levels = tuple(Level.from_dict(data["levels"][str(j)]) for j in range(len(data["levels"])))
        numbers = {name: data[name] for name in _NUMBERS}
        return cls(Design.from_dict(data["design"]), levels, tuple(data["costs"]), tuple(data["lows"]), **numbers)
