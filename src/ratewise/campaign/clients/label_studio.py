"""Questions as Label Studio takes them: a list of tasks, and the labelling config that shows them.

Tasks hold what people see and a key, and no predictions: those would anchor the annotators.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import quoteattr

from ratewise.campaign.clients.choices import CANNOT_TELL, choices_of
from ratewise.raters.scale import RatingScale

_KEY = "ratewise_key"


def field_names(columns: Sequence[str]) -> dict[str, str]:
    """A name for each column that Label Studio takes for a variable: letters, digits and underscores, none twice."""
    out: dict[str, str] = {}
    for column in columns:
        name = re.sub(r"\W", "_", column, flags=re.ASCII).strip("_") or "text"
        name = f"_{name}" if name[0].isdigit() or name in {_KEY, "id", "rating", "comment", "cannot_tell"} else name
        while name in out.values():
            name += "_"
        out[column] = name
    return out


def tasks_of(questions: Sequence[tuple[str, Mapping[str, Any]]], columns: Sequence[str]) -> str:
    """The tasks as JSON: keys and shown columns."""
    names = field_names(columns)
    tasks = [
        {"data": {_KEY: key, **{names[column]: _text(item[column]) for column in columns}}} for key, item in questions
    ]
    return json.dumps(tasks, ensure_ascii=False, indent=1) + "\n"


def _text(value: Any) -> str:
    """Text as it is; anything else as JSON, since a config shows texts."""
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def config_of(columns: Sequence[str], scale: RatingScale, criterion: str) -> str:
    """The labelling config: the texts one below the other, two that are compared side by side, then the answer."""
    names = field_names(columns)
    sides = [column for column in columns if scale.kind == "pairwise" and column in ("a", "b")]
    parts = [_part(column, names[column]) for column in columns if column not in sides]
    if sides:
        parts.append('  <View style="display: grid; grid-template-columns: 1fr 1fr; gap: 1rem">')
        parts += [f"  {line}" for column in sides for line in ("<View>", _part(column, names[column]), "</View>")]
        parts.append("  </View>")
    told = [f"  <Header value={quoteattr(criterion)}/>"] if criterion else []
    lines = ["<View>", *parts, *told, *_answer(scale, names[columns[0]]), "</View>"]
    return "\n".join(lines) + "\n"


def _part(column: str, name: str) -> str:
    title = column.upper() if column in ("a", "b") else column.replace("_", " ").strip().capitalize() or column
    return f'  <Header value={quoteattr(title)} size="4"/>\n  <Text name="{name}" value="${name}"/>'


def _answer(scale: RatingScale, target: str) -> list[str]:
    """The buttons, or a number with a button for those who cannot tell; and a comment."""
    buttons = [*(word for word, _ in choices_of(scale)), CANNOT_TELL]
    if len(buttons) > 1:
        lines = [f'  <Choices name="rating" toName="{target}" choice="single" required="true" showInline="true">']
        lines += [_button(word, str(n) if n < 10 else "") for n, word in enumerate(buttons, start=1)]
        lines.append("  </Choices>")
    else:
        step = "1" if scale.kind == "likert" else "any"
        ends = f'min="{scale.low:g}" max="{scale.high:g}" step="{step}"'
        lines = [
            f'  <Number name="rating" toName="{target}" {ends}/>',
            f'  <Choices name="cannot_tell" toName="{target}" choice="multiple">', _button(CANNOT_TELL, ""),
            "  </Choices>",
        ]  # fmt: skip
    comment = f'  <TextArea name="comment" toName="{target}" placeholder="Comment" maxSubmissions="1" editable="true"/>'
    return [*lines, comment]


def _button(word: str, hotkey: str) -> str:
    key = f' hotkey="{hotkey}"' if hotkey else ""
    return f"    <Choice value={quoteattr(word)}{key}/>"
