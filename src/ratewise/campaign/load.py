"""The table of items, checked once and put into the campaign's own order."""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.campaign.columns import check_columns
from ratewise.campaign.content import contents_of, plain_rows
from ratewise.campaign.inputs import inputs_of
from ratewise.campaign.lesson import Lesson
from ratewise.campaign.made import fact_name, quote_of
from ratewise.campaign.pool import open_pool
from ratewise.campaign.seed import facts_of_seed, seed_of
from ratewise.campaign.spec.fields import LARGEST_AMOUNT
from ratewise.campaign.spec.raters import RaterSpec
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.start import COLUMNS, load_start
from ratewise.campaign.texts import load_texts
from ratewise.campaign.trained import refuse_known
from ratewise.core.checks import Floats
from ratewise.core.clusters import cluster_codes
from ratewise.core.draw import uniform
from ratewise.errors import InputError, TableError
from ratewise.learn.features import codings, feature_matrix
from ratewise.raters.kind import Quote
from ratewise.raters.kinds import KINDS
from ratewise.raters.text import concealed
from ratewise.store.money import MOST, shown, to_units
from ratewise.store.queue import Units
from ratewise.tables import Relation, Table

_ROWS = 1 << 15  # read and written at a time

# As people write amounts, and as programs write floats; Python's own reading would take "1_0" for 10.
_PRICE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Items ready for the store: facts about them, and rows that say where in the campaign's order they stand."""

    meta: dict[str, str]
    rows: Iterator[tuple[Any, ...]]
    paid: int = 0  # for the embeddings of texts, in units
    doubt: str | None = None  # about the budget, to be told before anything is bought


def load_items(spec: Spec, lesson: Lesson | None = None) -> Loaded:
    """Check the whole table; what raters need of it must be there before any money is spent.

    Only the columns that decide something are held in memory, as numbers. Rows are read in batches, when they are
    written.
    """
    pool = open_pool(spec)
    relation = pool.relation
    check_columns(spec, relation)
    _check_filled(spec, relation)
    keys = _keys(spec, relation)
    refuse_known(spec, relation, keys.column)
    table = relation.table(*_deciding(spec, relation))
    numbers, coded = _numbers(spec, table, lesson)
    texts = load_texts(spec, relation, None if lesson is None else lesson.text)
    if texts is not None:
        numbers = np.column_stack([numbers, texts.columns])
    prices, expected, facts = _prices(spec, table, relation)
    _check_sums(spec, prices)
    begun = load_start(spec, table, _told_by(spec, relation))
    if spec.inputs is None:
        order, extra = np.argsort(keys.turn, kind="stable"), {}
    else:
        middle = 0.5 * (spec.scale.low + spec.scale.high)
        chosen, code = inputs_of(spec.inputs, table, folder=spec.folder, middle=middle)
        order, extra = chosen.order(code, keys.turn), {"strata": chosen.to_json()}
        numbers = np.column_stack([numbers, chosen.columns(code), code])
    if spec.items.clusters is not None:
        codes = cluster_codes(table.texts(spec.items.clusters), table.rows)
        numbers = np.column_stack([numbers, codes])
    if begun is not None:
        order, extra = begun.order(keys.turn), {"start": begun.start.to_json()}
        numbers = np.column_stack([numbers, begun.columns()])
    if lesson is not None:
        extra["teacher"] = lesson.teacher.to_json()
    meta = {
        "spec": stored_form(spec),
        "items": str(table.rows),
        "digest": pool.digest,
        **({"pool": str(pool.rows)} if pool.partly else {}),
        "codings": json.dumps(coded),
        "columns": json.dumps(_feature_columns(spec, numbers.shape[1] - (0 if texts is None else texts.count))),
        "prices": json.dumps(expected),
        **({} if texts is None else texts.facts),
        **facts,
        **extra,
        **facts_of_seed(spec),
    }
    differ = any(rater.price is None for rater in spec.raters)
    rows = _rows(relation, keys, order, numbers, prices if differ else None)
    return Loaded(meta, rows, 0 if texts is None else texts.paid, pays_for_all(spec, table.rows, expected[-1]))


@dataclass(frozen=True, slots=True, eq=False)
class _Keys:
    """The column of ids, if there is one, and each item's turn in the campaign's order and number for its draws."""

    column: str | None
    turn: Floats
    uniform: Floats

    def texts(self, rows: Table, first: int) -> Sequence[str]:
        """The ids of a batch that begins with this row."""
        if self.column is None:
            return [str(i) for i in range(first, first + rows.rows)]
        found: list[str] = rows.texts(self.column).tolist()
        return found


