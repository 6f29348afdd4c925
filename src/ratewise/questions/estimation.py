"""`estimate_mean` with recalibration of the weak rating, cross-fitted (METHODS section 5)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ratewise.core import estimate as core
from ratewise.core.checks import Floats, choice, number
from ratewise.core.clusters import cluster_codes
from ratewise.core.estimate import Estimate, EstimateOptions, both_ends
from ratewise.core.names import RECALIBRATIONS, Calibrator, Estimand, IntervalMethod, Method, Recalibration
from ratewise.core.ratings import Mask, Ratings
from ratewise.core.stratified import stratified, weighted
from ratewise.errors import InputError, Message, TableError, argument
from ratewise.learn.calibration import cross_calibrated
from ratewise.learn.covariates import Covariates, TextColumns
from ratewise.learn.embeddings import Learner
from ratewise.learn.features import refuse_labels
from ratewise.learn.rating_model import cluster_fitted_rating, fitted_rating
from ratewise.learn.texts import read_texts, use_note
from ratewise.questions.goal import spend_on
from ratewise.questions.rated import (
    NO_STRONG,
    RATE,
    Rate,
    RatedTable,
    Strong,
    TableColumns,
    large_relation,
    made_ready,
    read_in_files,
    read_rated,
    read_terms,
    read_whole,
    refuse_row,
    reported,
    strong_columns,
    with_votes,
)
from ratewise.tables import Table, TableLike, count_groups
from ratewise.tables.cells import Texts
from ratewise.tables.spark import SqlTable
from ratewise.tables.words import Meaning, Positive, Scale, meaning_of

_LEVEL = 0.95  # unless another one is asked for


def estimate_mean(
    weak: ArrayLike,
    strong: ArrayLike,
    rates: ArrayLike,
    *,
    method: Method = "auto",
    interval: IntervalMethod = "auto",
    level: float = 0.95,
    estimand: Estimand = "population",
    pool_size: float | None = None,
    recalibrate: Recalibration = "none",
    selected: ArrayLike | None = None,
    clusters: ArrayLike | None = None,
    bounds: tuple[float, float] | None = None,
    floor: float | None = None,
    resamples: int = 2000,
    seed: int = 0,
) -> Estimate:
    """Mean strong rating of the population the items come from, or of the pool they are.

    `strong` is NaN where not rated and `rates` holds the probability each item was drawn with; for a chain, `weak` and
    `rates` are items × steps. `recalibrate` first maps the weak rating to the strong one, each fold by the labels of
    the others (`auto`: as campaigns do, each label by all the others). `selected` says which items were asked for: an
    answer asked for but missing is reported with worst-case bounds, never dropped. `clusters` names, for every item,
    the conversation, document or person it comes from: the interval then counts those, and no cluster is calibrated by
    its own labels. `bounds` are the ends of the rating scale (not needed for 0/1 ratings); `floor` is the least
    rate any item could have had, which `anytime` needs. `seed` makes folds and bootstrap.

    Limiting cases: rates of 1 give the plain mean of the strong ratings; one label gives a value and no interval, and
    so does one cluster.
    """
    rated = Ratings.of(weak, strong, rates, selected=selected, clusters=clusters)
    how = EstimateOptions(method, interval, level, estimand, pool_size, bounds, floor, resamples=resamples, seed=seed)
    return estimate_rated(rated, how, recalibrate)


def with_text(
    recalibrate: Recalibration, text: Sequence[str], weak: str | None, strong: str | Sequence[str] | None
) -> Recalibration:
    """The recalibration that texts ask for."""
    if not text:
        return recalibrate
    refuse_labels(text, strong)
    if recalibrate not in ("none", "auto"):
        raise InputError("texts are for recalibrate 'auto'; leave recalibrate or the texts out")
    if weak is None:
        raise InputError("texts help to correct a weak rating; name its column, or leave the texts out")
    return "auto"


def estimate_rated(
    rated: Ratings, how: EstimateOptions, recalibrate: Recalibration = "none", text: TextColumns | None = None
) -> Estimate:
    """`estimate_mean` of a rated table and how to estimate, each as one record."""
    choice(recalibrate, RECALIBRATIONS, name="recalibration")
    if recalibrate == "none":
        return core.estimate_rated(rated, how)
    if how.interval == "anytime":
        raise InputError("the anytime interval needs the weak rating as it was; leave recalibrate out")
    whole = how.estimand == "pool" and how.pool_size in (None, rated.strong.size)  # then only the draw counts
    weak = recalibrated(replace(rated, clusters=None) if whole else rated, kind=recalibrate, seed=how.seed, text=text)
    found = core.estimate_rated(replace(rated, weak=weak), without_second_line(how))
    return replace(found, method=f"{found.method}, {recalibrate} recalibrated")


def without_second_line(how: EstimateOptions) -> EstimateOptions:
    """The options for recalibrated weak ratings: a second line would see its own fold's labels."""
    return replace(how, method="difference") if how.method == "auto" else how


