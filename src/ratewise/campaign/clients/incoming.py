"""Finished labels from files of other tools: each goes to the question that asked for it, once, at its own rate.

A label of an item that was not drawn is refused: somebody picked that item, and its rate is unknown, so it would bias
the estimate. All rows are checked before the first is taken.
"""

import json
import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from ratewise.campaign.clients.choices import CANNOT_TELL, number_of
from ratewise.campaign.clients.outgoing import COMMENT, KEY, RATING, key_of, people_step, sides_of
from ratewise.campaign.planner.outcomes import people_price, rater_of
from ratewise.campaign.raters import rule_of
from ratewise.campaign.spec.raters import RaterSpec
from ratewise.campaign.spec.spec import Spec
from ratewise.core.result import shown
from ratewise.errors import InputError
from ratewise.raters.people import PeopleSettings
from ratewise.store import outside
from ratewise.store.accounts import spellings
from ratewise.store.desk import Desk, Said, name_key
from ratewise.tables import read_table
from ratewise.tables.adapters.label_studio import Annotation, read_annotations, said
from ratewise.tables.write import plain_cells

_CANNOT_TELL = "cannot_tell"  # beside a number, in the labelling config
_GAVE_UP = {CANNOT_TELL.lower(), "?", "skip"}
_LONGEST_COMMENT = 4000
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Label:
    """One label as a file has it; `key` or `id` say what was asked."""

    where: str
    key: str
    id: str
    person: str
    written: Any  # None: cannot tell
    comment: str = ""
    seconds: float | None = None
    skipped: bool = False


@dataclass(frozen=True, slots=True)
class How:
    """How a file is to be read."""

    rater: str | None = None
    question: str = RATING  # the column or the question of the labelling config that holds the rating
    person: str | None = None  # whose labels they are, where the file does not say
    leave_out: bool = False  # take what was drawn, and leave the rest


@shown
@dataclass(frozen=True, slots=True)
class Received:
    """What came of a file, label by label."""

    taken: int  # new answers
    settled: int  # of them, those that settled their question
    known: int  # that were there already
    late: int  # whose question somebody else had settled before
    left_out: int  # of items that were not drawn
    still_open: int  # questions that wait for answers
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """A sentence for people."""
        more = [
            f"{count:,} {words}"
            for count, words in (
                (self.known, "there already"), (self.late, "too late: others had answered"),
                (self.left_out, "left out: not drawn"),
            )
            if count
        ]  # fmt: skip
        beside = f" ({', '.join(more)})" if more else ""
        waits = f"{self.still_open:,} question{' is' if self.still_open == 1 else 's are'} still open"
        return f"{self.taken:,} label{'' if self.taken == 1 else 's'} taken{beside}; {waits}."


@dataclass(frozen=True, slots=True)
class Incoming:
    """Takes the labels of a file into a campaign."""

    spec: Spec
    desk: Desk

    def read(self, path: str, how: How | None = None) -> Received:
        """Check every label of the file, then take them; what was taken before changes nothing."""
        how = How() if how is None else how
        step, rater, settings = people_step(self.spec, how.rater)
        labels = _labels(path, how, id_column=self.spec.items.id or "id")
        known = _Known.of(self.desk, step)
        found = [(label, known.position(label)) for label in labels]
        strange = [label for label, position in found if position is None]
        if strange and not how.leave_out:
            raise self._refused(strange)
        legal = [(label, at, self._said(label, step, known)) for label, at in found if at is not None]
        return self._take(legal, step, rater, settings, left_out=len(strange))

    def _refused(self, strange: list[Label]) -> InputError:
        """The first label that nobody asked for, with the reason."""
        first, more = strange[0], f" (and {len(strange) - 1:,} more)" if len(strange) > 1 else ""
        named = f"item {first.id!r}" if first.id else f"key {first.key!r}"
        if first.id and outside.is_item(self.desk.store, first.id):
            why = "was not drawn. A label of an item that somebody picked would bias the estimate"
        else:
            why = "is none that this campaign has asked about"
        return InputError(
            f"{first.where}: {named} {why}, so nothing was taken{more}; take the others with --leave-out, which leaves "
            "such labels aside"
        )

    def _said(self, label: Label, step: int, known: "_Known") -> Said:
        """The answer on the scale; of a comparison, as if both texts had stood in the table's order."""
        sides = sides_of(known.campaign, label.key) if self.spec.scale.kind == "pairwise" and label.key else None
        comment = label.comment[:_LONGEST_COMMENT]
        seconds = None if label.seconds is None else min(max(label.seconds, 0.0), 3600.0)
        if label.written is None:
            return Said(None, comment, seconds, sides)
        scale = self.spec.scale
        value = number_of(scale, label.written)
        try:
            value = self.spec.number(rater_of(self.spec, step), label.written) if value is None else value
        except ValueError as error:
            raise InputError(f"{label.where}: {error}; or write {CANNOT_TELL!r}") from None
        return Said(scale.high + scale.low - value if sides == "ba" else value, comment, seconds, sides)

    def _take(
        self, legal: list[tuple[Label, int, Said]], step: int, rater: RaterSpec, settings: PeopleSettings,
        *, left_out: int,
    ) -> Received:  # fmt: skip
        told = outside.said_by(self.desk.store, step)
        spelled = spellings(self.desk.store)
        counts = dict.fromkeys(("taken", "settled", "known", "late"), 0)
        notes: list[str] = []
        k, rule = rater_of(self.spec, step), rule_of(settings)
        for label, position, answer in legal:
            person = spelled.setdefault(name_key(label.person), label.person)
            if (position, person) in told:
                counts["known"] += 1
                if told[position, person] != answer.value:
                    notes.append(f"{label.where} was changed after it was taken; the first answer stays")
                continue
            claim = self.desk.question(position, step)
            if claim is None:
                counts["late"] += 1
                continue
            heard = self.desk.take(claim, person, answer, price=people_price(rater, k, claim), rule=rule)
            counts["settled"] += heard == "settled"
            counts["late" if heard == "was settled before" else "taken"] += 1
            told[position, person] = answer.value
        left = len(self.desk.open(step))
        return Received(**counts, left_out=left_out, still_open=left, notes=tuple(notes))


