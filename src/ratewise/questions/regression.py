"""Regressions of the strong rating on columns, from few strong ratings and many weak ones (METHODS section 7)."""

import html
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import special

from ratewise.core.checks import Floats, choice
from ratewise.core.estimate import EstimateOptions
from ratewise.core.m_estimation import LOSSES, MFit, NoFitError, degrees_of_freedom, fit_m_estimator
from ratewise.core.names import FAMILIES, Estimand, Family, RegressionMethod
from ratewise.core.names import REGRESSION_METHODS as METHODS
from ratewise.core.ratings import Ratings, pool_of
from ratewise.core.result import FrameKind, frame_of_rows, shown
from ratewise.errors import InputError
from ratewise.questions.design_matrix import INTERCEPT, Columns, design, running_rows, unlabelled_rows
from ratewise.questions.learned_weak import with_learned_weak
from ratewise.questions.people import Strong, made_ready, votes_in_words
from ratewise.questions.rated import DrawColumns, Rate, RatedColumns, RatedTable, read_rated, refuse_missing
from ratewise.tables import TableLike
from ratewise.tables.words import Positive, Scale

_NO_ERROR = 1e-9  # of the coefficients, for columns of unit variance: rounding


@shown
@dataclass(frozen=True, slots=True)
class Coefficient:
    """One column's coefficient; `None` with a reason where the table cannot tell it."""

    name: str
    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    reason: str | None = None

    def __str__(self) -> str:
        if self.value is None:
            return f"none: {self.reason}"
        if self.low is None or self.high is None:
            return f"{self.value:+.4g}, no interval: {self.reason}"
        return f"{self.value:+.4g} [{self.low:+.4g}, {self.high:+.4g}]"

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        names = ("name", "value", "standard_error", "low", "high", "reason")
        return {name: getattr(self, name) for name in names}


@shown
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

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """A row for each coefficient, as a pandas, Polars or PyArrow frame."""
        return frame_of_rows([c.to_dict() for c in self.coefficients], kind)

    def summary(self) -> str:
        """A line for each coefficient."""
        width = max(len(c.name) for c in self.coefficients)
        lines = [
            f"{self.family} regression, {self.level:.0%} intervals, {self.labels} strong ratings on {self.items} items"
        ]
        for c in self.coefficients:
            lines.append(f"{c.name:{width}}  {c}")
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td>{html.escape(c.name)}</td><td>{'–' if c.value is None else f'{c.value:.4g}'}</td>"
            f"<td>{html.escape(c.reason or '') if c.low is None else f'{c.low:.4g} to {c.high:.4g}'}</td></tr>"
            for c in self.coefficients
        )
        return f"<table><tr><th>column</th><th>coefficient</th><th>{self.level:.0%} interval</th></tr>{rows}</table>"


