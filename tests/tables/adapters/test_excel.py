"""Excel's workbooks: numbers, texts, truth and days as they were seen; what is no table is one line."""

import zipfile
from html import escape

import numpy as np
import pytest

from ratewise.errors import TableError
from ratewise.tables import open_relation, read_table
from ratewise.tables.adapters import adapted

pytest.importorskip("python_calamine")

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_PACKAGE = "http://schemas.openxmlformats.org/package/2006"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_PARTS = {
    "[Content_Types].xml": f'<Types xmlns="{_PACKAGE}/content-types"><Default Extension="rels" ContentType='
    '"application/vnd.openxmlformats-package.relationships+xml"/>'
    '<Default Extension="xml" ContentType="application/xml"/>'
    '<Override PartName="/xl/workbook.xml" ContentType='
    '"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/></Types>',
    "_rels/.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r" Target="xl/workbook.xml" '
    f'Type="{_OFFICE}/officeDocument"/></Relationships>',
    "xl/workbook.xml": f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="Sheet1" sheetId="1" '
    'r:id="r"/></sheets></workbook>',
    "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_PACKAGE}/relationships"><Relationship Id="r" '
    f'Target="worksheets/sheet1.xml" Type="{_OFFICE}/worksheet"/></Relationships>',
}


def _cell(value):
    if value is None:
        return "<c/>"
    if isinstance(value, bool):
        return f'<c t="b"><v>{value:d}</v></c>'
    if isinstance(value, str):
        return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(value)}</t></is></c>'
    return f"<c><v>{value!r}</v></c>"


@pytest.fixture
def workbook(tmp_path):
    def write(*rows, name="t.xlsx"):
        path = tmp_path / name
        below = "".join(f"<row>{''.join(map(_cell, row))}</row>" for row in rows)
        sheet = f'<worksheet xmlns="{_MAIN}"><sheetData>{below}</sheetData></worksheet>'
        with zipfile.ZipFile(path, "w") as archive:
            for part, content in {**_PARTS, "xl/worksheets/sheet1.xml": sheet}.items():
                archive.writestr(part, content)
        return str(path)

    return write


def test_a_workbook_is_a_table(workbook):
    path = workbook(
        ("id", "judge", "human", "text", "ok", "mixed"),
        (7, 0.5, 1, "a,\n'b'", True, 3),
        ("007", 1, None, "=SUM(A1)", False, "x"),
        (None, None, None, None, None, None),
    )
    for table in (read_table(path), open_relation(path).table()):
        assert table.columns == ("id", "judge", "human", "text", "ok", "mixed")
        assert table.ids().tolist() == ["7", "007"]
        assert table.numbers("judge").tolist() == [0.5, 1]
        np.testing.assert_array_equal(table.numbers("human", missing="allow"), [1, np.nan])
        assert table.texts("text").tolist() == ["a,\n'b'", "=SUM(A1)"]
        assert table.numbers("ok").tolist() == [1, 0]
        assert table.texts("mixed").tolist() == ["3", "x"]
    assert adapted(path).tool == "Excel workbook"


def test_it_is_known_by_its_content_and_may_begin_below(workbook):
    path = workbook((None, None), ("id", None, "judge"), (1, None, 0.5), name="export.zip")
    table = read_table(path)
    assert (table.columns, table.rows) == (("id", "judge"), 1)


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ((), "is empty"),
        ((("id", "judge"),), "no rows"),
        ((("id", None), (1, 0.5)), "column 2 .* no name"),
        ((("id", "id"), (1, 2)), "two columns with the name 'id'"),
    ],
)
def test_what_is_no_table_is_told(workbook, rows, said):
    with pytest.raises(TableError, match=said):
        read_table(workbook(*rows))


def test_what_is_no_workbook_is_told(tmp_path):
    path = tmp_path / "t.xlsx"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("[Content_Types].xml", "<nothing/>")
    with pytest.raises(TableError, match=r"t\.xlsx cannot be read as a workbook"):
        read_table(str(path))


def test_a_workbook_that_would_fill_the_memory_is_refused(workbook, monkeypatch):
    monkeypatch.setattr("ratewise.tables.adapters.excel.LARGEST_DOCUMENT", 100)
    with pytest.raises(TableError, match="save it as CSV"):
        read_table(workbook(("id",), (1,)))


def test_without_the_extra_its_name_is_told(workbook, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(TableError, match=r"ratewise\[xlsx\]"):
        read_table(workbook(("id",), (1,)))
