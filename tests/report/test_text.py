"""Results as text: the numbers, the recommendation's mark, and nothing cut off."""

import dataclasses
import io
import re

import numpy as np
import pytest
from rich.console import Console
from studies.worlds import bernoulli

import ratewise as rw
from ratewise.report.terminal import text_of


def shown(text, *, width=120):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(text)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def plans():
    """One plan for each recommendation."""
    rng = np.random.default_rng(1009)
    world = bernoulli(5000, mean=0.7, weak_error=0.12, error_variance=0.04, rng=rng)
    columns = {"g": world.weak, "noise": rng.random(5000), "h": world.strong, "u": world.error, "flat": np.ones(5000)}
    goal = {"strong": "h", "weak_cost": 0.03, "strong_cost": 2.5, "budget": 12_345.6}
    return {
        "base": rw.plan(columns, weak="noise", **goal),
        "random": rw.plan(columns, weak="g", uncertainty="flat", **goal),
        "active": rw.plan(columns, weak="g", uncertainty="u", **goal),
    }


NAMES = ["base", "random", "active"]


def line_of(text, name):
    (line,) = [line for line in text.splitlines() if line.lstrip("▶ ").startswith(f"{name} ")]
    return line


@pytest.mark.parametrize("name", NAMES)
def test_a_plan_has_its_numbers_and_one_mark(plans, name):
    plan = plans[name]
    assert plan.recommendation == name
    text = shown(text_of(plan))
    for row, policy in plan.policies.items():
        line = line_of(text, row)
        assert line.startswith("▶" if row == name else "  ")
        for number in (
            f"{policy.items:,.0f}", f"{policy.strong_labels:,.0f}", f"{policy.mean_rate:.3f}", f"{policy.spend:,.2f}",
            f"{policy.expected_se:.4f}", f"± {1.96 * policy.expected_se:.4f}", f"{policy.error_ratio:.0%}",
        ):  # fmt: skip
            assert number in line
    assert text.count("▶") == 1
    assert plan.reason in " ".join(text.split())
    assert "95%" in text
    assert "interval" in text


def test_another_level_is_another_interval(plans):
    """The 90 % interval is ± 1.645 standard errors, not ± 1.96 under another name."""
    plan = plans["active"]
    text = shown(text_of(dataclasses.replace(plan, basis=plan.basis | {"level": 0.9})))
    assert "90%" in text
    for name, policy in plan.policies.items():
        assert f"± {1.6449 * policy.expected_se:.4f}" in line_of(text, name)


def test_notes_stand_below(plans):
    noted = dataclasses.replace(plans["active"], notes=("one thing", "another thing"))
    text = shown(text_of(noted))
    assert text.splitlines()[-2:] == ["note: one thing", "note: another thing"]
    assert "note:" not in shown(text_of(dataclasses.replace(noted, notes=())))


@pytest.mark.parametrize("width", [80, 100, 120])
def test_a_terminal_loses_neither_names_nor_numbers(plans, width):
    plan = plans["active"]
    text = shown(text_of(plan), width=width)
    assert max(map(len, text.splitlines())) <= width
    table, _, reason = text.partition("Buy weak ratings")
    assert reason
    assert table.count("▶") == 1
    for name, policy in plan.policies.items():
        assert name in table
        for number in (f"{policy.expected_se:.4f}", f"{1.96 * policy.expected_se:.4f}", f"{policy.error_ratio:.0%}"):
            assert number in table


def test_a_policy_without_a_floor_that_explodes_can_be_read():
    """û = 0 where the weak rater is wrong: the error is astronomical, its printing must not be."""
    rng = np.random.default_rng(1013)
    g = np.where(rng.random(400) < 0.3, 1.0, rng.beta(3, 1, 400))
    h = (rng.random(400) < 0.9 * g).astype(float)
    plan = rw.plan({"g": g, "h": h}, weak="g", strong="h", weak_cost=0.01, strong_cost=1, budget=100, floor=0.0)
    text = shown(text_of(plan))
    assert all(f"{plan.policies[name].expected_se:.4f}" in line_of(text, name) for name in ("base", "random"))


