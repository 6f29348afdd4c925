"""The rating that is already in the row."""

import asyncio
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from ratewise.raters.column import ColumnRater
from ratewise.raters.protocol import Answer, Question


def rate(cell: object) -> Answer:
    async def go() -> Answer:
        rater = ColumnRater("judge")
        (answer,) = await rater.rate([Question("k", "i", {"judge": cell})])
        await rater.close()
        return answer

    return asyncio.run(go())


@pytest.mark.parametrize("cell", [0, 0.0, False, "0", "no", np.float64(0), Decimal(0), [1]])
def test_a_cell_as_it_is(cell):
    assert rate(cell) == Answer(cell)


@pytest.mark.parametrize("cell", [None, "", "  ", float("nan"), np.float32("nan"), Decimal("nan"), pd.NA, pd.NaT])
def test_an_empty_cell_is_no_rating(cell):
    assert rate(cell) == Answer(None, note="the column is empty")


def test_an_array_is_not_empty():
    assert rate(np.array([1, 2])).note == ""


def test_a_missing_column_is_empty_and_the_order_is_kept():
    questions = [Question(f"k{i}", f"{i}", {"judge": i} if i else {}) for i in range(3)]
    answers = asyncio.run(ColumnRater("judge").rate(questions))
    assert answers == [Answer(None, note="the column is empty"), Answer(1), Answer(2)]
