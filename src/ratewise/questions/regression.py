"""Regressions of the strong rating on columns, and how to spend on their coefficients (METHODS section 7).

The columns become a design matrix: numbers as they are, words as one column for each but the most frequent; it also
says which rows the labels say nothing about.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from scipy import special

from ratewise.core.checks import Floats, choice, finite
from ratewise.core.document import Column, DataTable, Part, Sentence, Style, as_lines, bar, noted
from ratewise.core.estimate import EstimateOptions
from ratewise.core.m_estimation import LOSSES, MFit, NoFitError, degrees_of_freedom, fit_m_estimator, gram
from ratewise.core.names import FAMILIES, Estimand, Family, Recalibration, RegressionMethod
from ratewise.core.names import REGRESSION_METHODS as METHODS
from ratewise.core.ratings import Mask, Ratings, pool_of
from ratewise.core.result import Result
from ratewise.errors import InputError, TableError
from ratewise.learn.covariates import Covariates
from ratewise.learn.features import codings, feature_matrix
from ratewise.learn.rating_model import Basis, fit_rating, fold_fitted_rating, rating_bounds
from ratewise.questions.drawing import PlannedRows
from ratewise.questions.goal import PlanGoal
from ratewise.questions.policies import Pilot, PilotColumns, PilotErrors, PolicyPlan, read_pilot, side_by_side, together
from ratewise.questions.rated import (
    Rate,
    RatedTable,
    Strong,
    TableColumns,
    made_ready,
    read_rated,
    refuse_missing,
    votes_in_words,
)
from ratewise.tables import Table, TableLike
from ratewise.tables.words import Positive, Scale, meaning_of

INTERCEPT = "(intercept)"
_MOST_WORDS = 200
_MOSTLY = 0.5  # numbers in a column, to be taken for one of numbers
_SINGULAR = 1e-9  # of a column's own size: what is left of it once earlier columns are taken out


@dataclass(frozen=True, slots=True, eq=False)
class DesignMatrix:
    """X with the names of its columns, those that say nothing new left out and named."""

    names: tuple[str, ...]
    matrix: Floats
    left_out: tuple[tuple[str, str], ...]  # name and reason
    against: tuple[tuple[str, str], ...] = ()  # columns of words, and the word that the others are compared with
    groups: tuple[Mask, ...] = ()  # rows of every word, and of either value of columns that have two

    @property
    def told(self) -> tuple[str, ...]:
        """Names of the columns that get a coefficient, and of the reference words, which need none."""
        return (*self.names, *(f"{column}={word}" for column, word in self.against))

    def standardised(self) -> tuple[Floats, Floats]:
        """X with columns of unit variance (and mean 0, beside an intercept), and the matrix that takes back θ to X's.

        A fit is then the same whatever the columns' units and origins are, as far as numbers can tell.
        """
        X, d = self.matrix, self.matrix.shape[1]
        with_intercept = self.names[0] == INTERCEPT
        centre = X.mean(axis=0) if with_intercept else np.zeros(d)
        size = np.sqrt(((X - centre) ** 2).mean(axis=0))
        if with_intercept:
            centre[0], size[0] = 0.0, 1.0
        size = np.where(size > 0, size, 1.0)
        back = np.diag(1.0 / size)
        if with_intercept:
            back[0, 1:] = -centre[1:] / size[1:]
        return (X - centre) / size, back


def design(table: Table, on: Sequence[str], *, rows: Mask, intercept: bool) -> DesignMatrix:
    """The columns `on` of the rows used; a word's column is named column=word."""
    if not on and not intercept:
        raise InputError("name at least one column to regress on, or keep the intercept")
    if len(set(on)) < len(on):
        raise InputError("a column is named twice; name each column once")
    names = [INTERCEPT] if intercept else []
    parts = [np.ones(int(rows.sum()))] if intercept else []
    against: list[tuple[str, str]] = []
    groups: list[Mask] = []
    for column in on:
        if column == INTERCEPT:
            raise InputError(f"a column cannot be called {INTERCEPT!r}; rename it")
        x = _numbers(table, column, rows)
        coded = [(column, x)] if x is not None else _words(table, column, rows)
        groups += [values != 0 for _, values in coded] if x is None else _halves(x)
        if x is None and intercept:
            against.append((column, coded[0][0].removeprefix(f"{column}=")))
            coded = coded[1:]
        names += [name for name, _ in coded]
        parts += [values for _, values in coded]
    if not parts:
        raise InputError("no column varies; there is nothing to regress on")
    return replace(_independent(names, np.stack(parts, axis=1)), against=tuple(against), groups=tuple(groups))


