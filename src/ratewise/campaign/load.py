"""The table of items: which of its rows a campaign takes in, what is checked before money is spent, and their order.

A pool of 10⁸ rows stays where it is. The campaign takes in the first items of its random order, which is a simple
random sample of the pool that anyone can draw again by seed and ids, and keeps a digest of the files. Nothing else of
it is read, and an estimate of the pool's mean counts all of its rows.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ratewise.campaign.items import Parts, goals_of
from ratewise.campaign.learner import Lesson, load_texts, too_little
from ratewise.campaign.old_labels import load_start
from ratewise.campaign.raters import fact_name, quote_of
from ratewise.campaign.seed import facts_of_seed, seed_of
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.spec.toml import Place, line_numbers, line_of, read_text, read_values
from ratewise.campaign.strata import inputs_of
from ratewise.core.checks import Floats
from ratewise.core.clusters import cluster_codes
from ratewise.core.draw import uniform
from ratewise.design.rounds import rounds_planned
from ratewise.errors import ColumnsError, InputError, SpecError, TableError
from ratewise.learn.features import codings, feature_matrix
from ratewise.learn.rater_folder import KNOWN
from ratewise.questions.question import CampaignQuestion
from ratewise.raters.keys import LARGEST_AMOUNT
from ratewise.raters.kind import Knows, Quote, RaterSpec
from ratewise.raters.text import concealed
from ratewise.raters.trained import knows_of
from ratewise.store.money import MOST, shown, to_units
from ratewise.store.queue import Units
from ratewise.tables import Relation, Table, open_relation
from ratewise.tables.adapters import several_files
from ratewise.tables.engine import one_line
from ratewise.tables.files import files_of
from ratewise.tables.table import no_column

LARGEST = 1 << 20
"""Rows of a table that is taken in whole, where the TOML does not say."""
TAKEN = 1 << 18
"""Items that are taken in of a larger one."""

_PARTS = "parts:"  # before a digest of names, sizes, beginnings and ends
_EDGE = 1 << 20  # bytes at either end of a file; a Parquet file ends with what it says of all its columns


def open_pool(spec: Spec, *, seed: int | str | None = None) -> tuple[Relation, int]:
    """The items that a campaign can look at, before anything of them is checked, and how many rows they are among.

    A seed that is no longer secret may be given.
    """
    relation = open_relation(spec.table_path, format=spec.items.format)
    rows, most = relation.count(), spec.items.at_most or TAKEN
    if rows <= (spec.items.at_most or LARGEST):
        return relation, rows
    column = _refuse(spec, relation, rows)
    return relation.first_by(column, seed=f"{seed_of(spec) if seed is None else seed}:order", rows=most), rows


def _refuse(spec: Spec, relation: Relation, rows: int) -> str:
    """Refuse what needs all rows of a pool, with the reason; returns the column of ids."""
    first = spec.items.at_most or TAKEN
    taken = f"{relation.name} has {rows:,} rows, of which the campaign takes in the first {first:,}"
    all_of_them = f"items.at_most = {rows} takes in all"
    column = id_column(spec, relation.columns)
    if column is None:
        raise InputError(f"{taken} by the hashes of their ids: name the column of ids (items.id), or {all_of_them}")
    relation.refuse_unknown([column])
    if spec.inputs is not None:
        raise InputError(f"{taken} at random, and [inputs] chooses among all: leave it out, or {all_of_them}")
    if spec.start is not None:
        raise InputError(f"{taken} at random, and the labels of [start] are anywhere: leave it out, or {all_of_them}")
    return column


def id_column(spec: Spec, columns: Collection[str]) -> str | None:
    """The column of ids that the TOML names, else that of this name; None where rows are numbered.

    Where systems are compared, a column `id` may say which rows are of the same prompt, and rows are numbered.
    """
    return spec.items.id or ("id" if "id" in columns and spec.together != "id" else None)


def taken_in(spec: Spec, rows: int, items: int) -> str:
    """What users should know of a pool that stays where it is."""
    return (
        f"{spec.items.table} stays where it is: of its {rows:,} rows, the first {items:,} in the campaign's random "
        "order can be looked at (items.at_most); all of them count in the pool's mean"
    )


# Whether a table is still the same


def whole_digest(path: Path) -> str:
    """SHA-256 of a file; of several, of their names and contents."""
    if path.is_file():
        return _of_file(path)
    lines = (f"{os.path.basename(file)} {_of_file(Path(file))}\n" for file in _files(path))
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def parts_digest(path: Path) -> str:
    """SHA-256 of the files' names, sizes, beginnings and ends: of 10⁸ rows in a moment."""
    found = hashlib.sha256()
    for file in _files(path):
        size = os.path.getsize(file)
        found.update(f"{os.path.basename(file)} {size}\n".encode())
        with open(file, "rb") as opened:
            found.update(opened.read(_EDGE))
            opened.seek(max(size - _EDGE, 0))
            found.update(opened.read())
    return _PARTS + found.hexdigest()


