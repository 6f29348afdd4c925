"""Questions of people as files for other labelling tools, and the finished labels that come back in them.

What leaves is blind and shuffled, under keys that tell nothing: a key stands for an item and a rater of this campaign
alone, so that an item's id, which may name the model, never leaves; the rates stay here, too. Label Studio gets a list
of tasks without predictions, which would anchor people, and the labelling config that shows them.

What comes back goes to the question that asked for it, once, at its own rate. A label of an item that was not drawn is
refused: somebody picked that item, so its rate is unknown and it would bias the estimate. All rows are checked before
the first is taken.
"""

import hashlib
import json
import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ratewise.campaign.clients.respondents import (
    CANNOT_TELL,
    LONGEST_COMMENT,
    Respondent,
    blank_table,
    bounded_seconds,
    choices_of,
    respondents,
)
from ratewise.campaign.export import check_output
from ratewise.campaign.spec.spec import Spec
from ratewise.core.result import Result
from ratewise.errors import InputError
from ratewise.raters.people import PeopleSettings
from ratewise.raters.scale import RatingScale
from ratewise.store import audit
from ratewise.store.accounts import spellings
from ratewise.store.desk import Desk, Vote, name_key
from ratewise.store.queue import Claim
from ratewise.tables import read_table, write_table
from ratewise.tables.adapters import label_studio
from ratewise.tables.adapters.label_studio import COMMENT, KEY, RATING, Annotation
from ratewise.tables.write import plain_cells, write_text

_GAVE_UP = {CANNOT_TELL.lower(), "?", "skip"}
_LONGEST_NAME = 60
_MOST_HOURS = 8760.0


