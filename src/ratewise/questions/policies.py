"""What a pilot, the labelled part of a table, says of the weak rater; and policies side by side, for all plans."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, cast

import numpy as np
import scipy
from scipy import special

from ratewise.core.chart import Span, spans_picture
from ratewise.core.checks import Floats, as_floats, choice, seed_number
from ratewise.core.document import Column, DataTable, Part, Picture, Sentence, noted
from ratewise.core.names import RECALIBRATIONS, Calibrator, PolicyName, Recalibration
from ratewise.core.ratings import LARGEST_SCALE, Mask, active_rates
from ratewise.core.result import Result
from ratewise.design.options import sharpest_error
from ratewise.design.seen import Phase, Seen
from ratewise.errors import InputError, TableError
from ratewise.learn.calibration import Calibration, cross_calibrated, fit_calibration
from ratewise.learn.covariates import Covariates
from ratewise.learn.embeddings import Learner
from ratewise.learn.error_model import (
    DEFAULT_FLOOR_SHARE,
    ErrorModel,
    error_from_column,
    error_from_probability,
    fit_error,
    is_probability_of_binary,
)
from ratewise.learn.features import Coding, codings, feature_matrix
from ratewise.learn.texts import TextReading, read_texts
from ratewise.questions.drawing import AnyPlan
from ratewise.questions.goal import PlanGoal
from ratewise.questions.transfer import LearnedModels
from ratewise.tables import Table

NEAR_TIE_IN_PRICE = 0.01
"""The simpler policy is preferred unless squared error times spend is smaller by more than this share."""


@dataclass(frozen=True, slots=True, repr=False)
class PlannedPolicy(Result):
    """What one policy would cost and give, by the pilot's own residuals."""

    error_times_budget: float  # J
    error_ratio: float  # over base
    expected_se: float
    items: float
    strong_labels: float
    spend: float
    mean_rate: float
    rate: float | None = None
    scale: float | None = None
    threshold: float | None = None
    floor: float | None = None
    half_width: float | None = None  # of the interval to expect, where the standard error does not say it

    def within(self, level: float) -> float:
        """How far the interval is expected to reach to either side."""
        return float(special.ndtri(0.5 + level / 2)) * self.expected_se if self.half_width is None else self.half_width

    def to_dict(self) -> dict[str, float]:
        """The numbers that apply to this policy, ready for JSON."""
        return {name: value for name, value in asdict(self).items() if value is not None}


@dataclass(frozen=True, slots=True, eq=False)
class PilotErrors:
    """What a labelled pilot says of a question: its errors as those of one mean."""

    variance: float  # V, of strong ratings alone
    error: Floats  # u(x) of all rows
    held_out_error: Floats  # u(x) of the labelled rows, from models that have not seen them
    squared: Floats  # squared residuals of the labelled rows

    @property
    def weak_error(self) -> float:
        """M, on average over the labelled rows."""
        return float(np.mean(self.squared))

    def item_variance(self, rates: Floats) -> float:
        """Var(Δ) = V + E[u (1/π − 1)] with the labels' squared residuals in u's place, by rates they did not shape."""
        return self.variance + float(np.mean(self.squared * (1.0 / rates - 1.0)))

    def standard_error(self, rates: Floats, items: float, goal: PlanGoal) -> float:
        """Of a mean of so many items, with these rates of the labelled rows."""
        return math.sqrt(max(self.item_variance(rates) / items - goal.lost_variance(self.variance), 0.0))

    def of_answer(self, importance: Floats, labelled: Mask, own: Floats) -> "PilotErrors":
        """Those of an answer to which the rating of an item counts A: `importance` is A² of every row (METHODS 14).

        `own` is the squared distance of each strong rating from what is expected of it.
        """
        a = importance[labelled]
        V = float(np.mean(own * a))
        return PilotErrors(V, self.error * importance, self.held_out_error * a, self.squared * a)


