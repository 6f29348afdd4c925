"""A table for terminals of any width: in a narrow one columns are left out, then names are cut; numbers never are."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.table import Table
from rich.text import Text

_GAPS = (2, 1)  # between columns: the narrow one is tried before a column is left out
_NAME = 24  # a name has so much room before a column is left out for it,
_SHORT = 8  # and at least this in the narrowest terminal


@dataclass(frozen=True, slots=True)
class Column:
    """A column: a name, which may be cut, a number, or a bar. Those that leave first have the highest `leaves`."""

    title: str
    kind: Literal["name", "number", "bar"] = "number"
    leaves: int = 0  # 0: it is always there


@dataclass(slots=True)
class TerminalTable:
    """Rows under columns, as wide as they need to be and no wider than the terminal."""

    columns: Sequence[Column]
    rows: list[tuple[list[Text], str]] = field(default_factory=list)

    def add_row(self, *cells: str | Text, style: str = "") -> None:
        """A row with a cell for each column; markup in it is text."""
        self.rows.append(([cell if isinstance(cell, Text) else Text(cell) for cell in cells], style))

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """What fits into the terminal, and which columns do not."""
        kept, gap = self._fitting(options.max_width)
        widths = self._widths(kept, options.max_width - gap * (len(kept) - 1))
        table = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
        for k in kept:
            column = self.columns[k]
            table.add_column(
                Text(column.title), justify="right" if column.kind == "number" else "left",
                width=None if widths is None else widths[k], no_wrap=widths is not None,
                overflow="ellipsis" if column.kind == "name" and widths is not None else "fold",
            )  # fmt: skip
        for cells, style in self.rows:
            table.add_row(*(cells[k] for k in kept), style=style)
        yield table
        gone = [c.title for k, c in enumerate(self.columns) if k not in kept and c.kind != "bar"]
        if gone:
            yield Text(f"left out in this narrow terminal: {', '.join(gone)}", style="dim")

    def _fitting(self, room: int) -> tuple[list[int], int]:
        """Numbers of the columns that fit, names with room for most of them, and the gap between them."""
        kept = list(range(len(self.columns)))
        for level in sorted({c.leaves for c in self.columns}, reverse=True):
            wanted = sum(min(self._width(k), self._most(k)) for k in kept)
            for gap in _GAPS:
                if wanted + gap * (len(kept) - 1) <= room:
                    return kept, gap
            if level:
                kept = [k for k in kept if self.columns[k].leaves != level]
        return kept, _GAPS[-1]

    def _widths(self, kept: Sequence[int], room: int) -> dict[int, int] | None:
        """The width of each column; names share what numbers leave. None where short names do not fit: cells wrap."""
        widths = {k: self._width(k) for k in kept}
        names = [k for k in kept if self.columns[k].kind == "name"]
        left = room - sum(widths[k] for k in kept if k not in names)
        for count, k in zip(range(len(names), 0, -1), sorted(names, key=widths.__getitem__), strict=True):
            widths[k] = min(widths[k], max(left // count, _SHORT))
            left -= widths[k]
        return widths if left >= 0 else None

    def _most(self, k: int) -> int:
        return _NAME if self.columns[k].kind == "name" else self._width(k)

    def _width(self, k: int) -> int:
        return max(map(cell_len, [self.columns[k].title, *(cells[k].plain for cells, _ in self.rows)]))
