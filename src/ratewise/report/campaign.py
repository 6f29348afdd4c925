"""A campaign for people: its status in a terminal, its report as one HTML page, its story as a picture."""

import html
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ratewise.campaign import findings
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.engine import Paused
from ratewise.campaign.judges import judges_found
from ratewise.campaign.snapshot import Chapter, Snapshot
from ratewise.campaign.status import IF_YOU_LOOK, Status
from ratewise.core.estimate import Estimate
from ratewise.report import method, people, sections
from ratewise.report.page import answer, described, notes_html, page
from ratewise.report.pictures import ACCENT, INK, QUIET, figure
from ratewise.report.portrait import money_words, plot_money, portrait_parts, story_points
from ratewise.report.sentence import plain_answer
from ratewise.store.money import to_money

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POLICIES = {
    "start": "everyone rates", "base": "strong ratings alone", "random": "one rate for all",
    "active": "rate by uncertainty", "chain": "rates along the chain",
}  # fmt: skip
_BAR = 24


def beside_the_numbers(now: Snapshot) -> dict[str, Any]:
    """Notes that status, report and run show beside the numbers: the record's head, and what is worth knowing."""
    return {"head": now.head, "told": list(now.told), "seed": now.seed}


def look_text(now: Snapshot) -> RenderableType:
    """A look at a campaign, for a terminal."""
    return status_text(now.status, running=now.is_running, beside=beside_the_numbers(now))