def recalibrated(
    rated: Ratings, *, kind: Calibrator | Literal["auto"], seed: int = 0, text: TextColumns | None = None
) -> Floats:
    """The weak rating mapped to the strong one, cross-fitted; clusters are left out whole."""
    g, h = rated.weak, rated.strong
    if g.ndim > 1:
        raise InputError("recalibrate is for one weak rater; use method 'regression' or 'auto' for a chain")
    if g.shape != h.shape or np.isnan(g).any():
        raise InputError("weak and strong must have one entry per item, and no weak rating may be missing")
    codes = None if rated.clusters is None else cluster_codes(rated.clusters, g.size)
    if codes is not None and codes.max() + 1 == g.size:
        codes = None  # every item is its own cluster, so items are left out one by one
    if kind != "auto":
        given = rated.folds if codes is None else None
        return cross_calibrated(g, h, kind=kind, seed=seed, codes=codes, given=given)
    data = rated.checked()
    if data.labels < 2:
        return g
    x, weights = Covariates(g, text=text), 1.0 / data.rates[:, 0]
    return fitted_rating(x, h, weights) if codes is None else cluster_fitted_rating(x, h, weights, codes)


def text_notes(rated: Ratings, names: Sequence[str], text: TextColumns | None) -> tuple[str, ...]:
    """Whether texts move the recalibrated ratings, in words; clusters choose in every fold anew, and say nothing."""
    if text is None or rated.clusters is not None or rated.strong.size < 2:
        return ()
    by_text, plain = (recalibrated(rated, kind="auto", text=each) for each in (text, None))
    labels = int(np.count_nonzero(~np.isnan(rated.strong)))
    return (use_note(names, not np.allclose(by_text, plain, rtol=0, atol=1e-9), labels),)


