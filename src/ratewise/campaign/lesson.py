"""What a finished campaign hands on: its labels, and how its features and texts became numbers."""

from dataclasses import dataclass

from ratewise.design.teacher import FEWEST_TO_TEACH, Teacher
from ratewise.learn.features import Coding
from ratewise.learn.text.reading import TextReading


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """The teacher, and how its features and texts became numbers: the new table's are made in the same way."""

    teacher: Teacher
    codings: tuple[Coding, ...]
    text: TextReading | None = None


def too_little(teacher: str) -> str:
    """What is told where the named campaign has nothing to hand on."""
    return (
        f"start.from: the campaign of {teacher} has fewer than {FEWEST_TO_TEACH} labels of items with weak ratings, "
        f"too few to teach; this one starts afresh"
    )