def status_text(
    status: Status, *, running: bool | None = None, beside: Mapping[str, Any] | None = None
) -> RenderableType:
    """A few lines: money as a bar, questions, and the estimate that may be looked at as often as one likes."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")  # a head that is cut is no head
    state = status.ended or ("running" if running else "stopped; go on with `ratewise run`")
    grid.add_row("campaign", Text.assemble((status.name, "bold"), f"  {state}", (f"  {status.campaign}", "dim")))
    if status.waits_for is not None:
        grid.add_row("waits", Text(status.waits_for, style="yellow"))
    for line in status.servers:
        grid.add_row("judge", Text(line, style="yellow"))
    grid.add_row("money", _money(status))
    grid.add_row(
        "items", f"{status.looked:,} of {status.pool:,} looked at, in {_count(status.rounds, 'complete round')}"
    )
    grid.add_row("strong ratings", _ratings(status))
    if status.failed_calls:
        grid.add_row("failed calls", f"{status.failed_calls:,}, of all raters")
    for line in status.votes:
        grid.add_row("votes", line)
    e = status.lead
    if e is None:
        grid.add_row("estimate", "none before the first round is complete")
    else:
        grid.add_row("estimate", Text(f"{e.value:.4f}", style="bold"))
        grid.add_row(f"{e.level:.0%} interval", Text(_interval(e), style="bold"))
        grid.add_row("", Text(status.lead_words, style="dim"))
    if status.for_looks is not None:
        grid.add_row(IF_YOU_LOOK, Text(_interval(status.for_looks)))
    if e is not None and status.ended is None and status.final is not None:
        grid.add_row("final", Text(_interval(status.final)))
        grid.add_row("", Text("if it ended now, and nobody stops it on what they see", style="dim"))
    if status.expected_se is not None and status.ended is None:
        grid.add_row("at the end", f"standard error of about {status.expected_se:.4f}")
    if beside is None:
        return grid
    if beside["seed"] is not None:
        grid.add_row("seed", Text(beside["seed"]))
    grid.add_row("record", Text(beside["head"]))
    return Group(grid, *(Text(line, style="yellow") for line in beside["told"]))


def _money(status: Status) -> Text:
    if status.budget is None:
        return Text(f"{_amount(status.spent)} spent, {_amount(status.reserved)} promised; no limit")
    share = min(float((status.spent + status.reserved) / status.budget), 1.0)
    bar = "█" * round(share * _BAR)
    left = status.left if status.left is not None else Decimal(0)
    said = f" {_amount(status.spent)} of {_amount(status.budget)} spent"
    promised = f", {_amount(status.reserved)} promised" if status.reserved else ""
    return Text.assemble((bar, "green"), ("░" * (_BAR - len(bar)), "dim"), said, promised, f", {_amount(left)} left")


def _ratings(status: Status) -> str:
    said = [f"{status.labels:,} in"]
    if status.pending:
        said.append(f"{status.pending:,} asked for")
    if status.missing:
        said.append(f"{status.missing:,} will not come (counted at both ends of the scale)")
    return ", ".join(said)


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def _amount(amount: Decimal) -> str:
    return f"{amount:,.2f}" if amount == amount.quantize(Decimal("0.01")) else f"{amount:,f}"


def _interval(e: Estimate) -> str:
    return "none" if e.interval is None else f"{e.interval[0]:.4f} to {e.interval[1]:.4f}"


def ending_text(status: Status, reason: str, *, beside: Mapping[str, Any] | None = None) -> RenderableType:
    """The end of a run, for a terminal."""
    lines: list[RenderableType] = [status_text(status, beside=beside)]
    if reason == Paused.STOPPED:
        lines.append(Text("stopped; everything is kept: `ratewise run` goes on", style="yellow"))
    if reason == Paused.WAITING:
        lines.append(Text("questions are open; when people have answered, `ratewise run` goes on", style="yellow"))
    elif reason.startswith("waiting for"):
        lines.append(Text(f"{reason}; fill in what you can, then `ratewise run` goes on", style="yellow"))
    return Group(*lines)


# The report


def campaign_page(campaign: Campaign, *, truth: float | None = None, slices: Sequence[str] | None = None) -> str:
    """The whole report as one self-contained page; every word that came from outside is escaped.

    `slices` names columns of groups to estimate each; if absent, the features that are words are taken.
    """
    with campaign.look() as now:
        return snapshot_page(now, truth=truth, slices=slices)


def snapshot_page(
    now: Snapshot, *, truth: float | None = None, slices: Sequence[str] | None = None, made: datetime | None = None
) -> str:
    """The report of one moment, made now if nothing else is said."""
    status, estimate, story, found = now.status, now.status.lead, now.story, now.diagnosis
    parts = [f"<h1>{html.escape(status.name)}</h1>", f"<p class='plain'>{html.escape(plain_answer(now))}</p>"]
    parts.append("<p>No round is complete yet.</p>" if estimate is None else answer(estimate, truth))
    parts.append(_both(status))
    parts.append(f"<p>{html.escape(_in_words(status))}</p>")
    parts.append(sections.facts(now.spec, datetime.now(UTC) if made is None else made, campaign=status.campaign))
    parts += ["<h2>Who rates</h2>", sections.raters(now.spec.raters)]
    if now.worth:
        parts.append("<ul>" + "".join(f"<li>{html.escape(word)}</li>" for word in now.worth) + "</ul>")
    if judges := judges_found(now):
        parts.append(sections.judges(judges))
    if story:
        points = story_points(now)
        parts += [
            "<h2>Round by round: interval over money</h2>",
            described(lambda: plot_money(points, truth=truth), money_words(now, points)),
            _rounds(story),
            "<p>Intervals in this picture and table hold all at once, so that one may look after every round.</p>",
        ]
    if saved := method.savings(now):
        parts += ["<h2>What was saved</h2>", *(f"<p>{html.escape(line)}</p>" for line in saved)]
    parts += portrait_parts(now)
    if found is not None:
        parts.append("<h2>What the labels say</h2>")
        parts.append("<ul>" + "".join(f"<li>{html.escape(word)}</li>" for word in found.words()) + "</ul>")
    parts += _found(now, slices)
    parts += _people(now)
    parts += ["<h2>What is missing</h2>", f"<p>{html.escape(method.missing(now))}</p>"]
    for title, lines in (
        ("Method", method.method(now)), ("Assumptions", method.assumptions(now)), ("Limits", method.limitations(now))
    ):  # fmt: skip
        parts += [f"<h2>{title}</h2>", _list(lines)]
    told = [f"{at}: {text}" for at, text in now.notes]
    edited = [line for line in now.told if line not in told]
    parts += notes_html((*(() if estimate is None else estimate.notes), *edited, *told))
    parts += _record(now)
    return page(status.name, parts)


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{html.escape(line)}</li>" for line in lines) + "</ul>"


def _people(now: Snapshot) -> list[str]:
    """Who has labelled, and how far they agree; nothing where no people did."""
    rows, said = people.people_of(now)
    return ["<h2>People and agreement</h2>", sections.table(people.HEADS, rows), _list(said)] if rows else []


def _found(now: Snapshot, columns: Sequence[str] | None) -> list[str]:
    """The sections on slices, differences and more money, as far as there are any."""
    spec, parts = now.spec, []
    if groups := findings.slices(now, columns):
        parts += ["<h2>Slices</h2>", *sections.slice_tables(groups, spec.level)]
        parts.append("<p>Each interval holds for its slice alone; of twenty slices, one may be off.</p>")
    if (apart := findings.differences(now)) and spec.weak is not None:
        parts.append(f"<h2>Where {html.escape(spec.weak.name)} and {html.escape(spec.strong.name)} differ most</h2>")
        parts.append(sections.difference_table(apart, spec.weak.name, spec.strong.name))
    if more := findings.outlook(now):
        parts += ["<h2>What more money would bring</h2>", sections.outlook_table(more, spec.scale, spec.level)]
        lost = " As large a share of the answers will not come, which no money mends." if now.status.missing else ""
        parts.append(f"<p>Expected if it is spent in the same way; no item is rated twice.{lost}</p>")
    return parts


def _both(status: Status) -> str:
    """What the interval that leads is good for, and the other one by the name that it has everywhere."""
    if status.lead is None:
        return ""
    other = status.for_looks
    more = "" if other is None else f" {IF_YOU_LOOK.capitalize()}: {_interval(other)}."
    return f"<p>{status.lead_words.capitalize()}.{more}</p>"


def _record(now: Snapshot) -> list[str]:
    """What to keep of this page: with the head, anyone finds out whether the store was changed later."""
    seed = "" if now.seed is None else f"<p>Seed: <code>{html.escape(now.seed)}</code></p>"
    command = html.escape(f"ratewise verify {now.spec.path.name} --head {now.head}")
    commands = html.escape("\n".join(method.again(now)))
    return ["<h2>Record</h2>", seed, f"<p>Head of the record: <code>{now.head}</code>. To check that the store still "
            f"holds what this page was made from: <code>{command}</code></p>", "<h2>Do it again</h2>",
            f"<p>{html.escape(method.seed_words(now))} These commands check it, and compute the estimate anew from the "
            f"exported table:</p><pre>{commands}</pre>"]  # fmt: skip


def _in_words(status: Status) -> str:
    left = "" if status.left is None else f", {_amount(status.left)} left"
    missing = (
        f" {_count(status.missing, 'strong rating')} will not come: counted at both ends of the scale."
        if status.missing
        else ""
    )
    failed = f" {_count(status.failed_calls, 'failed call')} among what was paid." * bool(status.failed_calls)
    state = status.ended if status.ended is not None else "under way"
    return (
        f"{_amount(status.spent)} spent{left}; {status.looked:,} of {status.pool:,} items looked at, {status.labels:,} "
        f"strong ratings; {state}.{missing}{failed}"
    )


def _rounds(story: Sequence[Chapter]) -> str:
    names = ("round", "how", "items", "strong ratings", "mean rate", "spent so far", "estimate", "interval")
    rows = [
        (
            f"{c.number}", _how(c), f"{c.items:,}", f"{c.labels:,}", f"{c.mean_rate:.3f}",
            _amount(to_money(c.spent)), "–" if c.estimate is None else f"{c.estimate.value:.4f}",
            "–" if c.estimate is None else _interval(c.estimate),
        )
        for c in story
    ]  # fmt: skip
    return sections.table(names, rows)


def _how(chapter: Chapter) -> str:
    return _POLICIES[chapter.policy] + (", by features alone" if chapter.by_features else "")


def plot_story(story: Sequence[Chapter], *, truth: float | None = None) -> "Figure":
    """The estimate after each round against the money spent, with intervals that hold all at once."""
    made, axes = figure(height=3.0)
    known = [(float(to_money(c.spent)), c.estimate) for c in story if c.estimate is not None]
    for x, e in known:
        if e.interval is not None:
            axes.plot((x, x), e.interval, color=ACCENT, linewidth=4, solid_capstyle="butt", alpha=0.8)
    axes.plot([x for x, _ in known], [e.value for _, e in known], marker="o", color=INK, linewidth=1)
    if truth is not None:
        axes.axhline(truth, color=QUIET, linestyle="--", linewidth=1, zorder=0)
        axes.annotate(" truth", (0.0, truth), xycoords=("axes fraction", "data"), va="bottom", color=INK)
    axes.set_xlim(left=0)
    axes.set_xlabel("money spent")
    axes.set_ylabel("mean strong rating")
    axes.set_title(
        "Estimate after each round, with intervals that hold all at once", loc="left", fontsize=11, color=INK
    )
    return made
