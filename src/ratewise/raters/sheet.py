"""A sheet: questions go to a file that people fill in, and their answers come back with it."""

from ratewise.raters.keys import COLUMNS, Text, Texts, key
from ratewise.raters.kind import RaterSpec


class SheetSettings(RaterSpec):
    """Kind "sheet"."""

    sheets: Text = key(
        "questions", "questions-1.csv is written; fill it in, and run again",
        must_be='how the names of the sheets begin, such as "questions"',
    )  # fmt: skip
    show: Texts = key(
        (), "what the sheet shows; default: all that tell neither ratings nor systems", must_be=COLUMNS,
        example='["prompt"]',
    )  # fmt: skip

    @property
    def reads(self) -> tuple[str, ...]:
        return self.show

    @property
    def flat_price(self) -> bool:
        return True
