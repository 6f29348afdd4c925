"""Every kind of rater, by the word that stands in the TOML. A new one is a file beside this one, and a line here."""

from ratewise.raters.column import ColumnSettings
from ratewise.raters.command import CommandSettings
from ratewise.raters.kind import RaterKind
from ratewise.raters.llm import LlmSettings
from ratewise.raters.people import PeopleSettings
from ratewise.raters.python import PythonSettings
from ratewise.raters.recorded import RecordedSettings
from ratewise.raters.sheet import SheetSettings
from ratewise.raters.trained import TrainedSettings

KINDS: dict[str, type[RaterKind]] = {
    "column": ColumnSettings,
    "python": PythonSettings,
    "command": CommandSettings,
    "recorded": RecordedSettings,
    "people": PeopleSettings,
    "sheet": SheetSettings,
    "llm": LlmSettings,
    "trained": TrainedSettings,
}
