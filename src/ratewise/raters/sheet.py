"""A sheet: questions go to a file that people fill in, and their answers come back with it."""

from dataclasses import dataclass
from typing import Annotated

from ratewise.raters.kind import TEXT, RaterKind, Says

_COLUMNS = tuple[Annotated[str, TEXT], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SheetSettings(RaterKind):
    """The keys of kind "sheet"."""

    sheets: Annotated[str, TEXT, Says('how the names of the sheets begin, such as "questions"')] = "questions"
    show: Annotated[_COLUMNS, Says('a list of names of columns, such as ["question", "answer"]')] = ()

    example = (
        ('sheets = "questions"', "questions-1.csv is written; fill it in, and run again"),
        ('show = ["prompt"]', "what the sheet shows; default: all that tell neither ratings nor systems"),
    )
    flat_price = True

    @property
    def reads(self) -> tuple[str, ...]:
        """What the sheet shows."""
        return self.show