@pytest.fixture(scope="module")
def estimate():
    rng = np.random.default_rng(1019)
    g = rng.normal(3, 1, 2500)
    h = np.where(rng.random(2500) < 0.5, g + rng.normal(0, 0.4, 2500), np.nan)
    return rw.estimate_mean(g, h, 0.5, level=0.9)


def test_an_estimate_has_its_numbers(estimate):
    text = shown(text_of(dataclasses.replace(estimate, spend=4321.5)))
    for number in (
        f"{estimate.value:.4f}", f"{estimate.low:.4f} to {estimate.high:.4f}", "90% interval",
        f"{estimate.standard_error:.4f}", f"{estimate.labels:,} strong ratings on 2,500 items", "4,321.50",
        "population", estimate.method, *estimate.notes,
    ):  # fmt: skip
        assert number in text
    assert estimate.labels > 1000
    assert "spent" not in shown(text_of(estimate))


def test_no_interval_is_said_and_not_zero():
    alone = rw.estimate_mean([3.0, 5.0, 4.0], [3.5, np.nan, np.nan], 0.5, interval="t")
    text = shown(text_of(alone))
    assert alone.interval is None
    assert [line.split() for line in text.splitlines() if line.startswith("interval")] == [["interval", "none"]]
    assert "standard error" not in text
    assert "at least two" in text


def test_a_draw_has_its_numbers(plans):
    pool = {"g": np.tile([0.0, 1.0], 700), "u": np.linspace(0.01, 0.6, 1400)}
    drawn = rw.draw_pool(pool, plans["active"].transfer, seed=3)
    text = " ".join(shown(text_of(drawn)).split())
    assert f"{int(drawn.selected.sum()):,} of 1,400 items" in text
    assert f"{drawn.rates.mean():.3f}" in text
    assert f"{drawn.spend:,.2f}" in text
    assert all(note in text for note in drawn.notes)
    assert drawn.drift.drifted


@pytest.mark.parametrize("goal", [{"budget": 300}, {"target_se": 0.02}])
@pytest.mark.parametrize("pool_size", [None, 2000])
def test_the_last_column_and_the_sentence_say_one_thing(goal, pool_size):
    """Also where a pool ends first, and for a precision: there the column is about cost."""
    world = bernoulli(3000, mean=0.7, weak_error=0.1, error_variance=0.02, rng=np.random.default_rng(1021))
    plan = rw.plan(
        {"g": world.weak, "h": world.strong, "u": world.error}, weak="g", strong="h", uncertainty="u", weak_cost=0.01,
        strong_cost=1, pool_size=pool_size, estimand="population" if pool_size is None else "pool", **goal,
    )  # fmt: skip
    text = " ".join(shown(text_of(plan)).split())
    share = int(re.search(rf"▶ {plan.recommendation} .*? (\d+)% ", text.partition("base:")[0])[1])
    less = int(re.search(r"(\d+)% less", text)[1])
    assert abs(share + less - 100) <= 1
    assert ("cost vs base" if "target_se" in goal else "sq. error vs base") in text


def test_the_sentence_is_for_people():
    rng = np.random.default_rng(1023)
    world = bernoulli(3000, mean=0.7, weak_error=0.1, error_variance=0.02, rng=rng)
    prices = {"weak": "g", "strong": "h", "weak_cost": 0.01, "strong_cost": 1, "budget": 300}
    coins = rw.plan({"g": world.weak, "h": world.strong}, **prices)
    best, base = (coins.policies[name].within(0.95) for name in (coins.recommendation, "base"))
    assert f"±{100 * best:.1f} points instead of ±{100 * base:.1f} for the same 300" in coins.reason
    h = rng.normal(50, 10, 800)
    scores = rw.plan({"g": h + rng.normal(0, 4, 800), "h": h}, **prices)
    best, base = (1.959964 * scores.policies[name].expected_se for name in (scores.recommendation, "base"))
    assert f"±{best:.3g} instead of ±{base:.3g} for the same 300" in scores.reason
