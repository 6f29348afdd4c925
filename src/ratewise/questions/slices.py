"""`estimate_slices`: one estimate for every group of a table, and one for the whole.

Slices share no items, so each is an estimate of its own. Intervals hold one by one, or, if asked for, all at once. If
asked for, slices borrow from each other: values are shrunk toward the overall mean as far as they may differ by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from ratewise.core.checks import choice, number
from ratewise.core.estimate import TAIL, Estimate, EstimateOptions, both_ends
from ratewise.core.names import RECALIBRATIONS, Estimand, IntervalMethod, Method, Recalibration
from ratewise.core.ratings import Mask, Rated
from ratewise.errors import InputError
from ratewise.learn.text.learner import Learner
from ratewise.learn.text.reading import read_texts
from ratewise.learn.text_columns import TextColumns
from ratewise.questions.estimation import (
    estimate_rated,
    recalibrated,
    refuse_unused_weights,
    told_of_text,
    with_text,
    without_second_line,
)
from ratewise.questions.item_weights import in_proportion, whole
from ratewise.questions.large import large_relation, read_large, read_whole
from ratewise.questions.people import Strong, made_ready
from ratewise.questions.prices import Prices
from ratewise.questions.rated import DrawColumns, Rate, RatedColumns, RatedTable, read_rated
from ratewise.questions.shrinkage import FEWEST_TO_SHRINK, shrunk_means
from ratewise.questions.slice_names import in_order, slice_names
from ratewise.questions.slice_results import Slice, Slices
from ratewise.tables import Relation, TableLike, read_table
from ratewise.tables.cells import Texts
from ratewise.tables.words import Meaning, Positive, Scale, meaning_of


def estimate_slices(
    table: TableLike,
    *,
    by: str,
    weak: str | None,
    strong: Strong,
    rate: Rate = None,
    selected: str | None = None,
    clusters: str | None = None,
    bounds: tuple[float | None, float | None] = (None, None),
    positive: Positive = None,
    scale: Scale = None,
    weak_cost: float | None = None,
    strong_cost: float | None = None,
    shrink: bool = False,
    simultaneous: bool = False,
    min_labels: int = 2,
    method: Method = "auto",
    interval: IntervalMethod = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    recalibrate: Recalibration = "none",
    text: Sequence[str] = (),
    learner: str | Learner = "words",
    floor: float | None = None,
    seed: int = 0,
) -> Slices:
    """The mean strong rating of every group in column `by`, from a drawn and rated table, and of the whole.

    The other options are those of `estimate_table`; a recalibration, also one by `text`, is learned from all slices
    together. A slice with
    fewer than `min_labels` strong ratings has no estimate and says so; rows without a group are the slice "(missing)".
    `simultaneous`: all intervals hold at once with the level (Šidák's, as slices share no items; Bonferroni's where
    they share clusters). `shrink`: values shrunk toward the overall mean by a normal model; their intervals hold on
    average over slices, not for each one of them.

    Limiting cases: one slice is the whole; slices that differ by no more than chance shrink to one value.
    """
    choice(recalibrate, RECALIBRATIONS, name="recalibration")
    recalibrate = with_text(recalibrate, text, weak, strong)
    fewest = int(number(min_labels, name="min_labels", minimum=2))
    if shrink and simultaneous:
        raise InputError("shrunk intervals hold on average over slices, not all at once: choose shrink or simultaneous")
    if by == strong:
        raise InputError(f"slices by {by!r}, the strong rating itself, have no mean to estimate; name another column")
    draw = DrawColumns(rate, selected, clusters)
    relation = large_relation(table)
    plain, meaning = recalibrate == "none" and interval != "anytime", meaning_of(positive, scale)
    large, known, first = None, None, tuple[str, ...]()
    if relation is not None and plain and isinstance(strong, str):
        large = _read_large(relation, RatedColumns(strong, weak, draw), by, method, meaning)
    if large is not None:
        rated, all_groups = large, large.table.texts(by, missing="allow")
        ends = both_ends(bounds) or meaning.bounds
        how = EstimateOptions(method, interval, level, estimand, pool_size, ends, floor, seed=seed)
    else:
        ready = made_ready(
            read_whole(table, relation), strong=strong, weak=() if weak is None else (weak,), positive=positive,
            scale=scale,
        )  # fmt: skip
        ready.refuse_pool(estimand)
        read, first = ready.table, ready.notes
        how = EstimateOptions(
            method, interval, level, estimand, pool_size, ready.bounds(both_ends(bounds)), floor, seed=seed
        )
        _, all_groups = slice_names(read, by)
        refuse_unused_weights(read, rate, all_groups)
        rated = read_rated(read, RatedColumns(ready.strong, weak, draw), fewest=2)
        texts = read_texts(read, text, learner)
        known = None if texts is None else texts[0].rows(rated.rows)
    how.refuse_idle_pool_size()
    if estimand == "pool" and "weight" in rated.table.columns:  # slices that were looked at in proportions of their own
        rated.pool.refuse_left_out("its slices")
    sliced = _Sliced(rated, all_groups, how, recalibrate, fewest, known)
    overall = sliced.overall()
    found, more = sliced.slices(simultaneous)
    read_as = first + rated.notes(how)
    notes = read_as + told_of_text(rated.items, text, known) + more + _about_all(rated.items, overall, found)
    if shrink:
        found, more = _shrunk(found, how.level)
        notes += more
    spend = Prices(weak_cost, strong_cost).spend(overall.items, overall.labels, alone=weak is None)
    overall = replace(overall, spend=spend, notes=read_as + overall.notes)
    return Slices(by, tuple(found), overall, how.level, simultaneous, shrink, notes)


def _read_large(
    relation: Relation, columns: RatedColumns, by: str, method: Method, meaning: Meaning
) -> RatedTable | None:  # fmt: skip
    """The rated rows of a table that stays in its files, every row of it looked at; else nothing."""
    if "weight" in relation.columns and columns.draw.rate in (None, "rate"):
        return None  # `refuse_unused_weights` looks at it
    large = read_large(relation, columns, folds=method == "auto", by=by, meaning=meaning)
    if large is None or large.groups is None or large.looked < large.rows:
        return None
    table = read_table({by: large.groups}, name=relation.name)
    _, groups = slice_names(table, by)
    every = np.ones(table.rows, dtype=np.bool_)
    named = table.with_columns({by: groups}, replace=True)
    return RatedTable(named, large.items, every, every, large.told, False, large.pool)


@dataclass(frozen=True, slots=True, eq=False)
class _Sliced:
    """A rated table with the slice of every row, and how to estimate."""

    rated: RatedTable
    all_groups: Texts  # of all rows of the table
    how: EstimateOptions
    recalibrate: Recalibration
    fewest: int  # strong ratings of a slice that has an estimate
    text: TextColumns | None = None  # of the items

    @property
    def groups(self) -> Texts:
        """Slices of the items."""
        return self.all_groups[self.rated.rows]

    def overall(self) -> Estimate:
        """The mean of all rows: of those looked at, or by the slices' sizes where they were looked at unevenly."""
        items = self.rated.items
        if not in_proportion(self.all_groups, self.rated.looked):
            return whole(items, self.groups, self.all_groups, self.rated.how(self.how), self.recalibrate)
        return estimate_rated(items, self.rated.how(self.how), self.recalibrate, self.text)

    def slices(self, simultaneous: bool) -> tuple[list[Slice], tuple[str, ...]]:
        """Every slice, and what there is to say about their levels."""
        items, how, masks = self.rated.items, self.rated.how(self.how), _masks(self.groups)
        if self.recalibrate != "none":  # learned from all slices together
            items = replace(items, weak=recalibrated(items, kind=self.recalibrate, seed=how.seed, text=self.text))
            how = without_second_line(how)
        labels = {name: int(np.count_nonzero(~np.isnan(items.strong[mask]))) for name, mask in masks.items()}
        answered = sum(count >= self.fewest for count in labels.values())
        notes: tuple[str, ...] = ()
        if simultaneous:
            level, notes = _each_level(how.level, answered, items.clusters, self.groups)
            how = replace(how, level=level)
        found = [self._slice(name, items.part(mask), labels[name], how) for name, mask in masks.items()]
        return found, notes

    def _slice(self, name: str, items: Rated, labels: int, how: EstimateOptions) -> Slice:
        count, fewest = items.size, self.fewest
        if labels < fewest:
            many = "no strong rating" if labels == 0 else f"only {labels} strong rating{'s' if labels > 1 else ''}"
            return Slice(name, count, labels, None, f"{many}; at least {fewest} are needed")
        if how.pool_size is not None:
            others = int(np.count_nonzero(self.all_groups[~self.rated.rows] == name))
            how = replace(how, pool_size=how.pool_size / self.rated.pool.rows * (count + others))
        try:
            found = estimate_rated(items, how)
        except InputError as error:  # this slice's own data; the others are answered all the same
            return Slice(name, count, labels, None, str(error))
        found = found.within(found.bounds)
        if self.recalibrate != "none":
            found = replace(found, method=f"{found.method}, {self.recalibrate} recalibrated")
        return Slice(name, count, labels, found, None if found.interval is not None else "; ".join(found.notes))


