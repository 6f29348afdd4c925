"""Labels that are there already, and a new draw beside them (METHODS section 13).

Old labels were drawn with chances p₀; the new draw skips them and takes any other item with chance p₁. Whether an item
ends with a label then has the chance

    π = 1 − (1 − p₀)(1 − p₁)

and the pooled estimate weighs every label, old or new, by 1/π. The best π for the money is clip(γ·sqrt(u), p₀, 1): what
old labels have given already is not bought again. u is learned from the old labels, so the π of an old label comes from
a u that has not seen it: else a large residual would raise the rate around it and so lower what it counts itself.

Labels that somebody picked have no p₀. For a pool's mean they are the known values of their items, which count with
π = 1, and the draw is about the others alone. For a population's mean they only teach: they are drawn like any other
item, and those that are not drawn are set aside.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ratewise.core.checks import Floats, share
from ratewise.core.messages import Message, argument
from ratewise.core.names import Estimand, PolicyName
from ratewise.core.ratings import LARGEST_SCALE, Mask
from ratewise.errors import InputError, TableError
from ratewise.learn.error_model import DEFAULT_FLOOR_SHARE
from ratewise.questions.goal import PlanGoal
from ratewise.questions.pilot import Pilot
from ratewise.questions.policies import PlannedPolicy
from ratewise.tables import Table

AT_RANDOM, BY_HAND = "at random", "by hand"
_STEPS = 200  # of a bisection, to the last bit
_FEWEST = 50  # labels that u is fitted to; with fewer it is one number
_NEAR_TIE = 0.01  # a simpler policy is preferred unless another has a variance smaller by more than this share


@dataclass(frozen=True, slots=True, eq=False)
class Before:
    """What old labels have given: p₀ of every row, and which rows cannot be asked again."""

    drawn: str
    rates: Floats  # p₀
    labelled: Mask
    known: bool  # the labels are known values of their items
    teach: bool  # the labels only teach

    @property
    def askable(self) -> Mask:
        """Rows whose label would have to be paid for."""
        return ~self.labelled

    def total(self, wanted: Floats) -> Floats:
        """π of rows whose chance is to be `wanted`: not less than what it is already."""
        return np.maximum(wanted, self.rates)

    def new(self, total: Floats) -> Floats:
        """p₁, the probability of the new draw that gives this π."""
        rest = 1.0 - self.rates
        return np.divide(total - self.rates, rest, out=np.ones(total.size), where=rest > 0)

    def labels(self, wanted: Floats) -> float:
        """Expected number of new labels."""
        return float(self.new(self.total(wanted))[self.askable].sum())


def read_before(table: Table, strong: str, drawn: str, estimand: Estimand) -> Before:
    """p₀ by how the old labels were drawn: "at random", "by hand", or the name of a column of rates."""
    labelled = ~np.isnan(table.numbers(strong, missing="allow"))
    n = table.rows
    if drawn == AT_RANDOM:
        return Before(drawn, np.full(n, labelled.mean()), labelled, known=False, teach=False)
    if drawn == BY_HAND:
        known = estimand == "pool"
        return Before(drawn, np.where(labelled & known, 1.0, 0.0), labelled, known=known, teach=not known)
    return Before(drawn, drawn_rates(table, drawn, labelled), labelled, known=False, teach=False)


def drawn_rates(table: Table, column: str, labelled: Mask, *, key: str = "drawn") -> Floats:
    """The rates that labels were drawn with, by a column of the table that this key names."""
    if column not in table.columns:
        raise InputError(
            f"{key} is {column!r}; write 'at random', 'by hand', or the name of a column of rates of {table.name}"
        )
    rates = table.numbers(column)
    bad = ~((rates >= 0) & (rates <= 1)) | (labelled & (rates == 0))
    if bad.any():
        row = int(np.argmax(bad)) + 1
        raise TableError(f"row {row} of {table.name} has no rate that it can have been drawn with in column {column!r}")
    return rates


Solved = tuple[PlannedPolicy, Floats, Floats]
"""A policy; π of all rows, each old label's by a rule made without it; the squared error by all labels but each."""