def together(answers: Sequence[PilotErrors], weights: Floats) -> PilotErrors:
    """Several answers as one mean, whose variance is Σ weight · variance of each (the vector target, METHODS 2)."""
    each = zip(*((one.error, one.held_out_error, one.squared) for one in answers), strict=True)
    variance = float(np.dot(weights, [one.variance for one in answers]))
    return PilotErrors(variance, *(np.tensordot(weights, np.stack(rows), 1) for rows in each))


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """The three policies, the one to take, and its rates for all rows of the pilot's table."""

    policies: dict[str, PlannedPolicy]
    recommendation: PolicyName
    rates: Floats

    @property
    def best(self) -> PlannedPolicy:
        """The policy to take."""
        return self.policies[self.recommendation]

    def reason(
        self, goal: PlanGoal, variance: float, says: Callable[[PlannedPolicy], str], *, useless: str, follows: str,
        errors: bool = False,
    ) -> str:  # fmt: skip
        """The recommendation in words: `says` tells the precision of a policy, with its standard error if `errors`.

        `useless` begins the sentence where the weak rater is not worth buying, and `follows` tells what rates follow.
        """
        name, best, base = self.recommendation, self.best, self.policies["base"]
        lost = goal.lost_variance(variance)
        if name == "base":
            left = min(price(self.policies[rival], lost) for rival in ("random", "active")) / price(base, lost)
            return (
                f"{useless} the best use of it would leave {left:.0%} of the error of strong ratings alone for the "
                f"money. Buy {base.items:,.0f} strong ratings for {base.spend:,.2f}."
            )
        how = "at one rate for all" if name == "random" else f"most often where {follows}"
        buy = f"Buy weak ratings for {best.items:,.0f} items and about {best.strong_labels:,.0f} strong ones, {how}"
        if goal.target_se is not None:
            error = f" (standard error {best.expected_se:.4g})" if errors else ""
            less = f"instead of {base.spend:,.2f} ({1 - best.spend / base.spend:.0%} less)"
            return f"{buy}: {says(best)}{error} for {best.spend:,.2f} {less}."
        gain = f"{1 - (best.expected_se / base.expected_se) ** 2:.0%}" if base.expected_se > 0 else "no"
        error = f"standard error {best.expected_se:.4g} instead of {base.expected_se:.4g}, " if errors else ""
        both = f"{says(best)} instead of {says(base).removesuffix(' points')}"
        return f"{buy}: {both} for the same {goal.budget:,.6g} ({error}{gain} less squared error)."

    def notes(self, labels: int, fewest: int, uneven: str) -> tuple[str, ...]:
        """That a pilot is small, and that one rate does better than rates that follow u; `uneven` begins that note."""
        notes = [f"the pilot has only {labels} labels: take these figures as rough"] if labels < fewest else []
        if self.policies["active"].error_ratio > self.policies["random"].error_ratio * (1 + NEAR_TIE_IN_PRICE):
            notes.append(uneven)
        return tuple(notes)


Widths = Callable[[Floats, float], float | None]
"""Half-width of the interval to expect, from the rates of all rows (1 for all: strong ratings alone) and the items."""


def side_by_side(errors: PilotErrors, goal: PlanGoal, widths: Widths | None = None) -> SideBySide:
    """Strong ratings alone, one rate for all, and rates that follow u(x), each by the pilot's own residuals.

    Rates that follow u(x) rise until a target is reached in a pool, if the model of u expects too much. Where `widths`
    are known, each policy buys what the interval asked for takes, and the floor is that of the narrowest interval: of
    the floors within a twentieth of it, that of the least variance.
    """
    shares = _FLOOR_SHARES[:1] if widths is None else _FLOOR_SHARES
    floors = goal.floors(errors.error, errors.variance, shares)
    base, random = (_reached(make, errors, goal, widths)[0] for make in (_base, _random))
    followed = [_reached(partial(_followed, floor=floor), errors, goal, widths) for floor in floors]
    active, rates = _best_floor(followed, goal)
    policies = {"base": base, "random": random, "active": active}
    name = recommend(policies, goal.lost_variance(errors.variance), level=goal.level)
    return SideBySide(policies, name, rates if name == "active" else np.full(rates.size, policies[name].mean_rate))


