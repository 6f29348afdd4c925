"""Open questions of people as files for other labelling tools: blind, shuffled, under keys that tell nothing.

The rates stay here. A key stands for an item and a rater of this campaign alone, so that an item's id, which may name
the model, never leaves.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from ratewise.campaign.clients.callers import steps_of
from ratewise.campaign.clients.people import shown_item
from ratewise.campaign.clients.quality import CANNOT_TELL, choices_of, number_of
from ratewise.campaign.export import check_output
from ratewise.campaign.planner.outcomes import people_price, rater_of
from ratewise.campaign.raters import rule_of
from ratewise.campaign.spec.spec import RaterSpec, Spec
from ratewise.core.result import shown
from ratewise.errors import InputError
from ratewise.raters.people import PeopleSettings
from ratewise.raters.scale import RatingScale
from ratewise.store import audit
from ratewise.store.accounts import spellings
from ratewise.store.desk import Desk, Said, name_key
from ratewise.tables import read_table, write_table
from ratewise.tables.adapters.label_studio import Annotation, read_annotations, said
from ratewise.tables.write import plain_cells, safe_cells, write_text

_KEY_VARIABLE = "ratewise_key"


def field_names(columns: Sequence[str]) -> dict[str, str]:
    """A name for each column that Label Studio takes for a variable: letters, digits and underscores, none twice."""
    out: dict[str, str] = {}
    for column in columns:
        name = re.sub(r"\W", "_", column, flags=re.ASCII).strip("_") or "text"
        name = (
            f"_{name}"
            if name[0].isdigit() or name in {_KEY_VARIABLE, "id", "rating", "comment", "cannot_tell"}
            else name
        )
        while name in out.values():
            name += "_"
        out[column] = name
    return out


def tasks_of(questions: Sequence[tuple[str, Mapping[str, Any]]], columns: Sequence[str]) -> str:
    """The tasks as JSON: keys and shown columns."""
    names = field_names(columns)
    tasks = [
        {"data": {_KEY_VARIABLE: key, **{names[column]: _cell(item[column]) for column in columns}}}
        for key, item in questions
    ]
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def _cell(value: Any) -> str:
    """Text as it is; anything else as JSON, since a config shows texts."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def config_of(columns: Sequence[str], scale: RatingScale, criterion: str) -> str:
    """The labelling config: the texts one below the other, two that are compared side by side, then the answer."""
    names = field_names(columns)
    sides = [column for column in columns if scale.kind == "pairwise" and column in ("a", "b")]
    parts = [_part(column, names[column]) for column in columns if column not in sides]
    if sides:
        parts.append('  <View style="display: grid; grid-template-columns: 1fr 1fr; gap: 1rem">')
        parts += [f"  {line}" for column in sides for line in ("<View>", _part(column, names[column]), "</View>")]
        parts.append("  </View>")
    told = [f"  <Header value={quoteattr(criterion)}/>"] if criterion else []
    lines = ["<View>", *parts, *told, *_answer(scale, names[columns[0]]), "</View>"]
    return "\n".join(lines) + "\n"


def _part(column: str, name: str) -> str:
    title = column.upper() if column in ("a", "b") else column.replace("_", " ").strip().capitalize() or column
    return f'  <Header value={quoteattr(title)} size="4"/>\n  <Text name="{name}" value="${name}"/>'


def _answer(scale: RatingScale, target: str) -> list[str]:
    """The buttons, or a number with a button for those who cannot tell; and a comment."""
    buttons = [*(word for word, _ in choices_of(scale)), CANNOT_TELL]
    if len(buttons) > 1:
        lines = [f'  <Choices name="rating" toName="{target}" choice="single" required="true" showInline="true">']
        lines += [_button(word, str(n) if n < 10 else "") for n, word in enumerate(buttons, start=1)]
        lines.append("  </Choices>")
    else:
        step = "1" if scale.kind == "likert" else "any"
        ends = f'min="{scale.low:g}" max="{scale.high:g}" step="{step}"'
        lines = [
            f'  <Number name="rating" toName="{target}" {ends}/>',
            f'  <Choices name="cannot_tell" toName="{target}" choice="multiple">', _button(CANNOT_TELL, ""),
            "  </Choices>",
        ]  # fmt: skip
    comment = f'  <TextArea name="comment" toName="{target}" placeholder="Comment" maxSubmissions="1" editable="true"/>'
    return [*lines, comment]


def _button(word: str, hotkey: str) -> str:
    key = f' hotkey="{hotkey}"' if hotkey else ""
    return f"    <Choice value={quoteattr(word)}{key}/>"


KEY, RATING, COMMENT = "ratewise_key", "rating", "comment"
_MOST_HOURS = 8760.0


@dataclass(frozen=True, slots=True)
class Question:
    """One question as it leaves: its key, and what is shown."""

    key: str
    item: Mapping[str, Any]