@dataclass(frozen=True, eq=False)
class BesideLabels:
    """What old labels have taught and given, and what new ones are to reach."""

    pilot: Pilot
    before: Before
    goal: PlanGoal

    @property
    def by_price(self) -> bool:
        """Whether the least money for a target is wanted, and not the least error for a budget."""
        return self.goal.budget is None

    def random(self) -> Solved:
        """One rate for all."""
        even = np.ones(self.before.labelled.size)
        policy, rates, without = self._solved(even, even[self.before.labelled], 0.0)
        return replace(policy, rate=policy.scale, scale=None, floor=None), rates, without

    def active(self) -> Solved:
        """Rates that follow u(x), each label's by a u that has not seen it.

        Where u is fitted, that is on the level of u with it, since the same money is spent.
        """
        floor = (
            DEFAULT_FLOOR_SHARE
            if self.goal.floor is None
            else share(self.goal.floor, name="floor", zero=True, one=True)
        )
        squared, unseen = self.pilot.squared, self.pilot.held_out_error
        if self.pilot.error_source == "fitted" and squared.size >= _FEWEST:
            rest = (squared.sum() - squared) / (squared.size - 1)
            unseen = unseen * squared.mean() / np.maximum(rest, 1e-300)
        return self._solved(np.sqrt(self.pilot.error), np.sqrt(unseen), floor)

    def _solved(self, root: Floats, unseen: Floats, floor: float) -> Solved:
        """π = clip(γ·root, floor, 1) beside p₀, for as many labels as the budget pays for, or for the target.

        `root` is sqrt(u) of all rows, `unseen` that of the labels; `floor` is a share of γ·mean(root).
        """
        least, goal, before = floor * float(root.mean()), self.goal, self.before

        def rates(scale: float) -> tuple[Floats, Floats]:
            of_all, of_labels = (np.clip(scale * np.maximum(x, least), 1e-12, 1.0) for x in (root, unseen))
            return of_all, of_labels

        def enough(scale: float) -> bool:
            wanted, own = rates(scale)
            if goal.budget is None:
                return self._variance(own) <= (goal.target_se or 0.0) ** 2
            return before.labels(wanted) >= min(goal.budget / goal.strong_cost, float(before.askable.sum()))

        low, high = 0.0, LARGEST_SCALE
        for _ in range(_STEPS):
            middle = float(np.sqrt(max(low, 1e-12) * high))
            low, high = (low, middle) if enough(middle) else (middle, high)
        wanted, own = rates(high)
        total = wanted.copy()
        total[self.pilot.labelled] = own
        pi, labels, variance = before.total(total), before.labels(wanted), self._variance(own)
        spend, rival = labels * goal.strong_cost, self.base.expected_se**2
        policy = PlannedPolicy(
            error_times_budget=spend * variance,
            error_ratio=variance / rival if rival > 0 else math.inf,
            expected_se=math.sqrt(variance),
            items=float(root.size),
            strong_labels=labels,
            spend=spend,
            mean_rate=float(pi.mean()),
            scale=high,
            threshold=1.0 / high,
            floor=min(high * least, 1.0),
        )
        return policy, pi, self._without(own)

    # Squared error of the pooled estimate at given rates of the labels, from their squared residuals

    def _variance(self, own: Floats) -> float:
        weights, added = self._parts(own)
        return self._whole(float(np.average(added, weights=weights)))

    def _without(self, own: Floats) -> Floats:
        weights, added = self._parts(own)
        rest = np.maximum(weights.sum() - weights, 1e-300)
        return np.array([self._whole(x) for x in (np.dot(weights, added) - weights * added) / rest])

    def _parts(self, own: Floats) -> tuple[Floats, Floats]:
        squared, given = self.pilot.squared, self.before.rates[self.before.labelled]
        if self.before.known:  # the labels stand for the others, which have no rate of their own yet
            return np.ones(squared.size), squared * (1.0 / own - 1.0)
        weights = np.ones(squared.size) if self.before.teach else 1.0 / given
        return weights, squared * (1.0 / np.maximum(own, given) - 1.0)

    def _whole(self, added: float) -> float:
        n, V = self.before.labelled.size, self.pilot.variance
        if self.before.known:
            return (n - self.pilot.strong.size) * added / n**2
        return (added + (V if self.goal.estimand == "population" else 0.0)) / n

    # Strong ratings alone

    @cached_property
    def base(self) -> PlannedPolicy:
        """Strong ratings alone: those that the budget pays for, that reach the target, or all there are."""
        goal, high = self.goal, float(self.before.askable.sum())
        if goal.budget is not None:
            labels = min(goal.budget / goal.strong_cost, high)
        else:
            low, aim = 0.0, (goal.target_se or 0.0) ** 2
            for _ in range(_STEPS):
                middle = 0.5 * (low + high)
                low, high = (low, middle) if self._alone(middle) <= aim else (middle, high)
            labels = high
        error, spend = math.sqrt(self._alone(labels)), labels * goal.strong_cost
        items = labels + (0 if self.before.teach else int(self.before.labelled.sum()))
        rate = min(items / self.before.labelled.size, 1.0)
        return PlannedPolicy(spend * error**2, 1.0, error, items, labels, spend, rate)

    def _alone(self, new: float) -> float:
        """Squared error of old and new strong ratings, or only of new ones where the old ones do not count."""
        n, old, V = self.before.labelled.size, int(self.before.labelled.sum()), self.pilot.variance
        if self.before.known:
            others = n - old
            return (others / n) ** 2 * V * max(1.0 / max(new, 1e-9) - 1.0 / others, 0.0)
        labels = new if self.before.teach else old + new
        lost = 1.0 / n if self.goal.estimand == "pool" else 0.0
        return float(V * max(1.0 / max(labels, 1e-9) - lost, 0.0))

    # Which one to take, and what to say of it

    def recommended(self, random: Solved, active: Solved) -> PolicyName:
        """The simpler policy on a near tie. Strong ratings alone save nothing: weak ones are there."""
        even, sharp = (p.strong_labels if self.by_price else p.expected_se**2 for p, *_ in (random, active))
        return "active" if sharp < (1 - _NEAR_TIE) * even else "random"

    def own_rates(self, random: Solved, active: Solved) -> Floats:
        """The rate of each old label, by the policy that would have been recommended without it."""
        even, sharp = (rates[self.before.labelled] for _, rates, _ in (random, active))
        if self.by_price:
            return sharp if self.recommended(random, active) == "active" else even
        return np.where(active[2] < (1 - _NEAR_TIE) * random[2], sharp, even)

    def reason(self, name: PolicyName, best: PlannedPolicy, says: Callable[[PlannedPolicy], str]) -> str:
        """The recommendation in words; `says` tells the precision of a policy."""
        how = "at one rate for all" if name == "random" else "most often where the weak rater is likely wrong"
        counted = "teach and are free" if self.before.teach else "count and are free"
        return (
            f"The {int(self.before.labelled.sum()):,} labels that are there {counted}. Buy about "
            f"{best.strong_labels:,.0f} more for {best.spend:,.2f}, {how}: {says(best)} from all labels together, "
            f"instead of {says(self.base).removesuffix(' points')} without the weak rater "
            f"(standard error {best.expected_se:.4g} instead of {self.base.expected_se:.4g})."
        )

    def notes(self, best: PlannedPolicy) -> tuple[str, ...]:
        """What labels picked by hand count, and whether the weak rating makes the plan worse."""
        notes = ["weak ratings are in the table already and cost nothing more"] if self.goal.weak_cost > 0 else []
        if self.before.known:
            notes.append("labels picked by hand count as known values of their items, for this pool's own mean only")
        if self.before.teach:
            only = "labels picked by hand can only teach for a population's mean; for this pool's own mean they count"
            notes.append(Message(f"{only}: {argument('estimand pool')}"))
        base = self.base
        if best.spend > base.spend if self.by_price else best.expected_se > base.expected_se:
            if self.pilot.calibration is None and self.pilot.models is None:
                worse = "the weak rating as it stands makes the expected error larger than strong ratings alone would"
                notes.append(Message(f"{worse}: map it to the strong one first ({argument('calibrate auto')})"))
            else:
                worse = "even calibrated, the weak rating makes the expected error no smaller than strong ratings alone"
                notes.append(f"{worse} would")
        return tuple(notes)