def _keys(spec: Spec, relation: Relation) -> _Keys:
    """Ids are compared by the table's engine and hashed in batches; no list of all ids is made."""
    column = spec.items.id if spec.items.id is not None else "id" if "id" in relation.columns else None
    if column is not None:
        relation.check_ids(column)
    seed, n, first = seed_of(spec), relation.count(), 0
    keys = _Keys(column, np.empty(n), np.empty(n))
    for rows in relation.scan(column or relation.columns[0], rows=_ROWS):
        ids, here = keys.texts(rows, first), slice(first, first + rows.rows)
        keys.turn[here], keys.uniform[here] = uniform(ids, seed=f"{seed}:order"), uniform(ids, seed=seed)
        first += rows.rows
    return keys


def _check_filled(spec: Spec, relation: Relation) -> None:
    """Refuse a rater whose column is empty."""
    read = {column: rater.name for rater in spec.raters for column in KINDS[rater.kind].columns(rater.settings)}
    empty = set(read)
    for rows in relation.scan(*read, rows=_ROWS) if read else ():
        empty -= {column for column in empty if rows.texts(column, missing="allow").any()}
        if not empty:
            return
    for column in (column for column in read if column in empty):
        raise TableError(f"rater {read[column]!r} reads column {column!r} of {relation.name}, and it is empty")


def _deciding(spec: Spec, relation: Relation) -> list[str]:
    """Columns that decide what is bought and what it costs; at least one, to count rows by."""
    prices = [rater.price_column for rater in spec.raters]
    strata = None if spec.inputs is None else spec.inputs.strata
    others = (spec.items.uncertainty, *spec.items.features, strata, *prices, spec.items.clusters)
    named = (*others, *_of_start(spec, relation))
    return list(dict.fromkeys(column for column in named if column is not None)) or [relation.columns[0]]


def _of_start(spec: Spec, relation: Relation) -> list[str]:
    """Columns of the labels that are there already, and of their rates."""
    if spec.start is None:
        return []
    return [name for name in (spec.start.labels, spec.start.drawn) if name in relation.columns]


def _told_by(spec: Spec, relation: Relation) -> Table | None:
    """Columns that would tell whether old labels were drawn at random: those of raters but the last."""
    columns = [c for rater in spec.raters[:-1] for c in KINDS[rater.kind].columns(rater.settings)]
    return relation.table(*dict.fromkeys(columns)) if spec.start is not None and columns else None


def _feature_columns(spec: Spec, columns: int) -> int | None:
    """Columns to learn from, without the user's own uncertainty and the numbers of stratum and cluster."""
    kept = (spec.items.uncertainty, spec.items.clusters, spec.inputs)
    features = columns - sum(one is not None for one in kept) - COLUMNS * (spec.start is not None)
    return features or None


def stored_form(spec: Spec) -> str:
    """The TOML as the store keeps it: without the store's own address and with marks for a command's secrets."""
    document = {key: value for key, value in spec.to_dict().items() if key != "store"}
    document["raters"] = [
        rater | {"command": concealed(rater["command"])} if "command" in rater else rater
        for rater in document["raters"]
    ]
    return json.dumps(document)


def _numbers(spec: Spec, table: Table, lesson: Lesson | None) -> tuple[Any, list[dict[str, Any]]]:
    """Uncertainty and coded features, items × columns."""
    parts = []
    if spec.items.uncertainty is not None:
        own = table.numbers(spec.items.uncertainty)
        if own.min() < 0:
            raise TableError(f"column {spec.items.uncertainty!r} has an uncertainty below 0; it is a squared error")
        parts.append(own[:, None])
    coded = codings(table, spec.items.features) if lesson is None else lesson.codings
    matrix = feature_matrix(table, coded)
    if matrix is not None:
        parts.append(matrix)
    numbers = np.concatenate(parts, axis=1) if parts else np.empty((table.rows, 0))
    return numbers, [coding.to_dict() for coding in coded]