def _files(path: Path) -> tuple[str, ...]:
    """The files of a table, another tool's among them."""
    return several_files(str(path)) or files_of(str(path))


def is_same(path: Path, digest: str | None) -> bool:
    """Whether the table has this digest, in the form that it was computed in."""
    compute = parts_digest if digest is not None and digest.startswith(_PARTS) else whole_digest
    return compute(path) == digest


def _of_file(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_columns(spec: Spec, table: Relation) -> None:
    """Refuse a campaign that names columns its table does not have: every one of them, with its line in the TOML."""
    lacking = [(place, who, name) for place, who, name in _named(spec) if name not in table.columns]
    if not lacking:
        return
    lines, file = _lines(spec), one_line(os.path.relpath(spec.path))
    told = []
    for place, who, name in lacking:
        line = line_of(place, lines)
        where = file if line is None else f"{file}:{line}"
        complaint = no_column(table.name, name, table.columns)
        told.append((line or 0, f"{where}: {who} needs a column that is not there: {complaint}"))
    raise ColumnsError(*(sentence for _, sentence in sorted(told)))


def _named(spec: Spec) -> Iterator[tuple[Place, str, str]]:
    """(where it stands, who needs it, the column)."""
    for key in ("id", "uncertainty", "clusters", "features", "text"):
        named = getattr(spec.items, key) or ()
        for name in (named,) if isinstance(named, str) else named:
            yield ("items", key), f"items.{key}", name
    if spec.inputs is not None:
        yield ("inputs", "strata"), "inputs.strata", spec.inputs.strata
    if spec.question is not None:
        for name in spec.question.columns:
            key = next((key for key in ("by", "system") if getattr(spec.question, key) == name), "pairs")
            yield ("question", key), f"question.{key}", name
    for number, rater in enumerate(spec.raters):
        found = [
            (next((key for key, value in rater.own().items() if value == name), "name"), name) for name in rater.reads
        ]
        for key, name in (*found, ("price_column", rater.price_column)):
            if name is not None:
                yield ("raters", number, key), f"rater {rater.name!r}", name


def _lines(spec: Spec) -> dict[Place, int]:
    """Line numbers in the TOML; empty where the file is gone."""
    with suppress(SpecError):
        text = read_text(str(spec.path))
        read_values(text, str(spec.path))
        return line_numbers(text)
    return {}


def plain_rows(rows: Table) -> Iterator[dict[str, Any]]:
    """Each row as raters get it."""
    columns = {name: cells(values) for name, values in rows.arrays().items()}
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def cells(values: Any) -> list[Any]:
    """Python values for JSON; missing values and NaN become None."""
    if values.dtype.kind == "f":
        return [None if not math.isfinite(x) else x for x in values.tolist()]
    if values.dtype.kind in "mM":
        return [None if np.isnat(x) else str(x) for x in values]
    return list(values.tolist())


def contents_of(rows: Table) -> list[str]:
    """Each row as JSON, as the store keeps it."""
    return list(map(json.JSONEncoder(ensure_ascii=False, default=str).encode, plain_rows(rows)))


_ROWS_TO_KNOW = 1 << 13


def refuse_known(spec: Spec, relation: Relation, id_column: str | None) -> None:
    """Refuse items that a model was trained on: it knows their ratings, and would look better than it is."""
    for name, knows in _models(spec):
        found, texts, first, count = 0, 0, "", 0
        for rows in relation.scan(rows=_ROWS_TO_KNOW):
            for row in plain_rows(rows):
                id = None if id_column is None else str(row[id_column])
                if knows(id, row):
                    found, first = found + 1, first or (id if id is not None else str(count))
                    texts += knows(None, row)
                count += 1
        if found:
            told = (
                "the ids are the same, the texts are not; leave these items out, or give them other ids if they are new"
            )
            if texts:
                by_id = f", {found - texts:,} have only the same id" if found > texts else ""
                told = f"{texts:,} have the same texts or nearly the same{by_id}; leave them out of the table"
            raise InputError(
                f"{name} was trained on {found:,} of {count:,} items of {relation.name} (the first is {first!r}), so "
                f"that it knows their ratings: {told}"
            )


def _models(spec: Spec) -> Iterator[tuple[str, Knows]]:
    """The trained raters, and the model that a campaign's own training starts from if it has seen labels."""
    for rater in spec.raters:
        knows = rater.knows(str(spec.folder))
        if knows is not None:
            yield f"rater {rater.name!r}", knows
    init = None if spec.learner is None else spec.learner.init
    if init is not None and (spec.folder / Path(init).expanduser() / KNOWN).is_file():
        yield f"the model {init!r} of [learner]", knows_of(spec.folder / Path(init).expanduser())


_ROWS = 1 << 15  # read and written at a time

# As people write amounts, and as programs write floats; Python's own reading would take "1_0" for 10.
_PRICE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True, slots=True, eq=False)
class Loaded:
    """Items ready for the store: facts about them, and rows that say where in the campaign's order they stand."""

    meta: dict[str, str]
    rows: Iterator[tuple[Any, ...]]
    notes: list[str]  # for users
    paid: int = 0  # for the embeddings of texts, in units
    doubt: str | None = None  # about the budget, to be told before anything is bought


