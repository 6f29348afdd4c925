"""The report of a campaign: one list of sections, which is a page of HTML or of Markdown."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ratewise.campaign import findings
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.judges import judges_found
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.status import ends_of
from ratewise.core.document import (
    Bullets,
    Code,
    Column,
    DataTable,
    Fact,
    FactTable,
    Heading,
    Part,
    Picture,
    Sentence,
    as_markdown,
    grid_of,
    listed,
)
from ratewise.core.estimate import Estimate
from ratewise.questions.goal import within
from ratewise.raters.kind import RaterSpec
from ratewise.raters.people import PeopleSettings
from ratewise.report import words
from ratewise.report.page import page, svg_of
from ratewise.report.pictures import plot_calibration, plot_money, plot_rates
from ratewise.store.money import amount, to_money

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_POLICIES = {
    "start": "everyone rates", "base": "strong ratings alone", "random": "one rate for all",
    "active": "rate by uncertainty", "chain": "rates along the chain",
}  # fmt: skip
_KINDS = {
    "column": "a column of the table", "python": "a Python function", "command": "a program", "people": "people",
    "recorded": "a recording", "sheet": "people, in sheets", "llm": "a language model",
}  # fmt: skip
_LONGEST = 160  # signs of an item's text that are shown


def campaign_page(campaign: Campaign, *, truth: float | None = None, slices: Sequence[str] | None = None) -> str:
    """The whole report as one self-contained page; every word that came from outside is escaped.

    `slices` names columns of groups to estimate each; if absent, the features that are words are taken.
    """
    with campaign.look() as now:
        return snapshot_page(now, truth=truth, slices=slices)


def snapshot_page(
    now: Snapshot, *, truth: float | None = None, slices: Sequence[str] | None = None, made: datetime | None = None
) -> str:
    """The report of one moment as a page, made now if nothing else is said."""
    return page(now.status.name, report(now, truth=truth, slices=slices, made=made))


def snapshot_markdown(now: Snapshot, *, slices: Sequence[str] | None = None) -> str:
    """The report of one moment as Markdown, for a pull request or a wiki."""
    return as_markdown(report(now, slices=slices))


def report(
    now: Snapshot, *, truth: float | None = None, slices: Sequence[str] | None = None, made: datetime | None = None
) -> list[Part]:
    """All sections of the report, from the answer to how to do it again."""
    estimate, (people, agreed) = now.status.lead, words.people_of(now)
    return [
        Heading(now.status.name, 1), Sentence(words.plain_answer(now), "answer"),
        *([Sentence("No round is complete yet.")] if estimate is None else _answer(estimate, truth)),
        _facts(now, datetime.now(UTC) if made is None else made),
        *_raters(now), *_rounds(now, truth),
        *_titled("What was saved", [Sentence(line) for line in words.savings(now)]),
        *_pictures(now),
        *_titled("What the labels say", [] if now.diagnosis is None else listed(now.diagnosis.words())),
        *_slices(now, slices), *_differences(now), *_outlook(now),
        *_titled("People and agreement", [grid_of(words.PEOPLE, people), *listed(agreed)] if people else []),
        Heading("What is missing"), Sentence(words.missing(now)),
        Heading("Method"), Bullets(words.method(now)),
        Heading("Assumptions"), Bullets(words.assumptions(now)),
        Heading("Limits"), Bullets(words.limitations(now)),
        *_notes(now), *_record(now),
    ]  # fmt: skip


def _titled(title: str, parts: list[Part]) -> list[Part]:
    """A section that is left out where it is empty."""
    return [Heading(title), *parts] if parts else []


def _answer(e: Estimate, truth: float | None) -> list[Part]:
    """The estimate in large letters, and what it rests on."""
    interval = "no interval" if e.interval is None else f"{e.level:.0%} interval {ends_of(e)}"
    spent = "" if e.spend is None else f", {e.spend:,.2f} spent"
    known = "" if truth is None else f" The truth is {truth:.4f}."
    rests = f"from {e.labels:,} strong ratings on {e.items:,} items{spent}; {e.method}.{known}"
    return [
        Sentence(f", {interval}", "large", f"{e.value:.4f}"),
        Sentence(f"Mean strong rating of the {e.estimand}, {rests}"),
    ]


def _facts(now: Snapshot, made: datetime) -> FactTable:
    spec, goal, scale = now.spec, now.spec.goal, now.spec.scale
    goals = [f"budget {goal.budget:f}"] if goal.budget is not None else []
    goals += [f"standard error {goal.target_se:g}"] if goal.target_se is not None else []
    if isinstance(goal.within, dict):
        goals.append(", ".join(f"{name} ±{half:g}" for name, half in goal.within.items()))
    else:
        goals += [f"±{goal.within:g}"] if goal.within is not None else []
    goals += [f"decide {goal.decide}"] if goal.decide is not None else []
    rating = scale.kind + (f", {scale.low:g} to {scale.high:g}" if scale.kind in {"likert", "score"} else "")
    status = now.status
    interval: list[Fact] = [] if status.lead is None else [("Interval", status.lead_words), *status.other_intervals()]
    told = [("Campaign", status.state(now.is_running)), *status.so_far(), *interval]
    return FactTable([
        *((name.capitalize(), text) for name, text, *_ in told),
        ("Date", f"{made:%d %B %Y, %H:%M} UTC"), ("Table", spec.items.table), ("Goal", " or ".join(goals)),
        ("Rating", rating), ("Seed of the draws", f"{spec.seed}" if isinstance(spec.seed, int) else "kept secret"),
        ("Id", status.campaign),
    ])  # fmt: skip


def _raters(now: Snapshot) -> list[Part]:
    """The raters and their prices; programs' arguments are not shown, since they may hold keys."""
    *others, last = now.spec.raters
    rows = [(one.name, _KINDS.get(one.kind, one.kind), _price(one), "predicts") for one in others]
    rows.append((last.name, _KINDS.get(last.kind, last.kind), _price(last), "believed"))
    table = grid_of(("rater", "is", "price of a rating", "role"), rows)
    judged = [sentence for judge in judges_found(now) for sentence in judge.sentences]
    return [Heading("Who rates"), table, *listed(now.worth), *listed(judged)]


