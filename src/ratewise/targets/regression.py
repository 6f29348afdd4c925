"""Regressions of the strong rating on columns, from few strong ratings and many weak ones (METHODS section 7)."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import special

from ratewise.core.checks import Floats, choice, share
from ratewise.core.losses import LOSSES
from ratewise.core.m_estimation import MFit, NoFitError, fit_m_estimator
from ratewise.core.names import FAMILIES, Estimand, Family, RegressionMethod
from ratewise.core.names import REGRESSION_METHODS as METHODS
from ratewise.core.ratings import pool_of
from ratewise.errors import InputError
from ratewise.tables import TableLike, read_table
from ratewise.targets.columns import INTERCEPT, Columns, design
from ratewise.targets.drawn import DrawnTable, read_drawn, with_learned_weak


@dataclass(frozen=True, slots=True)
class Coefficient:
    """One column's coefficient; `None` with a reason where the table cannot tell it."""

    name: str
    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    reason: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        names = ("name", "value", "standard_error", "low", "high", "reason")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True, eq=False)
class Regression:
    """Coefficients with intervals, and what they rest on."""

    family: Family
    coefficients: tuple[Coefficient, ...]
    level: float
    items: int
    labels: int
    method: str
    estimand: str
    degrees_of_freedom: float
    notes: tuple[str, ...] = ()
    covariance: Floats = field(repr=False, default_factory=lambda: np.empty((0, 0)))  # of those with a value

    def __getitem__(self, name: str) -> Coefficient:
        for coefficient in self.coefficients:
            if coefficient.name == name:
                return coefficient
        raise KeyError(name)

    def to_dict(self) -> dict[str, Any]:
        """The numbers, ready for JSON."""
        names = ("family", "level", "items", "labels", "method", "estimand", "degrees_of_freedom")
        out: dict[str, Any] = {name: getattr(self, name) for name in names}
        return out | {"coefficients": [c.to_dict() for c in self.coefficients], "notes": list(self.notes)}

    def summary(self) -> str:
        """A line for each coefficient."""
        width = max(len(c.name) for c in self.coefficients)
        lines = [
            f"{self.family} regression, {self.level:.0%} intervals, {self.labels} strong ratings on {self.items} items"
        ]
        for c in self.coefficients:
            what = c.reason if c.value is None else f"{c.value:+.4g} [{c.low:+.4g}, {c.high:+.4g}]"
            lines.append(f"{c.name:{width}}  {what}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(c.name)}</td><td>{'–' if c.value is None else f'{c.value:.4g}'}</td>"
            f"<td>{html.escape(c.reason or '') if c.value is None else f'{c.low:.4g} to {c.high:.4g}'}</td></tr>"
            for c in self.coefficients
        )
        return f"<table><tr><th>column</th><th>coefficient</th><th>{self.level:.0%} interval</th></tr>{rows}</table>"


def regress(
    table: TableLike,
    *,
    strong: str,
    on: Sequence[str],
    weak: str | None = None,
    family: Family = "linear",
    rate: str | None = None,
    selected: str | None = None,
    intercept: bool = True,
    method: RegressionMethod = "auto",
    features: Sequence[str] = (),
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: str | None = None,
) -> Regression:
    """Linear, logistic or Poisson regression of the strong rating on columns of the table.

    `rate` is the column with the probability each row was drawn with; without it the rated rows are taken as a random
    draw. `method`: `difference` uses the weak rating as it is, `power-tuned` as much of it as pays (PPI++), `auto`
    learns it first from the strong ratings, each by the others, with the columns `on` and `features`. Without `weak`
    the strong ratings stand alone. Words become a column each, but for the most frequent one.

    Limiting cases: every row rated gives the plain fit with the HC1 sandwich (cluster-robust with `clusters`).
    """
    choice(family, FAMILIES, name="family")
    choice(method, METHODS, name="method")
    read = read_table(table)
    drawn = read_drawn(read, weak=weak, strong=strong, rate=rate, selected=selected, clusters=clusters)
    columns = design(read, on, rows=drawn.rows, intercept=intercept)
    fit, how = _fit(drawn, columns, family, method, features, pool_of(estimand, pool_size, drawn.ratings.items), weak)
    t = float(special.stdtrit(fit.degrees_of_freedom, 0.5 + share(level, name="level") / 2))
    notes = drawn.notes + tuple(f"{name} {why}; it was left out" for name, why in columns.left_out)
    return Regression(
        family=family,
        coefficients=_coefficients(fit, columns, t),
        level=level,
        items=fit.items,
        labels=fit.labels,
        method=how,
        estimand=estimand,
        degrees_of_freedom=fit.degrees_of_freedom,
        notes=notes,
        covariance=fit.covariance,
    )


def _fit(
    drawn: DrawnTable,
    columns: Columns,
    family: Family,
    method: str,
    features: Sequence[str],
    N: float,
    weak: str | None,
) -> tuple[MFit, str]:
    data, how = drawn.ratings, method
    X = columns.matrix
    if data.labels <= X.shape[1]:
        raise InputError(
            f"{data.labels} strong ratings cannot tell {X.shape[1]} coefficients and their errors; name fewer columns "
            "or get more ratings"
        )
    h = data.strong[data.labelled]
    _check_outcomes(family, h)
    if weak is None:
        how, power = "strong ratings alone", 0.0
    elif method == "power-tuned":
        power = None
    else:
        power = 1.0
        if method == "auto":
            known = X[:, 1:] if columns.names[0] == INTERCEPT else X
            data, learned = with_learned_weak(drawn, features=features, known=known if known.shape[1] else None)
            how = f"auto (weak rating {learned})"
    try:
        fit = fit_m_estimator(X, LOSSES[family], data, power=power, clusters=drawn.clusters, pool_size=N)
    except NoFitError as error:
        raise InputError(_runaway(family, columns, error)) from None
    return fit, how if power is not None else f"power-tuned (λ = {fit.power:.2f})"


def _check_outcomes(family: Family, h: Floats) -> None:
    if family == "logistic" and (h.min() < 0 or h.max() > 1):
        raise InputError(f"logistic regression needs strong ratings from 0 to 1; there is {h.min():g} … {h.max():g}")
    if family == "poisson" and h.min() < 0:
        raise InputError(f"Poisson regression needs counts; the least strong rating is {h.min():g}")


def _runaway(family: Family, columns: Columns, error: NoFitError) -> str:
    size = np.abs(error.direction)
    worst = [columns.names[k] for k in np.argsort(-size) if size[k] > 0.3 * size.max()][:3]
    return (
        f"the {family} fit runs away along {', '.join(map(repr, worst))}: some rows' ratings are all alike there "
        "(separable data); leave these columns out, group their values, or get more strong ratings"
    )


def _coefficients(fit: MFit, columns: Columns, t: float) -> tuple[Coefficient, ...]:
    found = [
        Coefficient(name, float(b), float(s), float(b - t * s), float(b + t * s))
        for name, b, s in zip(columns.names, fit.coefficients, fit.standard_errors, strict=True)
    ]
    left = [Coefficient(name, None, None, None, None, reason=why) for name, why in columns.left_out]
    return tuple(found + left)
