"""Leaderboards as text and picture."""

import io

import numpy as np
import pytest
from rich.console import Console

from ratewise.questions.leaderboard import leaderboard
from ratewise.report.pictures import plot_leaderboard
from ratewise.report.terminal import text_of


@pytest.fixture(scope="module")
def board():
    rng = np.random.default_rng(3)
    strength = np.array([0.0, 0.8, 1.6])
    a, b = rng.integers(0, 3, 900), rng.integers(1, 3, 900)
    b = (a + b) % 3
    won = rng.random(900) < 1 / (1 + np.exp(strength[b] - strength[a]))
    names = np.array(["weak [bold]", "middle", "strong"], dtype=object)
    return leaderboard({"model_a": names[a], "model_b": names[b], "vote": won.astype(float)}, strong="vote")


def test_text_has_every_model_best_first_and_markup_stays_text(board):
    console = Console(file=io.StringIO(), width=120, highlight=False)
    console.print(text_of(board))
    text = console.file.getvalue()
    assert text.index("strong") < text.index("middle") < text.index("weak [bold]")


@pytest.mark.parametrize("width", [60, 80])
def test_a_narrow_terminal_shows_every_model_with_its_whole_interval(board, width):
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(text_of(board))
    lines = console.file.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    for m in board.rated:
        line = next(line for line in lines if m.name in line)
        for cell in (f"{m.rating:.0f}", f"{m.low:.0f} to {m.high:.0f}", f"{m.rank_low}–{m.rank_high}"):
            assert cell in line


def test_picture_has_a_row_for_each(board):
    figure = plot_leaderboard(board)
    labels = {label.get_text() for label in figure.axes[0].get_yticklabels()}
    assert {"strong", "middle"} <= {name.split("  ")[0].strip() for name in labels} or len(labels) >= 3