def regress(
    table: TableLike,
    *,
    strong: Strong,
    on: Sequence[str],
    weak: str | None = None,
    family: Family = "linear",
    rate: Rate = None,
    selected: str | None = None,
    intercept: bool = True,
    method: RegressionMethod = "auto",
    features: Sequence[str] = (),
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    clusters: str | None = None,
    positive: Positive = None,
    scale: Scale = None,
) -> Regression:
    """Linear, logistic or Poisson regression of the strong rating on columns of the table.

    `rate` is the column with the probability each row was drawn with, or one number for all rows; without it the rated
    rows are taken as a random draw. `method`: `difference` uses the weak rating as it is, `power-tuned` as much of it
    as pays (PPI++), `auto` learns it first from the strong ratings, each by the others, with the columns `on` and
    `features`. Without `weak` the strong ratings stand alone. Words in the columns `on` become a column each, but for
    the most frequent one. Ratings may be words, and `strong` several people's columns, as for `estimate_table`.

    Rows that the strong ratings say nothing about (a word without a label, a word whose 0/1 ratings are all alike) are
    left out and named, with their columns.

    Limiting cases: every row rated gives the plain fit with the HC1 sandwich (cluster-robust with `clusters`).
    """
    choice(family, FAMILIES, name="family")
    choice(method, METHODS, name="method")
    how = EstimateOptions(method, level=level, estimand=estimand, pool_size=pool_size)
    ready = made_ready(table, strong=strong, weak=() if weak is None else (weak,), positive=positive, scale=scale)
    ready.refuse_pool(estimand)
    columns = RatedColumns(ready.strong, weak, DrawColumns(rate, selected, clusters))
    rated = read_rated(ready.table, columns, one_rate_alone=False)
    refuse_missing(rated)
    known = ~np.isnan(rated.items.strong)
    _check_outcomes(family, rated.items.strong[known])
    model = _Model(family, method, tuple(on), intercept, tuple(features), weak is not None)
    found = _fit_what_can_be(rated, model, pool_of(estimand, rated.how(how).pool_size, known.size))
    fit = found.fit
    return Regression(
        family=family,
        coefficients=_coefficients(found, how.level),
        level=how.level,
        items=fit.items,
        labels=fit.labels,
        method=found.method,
        estimand=estimand,
        degrees_of_freedom=float(found.degrees_of_freedom.min()),
        notes=ready.notes + rated.notes(how) + _notes(found) + votes_in_words(ready, rated),
        covariance=fit.covariance,
    )


@dataclass(frozen=True, slots=True)
class _Model:
    family: Family
    method: RegressionMethod
    on: tuple[str, ...]
    intercept: bool
    features: tuple[str, ...]
    has_weak: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    fit: MFit
    columns: Columns
    method: str
    degrees_of_freedom: Floats
    nothing: Floats  # of each standard error: as much as rounding may leave of none
    lost: dict[str, str]  # columns that went with rows, and why
    rows_lost: int
    exact: bool  # the whole pool is rated
    agreed: bool  # the draw adds no variance that could be seen


def _fit_what_can_be(drawn: RatedTable, model: _Model, N: float) -> _Found:
    """The fit, without rows that the strong ratings say nothing about: an answer for the rest, where there is one."""
    data = drawn.items.ratings()
    items = data.items
    lost: dict[str, str] = {}
    columns = design(drawn.table, model.on, rows=drawn.rows, intercept=model.intercept)
    too_few = _too_few(data, columns)
    while True:
        gone = unlabelled_rows(columns.matrix, data.labelled)
        why = "no strong rating tells it"
        if gone.all() or (not gone.any() and data.labels <= columns.matrix.shape[1]):
            raise InputError(too_few)
        if not gone.any():
            try:
                fit, how, df, nothing = _fit(drawn, columns, model, N * data.items / items)
                break
            except NoFitError as error:
                gone = running_rows(columns.matrix, error.direction, columns.groups)
                why = "its fit runs away (separable data)"
                if gone.all():
                    raise InputError(_runaway(model.family, columns, error)) from None
        drawn, before = drawn.part(~gone), columns
        data = drawn.items.ratings()
        columns = design(drawn.table, model.on, rows=drawn.rows, intercept=model.intercept)
        lost |= {name: why for name in before.told if name not in columns.told}
    return _Found(
        fit=fit,
        columns=columns,
        method=how,
        degrees_of_freedom=df,
        nothing=nothing,
        lost=lost,
        rows_lost=items - data.items,
        exact=items == N and bool(np.all(data.rates == 1)),
        agreed=not fit.drawn.any() and bool(np.any(data.rates < 1)),
    )