def estimate_table(
    table: TableLike,
    *,
    weak: str | None = None,
    strong: Strong | None = None,
    rate: Rate = None,
    selected: str | None = None,
    clusters: str | None = None,
    strata: str | None = None,
    weight: str | None = None,
    bounds: tuple[float | None, float | None] = (None, None),
    positive: Positive = None,
    scale: Scale = None,
    weak_cost: float | None = None,
    strong_cost: float | None = None,
    method: Method = "auto",
    interval: IntervalMethod = "auto",
    level: float = 0.95,
    estimand: Estimand | None = None,
    pool_size: float | None = None,
    recalibrate: Recalibration = "none",
    text: Sequence[str] = (),
    learner: str | Learner = "words",
    floor: float | None = None,
    seed: int = 0,
) -> Estimate:
    """`estimate_mean` on a table's columns. Rows without a rate were not looked at.

    `rate` is the column with the probability each row was drawn with (the column "rate" if there is one), or one number
    for all rows; without either, the rated rows are taken as a random draw from all rows, and a note says so. Without
    `weak` the strong ratings stand alone: their mean, from a draw at one rate for all. `clusters` is the column that
    says what each row comes from, where several come from one conversation, document or person. `strata` is the column
    by which the rows that were looked at were chosen, `weight` one with what each counts (P/Q).

    Ratings may be words: `positive` says which count as 1, `scale` lists them from the worst to the best. `strong` may
    be several people's columns: their mean is the rating, and what their disagreement does is said in the notes.
    Columns of `text` help to predict the strong rating, with recalibrate "auto"; `learner` is as in `simulate`.

    `estimand` is the population's mean where nothing is said. A pool is every row that was there when it was drawn,
    looked at or not: those of the table, or as many as its column `pool_size` says (a draw or an export writes it), or
    `pool_size`.

    The export of a campaign says itself how its columns are combined, and whose mean is wanted: unless other columns or
    methods are asked for, its estimate is what the campaign reports; of the other estimand, if that is asked for.
    """
    meaning = meaning_of(positive, scale)
    columns = TableColumns(strong, weak, rate, selected, clusters)
    chosen, plain = strata is not None or weight is not None, recalibrate == "none" and meaning == Meaning()
    if strata is not None and weight is not None:
        raise InputError("give strata or weight, not both: strata know their weights themselves")
    how = EstimateOptions(
        method, interval, level, estimand or "population", pool_size, both_ends(bounds), floor, seed=seed
    )
    if chosen:
        if strong is None:
            raise InputError(NO_STRONG)
        if clusters is not None or with_text(recalibrate, text, weak, strong) != "none":
            raise InputError("clusters and recalibrate are not for strata or weight; leave them out")
        free = weak_cost is None and strong_cost is None  # nobody asks what it cost
        found, own = estimate_chosen(table, columns, meaning, strata, weight, how, whole=not free)
        spend = None
        if not free:
            g = np.full(own.rows.size, np.nan) if weak is None else own.table.numbers(weak, missing="allow")
            spend = spend_on(int(np.count_nonzero(own.looked & ~np.isnan(g))), found.labels, weak_cost, strong_cost)
        return replace(found, spend=spend, notes=own.read + found.notes)
    relation = large_relation(table)
    known, notes = None, tuple[str, ...]()
    rated = None if text else read_in_files(relation, columns, meaning, how, recalibrate)
    if rated is None:
        read = read_whole(table, relation)
        terms = read_terms(read)
        if terms is not None and plain and not text and how.plain and terms.named(columns):
            found, _ = reported(read, terms, level=None if level == _LEVEL else how.level, estimand=estimand)
            return replace(found, spend=spend_on(found.items, found.labels, weak_cost, strong_cost))
        if strong is None:
            raise InputError(NO_STRONG)
        ready = made_ready(read, strong, weak, meaning)
        recalibrate = with_text(recalibrate, text, weak, strong)
        refuse_unused_weights(ready.table, rate)
        rated = read_rated(ready, columns, fewest=2)
        texts = read_texts(ready.table, text, learner)
        known = None if texts is None else texts[0][rated.rows]
        notes = text_notes(rated.items, text, known)
    elif method == "auto" and rated.items.folds is None and clusters is None:
        how, notes = replace(how, method="difference"), (_NO_FOLDS,)
    how.refuse_idle_pool_size()
    found = with_votes(estimate_rated(rated.items, rated.how(how), recalibrate, known), rated)
    bought = found.labels if found.agreement is None else found.agreement.votes  # every person's vote by itself
    spend = spend_on(found.items, bought, weak_cost, strong_cost, alone=weak is None)
    return replace(found, spend=spend, notes=rated.notes(how) + notes + found.notes)


_NO_FOLDS = "no column 'id' to tell rows apart by, so no line was fitted: the weak ratings are taken as they are"


def refuse_unused_weights(table: Table, rate: Rate, groups: Texts | None = None) -> None:
    """Refuse a table with `weight` (drawn by strata or slices) unless it is used: the mean would not be of all rows.

    Within `groups` weights that do not differ need no use.
    """
    if rate not in (None, "rate") or not {"rate", "selected", "weight"} <= set(table.columns):
        return
    try:
        w, looked = table.numbers("weight", missing="allow"), ~np.isnan(table.numbers("rate", missing="allow"))
    except TableError:
        return
    if not looked.any() or np.isnan(w[looked]).any():
        return
    parts = [looked] if groups is None else [looked & (groups == name) for name in np.unique(groups[looked])]
    if any(np.ptp(w[part]) > 1e-9 * np.abs(w[part]).max() for part in parts):
        raise InputError(
            Message(
                f"{table.name} has a column 'weight' beside rate and selected: if a draw by strata or slices wrote it, "
                f"name it ({argument('weight')}) or the column of the strata ({argument('strata')}); if it is your "
                "own, rename it"
            )
        )


# Items looked at in unequal proportions: by strata, with weights, or by slices (METHODS section 8)

_MOST_KINDS = 1000  # of strata or weights, that are told apart in a large table