def _numbers(table: Table, column: str, rows: Mask) -> Floats | None:
    """The column, or None if it holds words."""
    try:
        x = table.numbers(column, missing="allow")[rows]
    except TableError:
        texts = table.texts(column, missing="allow")  # says it better if the column is not there
        if np.mean([_is_number(text) for text in texts.tolist()]) > _MOSTLY:
            raise  # a column of numbers with a slip in it
        return None
    _refuse_gap(table.name, column, rows, np.isnan(x))
    return x


def _refuse_gap(name: str, column: str, rows: Mask, gap: Mask) -> None:
    if gap.any():
        row = int(np.flatnonzero(rows)[int(np.argmax(gap))]) + 1
        raise TableError(f"row {row} of {name} has no value in column {column!r}; fill it or leave the row out")


def _halves(x: Floats) -> list[Mask]:
    values = np.unique(x[:_MOST_WORDS])  # a look at some rows rules most columns out
    if values.size > 2:
        return []
    values = np.unique(x)
    return [x == value for value in values] if values.size == 2 else []


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _words(table: Table, column: str, rows: Mask) -> list[tuple[str, Floats]]:
    """A column for each word, the most frequent first."""
    texts = table.texts(column, missing="allow")[rows]
    _refuse_gap(table.name, column, rows, np.asarray(texts == ""))
    counts = Counter(texts.tolist())
    if len(counts) > _MOST_WORDS:
        raise TableError(
            f"column {column!r} of {table.name} has {len(counts):,} different texts; a regression takes at most "
            f"{_MOST_WORDS} of a column: group them first"
        )
    words = [word for word, _ in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))]
    return [(f"{column}={word}", np.asarray(texts == word, dtype=np.float64)) for word in words]


def _independent(names: list[str], X: Floats) -> DesignMatrix:
    """The columns without those that are zero or a combination of earlier ones: the fit is the same."""
    keep = np.zeros(X.shape[1], dtype=np.bool_)
    Q = np.empty_like(X)  # an orthonormal basis of the columns kept so far
    for j in range(X.shape[1]):
        count, length = int(keep.sum()), float(np.linalg.norm(X[:, j]))
        rest = X[:, j] / length if length > 0 else X[:, j].copy()
        for _ in range(2):  # once more for what rounding left
            rest -= Q[:, :count] @ (Q[:, :count].T @ rest)
        left = float(np.linalg.norm(rest))
        if left > _SINGULAR:
            Q[:, count], keep[j] = rest / left, True
    same, collinear = "is the same on every row", "says nothing that the columns before it do not say (collinear)"
    left_out = tuple((names[j], same if np.ptp(X[:, j]) == 0 else collinear) for j in np.flatnonzero(~keep))
    if not keep.any():
        raise InputError("no column varies; there is nothing to regress on")
    return DesignMatrix(tuple(name for name, k in zip(names, keep, strict=True) if k), X[:, keep], left_out)


_ALIGNED = 1e-9  # of the largest: a row whose predictor does not depend on an unknown direction
_NEARLY_ALL = 0.1  # quantile of a group's rows that moves
_RUNS = 0.2  # of the fastest group: one that runs as well


def unlabelled_rows(X: Floats, labelled: Mask) -> Mask:
    """Rows whose predictor the labelled rows cannot tell, because they do not span it."""
    size = np.sqrt((X**2).mean(axis=0))
    scaled = X / size
    _, values, right = np.linalg.svd(scaled[labelled], full_matrices=True)
    rank = int(np.count_nonzero(values > _ALIGNED * max(float(values.max(initial=0.0)), 1e-300)))
    moved = np.abs(scaled @ right[rank:].T).max(axis=1, initial=0.0)
    return np.asarray(moved > _ALIGNED * np.abs(scaled).max())


