"""Pictures: what is drawn is the data; the same data give the same file."""

import dataclasses
import re
import sys

import numpy as np
import pytest
from matplotlib.figure import Figure

import ratewise as rw
from ratewise.errors import InputError
from ratewise.lab.worlds import calibrated
from ratewise.report.pictures import save


@pytest.fixture(scope="module")
def plan():
    world = calibrated(800, mean=0.8, spread=0.6, rng=np.random.default_rng(1103))
    return rw.plan(
        {"g": world.weak, "h": world.strong}, weak="g", strong="h", weak_cost=0.02, strong_cost=1.5, budget=400
    )


@pytest.fixture(scope="module")
def estimates():
    rng = np.random.default_rng(1109)
    g = rng.normal(70, 5, 300)
    h = np.where(rng.random(300) < 0.4, g + rng.normal(2, 3, 300), np.nan)
    return {name: rw.estimate_mean(g, h, 0.4, method=name) for name in ("difference", "power-tuned", "regression")}


def labels(axes):
    return {text.get_text(): y for text, y in zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)}


def bars_of(plan, axes):
    """The bar of each policy: from the top, in the order of the table."""
    bars = sorted(axes.patches, key=lambda bar: -bar.get_y())
    return dict(zip(plan.policies, bars, strict=True))


def test_the_bars_of_a_plan_are_its_intervals(plan):
    figure = rw.plot_plan(plan)
    assert isinstance(figure, Figure)
    (axes,) = figure.axes
    assert all(labels(axes))
    assert len(labels(axes)) == 3
    for (name, bar), label in zip(bars_of(plan, axes).items(), list(labels(axes).values())[::-1], strict=True):
        half, middle = plan.policies[name].within(0.95), bar.get_y() + bar.get_height() / 2
        assert bar.get_width() == pytest.approx(2 * half)
        assert bar.get_x() == pytest.approx(-half)
        assert middle == pytest.approx(label)
        (text,) = [text.get_text() for text in axes.texts if text.xy[1] == pytest.approx(middle)]
        assert float(re.search(r"± ([\d.]+\d)", text)[1]) == pytest.approx(half, abs=6e-4)
        assert f"{plan.policies[name].spend:,.0f}" in text
        assert f"{plan.policies[name].strong_labels:,.0f} strong ratings" in text
    assert axes.get_xlim()[0] < -1.96 * plan.policies["base"].expected_se


@pytest.mark.parametrize("name", ["base", "random", "active"])
def test_the_recommendation_stands_out(plan, name):
    changed = dataclasses.replace(plan, recommendation=name)
    (axes,) = rw.plot_plan(changed).axes
    colours = {policy: bar.get_facecolor() for policy, bar in bars_of(plan, axes).items()}
    recommended = colours.pop(name)
    assert len(set(colours.values())) == 1
    assert recommended not in colours.values()


def test_the_lines_of_estimates_are_their_intervals(estimates):
    (axes,) = rw.plot_estimates(estimates, truth=72.0).axes
    heights = labels(axes)
    assert list(heights)[::-1] == list(estimates)
    for name, estimate in estimates.items():
        y = heights[name]
        drawn = [line for line in axes.lines if list(line.get_ydata()) in ([y], [y, y])]
        interval, point = sorted(drawn, key=lambda line: -len(line.get_xdata()))
        assert tuple(interval.get_xdata()) == pytest.approx(estimate.interval)
        assert list(point.get_xdata()) == pytest.approx([estimate.value])
    (truth,) = [line for line in axes.lines if list(line.get_xdata()) == [72.0, 72.0]]
    assert truth.get_linestyle() == "--"
    assert any(text.get_text().strip() == "truth" for text in axes.texts)
    assert "95%" in axes.get_xlabel()


def test_without_truth_there_is_no_line_for_it(estimates):
    (axes,) = rw.plot_estimates(estimates).axes
    assert len(axes.lines) == 2 * len(estimates)
    assert not axes.texts


def test_an_estimate_without_an_interval_is_a_point(estimates):
    alone = rw.estimate_mean([3.0, 5.0, 4.0], [3.5, np.nan, np.nan], 0.5, interval="t", level=0.8)
    (axes,) = rw.plot_estimates({"one": alone, "many": estimates["difference"]}).axes
    y = labels(axes)["one"]
    (point,) = [line for line in axes.lines if set(line.get_ydata()) == {y}]
    assert list(point.get_xdata()) == pytest.approx([alone.value])
    assert "80%" in axes.get_xlabel()
    assert "95%" in axes.get_xlabel()


def test_files(plan, tmp_path):
    save(rw.plot_plan(plan), str(tmp_path / "plan.svg"))
    save(rw.plot_plan(plan), str(tmp_path / "plan.png"))
    assert (tmp_path / "plan.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
    assert b"<svg" in (tmp_path / "plan.svg").read_bytes()
    told = re.search("<title>(.*?)</title>", (tmp_path / "plan.svg").read_text(encoding="utf-8"))[1]
    assert "narrower is better" in told
    assert f"aria-label='{told}'" in (tmp_path / "plan.svg").read_text(encoding="utf-8")
    save(rw.plot_plan(plan), str(tmp_path / "said.svg"), words="a <b> & c")
    assert "<title>a &lt;b&gt; &amp; c</title>" in (tmp_path / "said.svg").read_text(encoding="utf-8")
    assert (tmp_path / "plan.png").read_bytes().startswith(b"\x89PNG\r\n")


@pytest.mark.parametrize("kind", ["svg", "png"])
def test_the_same_data_give_the_same_file(plan, tmp_path, kind):
    first, second, other = (tmp_path / f"{name}.{kind}" for name in ("first", "second", "other"))
    save(rw.plot_plan(plan), str(first))
    save(rw.plot_plan(plan), str(second))
    save(rw.plot_plan(dataclasses.replace(plan, recommendation="base")), str(other))
    assert first.read_bytes() == second.read_bytes()
    assert first.read_bytes() != other.read_bytes()


def test_no_global_state_is_touched(plan, estimates):
    import matplotlib.pyplot as plt

    before = plt.get_fignums()
    rw.plot_plan(plan)
    rw.plot_estimates(estimates)
    assert plt.get_fignums() == before


def test_without_matplotlib_the_extra_is_named(plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"ratewise\[plot\]"):
        rw.plot_plan(plan)
