"""A plan applied to a pool: every item's rate, and who gets the strong rating."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.core.checks import Floats
from ratewise.core.frames import FrameKind
from ratewise.core.mean.draw import draw, uniform
from ratewise.core.mean.looking import ROUNDING, Prices, cut_after, cut_for_money, whole_items
from ratewise.core.mean.ratings import Mask
from ratewise.core.messages import Message, argument
from ratewise.core.shown import shown
from ratewise.errors import TableError
from ratewise.questions.mean.input_draw import choose_items
from ratewise.questions.mean.old_labels import draw_beside
from ratewise.questions.mean.plan_file import check_rates
from ratewise.questions.mean.transfer import Drift, OldLabels, Transfer
from ratewise.questions.pool import POOL_SIZE
from ratewise.tables import Relation, Table, TableLike, read_table
from ratewise.tables.convert import Texts

_WRITTEN = ("rate", "selected", POOL_SIZE)  # columns of a draw
OVER = 1.01  # how far above the budget the expected spend may be before it is said


@shown
@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The pool with `rate` and `selected` added (and `weak_calibrated`, where the plan calibrates; `weight`, where
    it chooses the items by strata; `pool_size`, where some rows are not looked at)."""

    table: Table
    rates: Floats  # NaN for items that are not looked at
    selected: Mask
    drift: Drift | None  # None where the pool has no weak ratings to compare, and needs none
    expected_spend: float  # before anyone is asked: weak ratings of the items looked at, and strong ones at their rates
    spend: float  # the same for the items that were in fact selected
    notes: tuple[str, ...]

    @property
    def items(self) -> int:
        """How many items are looked at."""
        return int(np.count_nonzero(self.rates > 0))

    @property
    def asked(self) -> int:
        """How many of them get the strong rating."""
        return int(np.count_nonzero(self.selected))

    @property
    def mean_rate(self) -> float:
        """Mean rate of the items that are looked at."""
        return float(self.rates[self.rates > 0].mean())

    def to_frame(self, kind: FrameKind | None = None) -> Any:
        """The drawn pool as a pandas, Polars or PyArrow frame; by default of the kind that came in."""
        return self.table.to_frame(kind)


def undrawn(pool: TableLike, id_column: str | None, written: tuple[str, ...] = _WRITTEN) -> tuple[Table, Texts]:
    """A pool that was not drawn before, and its items' ids; `written` are the columns that a draw writes."""
    table = read_table(pool)
    refuse_drawn(table, written)
    return table, table.ids(id_column)


def refuse_drawn(pool: Table | Relation, written: tuple[str, ...] = _WRITTEN) -> None:
    """Refuse a pool that has a column which a draw writes."""
    before = [name for name in written if name in pool.columns]
    if before:
        raise TableError(
            f"{pool.name} has a column {before[0]!r} already: it was drawn before; take the pool as it was then"
        )


def draw_transfer(
    pool: TableLike, transfer: Transfer, *, seed: int, id_column: str | None = None, within_budget: bool = True
) -> Drawn:
    """Give every item its rate and draw, by hash of the seed and the item's id.

    Within the budget, only as many items are looked at as the plan foresees (chosen by another hash), and fewer where
    chance would make them dearer; the rest get no rate. Without it all are looked at, and a note says so where that is
    expected to cost more than the budget. A plan by strata says itself how many of each are looked at; `weight` is
    what each of those counts, 1 on average.
    """
    if transfer.old is not None:
        return _beside_old_labels(read_table(pool), transfer, transfer.old, seed=seed, within_budget=within_budget)
    given, ids = undrawn(pool, id_column)
    made = decide_draw(transfer.prepared(given), ids, transfer, seed=seed, within_budget=within_budget)
    return Drawn(table=given.with_columns(made.added), **made.told)


@dataclass(frozen=True, slots=True, eq=False)
class MadeDraw:
    """Columns to add to a pool, and notes about them."""

    added: dict[str, Floats | Mask]
    told: dict[str, Any]


