"""The table of items, checked once and put into the campaign's own order."""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import numpy as np

from ratewise.campaign.inputs import inputs_of
from ratewise.campaign.spec.fields import LARGEST_AMOUNT
from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.campaign.start import COLUMNS, load_start
from ratewise.core.mean.clusters import cluster_codes
from ratewise.core.mean.draw import uniform
from ratewise.errors import TableError
from ratewise.models.features import codings, feature_matrix
from ratewise.queue.money import to_units
from ratewise.queue.records import Units
from ratewise.raters.kinds import KINDS
from ratewise.tables import Table, read_table


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Items ready for the store: facts about them, and rows in the order they will be looked at."""

    meta: dict[str, str]
    rows: Iterator[tuple[Any, ...]]


def load_items(spec: Spec) -> Loaded:
    """Read and check the whole table; what raters need of it must be there before any money is spent."""
    table = read_table(spec.table_path)
    ids = table.ids(spec.items.id)
    for rater in spec.raters:
        for column in KINDS[rater.kind].columns(rater.settings):
            _column(table, column, f"rater {rater.name!r}")
    numbers, coded = _numbers(spec, table)
    prices = _prices(spec, table)
    turn = uniform(ids, seed=f"{spec.seed}:order")
    begun = load_start(spec, table)
    if spec.inputs is None:
        order, extra = np.argsort(turn, kind="stable"), {}
    else:
        middle = 0.5 * (spec.scale.low + spec.scale.high)
        chosen, code = inputs_of(spec.inputs, table, folder=spec.folder, middle=middle)
        order, extra = chosen.order(code, turn), {"strata": chosen.to_json()}
        numbers = np.column_stack([numbers, chosen.columns(code), code])
    if spec.items.clusters is not None:
        _column(table, spec.items.clusters, "items.clusters")
        codes = cluster_codes(table.texts(spec.items.clusters), table.rows)
        numbers = np.column_stack([numbers, codes])
    if begun is not None:
        order, extra = begun.order(turn), {"start": begun.start.to_json()}
        numbers = np.column_stack([numbers, begun.columns()])
    meta = {
        "spec": stored_form(spec),
        "items": str(table.rows),
        "digest": file_digest(spec.table_path),
        "codings": json.dumps(coded),
        "columns": json.dumps(_feature_columns(spec, numbers.shape[1])),
        "prices": json.dumps([float(p) for p in prices.mean(axis=0)]),
        **extra,
    }
    differ = any(rater.price_column is not None for rater in spec.raters)
    return Loaded(meta, _rows(spec, table, ids, order, numbers, prices if differ else None))


def _feature_columns(spec: Spec, columns: int) -> int | None:
    """Columns to learn from, without the user's own uncertainty and the numbers of stratum and cluster."""
    kept = (spec.items.uncertainty, spec.items.clusters, spec.inputs)
    features = columns - sum(one is not None for one in kept) - COLUMNS * (spec.start is not None)
    return features or None


def stored_form(spec: Spec) -> str:
    """The TOML as the store keeps it: without the store's own address, which may have a password in it."""
    return json.dumps({key: value for key, value in spec.to_dict().items() if key != "store"})


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _column(table: Table, name: str, who: str) -> None:
    if name not in table.columns:
        try:
            table.texts(name)
        except TableError as error:
            raise TableError(f"{who} needs a column that is not there: {error}") from None


def _numbers(spec: Spec, table: Table) -> tuple[Any, list[dict[str, Any]]]:
    """Uncertainty and coded features, items × columns."""
    parts = []
    if spec.items.uncertainty is not None:
        own = table.numbers(spec.items.uncertainty)
        if own.min() < 0:
            raise TableError(f"column {spec.items.uncertainty!r} has an uncertainty below 0; it is a squared error")
        parts.append(own[:, None])
    coded = codings(table, spec.items.features)
    matrix = feature_matrix(table, coded)
    if matrix is not None:
        parts.append(matrix)
    numbers = np.concatenate(parts, axis=1) if parts else np.empty((table.rows, 0))
    return numbers, [coding.to_dict() for coding in coded]


def _prices(spec: Spec, table: Table) -> Units:
    """List prices in units, items × raters."""
    return np.column_stack([_price(rater, table) for rater in spec.raters])


def _price(rater: RaterSpec, table: Table) -> Units:
    if rater.price_column is None:
        assert rater.price is not None
        return np.full(table.rows, to_units(rater.price), dtype=np.int64)
    _column(table, rater.price_column, f"rater {rater.name!r}")
    out = np.empty(table.rows, dtype=np.int64)
    for i, text in enumerate(table.texts(rater.price_column)):
        try:
            amount = Decimal(text)
        except InvalidOperation:
            amount = Decimal("NaN")
        if not (amount.is_finite() and 0 <= amount < LARGEST_AMOUNT):
            raise TableError(
                f"column {rater.price_column!r}, row {i + 1}: {text[:40]!r} is no price; give a number from 0 on, "
                f"below {LARGEST_AMOUNT:,}"
            )
        out[i] = to_units(amount)
    return out


def _rows(
    spec: Spec, table: Table, ids: Any, order: Any, numbers: Any, prices: Units | None
) -> Iterator[tuple[Any, ...]]:
    """(position, id, uniform, numbers, prices, content) for each item."""
    r = uniform(ids, seed=spec.seed)
    columns = {name: _cells(values) for name, values in table.to_native().items()}
    names = list(columns)
    blobs = np.ascontiguousarray(numbers, dtype="<f8")
    contents = zip(*columns.values(), strict=True)
    written = [json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, default=str) for row in contents]
    for position, i in enumerate(order.tolist()):
        own = None if prices is None else json.dumps(prices[i].tolist())
        yield position, ids[i], float(r[i]), blobs[i].tobytes() if numbers.shape[1] else None, own, written[i]


def _cells(values: Any) -> list[Any]:
    """Python values; what is missing or no number is None, as JSON knows neither."""
    if values.dtype.kind == "f":
        return [None if not math.isfinite(x) else x for x in values.tolist()]
    if values.dtype.kind in "mM":
        return [None if np.isnat(x) else str(x) for x in values]
    return list(values.tolist())
