"""What a finished campaign hands on: its labels, and how its features and texts became numbers."""

from dataclasses import dataclass

from ratewise.models.features import Coding
from ratewise.rounds.teacher import Teacher
from ratewise.text.reading import TextReading


@dataclass(frozen=True, slots=True, eq=False)
class Lesson:
    """The teacher, and how its features and texts became numbers: the new table's are made in the same way."""

    teacher: Teacher
    codings: tuple[Coding, ...]
    text: TextReading | None = None