_FLOOR_SHARES = (DEFAULT_FLOOR_SHARE, 0.3, 0.5, 0.7)  # of the mean rate
_NEAR_LEAST_WIDTH = 1.05
_TRIES = 4  # at a standard error that makes the interval as narrow as it should be
_Made = tuple[PlannedPolicy, Floats]  # and the rates of all rows


def _base(errors: PilotErrors, goal: PlanGoal) -> _Made:
    return planned_base(errors.variance, goal), np.ones(errors.error.size)


def _random(errors: PilotErrors, goal: PlanGoal) -> _Made:
    uniform = goal.solve(np.array([errors.weak_error]), errors.variance)
    p = float(uniform.rates[0])
    variance = errors.item_variance(np.full(errors.held_out_error.size, p))
    return planned(p, variance, goal, errors.variance, uniform.items, rate=p), np.full(errors.error.size, p)


def _followed(errors: PilotErrors, goal: PlanGoal, *, floor: float) -> _Made:
    """The optimal policy for the model of u; where a pool ends before a target is reached, as much more as it takes."""
    policy = goal.solve(errors.error, errors.variance, floor)
    scale, least, items = min(policy.scale, LARGEST_SCALE), policy.floor, policy.items

    def variance(scale: float) -> float:
        return errors.item_variance(active_rates(errors.held_out_error, scale=scale, floor=least))

    if goal.target_se is not None and goal.pool_size is not None:
        wanted = goal.pool_size * (goal.target_se**2 + goal.lost_variance(errors.variance))
        low = max(scale, 1e-12)
        if variance(low) <= wanted and policy.pool_limited and low < LARGEST_SCALE:
            low = 1e-12  # reached before the pool ends, though the solver thought it would not be
        if variance(low) > wanted:
            items = goal.pool_size
            if variance(LARGEST_SCALE) > wanted:  # some items with u = 0 are wrong all the same: rate everything
                scale, least = LARGEST_SCALE, 1.0
            else:
                ends = math.log(low), math.log(LARGEST_SCALE)
                found = scipy.optimize.brentq(lambda log: variance(math.exp(log)) - wanted, *ends, xtol=1e-13)
                scale = math.exp(float(found))
    rates = active_rates(errors.error, scale=scale, floor=least)
    return planned(float(rates.mean()), variance(scale), goal, errors.variance, items, scale=scale, floor=least), rates


def _reached(
    make: Callable[[PilotErrors, PlanGoal], _Made], errors: PilotErrors, goal: PlanGoal, widths: Widths | None
) -> _Made:
    """The policy with the interval to expect; where a half-width is the goal, with as much more as it takes."""
    policy, rates = make(errors, goal)
    if widths is None:
        return policy, rates
    aim = goal
    for _ in range(_TRIES):
        half = widths(rates, policy.items)
        if half is None or goal.within is None or half <= goal.within or aim.target_se is None:
            break
        aim = replace(aim, target_se=aim.target_se * goal.within / half)
        again, rates = make(errors, aim)
        if again.spend <= policy.spend:  # the pool has ended
            break
        policy = again
    return replace(policy, half_width=half), rates


def _best_floor(made: Sequence[_Made], goal: PlanGoal) -> _Made:
    """The policy of least variance for the money among those whose interval is nearly the narrowest for it."""
    value = [one.within(goal.level) ** 2 * one.spend for one, _ in made]
    near = [k for k, x in enumerate(value) if x <= _NEAR_LEAST_WIDTH**2 * min(value)]
    return made[min(near, key=lambda k: made[k][0].expected_se ** 2 * made[k][0].spend)]


def planned(
    mean_rate: float,
    variance: float,
    goal: PlanGoal,
    V: float,
    items: float | None,
    *,
    rate: float | None = None,
    scale: float | None = None,
    floor: float | None = None,
) -> PlannedPolicy:
    """What a policy with this mean rate and variance per item costs and gives; `items` is where it ends, if it does."""
    N, cost = math.inf if goal.pool_size is None else goal.pool_size, goal.weak_cost + goal.strong_cost * mean_rate
    lost = goal.lost_variance(V)
    if goal.target_se is not None:
        T = min(variance / (goal.target_se**2 + lost), N)
    else:
        T = min(cast(float, items), cast(float, goal.budget) / cost)
    return PlannedPolicy(
        error_times_budget=cost * variance,
        error_ratio=cost * variance / (goal.strong_cost * V),
        expected_se=math.sqrt(max(variance / T - lost, 0.0)),
        items=T,
        strong_labels=T * mean_rate,
        spend=T * cost,
        mean_rate=mean_rate,
        rate=rate,
        scale=scale,
        threshold=None if scale is None else 1.0 / scale,
        floor=floor,
    )


