"""What a campaign has bought so far, and what its labels teach: the state that rounds are planned from.

An item's mass is Σ T_j π_j(x): the strong ratings to be expected of all items looked at, had they been like x.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, TypeVar

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.ratings import Mask
from ratewise.core.result import JsonRecord
from ratewise.errors import InputError
from ratewise.learn.covariates import Covariates
from ratewise.learn.error_model import LearnedError
from ratewise.learn.rating_model import Basis, RatingModel, fit_rating, is_binary, rating_bounds
from ratewise.learn.ridge import TextFactor
from ratewise.learn.score_prior import ScorePrior

FEWEST_TO_LEARN = 2
ENOUGH_LABELS = 200  # to go by labels alone, without what scores usually mean
LEAST_RATE = 1e-6  # of π̄; below it an item cannot be told from one that was never to be drawn
_PRIOR_LABELS = 4.0  # of a useless weak rater, that plans count besides those seen


_LEAST_SPREAD = 1e-12  # of a rating around what is expected of it, squared
_IDLE_RATE = 1e-3  # of items that have had their share already, where a pool has money left over


# How much an item counts


@dataclass(frozen=True, slots=True, eq=False)
class Importance(JsonRecord):
    """How much an item counts for the next draw: Σ_k ω_k A_ik² over the answers k of a question (METHODS 14).

    By the item's place: a number for each group, or xᵀ Q x for the place's columns x. For a quantile, u is that of the
    rating being at most `at` instead of the rating itself.
    """

    by_group: Floats = field(default_factory=lambda: np.empty(0))
    quadratic: Floats = field(default_factory=lambda: np.empty((0, 0)))
    at: float | None = None
    without: Floats = field(
        default_factory=lambda: np.empty(0), repr=False
    )  # of each label, by what one without it says

    def of(self, x: Covariates) -> Floats:
        """Σ ω A² of each item."""
        if x.place is None:
            return np.ones(x.items)
        if self.by_group.size:
            return np.asarray(self.by_group[x.place[:, 0].astype(np.intp)])
        if self.quadratic.size:
            return np.asarray(np.einsum("ij,jk,ik->i", x.place, self.quadratic, x.place))
        return np.ones(x.items)

    def times(self, u: Floats, f: Floats, x: Covariates) -> Floats:
        """What rates follow: u of these items, whose ratings are expected to be f, times how much they count."""
        if self.at is not None:
            below = special.ndtr((self.at - f) / np.sqrt(np.maximum(u, _LEAST_SPREAD)))
            u = below * (1.0 - below)
        return self.of(x) * u


# What has been bought


@dataclass(frozen=True, slots=True, eq=False)
class Rule(JsonRecord):
    """A round's rates: they bring the rates over all rounds up to π̄ = clip(γ·sqrt(u), floor, 1)."""

    model: RatingModel
    error: LearnedError
    scale: float
    floor: float
    before: float  # items looked at before this round
    total: float  # items planned in all
    factor: float = 1.0  # to spend the money of a pool's last items exactly
    least: float = 0.0
    weak: bool = True  # False: made for the features alone
    importance: Importance | None = None  # of a question with several answers; None: every item counts the same

    def scaled(self, factor: float) -> "Rule":
        """The rule for the last items of a pool, with rates scaled so that the money is spent."""
        return replace(self, factor=factor, least=_IDLE_RATE)

    def rates(self, x: Covariates, mass: Floats) -> Floats:
        """π of items on which earlier rounds have spent `mass` = Σ T_j π_j."""
        return self.rates_for(self.u(x), mass)

    def u(self, x: Covariates) -> Floats:
        """The expected squared error that the rates follow."""
        known = x if self.weak else x.without_weak()
        f = self.model.predict(known)
        u = self.error.predict(f, known)
        return u if self.importance is None else self.importance.times(u, f, known)

    def rates_for(self, u: Floats, mass: Floats) -> Floats:
        """π of items whose u is known."""
        wanted = np.clip(self.scale * np.sqrt(u), self.floor, 1.0)
        missing = (self.total * wanted - mass) / max(self.total - self.before, 1.0)
        return self.scaled_rates(np.clip(missing, self.least, 1.0))

    def scaled_rates(self, rates: Floats) -> Floats:
        return times(rates, self.factor)


def times(rates: Floats, factor: float) -> Floats:
    """The rates times the factor; 1 for everyone where the factor is infinite."""
    return np.minimum(rates * factor, 1.0) if math.isfinite(factor) else np.ones_like(rates)


R_co = TypeVar("R_co", covariant=True)  # a rule: of two raters a `Rule`


