"""Tables in terminals of any width: numbers are whole, names are recognised, and what is left out is told."""

import io

import pytest
from rich.console import Console
from rich.text import Text

from ratewise.core.document import Column, DataTable
from ratewise.report.terminal import TerminalTable

COLUMNS = (
    Column("model", "name"), Column("rating"), Column("95% interval"), Column("-------bar-------", "bar", 9),
    Column("best", leaves=2), Column("votes", leaves=1),
)  # fmt: skip
NAMES = ("a short one", "meta-llama/Llama-3.1-405B-Instruct-Turbo-2025", "模型" * 12, "[bold]markup")


def shown(table, width):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(table)
    return console.file.getvalue().splitlines()


def filled(columns=COLUMNS):
    table = DataTable(columns)
    for name in NAMES:
        table.add(name, "1234", "0.4107 to 0.5188", "━━━●━━━", "17%", "12,345")
    return TerminalTable(table)


@pytest.mark.parametrize("width", range(36, 140, 7))
def test_no_number_is_cut_and_every_row_has_its_name(width):
    lines = shown(filled(), width)
    assert all(len(Text(line).plain) <= width for line in lines)
    head, rows = lines[0], lines[1:5]
    assert head.startswith("model")
    for name, row in zip(NAMES, rows, strict=True):
        assert row.startswith(name[:4])
        assert "1234" in row
        assert "0.4107 to 0.5188" in row
        assert ("12,345" in row) == ("votes" in head)
        assert ("17%" in row) == ("best" in head)
    told = " ".join(lines[5:])
    for name in ("best", "votes"):
        assert (name in head) != (name in told)
    assert ("bar" in head) == ("━━━●━━━" in rows[0])
    assert "bar" not in told


def test_columns_leave_in_their_order_and_names_are_cut_last():
    there = {width: shown(filled(), width)[0] for width in range(30, 140)}
    least = {name: min(width for width, head in there.items() if name in head) for name in ("bar", "best", "votes")}
    assert least["bar"] > least["best"] > least["votes"] > 50
    assert NAMES[1][:23] in "\n".join(shown(filled(), least["votes"]))
    assert NAMES[1] in "\n".join(shown(filled(), 139))


def test_where_nothing_fits_cells_wrap_and_nothing_is_lost():
    text = "".join(shown(filled(), 20)).replace(" ", "")
    for number in ("1234", "0.4107"):
        assert number in text


def test_without_rows_there_is_a_head():
    assert shown(TerminalTable(DataTable(COLUMNS)), 120)[0].split() == [
        "model",
        "rating",
        "95%",
        "interval",
        "-------bar-------",
        "best",
        "votes",
    ]