def planned_base(V: float, goal: PlanGoal) -> PlannedPolicy:
    """Strong ratings alone; the pool may end before the money does."""
    N = math.inf if goal.pool_size is None else goal.pool_size
    return planned(1.0, V, replace(goal, weak_cost=0.0), V, N, rate=1.0)


def recommend(policies: Mapping[str, PlannedPolicy], lost: float, *, level: float = 0.95) -> PolicyName:
    """The narrowest interval for the money; of nearly equal ones the least error, and on a near tie the simpler one."""
    best: PolicyName = "base"
    rivals: tuple[PolicyName, ...] = ("random", "active")
    for name in rivals:
        ours, simpler = policies[name], policies[best]
        better = price(ours, lost) < (1 - NEAR_TIE_IN_PRICE) * price(simpler, lost)
        if ours.half_width and simpler.half_width:
            wider = math.sqrt(ours.spend / simpler.spend) * ours.within(level) / simpler.within(level)
            better = wider * _NEAR_LEAST_WIDTH < 1 or (better and wider <= _NEAR_LEAST_WIDTH)
        if better:
            best = name
    return best


def price(policy: PlannedPolicy, lost: float = 0.0) -> float:
    """Squared error (around the population's mean, so that it is never 0) times spend: J, where no pool ends first."""
    return (policy.expected_se**2 + lost) * policy.spend


POLICY_TITLES = {"base": "strong ratings alone", "random": "one rate for all", "active": "rate by uncertainty"}


@dataclass(frozen=True, slots=True, eq=False, kw_only=True, repr=False)
class PolicyPlan(AnyPlan):
    """Three policies side by side, the one to take, and its rates for the table's rows."""

    error_name: ClassVar[str] = "std. error"
    recommendation: PolicyName
    reason: str
    basis: dict[str, Any]  # arguments and the figures found; "inputs" in JSON
    policies: dict[str, PlannedPolicy]
    notes: tuple[str, ...] = ()
    rates: Floats = field(repr=False, default_factory=lambda: np.empty(0))  # as recommended

    def _rows(self) -> list[dict[str, Any]]:
        return [{"policy": name} | asked.to_dict() for name, asked in self.policies.items()]

    def summary(self) -> str:
        """The recommendation in words."""
        return self.reason

    def document(self) -> list[Part]:
        """Every policy side by side in money, labels and expected interval; then the recommendation."""
        return [*self._policies(), *noted(self.notes)]

    def _policies(self) -> list[Part]:
        level, by_cost = self.basis.get("level", 0.95), self.basis.get("target_se") is not None
        base = self.policies["base"]
        table = DataTable([
            Column("policy", "name"), Column("items"), Column("strong"), Column("rate", leaves=2), Column("spend"),
            Column(self.error_name, leaves=1), Column(f"{level:.0%} interval"),
            Column("cost vs base" if by_cost else "sq. error vs base"),
        ])  # fmt: skip
        for name, p in self.policies.items():
            taken = name == self.recommendation
            share = _share(p.spend, base.spend) if by_cost else _share(p.expected_se**2, base.expected_se**2)
            table.add(
                f"{'▶' if taken else ' '} {name}", f"{p.items:,.0f}", f"{p.strong_labels:,.0f}", f"{p.mean_rate:.3f}",
                f"{p.spend:,.2f}", _error(p.expected_se), f"± {_error(p.within(level))}", share,
                style="best" if taken else "",
            )  # fmt: skip
        legend = "; ".join(f"{name}: {POLICY_TITLES[name]}" for name in self.policies)
        return [table, Picture(self._picture), Sentence(legend, "quiet"), Sentence(), Sentence(self.reason)]

    def _picture(self) -> str:
        """The interval to expect of each policy, for notebooks."""
        halves = {name: p.within(0.95) for name, p in self.policies.items()}
        best = min(halves, key=lambda name: halves[name])
        spans = [Span(f"{name}: ± {half:.3g}", 0.0, -half, half, marked=name == best) for name, half in halves.items()]
        said = ", ".join(f"{name} {half:.3g}" for name, half in halves.items())
        return spans_picture(spans, f"Half-width of the 95 % interval to expect: {said}")


