"""What a result or a report says, part by part; the parts are shown as HTML, as Markdown, and (by `report`) in a
terminal. Every word may come from outside: each medium escapes what it would obey.
"""

import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ratewise.core.chart import whisker

Style = Literal["", "strong", "quiet", "best", "warning", "lede"]


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of what follows; level 1 is the page's."""

    text: str
    level: int = 2


@dataclass(frozen=True, slots=True)
class Sentence:
    """A paragraph: some words that stand out, the text, and something to copy. An empty one is a gap in a terminal."""

    text: str = ""
    style: Style = ""
    lead: str = ""
    code: str = ""


@dataclass(frozen=True, slots=True)
class Bullets:
    """Sentences one below the other."""

    lines: Sequence[str]


@dataclass(frozen=True, slots=True)
class Code:
    """Commands to copy."""

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture as SVG, empty where it cannot be drawn, and the same in words where they stand nowhere else."""

    svg: Callable[[], str]
    words: str = ""


Fact = tuple[str, str] | tuple[str, str, Style]


@dataclass(frozen=True, slots=True)
class FactTable:
    """Names with what is to be said of each."""

    rows: Sequence[Fact]


@dataclass(frozen=True, slots=True)
class Note:
    """What is worth knowing of a result, in a sentence; a terminal marks it as a note."""

    text: str


@dataclass(frozen=True, slots=True)
class KeyFigures:
    """The few numbers that everybody asks for: a name, the number in large letters, and what belongs to it."""

    rows: Sequence[tuple[str, str, str]]


@dataclass(frozen=True, slots=True)
class Column:
    """A column: a name, which may be cut, a number, or a bar. Those that leave first have the highest `leaves`."""

    title: str
    kind: Literal["name", "number", "bar"] = "number"
    leaves: int = 0  # 0: it is always there, in however narrow a terminal


@dataclass(frozen=True, slots=True)
class Row:
    """Cells of a table; `below` are texts with their names that belong to them and are too long for a cell."""

    cells: Sequence[str]
    style: Style = ""
    below: Sequence[tuple[str, str]] = ()


@dataclass(frozen=True, slots=True)
class DataTable:
    """Rows under columns; bars are text in a terminal, drawn on a page, and left out of Markdown."""

    columns: Sequence[Column]
    rows: list[Row] = field(default_factory=list)

    def add(self, *cells: str, style: Style = "", below: Sequence[tuple[str, str]] = ()) -> None:
        self.rows.append(Row(cells, style, below))


Part = Heading | Sentence | Bullets | Code | Picture | FactTable | DataTable | Note | KeyFigures


def noted(notes: Iterable[str]) -> list[Part]:
    """Notes of a result, one by one."""
    return [Note(note) for note in notes]


def as_sentence(text: str) -> str:
    """A note as a sentence: with a capital, where it begins with a word, and a full stop."""
    first = re.match(r"[a-z]+(?=[ ,:;])", text)
    begun = text[:1].upper() + text[1:] if first else text
    return begun if begun.endswith((".", "!", "?", ":")) or not begun else f"{begun}."


def listed(lines: Sequence[str]) -> list[Part]:
    """Sentences, if there are any."""
    return [Bullets(lines)] if lines else []


def grid_of(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> DataTable:
    """A table whose first column is names and whose others are numbers."""
    columns = [Column(title, "number" if k else "name") for k, title in enumerate(titles)]
    return DataTable(columns, [Row(row) for row in rows])


class Bar(str):
    """Text with a bar of signs, ──●── or ███, in whose place a page has a picture or other words."""

    html: str

    def __new__(cls, text: str, html: str) -> "Bar":
        made = super().__new__(cls, text)
        made.html = html
        return made


def bar(
    value: float | None, low: float | None, high: float | None, ends: tuple[float, float], *,
    width: int, line: str = "─", ground: str = " ", zero: bool = False,
) -> str:  # fmt: skip
    """──●── : where an interval and its value lie between the ends, with │ at 0; nothing where there is no value."""
    if value is None or not ends[1] > ends[0]:
        return ""

    def at(x: float) -> int:
        return min(max(round((x - ends[0]) / (ends[1] - ends[0]) * (width - 1)), 0), width - 1)

    signs = [ground] * width
    if zero:
        signs[at(0.0)] = "│"
    if low is not None and high is not None:
        signs[at(low) : at(high) + 1] = [line] * (at(high) + 1 - at(low))
    signs[at(value)] = "●"
    return Bar("".join(signs), whisker(value, low, high, ends, zero=zero))


def as_lines(parts: Iterable[Part]) -> str:
    """Tables and sentences as plain text, without bars and notes: a result at a prompt."""
    lines = []
    for part in parts:
        if isinstance(part, DataTable):
            kinds = [(k, column.kind) for k, column in enumerate(part.columns) if column.kind != "bar"]
            rows = [[column.title for column in part.columns], *(row.cells for row in part.rows)]
            widths = [max(len(row[k]) for row in rows) for k in range(len(part.columns))]
            for row in rows:
                cells = (f"{row[k]:{'<' if kind == 'name' else '>'}{widths[k]}}" for k, kind in kinds)
                lines.append("  ".join(cells).rstrip())
        elif isinstance(part, Sentence) and part.text:
            lines.append(part.text)
    return "\n".join(lines)


# HTML

_ENDS = "display:flex;justify-content:space-between"
_LEFT = " style='text-align:left'"
_LONG, _SHOWN = 1_500, 600  # characters of a text below a row: longer ones fold, and so much of them stays
_STACKED = 4  # columns, from which on a phone shows the cells of a row one below the other


def as_html(parts: Iterable[Part]) -> str:
    """The parts as HTML, without the page around them."""
    return "".join(map(_html, parts))


def anchor(text: str) -> str:
    """The name by which a page links to a heading."""
    return "-".join(re.findall(r"\w+", text.lower())) or "part"


def _html(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"<h{level} id='{anchor(text)}'>{html.escape(text)}</h{level}>"
        case Sentence():
            return _html_line(part)
        case Note(text):
            return f"<p class='note'>{html.escape(as_sentence(text))}</p>"
        case Bullets(lines):
            return "<ul>" + "".join(f"<li>{html.escape(as_sentence(line))}</li>" for line in lines) + "</ul>"
        case Code(text):
            return f"<pre>{html.escape(text)}</pre>"
        case Picture(svg, words):
            return _html_picture(svg(), words)
        case KeyFigures(figures):
            shown = (
                f"<div><dt>{html.escape(name)}</dt><dd><b>{html.escape(number)}</b>"
                f"{f' <span>{html.escape(more)}</span>' if more else ''}</dd></div>"
                for name, number, more in figures
            )
            return f"<dl class='figures'>{''.join(shown)}</dl>"
        case FactTable(rows):
            facts = (
                f"<tr><th scope='row'{_LEFT}>{html.escape(name)}</th><td{_LEFT}>{_html_text(text)}</td></tr>"
                for name, text, *_ in rows
            )
            return f"<div class='wide'><table class='facts'><tbody>{''.join(facts)}</tbody></table></div>"
        case DataTable():
            return _html_table(part)


def _html_line(line: Sentence) -> str:
    if not (line.text or line.lead):
        return ""
    kind = f" class='{line.style}'" if line.style else ""
    lead = f"<strong>{html.escape(line.lead)}</strong>" if line.lead else ""
    code = f" <code>{html.escape(line.code)}</code>" if line.code else ""
    return f"<p{kind}>{lead}{html.escape(line.text)}{code}</p>"


def _html_picture(svg: str, words: str) -> str:
    told = f"<figcaption>{html.escape(words)}</figcaption>" if words else ""
    return f"<figure>{svg}{told}</figure>" if svg else f"<p>{html.escape(words)}</p>" if words else ""


def _html_table(table: DataTable) -> str:
    """A table that scrolls by itself where a screen is narrow, or stands its cells one below the other."""
    columns, rows = table.columns, "".join(_html_row(row, table.columns) for row in table.rows)
    head = "".join(f"<th scope='col'{_side(column)}>{_html_title(table, k)}</th>" for k, column in enumerate(columns))
    stacked = " class='stacked'" if sum(c.kind != "bar" for c in columns) >= _STACKED else ""
    return f"<div class='wide'><table{stacked}><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table></div>"


def _side(column: Column) -> str:
    """Where a column's cells stand: names to the left, also in a notebook, whose style has them on the right."""
    return _LEFT if column.kind != "number" else " style='text-align:right'"


