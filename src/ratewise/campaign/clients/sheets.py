"""The client for sheets: open questions of raters of kind "sheet" go to files, and answers come back from them.

A file is written once and never changed by a run, since people work in it. Which questions stand in which file is
written down before the file is, so that a run that was killed between the two writes the file again. An answer is
settled in one transaction; a file that is read again finds its answers settled, and pays for nothing twice.
"""

import json
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratewise.campaign.clients.callers import steps_of
from ratewise.campaign.clients.people import telling
from ratewise.campaign.planner.outcomes import list_price, rater_of
from ratewise.campaign.seed import seed_of
from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.core.draw import uniform
from ratewise.errors import InputError, RatewiseWarning
from ratewise.questions.sheets import SheetRow, answered_rows
from ratewise.raters.sheet import SheetSettings
from ratewise.store.desk import Desk, Said
from ratewise.store.queue import Claim
from ratewise.store.store import Store
from ratewise.tables import Table, read_table, write_table
from ratewise.tables.blind import seen
from ratewise.tables.write import plain_cells, safe_cells

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
    return [k for k in steps_of(spec) if isinstance(spec.raters[rater_of(spec, k)].settings, SheetSettings)]


@dataclass(frozen=True, slots=True)
class Sheets:
    """Takes answers from the sheets there are, and writes another one for what is asked in none of them."""

    spec: Spec
    store: Store

    def exchange(self) -> Exchanged:
        """Take the sheets' answers and write new sheets; a file with a mistake is refused as a whole."""
        desk, found = Desk(self.store), self._recorded()
        taken = sum(self._take(desk, sheet) for sheet in found if self._is_there(sheet))
        for step in sheet_steps(self.spec):
            found = self._write(desk, step, found)
        return Exchanged(taken, self._open(desk, found))

    # Answers

    def _take(self, desk: Desk, sheet: Sheet) -> int:
        k = rater_of(self.spec, sheet.step)
        rater = self.spec.raters[k]
        rows = answered_rows(self._read(sheet), rater.name)
        asked = set(sheet.ids)
        answers = [(row, self._rating(row, k, asked, sheet)) for row in rows]
        open_now = {claim.id: claim for claim in desk.open(sheet.step)}
        settled = desk.settled(sheet.step)
        taken = 0
        for row, value in answers:
            claim = open_now.get(row.id)
            if claim is not None:
                desk.answer(claim, sheet.file, Said(value), price=list_price(rater, k, claim))
                taken += 1
            elif row.id in settled and settled[row.id] != value:
                said = "that nobody can tell" if settled[row.id] is None else f"{settled[row.id]:g}"
                warnings.warn(
                    f"{sheet.file}, row {row.number} (id {row.id!r}) was changed after it was taken; {said} stays",
                    RatewiseWarning,
                    stacklevel=2,
                )
        return taken

    def _rating(self, row: SheetRow, k: int, asked: set[str], sheet: Sheet) -> float | None:
        where = f"{sheet.file}, row {row.number} (id {row.id!r})"
        if row.id not in asked:
            raise InputError(f"{where}: this item was not asked for there; put its id back, or clear the row")
        if row.cannot_tell:
            return None
        try:
            return self.spec.number(k, row.written)
        except ValueError as error:
            raise InputError(f"{where}: {error}; or write 'cannot tell'") from None

    # Questions

    def _write(self, desk: Desk, step: int, found: Sequence[Sheet]) -> list[Sheet]:
        """Write a sheet for open questions that are in none; a lost sheet gets its old name."""
        mine = [sheet for sheet in found if sheet.step == step]
        there = {item for sheet in mine if self._is_there(sheet) for item in self._ids_in(sheet)}
        missing = [claim for claim in desk.open(step) if claim.id not in there]
        if not missing:
            return list(found)
        rater = self.spec.raters[rater_of(self.spec, step)]
        lost = next((sheet for sheet in mine if not self._is_there(sheet)), None)
        name = self._new_name(rater, found) if lost is None else lost.file
        new = Sheet(name, step, tuple(claim.id for claim in missing))
        recorded = [*(sheet for sheet in found if sheet.file != name), new]
        self.store.set_meta(_META, json.dumps([[s.file, s.step, s.ids] for s in recorded], ensure_ascii=False))
        write_table(safe_cells(self._table(rater, missing)), self._path(new))
        return recorded

    def _table(self, rater: RaterSpec, claims: Sequence[Claim]) -> Table:
        ids = np.array([claim.id for claim in claims], dtype=object)
        order = np.argsort(uniform(ids, seed=f"{seed_of(self.spec)}:sheet"), kind="stable")
        rows: list[dict[str, Any]] = [json.loads(claims[i].content) for i in order.tolist()]
        assert isinstance(rater.settings, SheetSettings)
        shown = rater.settings.show or seen(rows[0], hidden=telling(self.spec) | {"id"})
        columns = {name: _array([row.get(name) for row in rows]) for name in shown if name != rater.name}
        return read_table({"id": ids[order], **columns, rater.name: _array([None] * len(rows))}, name="the sheet")

    def _new_name(self, rater: RaterSpec, found: Sequence[Sheet]) -> str:
        """Name with the next free number; existing files are never overwritten."""
        assert isinstance(rater.settings, SheetSettings)
        number = len(found) + 1
        while os.path.lexists(self.spec.folder / f"{rater.settings.sheets}-{number}.csv"):
            number += 1
        return f"{rater.settings.sheets}-{number}.csv"

    # Files

    def _recorded(self) -> list[Sheet]:
        rows = json.loads(self.store.meta(_META) or "[]")
        return [Sheet(file, step, tuple(ids)) for file, step, ids in rows]

    def _path(self, sheet: Sheet) -> str:
        return str(self.spec.folder / sheet.file)

    def _is_there(self, sheet: Sheet) -> bool:
        return os.path.exists(self._path(sheet))

    def _read(self, sheet: Sheet) -> Table:
        return plain_cells(read_table(self._path(sheet), name=sheet.file))

    def _ids_in(self, sheet: Sheet) -> set[str]:
        return {item.strip() for item in self._read(sheet).texts("id", missing="allow").tolist()}

    def _open(self, desk: Desk, found: Sequence[Sheet]) -> dict[str, int]:
        """Number of open questions in each file; a question counts in the last file that asks it."""
        where = {(sheet.step, item): sheet.file for sheet in found for item in sheet.ids}
        out: dict[str, int] = {}
        for step in sheet_steps(self.spec):
            for claim in desk.open(step):
                file = where[step, claim.id]
                out[file] = out.get(file, 0) + 1
        return out


def _array(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
