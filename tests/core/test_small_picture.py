"""Small pictures for notebooks: plain SVG that says in words what it shows."""

import math
import re
import xml.etree.ElementTree as ET

import pytest

from ratewise.core.chart import ChartLine, Span, lines_picture, spans_picture, ticks_of
from ratewise.questions.estimation import estimate_mean


def test_spans_stand_on_one_scale_and_say_what_they_are():
    made = spans_picture([Span("one", 0.5, 0.2, 0.8), Span("<b>two</b>", 0.5, 0.4, 0.6)], 'a "half" & more')
    root = ET.fromstring(made)
    assert root.get("aria-label") == 'a "half" & more'
    strokes = [path.get("d") for path in root.iter("path") if path.get("stroke-width") == "3"]
    first, second = (tuple(map(float, re.match(r"M([\d.]+) [\d.]+H([\d.]+)", d).groups())) for d in strokes)
    assert first[0] < second[0] < second[1] < first[1]
    assert (second[1] - second[0]) * 3 == pytest.approx(first[1] - first[0], abs=0.5)
    assert "<b>two</b>" in [text.text for text in root.iter("text")]


def test_a_band_narrows_to_the_right():
    line = ChartLine("estimate", [(10.0, 0.5, 0.1, 0.9), (40.0, 0.6, 0.5, 0.7)], band=True)
    root = ET.fromstring(lines_picture([line], "w", x_name="money", y_name="mean"))
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in root.iter("circle")]
    assert dots[0][0] < dots[1][0]
    assert dots[0][1] > dots[1][1]  # higher up on the page


def test_where_there_is_nothing_there_is_no_picture():
    assert spans_picture([Span("x", math.nan, 0.0, 1.0)], "w") == ""
    assert lines_picture([ChartLine("x", [])], "w", x_name="a", y_name="b") == ""
    ET.fromstring(spans_picture([Span("x", 1.0, 1.0, 1.0)], "w"))


def test_an_estimate_shows_a_table_and_a_picture():
    found = estimate_mean([0.1, 0.9, 0.8, 0.4] * 9, [0.0, 1.0, 1.0, 0.0] * 9, [1.0] * 36)
    page = found._repr_html_()
    assert "<table " in page
    assert page.count("<svg") == 1
    assert f"{found.low:.4f}" in page


@pytest.mark.parametrize(
    ("ends", "ticks"), [((0.0, 1.0), [0, 0.2, 0.4, 0.6, 0.8, 1.0]), ((0.783, 0.826), [0.79, 0.8, 0.81, 0.82]),
                        ((0.0, 400.0), [0, 100, 200, 300, 400]), ((3.0, 3.0), [3.0])],
)  # fmt: skip
def test_ticks_are_round_numbers(ends, ticks):
    assert ticks_of(*ends) == pytest.approx(ticks)
