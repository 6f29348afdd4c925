"""The reliability picture of a trained rater: what it says beside what was found, on labels that were held out."""

from importlib.util import find_spec
from pathlib import Path

from ratewise.learn.trainer import Trained
from ratewise.report.pictures import ACCENT, INK, QUIET, figure, save

PICTURE = "reliability.svg"


def save_reliability(made: Trained) -> Path | None:
    """The picture in the rater's folder; None where there is no plot library or nothing was held out."""
    bins = made.card["held_out"]["reliability"]
    if not bins or find_spec("matplotlib") is None:
        return None
    drawn, axes = figure(width=4, height=4)
    axes.plot([0, 1], [0, 1], color=QUIET, linewidth=1)
    axes.plot([b["said"] for b in bins], [b["found"] for b in bins], marker="o", linewidth=1, color=ACCENT)
    axes.set(xlabel="probability that the rater says", ylabel="mean label", xlim=(0, 1), ylim=(0, 1))
    axes.set_title(f"{made.card['held_out']['items']:,} labels held out", loc="left", color=INK, fontsize=11)
    path = Path(made.folder) / PICTURE
    save(drawn, str(path))
    return path