def running_rows(X: Floats, direction: Floats, groups: Sequence[Mask]) -> Mask:
    """Rows of the groups on which the predictor runs away along this direction: nearly all of a group's rows do.

    Every row, where it runs for another reason than one group's ratings: along a number, or for all of them.
    """
    moved = np.abs(X @ direction)
    slowest = np.array([float(np.quantile(moved[group], _NEARLY_ALL)) for group in groups] + [0.0])
    running = slowest > max(_RUNS * float(slowest.max()), _RUNS / 4 * float(moved.max()))
    if not running.any():
        return np.ones(moved.size, dtype=np.bool_)
    return np.asarray(np.any([group for group, runs in zip(groups, running[:-1], strict=True) if runs], axis=0))


_NO_ERROR = 1e-9  # of the coefficients, for columns of unit variance: rounding
_FEWEST_TO_LEARN = 20  # labels; with fewer the weak rating stays as it is


# The regression


@dataclass(frozen=True, slots=True, repr=False)
class Coefficient(Result):
    """One column's coefficient; `None` with a reason where the table cannot tell it."""

    name: str
    value: float | None
    standard_error: float | None
    low: float | None
    high: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Regression(Result):
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
        return {one.name: one for one in self.coefficients}[name]

    def _rows(self) -> list[dict[str, Any]]:
        return [c.to_dict() for c in self.coefficients]

    def summary(self) -> str:
        return as_lines(self.document())

    def document(self) -> list[Part]:
        table = DataTable([
            Column("column", "name"), Column("coefficient"), Column(f"{self.level:.0%} interval"),
            Column("std. error", leaves=1), Column("", "bar", 2),
        ])  # fmt: skip
        known = [0.0, *(x for c in self.coefficients if c.low is not None for x in (c.low, c.high) if x is not None)]
        for c in self.coefficients:
            value, error = ("–" if x is None else rounded(x) for x in (c.value, c.standard_error))
            style: Style = "quiet"
            ends, drawn = "none", ""
            if c.low is not None and c.high is not None:
                ends, style = f"{rounded(c.low)} to {rounded(c.high)}", "strong" if c.low > 0 or c.high < 0 else ""
                drawn = bar(c.value, c.low, c.high, (min(known), max(known)), width=BAR, zero=True)
            table.add(c.name, "none" if c.value is None else value, ends, error, drawn, style=style)
        rests = (
            f"{self.family.capitalize()} regression; {MEANINGS[self.family]}. {self.labels:,} strong ratings on "
            f"{self.items:,} items, {self.method}, of the {self.estimand}."
        )
        reasons = tuple(f"{c.name}: {c.reason}" for c in self.coefficients if c.value is not None and c.reason)
        return [table, Sentence(rests, "quiet"), *noted(self.notes + reasons)]


BAR = 25  # signs
MEANINGS = {
    "linear": "change of the strong rating for one unit more",
    "logistic": "change of the log-odds for one unit more",
    "poisson": "change of the log of the mean for one unit more",
}