def estimate_chosen(
    source: TableLike,
    columns: TableColumns,
    meaning: Meaning,
    strata: str | None,
    weight: str | None,
    how: EstimateOptions,
    *,
    whole: bool,
) -> tuple[Estimate, RatedTable]:
    """The estimate from rows that were chosen by their strata, or that count by a column of weights (P/Q).

    All rows of the table together give the strata's sizes. With a pool size the pool is larger than the table, in the
    same shares. With `whole` the table is read whole, however large it is.
    """
    if weight is not None and how.estimand == "pool":
        raise InputError("weights estimate the population's mean; give strata for the pool's own")
    relation, by = large_relation(source), str(strata if weight is None else weight)
    rated, counted = (None, {}) if whole or meaning != Meaning() else _in_files(relation, columns, by, how, weight)
    if rated is None:
        ready = made_ready(read_whole(source, relation), columns.strong or "", columns.weak, meaning)
        ready.refuse_pool(how.estimand)
        rated = read_rated(ready, columns, fewest=2, sure_without_weak=True)
        counted = {} if strata is None else count_groups(ready.table, strata)
    how = replace(how, bounds=rated.scale if how.bounds is None else how.bounds)
    if weight is not None:
        w = rated.table.numbers(weight, missing="allow")
        refuse_row(rated.table.name, rated.rows & ~(w > 0), f"has a rate but no weight above 0 in column {weight!r}")
        return weighted(rated.items, w[rated.rows], how), rated
    if how.pool_size is None:
        rated.pool.refuse_left_out("its strata")
    names = rated.table.texts(by, missing="error" if rated.items.counts is None else "allow").astype(np.str_)
    factor = 1.0 if how.pool_size is None else number(how.pool_size, name="pool_size", minimum=1) / rated.pool.rows
    if factor < 1:
        size, rows = argument("pool_size"), rated.pool.rows
        raise InputError(Message(f"{size} is {how.pool_size:g} but the table has {rows} rows; it cannot be smaller"))
    sizes = {name: rows * factor for name, rows in counted.items()}
    return stratified(rated.items, names[rated.rows], replace(how, floor=None), sizes=sizes), rated


def _in_files(
    relation: SqlTable | None, columns: TableColumns, by: str, how: EstimateOptions, weight: str | None
) -> tuple[RatedTable | None, dict[str, int]]:
    """The rated rows of a table that stays in its files, and all its strata; no rows where it has to be read whole.

    Weights may be of few kinds only, as a draw by strata or slices writes them.
    """
    if relation is None or by not in relation.columns or how.pool_size is not None or columns.clusters is not None:
        return None, {}
    drawn = columns.rate is not None or RATE in relation.columns
    if not drawn or len(strong_columns(relation, columns.strong or ())) > 1:
        return None, {}
    counted = count_groups(relation, by)
    rated = (
        read_in_files(relation, columns, Meaning(), how, by=by, chosen=True) if len(counted) <= _MOST_KINDS else None
    )
    if rated is not None and weight is not None:
        try:
            rated = rated if (rated.table.numbers(weight, missing="allow") > 0).all() else None
        except TableError:  # who reads the table whole says which row has a weight that is none
            rated = None
    return rated, counted


_BY_CHANCE = 5.0  # standard errors within which a slice's share of the rows looked at may be chance


def in_proportion(groups: Texts, looked: Mask) -> bool:
    """Whether slices were looked at about alike, so that the rows looked at stand for all."""
    if looked.all():
        return True
    names, code = np.unique(groups.astype(np.str_), return_inverse=True)
    sizes, seen = np.bincount(code, minlength=names.size), np.bincount(code[looked], minlength=names.size)
    expected = sizes * (looked.sum() / looked.size)
    spread = np.maximum(expected * (1 - looked.mean()), 0.25)
    return bool(np.max(np.abs(seen - expected) / np.sqrt(spread)) < _BY_CHANCE)


def whole(
    rated: Ratings, groups: Texts, all_groups: Texts, how: EstimateOptions, recalibrate: Recalibration
) -> Estimate:
    """The mean of all rows where slices were looked at in unequal proportions: Σ W mean_s."""
    if recalibrate != "none" or rated.clusters is not None:
        raise InputError(
            "slices were looked at in proportions of their own, so the whole is weighed by their sizes, which goes "
            "neither with recalibrate nor with clusters nor with texts; leave them out"
        )
    names = np.unique(groups.astype(np.str_))
    labelled = {str(name) for name in np.unique(groups[~np.isnan(rated.strong)].astype(np.str_))}
    told = [str(name) for name in names if str(name) in labelled]
    use = np.isin(groups.astype(np.str_), told)
    each = 1.0 if how.pool_size is None else how.pool_size / all_groups.size
    sizes = {name: each * float(np.count_nonzero(all_groups == name)) for name in told}
    found = stratified(
        rated.part(use), groups[use].astype(np.str_), replace(how, interval="auto", floor=None), sizes=sizes
    )
    notes = ["the whole is weighed by the slices' sizes, since they were looked at in other proportions"]
    left = sorted({str(name) for name in np.unique(all_groups.astype(np.str_))} - set(told))
    if left:
        notes.append(f"the whole is without {', '.join(map(repr, left[:5]))}: no strong rating there")
    return replace(found, notes=(*notes, *found.notes))