def _html_text(text: str) -> str:
    return text.html if isinstance(text, Bar) else html.escape(text)


def _html_title(table: DataTable, k: int) -> str:
    """The title of a column; that of bars is the ends of their scale."""
    column = table.columns[k]
    if column.kind == "bar":
        ends = "".join(f"<span>{html.escape(end)}</span>" for end in re.split(" +", column.title.strip()) if end)
        return f"<span class='ends' style='{_ENDS}'>{ends}</span>" if ends else "<span class='unseen'>interval</span>"
    return html.escape(column.title) or "<span class='unseen'>name</span>"


def _html_row(row: Row, columns: Sequence[Column]) -> str:
    """A row, and the texts below it across all columns, so that a narrow screen shows all of them."""
    kind = " class='taken'" if row.style == "best" else " class='above'" if row.below else ""
    cells = []
    for column, cell in zip(columns, row.cells, strict=True):
        shown = _html_text(cell)
        named = f" data-title='{html.escape(column.title, quote=True)}'" if column.kind != "bar" else " class='bar'"
        cells.append(f"<td{named}{_side(column)}>{shown}</td>")
    below = "".join(f"<dt>{html.escape(name)}</dt><dd dir='auto'>{_html_below(text)}</dd>" for name, text in row.below)
    told = f"<tr class='below'><td colspan='{len(columns)}' class='text'><dl>{below}</dl></td></tr>" if below else ""
    return f"<tr{kind}>{''.join(cells)}</tr>{told}"


