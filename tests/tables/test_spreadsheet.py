"""Cells that a spreadsheet would run get an apostrophe; all others stay as they are."""

import numpy as np
import pytest

from ratewise.tables import read_table
from ratewise.tables.write import plain_cells, safe_cells


def test_texts_that_begin_like_formulas_and_nothing_else():
    table = read_table(
        {
            "t": np.array(["=1+1", "+x", "-x", "@x", "x=1", "", None], dtype=object),
            "n": np.array([-1.0, 2.0, -3.0, 0.0, 1.0, 2.0, 3.0]),
            "=head": np.array(["a"] * 7, dtype=object),
        }
    )
    safe = safe_cells(table)
    assert safe.columns == ("t", "n", "'=head")
    assert safe.texts("t", missing="allow").tolist() == ["'=1+1", "'+x", "'-x", "'@x", "x=1", "", ""]
    assert safe.numbers("n").tolist() == [-1.0, 2.0, -3.0, 0.0, 1.0, 2.0, 3.0]


@pytest.mark.parametrize("sign", ["\uff1d", "\uff0b", "\uff0d", "\uff20", "\n", "\r"])
def test_signs_in_full_width_and_line_ends_begin_formulas_too(sign):
    """A spreadsheet set to Japanese or Chinese reads the first four as = + - @."""
    table = read_table({"t": np.array([f"{sign}1+1", f"'{sign}1", "x"], dtype=object)})
    safe = safe_cells(table)
    assert safe.texts("t").tolist() == [f"'{sign}1+1", f"''{sign}1", "x"]
    assert plain_cells(safe).texts("t").tolist() == table.texts("t").tolist()


def test_what_was_made_safe_comes_back_as_it_was():
    texts = ["=1+1", "'=1+1", "''=x", "-x", "'quoted'", "plain", "", None, "\tx", "'"]
    table = read_table({"+head": np.array(texts, dtype=object), "n": np.arange(10.0)}, name="mine.csv")
    safe = safe_cells(table)
    assert all(not (text or "x").startswith(("=", "-", "\t")) for text in safe.texts("'+head", missing="allow"))
    assert len(set(safe.texts("'+head", missing="allow"))) == len(set(table.texts("+head", missing="allow")))
    back = plain_cells(safe)
    assert (back.name, back.columns) == ("mine.csv", ("+head", "n"))
    assert back.texts("+head", missing="allow").tolist() == table.texts("+head", missing="allow").tolist()
