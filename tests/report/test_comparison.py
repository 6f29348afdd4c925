"""Comparisons as text and picture: every number there, and who is ahead."""

import io

from rich.console import Console

from ratewise.questions.comparison import compare, compare_many
from ratewise.report.pictures import plot_comparison
from ratewise.report.terminal import text_of

from ..worlds import SYSTEMS, many_systems, two_systems


def printed(text):
    console = Console(file=io.StringIO(), width=120, highlight=False)
    console.print(text)
    return console.file.getvalue()


def test_two_systems_with_their_difference():
    found = compare(two_systems(), weak=("g_a", "g_b"), strong=("h_a", "h_b"))
    text = printed(text_of(found))
    assert f"{found.difference.value:.4f}" in text
    assert f"{found.difference.interval[0]:.4f}" in text


def test_many_systems_best_first_and_in_a_picture():
    columns = {"weak": {n: f"g_{n}" for n in SYSTEMS}, "strong": {n: f"h_{n}" for n in SYSTEMS}}
    found = compare_many(many_systems(), **columns, baseline="old")
    text = printed(text_of(found))
    places = [text.index(f"\n{name}") if f"\n{name}" in text else text.index(name) for name in ("new", "mini")]
    assert places[0] < places[1]
    figure = plot_comparison(found)
    assert {label.get_text() for label in figure.axes[0].get_yticklabels()} >= {"new", "mini", "twin"}