def rounded(x: float) -> str:
    """Four digits, with a minus sign that is one."""
    return f"{x:.4g}".replace("-", "−")


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
    ready = made_ready(table, strong, weak, meaning_of(positive, scale))
    ready.refuse_pool(estimand)
    rated = read_rated(ready, TableColumns(strong, weak, rate, selected, clusters), one_rate_alone=False)
    refuse_missing(rated)
    h = rated.items.strong[rated.items.labelled]
    if family == "logistic" and (h.min() < 0 or h.max() > 1):
        raise InputError(f"logistic regression needs strong ratings from 0 to 1; there is {h.min():g} … {h.max():g}")
    if family == "poisson" and h.min() < 0:
        raise InputError(f"Poisson regression needs counts, 0 or more; the least strong rating is {h.min():g}")
    if family != "linear" and np.ptp(h) == 0 and h[0] in (0, 1):
        raise InputError(
            f"all {h.size} strong ratings are {h[0]:g}; a {family} regression needs ratings that differ: get more"
        )

    def columns_of(drawn: RatedTable) -> DesignMatrix:
        return design(drawn.table, on, rows=drawn.rows, intercept=intercept)

    fit = partial(_fit, family=family, method=None if weak is None else method, features=features)
    N = pool_of(estimand, rated.how(how).pool_size, rated.items.rows)
    found = _fit_what_can_be(rated, family, columns_of, fit, N)
    return Regression(
        family=family,
        coefficients=_coefficients(found, how.level),
        level=how.level,
        items=found.fit.items,
        labels=found.fit.labels,
        method=found.method,
        estimand=estimand,
        degrees_of_freedom=float(found.degrees_of_freedom.min()),
        notes=rated.notes(how) + _notes(found) + votes_in_words(rated),
        covariance=found.fit.covariance,
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    fit: MFit
    columns: DesignMatrix
    method: str
    degrees_of_freedom: Floats
    errors: Floats  # standard errors, 0 where there is no more than rounding may leave
    lost: dict[str, str] = field(default_factory=dict)  # columns that went with rows, and why
    rows_lost: int = 0
    exact: bool = False  # the whole pool is rated
    agreed: bool = False  # the draw adds no variance that could be seen


def _fit_what_can_be(
    drawn: RatedTable, family: Family, columns_of: Callable[[RatedTable], DesignMatrix],
    fit: Callable[[RatedTable, DesignMatrix, float], _Found], N: float,
) -> _Found:  # fmt: skip
    """The fit, without rows that the strong ratings say nothing about: an answer for the rest, where there is one."""
    data, items = drawn.items.checked(), drawn.items.items
    lost: dict[str, str] = {}
    columns = columns_of(drawn)
    too_few = (
        f"{data.labels} strong ratings cannot tell {columns.matrix.shape[1]} coefficients and their errors; name fewer "
        "columns or get more ratings"
    )
    while True:
        gone = unlabelled_rows(columns.matrix, data.labelled)
        why = "no strong rating tells it"
        if gone.all() or (not gone.any() and data.labels <= columns.matrix.shape[1]):
            raise InputError(too_few)
        if not gone.any():
            try:
                found = fit(drawn, columns, N * data.items / items)
                break
            except NoFitError as error:
                gone = running_rows(columns.matrix, error.direction, columns.groups)
                why = "its fit runs away (separable data)"
                if gone.all():
                    size = np.abs(error.direction) * np.sqrt((columns.matrix**2).mean(axis=0))
                    worst = [columns.names[k] for k in np.argsort(-size) if size[k] > 0.3 * size.max()][:3]
                    raise InputError(
                        f"the {family} fit runs away along {', '.join(map(repr, worst))}: the ratings can be "
                        "told apart there without error (separable data); leave these columns out, group their values, "
                        "or get more strong ratings"
                    ) from None
        drawn, before = drawn.part(~gone), columns
        data = drawn.items.checked()
        columns = columns_of(drawn)
        lost |= {name: why for name in before.told if name not in columns.told}
    exact = items == N and bool(np.all(data.rates == 1))
    agreed = not found.fit.drawn.any() and bool(np.any(data.rates < 1))
    return replace(found, lost=lost, rows_lost=items - data.items, exact=exact, agreed=agreed)


def _fit(
    drawn: RatedTable, columns: DesignMatrix, N: float, *, family: Family, method: RegressionMethod | None,
    features: Sequence[str],
) -> _Found:  # fmt: skip
    """The fit by a method; `None` where the strong ratings stand alone."""
    data, codes = drawn.items.checked(), drawn.codes()
    how, (X, back) = str(method), columns.standardised()
    power: float | None = 1.0
    if method is None:
        how, power = "strong ratings alone", 0.0
    elif method == "power-tuned":
        power = None
    elif method == "auto":
        known = X[:, 1:] if columns.names[0] == INTERCEPT else X
        data, learned = with_learned_weak(drawn, features=features, known=known if known.shape[1] else None)
        how = f"auto (weak rating {learned})"
    try:
        fit = fit_m_estimator(X, LOSSES[family], data, power=power, clusters=codes, pool_size=N)
    except NoFitError as error:
        raise NoFitError(str(error), back @ error.direction) from None
    df = degrees_of_freedom(fit, X, contrasts=back, clusters=codes, pool_size=N)
    raw = np.linalg.inv(back)
    nothing = _NO_ERROR * np.abs(back).sum(axis=1) * np.abs(fit.coefficients).max()
    fit = replace(
        fit, coefficients=back @ fit.coefficients, covariance=back @ fit.covariance @ back.T,
        curvature=raw.T @ fit.curvature @ raw,
    )  # fmt: skip
    errors = np.where(fit.standard_errors > nothing, fit.standard_errors, 0.0)
    return _Found(fit, columns, how if power is not None else f"power-tuned (λ = {fit.power:.2f})", df, errors)


# What is told


def _coefficients(found: _Found, level: float) -> tuple[Coefficient, ...]:
    told = []
    t = special.stdtrit(found.degrees_of_freedom, 0.5 + level / 2)
    rows = zip(found.columns.names, found.fit.coefficients.tolist(), found.errors.tolist(), t.tolist(), strict=True)
    for name, b, s, q in rows:
        if found.exact:
            told.append(Coefficient(name, b, 0.0, b, b))
        elif s == 0:
            why = "ratings that fit without error say nothing of its error"
            told.append(Coefficient(name, b, None, None, None, reason=why))
        else:
            told.append(Coefficient(name, b, s, b - q * s, b + q * s))
    left = dict(found.columns.left_out) | found.lost
    return (*told, *(Coefficient(name, None, None, None, None, reason=why) for name, why in left.items()))


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


# The weak rating learned from the strong ones


def with_learned_weak(drawn: RatedTable, *, features: Sequence[str], known: Floats | None) -> tuple[Ratings, str]:
    """The weak rating recalibrated by the strong ones, each label by all the others; unchanged with few labels.

    `known` are columns to learn from besides the weak rating and the features: those of the regression itself. Clusters
    are left out whole. Only 0/1 ratings are kept within their range: the largest rating seen is no bound, and to cut
    others off at it would bias a fit, which hangs on large ratings most.
    """
    data, codes = drawn.items.checked(), drawn.codes()
    if data.labels < _FEWEST_TO_LEARN or np.all(data.rates == 1):
        return data, "as it is"
    own = feature_matrix(drawn.table, codings(drawn.table, features))
    parts = [part for part in (known, None if own is None else own[drawn.rows]) if part is not None]
    x = Covariates(data.weak[:, 0], np.concatenate(parts, axis=1) if parts else None)
    f = learned_rating(x, data) if codes is None else fold_fitted_rating(x, data.strong, 1.0 / data.rates[:, 0], codes)
    return Ratings(f[:, None], data.strong, data.rates), "learned"


def learned_rating(x: Covariates, data: Ratings) -> Floats:
    """f of all items, each labelled one from the other labels; only 0/1 ratings have ends."""
    h, weights = data.strong[data.labelled], 1.0 / data.rates[data.labelled, 0]
    ends, binary = rating_bounds(h)
    bounds = ends if binary else (-np.inf, np.inf)
    model, unseen = fit_rating(Basis.of(x), x.rows(data.labelled), h, weights, bounds=bounds)
    f = model.predict(x)
    f[data.labelled] = unseen
    return f


# A plan


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class RegressionPlan(PolicyPlan):
    """Three policies side by side, the one to take, and its rates for the table's rows.

    Errors are of the weighted total: the root of Σ weight_k Var(coefficient_k).
    """

    error_name: ClassVar[str] = "total error"
    weights: dict[str, float]  # of each coefficient
    expected_ses: dict[str, float]  # of each coefficient, with the recommended policy
    rows: PlannedRows = field(repr=False)  # the table's rows, for `draw_pool`

    @property
    def drawn_by(self) -> PlannedRows:
        return self.rows


def plan_regression(
    table: TableLike,
    *,
    weak: str,
    strong: Strong,
    on: Sequence[str],
    family: Family = "linear",
    weak_cost: float,
    strong_cost: float,
    budget: float | None = None,
    target_se: float | None = None,
    pool_size: float | None = None,
    floor: float | None = None,
    weights: Mapping[str, float] | None = None,
    intercept: bool = True,
    calibrate: Recalibration = "none",
    features: Sequence[str] = (),
    estimand: Estimand = "population",
    positive: Positive = None,
    scale: Scale = None,
    seed: int = 0,
) -> RegressionPlan:
    """Base, random and active policies for a regression, from a labelled pilot.

    The rows with a strong rating are the pilot and are taken as a random sample of the pool. What is made small is
    Σ weight_k Var(coefficient_k), and `target_se` is its root; by default the weight of a coefficient is its column's
    variance, so that units do not matter and the total is about the error of the predictor, and the intercept has none
    unless it is alone. `weights` names coefficients and their weights; those not named get 0. `floor` is the least rate
    of the active policy (default: a tenth of its mean rate). `calibrate`, `features`, words as ratings and several
    people's columns are as for `plan`.
    """
    choice(family, FAMILIES, name="family")
    goal = PlanGoal.of(
        weak_cost, strong_cost, budget=budget, target_se=target_se, pool_size=pool_size, estimand=estimand, floor=floor
    )
    words = meaning_of(positive, scale)
    ready = made_ready(table, strong, weak, words)
    asked = PilotColumns(weak, ready.strong, None, calibrate, tuple(features), seed)
    read = ready.table
    pilot = read_pilot(read, asked)
    columns = design(read, on, rows=np.ones(read.rows, dtype=np.bool_), intercept=intercept)
    w = coefficient_weights(columns, weights)
    answers = pilot_answers(pilot, columns, family, w)
    errors = together(list(answers.values()), w)
    sides = side_by_side(errors, goal)
    rates = sides.rates[pilot.labelled]
    ses = {name: one.standard_error(rates, sides.best.items, goal) for name, one in answers.items()}
    labels = int(pilot.strong.size)
    told = {name: value for name, value in asked.to_dict().items() if name != "uncertainty"}
    left_out = tuple(f"{name} {why}; it was left out" for name, why in columns.left_out)
    worse = "choosing items by uncertainty and influence does worse here than one rate for all"
    return RegressionPlan(
        recommendation=sides.recommendation,
        reason=sides.reason(
            goal, errors.variance, lambda policy: f"a total error of {policy.expected_se:.4g}",
            useless="The weak rater is not worth buying for these coefficients:",
            follows="they move the coefficients most",
        ),
        basis={"table": read.name, "rows": read.rows, "labels": labels}
        | told
        | {"strong": ready.typed, "on": list(on), "family": family}
        | goal.to_dict()
        | {"variance": errors.variance, "weak_error": errors.weak_error},
        policies=sides.policies,
        weights=dict(zip(columns.names, w.tolist(), strict=True)),
        expected_ses=ses,
        notes=ready.notes + left_out + sides.notes(labels, max(50, 20 * len(columns.names)), worse),
        rates=sides.rates,
        rows=PlannedRows.of(read, (weak,), sides.recommendation, sides.rates, sides.best.items, goal, words),
    )  # fmt: skip


def coefficient_weights(columns: DesignMatrix, given: Mapping[str, float] | None) -> Floats:
    """The weights given, 0 for those not named; else each column's variance, so that units do not matter."""
    if given is None:
        variances = columns.matrix.var(axis=0)
        return variances if np.any(variances > 0) else np.ones(variances.size)
    unknown = [name for name in given if name not in columns.names]
    if unknown:
        raise InputError(f"there is no coefficient {unknown[0]!r} to weight; they are {', '.join(columns.names)}")
    w = finite([given.get(name, 0.0) for name in columns.names], name="weights", minimum=0)
    if not w.any():
        raise InputError("every weight is 0; weight at least one coefficient")
    return w


def pilot_answers(
    pilot: Pilot, columns: DesignMatrix, family: Family, weights: Floats
) -> dict[str, PilotErrors]:  # fmt: skip
    """What a pilot says of every coefficient: the errors of a mean in which a rating counts (W⁻¹x)_k (METHODS 7, 14).

    θ and W are those of the pilot's strong ratings and all rows' weak ones, at the λ that suits the weighted total.
    """
    X, rows, loss = columns.matrix, pilot.labelled, LOSSES[family]
    strong = np.full(rows.size, np.nan)
    strong[rows] = pilot.strong
    data = Ratings(pilot.weak[:, None], strong, np.full((rows.size, 1), float(rows.mean())))
    if data.labels <= X.shape[1]:
        raise InputError(f"{data.labels} labels cannot tell {X.shape[1]} coefficients; a plan needs a larger pilot")
    try:
        A = np.diag(np.sqrt(weights))[weights > 0]
        eta = fit_m_estimator(X, loss, data, power=None, contrasts=A).predictor
    except NoFitError as error:
        raise InputError(f"a plan needs a pilot that can be fitted: {error}") from None
    counts = np.asarray(X @ np.linalg.inv(gram(X, loss.curvature(eta)) / rows.size)) ** 2
    own = loss.gradient(eta[rows], pilot.strong) ** 2  # (H − μ)²
    if not float(np.mean(own * (counts[rows] @ weights))) > 0:
        raise InputError("the pilot's ratings are fitted without error; their variance is unknown: get more labels")
    return {name: pilot.of_answer(a, rows, own) for name, a in zip(columns.names, counts.T, strict=True)}
