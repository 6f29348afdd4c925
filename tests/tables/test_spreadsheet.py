"""Cells that a spreadsheet would run get an apostrophe; all others stay as they are."""

import numpy as np

from ratewise.tables import read_table
from ratewise.tables.spreadsheet import safe_cells


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