@dataclass(frozen=True, slots=True)
class _Known:
    """All questions that were ever asked, by key and by id."""

    campaign: str
    by_key: dict[str, int]
    by_id: dict[str, int]

    @classmethod
    def of(cls, desk: Desk, step: int) -> "_Known":
        """Those of a step."""
        campaign = desk.store.meta("campaign") or ""
        rows = outside.asked(desk.store, step)
        return cls(
            campaign, {key_of(campaign, step, row.id): row.position for row in rows},
            {row.id: row.position for row in rows},
        )  # fmt: skip

    def position(self, label: Label) -> int | None:
        """Where the item stands that the label is about; None where nobody was asked about it."""
        return self.by_key.get(label.key) if label.key else self.by_id.get(label.id)


# Files


def _labels(path: str, how: How, *, id_column: str) -> list[Label]:
    """The labels of a file that are filled in; skipped ones only where nobody else has answered."""
    if path.lower().endswith(".json"):
        found = [_annotated(one, path, how, id_column) for one in read_annotations(path)]
    else:
        found = list(_rows(path, how, id_column))
    there = [label for label in found if label is not None]
    answered = {(label.key, label.id) for label in there if not label.skipped}
    kept = [label for label in there if not label.skipped or (label.key, label.id) not in answered]
    if not kept:
        raise InputError(f"{os.path.basename(path)} holds no label yet; nothing was taken")
    return kept


def _annotated(one: Annotation, path: str, how: How, id_column: str) -> Label | None:
    where = f"{os.path.basename(path)}, task {one.number}"
    written = one.answers.get(how.question)
    gave_up = _gave_up(written) or _gave_up(one.answers.get(_CANNOT_TELL))
    if written is None and not gave_up and not one.cancelled:
        if one.answers and not one.answers.keys() & {COMMENT} and how.question not in one.data:
            there = ", ".join(sorted(map(str, one.answers)))
            raise InputError(f"{where} has no answer to {how.question!r}; name the question with --question: {there}")
        return None
    label = Label(
        where, _text(one.data.get(KEY)), _text(one.data.get(id_column)), _person(one.person, how, "Label Studio "),
        None if gave_up or one.cancelled else written, _text(one.answers.get(COMMENT)), one.seconds,
        skipped=one.cancelled,
    )  # fmt: skip
    return replace(label, comment=label.comment or "skipped in Label Studio") if one.cancelled else label


def _rows(path: str, how: How, id_column: str) -> Iterable[Label]:
    table = plain_cells(read_table(path))
    if how.question not in table.columns:
        raise InputError(f"{table.name} has no column {how.question!r}; name the one with the labels with --question")
    if KEY not in table.columns and id_column not in table.columns:
        raise InputError(f"{table.name} has neither a column {KEY!r} nor {id_column!r}, so nobody knows what was rated")
    cells = {
        name: table.texts(name, missing="allow").tolist() if name in table.columns else [""] * table.rows
        for name in (KEY, id_column, how.question, COMMENT, _CANNOT_TELL, "annotator", "seconds", "lead_time")
    }
    tool = "Label Studio " if {"annotation_id", "lead_time"} <= set(table.columns) else ""
    for i in range(table.rows):
        written, gave_up = _unwrapped(cells[how.question][i].strip()), _gave_up(cells[_CANNOT_TELL][i])
        if written or gave_up:
            yield Label(
                f"{table.name}, row {i + 1}", cells[KEY][i].strip(), cells[id_column][i].strip(),
                _person(cells["annotator"][i], how, tool), None if gave_up or _gave_up(written) else written,
                cells[COMMENT][i].strip(), _seconds(cells["seconds"][i] or cells["lead_time"][i]),
            )  # fmt: skip


def _unwrapped(text: str) -> str:
    """A number as Label Studio writes it into a CSV file, [{"number": 62.5}], is that number; all else stays."""
    if not text.startswith(('[{"number"', '[{"rating"')):
        return text
    try:
        return str(said(json.loads(text)))
    except ValueError:
        return text


def _person(name: str, how: How, before: str) -> str:
    """Whose label it is: as the file says, with the tool before a bare number; else as it was said, or the tool."""
    name = " ".join(name.split())
    if how.person is not None and name in {"", "?"}:
        return how.person
    name = f"{before}{name}" if name.isdigit() or name == "?" else name
    return name[:_LONGEST_NAME] or "a file"


def _gave_up(written: Any) -> bool:
    return isinstance(written, str) and " ".join(written.split()).lower() in _GAVE_UP


def _text(value: Any) -> str:
    return "" if value is None else str(value).strip()


def _seconds(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if found == found else None  # noqa: PLR0124 - NaN differs from itself
