"""Every kind of rater, by the word that stands in the TOML. A new one is a file beside this one, and a line here."""

from ratewise.raters import column, command, llm, people, python, recorded, sheet, trained
from ratewise.raters.kind import RaterKind

KINDS: dict[str, RaterKind] = {
    "column": column.KIND,
    "python": python.KIND,
    "command": command.KIND,
    "recorded": recorded.KIND,
    "people": people.KIND,
    "sheet": sheet.KIND,
    "llm": llm.KIND,
    "trained": trained.KIND,
}
