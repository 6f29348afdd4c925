"""What is taken out of a campaign: its items, its ledger or its answers as a table, its record, or all in a folder."""

import json
import os
import re
from contextlib import suppress
from dataclasses import replace
from operator import attrgetter
from typing import Any

import numpy as np

from ratewise.campaign.learner import LEARNER
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.spec import Spec
from ratewise.errors import InputError
from ratewise.questions.rated import EXPORTED, POOL_SIZE, Pooled
from ratewise.raters.text import one_line
from ratewise.store import audit
from ratewise.store.archive import write_record
from ratewise.store.money import to_money
from ratewise.store.queue import ANSWERED, MISSING, OPEN, TEXTS
from ratewise.tables import Table, read_table, write_table
from ratewise.tables.write import replacing
from ratewise.tables.write import safe_cells as make_safe

_LARGEST, _EXACT = 2**63, 2**53  # of whole numbers that fit into 64 bits, and into a float
_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?(e[-+]?[0-9]+)?", re.IGNORECASE)
_STATES = {OPEN: "open", ANSWERED: "answered", MISSING: "missing"}


def items_table(now: Snapshot) -> Table:
    """A row for each item looked at, in the order it was: its columns, then what each rater said and how it was drawn.

    `rate` is the chance that the item had of a strong rating in all complete rounds together, `rate_in_round` in its
    own; with more than two raters, each has its own columns. `prediction` is what stands in the weak rating's place,
    and the column `ratewise` has the terms of the estimate: so `ratewise estimate` computes what the campaign reports.
    Where items are chosen by strata, `weight` is what each counts; where not all were looked at, `pool_size` is how
    many there are.
    """
    spec, facts = now.spec, now.facts
    looked = now.state.history.items if now.state.open is None else now.state.open.end
    if looked == 0:
        raise InputError("no item was looked at yet; there is nothing to export")
    contents = [json.loads(row.content) for row in audit.walk(audit.item_contents, now.store, looked)]
    columns = {name: [content.get(name) for content in contents] for name in contents[0]}
    number = np.zeros(looked, dtype=np.int64)
    for row in now.store.rounds():
        number[row.first :] = row.number
    added: dict[str, Any] = {"item_id": _ids(now, looked), "position": np.arange(looked), "round": number}
    added |= _ratings(now, looked)
    if looked < facts.to_draw_from:
        added[POOL_SIZE] = np.full(looked, facts.to_draw_from)
    if facts.inputs is not None:
        code = now.items.looked(0, looked).strata
        assert code is not None
        added["weight"] = facts.inputs.item_weights(code)
    if now.pooled is not None:
        added |= _as_estimated(spec, now.pooled, looked)
    own = {name: _array(values) if name == spec.items.id else typed(values) for name, values in columns.items()}
    return read_table(own | added)


def _as_estimated(spec: Spec, pooled: Pooled, looked: int) -> dict[str, Any]:
    """The arrays and terms of the estimate; items of a round that is not complete have no rate and do not count."""
    items, n = pooled.items, pooled.items.strong.size
    weak, rates = items.weak.reshape(n, -1), items.rates.reshape(n, -1)
    steps = rates.shape[1]
    chosen_raters = [spec.raters[k] for k in pooled.raters] or spec.raters
    names = [""] if steps == 1 else [f"_{rater.name}" for rater in chosen_raters]
    out: dict[str, Any] = {}
    for k in range(steps):
        out[f"prediction{names[k]}"] = _filled(weak[:, k], looked)
        out[f"rate{names[k + 1 - (steps == 1)]}"] = _filled(rates[:, k], looked)
    ending = "" if len(spec.raters) <= 2 else f"_{spec.strong.name}"
    chosen = np.zeros(looked, dtype=np.bool_)
    chosen[:n] = items.selected
    out[f"selected{ending}"] = chosen
    terms = replace(
        pooled.terms, rows=looked, weak=tuple(f"prediction{name}" for name in names[:steps]),
        rates=tuple(f"rate{name}" for name in names[-steps:]), strong=f"rating_{spec.strong.name}",
        selected=f"selected{ending}",
    )  # fmt: skip
    if spec.start is not None:  # old labels count beside those that were asked for
        out[terms.strong] = _filled(items.strong, looked)
    if items.clusters is not None:
        out["cluster_number"] = _filled(items.clusters.astype(np.float64), looked)
        terms = replace(terms, clusters="cluster_number")
    if pooled.strata is not None:
        out["stratum"] = _array([*pooled.strata.tolist(), *[None] * (looked - n)])
        terms = replace(terms, strata="stratum")
    return out | {EXPORTED: _array([terms.to_json(), *[None] * (looked - 1)])}