def _masks(groups: Texts) -> dict[str, Mask]:
    """The rows of every slice, in the order they are told."""
    numbers = {name: k for k, name in enumerate(in_order(groups.tolist()))}
    at = np.fromiter(map(numbers.__getitem__, groups.tolist()), dtype=np.intp, count=groups.size)
    return {name: np.asarray(at == k) for name, k in numbers.items()}


def _about_all(items: Rated, overall: Estimate, found: Sequence[Slice]) -> tuple[str, ...]:
    """Notes that concern both the slices and the whole."""
    notes = [note for note in overall.notes if note.startswith("the whole is ")]
    each = (overall, *(one.estimate for one in found if one.estimate is not None))
    tails = [note for one in each for note in one.notes if note.startswith(TAIL)]
    notes += tails[:1]  # one line for all
    missing = 0 if items.selected is None else int(np.count_nonzero(items.selected & np.isnan(items.strong)))
    if missing:
        notes.append(f"{missing:,} answers that were asked for are missing; they are counted at both ends of the scale")
    return tuple(notes)


def _each_level(
    level: float, count: int, clusters: Texts | None, groups: Texts
) -> tuple[float, tuple[str, ...]]:  # fmt: skip
    """The level of each interval for all of them to hold: level^(1/k) where slices are independent."""
    if count < 2:
        return level, ()
    shared = clusters is not None and len(set(zip(clusters, groups, strict=True))) > len(set(clusters))
    each = 1 - (1 - level) / count if shared else level ** (1 / count)
    why = "Bonferroni, because some clusters are in several slices" if shared else "Šidák"
    return each, (f"all {count} intervals hold at once with {level:.0%}: each has {each:.2%} ({why})",)


