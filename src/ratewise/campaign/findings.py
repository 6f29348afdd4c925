"""What a report says beyond the estimate: where judge and people differ, slices, calibration, more money."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ratewise.campaign.annotators import Z, wilson
from ratewise.campaign.estimates import LOOK_NOW, Look, pooled_of
from ratewise.campaign.history import History
from ratewise.campaign.items import LoggedItems
from ratewise.campaign.planner import UNIT
from ratewise.campaign.snapshot import Snapshot
from ratewise.core.checks import Floats
from ratewise.core.estimate import Estimate, on_scale
from ratewise.core.ratings import Mask
from ratewise.design.rounds import learned_rating
from ratewise.design.seen import FEWEST_TO_LEARN
from ratewise.errors import InputError
from ratewise.questions.rated import Pooled, estimate_pooled
from ratewise.store import audit
from ratewise.tables.table import no_column

MOST_DIFFERENCES = 10
_MOST_SLICES = 12  # of one column; more of them make no table
_MOST_TO_READ = 100_000  # items whose columns are read unasked
_ITEMS_FOR_COLUMNS = 1_000  # whose cells say whether a column makes slices
_LONGEST_WORD = 60  # characters of a slice's name
_TIMES = (1.5, 2.0, 4.0)


@dataclass(frozen=True, slots=True)
class Difference:
    """One item on which the weak and the strong rating differ."""

    id: str
    weak: float
    strong: float
    texts: tuple[tuple[str, str], ...]  # its columns of text with their names, but for ratings


@dataclass(frozen=True, slots=True)
class CampaignSlice:
    """The items of one slice."""

    column: str
    name: str
    items: int  # in the pool
    labels: int
    estimate: Estimate | None  # None: too few labels


@dataclass(frozen=True, slots=True)
class Outlook:
    """The precision to expect if so much had been spent in the same way."""

    times: float
    spend: float
    half_width: float


def differences(now: Snapshot) -> tuple[Difference, ...]:
    """The items on which first and last rater differ most; by the learned rating where their scales differ."""
    looked = now.state.history.looked
    strong, weak = looked.values[:, -1], looked.x.weak
    known = ~np.isnan(strong) & looked.x.rated
    if len(now.spec.raters) < 2 or not known.any():
        return ()
    against, seen = weak, now.state.history.seen
    if weak[known].min() < now.spec.scale.low or weak[known].max() > now.spec.scale.high:
        if seen is None or np.count_nonzero(seen.labelled) < FEWEST_TO_LEARN:
            return ()
        against = learned_rating(seen)[0]
    gap = np.where(known, np.abs(strong - against), -1.0)
    least = 0.5 * (now.spec.scale.high - now.spec.scale.low) if now.spec.scale.kind == "binary" else 0.0
    order = np.argsort(-gap, kind="stable")[:MOST_DIFFERENCES]
    return tuple(_difference(now, int(i), weak, strong) for i in order if gap[i] > least)


def _difference(now: Snapshot, position: int, weak: Floats, strong: Floats) -> Difference:
    [row] = audit.item_contents(now.store, position, position + 1)
    return Difference(str(row.id), float(weak[position]), float(strong[position]), item_texts(now, position))


def item_texts(now: Snapshot, position: int) -> tuple[tuple[str, str], ...]:
    """What an item says: its columns of text, lists and objects with their names, but for ratings."""
    [row] = audit.item_contents(now.store, position, position + 1)
    read = {column for rater in now.spec.raters for column in rater.reads}
    shown = {name for rater in now.spec.raters for name in getattr(rater, "show", ())}
    return tuple(
        (name, value or "(empty)" if isinstance(value, str) else json.dumps(value, ensure_ascii=False, indent=2))
        for name, value in json.loads(row.content).items()
        if name in shown or (isinstance(value, str | list | dict) and value != row.id and name not in read)
    )


# People


def human_only(history: History, now: Snapshot, last: Look = LOOK_NOW) -> Estimate | None:
    """The estimate from the strong ratings of closed rounds alone, each counted by its rate; None for too few.

    Without a weak rating the difference estimator is the ratio mean. Its interval may be looked at after every round,
    or is the one to end with at the `last` look, as that of the estimate beside it. `None` too for strata and clusters.
    """
    pooled = _pooled(history, now, last)
    if pooled is None or pooled.items.labels < 2:
        return None
    terms = replace(pooled.terms, method="regression", variance_factor=1.0)
    try:
        return estimate_pooled(Pooled(terms, replace(pooled.items, weak=np.zeros_like(pooled.items.weak))))
    except InputError:  # such as missing answers only
        return None


def _pooled(history: History, now: Snapshot, last: Look) -> Pooled | None:
    """What the estimate is computed from, of one weak and one strong rater; None for strata and clusters."""
    pair = history.seen is not None and history.looked.clusters is None and now.facts.inputs is None
    return pooled_of(history, now.reader.terms.wanted, last) if pair else None


def judge_and_people(now: Snapshot) -> list[str]:
    """How often the weak rater and people agree, in a sentence; none without a weak rater, or before there are labels.

    A score is taken for the nearest end of the scale where people say one end or the other. Items that were drawn more
    often count less, as in the estimate.
    """
    weak, strong, weights = _rated_by_both(now)
    if now.spec.weak is None or weak.size < 2:
        return []
    names, count = f"{now.spec.weak.name} and {now.spec.strong.name}", weak.size
    low, high = now.spec.scale.low, now.spec.scale.high
    if now.spec.scale.kind == "binary" and weak.min() >= low and weak.max() <= high:
        equal = np.where(weak > 0.5 * (low + high), strong, 1.0 - strong)  # 0.5 where two people differ: half agrees
        share = float(np.average(equal, weights=weights))
        return [f"{names} agree on {share:.0%} of items (by {count:,} answers, a score above the middle taken as yes)"]
    if np.ptp(weak) == 0 or np.ptp(strong) == 0:
        return []
    return [f"correlation of {names}: {float(np.corrcoef(weak, strong)[0, 1]):.2f} on {count:,} items"]


def _rated_by_both(now: Snapshot) -> tuple[Floats, Floats, Floats]:
    """Weak ratings, strong ratings and weights of items that have both; none for chains and without a weak rater."""
    history = now.state.history
    seen, weak = history.seen, history.looked.x.weak
    if now.spec.weak is None or seen is None or weak.size != seen.strong.size:
        return np.empty(0), np.empty(0), np.empty(0)
    both = history.looked.x.rated & seen.labelled
    return weak[both], seen.strong[both], 1.0 / seen.rates()[both]


# Slices


def slices(now: Snapshot, columns: Sequence[str] | None = None) -> tuple[CampaignSlice, ...]:
    """An estimate for every word of some columns; by default, of the features that are words.

    Each item has the rate of the whole campaign, and its rating is predicted by what all labels teach. Labels that were
    known values of their items when the campaign began are so in their slices, too. Where items were chosen by strata
    or belong together, there are none yet.
    """
    history, facts, spec = now.state.history, now.facts, now.spec
    coded = json.loads(now.store.meta("codings") or "[]")
    named = [one["name"] for one in coded if one.get("words") is not None] if columns is None else list(columns)
    if not named or (columns is None and facts.items > _MOST_TO_READ):
        return ()
    pooled = _pooled(history, now, now.last_look)
    if pooled is None or pooled.items.labels < FEWEST_TO_LEARN:
        return ()
    contents = [json.loads(row.content) for row in audit.walk(audit.item_contents, now.store, facts.items)]
    for name in named:
        if name not in contents[0]:
            raise no_column(spec.items.table, name, tuple(contents[0]))
    last = LoggedItems(spec, now.store, facts).known(facts.items - facts.known, facts.items) if facts.known else None
    known, out = np.empty(0) if last is None else last, []  # of the last items, which are never looked at
    for column in named:
        words = np.array(["" if (said := content.get(column)) is None else str(said) for content in contents], object)
        for name, count in sorted(Counter(words.tolist()).most_common(_MOST_SLICES)):
            here = words == name
            empty = CampaignSlice(column, name, count, 0, None)
            out.append(_slice(now, empty, pooled, here[: history.items], known[here[here.size - known.size :]]))
    return tuple(out)


def columns(now: Snapshot) -> list[str]:
    """Columns that slices may be made of: those with a few words that no rater reads or sees, and features."""
    rows = audit.item_contents(now.store, 0, min(now.facts.items, _ITEMS_FOR_COLUMNS))
    contents = [json.loads(row.content) for row in rows]
    read = {column for rater in now.spec.raters for column in (*rater.reads, rater.price_column)}
    items, start = now.spec.items, now.spec.start
    read |= {items.id or "id", items.uncertainty, items.clusters}
    read |= set() if start is None else {start.labels, start.drawn}
    named = [name for name in contents[0] if name in items.features or name not in read]
    return [name for name in named if _makes_slices([content.get(name) for content in contents])]


def _makes_slices(cells: Sequence[object]) -> bool:
    """Whether a column has at least two words, and no more than a table of slices shows."""
    plain = all(isinstance(cell, str | bool | int | None) and len(str(cell)) <= _LONGEST_WORD for cell in cells)
    words = {str(cell) for cell in cells}
    return plain and 2 <= len(words) <= _MOST_SLICES


def _slice(now: Snapshot, empty: CampaignSlice, pooled: Pooled, here: Mask, known: Floats) -> CampaignSlice:
    """One slice; `known` are the ratings of its items that are never looked at."""
    items, level, ends = pooled.items.part(here), now.spec.level, now.reader.terms.wanted.bounds
    labels = items.labels
    rows = empty.items * now.facts.pool / now.facts.items  # of the slice, where the items are the first of a pool
    few = replace(empty, labels=labels + known.size)
    if labels < FEWEST_TO_LEARN:
        return few
    terms = replace(
        pooled.terms, level=level, level_at=level, unseen=0.0, anytime=False, known=known.size,
        pool_size=rows - known.size if now.spec.estimand == "pool" else None,
        known_mean=float(known.mean()) if known.size else 0.0,
    )  # fmt: skip
    try:
        return replace(few, estimate=estimate_pooled(Pooled(terms, items)).within(ends))
    except InputError:  # such as missing answers only
        return few


# More money


def outlook(now: Snapshot) -> tuple[Outlook, ...]:
    """Half-widths to expect of more money spent in the same way.

    Squared errors fall as 1/money; in a pool that was looked at whole, as rates rise, to 0 where everything is rated.
    What missing answers add stays: of more answers, as large a share will not come.
    """
    found, came, spent = now.estimate, now.came, float(now.status.spent)
    if found is None or found.interval is None or came is None or not came.standard_error or spent <= 0:
        return ()
    half, squared = max(0.5 * (found.interval[1] - found.interval[0]) - found.unanswered, 0.0), came.standard_error**2
    shares = {times: _share_left(now, squared, times) for times in (1.0, *_TIMES)}
    return tuple(Outlook(n, n * spent, found.unanswered + half * math.sqrt(left)) for n, left in shares.items())


def _share_left(now: Snapshot, squared: float, times: float) -> float:
    """The share of the squared error that is left with so many times the money."""
    history, pool = now.state.history, now.spec.estimand == "pool"
    seen = history.seen
    if not pool or seen is None or np.count_nonzero(seen.labelled) < FEWEST_TO_LEARN:
        return 1.0 / times
    known = seen.learned
    if history.items < now.facts.items:
        left = known.variance / now.facts.pool
        return max((squared + left) / times - left, 0.0) / squared
    rates, spent = 1.0 / known.weights, float(now.status.spent)
    labels = np.count_nonzero(seen.labelled) * now.state.terms.prices[-1] * UNIT
    more = 1.0 + (times - 1.0) * spent / labels if labels > 0 else math.inf  # weak ratings are there already
    before, after = (known.mean(known.squared * (1.0 / r - 1.0)) for r in (rates, np.minimum(more * rates, 1.0)))
    return after / before if before > 0 else 1.0 / times


_BINS = 8
_FEWEST = 5  # labels in a bin


@dataclass(frozen=True, slots=True)
class Bin:
    """Items that lie together: how many, where, and the mean of something with its ends."""

    items: int
    x: float
    y: float
    low: float | None = None
    high: float | None = None


def calibration(now: Snapshot) -> tuple[Bin, ...]:
    """The mean strong rating of items by their weak rating, each counted by its rate; none with too few labels."""
    (x, y, weights), out = _rated_by_both(now), []
    for at in _parts(x, fewest=_FEWEST):
        w = weights[at] / weights[at].sum()
        mean, worth = float(w @ y[at]), float(1.0 / (w @ w))
        if now.spec.scale.kind in {"binary", "pairwise"}:  # a tie, as a half, varies less than Wilson's yes and no
            held = wilson(mean * worth, worth)
            low, high = min(held[0] or 0.0, mean), max(held[1] or 0.0, mean)  # which rounding may have passed
        else:
            half = Z * float(np.sqrt(w @ (y[at] - mean) ** 2 / max(worth - 1.0, 1.0)))
            low, high = on_scale((mean - half, mean + half), now.reader.terms.wanted.bounds)
        out.append(Bin(int(at.size), float(w @ x[at]), mean, low, high))
    return tuple(out)


def rates_by_uncertainty(now: Snapshot) -> tuple[Bin, ...]:
    """The mean rate of items by the root of the squared error that was expected of them; none where one rate held."""
    history = now.state.history
    seen = history.seen
    rule = None if seen is None else next((p.rule for p in reversed(seen.phases) if p.rule is not None), None)
    if seen is None or rule is None:
        return ()
    expected = np.sqrt(np.maximum(rule.u(history.looked.x), 0.0))
    parts = _parts(expected)
    rates = seen.rates()
    return tuple(Bin(int(at.size), float(expected[at].mean()), float(rates[at].mean())) for at in parts)


def _parts(x: Floats, fewest: int = 1) -> list[np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """Rows in a few parts of about one size, by their x; equal ones stay together."""
    values, place = np.unique(x, return_inverse=True)
    counts = np.bincount(place, minlength=values.size)
    wanted = max(x.size / _BINS, fewest, 1)
    part, filled, number = np.zeros(values.size, dtype=np.intp), 0.0, 0
    for i, count in enumerate(counts.tolist()):
        if filled >= wanted:
            number, filled = number + 1, 0.0
        part[i], filled = number, filled + count
    found = [np.flatnonzero(part[place] == k) for k in range(number + 1)] if x.size else []
    return [at for at in found if at.size >= fewest]
