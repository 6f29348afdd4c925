"""`[start] from`: what a finished campaign hands on to the next one, read once, when that begins."""

import json

from ratewise.campaign.items import doubtful
from ratewise.campaign.lesson import Lesson
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.texts import READING, learner_of
from ratewise.design.teacher import Teacher, enough_to_teach
from ratewise.errors import InputError
from ratewise.learn.features import Coding
from ratewise.learn.text.reading import TextReading


def lesson_of(now: Snapshot, pupil: Spec) -> Lesson | None:
    """What the campaign has to teach, `None` where it has too few labels of items with weak ratings.

    An InputError where it is not finished, or is about something else.
    """
    old, where = now.spec, f"start.from in {pupil.path.name}: the campaign {now.spec.name!r}"
    if now.store.meta("ended") is None:
        raise InputError(f"{where} has not ended; let it end with: ratewise run {old.path.name}")
    if len(old.raters) != 2 or now.facts.inputs is not None:
        raise InputError(f"{where} has strata, or not one weak and one strong rater; leave start.from out")
    if old.scale != pupil.scale:
        raise InputError(f"{where} has another rating scale; leave start.from out, or make [rating] the same")
    if (old.items.features, old.items.uncertainty) != (pupil.items.features, pupil.items.uncertainty):
        raise InputError(f"{where} has other features or another uncertainty; make them the same under [items]")
    if (old.items.text, learner_of(old).identity) != (pupil.items.text, learner_of(pupil).identity):
        raise InputError(f"{where} learns from other texts, or in another way; make items.text and [learner] the same")
    if (doubtful(old) is None) != (doubtful(pupil) is None):
        raise InputError(f"{where} has a weak rater that tells its uncertainty, or this one has; leave start.from out")
    seen = now.state.history.seen
    if seen is None or not enough_to_teach(seen):
        return None
    coded = tuple(Coding.from_dict(one) for one in json.loads(now.store.meta("codings") or "[]"))
    return Lesson(Teacher.of(old.name, seen), coded, _reading(now))


def _reading(now: Snapshot) -> TextReading | None:
    """How the campaign's texts became numbers."""
    if not now.spec.items.text:
        return None
    kept = now.store.meta(READING)
    return None if kept is None else TextReading.from_dict(json.loads(kept))
