"""What a campaign's labels say about it, in words: was the weak rater worth it, did u help, did anything move."""

import math
from dataclasses import dataclass

import numpy as np
from scipy import special

from ratewise.core.checks import Floats
from ratewise.core.estimate import Estimate
from ratewise.core.ratings import Mask
from ratewise.core.result import Result
from ratewise.design.seen import LEAST_RATE, Learned, Seen, mass

_FALSE_ALARM = 1e-3
_HEAVY = 0.1  # a single label that moves the estimate by this share of its interval is worth a word


@dataclass(frozen=True, slots=True, repr=False)
class Diagnosis(Result):
    """Figures behind the words; `None` where everything was asked about and there is nothing to compare."""

    labels: int
    alone: bool  # weak ratings were given up: the last round bought strong ratings and nothing else
    missing: int  # strong ratings that were asked for and did not come; figures leave them aside
    effective_labels: float | None  # strong ratings alone that would be as precise
    unexplained: float | None  # E[(H − f)²] / V: what the learned rating leaves
    against_one_rate: float | None  # variance over that of one rate for all, with as many labels
    drift: float | None  # p-value: do residuals differ between rounds?
    largest_weight: float | None  # 1/π̄ of a label, over its mean
    largest_pull: float | None  # how far one label moves the estimate, over the interval's width
    by_features: bool = False  # weak ratings were not bought: the features say as much at no cost

    def words(self) -> tuple[str, ...]:
        """One sentence each, the plain ones first."""
        labels = f"{self.labels:,} strong rating{'' if self.labels == 1 else 's'}"
        if self.alone:
            return (f"{labels} alone: the weak rater was not worth its price",)
        if self.effective_labels is None or self.unexplained is None:
            return (f"{labels}, which do not tell yet what the weak rater is worth",)
        helped = "the features" if self.by_features else "the weak rater"
        aside = f" (without the {self.missing:,} that will not come)" if self.missing else ""
        said = [f"{labels}, as precise as {self.effective_labels:,.0f} without {helped}{aside}"]
        if self.by_features:
            said.append("weak ratings were not worth buying: the features of all items say as much at no cost")
        said.append(f"predictions explain {1 - self.unexplained:.0%} of what strong ratings differ by")
        if self.against_one_rate is not None:
            said.append(_rates_in_words(self.against_one_rate))
        if self.drift is not None and self.drift < _FALSE_ALARM:
            said.append(
                f"residuals differ between rounds more than chance explains (p = {self.drift:.1g}): did the items, the "
                "weak rater or the strong rater change on the way?"
            )
        if self.largest_pull is not None and self.largest_pull > _HEAVY:
            said.append(
                f"one label moves the estimate by {self.largest_pull:.0%} of its interval (weight "
                f"{self.largest_weight:.1f} times the mean): look at it again, and get more labels if you can"
            )
        return tuple(said)


def _rates_in_words(ratio: float) -> str:
    if ratio < 0.99:
        return f"asking more often where predictions are likely wrong made the squared error {1 - ratio:.0%} smaller"
    if ratio > 1.01:
        less = f"asking at random would have made the squared error {1 - 1 / ratio:.0%} smaller"
        return f"{less}: predictions were wrong elsewhere than expected"
    return "choosing items by uncertainty did as well as choosing at random"


def diagnose(
    seen: Seen, estimate: Estimate, *, missing: Mask | None = None, pool_size: float = math.inf
) -> Diagnosis:  # fmt: skip
    """Diagnostics from the labels alone, each predicted without itself; `pool_size` for the pool's own mean.

    Where answers are `missing` it is the estimate from those that came: what is missing widens the reported interval,
    and says nothing about the weak rater.
    """
    n = int(np.count_nonzero(seen.labelled))
    asked = seen.labelled if missing is None else seen.labelled | missing
    lost = int(np.count_nonzero(asked)) - n
    if asked.all() or n < 2 or estimate.standard_error is None:
        return Diagnosis(n, seen.alone, lost, None, None, None, None, None, None)
    known, rates = seen.learned, seen.rates()[seen.labelled] * (n / (n + lost))
    M = known.mean(known.residual**2)
    active = known.variance + known.mean(known.residual**2 * (1.0 / rates - 1.0))
    uniform = known.variance + M * (seen.items / n - 1.0)  # (V + E[(H−f)²] (1/p − 1)) at the same number of labels
    weight = 1.0 / rates
    pull = np.abs(known.residual) * weight / seen.items
    width = None if estimate.interval is None else estimate.interval[1] - estimate.interval[0]
    return Diagnosis(
        labels=n,
        alone=seen.alone,
        missing=lost,
        effective_labels=known.variance / (estimate.standard_error**2 + known.variance / pool_size),
        unexplained=M / known.variance,
        against_one_rate=active / uniform,
        drift=_drift(seen, known, rates),
        largest_weight=float(weight.max() / weight.mean()),
        largest_pull=float(pull.max() / width) if width else None,
        by_features=seen.by_features,
    )


def _drift(seen: Seen, known: Learned, rates: Floats) -> float | None:
    """A chi-squared test of equal mean residuals, each label weighted as a sample of all items would be."""
    starts = np.cumsum([0, *(phase.items for phase in seen.phases)])
    phase = np.searchsorted(starts, np.flatnonzero(seen.labelled), side="right") - 1
    residual, groups, x = known.residual, [], seen.x.rows(seen.labelled)
    for k, each in enumerate(seen.phases):
        here = phase == k
        if np.count_nonzero(here) >= 10:
            drawn = 1.0 / np.maximum(each.rates(mass(seen.phases[:k], x), x), LEAST_RATE)[here]
            mean = float(np.dot(drawn, residual[here]) / drawn.sum())
            spread = float(np.dot(drawn**2, (residual[here] - mean) ** 2)) / float(drawn.sum()) ** 2
            if spread > 0:
                groups.append((mean, spread))
    if len(groups) < 2:
        return None
    means, variances = np.array(groups).T
    overall = float((means / variances).sum() / (1 / variances).sum())
    statistic = float(((means - overall) ** 2 / variances).sum())
    return float(special.chdtrc(len(groups) - 1, statistic)) if math.isfinite(statistic) else None
