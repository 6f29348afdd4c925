"""Simulations as text and pictures: the numbers that were found, for any budgets and methods, without a warning."""

import dataclasses
import io

import numpy as np
import pytest
from matplotlib.colors import to_hex
from rich.console import Console

from ratewise.core.names import SIMULATED_METHODS
from ratewise.lab.simulate import simulate
from ratewise.lab.worlds import calibrated
from ratewise.report.pictures import METHOD_COLOURS, plot_simulation, save
from ratewise.report.terminal import text_of

CASES = {
    "one budget": {"budgets": [45]},
    "two budgets": {"budgets": [20, 45.5], "mode": "pool"},
    "many budgets": {"budgets": [10, 20, 30, 45, 60, 1234]},
    "one method": {"budgets": [20, 45, 80], "methods": ["paper-active"]},
    "oracle alone": {"budgets": [20, 45, 80], "methods": ["oracle"]},
    "base alone": {"budgets": [20, 45, 80], "methods": ["base"], "burn_in": 0},
    "known": {"budgets": [20, 45], "burn_in": 0},
    "a pool that is rated whole": {"budgets": [100, 2000], "mode": "pool"},
}


def shown(text, *, width=120):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(text)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def found():
    """Every case, simulated once; "oracle alone" has no best method to sum up."""
    world = calibrated(700, mean=0.75, spread=0.5, rng=np.random.default_rng(5003))
    table, made = {"g": 4 * world.weak + 1, "h": 4 * world.strong + 1}, {}

    def of(case):
        if case not in made:
            options = {"methods": SIMULATED_METHODS, "burn_in": 20, "trials": 12} | CASES[case]
            made[case] = simulate(table, weak="g", strong="h", cost_ratio=0.05, workers=1, **options)
        return made[case]

    return of


@pytest.mark.parametrize("case", list(CASES))
def test_the_text_has_the_numbers(found, case):
    got = found(case)
    text = shown(text_of(got))
    lines = [line.split() for line in text.splitlines()]
    rows = iter(line for line in lines if any(word in SIMULATED_METHODS for word in line[:2]))
    for budget in got.settings["budgets"]:
        for k, r in enumerate(r for r in got.results if r.budget == budget):
            cells = next(rows)
            if k == 0:
                assert cells[0] == f"{budget:g}"
                cells = cells[1:]
            assert cells[:2] == [r.method, f"{r.mse**0.5:.4f}"]
            assert cells[4:] == [
                f"{r.effective_budget:,.0f}", f"{r.savings:+,.0f}", f"{r.width:.4f}", f"{r.coverage:.1%}",
                f"{r.spend_mean:,.0f}",
            ]  # fmt: skip
            if r.base_mse > 0:
                interval = f"{r.mse_low / r.base_mse:.3f}–{r.mse_high / r.base_mse:.3f}"
                assert cells[2:4] == [f"{r.of_base:.3f}", interval]
    assert next(rows, None) is None
    assert "12 trials" in " ".join(text.split())


@pytest.mark.parametrize("case", list(CASES))
def test_the_text_is_whole_and_has_no_nan(found, case):
    text = shown(text_of(found(case)))
    assert "nan" not in text  # where base is exact, the share of its error has no value
    assert "inf" not in text
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 120


def test_the_best_is_marked_but_never_what_nobody_can_run(found):
    got = found("many budgets")
    console = Console(file=io.StringIO(), width=120, highlight=False, force_terminal=True, color_system="standard")
    console.print(text_of(got))
    green = [line for line in console.file.getvalue().splitlines() if "\x1b[1;32m" in line]
    assert len(green) == len(got.settings["budgets"])
    assert not any("oracle" in line or "limit" in line for line in green)
    for line, budget in zip(green, got.settings["budgets"], strict=True):
        can_be_run = [r for r in got.results if r.budget == budget and r.method not in {"oracle", "limit"}]
        best = min(can_be_run, key=lambda r: r.mse)
        assert best.method in line


def test_notes(found):
    known, plain = found("known"), found("one budget")
    assert "know the whole table's parameters" in shown(text_of(known))
    assert "know the whole table's parameters" not in shown(text_of(plain))
    assert "partial" not in shown(text_of(plain))
    stopped = dataclasses.replace(plain, partial=True)
    assert "partial, stopped after 12 trials" in shown(text_of(stopped))


@pytest.mark.parametrize("case", ["one budget", "many budgets", "base alone", "a pool that is rated whole"])
def test_pictures(found, tmp_path, case):
    path = tmp_path / "found.png"
    save(plot_simulation(found(case)), path)
    assert path.read_bytes().startswith(b"\x89PNG\r\n")
    assert path.stat().st_size > 5000


@pytest.mark.parametrize("case", ["one budget", "many budgets", "two budgets"])
def test_the_panels_are_the_numbers(found, case):
    got = found(case)
    picture = plot_simulation(got)
    assert len(picture.axes) == 3
    for axes, name in zip(picture.axes, ("mse", "effective_budget", "savings"), strict=True):
        lines = {line.get_label(): line for line in axes.lines}
        assert set(lines) == set(SIMULATED_METHODS)
        for method, line in lines.items():
            assert to_hex(line.get_color()) == METHOD_COLOURS[method]
            x, y = line.get_data()
            errors = [r.mse for r in got.of(method)]  # what is saved is told at an error
            assert list(x) == pytest.approx(errors if name == "savings" else got.settings["budgets"])
            expected = [getattr(r, name) for r in got.of(method)]
            if method == "base" and name != "mse":
                expected = got.settings["budgets"] if name == "effective_budget" else [0.0] * len(x)
            assert list(y) == pytest.approx(list(expected))
        shaded = len(SIMULATED_METHODS) - (name != "mse")  # base has no interval where it is the yardstick
        assert len(axes.collections) == shaded
    assert picture.axes[0].get_yscale() == "log"
    for axes in picture.axes:  # names beside the lines, far enough from each other to be read
        named = {text.get_text(): text for text in axes.texts}
        assert set(named) == set(SIMULATED_METHODS)
        assert all(to_hex(named[method].get_color()) == METHOD_COLOURS[method] for method in named)
        heights = sorted(text.xy[1] for text in named.values())
        assert min(np.diff(heights)) > 0.07


def test_the_strokes_are_the_intervals(found):
    got = found("many budgets")
    axes = plot_simulation(got).axes[2]
    methods = [method for method in got.methods if method != "base"]
    for method, shade in zip(methods, axes.collections, strict=True):
        ends = {tuple(point) for path in shade.get_paths() for point in np.round(path.vertices, 9)}
        for r in got.of(method):
            assert (round(r.mse, 9), round(r.savings_low, 9)) in ends
            assert (round(r.mse, 9), round(r.savings_high, 9)) in ends


def test_the_same_simulation_gives_the_same_file(found, tmp_path):
    for name in ("first.svg", "second.svg"):
        save(plot_simulation(found("one budget")), tmp_path / name)
    assert (tmp_path / "first.svg").read_bytes() == (tmp_path / "second.svg").read_bytes()
    assert b"<svg" in (tmp_path / "first.svg").read_bytes()


def test_every_method_has_its_colour():
    assert set(METHOD_COLOURS) >= set(SIMULATED_METHODS)
    assert len(set(METHOD_COLOURS.values())) == len(METHOD_COLOURS)
