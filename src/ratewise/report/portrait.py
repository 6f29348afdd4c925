"""Pictures of a campaign that are described in words: intervals over money, calibration, rates against uncertainty."""

import html
from collections.abc import Sequence
from decimal import Decimal
from typing import TYPE_CHECKING

from ratewise.campaign.annotators import human_only
from ratewise.campaign.findings import Bin, calibration, rates_by_uncertainty
from ratewise.campaign.snapshot import Snapshot
from ratewise.core.estimate import Estimate
from ratewise.report.page import described
from ratewise.report.pictures import ACCENT, INK, QUIET, figure, plain_name
from ratewise.report.sentence import in_units, money
from ratewise.store.money import to_money

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Point = tuple[float, Estimate | None, Estimate | None]  # (money, the estimate, from people's answers alone)


def story_points(now: Snapshot) -> list[Point]:
    """After each round: the money, the estimate, and what the strong ratings alone say."""
    return [
        (float(to_money(chapter.spent)), chapter.estimate, human_only(closed.history, now))
        for chapter, closed in zip(now.story, now.reader.closed, strict=True)
    ]


def plot_money(points: Sequence[Point], *, truth: float | None = None) -> "Figure":
    """The interval after each round as a band, and that of the strong ratings alone between dashed lines."""
    made, axes = figure(height=3.2)
    known = [(x, e.value, *e.interval) for x, e, _ in points if e is not None and e.interval is not None]
    alone = [(x, e.value, *e.interval) for x, _, e in points if e is not None and e.interval is not None]
    if known:
        x, value, low, high = (list(one) for one in zip(*known, strict=True))
        axes.fill_between(x, low, high, color=ACCENT, alpha=0.25, lw=0)
        if len(x) == 1:  # a band of one round has no width
            axes.vlines(x, low, high, color=ACCENT, linewidth=2)
        axes.plot(x, value, marker="o", color=ACCENT, linewidth=2, label="estimate")
    if alone:
        x, value, low, high = (list(one) for one in zip(*alone, strict=True))
        for end in (low, high):
            axes.plot(x, end, color=INK, linestyle=":", linewidth=1)
        label = "strong ratings alone"
        axes.plot(x, value, marker="s", markersize=4, color=INK, linestyle="--", linewidth=1, label=label)
    if truth is not None:
        axes.axhline(truth, color=QUIET, linestyle="-.", linewidth=1, zorder=0)
        axes.annotate(" truth", (0.0, truth), xycoords=("axes fraction", "data"), va="bottom", color=INK)
    axes.set_xlim(left=0)
    axes.set_xlabel("money spent")
    axes.set_ylabel("mean strong rating")
    if known or alone:
        axes.legend(frameon=False, fontsize=9)
    return made


def money_words(now: Snapshot, points: Sequence[Point]) -> str:
    """What the picture of intervals over money shows, for those who do not see it."""
    known = [(x, e) for x, e, _ in points if e is not None and e.interval is not None]
    if not known:
        return "The first round is not complete, so there is no interval yet."
    (first, begun), (last, ended) = known[0], known[-1]
    said = [f"After {_money(now, first)} the interval was {_ends(now, begun)}"]
    if len(known) > 1:
        said.append(f"after {_money(now, last)} it is {_ends(now, ended)}")
    alone = points[-1][2]
    beside = ""
    if alone is not None and alone.interval is not None:
        beside = f" The strong ratings alone, without the weak rater, give {_ends(now, alone)} (dashed)."
    return f"{', and '.join(said)}; the band holds at every look.{beside}"


def plot_calibration(bins: Sequence[Bin], weak: str) -> "Figure":
    """Mean strong rating over the weak rating; on the grey line a weak rating means what it says."""
    made, axes = figure(width=5.0, height=3.4)
    ends = [min(b.x for b in bins), max(b.x for b in bins)]
    axes.plot(ends, ends, color=QUIET, linewidth=1, linestyle="--")
    for b in bins:
        if b.low is not None and b.high is not None:
            axes.plot((b.x, b.x), (b.low, b.high), color=INK, linewidth=1.5)
    axes.plot([b.x for b in bins], [b.y for b in bins], marker="o", color=ACCENT, linewidth=1.5)
    axes.set_xlabel(f"weak rating ({plain_name(weak)})")
    axes.set_ylabel("mean strong rating")
    return made


def calibration_words(now: Snapshot, bins: Sequence[Bin]) -> str:
    """How far the weak rating means what it says."""
    low, high = bins[0], bins[-1]
    span = f"Where {_name(now)} says about {low.x:.2f}, the strong rating is {in_units(now.spec, low.y)} on average"
    far = f"; where it says about {high.x:.2f}, {in_units(now.spec, high.y)}" if len(bins) > 1 else ""
    miss = max(bins, key=lambda b: abs(b.y - b.x))
    off = f" It is furthest off near {miss.x:.2f}, by {abs(miss.y - miss.x):.2f}." if _on_scale(now, bins) else ""
    return f"{span}{far}. Bars are 95 % intervals; on the dashed line a weak rating means what it says.{off}"


def plot_rates(bins: Sequence[Bin]) -> "Figure":
    """Mean rate over the error that was expected."""
    made, axes = figure(width=5.0, height=3.0)
    axes.plot([b.x for b in bins], [b.y for b in bins], marker="o", color=ACCENT, linewidth=1.5)
    axes.set_ylim(0.0, max(1.05 * max(b.y for b in bins), 0.05))
    axes.set_xlabel("expected error of the learned rating")
    axes.set_ylabel("mean rate of strong ratings")
    return made


def rates_words(bins: Sequence[Bin]) -> str:
    """Whom the strong ratings went to."""
    low, high = bins[0], bins[-1]
    return (
        f"Of the items whose rating was easiest to predict (expected error {low.x:.2f}), {low.y:.0%} were asked about; "
        f"of the hardest ones ({high.x:.2f}), {high.y:.0%}. Each answer counts by one over its rate, so nothing is "
        "biased by this."
    )


def portrait_parts(now: Snapshot) -> list[str]:
    """The sections on calibration and on rates, as HTML, as far as there are any."""
    parts = []
    if (bins := calibration(now)) and now.spec.weak is not None:
        name = now.spec.weak.name
        parts += [f"<h2>How far {html.escape(name)} can be trusted</h2>"]
        parts.append(described(lambda: plot_calibration(bins, name), calibration_words(now, bins)))
    if len(rates := rates_by_uncertainty(now)) > 1:
        parts += ["<h2>Whom the strong ratings went to</h2>", described(lambda: plot_rates(rates), rates_words(rates))]
    return parts


def _on_scale(now: Snapshot, bins: Sequence[Bin]) -> bool:
    return all(now.spec.scale.low <= b.x <= now.spec.scale.high for b in bins)


def _name(now: Snapshot) -> str:
    assert now.spec.weak is not None
    return now.spec.weak.name


def _money(now: Snapshot, amount: float) -> str:
    return money(now.spec, Decimal(str(round(amount, 2))))


def _ends(now: Snapshot, e: Estimate) -> str:
    assert e.interval is not None
    return f"{in_units(now.spec, e.interval[0])} to {in_units(now.spec, e.interval[1])}"
