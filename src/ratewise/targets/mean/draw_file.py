"""A plan applied to a pool from file to file: rows are read, hashed and written piece by piece, in fixed memory.

Three passes. The first computes every row's rate, its hash r and its place in the line of who is looked at, keeps
them on the disk, and adds up what the rest hangs on: rows, drift, counts along the line. The second, where not all
rows are looked at, finds the exact end of the line in the one bin that holds it. The third writes.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.mean.looking import (
    EVERYONE,
    ROUNDING,
    Cut,
    Line,
    Prices,
    bin_of,
    cut_after,
    cut_for_money,
)
from ratewise.core.mean.ratings import Mask
from ratewise.core.shown import shown
from ratewise.errors import TableError
from ratewise.tables import Relation, Table, open_relation
from ratewise.tables.engine import shortened
from ratewise.tables.parts import check_place, folder_of, write_pieces
from ratewise.tables.pieces import Piece, each, shared_id
from ratewise.tables.spool import Spool
from ratewise.targets.mean.drawing import draw_notes, ended_early, refuse_drawn
from ratewise.targets.mean.input_draw import (
    buys_weak,
    items_of,
    plan_names,
    rates_in,
    short_notes,
    weights_of,
)
from ratewise.targets.mean.plan_file import check_rates
from ratewise.targets.mean.strata import Codes, check_known, read_strata
from ratewise.targets.mean.transfer import Drift, Shares, Transfer


@shown
@dataclass(frozen=True, slots=True)
class DrawnFile:
    """What was drawn; the rows themselves are in the file or folder."""

    rows: int
    items: int  # how many items are looked at
    asked: int  # how many of them get the strong rating
    mean_rate: float  # of the items that are looked at
    drift: Drift | None  # None where the pool has no weak ratings to compare, and needs none
    expected_spend: float  # before anyone is asked: weak ratings of the items looked at, and strong ones at their rates
    spend: float  # the same for the items that were in fact selected
    notes: tuple[str, ...]


def draw_file(
    pool: str | os.PathLike[str] | Relation,
    transfer: Transfer,
    output: str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
    within_budget: bool = True,
) -> DrawnFile:
    """What `draw_transfer` gives, written to `output` as `write_table` writes it, or as the parts of a folder.

    Memory does not grow with the rows. On the disk, beside the output, at most 48 bytes a row are needed meanwhile.
    """
    place = os.fsdecode(output)
    check_place(place)
    relation = open_relation(pool)
    refuse_drawn(relation)
    if id_column is None and "id" in relation.columns:
        id_column = "id"
    relation.refuse_unknown([] if id_column is None else [id_column])
    columns = _deciding(relation, transfer)
    pieces = relation.pieces()
    with Spool(folder_of(place)) as spool:
        work = _Work(transfer, seed, id_column, columns, relation.count(), within_budget)
        survey = _survey(work, pieces, spool)
        if id_column is not None:
            _refuse_shared(relation, pieces, id_column, spool, seed)
        ends = _ends(work, survey, spool)
        write_pieces(pieces, lambda piece: _added(work, ends, piece, spool), place)
        return _told(work, survey, ends)


@dataclass(frozen=True, slots=True)
class _Work:
    """The plan and how it is applied."""

    transfer: Transfer
    seed: int
    id_column: str | None
    columns: tuple[str, ...]  # that rates hang on
    rows: int
    within_budget: bool

    @property
    def needs_weak(self) -> bool:
        return self.transfer.policy == "active" or self.transfer.weak in self.columns

    @property
    def prices(self) -> Prices:
        weak = 0.0 if self.transfer.policy == "base" else self.transfer.weak_cost
        return Prices(weak, self.transfer.strong_cost)

    @property
    def in_line(self) -> bool:
        """Whether it may be that not everyone is looked at."""
        return self.within_budget or self.transfer.inputs is not None


def _deciding(relation: Relation, transfer: Transfer) -> tuple[str, ...]:
    """The columns that rates hang on, as the pool has them or as they are made from those; at least one."""
    strata = () if transfer.inputs is None else (transfer.inputs.column,)
    own = () if transfer.uncertainty is None else (transfer.uncertainty,)
    features = () if transfer.models is None else transfer.models.columns
    sources = () if transfer.derived is None else transfer.derived.columns
    wanted = dict.fromkeys((transfer.weak, *own, *features, *strata, *sources))
    held = tuple(column for column in wanted if column in relation.columns)
    made = transfer.prepared(next(relation.scan(*held or relation.columns[:1], rows=1))).columns
    read = (transfer.weak, *own, *features) if transfer.policy == "active" or transfer.weak in made else ()
    for column in (*read, *strata):
        if column not in made:
            relation.refuse_unknown([column])
    return held if read or strata else ()


# First pass: every row by itself, and what adds up


@dataclass(frozen=True, slots=True, eq=False)
class _Survey:
    """What adds up over pieces: by stratum, where the plan has strata, else in one group."""

    lines: tuple[Line, ...]
    shares: Shares | None

    def __add__(self, other: "_Survey") -> "_Survey":
        shares = self.shares if self.shares is None or other.shares is None else self.shares + other.shares
        return _Survey(tuple(a + b for a, b in zip(self.lines, other.lines, strict=True)), shares)


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """Each row of a piece: what goes to the disk, and what adds up."""

    columns: dict[str, Floats]
    survey: _Survey


def _survey(work: _Work, pieces: Sequence[Piece], spool: Spool) -> _Survey:
    found = []
    for seen in each(lambda piece: _seen(work, piece), pieces):
        spool.append(seen.columns)
        if work.id_column is not None:
            spool.put(seen.columns["r"])
        found.append(seen.survey)
        if len(found) > 1:
            found = [reduce(_Survey.__add__, found)]
    return found[0]


def _seen(work: _Work, piece: Piece) -> _Seen:
    transfer = work.transfer
    seeds = (f"{work.seed}", f"{work.seed}:look") if work.in_line else (f"{work.seed}",)
    r, *line = piece.uniforms(work.id_column, *seeds)
    look = line[0] if line else np.zeros(piece.size)
    table = transfer.prepared(piece.table(work.columns)) if work.columns else None
    weak = error = np.zeros(piece.size)
    if table is not None and work.needs_weak:
        weak, error = transfer.columns(table)
    groups = _groups(transfer, table, piece)
    rates = transfer.rates(error, rows=work.rows)
    if transfer.inputs is not None:
        rates = rates_in(transfer.inputs, groups, error)
    check_rates(rates)
    columns = {"r": r, "rate": rates, "look": look}
    if transfer.inputs is not None:
        columns["group"] = groups.astype(np.float64)
    if transfer.calibrates and work.needs_weak:
        columns["weak"] = weak
    drawn = np.asarray(r < rates)
    count = 1 if transfer.inputs is None else len(transfer.inputs.strata)
    lines = tuple(Line.of(look[groups == g], drawn[groups == g]) for g in range(count))
    return _Seen(columns, _Survey(lines, transfer.shares(weak, error) if work.needs_weak else None))


def _groups(transfer: Transfer, table: Table | None, piece: Piece) -> Codes:
    if transfer.inputs is None or table is None:
        return np.zeros(piece.size, dtype=np.intp)
    strata = read_strata(table, transfer.inputs.column, plan_names(transfer.inputs))
    check_known(strata, table, transfer.inputs.column)
    return strata.code


def _refuse_shared(relation: Relation, pieces: Sequence[Piece], column: str, spool: Spool, seed: int) -> None:
    """Ids are compared by the hash that draws them, and as texts only where hashes agree."""
    suspects = spool.repeated()
    shared = shared_id(pieces, column, suspects, f"{seed}") if suspects.size else None
    if shared is not None:
        text, first, second = shared
        raise TableError(
            f"column {column!r} of {relation.name} has the id {shortened(text)} twice, in rows {first:,} and "
            f"{second:,} (rows are counted from 1, without the header); ids must be unique"
        )


# Second pass: where the line ends


@dataclass(frozen=True, slots=True, eq=False)
class _Ends:
    """Where the line ends in each group, and how many are looked at and drawn up to there."""

    cuts: tuple[Cut, ...]
    items: Floats
    asked: Floats
    rate_sum: float
    planned: int
    weights: Floats | None = None


def _ends(work: _Work, survey: _Survey, spool: Spool) -> _Ends:
    transfer = work.transfer
    N = np.array([line.items.sum() for line in survey.lines], dtype=np.float64)
    if transfer.inputs is not None:
        T = items_of(transfer.inputs, N)
        cuts = tuple(_cut_after(survey.lines[g], int(T[g]), spool, g) for g in range(N.size))
        return _counted(cuts, spool, int(T.sum()), weights_of(N, T))
    cut, planned = EVERYONE, work.rows
    if work.within_budget and transfer.policy != "base" and transfer.items < work.rows:
        planned = int(transfer.items)
        cut = _cut_after(survey.lines[0], planned, spool, 0)
    ends = _counted((cut,), spool, planned)
    budget, asked = transfer.budget, float(ends.asked[0])
    if not work.within_budget or budget is None or work.prices.cost(planned, asked) <= budget * (1 + ROUNDING):
        return ends
    at = survey.lines[0].bin_for_money(work.prices, budget)
    look, r, drawn = _bin(spool, at, 0)
    cut = cut_for_money(look, r, drawn, work.prices, budget, before=survey.lines[0].before(at))
    return _counted((cut,), spool, planned)


def _cut_after(line: Line, count: int, spool: Spool, group: int) -> Cut:
    if count >= line.items.sum():
        return EVERYONE
    at = line.bin_after(count)
    look, r, _ = _bin(spool, at, group)
    return cut_after(look, r, count - line.before(at)[0])


def _bin(spool: Spool, at: int, group: int) -> tuple[Floats, Floats, Mask]:
    """Place, r and draw of all rows in one bin of a group's line."""
    found = []
    for rows in spool.batches():
        here = bin_of(rows["look"]) == at
        if "group" in rows:
            here &= rows["group"] == group
        found.append(np.stack([rows[name][here] for name in ("look", "r", "rate")]))
    look, r, rate = np.concatenate(found, axis=1)
    return look, r, np.asarray(r < rate)


