"""Open questions of people as files for other labelling tools: blind, shuffled, under keys that tell nothing.

The rates stay here. A key stands for an item and a rater of this campaign alone, so that an item's id, which may name
the model, never leaves.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ratewise.campaign.clients.blind import shown_item
from ratewise.campaign.clients.callers import steps_of
from ratewise.campaign.clients.label_studio import config_of, tasks_of
from ratewise.campaign.export import check_output
from ratewise.campaign.planner.outcomes import rater_of
from ratewise.campaign.spec.raters import RaterSpec
from ratewise.campaign.spec.spec import Spec
from ratewise.core.result import shown
from ratewise.errors import InputError
from ratewise.raters.people import PeopleSettings
from ratewise.store import outside
from ratewise.store.desk import Desk
from ratewise.tables import read_table, write_table
from ratewise.tables.write import safe_cells, write_text

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
            outside.hold(self.desk, step, positions, name, seconds=3600.0 * hold, votes=settings.votes)
        return SentOut(files, len(questions), hold)

    def _free(self, step: int, settings: PeopleSettings) -> list[Any]:
        """Questions that want more answers than they have, or than people have in hand."""
        taken = outside.taken(self.desk, step)
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
