"""What `export` writes: a table, the record, or a folder with all of them from one moment."""

import os
from dataclasses import dataclass
from typing import Any

from ratewise.campaign.export import export_answers, export_items, export_ledger
from ratewise.campaign.own_files import check_output
from ratewise.campaign.snapshot import Snapshot
from ratewise.errors import InputError
from ratewise.store.archive import write_record
from ratewise.tables import Table, write_table
from ratewise.tables.write import replacing
from ratewise.tables.write import safe_cells as make_safe

RECORD = "record.jsonl"
TABLES: dict[str, dict[str, bool]] = {  # names in a folder
    "rated.csv": {},
    "ledger.csv": {"ledger": True},
    "answers.csv": {"answers": True},
}


@dataclass(frozen=True, slots=True)
class TakenOut:
    """What was written, for programs and in words, and the head of the record at that moment."""

    shown: dict[str, Any]
    said: str
    head: str


def take_out(
    now: Snapshot, output: str, *, ledger: bool, answers: bool, record: bool, safe_cells: bool = False
) -> TakenOut:
    """Export by the form of `output`: a folder gets everything, a file gets one table or the record."""
    if os.path.isdir(output) or output.endswith(("/", os.sep)):
        if ledger or answers or record:
            raise InputError("a folder gets all tables and the record; leave --ledger, --answers and --record out")
        files, head = export_folder(now, output, safe_cells=safe_cells)
        return TakenOut({"files": list(files)}, f"{', '.join(files)} written to {output}", head)
    if record:
        if ledger or answers or output == "-":
            raise InputError("the record is a file by itself; name one with -o, without --ledger and --answers")
        said = f"The record was written to {output}; check it with: ratewise verify {output}"
        return TakenOut({}, said, export_record(now, output))
    table = export_table(now, output, ledger=ledger, answers=answers, safe_cells=safe_cells)
    shown = {"rows": table.rows, "columns": list(table.columns)}
    return TakenOut(shown, f"{table.rows:,} rows written to {output}.", now.head)


def export_table(
    now: Snapshot,
    path: str | os.PathLike[str],
    *,
    ledger: bool = False,
    answers: bool = False,
    safe_cells: bool = False,
) -> Table:
    """What was looked at, or the ledger, or who said what; the ending of `path` names the format."""
    check_output(now.spec, path)
    if ledger and answers:
        raise InputError("the ledger and the answers are two tables; export one of them at a time")
    if ledger:
        table = export_ledger(now.spec, now.store, now.facts.items)
    elif answers:
        table = export_answers(now.spec, now.store, now.facts.items)
    else:
        table = items_table(now)
    table = make_safe(table) if safe_cells else table
    write_table(table, path)
    return table


def items_table(now: Snapshot) -> Table:
    """What was looked at: the table that an export writes."""
    end = now.state.history.items if now.state.open is None else now.state.open.end
    return export_items(now.spec, now.store, end, now.pooled)


def export_record(now: Snapshot, path: str | os.PathLike[str]) -> str:
    """The whole record; returns its head."""
    check_output(now.spec, path)
    with replacing(os.fspath(path)) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        write_record(now.store, file)
    return now.head


def export_folder(
    now: Snapshot, folder: str | os.PathLike[str], *, safe_cells: bool = False
) -> tuple[tuple[str, ...], str]:
    """All tables that have rows, and the record; returns the files' names and the head."""
    os.makedirs(folder, exist_ok=True)
    written = []
    for name, which in TABLES.items():
        try:
            export_table(now, os.path.join(folder, name), safe_cells=safe_cells, **which)
        except InputError:  # no rows yet, or nobody is a person
            continue
        written.append(name)
    return (*written, RECORD), export_record(now, os.path.join(folder, RECORD))
