"""A slice plan applied to a pool: every slice's own rates on its own rows, one draw for all."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratewise.core.checks import Floats
from ratewise.core.clusters import Codes
from ratewise.core.draw import draw, whole_items
from ratewise.core.messages import Message, argument
from ratewise.core.ratings import Mask
from ratewise.errors import TableError
from ratewise.questions.drawing import Drawn, first_items, pool_size, undrawn
from ratewise.questions.plan_file import check_rates
from ratewise.questions.rated import POOL_SIZE
from ratewise.questions.slice_names import slice_names
from ratewise.questions.slice_plan import SlicePlan
from ratewise.questions.transfer import Transfer
from ratewise.tables import Table, TableLike
from ratewise.tables.cells import Texts

_OVER = 1.01  # how far above the plan the expected spend may be before it is said


def is_slice_plan(path: str | os.PathLike[str]) -> bool:
    """Whether a file holds a slice plan; what cannot be read does not."""
    return _document(path) is not None


def draw_slices(
    pool: TableLike,
    plan: SlicePlan | str | os.PathLike[str],
    *,
    seed: int,
    id_column: str | None = None,
    within_budget: bool = True,
) -> Drawn:
    """Give every item the rate that its slice's plan gives it, and draw by hash of the seed and the item's id.

    Only as many items of each slice are looked at as its plan foresees, unless `within_budget=False`. Items of slices
    that have no plan get no rate, and a note says so.
    """
    by, transfers = _plans(plan)
    table, ids = undrawn(pool, id_column, ("rate", "selected", POOL_SIZE, "weight", "weak_calibrated"))
    names, groups = slice_names(table, by)
    parts = {}
    notes = []
    for name in names:
        rows = np.flatnonzero(groups == name)
        transfer = transfers.get(name)
        if transfer is None:
            notes.append(f"slice {name!r} has no plan: its {rows.size:,} items get no rate")
            continue
        parts[name] = _part(table, rows, transfer, ids, seed if within_budget else None)
        notes += [f"slice {name!r}: {note}" for note in parts[name].notes]
    if not parts:
        raise TableError(f"no slice of {table.name} is in the plan, which has {', '.join(map(repr, transfers))}")
    return _drawn(table, list(parts.values()), ids, seed, notes)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """One slice's rows with their rates, NaN where an item is not looked at."""

    rows: Codes
    rates: Floats
    weak: Floats | None  # calibrated, where the plan calibrates
    weak_spend: float
    strong_cost: float
    planned: float
    notes: tuple[str, ...]

    @property
    def expected(self) -> float:
        """Expected cost, before anyone is asked."""
        return self.weak_spend + self.strong_cost * float(np.nansum(self.rates))


def _part(table: Table, rows: Codes, transfer: Transfer, ids: Texts, seed: int | None) -> _Part:
    """The part of a slice that is looked at; with a seed, only as many items as planned."""
    needed = transfer.policy == "active" or transfer.weak in table.columns
    weak, error = (x[rows] for x in transfer.columns(table)) if needed else (np.zeros(rows.size), np.zeros(rows.size))
    drift = transfer.drift(weak, error) if needed else None
    rates = transfer.rates(error)
    c_g, c_h = transfer.weak_cost * (transfer.policy != "base"), transfer.strong_cost
    mean_rate = 1.0 if transfer.policy == "base" else float(rates.mean())
    planned = transfer.items * (c_g + c_h * mean_rate)
    if seed is not None and transfer.policy != "base" and whole_items(transfer.items) < rows.size:
        rates = np.where(first_items(ids[rows], int(whole_items(transfer.items)), seed), rates, np.nan)
    return _Part(
        rows=rows,
        rates=rates,
        weak=weak if needed and transfer.calibrates else None,
        weak_spend=c_g * float(np.count_nonzero(~np.isnan(rates))),
        strong_cost=c_h,
        planned=planned,
        notes=(drift.summary(),) if drift is not None and drift.drifted else (),
    )


def _drawn(table: Table, parts: list[_Part], ids: Texts, seed: int, notes: list[str]) -> Drawn:
    rates, weak = np.full(table.rows, np.nan), np.full(table.rows, np.nan)
    for part in parts:
        rates[part.rows] = part.rates
        if part.weak is not None:
            weak[part.rows] = part.weak
    check_rates(rates)
    looked = ~np.isnan(rates)
    selected = draw(np.where(looked, rates, 0.0), ids, seed=seed) & looked
    expected, planned = sum(part.expected for part in parts), sum(part.planned for part in parts)
    if expected > _OVER * planned:
        notes.append(
            Message(
                f"rating all items is expected to cost {expected:,.2f}, more than the {planned:,.2f} planned: draw "
                f"with {argument('within_budget')}, or plan with the sizes that slices have in this pool"
            )
        )
    added: dict[str, Floats | Mask] = {"rate": rates, "selected": selected, **pool_size(looked)}
    added["weight"] = _weights(parts, looked)
    if all(part.weak is not None for part in parts):
        added["weak_calibrated"] = weak
    spent = sum(part.weak_spend + part.strong_cost * float(np.count_nonzero(selected[part.rows])) for part in parts)
    return Drawn(table.with_columns(added), rates, selected, None, expected, spent, tuple(notes))


def _weights(parts: list[_Part], looked: Mask) -> Floats:
    """What each item counts in the mean of all planned slices: W_s T/T_s, 1 on average; none where not looked at."""
    out = np.full(looked.size, np.nan)
    total, T = sum(part.rows.size for part in parts), int(looked.sum())
    for part in parts:
        seen = int(np.count_nonzero(looked[part.rows]))
        out[part.rows] = part.rows.size / total * T / max(seen, 1)
    return np.where(looked, out, np.nan)


def _plans(plan: SlicePlan | str | os.PathLike[str]) -> tuple[str, dict[str, Transfer | None]]:
    if isinstance(plan, SlicePlan):
        return plan.by, {one.name: None if one.plan is None else one.plan.transfer for one in plan.slices}
    document = _document(plan)
    if document is None:
        raise TableError(f"{os.fspath(plan)} is no slice plan; save one that was made by a column")
    try:
        made = {one["name"]: one["plan"] and Transfer.from_dict(one["plan"]["transfer"]) for one in document["slices"]}
    except (AttributeError, KeyError, TypeError, ValueError, IndexError, ArithmeticError) as error:
        raise TableError(
            f"{os.fspath(plan)} cannot be used as a slice plan ({type(error).__name__}: {error})"
        ) from None
    return document["by"], made


def _document(path: str | os.PathLike[str]) -> Mapping[str, Any] | None:
    try:
        with open(path, encoding="utf-8") as file:
            data = json.load(file)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError):
        return None
    return data if isinstance(data, dict) and isinstance(data.get("by"), str) and "slices" in data else None
