"""A sheet: questions go to a file that people fill in, and their answers come back with it."""

from typing import Annotated

from ratewise.raters.keys import COLUMNS, Text, Texts, TomlKey
from ratewise.raters.kind import RaterSpec


class SheetSettings(RaterSpec):
    """Kind "sheet"."""

    sheets: Annotated[
        Text,
        TomlKey(
            'how the names of the sheets begin, such as "questions"', 'sheets = "questions"',
            "questions-1.csv is written; fill it in, and run again",
        ),
    ] = "questions"  # fmt: skip
    show: Annotated[
        Texts,
        TomlKey(
            COLUMNS, 'show = ["prompt"]', "what the sheet shows; default: all that tell neither ratings nor systems"
        ),
    ] = ()  # fmt: skip

    @property
    def reads(self) -> tuple[str, ...]:
        return self.show

    @property
    def flat_price(self) -> bool:
        return True