def _share(of: float, base: float) -> str:
    if not base > 0:
        return "–"
    return f"{of / base:.0%}" if of / base < 100 else f"{of / base:.0e} ×"


def _error(x: float) -> str:
    return f"{x:.4f}" if x < 1000 else f"{x:.1e}"


_PLAIN = ("weak", "strong", "uncertainty", "calibrate", "features", "seed")
_FOLDS = 10
_FEWEST_TO_FIT = 50  # fewer labels than this say nothing of how the error varies with the score


@dataclass(frozen=True, slots=True, eq=False)
class Pilot(PilotErrors):
    """All rows' weak ratings (calibrated if asked for) and models, and the labelled rows' residuals.

    Every number about a labelled row comes from models fitted without it, so that plans are not flattered.
    """

    weak: Floats  # all rows, as the policy will see them
    labelled: Mask
    strong: Floats  # labelled rows
    residual: Floats  # labelled rows, H − G with G calibrated on other labels
    calibration: Calibration | None
    error_model: ErrorModel
    models: LearnedModels | None = None  # with calibration "auto": f and u, in place of the two
    agreed: float | None = None  # what all labels said, where one of them was taken as a mistake

    @property
    def error_source(self) -> str:
        """The source of u."""
        return self.error_model.source if self.models is None else self.models.error.kind


@dataclass(frozen=True, slots=True)
class PilotColumns:
    """Which columns a pilot is learned from, and how."""

    weak: str
    strong: str
    uncertainty: str | None = None
    calibrate: Recalibration = "none"
    features: tuple[str, ...] = ()
    seed: int = 0
    text: tuple[str, ...] = ()
    learner: Learner = field(default_factory=Learner)

    def __post_init__(self) -> None:
        choice(self.calibrate, RECALIBRATIONS, name="calibration")
        seed_number(self.seed)
        if self.text and self.calibrate not in ("none", "auto"):
            raise InputError("texts are for calibrate 'auto'; leave calibrate or the texts out")

    def to_dict(self) -> dict[str, Any]:
        """The settings that a plan reports."""
        texts = {"text": list(self.text), "learner": self.learner.to_dict()} if self.text else {}
        return {name: getattr(self, name) for name in _PLAIN} | {"features": list(self.features)} | texts