def _filled(values: Any, looked: int) -> Any:
    return np.concatenate([values, np.full(looked - values.size, np.nan)])


def ledger_table(now: Snapshot) -> Table:
    """A row for each movement of money, in the order they were made."""
    moved = (*audit.walk(audit.ledger_rows, now.store, now.facts.items), *audit.unplaced_rows(now.store))
    rows, at = sorted(moved, key=attrgetter("id")), now.spec.at
    if not rows:
        raise InputError("no money has moved yet; there is nothing to export")
    places = [row.position for row in rows]  # none of money that belongs to no item
    return read_table({
        "at": _array([row.at for row in rows]),
        "kind": _array([row.kind for row in rows]),
        "position": _array(places) if None in places else np.array(places),
        "rater": _array([
            LEARNER if row.kind == TEXTS else None if row.step is None else at(row.step).name for row in rows
        ]),
        "attempt": _array([row.attempt for row in rows]),
        "amount": _array([f"{to_money(row.amount):f}" for row in rows]),
    })  # fmt: skip


def answers_table(now: Snapshot) -> Table:
    """A row for each answer of a person, by item, in the order they were given; what the page tells if it was used."""
    rows = list(audit.walk(audit.answer_rows, now.store, now.facts.items))
    if not rows:
        raise InputError("nobody has answered yet; there is nothing to export")
    ids = _ids(now, now.facts.items)

    def told(name: str) -> bool:
        return any(getattr(row, name) is not None and getattr(row, name) is not False for row in rows)

    by_page: dict[str, Any] = {
        "seconds": np.array([np.nan if row.seconds is None else row.seconds for row in rows]),
        "sides": _array([row.sides for row in rows]),
        "flagged": np.array([bool(row.flagged) for row in rows]),
    }
    return read_table({
        "item_id": _array([ids[row.position] for row in rows]),
        "position": np.array([row.position for row in rows]),
        "rater": _array([now.spec.at(row.step).name for row in rows]),
        "annotator": _array([row.annotator for row in rows]),
        "rating": np.array([np.nan if row.value is None else row.value for row in rows]),
        "note": _array([row.note for row in rows]),
        "at": _array([row.at for row in rows]),
        **{name: cells for name, cells in by_page.items() if told(name)},
    })  # fmt: skip


def _ids(now: Snapshot, looked: int) -> Any:
    return _array([row.id for row in audit.walk(audit.item_keys, now.store, looked)])


def _ratings(now: Snapshot, looked: int) -> dict[str, Any]:
    """`rating_<name>` and `state_<name>` of each rater, and how each after the first was drawn."""
    spec, shape = now.spec, (looked, len(now.spec.raters))
    values, doubts, rates = (np.full(shape, np.nan) for _ in range(3))
    states, selected = np.full(shape, "", dtype=object), np.zeros(shape, dtype=np.bool_)
    for row in audit.walk(audit.rating_rows, now.store, looked):
        at = row.position, spec.index(row.step)
        states[at] = _STATES[row.state]
        if row.value is not None:
            values[at], doubts[at] = row.value, np.nan if row.doubt is None else row.doubt
    for row in audit.walk(audit.draw_rows, now.store, looked):
        at = row.position, spec.index(row.step)
        rates[at], selected[at] = row.rate, row.selected
    out: dict[str, Any] = {}
    for k, rater in enumerate(spec.raters):
        out |= {f"rating_{rater.name}": values[:, k], f"state_{rater.name}": states[:, k]}
        if not np.isnan(doubts[:, k]).all():
            out[f"uncertainty_{rater.name}"] = doubts[:, k]
    for k in range(min(1, len(spec.raters) - 1), len(spec.raters)):
        ending = "" if len(spec.raters) <= 2 else f"_{spec.raters[k].name}"
        out |= {f"rate{ending}": rates[:, k], f"selected{ending}": selected[:, k]}
    return out | ({"rate_in_round": rates[:, -1]} if len(spec.raters) <= 2 else {})