def _shrunk(found: list[Slice], level: float) -> tuple[list[Slice], tuple[str, ...]]:
    """Values and intervals by the model for all slices; slices without an interval stay as they are."""
    use = [one for one in found if one.estimate is not None and one.estimate.interval is not None]
    if len(use) < FEWEST_TO_SHRINK:
        return found, (f"not shrunk: that needs {FEWEST_TO_SHRINK} slices with an interval, and there are {len(use)}",)
    estimates = [one.estimate for one in use if one.estimate is not None]
    value = np.array([e.value for e in estimates])
    model, shrunk = shrunk_means(value, np.array([_error(e) for e in estimates]), level=level)
    known = [e.bounds for e in estimates if e.bounds is not None]
    bounds = (min(low for low, _ in known), max(high for _, high in known)) if len(known) == len(use) else None
    by_name = {one.name: s.within(bounds) for one, s in zip(use, shrunk, strict=True)}
    note = (
        f"shrunk toward {model.mean:.4f}; slices differ by a standard deviation of about {model.between:.4f} beyond "
        "chance; the intervals hold on average over slices, the unshrunk values stand beside"
    )
    return [replace(one, shrunk=by_name.get(one.name)) for one in found], (note,)


def _error(e: Estimate) -> float:
    """Standard error that the interval speaks of: it counts few labels and ratings that are all alike."""
    assert e.interval is not None
    z = float(special.ndtri(0.5 + e.level / 2))
    return max((e.interval[1] - e.interval[0]) / (2 * z), e.standard_error or 0.0)