def load_items(spec: Spec, lesson: Lesson | None = None) -> Loaded:
    """Check the whole table; what raters need of it must be there before any money is spent.

    Only the columns that decide something are held in memory, as numbers. Rows are read in batches, when they are
    written.
    """
    relation, pool = open_pool(spec)
    items = relation.count()
    check_columns(spec, relation)
    _check_filled(spec, relation)
    keys = _keys(spec, relation)
    refuse_known(spec, relation, keys.column)
    table = relation.table(*_deciding(spec, relation))
    own, coded = _uncertainty(spec, table), codings(table, spec.items.features) if lesson is None else lesson.codings
    texts = load_texts(spec, relation, None if lesson is None else lesson.text)
    prices, expected, facts = _prices(spec, relation)
    _check_sums(spec, prices)
    # What would tell whether old labels were drawn at random: the columns of raters but the last.
    read = list(dict.fromkeys(c for rater in spec.raters[:-1] for c in rater.reads))
    begun = load_start(spec, table, relation.table(*read) if spec.start is not None and read else None)
    order, extra, stratum = np.argsort(keys.turn, kind="stable"), {}, None
    notes = [taken_in(spec, pool, items)] if items < pool else []
    features = [] if (matrix := feature_matrix(table, coded)) is None else [matrix]
    if spec.inputs is not None:
        middle = 0.5 * (spec.scale.low + spec.scale.high)
        chosen, stratum = inputs_of(spec.inputs, table, folder=spec.folder, middle=middle)
        order, extra = chosen.order(stratum, keys.turn), {"strata": chosen.to_json()}
        features.append(chosen.columns(stratum))
    question, place = _question(spec, table), None
    if question is not None:
        extra["question"], place = question.to_json(), question.place(table)
    if spec.goal.decide is not None and spec.goal.budget is not None:
        paid = expected[-1] if spec.method == "base" else sum(expected)
        looks = rounds_planned(to_units(spec.goal.budget) / max(paid, 1.0), table.rows, begun[0].first if begun else 0)
        extra["looks"] = str(looks)
    if question is not None and place is not None:
        own_columns = question.features(place)
        features += [] if own_columns is None else [own_columns]
    if begun is not None:
        order, extra = begun[0].order(begun[1], keys.turn), extra | {"start": begun[0].to_json()}
        notes.append(begun[0].summary())
    if lesson is not None:
        extra["teacher"] = json.dumps(lesson.teacher.to_dict(), allow_nan=False)
        notes.append(
            f"{lesson.teacher.strong.size:,} labels of the campaign {lesson.teacher.campaign!r} teach this one"
        )
    elif spec.teacher is not None:
        notes.append(too_little(spec.teacher))
    if texts is not None:
        notes.append(texts.note)
    together = spec.items.clusters
    parts, numbers = Parts.of(
        table.rows, uncertainty=own, features=np.column_stack(features) if features else None,
        text=None if texts is None else texts.columns, stratum=stratum,
        cluster=None if together is None else cluster_codes(table.texts(together), table.rows),
        label=None if begun is None else begun[1], label_rate=None if begun is None else begun[2], place=place,
    )  # fmt: skip
    meta = {
        "spec": stored_form(spec),
        "items": str(table.rows),
        "digest": (parts_digest if items < pool else whole_digest)(spec.table_path),
        **({"pool": str(pool)} if items < pool else {}),
        "codings": json.dumps([coding.to_dict() for coding in coded]),
        "columns": json.dumps(parts.widths),
        "prices": json.dumps(expected),
        **({} if texts is None else texts.facts),
        **facts,
        **extra,
        **facts_of_seed(spec),
    }
    differ = any(rater.price is None for rater in spec.raters)
    rows = _rows(relation, keys, order, numbers, prices if differ else None)
    paid = 0 if texts is None else texts.paid
    return Loaded(meta, rows, notes, paid, pays_for_all(spec, table.rows, expected[-1]))