def _counted(cuts: tuple[Cut, ...], spool: Spool, planned: int, weights: Floats | None = None) -> _Ends:
    """The ends with what lies before them."""
    items, asked, rate_sum = np.zeros(len(cuts)), np.zeros(len(cuts)), 0.0
    for rows in spool.batches():
        looked, group = _looked(cuts, rows)
        drawn = looked & (rows["r"] < rows["rate"])
        items += np.bincount(group[looked], minlength=len(cuts))
        asked += np.bincount(group[drawn], minlength=len(cuts))
        rate_sum += float(rows["rate"].sum(where=looked))
    return _Ends(cuts, items, asked, rate_sum, planned, weights)


def _looked(cuts: tuple[Cut, ...], rows: Mapping[str, Floats]) -> tuple[Mask, Codes]:
    """Whether each row is looked at, and its group."""
    look, r = rows["look"], rows["r"]
    if "group" not in rows:
        return cuts[0].keeps(look, r), np.zeros(look.size, dtype=np.intp)
    group = rows["group"].astype(np.intp)
    last = Cut(np.array([cut.look for cut in cuts])[group], np.array([cut.r for cut in cuts])[group])
    return last.keeps(look, r), group


# Third pass


def _added(work: _Work, ends: _Ends, piece: Piece, spool: Spool) -> dict[str, Floats | Mask]:
    """The columns that the draw adds to a piece."""
    rows = spool.read(piece.first, piece.size)
    looked, group = _looked(ends.cuts, rows)
    rates = np.where(looked, rows["rate"], np.nan)
    added: dict[str, Floats | Mask] = {"rate": rates, "selected": looked & (rows["r"] < rows["rate"])}
    if ends.weights is not None:
        added["weight"] = np.where(looked, ends.weights[group], np.nan)
    if "weak" in rows:
        added["weak_calibrated"] = rows["weak"]
    return added


def _told(work: _Work, survey: _Survey, ends: _Ends) -> DrawnFile:
    transfer, items, asked = work.transfer, int(ends.items.sum()), int(ends.asked.sum())
    if items == 0:
        check_rates(np.array([np.nan]))
    drift = None if survey.shares is None else transfer.drift_of(survey.shares)
    weak_spend = work.prices.weak * items
    if transfer.inputs is not None:
        weak_spend = transfer.weak_cost * float(ends.items @ buys_weak(transfer.inputs))
    expected = float(weak_spend + transfer.strong_cost * ends.rate_sum)
    spend = float(weak_spend + transfer.strong_cost * asked)
    N = np.array([line.items.sum() for line in survey.lines], dtype=np.float64)
    notes = () if transfer.inputs is None else short_notes(transfer.inputs, N)
    notes += draw_notes(transfer, drift, expected, spend, items)
    notes += ended_early(items, ends.planned)
    return DrawnFile(work.rows, items, asked, ends.rate_sum / max(items, 1), drift, expected, spend, notes)
