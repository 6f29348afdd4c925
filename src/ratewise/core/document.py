"""What a result or a report says, part by part; the parts are shown as HTML, as Markdown, and (by `report`) in a
terminal. Every word may come from outside: each medium escapes what it would obey.
"""

import html
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Style = Literal["", "strong", "quiet", "note", "best", "warning", "answer", "large"]


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
class Column:
    """A column: a name, which may be cut, a number, or a bar. Those that leave first have the highest `leaves`."""

    title: str
    kind: Literal["name", "number", "bar"] = "number"
    leaves: int = 0  # 0: it is always there, in however narrow a terminal


@dataclass(frozen=True, slots=True)
class Row:
    """Cells of a table; `below` is a text that belongs to them and is too long for a cell."""

    cells: Sequence[str]
    style: Style = ""
    below: str = ""


@dataclass(frozen=True, slots=True)
class DataTable:
    """Rows under columns; bars are for terminals only."""

    columns: Sequence[Column]
    rows: list[Row] = field(default_factory=list)

    def add(self, *cells: str, style: Style = "", below: str = "") -> None:
        self.rows.append(Row(cells, style, below))


Part = Heading | Sentence | Bullets | Code | Picture | FactTable | DataTable


def noted(notes: Iterable[str]) -> list[Part]:
    """Notes of a result, a line each."""
    return [Sentence(f"note: {note}", "note") for note in notes]


def listed(lines: Sequence[str]) -> list[Part]:
    """Sentences, if there are any."""
    return [Bullets(lines)] if lines else []


def grid_of(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> DataTable:
    """A table whose first column is names and whose others are numbers."""
    columns = [Column(title, "number" if k else "name") for k, title in enumerate(titles)]
    return DataTable(columns, [Row(row) for row in rows])


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
    return "".join(signs)


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
        elif isinstance(part, Sentence) and part.text and part.style != "note":
            lines.append(part.text)
    return "\n".join(lines)


# HTML


def as_html(parts: Iterable[Part]) -> str:
    """The parts as HTML, without the page around them."""
    return "".join(map(_html, parts))


def _html(part: Part) -> str:
    match part:
        case Heading(text, level):
            return f"<h{level}>{html.escape(text)}</h{level}>"
        case Sentence():
            return _html_line(part)
        case Bullets(lines):
            return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"
        case Code(text):
            return f"<pre>{html.escape(text)}</pre>"
        case Picture(svg, words):
            return _html_picture(svg(), words)
        case FactTable(rows):
            return _html_table("", (_html_cells((name, text), " class=fact") for name, text, *_ in rows))
        case DataTable(columns):
            kept = [k for k, column in enumerate(columns) if column.kind != "bar"]
            head = "".join(f"<th>{html.escape(columns[k].title)}</th>" for k in kept)
            return _html_table(f"<tr>{head}</tr>", (_html_row(row, kept) for row in part.rows))


def _html_line(line: Sentence) -> str:
    if not (line.text or line.lead):
        return ""
    kind = {"note": " class='note'", "answer": " class='plain'", "large": " class='big'"}.get(line.style, "")
    lead = f"<strong>{html.escape(line.lead)}</strong>" if line.lead else ""
    code = f" <code>{html.escape(line.code)}</code>" if line.code else ""
    return f"<p{kind}>{lead}{html.escape(line.text)}{code}</p>"


def _html_picture(svg: str, words: str) -> str:
    if not (svg and words):
        return svg or (f"<p>{html.escape(words)}</p>" if words else "")
    told = svg.replace("<svg", f"<svg role='img' aria-label='{html.escape(words, quote=True)}'", 1)
    return f"<figure>{told}<figcaption>{html.escape(words)}</figcaption></figure>"


def _html_table(head: str, rows: Iterable[str]) -> str:
    """A table that scrolls by itself where a screen is narrow."""
    return f"<div class=wide><table>{head}{''.join(rows)}</table></div>"


def _html_cells(cells: Iterable[str], kind: str = "") -> str:
    return f"<tr{kind}>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in cells) + "</tr>"


def _html_row(row: Row, kept: Sequence[int]) -> str:
    """A row, and the text below it across all columns, so that a narrow screen shows all of it."""
    kind = " class=taken" if row.style == "best" else " class=above" if row.below else ""
    below = f"<tr><td colspan={len(kept)} class=text>{html.escape(row.below)}</td></tr>" if row.below else ""
    return _html_cells((row.cells[k] for k in kept), kind) + below


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
        case Bullets(lines):
            return "\n".join(f"- {escaped(line)}" for line in lines)
        case Code(text):
            return f"```text\n{_without_fences(text)}\n```"
        case Picture(_, words):
            return escaped(words)
        case FactTable(rows):
            return _markdown_table(("", ""), [(name, text) for name, text, *_ in rows])
        case DataTable(columns):
            kept = [k for k, column in enumerate(columns) if column.kind != "bar"]
            cells = [[row.cells[k] for k in kept] for row in part.rows]
            below = [f"- {escaped(row.cells[0])}: {escaped(row.below)}" for row in part.rows if row.below]
            table = _markdown_table([columns[k].title for k in kept], cells)
            return "\n\n".join([table, *(["\n".join(below)] if below else [])])


def _markdown_table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [" | ".join(map(escaped, line)) for line in (titles, *rows)]
    lines.insert(1, " | ".join(["---", *["---:"] * (len(titles) - 1)]))
    return "\n".join(f"| {line} |" for line in lines)


def _without_fences(text: str) -> str:
    return text.replace("`", "'")