def _question(spec: Spec, table: Table) -> CampaignQuestion | None:
    """What is asked besides the mean, with the groups of the table."""
    asked = spec.question
    if asked is None or asked.kind == "mean":
        return None
    found = CampaignQuestion.of(asked.kind, asked.columns, table, baseline=asked.baseline, at=asked.at or 0.5)
    if spec.together is not None:
        prompts, systems = table.texts(spec.together), table.texts(asked.columns[0])
        several = len(set(zip(prompts.tolist(), systems.tolist(), strict=True))) < table.rows
        if several:
            raise TableError(
                f"{table.name} has two rows of the same {spec.together!r} and system; a comparison needs one row for "
                "each prompt and system: keep one, or leave items.clusters out"
            )
    goals_of(spec, found)
    return found


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
    column = id_column(spec, relation.columns)
    if column is not None:
        relation.check_ids(column)
    seed, n, first = seed_of(spec), relation.count(), 0
    keys, together = _Keys(column, np.empty(n), np.empty(n)), spec.together
    for rows in relation.scan(together or column or relation.columns[0], rows=_ROWS):
        ids = keys.texts(rows, first) if together is None else rows.texts(together).tolist()
        here = slice(first, first + rows.rows)
        keys.turn[here], keys.uniform[here] = uniform(ids, seed=f"{seed}:order"), uniform(ids, seed=seed)
        first += rows.rows
    return keys


