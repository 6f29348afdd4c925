"""The client for sheets: open questions of raters of kind "sheet" go to files, and answers come back from them.

A file is written once and never changed by a run, since people work in it. Which questions stand in which file is
written down before the file is, so that a run that was killed between the two writes the file again. An answer is
settled in one transaction; a file that is read again finds its answers settled, and pays for nothing twice.
"""

import json
import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ratewise.campaign.clients.respondents import Respondent, blank_table, respondents
from ratewise.campaign.seed import seed_of
from ratewise.campaign.spec.spec import Spec
from ratewise.core.draw import uniform
from ratewise.errors import InputError, RatewiseWarning
from ratewise.questions.sheets import SheetRow, answered_rows
from ratewise.raters.sheet import SheetSettings
from ratewise.store.desk import Desk, Vote
from ratewise.store.queue import Claim
from ratewise.store.store import Store
from ratewise.tables import Table, read_table, write_table
from ratewise.tables.write import plain_cells

_META = "sheets"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file in the campaign's folder, the number of its rater, and the ids of the items that it asks about."""

    folder: Path
    file: str
    step: int
    ids: tuple[str, ...]

    @property
    def path(self) -> str:
        return str(self.folder / self.file)

    def is_there(self) -> bool:
        return os.path.exists(self.path)

    def read(self) -> Table:
        return plain_cells(read_table(self.path, name=self.file))


def exchange_sheets(spec: Spec, store: Store) -> tuple[int, str]:
    """Take the answers of the sheets there are, and write another one for what is asked in none of them.

    Returns how many answers were taken, and what is waited for in words, empty where nothing is. A file with a mistake
    is refused as a whole.
    """
    desk = Desk(store)
    found = [Sheet(spec.folder, file, step, tuple(ids)) for file, step, ids in json.loads(store.meta(_META) or "[]")]
    taken = sum(_take(desk, spec, sheet) for sheet in found if sheet.is_there())
    asked = respondents(spec, SheetSettings)
    for each in asked:
        found = _write(desk, each, found)
    where = {(sheet.step, item): sheet.file for sheet in found for item in sheet.ids}  # the last file that asks it
    still_open = Counter(where[each.step, claim.id] for each in asked for claim in desk.open(each.step))
    count = still_open.total()
    answers = f"{count:,} answer{'' if count == 1 else 's'}"
    return taken, f"waiting for {answers} in {' and '.join(still_open)}" if count else ""


# Answers


def _take(desk: Desk, spec: Spec, sheet: Sheet) -> int:
    each, asked = Respondent(spec, sheet.step), set(sheet.ids)
    rows = answered_rows(sheet.read(), each.rater.name)
    answers = [(row, _rating(each, row, asked, sheet)) for row in rows]
    open_now = {claim.id: claim for claim in desk.open(sheet.step)}
    settled = desk.settled(sheet.step)
    taken = 0
    for row, value in answers:
        claim = open_now.get(row.id)
        if claim is not None:
            each.settle(desk, claim, Vote(sheet.file, value))
            taken += 1
        elif row.id in settled and settled[row.id] != value:
            said = "that nobody can tell" if settled[row.id] is None else f"{settled[row.id]:g}"
            warnings.warn(
                f"{sheet.file}, row {row.number} (id {row.id!r}) was changed after it was taken; {said} stays",
                RatewiseWarning,
                stacklevel=2,
            )
    return taken


# Questions


def _write(desk: Desk, each: Respondent, found: Sequence[Sheet]) -> list[Sheet]:
    """Write a sheet for open questions that are in none; a lost sheet gets its old name."""
    mine = [sheet for sheet in found if sheet.step == each.step]
    tables = [sheet.read() for sheet in mine if sheet.is_there()]
    there = {item.strip() for table in tables for item in table.texts("id", missing="allow").tolist()}
    missing = [claim for claim in desk.open(each.step) if claim.id not in there]
    if not missing:
        return list(found)
    lost = next((sheet.file for sheet in mine if not sheet.is_there()), None)
    file = lost or _new_name(each.spec, each.rater.sheets, len(found) + 1)
    new = Sheet(each.spec.folder, file, each.step, tuple(claim.id for claim in missing))
    recorded = [*(sheet for sheet in found if sheet.file != new.file), new]
    desk.store.set_meta(_META, json.dumps([[s.file, s.step, s.ids] for s in recorded], ensure_ascii=False))
    write_table(_table(each, missing), new.path)
    return recorded


def _table(each: Respondent, claims: Sequence[Claim]) -> Table:
    """Their rows in an order of their own, with an empty column for the rating."""
    ids = np.array([claim.id for claim in claims], dtype=object)
    order = np.argsort(uniform(ids, seed=f"{seed_of(each.spec)}:sheet"), kind="stable").tolist()
    rows = []
    for i in order:
        row = each.shown(json.loads(claims[i].content))
        cells = {name: cell for name, cell in row.items() if name not in ("id", each.rater.name)}
        rows.append({"id": claims[i].id, **cells, each.rater.name: None})
    return blank_table(rows, "the sheet")


def _new_name(spec: Spec, begins: str, number: int) -> str:
    """Name with the next free number; existing files are never overwritten."""
    while os.path.lexists(spec.folder / f"{begins}-{number}.csv"):
        number += 1
    return f"{begins}-{number}.csv"


def _rating(each: Respondent, row: SheetRow, asked: set[str], sheet: Sheet) -> float | None:
    where = f"{sheet.file}, row {row.number} (id {row.id!r}): "
    if row.id not in asked:
        raise InputError(f"{where}this item was not asked for there; put its id back, or clear the row")
    return None if row.cannot_tell else each.number(row.written, where=where, hint="; or write 'cannot tell'")
