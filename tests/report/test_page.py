"""The report page: its numbers, and nothing that came from outside unescaped."""

import dataclasses

import numpy as np
import pytest

import ratewise as rw
from ratewise.report.page import report_page


@pytest.fixture(scope="module")
def results():
    rng = np.random.default_rng(5)
    judge = rng.beta(3, 1, 600)
    human = (rng.random(600) < judge).astype(float)
    plan = rw.plan({"j": judge, "h": human}, weak="j", strong="h", weak_cost=0.02, strong_cost=1.0, budget=150)
    return plan, rw.estimate_mean(judge, np.where(np.arange(600) % 3 == 0, human, np.nan), 1 / 3)


def test_the_page_has_the_numbers_and_pictures_inline(results):
    plan, estimate = results
    page = report_page("Ours", plan, estimate, truth=0.7531)
    for number in (f"{estimate.value:.4f}", f"{estimate.low:.4f}", f"{estimate.high:.4f}", "95% interval", "0.7531"):
        assert number in page
    assert page.count("<svg") == 2
    assert "<script" not in page
    assert "src=" not in page


def test_words_from_outside_are_escaped(results):
    plan, estimate = results
    nasty = "<script>alert(1)</script>"
    page = report_page(
        nasty, dataclasses.replace(plan, reason=nasty, notes=(nasty,)), dataclasses.replace(estimate, method=nasty)
    )
    assert "<script" not in page
    assert page.count("&lt;script&gt;") == 5
