"""Which interval an estimate gets, and whether there can be one."""

import numpy as np

from ratewise.core import anytime, intervals, score
from ratewise.core.case import Case
from ratewise.core.checks import Floats, share
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Ratings
from ratewise.core.tails import in_steps
from ratewise.errors import InputError

_MOST_LEVELS, _SAME = 11, 1e-9  # of a scale whose ends can be seen; levels that differ by less are one
MANY_LABELS = 400  # from here on Student-t and normal agree to 0.3 % of the width


def interval_kind(data: Ratings, case: Case) -> tuple[str, list[str]]:
    """The kind of interval, and where `auto` chose it, why."""
    if case.how.interval == "anytime" and case.how.method not in ("auto", "difference"):
        raise InputError("the anytime interval needs method 'difference': tuning on later labels would void it")
    if case.how.interval != "auto":
        return case.how.interval, []
    if is_binary(data):
        return "score", [f"interval: score, because ratings are 0 or 1 ({data.labels} labels)"]
    if case.how.bounds is not None:
        return "score", ["interval: score, because the ends of the scale are known"]
    ends = levels_seen(data)
    if ends is not None:
        return "score", [f"interval: score, on the scale from {ends[0]:g} to {ends[1]:g} that the ratings show"]
    if data.labels < MANY_LABELS:
        return "t", [f"interval: t, because there are fewer than {MANY_LABELS} labels ({data.labels})"]
    if case.codes is not None and case.codes.max() + 1 < MANY_LABELS:
        count = int(case.codes.max()) + 1
        return "t", [f"interval: t, because there are fewer than {MANY_LABELS} clusters ({count})"]
    return "normal", [f"interval: normal, because there are {data.labels} labels"]


def levels_seen(data: Ratings) -> tuple[float, float] | None:
    """Ends of a scale of a few even levels, as its ratings show them; none where they are no such levels."""
    levels = np.unique(data.strong[data.labelled])
    if not 2 <= levels.size <= _MOST_LEVELS or not in_steps(levels):
        return None
    step = float(np.diff(levels).min())
    at = (levels - levels[0]) / step
    low, high = min(levels[0], data.weak[:, 0].min()), max(levels[-1], data.weak[:, 0].max())
    if np.abs(at - np.round(at)).max() > _SAME or at[-1] > _MOST_LEVELS:
        return None
    if high - low > _MOST_LEVELS * step:
        low, high = levels[0], levels[-1]
    return float(low), float(high)


def is_binary(data: Ratings) -> bool:
    """Whether all strong ratings are 0 or 1: both of them, or one while the weak ones know no others."""
    h, g = data.strong[data.labelled], data.weak[:, 0]
    both = h.size > 0 and h.min() == 0 and h.max() == 1
    return bool(np.all((h == 0) | (h == 1)) and (both or (g.min() >= -_SAME and g.max() <= 1 + _SAME)))


def interval_of(
    s: intervals.Spread, f: Floats, delta: Floats, data: Ratings, kind: str, case: Case
) -> tuple[tuple[float, float] | None, str | None]:
    """The ends, or none; and what there is to say about them."""
    if kind == "anytime":
        why = (
            None
            if case.how.floor is not None
            else "anytime: no floor was given, so the least rate seen is taken for it"
        )
        return _anytime(delta, data, case), why
    if case.how.estimand == "pool" and np.all(data.rates == 1) and case.pool_size == data.items:
        return (s.value, s.value), "every item of the pool has its strong rating: the value is exact"
    if kind == "score":
        ends = known_ends(data, case, kind)
        low, high = scale_ends(data, case, "the score interval") if ends is None else ends
        beyond = s.value < low or s.value > high
        why = (
            f"the unbiased estimate is {s.value:.4g}, beyond the scale: the end of the scale is shown instead"
            if beyond
            else None
        )
        return score.score_interval(
            s, f, data, case.how.level, bounds=(low, high), pool_size=case.pool_size, factor=case.how.variance_factor
        ), why
    s = intervals.widened(s, case.how.variance_factor)
    if data.labels < 2:
        return None, "one strong rating gives no interval; get at least two"
    if s.variance <= 0:
        return (
            None,
            "all contributions are equal, so their spread is unknown; give bounds and interval 'score'",
        )
    if kind == "t":
        return intervals.student(s, case.how.level), None
    if kind == "bootstrap":
        rng = np.random.default_rng(case.how.seed)
        return intervals.bootstrap(s, case.how.level, resamples=case.how.resamples, rng=rng), None
    return intervals.normal(s, case.how.level), None


def known_ends(data: Ratings, case: Case, kind: str) -> tuple[float, float] | None:
    """The ends of the rating scale as given, or as ratings show them that this kind of interval goes by."""
    if case.how.bounds is not None:
        return scale_ends(data, case, "the interval")
    if is_binary(data):
        return 0.0, 1.0
    return levels_seen(data) if kind == "score" and case.how.interval == "auto" else None


def _anytime(delta: Floats, data: Ratings, case: Case) -> tuple[float, float]:
    if data.counts is not None:
        raise InputError(
            "the anytime interval goes item by item, and rows of a large table were put together; take another interval"
        )
    if case.how.estimand == "pool" or data.weak.shape[1] > 1:
        raise InputError("the anytime interval is for the population's mean with one weak rater")
    low, high = scale_ends(data, case, "the anytime interval")
    g = data.weak[:, 0]
    if g.min() < low or g.max() > high:
        raise InputError(f"the anytime interval needs weak ratings within the bounds [{low:g}, {high:g}]")
    least = float(data.rates.min()) if case.how.floor is None else share(case.how.floor, name="floor", one=True)
    if data.rates.min() < least:
        raise InputError(f"a rate of {data.rates.min():g} is below the floor {least:g} the anytime interval was told")
    return anytime.confidence_sequence(delta, bounds=(low, high), floor=least, level=case.how.level)


def scale_ends(data: Ratings, case: Case, what: str) -> tuple[float, float]:
    """The ends of the rating scale, as given or as 0/1 ratings show them; `what` needs them."""
    if case.how.bounds is None:
        if is_binary(data):
            return 0.0, 1.0
        raise InputError(Message(f"{what} needs the ends of the rating scale; give {argument('bounds=(low, high)')}"))
    low, high = case.how.bounds
    h = data.strong[data.labelled]
    if low >= high or (h.size and (h.min() < low or h.max() > high)):
        raise InputError(f"bounds ({low:g}, {high:g}) must be in order and hold every strong rating")
    return low, high