def _price(rater: RaterSpec) -> str:
    if rater.price is None:
        return "by tokens" if rater.price_column is None else f"by item, column {rater.price_column}"
    if isinstance(rater, PeopleSettings) and rater.per_hour is not None:
        return f"{rater.per_hour:f} an hour, at most {rater.max_price:f} an item"
    most = f", at most {rater.max_price:f}" if rater.max_price is not None and rater.max_price != rater.price else ""
    return f"{rater.price:f}{most}"


def _rounds(now: Snapshot, truth: float | None) -> list[Part]:
    if not now.story:
        return []
    titles = ("round", "how", "items", "strong ratings", "mean rate", "spent so far", "estimate", "interval")
    rows = [
        (
            f"{c.number}", _POLICIES[c.policy] + (", by features alone" if c.by_features else ""), f"{c.items:,}",
            f"{c.labels:,}", f"{c.mean_rate:.3f}", amount(to_money(c.spent)),
            "–" if c.estimate is None else f"{c.estimate.value:.4f}",
            "–" if c.estimate is None else ends_of(c.estimate),
        )
        for c in now.story
    ]  # fmt: skip
    points = words.story_points(now)
    return [
        Heading("Round by round: interval over money"),
        _picture(lambda: plot_money(points, truth=truth), words.money_words(now, points)),
        grid_of(titles, rows),
        Sentence("Intervals in this picture and table hold all at once, so that one may look after every round."),
    ]


def _picture(plot: "Callable[[], Figure]", said: str) -> Picture:
    return Picture(lambda: svg_of(plot), said)