def _check_filled(spec: Spec, relation: Relation) -> None:
    """Refuse a rater whose column is empty."""
    read = {column: rater.name for rater in spec.raters for column in rater.reads}
    empty = set(read)
    for rows in relation.scan(*read, rows=_ROWS) if read else ():
        empty -= {column for column in empty if rows.texts(column, missing="allow").any()}
        if not empty:
            return
    for column in (column for column in read if column in empty):
        raise TableError(f"rater {read[column]!r} reads column {column!r} of {relation.name}, and it is empty")


def _deciding(spec: Spec, relation: Relation) -> list[str]:
    """Columns that decide what is bought and what it costs; at least one, to count rows by."""
    strata = None if spec.inputs is None else spec.inputs.strata
    started = () if spec.start is None else (spec.start.labels, spec.start.drawn)  # which may be no column
    asked = () if spec.question is None else spec.question.columns
    named = [spec.items.uncertainty, *spec.items.features, strata, spec.items.clusters, *started, *asked]
    return list(dict.fromkeys(name for name in named if name in relation.columns)) or [relation.columns[0]]


def stored_form(spec: Spec) -> str:
    """The TOML as the store keeps it: without the store's own address and with marks for a command's secrets."""
    document = {key: value for key, value in spec.to_dict().items() if key != "store"}
    document["raters"] = [
        rater | {"command": concealed(rater["command"])} if "command" in rater else rater
        for rater in document["raters"]
    ]
    return json.dumps(document)


def _uncertainty(spec: Spec, table: Table) -> Floats | None:
    """The uncertainty that the user gives."""
    if spec.items.uncertainty is None:
        return None
    own = table.numbers(spec.items.uncertainty)
    if own.min() < 0:
        raise TableError(f"column {spec.items.uncertainty!r} has an uncertainty below 0; it is a squared error")
    return own


def _prices(spec: Spec, relation: Relation) -> tuple[Units, list[float], dict[str, str]]:
    """Prices in units, items × raters; what an item is expected to cost on average; and where prices come from.

    A rater whose prices come from the texts has two: planned with is what is expected, reserved is the most.
    """
    columns: list[Units] = []
    expected: list[float] = []
    facts: dict[str, str] = {}
    for rater in spec.raters:
        usual, most, quote = item_prices(spec, rater, relation)
        columns.append(most)
        expected.append(float(usual.mean()))
        if quote is not None:
            facts |= {fact_name(rater.name, name): value for name, value in quote.facts.items()}
    return np.column_stack(columns), expected, facts


def item_prices(spec: Spec, rater: RaterSpec, relation: Relation) -> tuple[Units, Units, Quote | None]:
    """(expected, most) of every item in units, and the quote where they come from the items' texts."""
    quote = quote_of(spec, rater)
    if quote is None:
        listed = _listed(rater, relation)
        return listed, listed, None
    found = [
        (to_units(usual), to_units(most))
        for rows in relation.scan(*rater.reads, rows=_ROWS)
        for usual, most in map(quote.of, plain_rows(rows))
    ]
    both = np.array(found, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1], quote


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
    if (
        goal.budget is None
        or goal.target_se is not None
        or goal.within is not None
        or goal.decide is not None
        or to_rate_all
    ):
        return None
    whole = round(items * strong)
    if not 0 < whole <= to_units(goal.budget):
        return None
    return (
        f"the budget of {goal.budget:,f} pays for a strong rating of each of the {items:,} items, which cost "
        f"{shown(whole)} together, so nothing would be left to estimate: are the budget "
        "and the prices in one unit of money?"
    )


def _listed(rater: RaterSpec, relation: Relation) -> Units:
    """Prices of every item as the TOML or a column gives them."""
    if rater.price_column is None:
        assert rater.price is not None
        return np.full(relation.count(), to_units(rater.price), dtype=np.int64)
    table = relation.table(rater.price_column)
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