def _prices(spec: Spec, table: Table, relation: Relation) -> tuple[Units, list[float], dict[str, str]]:
    """Prices in units, items × raters; what an item is expected to cost on average; and where prices come from.

    A rater whose prices come from the texts has two: planned with is what is expected, reserved is the most.
    """
    columns: list[Units] = []
    expected: list[float] = []
    facts: dict[str, str] = {}
    for rater in spec.raters:
        quote = quote_of(spec, rater)
        if quote is None:
            column = _price(rater, table)
            mean = float(column.mean())
        else:
            usual, column = quoted(quote, rater, relation)
            mean = float(usual.mean())
            facts |= {fact_name(rater.name, name): value for name, value in quote.facts.items()}
        columns.append(column)
        expected.append(mean)
    return np.column_stack(columns), expected, facts


def quoted(quote: Quote, rater: RaterSpec, relation: Relation) -> tuple[Units, Units]:
    """(expected, most) of every item in units, by its text."""
    columns = KINDS[rater.kind].columns(rater.settings)
    found = [
        (to_units(usual), to_units(most))
        for rows in relation.scan(*columns, rows=_ROWS)
        for usual, most in map(quote.of, plain_rows(rows))
    ]
    both = np.array(found, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


def _check_sums(spec: Spec, prices: Units) -> None:
    """Check that all an item can cost is a number that databases can add up; without a budget, the pool too."""
    worst = prices.astype(np.float64)
    for k, rater in enumerate(spec.raters):
        if rater.max_price is not None:
            worst[:, k] = float(to_units(rater.max_price))
    items = worst.sum(axis=1)
    if items.max() >= MOST:
        raise InputError(
            f"an item can cost {shown(int(items.max()))} if every rater is asked; a campaign counts to {shown(MOST)}: "
            "count in a larger unit of money, or lower max_price"
        )
    if spec.goal.budget is None and items.sum() >= MOST:
        raise InputError(
            f"all items together can cost {shown(int(items.sum()))}; a campaign counts to {shown(MOST)}: give "
            "goal.budget, or count in a larger unit of money"
        )


def pays_for_all(spec: Spec, items: int, strong: float) -> str | None:
    """The doubt about a budget that would buy a strong rating of every item; `strong` is its mean price in units.

    Such a budget is in another unit than the prices, as a rule: cents for dollars.
    """
    goal, to_rate_all = spec.goal, len(spec.raters) == 1 and spec.method == "base"
    if goal.budget is None or goal.target_se is not None or goal.within is not None or to_rate_all:
        return None
    whole = round(items * strong)
    if not 0 < whole <= to_units(goal.budget):
        return None
    return (
        f"the budget of {goal.budget:,f} pays for a strong rating of each of the {items:,} items, which cost "
        f"{shown(whole)} together, so nothing would be left to estimate: are the budget "
        "and the prices in one unit of money?"
    )


def listed_prices(rater: RaterSpec, relation: Relation) -> Units:
    """Prices of a rater as the TOML or a column gives them, of every item."""
    column = rater.price_column
    return _price(rater, relation.table(relation.columns[0] if column is None else column))


def _price(rater: RaterSpec, table: Table) -> Units:
    if rater.price_column is None:
        assert rater.price is not None
        return np.full(table.rows, to_units(rater.price), dtype=np.int64)
    out = np.empty(table.rows, dtype=np.int64)
    for i, text in enumerate(table.texts(rater.price_column)):
        amount = Decimal(text) if _PRICE.fullmatch(text.strip()) else Decimal("NaN")
        if not (amount.is_finite() and 0 <= amount < LARGEST_AMOUNT):
            raise TableError(
                f"column {rater.price_column!r}, row {i + 1}: {text[:40]!r} is no price; give a number from 0 on, "
                f"below {LARGEST_AMOUNT:,}"
            )
        out[i] = to_units(amount)
    return out


def _rows(
    relation: Relation, keys: _Keys, order: NDArray[np.intp], numbers: Floats, prices: Units | None
) -> Iterator[tuple[Any, ...]]:
    """(position, id, uniform, numbers, prices, content) for each item: batch by batch, in order within each."""
    position = np.empty(order.size, dtype=np.intp)
    position[order] = np.arange(order.size)
    blobs = np.ascontiguousarray(numbers, dtype="<f8")
    first = 0
    for rows in relation.scan(rows=_ROWS):
        ids, contents = keys.texts(rows, first), contents_of(rows)
        for i in np.argsort(position[first : first + rows.rows]).tolist():
            row = first + i
            own = None if prices is None else json.dumps(prices[row].tolist())
            blob = blobs[row].tobytes() if numbers.shape[1] else None
            yield int(position[row]), ids[i], float(keys.uniform[row]), blob, own, contents[i]
        first += rows.rows