@shown
@dataclass(frozen=True, slots=True)
class SentOut:
    """What was written: the files, and how many questions they hold."""

    files: tuple[str, ...]
    questions: int
    held_hours: float  # for so long the page does not hand them out

    def summary(self) -> str:
        """A sentence for people."""
        held = f"; the page does not hand them out for {self.held_hours:g} hours" if self.held_hours else ""
        count = f"{self.questions:,} open question{'' if self.questions == 1 else 's'}"
        return f"{count} written to {' and '.join(self.files)}{held}."


def key_of(campaign: str, step: int, item: str) -> str:
    """The key of an item's question; nobody can tell the item from it without the store."""
    return hashlib.sha256(f"{campaign}\n{step}\n{item}".encode("utf-8", "surrogatepass")).hexdigest()[:24]


def sides_of(campaign: str, key: str) -> str:
    """Which of two texts stands first under this key, "ab" or "ba": as good as random, and always the same."""
    return "ba" if hashlib.sha256(f"{campaign}\n{key}\nsides".encode()).digest()[0] % 2 else "ab"


def people_step(spec: Spec, name: str | None) -> tuple[int, RaterSpec, PeopleSettings]:
    """The step of the people who are asked, by their rater's name where there are several."""
    found = []
    for step in steps_of(spec):
        rater = spec.raters[rater_of(spec, step)]
        if isinstance(rater.settings, PeopleSettings) and name in (None, rater.name):
            found.append((step, rater, rater.settings))
    if len(found) == 1:
        return found[0]
    names = ", ".join(r.name for r in spec.raters if isinstance(r.settings, PeopleSettings))
    if not names:
        raise InputError(f'{spec.path.name} has no rater of kind = "people"; add one under [[raters]]')
    raise InputError(f"say which people are asked with --rater; there are: {names}")


@dataclass(frozen=True, slots=True)
class Outgoing:
    """Writes the open questions of a campaign's people to files."""

    spec: Spec
    desk: Desk

    def write(self, path: str, *, rater: str | None = None, hold: float = 0.0) -> SentOut:
        """Write them: .json for Label Studio with its labelling config beside it, else a table to fill in.

        With `hold`, so many hours pass before the page hands the same questions out.
        """
        if not 0 <= hold <= _MOST_HOURS:
            raise InputError(f"--hold takes hours from 0 to {_MOST_HOURS:g}; got {hold:g}")
        step, asked, settings = people_step(self.spec, rater)
        claims = self._free(step, settings)
        questions = [self._question(claim.id, json.loads(claim.content), step, asked) for claim in claims]
        questions.sort(key=lambda question: question.key)  # which is as good as shuffled
        check_output(self.spec, path)
        files = self._tasks(questions, path, settings) if path.lower().endswith(".json") else _table(questions, path)
        if hold:
            name = f"file {os.path.basename(path)}"
            positions = [claim.position for claim in claims]
            self.desk.hold(step, positions, name, seconds=3600.0 * hold, votes=settings.votes)
        return SentOut(files, len(questions), hold)

    def _free(self, step: int, settings: PeopleSettings) -> list[Any]:
        """Questions that want more answers than they have, or than people have in hand."""
        taken = self.desk.taken(step)
        found = [claim for claim in self.desk.open(step) if taken.get(claim.position, 0) < settings.votes]
        if not found:
            raise InputError(
                "no question is open that nobody has in hand, so there is nothing to write; `ratewise run "
                f"{self.spec.path.name} --no-wait` plans the next ones where there is money left"
            )
        return found

    def _question(self, item: str, row: Mapping[str, Any], step: int, rater: RaterSpec) -> Question:
        campaign = self.desk.store.meta("campaign") or ""
        key = key_of(campaign, step, item)
        return Question(key, shown_item(self.spec, rater, row, sides_of(campaign, key)))

    def _tasks(self, questions: Sequence[Question], path: str, settings: PeopleSettings) -> tuple[str, ...]:
        config = os.path.splitext(path)[0] + ".xml"
        check_output(self.spec, config)
        columns = list(questions[0].item)
        write_text(path, tasks_of([(q.key, q.item) for q in questions], columns))
        write_text(config, config_of(columns, self.spec.scale, settings.criterion or ""))
        return path, config


def _table(questions: Sequence[Question], path: str) -> tuple[str, ...]:
    """A row for each, with empty cells for the rating and a comment."""
    for name in (KEY, RATING, COMMENT):
        if name in questions[0].item:
            raise InputError(f"people see a column {name!r}, which the file needs for itself; rename it in the table")
    columns = {name: _array([question.item[name] for question in questions]) for name in questions[0].item}
    empty = _array([None] * len(questions))
    keys = _array([question.key for question in questions])
    write_table(safe_cells(read_table({KEY: keys, **columns, RATING: empty, COMMENT: empty}, name="questions")), path)
    return (path,)


def _array(values: list[Any]) -> Any:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


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
        if first.id and audit.is_item(self.desk.store, first.id):
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
        told = audit.said_by(self.desk.store, step)
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
            heard = self.desk.answer(claim, person, answer, price=people_price(rater, k, claim), rule=rule)
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
        rows = audit.asked(desk.store, step)
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
