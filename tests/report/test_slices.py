"""Slices as text and picture: every number there, bars in their places, and nothing cut off."""

import io

import numpy as np
import pytest
from rich.console import Console

from ratewise.core.document import DataTable
from ratewise.questions.slices import estimate_slices, plan_slices
from ratewise.report.one_shot import answer_parts
from ratewise.report.pictures import plot_slices, save
from ratewise.report.terminal import text_of


def shown(text, width=120):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(text)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    names = np.repeat(["[bold]code", "law", "math", "travel", "nothing"], [90, 60, 120, 50, 10]).astype(object)
    h = (rng.random(names.size) < np.repeat([0.5, 0.7, 0.8, 0.9, 0.5], [90, 60, 120, 50, 10])).astype(float)
    asked = (rng.random(names.size) < 0.5) & (names != "nothing")
    judge = 0.1 + 0.8 * np.where(rng.random(names.size) < 0.2, 1 - h, h)
    return {"topic": names, "judge": judge, "human": np.where(asked, h, np.nan), "rate": np.full(names.size, 0.5)}


COLUMNS = {"by": "topic", "weak": "judge", "strong": "human"}


@pytest.mark.parametrize("options", [{}, {"shrink": True}, {"simultaneous": True}])
def test_every_slice_has_a_line_with_its_numbers(table, options):
    found = estimate_slices(table, **COLUMNS, **options)
    text = shown(text_of(found))
    for one in found.slices:
        line = next(line for line in text.splitlines() if line.startswith(f"{one.name} "))
        assert f"{one.labels:,}" in line
        if one.value is not None:
            assert f"{one.value:.4f}" in line
            assert f"{one.interval[0]:.4f} to {one.interval[1]:.4f}" in line
            assert line.count("●") == 1
    assert "nothing: no strong rating; at least 2 are needed" in text
    assert ("unshrunk" in text) == found.shrink
    assert ("at once" in text) == found.simultaneous
    assert max(map(len, text.splitlines())) <= 120


@pytest.mark.parametrize("options", [{}, {"shrink": True}, {"simultaneous": True}])
def test_a_report_of_slices_is_in_per_cent_throughout(table, options):
    found = estimate_slices(table, **COLUMNS, **options)
    [forest, *_] = [part for part in answer_parts(found) if isinstance(part, DataTable)]
    rows = {row.cells[0]: row.cells for row in forest.rows}
    for one in found.slices:
        if one.value is not None:
            low, high = one.interval
            assert rows[one.name][2] == f"{100 * one.value:.1f}%"
            assert rows[one.name][-1] == f"{100 * low:.1f}% to {100 * high:.1f}%"
    assert rows["all"][2] == f"{100 * found.overall.value:.1f}%"


@pytest.mark.parametrize("options", [{}, {"shrink": True}, {"simultaneous": True}])
@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_shows_every_slice_with_its_whole_interval(table, options, width):
    found = estimate_slices(table, **COLUMNS, **options)
    lines = shown(text_of(found), width).splitlines()
    assert max(map(len, lines)) <= width
    for one in found.slices:
        line = next(line for line in lines if line.startswith(f"{one.name} "))
        if one.value is not None:
            assert f"{one.value:.4f}" in line
            assert f"{one.interval[0]:.4f} to {one.interval[1]:.4f}" in line


def test_bars_are_on_one_scale(table):
    found = estimate_slices(table, **COLUMNS)
    lines = shown(text_of(found)).splitlines()
    bars = {line.split()[0]: line.rstrip() for line in lines if "●" in line}
    assert bars["travel"].index("●") > bars["law"].index("●") > bars["[bold]code"].index("●")


def test_a_slice_plan_has_a_line_for_each_slice_and_one_for_all(table):
    found = plan_slices(table, **COLUMNS, weak_cost=0.05, strong_cost=1.0, target_se=0.08, pool_sizes="table")
    text = shown(text_of(found))
    for one in found.slices:
        line = next(line for line in text.splitlines() if line.startswith(f"{one.name} "))
        assert (one.plan.recommendation if one.plan else "none") in line
    assert f"{found.spend:,.2f}" in next(line for line in text.splitlines() if line.startswith("all "))
    assert "nothing: no row of" in text


@pytest.mark.parametrize("options", [{}, {"shrink": True}, {"simultaneous": True}])
def test_the_picture(table, options, tmp_path):
    found = estimate_slices(table, **COLUMNS, **options)
    made = plot_slices(found)
    (axes,) = made.axes
    assert axes.get_yticklabels()[0].get_text().startswith("travel")
    assert "95%" in axes.get_xlabel()
    save(made, tmp_path / "slices.svg")
    assert (tmp_path / "slices.svg").stat().st_size > 1000
