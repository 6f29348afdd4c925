"""The client for sheets: open questions of raters of kind "sheet" go to files, and answers come back from them.

A file is written once and never changed by a run, since people work in it. Which questions stand in which file is
written down before the file is, so that a run that was killed between the two writes the file again. An answer is
settled in one transaction; a file that is read again finds its answers settled, and pays for nothing twice.
"""

import json
import os
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ratewise.campaign.clients.respondents import Respondent, blank_table, respondents
from ratewise.campaign.seed import seed_of
from ratewise.campaign.spec.spec import Spec
from ratewise.core.draw import uniform
from ratewise.errors import InputError, RatewiseWarning
from ratewise.questions.sheets import SheetRow, answered_rows
from ratewise.raters.sheet import SheetSettings
from ratewise.store.desk import Desk, PersonAnswer
from ratewise.store.queue import Claim
from ratewise.store.store import Store
from ratewise.tables import Table, read_table, write_table
from ratewise.tables.write import plain_cells

_META = "sheets"


@dataclass(frozen=True, slots=True)
class Sheet:
    """A file, the number of its rater, and the ids of the items that it asks about."""

    file: str
    step: int
    ids: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Exchanged:
    """What came of looking at the sheets: answers that were taken, and what is still open in which file."""

    taken: int
    open: Mapping[str, int]

    @property
    def reason(self) -> str:
        """What the campaign waits for, in words."""
        count = sum(self.open.values())
        return f"waiting for {count:,} answer{'' if count == 1 else 's'} in {' and '.join(self.open)}"


def sheet_steps(spec: Spec) -> list[int]:
    """Numbers of the steps whose rater answers in sheets."""
    return [each.step for each in respondents(spec, SheetSettings)]


@dataclass(frozen=True, slots=True)
class Sheets:
    """Takes answers from the sheets there are, and writes another one for what is asked in none of them."""

    spec: Spec
    store: Store

    def exchange(self) -> Exchanged:
        """Take the sheets' answers and write new sheets; a file with a mistake is refused as a whole."""
        desk = Desk(self.store)
        found = [Sheet(file, step, tuple(ids)) for file, step, ids in json.loads(self.store.meta(_META) or "[]")]
        taken = sum(self._take(desk, sheet) for sheet in found if self._is_there(sheet))
        for each in respondents(self.spec, SheetSettings):
            found = self._write(desk, each, found)
        where = {(sheet.step, item): sheet.file for sheet in found for item in sheet.ids}  # the last file that asks it
        still_open = Counter(where[step, claim.id] for step in sheet_steps(self.spec) for claim in desk.open(step))
        return Exchanged(taken, dict(still_open))

    # Answers

    def _take(self, desk: Desk, sheet: Sheet) -> int:
        each, asked = Respondent(self.spec, sheet.step), set(sheet.ids)
        answers = [(row, _rating(each, row, asked, sheet)) for row in answered_rows(self._read(sheet), each.rater.name)]
        open_now = {claim.id: claim for claim in desk.open(sheet.step)}
        settled = desk.settled(sheet.step)
        taken = 0
        for row, value in answers:
            claim = open_now.get(row.id)
            if claim is not None:
                each.settle(desk, claim, sheet.file, PersonAnswer(value))
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

    def _write(self, desk: Desk, each: Respondent, found: Sequence[Sheet]) -> list[Sheet]:
        """Write a sheet for open questions that are in none; a lost sheet gets its old name."""
        mine = [sheet for sheet in found if sheet.step == each.step]
        there = {item for sheet in mine if self._is_there(sheet) for item in self._ids_in(sheet)}
        missing = [claim for claim in desk.open(each.step) if claim.id not in there]
        if not missing:
            return list(found)
        lost = next((sheet.file for sheet in mine if not self._is_there(sheet)), None)
        new = Sheet(
            lost or self._new_name(each.settings.sheets, len(found) + 1), each.step, tuple(c.id for c in missing)
        )
        recorded = [*(sheet for sheet in found if sheet.file != new.file), new]
        self.store.set_meta(_META, json.dumps([[s.file, s.step, s.ids] for s in recorded], ensure_ascii=False))
        write_table(self._table(each, missing), self._path(new))
        return recorded

    def _table(self, each: Respondent, claims: Sequence[Claim]) -> Table:
        """Their rows in an order of their own, with an empty column for the rating."""
        ids = np.array([claim.id for claim in claims], dtype=object)
        order = np.argsort(uniform(ids, seed=f"{seed_of(self.spec)}:sheet"), kind="stable").tolist()
        rows = []
        for i in order:
            row = each.shown(json.loads(claims[i].content))
            cells = {name: cell for name, cell in row.items() if name not in ("id", each.rater.name)}
            rows.append({"id": claims[i].id, **cells, each.rater.name: None})
        return blank_table(rows, "the sheet")

    def _new_name(self, begins: str, number: int) -> str:
        """Name with the next free number; existing files are never overwritten."""
        while os.path.lexists(self.spec.folder / f"{begins}-{number}.csv"):
            number += 1
        return f"{begins}-{number}.csv"

    # Files

    def _path(self, sheet: Sheet) -> str:
        return str(self.spec.folder / sheet.file)

    def _is_there(self, sheet: Sheet) -> bool:
        return os.path.exists(self._path(sheet))

    def _read(self, sheet: Sheet) -> Table:
        return plain_cells(read_table(self._path(sheet), name=sheet.file))

    def _ids_in(self, sheet: Sheet) -> set[str]:
        return {item.strip() for item in self._read(sheet).texts("id", missing="allow").tolist()}


def _rating(each: Respondent, row: SheetRow, asked: set[str], sheet: Sheet) -> float | None:
    where = f"{sheet.file}, row {row.number} (id {row.id!r}): "
    if row.id not in asked:
        raise InputError(f"{where}this item was not asked for there; put its id back, or clear the row")
    return None if row.cannot_tell else each.number(row.written, where=where, hint="; or write 'cannot tell'")