@dataclass(frozen=True, slots=True)
class Phase(Generic[R_co]):
    """Items looked at in one go, and the rule they were drawn by; no rule: every one got its strong rating."""

    items: int
    rule: R_co | None = None
    weak: bool = True  # False: no weak ratings were bought

    @property
    def by_features(self) -> bool:
        """Whether the rule goes by what is known about all items at no cost."""
        return self.rule is not None and not self.weak

    def rates(self, before: Floats, *known: Any) -> Floats:
        """Rates of items by what is known of them, earlier phases having spent `before` on each."""
        rule: Any = self.rule
        return np.ones_like(before) if rule is None else np.asarray(rule.rates(*known, before))


@dataclass(frozen=True, eq=False)
class Seen:
    """Everything bought so far: items with what is known of them, strong ratings (NaN where none), and the phases.

    It never changes, so what was fitted to it is kept with it: its labels are fitted once, whoever asks.
    """

    x: Covariates
    strong: Floats
    phases: tuple[Phase[Rule], ...]
    mass: Floats  # Σ T_j π_j of every item
    given: Floats | None = None  # chance of a label apart from the phases, by an independent draw
    prior: ScorePrior | None = None  # what scores usually mean; it counts while labels are few

    @classmethod
    def of(
        cls, x: Covariates, strong: Floats, phases: tuple[Phase[Rule], ...], prior: ScorePrior | None = None
    ) -> "Seen":
        """The items seen, with the rates that the phases' rules give."""
        return cls(x, strong, phases, mass(phases, x), prior=prior)

    @property
    def labelled(self) -> Mask:
        """Whether each item has a strong rating."""
        return ~np.isnan(self.strong)

    @property
    def items(self) -> int:
        """How many were looked at."""
        return int(self.strong.size)

    @property
    def by_features(self) -> bool:
        """Whether weak ratings were given up for what is known about all items at no cost."""
        return bool(self.phases) and self.phases[-1].by_features

    @property
    def alone(self) -> bool:
        """Whether weak ratings were given up, and nothing stands in for them."""
        return bool(self.phases) and self.phases[-1].rule is None and not self.phases[-1].weak

    @property
    def by_prior(self) -> ScorePrior | None:
        """The prior while it counts: few labels, all within its scale."""
        h = self.strong[self.labelled]
        return self.prior if h.size < ENOUGH_LABELS and bool(np.all((h >= 0) & (h <= 1))) else None

    @cached_property
    def learned(self) -> "Learned":
        """What the labels teach."""
        return _fitted(self)

    @cached_property
    def text_factor(self) -> TextFactor | None:
        """What fits to these labels need of their texts: most of the work, the same with and without weak ratings."""
        if self.x.text is None:
            return None
        use = self.labelled
        return TextFactor.of(self.x.text[use].dense(), 1.0 / self.rates()[use])

    @cached_property
    def _features_alone(self) -> "Seen":
        alone = replace(self, x=self.x.without_weak(), prior=None)
        if self.x.text is not None:
            alone.__dict__["text_factor"] = self.text_factor
        return alone

    def without_weak(self) -> "Seen":
        """The items seen as if no weak rating had been bought; itself where none counts any more."""
        return self if self.by_features else self._features_alone

    def rates(self) -> Floats:
        """π̄ of the items seen; with labels of an independent draw of rates p₀, 1 − (1 − p₀)(1 − π̄)."""
        rates = np.clip(self.mass / self.items, LEAST_RATE, 1.0)
        return rates if self.given is None else 1.0 - (1.0 - self.given) * (1.0 - rates)

    def mass_before(self, x: Covariates) -> Floats:
        """Σ T_j π_j(x) of all phases so far, for any items."""
        return mass(self.phases, x)

    def joined(
        self,
        x: Covariates,
        strong: Floats,
        before: Floats,
        phase: Phase[Rule],
        own: Floats | None = None,
        *,
        rates: Floats | None = None,
        given: Floats | None = None,
    ) -> "Seen":
        """One more phase, of items on which earlier phases would have spent `before`, with their rates if known.

        `own` are rates of the labels so far by a rule made without each. A label that shaped the new rule would else
        shape its own weight: a large residual raises the rate around it and so lowers what it counts, which is a bias.
        Where the rule was made while answers were out, they are of the labels that there were: the first ones.
        A phase that goes by the features alone leaves weak ratings that were bought before it out of everything.
        """
        old, x = (self.without_weak(), x.without_weak()) if phase.by_features else (self, x)
        earlier = phase.rates(self.mass, old.x)
        now = phase.rates(before, x) if rates is None else rates
        if own is not None and own.size:
            earlier[np.flatnonzero(self.labelled)[: own.size]] = own
        earned = np.concatenate([self.mass + phase.items * earlier, before + phase.items * now])
        labels, phases = np.concatenate([self.strong, strong]), (*self.phases, phase)
        chances = given if self.given is None or given is None else np.concatenate([self.given, given])
        return Seen(old.x.joined(x), labels, phases, earned, chances, old.prior)