def _fit(drawn: RatedTable, columns: Columns, model: _Model, N: float) -> tuple[MFit, str, Floats, Floats]:
    data, codes = drawn.items.ratings(), drawn.codes()
    how, (X, back) = str(model.method), columns.standardised()
    power: float | None = 1.0
    if not model.has_weak:
        how, power = "strong ratings alone", 0.0
    elif model.method == "power-tuned":
        power = None
    elif model.method == "auto":
        known = X[:, 1:] if columns.names[0] == INTERCEPT else X
        data, learned = with_learned_weak(drawn, features=model.features, known=known if known.shape[1] else None)
        how = f"auto (weak rating {learned})"
    try:
        fit = fit_m_estimator(X, LOSSES[model.family], data, power=power, clusters=codes, pool_size=N)
    except NoFitError as error:
        raise NoFitError(str(error), back @ error.direction) from None
    df = degrees_of_freedom(fit, X, contrasts=back, clusters=codes, pool_size=N)
    raw = np.linalg.inv(back)
    nothing = _NO_ERROR * np.abs(back).sum(axis=1) * np.abs(fit.coefficients).max()
    fit = replace(
        fit, coefficients=back @ fit.coefficients, covariance=back @ fit.covariance @ back.T,
        curvature=raw.T @ fit.curvature @ raw,
    )  # fmt: skip
    return fit, how if power is not None else f"power-tuned (λ = {fit.power:.2f})", df, nothing


# What cannot be fitted


def _check_outcomes(family: Family, h: Floats) -> None:
    if family == "logistic" and (h.min() < 0 or h.max() > 1):
        raise InputError(f"logistic regression needs strong ratings from 0 to 1; there is {h.min():g} … {h.max():g}")
    if family == "poisson" and h.min() < 0:
        raise InputError(f"Poisson regression needs counts, 0 or more; the least strong rating is {h.min():g}")
    if family != "linear" and np.ptp(h) == 0 and h[0] in (0, 1):
        raise InputError(
            f"all {h.size} strong ratings are {h[0]:g}; a {family} regression needs ratings that differ: get more"
        )


def _too_few(data: Ratings, columns: Columns) -> str:
    return (
        f"{data.labels} strong ratings cannot tell {columns.matrix.shape[1]} coefficients and their errors; name fewer "
        "columns or get more ratings"
    )


def _runaway(family: Family, columns: Columns, error: NoFitError) -> str:
    size = np.abs(error.direction) * np.sqrt((columns.matrix**2).mean(axis=0))
    worst = [columns.names[k] for k in np.argsort(-size) if size[k] > 0.3 * size.max()][:3]
    return (
        f"the {family} fit runs away along {', '.join(map(repr, worst))}: the ratings can be told apart there without "
        "error (separable data); leave these columns out, group their values, or get more strong ratings"
    )


# What is told


def _coefficients(found: _Found, level: float) -> tuple[Coefficient, ...]:
    t = special.stdtrit(found.degrees_of_freedom, 0.5 + level / 2)
    fit, columns = found.fit, found.columns
    errors = np.where(fit.standard_errors > found.nothing, fit.standard_errors, 0.0)
    rows = zip(columns.names, fit.coefficients.tolist(), errors.tolist(), t.tolist(), strict=True)
    told = [_coefficient(name, b, s, q, exact=found.exact) for name, b, s, q in rows]
    left = dict(columns.left_out) | found.lost
    return (*told, *(Coefficient(name, None, None, None, None, reason=why) for name, why in left.items()))


def _coefficient(name: str, b: float, s: float, t: float, *, exact: bool) -> Coefficient:
    if exact:
        return Coefficient(name, b, 0.0, b, b)
    if s == 0:
        return Coefficient(name, b, None, None, None, reason="ratings that fit without error say nothing of its error")
    return Coefficient(name, b, s, b - t * s, b + t * s)


def _notes(found: _Found) -> tuple[str, ...]:
    left_out = (pair for pair in found.columns.left_out if pair[0] not in found.lost)
    notes = [f"{name} {why}; it was left out" for name, why in left_out]
    if found.rows_lost:
        names = ", ".join(f"{name}: {why}" for name, why in found.lost.items())
        notes.append(f"{found.rows_lost:,} rows that the strong ratings say too little about were left out ({names})")
    if found.columns.against:
        notes.append(", ".join(f"{column} is against {word!r}" for column, word in found.columns.against))
    if found.exact:
        notes.append("every item of the pool has its strong rating: the coefficients are exact")
    elif found.agreed:
        notes.append("no strong rating differs from its weak one, so how much others would differ is unknown")
    return tuple(notes)