def typed(values: list[Any]) -> Any:
    """A column as its values are: whole numbers, numbers and truth values stay such, anything else is as it is.

    A CSV file has texts only; those that are all numbers, spelled as numbers are (not 007), become numbers.
    """
    there = [value for value in values if value is not None]
    kinds = {type(value) for value in there}
    if kinds == {str} and all(_NUMBER.fullmatch(value) for value in there):
        read = int if all(value.lstrip("-").isdigit() for value in there) else float
        return typed([None if value is None else read(value) for value in values])
    if kinds == {bool} and len(there) == len(values):
        return np.array(values, dtype=np.bool_)
    if kinds == {int} and len(there) == len(values) and all(abs(value) < _LARGEST for value in there):
        return np.array(values, dtype=np.int64)
    if kinds and kinds <= {int, float} and all(isinstance(value, float) or abs(value) < _EXACT for value in there):
        return np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    return _array(values)


def _array(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def check_output(spec: Spec, output: str | os.PathLike[str]) -> None:
    """Refuse a file of the campaign itself, whatever links lead to it."""
    target = os.fspath(output)
    stem, stores = spec.folder / spec.path.stem, []
    if "://" not in spec.store:
        store = os.path.join(spec.folder, spec.store)
        stores = [each + end for each in (store, os.path.realpath(store)) for end in _BESIDE]
    recordings = [getattr(rater, "file", None) for rater in spec.raters]
    own: dict[str, list[Any]] = {
        "the TOML": [spec.path], "the table": [spec.table_path], "the store": stores,
        "a file of answers": [f"{stem}{ending}" for ending in (".unsaved.jsonl", ".set-aside.jsonl")],
        "a recording": [spec.folder / file for file in recordings if file is not None],
    }  # fmt: skip
    for what, paths in own.items() if target != "-" else ():
        if any(_same(str(path), target) for path in paths):
            raise InputError(f"{one_line(target)} is {what} of the campaign; name another file after -o")


def _same(one: str, other: str) -> bool:
    return os.path.realpath(one) == os.path.realpath(other) or (
        os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)
    )


_BESIDE = ("", "-wal", "-shm", "-journal", ".lock")  # of a SQLite file
RECORD = "record.jsonl"
FILES = {"rated.csv": "items", "ledger.csv": "ledger", "answers.csv": "answers"}  # of a folder
_TABLES = {"items": items_table, "ledger": ledger_table, "answers": answers_table}


def export(
    now: Snapshot, output: str, *, ledger: bool, answers: bool, record: bool, safe_cells: bool = False
) -> tuple[dict[str, Any], str]:
    """Export by the form of `output`: a folder gets everything, a file gets one table or the record.

    Returns what was written, for programs and in words.
    """
    if os.path.isdir(output) or output.endswith(("/", os.sep)):
        if ledger or answers or record:
            raise InputError("a folder gets all tables and the record; leave --ledger, --answers and --record out")
        files, _ = export_folder(now, output, safe_cells=safe_cells)
        return {"files": list(files)}, f"{', '.join(files)} written to {output}"
    if record:
        if ledger or answers or output == "-":
            raise InputError("the record is a file by itself; name one with -o, without --ledger and --answers")
        export_record(now, output)
        return {}, f"The record was written to {output}; check it with: ratewise verify {output}"
    table = export_table(now, output, table_asked(ledger=ledger, answers=answers), safe_cells=safe_cells)
    return {"rows": table.rows, "columns": list(table.columns)}, f"{table.rows:,} rows written to {output}."


def table_asked(*, ledger: bool, answers: bool) -> str:
    """The one table that is asked for."""
    if ledger and answers:
        raise InputError("the ledger and the answers are two tables; export one of them at a time")
    return "ledger" if ledger else "answers" if answers else "items"


def export_table(
    now: Snapshot, path: str | os.PathLike[str], name: str = "items", *, safe_cells: bool = False
) -> Table:
    """Write the items, the ledger or the answers; the ending of `path` names the format."""
    check_output(now.spec, path)
    table = _TABLES[name](now)
    table = make_safe(table) if safe_cells else table
    write_table(table, path)
    return table


def export_record(now: Snapshot, path: str | os.PathLike[str]) -> str:
    """Write the whole record; returns its head."""
    check_output(now.spec, path)
    with replacing(os.fspath(path)) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        write_record(now.store, file)
    return now.head


def export_folder(
    now: Snapshot, folder: str | os.PathLike[str], *, safe_cells: bool = False
) -> tuple[tuple[str, ...], str]:
    """Write all tables that have rows, and the record; returns the files' names and the head."""
    os.makedirs(folder, exist_ok=True)
    written = []
    for file, name in FILES.items():
        with suppress(InputError):  # no rows yet, or nobody is a person
            export_table(now, os.path.join(folder, file), name, safe_cells=safe_cells)
            written.append(file)
    return (*written, RECORD), export_record(now, os.path.join(folder, RECORD))