def decide_draw(table: Table, ids: NDArray[Any], transfer: Transfer, *, seed: int, within_budget: bool) -> MadeDraw:
    """Rates and draws of a pool that has every column which the policy reads."""
    needed = transfer.policy == "active" or transfer.weak in table.columns
    weak, error = transfer.columns(table) if needed else (np.zeros(table.rows), np.zeros(table.rows))
    rates = transfer.rates(error)
    looked = np.ones(table.rows, dtype=np.bool_)
    chosen = None if transfer.inputs is None else choose_items(table, transfer.inputs, error, ids, seed=seed)
    if chosen is not None:
        looked, rates = chosen.looked, chosen.rates
    elif within_budget and transfer.policy != "base" and whole_items(transfer.items) < table.rows:
        looked = first_items(ids, int(whole_items(transfer.items)), seed)
        rates = np.where(looked, rates, np.nan)
    check_rates(np.where(looked, rates, np.nan))
    selected = np.zeros(table.rows, dtype=np.bool_)
    selected[looked] = draw(rates[looked], ids[looked], seed=seed)
    planned = int(np.count_nonzero(looked))
    if within_budget and chosen is None:
        weak_price = 0.0 if transfer.policy == "base" else transfer.weak_cost
        looked = within_money(ids, looked, selected, (weak_price, transfer.strong_cost), transfer.budget, seed)
        rates, selected = np.where(looked, rates, np.nan), selected & looked
    added: dict[str, Floats | Mask] = {"rate": rates, "selected": selected, **pool_size(looked)}
    if chosen is not None:
        added["weight"] = chosen.weights
    if transfer.calibrates and needed:
        added["weak_calibrated"] = weak
    drift = transfer.drift(weak, error) if needed else None
    buys_weak = looked & (transfer.policy != "base") if chosen is None else chosen.buys_weak
    weak_spend = transfer.weak_cost * np.count_nonzero(buys_weak)
    expected = float(weak_spend + transfer.strong_cost * np.nansum(rates))
    spend = float(weak_spend + transfer.strong_cost * np.count_nonzero(selected))
    notes = () if chosen is None else chosen.notes
    notes += draw_notes(transfer, drift, expected, spend, int(np.count_nonzero(looked)))
    notes += ended_early(int(np.count_nonzero(looked)), planned)
    told = {
        "rates": rates, "selected": selected, "drift": drift, "expected_spend": expected, "spend": spend, "notes": notes
    }  # fmt: skip
    return MadeDraw(added, told)


def pool_size(looked: Mask) -> dict[str, Floats]:
    """The column that keeps the pool's size with each row, where some rows were not looked at and might be left out."""
    return {} if looked.all() else {POOL_SIZE: np.full(looked.size, float(looked.size))}


def _beside_old_labels(
    table: Table, transfer: Transfer, old: OldLabels, *, seed: int, within_budget: bool
) -> Drawn:  # fmt: skip
    """Draw only among rows that have no label; their weak ratings are there already."""
    made = draw_beside(table, transfer, old, seed=seed, within_budget=within_budget)
    spend = float(transfer.strong_cost * np.count_nonzero(made.asked))
    return Drawn(
        table=table.with_columns(made.columns, replace=True),
        rates=made.rates,
        selected=made.selected,
        drift=None,
        expected_spend=transfer.budget or spend,
        spend=spend,
        notes=made.notes + by_chance(transfer.budget, spend),
    )


def first_items(ids: NDArray[Any], count: int, seed: int) -> Mask:
    """Choose so many items by a hash of seed and item that is independent of the draw."""
    look, r = uniform(ids, seed=f"{seed}:look"), uniform(ids, seed=seed)
    return cut_after(look, r, count).keeps(look, r)


def within_money(
    ids: NDArray[Any], looked: Mask, selected: Mask, prices: tuple[float, float], budget: float | None, seed: int
) -> Mask:
    """The items that the money lasts for, in the order of `first_items`; all of them where it lasts for all.

    An item is taken up if both of its ratings could still be paid. That does not hang on its own draw, so that rates
    stay what they are.
    """
    each, count = Prices(*prices), int(np.count_nonzero(looked))
    if budget is None or each.cost(count, int(np.count_nonzero(selected & looked))) <= budget * (1 + ROUNDING):
        return looked
    look, r = uniform(ids, seed=f"{seed}:look"), uniform(ids, seed=seed)
    cut = cut_for_money(look[looked], r[looked], selected[looked], each, budget)
    return looked & cut.keeps(look, r)


def ended_early(looked: int, planned: int) -> tuple[str, ...]:
    """The note about a draw that chance made dearer than planned."""
    if looked == planned:
        return ()
    left = planned - looked
    return (f"by chance the money lasts for {looked:,} of the {planned:,} items; the other {left:,} get no rate",)


def draw_notes(transfer: Transfer, drift: Drift | None, expected: float, spend: float, rows: int) -> tuple[str, ...]:
    """What a user should know about a draw: drift, and money."""
    notes = (drift.summary(),) if drift is not None and drift.drifted else ()
    if transfer.inputs is not None:  # by strata: as many of each as planned, so only chance can cost more
        return notes + by_chance(transfer.budget, spend)
    return notes + over_budget(transfer.budget, expected, spend, rows, transfer.items, transfer.pool_size)


def over_budget(
    budget: float | None, expected: float, spend: float, rows: int, items: float, pool_size: float | None
) -> tuple[str, ...]:  # fmt: skip
    """The note on what to do where all rows cost more than planned, or chance makes them."""
    if budget is None or expected <= OVER * budget or rows <= items + 1:
        return by_chance(budget, spend)
    again = "" if pool_size == rows else f"plan again with {argument('pool_size')} {rows}, or "
    return (
        Message(
            f"rating all {rows:,} items is expected to cost {expected:,.2f}, more than the budget of {budget:,.2f}: "
            f"{again}draw with {argument('within_budget')}"
        ),
    )


def by_chance(budget: float | None, spend: float) -> tuple[str, ...]:
    """The note that a draw may come out dearer than expected."""
    if budget is None or spend <= budget:
        return ()
    return (
        f"by chance this draw costs {spend:,.2f}, more than the budget of {budget:,.2f}; where that may not be, "
        "plan with a somewhat smaller one",
    )
