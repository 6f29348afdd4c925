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

from dataclasses import dataclass

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.names import Estimand
from ratewise.core.ratings import LARGEST_SCALE, Mask
from ratewise.errors import InputError, TableError
from ratewise.questions.pilot import Pilot
from ratewise.tables import Table

AT_RANDOM, BY_HAND = "at random", "by hand"
_STEPS = 200  # of a bisection, to the last bit
_FEWEST = 50  # labels that u is fitted to; with fewer it is one number


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


@dataclass(frozen=True, slots=True, eq=False)
class Solved:
    """One policy beside the old labels."""

    scale: float
    floor: float
    rates: Floats  # π of all rows, each old label's by a rule made without it
    labels: float  # new ones, expected
    variance: float  # of the estimate
    without: Floats  # the same by all labels but each


def solve(
    pilot: Pilot, before: Before, roots: tuple[Floats, Floats], floor: float, *, labels: float | None,
    variance: float | None, of: "Variance",
) -> Solved:  # fmt: skip
    """π = clip(γ·root, floor, 1) beside p₀, for so many new labels or for a variance; `of` gives the variance of rates.

    `roots` are sqrt(u) of all rows and of the labels by a u that has not seen them; `floor` is a share of γ·mean(root).
    """
    root, unseen = roots
    least = floor * float(root.mean())

    def rates(scale: float) -> tuple[Floats, Floats]:
        of_all, of_labels = (np.clip(scale * np.maximum(x, least), 1e-12, 1.0) for x in (root, unseen))
        return of_all, of_labels

    def enough(scale: float) -> bool:
        wanted, own = rates(scale)
        return of(own) <= (variance or 0.0) if labels is None else before.labels(wanted) >= labels

    low, high = 0.0, LARGEST_SCALE
    for _ in range(_STEPS):
        middle = float(np.sqrt(max(low, 1e-12) * high))
        low, high = (low, middle) if enough(middle) else (middle, high)
    wanted, own = rates(high)
    total = wanted.copy()
    total[pilot.labelled] = own
    found = before.total(total), before.labels(wanted), of(own), of.without(own)
    return Solved(high, min(high * least, 1.0), *found)


@dataclass(frozen=True, slots=True, eq=False)
class Variance:
    """Squared error of the pooled estimate at given rates, from the labels' squared residuals."""

    pilot: Pilot
    before: Before
    estimand: Estimand

    def __call__(self, own: Floats) -> float:
        """The squared error by all labels."""
        weights, added = self._parts(own)
        return self._whole(float(np.average(added, weights=weights)))

    def without(self, own: Floats) -> Floats:
        """The squared error, leaving out each label in turn."""
        weights, added = self._parts(own)
        rest = np.maximum(weights.sum() - weights, 1e-300)
        return np.array([self._whole(x) for x in (np.dot(weights, added) - weights * added) / rest])

    def _parts(self, own: Floats) -> tuple[Floats, Floats]:
        squared, given = self.pilot.residual**2, self.before.rates[self.before.labelled]
        if self.before.known:  # the labels stand for the others, which have no rate of their own yet
            return np.ones(squared.size), squared * (1.0 / own - 1.0)
        weights = np.ones(squared.size) if self.before.teach else 1.0 / given
        return weights, squared * (1.0 / np.maximum(own, given) - 1.0)

    def _whole(self, added: float) -> float:
        n, V = self.before.labelled.size, self.pilot.variance
        if self.before.known:
            return (n - self.pilot.strong.size) * added / n**2
        return (added + (V if self.estimand == "population" else 0.0)) / n


def unseen_root(pilot: Pilot) -> Floats:
    """sqrt(u) of each label without it; where u is fitted, on the level of u with it, since the same money is spent."""
    squared = pilot.residual**2
    if pilot.error_source != "fitted" or squared.size < _FEWEST:
        return np.sqrt(pilot.held_out_error)
    rest = (squared.sum() - squared) / (squared.size - 1)
    return np.asarray(np.sqrt(pilot.held_out_error * squared.mean() / np.maximum(rest, 1e-300)))


def base_variance(pilot: Pilot, before: Before, new: float, estimand: Estimand) -> float:
    """`Variance` for strong ratings alone: old and new ones, or only new ones where the old ones do not count."""
    n, old = before.labelled.size, int(before.labelled.sum())
    if before.known:
        others = n - old
        return (others / n) ** 2 * pilot.variance * max(1.0 / max(new, 1e-9) - 1.0 / others, 0.0)
    labels = new if before.teach else old + new
    lost = 1.0 / n if estimand == "pool" else 0.0
    return float(pilot.variance * max(1.0 / max(labels, 1e-9) - lost, 0.0))
