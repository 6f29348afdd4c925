"""Every kind of rater, by the word that stands in the TOML. A new one is a file beside this one, and a line here."""

from ratewise.raters.column import ColumnSettings
from ratewise.raters.command import CommandSettings
from ratewise.raters.keys import keys_of
from ratewise.raters.kind import RaterSpec
from ratewise.raters.llm import LlmSettings
from ratewise.raters.people import PeopleSettings
from ratewise.raters.python import PythonSettings
from ratewise.raters.recorded import RecordedSettings
from ratewise.raters.sheet import SheetSettings
from ratewise.raters.trained import TrainedSettings

KINDS: dict[str, type[RaterSpec]] = {
    "column": ColumnSettings,
    "python": PythonSettings,
    "command": CommandSettings,
    "recorded": RecordedSettings,
    "people": PeopleSettings,
    "sheet": SheetSettings,
    "llm": LlmSettings,
    "trained": TrainedSettings,
}


def rater_keys() -> list[str]:
    """All that may stand in a [[raters]] of any kind."""
    return list(dict.fromkeys(name for kind in KINDS.values() for name in keys_of(kind)))
