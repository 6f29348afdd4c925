"""Results as text for terminals of any width: tables leave columns out, then cut names; numbers never are."""

from collections.abc import Iterable, Sequence

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from ratewise.core.document import (
    Bullets,
    Code,
    Column,
    DataTable,
    FactTable,
    Heading,
    KeyFigures,
    Note,
    Part,
    Picture,
    Sentence,
)
from ratewise.core.result import Result

_STYLES = {"strong": "bold", "quiet": "dim", "warning": "yellow", "best": "bold green"}
_GAPS = (2, 1)  # between columns: the narrow one is tried before a column is left out
_NAME = 24  # a name has so much room before a column is left out for it,
_SHORT = 8  # and at least this in the narrowest terminal


def text_of(found: Result) -> RenderableType:
    """A result as text."""
    return as_text(found.document())


def as_text(parts: Iterable[Part]) -> RenderableType:
    """Parts one below the other; pictures are for pages."""
    return Group(*(_shown(part) for part in parts if not isinstance(part, Picture)))


def _shown(part: Part) -> RenderableType:
    match part:
        case Heading(text) | Code(text):
            return Text(text, style="bold" if isinstance(part, Heading) else "")
        case Bullets(lines):
            return Text("\n".join(lines))
        case DataTable():
            return TerminalTable(part)
        case FactTable(rows):
            grid = Table.grid(padding=(0, 2))
            grid.add_column(no_wrap=True)
            grid.add_column(overflow="fold")  # a digest that is cut is no digest
            for name, text, *style in rows:
                grid.add_row(name, Text(text, style=_STYLES.get(style[0], "") if style else ""))
            return grid
        case Sentence(text, style, lead, code):
            return Text.assemble((lead, "bold"), text, f" {code}" if code else "", style=_STYLES.get(style, ""))
        case Note(text):
            return _hanging("note:", text)
        case KeyFigures(figures):
            return _shown(FactTable([(name, f"{number} {more}".rstrip()) for name, number, more in figures]))
        case Picture():
            return Text()


def _hanging(lead: str, text: str) -> RenderableType:
    """A note whose further lines begin under its first word."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column(no_wrap=True)
    grid.add_column()
    grid.add_row(Text(lead, style="yellow"), Text(text, style="yellow"))
    return grid


class TerminalTable:
    """Rows under columns, as wide as they need to be and no wider than the terminal."""

    def __init__(self, grid: DataTable) -> None:
        self.grid = grid

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What fits into the terminal, and which columns do not."""
        columns = self.grid.columns
        kept, gap = self._fitting(options.max_width)
        widths = self._widths(kept, options.max_width - gap * (len(kept) - 1))
        table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
        for k in kept:
            column = columns[k]
            table.add_column(
                Text(column.title), justify="right" if column.kind == "number" else "left",
                width=None if widths is None else widths[k], no_wrap=widths is not None,
                overflow="ellipsis" if column.kind == "name" and widths is not None else "fold",
            )  # fmt: skip
        for row in self.grid.rows:
            cells = (Text(_one_line(row.cells[k]), style="cyan" if columns[k].kind == "bar" else "") for k in kept)
            table.add_row(*cells, style=_STYLES.get(row.style, ""))
        yield table
        gone = [column.title for k, column in enumerate(columns) if k not in kept and column.kind != "bar"]
        if gone:
            yield Text(f"left out in this narrow terminal: {', '.join(gone)}", style="dim")

    def _fitting(self, room: int) -> tuple[list[int], int]:
        """Numbers of the columns that fit, names with room for most of them, and the gap between them."""
        columns = self.grid.columns
        kept = list(range(len(columns)))
        for level in sorted({column.leaves for column in columns}, reverse=True):
            wanted = sum(min(self._width(k), _NAME if _is_name(columns[k]) else self._width(k)) for k in kept)
            for gap in _GAPS:
                if wanted + gap * (len(kept) - 1) <= room:
                    return kept, gap
            if level:
                kept = [k for k in kept if columns[k].leaves != level]
        return kept, _GAPS[-1]

    def _widths(self, kept: Sequence[int], room: int) -> dict[int, int] | None:
        """The width of each column; names share what numbers leave. None where short names do not fit: cells wrap."""
        widths = {k: self._width(k) for k in kept}
        names = [k for k in kept if _is_name(self.grid.columns[k])]
        left = room - sum(widths[k] for k in kept if k not in names)
        for count, k in zip(range(len(names), 0, -1), sorted(names, key=widths.__getitem__), strict=True):
            widths[k] = min(widths[k], max(left // count, _SHORT))
            left -= widths[k]
        return widths if left >= 0 else None

    def _width(self, k: int) -> int:
        cells = (_one_line(row.cells[k]) for row in self.grid.rows)
        return max(map(cell_len, [self.grid.columns[k].title, *cells]))


def _is_name(column: Column) -> bool:
    return column.kind == "name"


def _one_line(cell: str) -> str:
    """A cell that may hold anything, as one line of a table."""
    return cell if cell.isprintable() else " ".join(cell.split())