def mass(phases: Sequence[Phase[Any]], x: Covariates, *said: Floats, levels: tuple[int, ...] = ()) -> Floats:
    """Σ T_j π_j of any items over phases, each rule told what came before it; items × `levels` for a chain."""
    total = np.zeros((x.items, *levels))
    for phase in phases:
        total = total + phase.items * phase.rates(total, x, *said)
    return total


# What is learned


@dataclass(frozen=True, slots=True, eq=False)
class Learned:
    """Models fitted to labels, and what each label looks like to a fit without it."""

    x: Covariates  # labelled items
    strong: Floats
    weights: Floats  # 1/π̄
    model: RatingModel
    unseen: Floats  # f of each label from the others
    variance: float  # V
    bounds: tuple[float, float]
    binary: bool
    level: Floats | None = None  # by a prior: u with each label over u without it; None: by labels alone

    @property
    def by_prior(self) -> bool:
        """Whether labels are so few that what scores usually mean counts, too."""
        return self.level is not None

    @property
    def residual(self) -> Floats:
        """H − f with f from the other labels."""
        return np.asarray(self.strong - self.unseen)

    @property
    def squared(self) -> Floats:
        """(H − f)² for planning, plus a few pseudo-labels' worth of a useless weak rater, spread over all labels.

        Labels that show no error are no proof that there is none, the less so the fewer they are. V counts a label at
        either end of the scale; as far as it rests on these, f is taken to miss them as well. Else labels that all
        agree would make any f look perfect. With a prior, which knows of errors not seen: f(1 − f).
        """
        if self.by_prior:
            return self.unseen * (1 - self.unseen)
        low, high = _ends(self.bounds)
        missed = self.mean((self.unseen - low) ** 2 + (self.unseen - high) ** 2)
        return self.residual**2 + (_PRIOR_LABELS * self.variance + self.unproven**2 * missed) / self.strong.size

    @property
    def unproven(self) -> float:
        """Share of V that comes from the pseudo-labels at the ends of the scale: 1 where all labels agree."""
        seen = self.mean((self.strong - self.mean(self.strong)) ** 2)
        n = self.strong.size
        return min(max(1.0 - n * seen / ((n + 2) * self.variance), 0.0), 1.0)

    def mean(self, values: Floats) -> float:
        """Weighted mean over the labels."""
        return float(np.dot(self.weights, values) / self.weights.sum())

    def means_without(self, values: Floats) -> Floats:
        """Weighted means, leaving out each label in turn."""
        w = self.weights
        return np.asarray((float(np.dot(w, values)) - w * values) / (float(w.sum()) - w))

    def own_error(self, error: LearnedError) -> Floats:
        """u of each label for its own weight: without a large residual a fitted u is lower everywhere."""
        own = error.own(self.unseen, self.x)
        if self.level is not None:
            return own * self.level
        if error.kind != "fitted":
            return own
        return np.asarray(own * self.mean(self.squared) / self.means_without(self.squared))


def _fitted(seen: Seen) -> Learned:
    """f fitted to the labels, each weighted by 1/π̄."""
    use, prior = seen.labelled, seen.by_prior
    h = seen.strong[use]
    if prior is not None:
        return _by_prior(seen, prior)
    if h.size < FEWEST_TO_LEARN:
        raise InputError(f"auto needs two strong ratings to learn from; there are {h.size}")
    x, weights = seen.x.rows(use), 1.0 / seen.rates()[use]
    bounds, binary = rating_bounds(h)
    model, unseen = fit_rating(Basis.of(seen.x), x, h, weights, bounds=bounds, factor=seen.text_factor)
    return Learned(x, h, weights, model, unseen, _variance(h, weights, bounds), bounds, binary)


def _by_prior(seen: Seen, prior: ScorePrior) -> Learned:
    """f and u by few labels and what scores usually mean; V is that of 0/1 ratings with f's mean over all items."""
    use = seen.labelled
    x, h, bounds = seen.x.rows(use), seen.strong[use], (0.0, 1.0)
    found = prior.posterior(x.weak, h, seen.x.weak)
    model = RatingModel.by_score(found.curve)
    mean = float(model.predict(seen.x).mean())
    return Learned(
        x, h, 1.0 / seen.rates()[use], model, found.unseen, mean * (1 - mean), bounds, is_binary(h), found.level
    )


def _variance(h: Floats, weights: Floats, bounds: tuple[float, float]) -> float:
    """V with a pseudo-label at either end of the scale: a few labels that agree do not prove that all do."""
    w = weights / weights.sum()
    mean = float(np.dot(w, h))
    low, high = _ends(bounds)
    n = h.size
    centre = (n * mean + low + high) / (n + 2)
    total = n * float(np.dot(w, (h - centre) ** 2)) + (low - centre) ** 2 + (high - centre) ** 2
    return total / (n + 2)


def _ends(bounds: tuple[float, float]) -> tuple[float, float]:
    """The ends of the scale; they differ even where all labels are equal."""
    return bounds if bounds[1] > bounds[0] else (bounds[0] - 0.5, bounds[0] + 0.5)