def read_pilot(table: Table, columns: PilotColumns, *, imagine: bool = False) -> Pilot:
    """Learn from the rows of `table` that have a strong rating; the others are the pool.

    Where all labels are 0, or all are 1, `imagine` takes one of them as a mistake, since none need not mean never.
    """
    strong, uncertainty, features = columns.strong, columns.uncertainty, columns.features
    calibrate = None if columns.calibrate == "none" else columns.calibrate
    g = table.numbers(columns.weak)
    h = table.numbers(strong, missing="allow")
    own = None if uncertainty is None else table.numbers(uncertainty)
    labelled = ~np.isnan(h)
    agreed = None
    if imagine and labelled.sum() > 1 and np.ptp(h[labelled]) == 0 and h[labelled][0] in (0.0, 1.0):
        agreed = float(h[labelled][0])
        rows = np.flatnonzero(labelled)  # the middle weak rating is that of which the judge knew nothing
        middle = rows[np.argsort(g[rows], kind="stable")[rows.size // 2]]
        h = np.where(np.arange(h.size) == middle, 1.0 - agreed, h)
    _check_labels(table.name, strong, h[labelled])
    if own is not None and own.min() < 0:
        raise TableError(
            f"column {uncertainty!r} of {table.name} has values below 0; an expected squared error cannot be"
        )
    if calibrate == "auto" or columns.text:
        coded, texts = codings(table, features), read_texts(table, columns.text, columns.learner)
        seen, reading = (None, None) if texts is None else texts
        x = Covariates(g, feature_matrix(table, coded), own, seen)
        return replace(_auto_pilot(x, h, coded, reading), agreed=agreed)
    if features:
        raise InputError("features are for calibrate 'auto'; add it, or leave the features out")
    return replace(learn_pilot(g, h, own, calibrate=calibrate, seed=columns.seed), agreed=agreed)


def _auto_pilot(x: Covariates, h: Floats, coded: tuple[Coding, ...], reading: TextReading | None) -> Pilot:
    """f and u as campaigns learn them; what is said of a label comes from the others."""
    labelled = ~np.isnan(h)
    strong = h[labelled]
    known = Seen.of(x.rows(labelled), strong, (Phase(strong.size),)).learned
    error, unseen = sharpest_error(known, x)
    f = known.model.predict(x)
    return Pilot(
        variance=float(np.var(strong)),
        error=error.predict(f, x),
        held_out_error=unseen,
        squared=(strong - known.unseen) ** 2,
        weak=f,
        labelled=labelled,
        strong=strong,
        residual=strong - known.unseen,
        calibration=None,
        error_model=ErrorModel("fitted", knots=(0.0,), values=(known.mean(known.squared),)),
        models=LearnedModels(coded, known.model, error, reading if known.model.text is not None else None),
    )


def learn_pilot(g: Floats, h: Floats, own: Floats | None, *, calibrate: Calibrator | None, seed: int) -> Pilot:
    """What a pilot tells, from arrays; h is NaN where there is no strong rating."""
    labelled = ~np.isnan(h)
    calibration, held_out = None, g
    if calibrate is not None:
        calibration = fit_calibration(g[labelled], h[labelled], kind=calibrate)
        held_out = cross_calibrated(g, h, kind=calibrate, seed=seed)
        if calibrate == "affine" and np.isin(h[labelled], (0.0, 1.0)).all():  # a pool's ratings stay on their scale
            calibration, held_out = replace(calibration, strong_range=(0.0, 1.0)), np.clip(held_out, 0.0, 1.0)
        g = calibration.predict(g)
    strong = h[labelled]
    residual = strong - held_out[labelled]
    column, seen = (g, held_out[labelled]) if own is None else (own, own[labelled])
    if own is not None:
        model = error_from_column(seen, residual)
    elif is_probability_of_binary(seen, strong):
        model = error_from_probability(seen, strong)
    elif strong.size < _FEWEST_TO_FIT:
        model = ErrorModel("fitted", knots=(0.0,), values=(float(np.mean(residual**2)),))
    else:
        model = fit_error(seen, residual)
    refitted = model.source == "fitted" and strong.size >= _FEWEST_TO_FIT
    return Pilot(
        variance=float(np.var(strong)),
        error=model.predict(column),
        held_out_error=held_out_error(seen, residual, seed) if refitted else model.predict(seen),
        squared=residual**2,
        weak=g,
        labelled=labelled,
        strong=strong,
        residual=residual,
        calibration=calibration,
        error_model=model,
    )


def held_out_error(column: Floats, residual: Floats, seed: int) -> Floats:
    """u of labelled rows as a function of a column, each fold's rows by a model that was fitted to the others."""
    fold = np.random.default_rng(seed).permutation(column.size) % _FOLDS
    out = np.empty(column.size)
    for k in np.unique(fold):
        out[fold == k] = fit_error(column[fold != k], residual[fold != k]).predict(column[fold == k])
    return out


def _check_labels(name: str, strong: str, h: Floats) -> None:
    if h.size == 0:
        raise TableError(f"no row of {name} has a strong rating in column {strong!r}; a plan needs a labelled pilot")
    if h.size == 1:
        raise TableError(f"only one row of {name} has a strong rating in column {strong!r}; a plan needs two at least")
    if np.ptp(as_floats(h, name="strong")) == 0:
        raise InputError(
            f"all {h.size} strong ratings of column {strong!r} are {h[0]:g}, so their variance is unknown; "
            "label more rows drawn at random, or let a campaign learn on the way: ratewise init --from "
            f"{name}"
        )