def _html_below(text: str) -> str:
    """A text below a row; of a long one the beginning, and the rest a click away."""
    if len(text) <= _LONG:
        return html.escape(text)
    cut = max(text.rfind(" ", 0, _SHOWN), text.rfind("\n", 0, _SHOWN)) + 1 or _SHOWN
    rest = f"<details><summary>The rest: {len(text) - cut:,} characters</summary>{html.escape(text[cut:])}</details>"
    return html.escape(text[:cut]) + rest


# Markdown

_SPECIAL = str.maketrans({sign: f"\\{sign}" for sign in "\\`*_{}[]<>#|!"} | {"\n": " ", "\r": " "})


def as_markdown(parts: Iterable[Part]) -> str:
    """The parts as Markdown."""
    return "\n\n".join(text for text in map(_markdown, parts) if text) + "\n"


def escaped(text: str) -> str:
    """Text that Markdown leaves as it is."""
    return text.translate(_SPECIAL)


def _markdown(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"{'#' * level} {escaped(text)}"
        case Sentence(text, _, lead, code):
            said = (f"**{escaped(lead)}**" if lead else "") + escaped(text)
            return f"{said} `{_without_fences(code)}`" if code else said
        case Note(text):
            return escaped(as_sentence(text))
        case KeyFigures(figures):
            told = (
                f"- {escaped(name)}: **{escaped(number)}** {escaped(more)}".rstrip() for name, number, more in figures
            )
            return "\n".join(told)
        case Bullets(lines):
            return "\n".join(f"- {escaped(as_sentence(line))}" for line in lines)
        case Code(text):
            return f"```text\n{_without_fences(text)}\n```"
        case Picture(_, words):
            return escaped(words)
        case FactTable(rows):
            return _markdown_table(("", ""), [(name, text) for name, text, *_ in rows])
        case DataTable(columns):
            kept = [k for k, column in enumerate(columns) if column.kind != "bar"]
            cells = [[row.cells[k] for k in kept] for row in part.rows]
            below = [
                f"- {escaped(row.cells[0])}, {escaped(name)}: {escaped(text)}"
                for row in part.rows
                for name, text in row.below
            ]
            table = _markdown_table([columns[k].title for k in kept], cells)
            return "\n\n".join([table, *(["\n".join(below)] if below else [])])


def _markdown_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(map(escaped, line)) for line in (titles, *rows)]
    lines.insert(1, " | ".join(["---", *["---:"] * (len(titles) - 1)]))
    return "\n".join(f"| {line} |" for line in lines)


def _without_fences(text: str) -> str:
    return text.replace("`", "'")