def key_of(campaign: str, step: int, item: str) -> str:
    """The key of an item's question; nobody can tell the item from it without the store."""
    return hashlib.sha256(f"{campaign}\n{step}\n{item}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def sides_of(campaign: str, key: str) -> str:
    """Which of two texts stands first under this key, "ab" or "ba": as good as random, and always the same."""
    return "ba" if hashlib.sha256(f"{campaign}\n{key}\nsides".encode()).digest()[0] % 2 else "ab"


def _people(spec: Spec, name: str | None) -> Respondent:
    """The people who are asked, by their rater's name where there are several."""
    listed = respondents(spec, PeopleSettings)
    found = [each for each in listed if name in (None, each.rater.name)]
    if len(found) == 1:
        return found[0]
    if not listed:
        raise InputError(f'{spec.path.name} has no rater of kind = "people"; add one under [[raters]]')
    names = ", ".join(each.rater.name for each in listed)
    raise InputError(f"say which people are asked with --rater; there are: {names}")


# Out


@dataclass(frozen=True, slots=True, repr=False)
class SentOut(Result):
    """What was written: the files, and how many questions they hold."""

    files: tuple[str, ...]
    questions: int
    held_hours: float  # for so long the page does not hand them out

    def summary(self) -> str:
        held = f"; the page does not hand them out for {self.held_hours:g} hours" if self.held_hours else ""
        count = f"{self.questions:,} open question{'' if self.questions == 1 else 's'}"
        return f"{count} written to {' and '.join(self.files)}{held}."


def write_questions(spec: Spec, desk: Desk, path: str, *, rater: str | None = None, hold: float = 0.0) -> SentOut:
    """Write the open questions of people: .json for Label Studio with its config beside it, else a table to fill in.

    With `hold`, so many hours pass before the page hands the same questions out.
    """
    if not 0 <= hold <= _MOST_HOURS:
        raise InputError(f"--hold takes hours from 0 to {_MOST_HOURS:g}; got {hold:g}")
    each, campaign = _people(spec, rater), desk.store.meta("campaign") or ""
    claims = _free(each, desk)
    keys = {claim.position: key_of(campaign, each.step, claim.id) for claim in claims}
    claims.sort(key=lambda claim: keys[claim.position])  # which is as good as shuffled
    questions = []
    for claim in claims:
        key = keys[claim.position]
        questions.append((key, each.shown(json.loads(claim.content), sides_of(campaign, key))))
    check_output(spec, path)
    files: tuple[str, ...] = (path,)
    if path.lower().endswith(".json"):
        config, columns = os.path.splitext(path)[0] + ".xml", list(questions[0][1])
        check_output(spec, config)
        write_text(path, label_studio.tasks_of(questions, columns))
        write_text(config, labelling_config(columns, spec.scale, each.rater.criterion or ""))
        files = (path, config)
    else:
        write_sheet(questions, path)
    if hold:
        name, positions = f"file {os.path.basename(path)}", [claim.position for claim in claims]
        desk.hold(each.step, positions, name, seconds=3600.0 * hold, votes=each.rater.votes)
    return SentOut(files, len(questions), hold)


def _free(each: Respondent, desk: Desk) -> list[Claim]:
    """Questions that want more answers than they have, or than people have in hand."""
    taken = desk.taken(each.step)
    found = [claim for claim in desk.open(each.step) if taken.get(claim.position, 0) < each.rater.votes]
    if not found:
        raise InputError(
            "no question is open that nobody has in hand, so there is nothing to write; `ratewise run "
            f"{each.spec.path.name} --no-wait` plans the next ones where there is money left"
        )
    return found


def write_sheet(questions: Sequence[tuple[str, Mapping[str, Any]]], path: str) -> None:
    """A row for each (key, item), with empty cells for the rating and a comment."""
    for name in (KEY, RATING, COMMENT):
        if name in questions[0][1]:
            raise InputError(f"people see a column {name!r}, which the file needs for itself; rename it in the table")
    rows = [{KEY: key, **item, RATING: None, COMMENT: None} for key, item in questions]
    write_table(blank_table(rows, "questions"), path)


def labelling_config(columns: Sequence[str], scale: RatingScale, criterion: str) -> str:
    """What Label Studio shows of these columns, and how people answer on this scale."""
    return label_studio.config_of(
        columns, [*(word for word, _ in choices_of(scale)), CANNOT_TELL], ends=(scale.low, scale.high),
        whole=scale.kind == "likert", criterion=criterion, sides=scale.kind == "pairwise",
    )  # fmt: skip


# Back


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


@dataclass(frozen=True, slots=True, repr=False)
class Received(Result):
    """What came of a file, label by label."""

    taken: int  # new answers
    settled: int  # of them, those that settled their question
    known: int  # that were there already
    late: int  # whose question somebody else had settled before
    left_out: int  # of items that were not drawn
    still_open: int  # questions that wait for answers
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        counts = {
            "there already": self.known, "too late: others had answered": self.late,
            "left out: not drawn": self.left_out,
        }  # fmt: skip
        more = ", ".join(f"{count:,} {words}" for words, count in counts.items() if count)
        waits = f"{self.still_open:,} question{' is' if self.still_open == 1 else 's are'} still open"
        taken = f"{self.taken:,} label{'' if self.taken == 1 else 's'} taken"
        return f"{taken}{f' ({more})' if more else ''}; {waits}."


def take_labels(
    spec: Spec, desk: Desk, path: str, *, rater: str | None, question: str, person: str | None, leave_out: bool
) -> Received:
    """Check every label of a file, then take them; what was taken before changes nothing.

    With `leave_out`, labels that nobody asked for are left aside.
    """
    each, campaign = _people(spec, rater), desk.store.meta("campaign") or ""
    labels = _labels(path, spec.items.id or "id", question, person)
    by_id = audit.asked(desk.store, each.step)
    by_key = {key_of(campaign, each.step, item): position for item, position in by_id.items()}
    found = [(label, by_key.get(label.key) if label.key else by_id.get(label.id)) for label in labels]
    strange = [label for label, position in found if position is None]
    if strange and not leave_out:
        raise _refused(strange, desk)
    legal = [(label, at, _said(each, campaign, label)) for label, at in found if at is not None]
    return _take(each, desk, legal, left_out=len(strange))


def _refused(strange: Sequence[Label], desk: Desk) -> InputError:
    """The first label that nobody asked for, with the reason."""
    first, more = strange[0], f" (and {len(strange) - 1:,} more)" if len(strange) > 1 else ""
    named = f"item {first.id!r}" if first.id else f"key {first.key!r}"
    if first.id and audit.is_item(desk.store, first.id):
        why = "was not drawn. A label of an item that somebody picked would bias the estimate"
    else:
        why = "is none that this campaign has asked about"
    return InputError(
        f"{first.where}: {named} {why}, so nothing was taken{more}; take the others with --leave-out, which leaves "
        "such labels aside"
    )


def _said(each: Respondent, campaign: str, label: Label) -> Vote:
    """The answer on the scale; of a comparison, as if both texts had stood in the table's order."""
    sides = sides_of(campaign, label.key) if each.spec.scale.kind == "pairwise" and label.key else None
    value = each.value(label.written, sides, where=f"{label.where}: ", hint=f"; or write {CANNOT_TELL!r}")
    return Vote(label.person, value, label.comment[:LONGEST_COMMENT], bounded_seconds(label.seconds), sides)


def _take(each: Respondent, desk: Desk, legal: Sequence[tuple[Label, int, Vote]], *, left_out: int) -> Received:
    told, spelled = audit.said_by(desk.store, each.step), spellings(desk.store)
    counts = Counter(taken=0, settled=0, known=0, late=0)
    notes: list[str] = []
    for label, position, answer in legal:
        person = spelled.setdefault(name_key(label.person), label.person)
        if (position, person) in told:
            counts["known"] += 1
            if told[position, person] != answer.value:
                notes.append(f"{label.where} was changed after it was taken; the first answer stays")
            continue
        claim = desk.question(position, each.step)
        if claim is None:
            counts["late"] += 1
            continue
        heard = each.settle(desk, claim, replace(answer, annotator=person))
        counts["settled"] += heard == "settled"
        counts["late" if heard == "was settled before" else "taken"] += 1
        told[position, person] = answer.value
    return Received(**counts, left_out=left_out, still_open=len(desk.open(each.step)), notes=tuple(notes))


def _labels(path: str, id_column: str, question: str, person: str | None) -> list[Label]:
    """The labels of a file that are filled in; skipped ones only where nobody else has answered.

    The rating is in the column or answers the question of that name; it is this person's where the file does not say.
    """
    name = os.path.basename(path)
    if path.lower().endswith(".json"):
        found = [_annotated(one, name, id_column, question, person) for one in label_studio.read_annotations(path)]
    else:
        found = list(_rows(path, id_column, question, person))
    there = [label for label in found if label is not None]
    answered = {(label.key, label.id) for label in there if not label.skipped}
    kept = [label for label in there if not label.skipped or (label.key, label.id) not in answered]
    if not kept:
        raise InputError(f"{name} holds no label yet; nothing was taken")
    return kept


def _annotated(one: Annotation, file: str, id_column: str, question: str, person: str | None) -> Label | None:
    where = f"{file}, task {one.number}"
    written = one.answers.get(question)
    gave_up = _gave_up(written) or _gave_up(one.answers.get(label_studio.CANNOT_TELL))
    if written is None and not gave_up and not one.cancelled:
        if one.answers and not one.answers.keys() & {COMMENT} and question not in one.data:
            there = ", ".join(sorted(map(str, one.answers)))
            raise InputError(f"{where} has no answer to {question!r}; name the question with --question: {there}")
        return None
    label = Label(
        where, _text(one.data.get(KEY)), _text(one.data.get(id_column)),
        _person(one.person, person, "Label Studio "), None if gave_up or one.cancelled else written,
        _text(one.answers.get(COMMENT)), one.seconds, skipped=one.cancelled,
    )  # fmt: skip
    return replace(label, comment=label.comment or "skipped in Label Studio") if one.cancelled else label


def _rows(path: str, id_column: str, question: str, person: str | None) -> Iterable[Label]:
    table = plain_cells(read_table(path))
    if question not in table.columns:
        raise InputError(f"{table.name} has no column {question!r}; name the one with the labels with --question")
    if KEY not in table.columns and id_column not in table.columns:
        raise InputError(f"{table.name} has neither a column {KEY!r} nor {id_column!r}, so nobody knows what was rated")
    cells = {
        name: table.texts(name, missing="allow").tolist() if name in table.columns else [""] * table.rows
        for name in (KEY, id_column, question, COMMENT, label_studio.CANNOT_TELL, "annotator", "seconds", "lead_time")
    }
    tool = "Label Studio " if {"annotation_id", "lead_time"} <= set(table.columns) else ""
    for i in range(table.rows):
        written, gave_up = _unwrapped(cells[question][i].strip()), _gave_up(cells[label_studio.CANNOT_TELL][i])
        if written or gave_up:
            yield Label(
                f"{table.name}, row {i + 1}", cells[KEY][i].strip(), cells[id_column][i].strip(),
                _person(cells["annotator"][i], person, tool), None if gave_up or _gave_up(written) else written,
                cells[COMMENT][i].strip(), _seconds(cells["seconds"][i] or cells["lead_time"][i]),
            )  # fmt: skip


def _unwrapped(text: str) -> str:
    """A number as Label Studio writes it into a CSV file, [{"number": 62.5}], is that number; all else stays."""
    if not text.startswith(('[{"number"', '[{"rating"')):
        return text
    try:
        return str(label_studio.said(json.loads(text)))
    except ValueError:
        return text


def _person(name: str, given: str | None, tool: str) -> str:
    """Whose label it is: as the file says, with the tool before a bare number; else as it was given, or the tool."""
    name = " ".join(name.split())
    if given is not None and name in {"", "?"}:
        return given
    name = f"{tool}{name}" if name.isdigit() or name == "?" else name
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