def _pictures(now: Snapshot) -> list[Part]:
    """How far the weak rater can be trusted, and where the strong ratings went."""
    parts: list[Part] = []
    if (bins := findings.calibration(now)) and now.spec.weak is not None:
        name = now.spec.weak.name
        drawn = _picture(lambda: plot_calibration(bins, name), words.calibration_words(now, bins))
        parts += [Heading(f"How far {name} can be trusted"), drawn]
    if len(rates := findings.rates_by_uncertainty(now)) > 1:
        drawn = _picture(lambda: plot_rates(rates), words.rates_words(rates))
        parts += [Heading("Whom the strong ratings went to"), drawn]
    return parts


def _slices(now: Snapshot, columns: Sequence[str] | None) -> list[Part]:
    found, parts = findings.slices(now, columns), list[Part]()
    for column in dict.fromkeys(one.column for one in found):
        titles = (column, "items", "strong ratings", "estimate", f"{now.spec.level:.0%} interval")
        rows = [
            (one.name or "(empty)", f"{one.items:,}", f"{one.labels:,}", *_slice_told(one.estimate))
            for one in found
            if one.column == column
        ]
        parts += [Heading(f"By {column}", 3), grid_of(titles, rows)]
    if parts:
        parts.append(Sentence("Each interval holds for its slice alone; of twenty slices, one may be off."))
    return _titled("Slices", parts)


def _slice_told(e: Estimate | None) -> tuple[str, str]:
    if e is None:
        return "–", "too few strong ratings"
    return f"{e.value:.4f}", "–" if e.interval is None else ends_of(e)


def _differences(now: Snapshot) -> list[Part]:
    """The items with what both said, and below each its text."""
    weak, strong, found = now.spec.weak, now.spec.strong, findings.differences(now)
    if weak is None or not found:
        return []
    table = DataTable([Column("item", "name"), Column(weak.name), Column(strong.name)])
    for one in found:
        text = " ".join(one.text.split())
        table.add(
            one.id, f"{one.weak:.4g}", f"{one.strong:.4g}",
            below=text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…",
        )  # fmt: skip
    return [Heading(f"Where {weak.name} and {strong.name} differ most"), table]


def _outlook(now: Snapshot) -> list[Part]:
    points = now.spec.scale.kind in {"binary", "pairwise"}
    rows = [
        (
            "spent so far" if one.times == 1 else f"{one.times:g} times as much", f"{one.spend:,.2f}",
            within(one.half_width, points=points),
        )
        for one in findings.outlook(now)
    ]  # fmt: skip
    if not rows:
        return []
    lost = " As large a share of the answers will not come, which no money mends." if now.status.missing else ""
    table = grid_of(("money", "in all", f"{now.spec.level:.0%} interval"), rows)
    said = Sentence(f"Expected if it is spent in the same way; no item is rated twice.{lost}")
    return [Heading("What more money would bring"), table, said]


def _notes(now: Snapshot) -> list[Part]:
    told = [f"{at}: {text}" for at, text in now.notes]
    edited = [line for line in now.told if line not in told]
    own = () if now.status.lead is None else now.status.lead.notes
    return [Sentence(note, "note") for note in (*own, *edited, *told)]


def _record(now: Snapshot) -> list[Part]:
    """What to keep of this page: with the head, anyone finds out whether the store was changed later."""
    again = "These commands check it, and compute the estimate anew from the exported table:"
    command = f"ratewise verify {now.spec.path.name} --head {now.head}"
    return [
        Heading("Record"), *([] if now.seed is None else [Sentence("Seed:", code=now.seed)]),
        Sentence("Head of the record:", code=now.head),
        Sentence("To check that the store still holds what this page was made from:", code=command),
        Heading("Do it again"),
        Sentence(f"{words.seed_words(now)} {again}"),
        Code("\n".join(words.again(now))),
    ]  # fmt: skip
