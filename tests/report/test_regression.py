"""Text and pictures of regressions and quantiles."""

import io

import numpy as np
import pytest
from rich.console import Console

from ratewise.questions.quantiles import quantile_table
from ratewise.questions.regression import Coefficient, Regression, regress
from ratewise.report.pictures import plot_regression
from ratewise.report.terminal import text_of


def shown(text):
    console = Console(file=io.StringIO(), width=120, highlight=False)
    console.print(text)
    return console.file.getvalue()


def made(*coefficients, family="linear"):
    return Regression(family, coefficients, 0.95, 100, 40, "difference", "population", 30.0, ("a note",))


LEFT = Coefficient("down", -2.0, 0.5, -3.0, -1.0)
RIGHT = Coefficient("up", 1.0, 0.5, 0.0, 2.0)
NONE = Coefficient("gone", None, None, None, None, reason="is the same on every row")
EXACT = Coefficient("exact", 0.5, None, None, None, reason="no error can be told")


def test_bars_are_to_scale_and_show_zero():
    lines = shown(text_of(made(LEFT, RIGHT, NONE, EXACT))).splitlines()
    down, up = (next(line for line in lines if line.startswith(name)) for name in ("down", "up"))
    assert down.rstrip().endswith("─────●─────   │")
    assert up.rstrip().endswith("●─────")
    assert down.index("│") == up.index("─")  # 0 stands where the second begins
    assert "−2" in down
    gone = next(line for line in lines if line.startswith("gone"))
    assert "none" in gone
    assert any("a note" in line for line in lines)
    assert any("exact: no error can be told" in line for line in lines)


def test_nothing_with_an_interval_has_no_bars():
    assert "●" not in shown(text_of(made(NONE, EXACT)))


def test_quantiles():
    rng = np.random.default_rng(0)
    h = rng.standard_normal(300)
    text = shown(text_of(quantile_table({"h": h}, strong="h", at=[0.1, 0.9])))
    assert text.count("●") == 2
    assert "300 strong ratings" in text


@pytest.mark.parametrize("rows", [(LEFT, RIGHT, NONE), (EXACT,), (NONE,)])
def test_pictures_can_be_made(rows):
    figure = plot_regression(made(*rows))
    figure.savefig(io.BytesIO(), format="svg")
    labels = [tick.get_text() for tick in figure.axes[0].get_yticklabels()]
    assert labels == [c.name for c in rows if c.value is not None][::-1]


def test_the_intercept_and_dollar_signs():
    rng = np.random.default_rng(1)
    found = regress({"h": rng.random(50), "in $": rng.random(50)}, strong="h", on=["in $"])
    figure = plot_regression(found)
    assert [tick.get_text() for tick in figure.axes[0].get_yticklabels()] == [r"in \$"]
