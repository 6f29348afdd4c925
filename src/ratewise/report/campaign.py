"""The report of a campaign: one list of sections, which is a page of HTML or of Markdown."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from decimal import Decimal

from ratewise.campaign import findings
from ratewise.campaign.annotators import remarks_found
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.judges import judges_found
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.spec import Spec
from ratewise.campaign.status import IF_YOU_LOOK
from ratewise.core.chart import ChartLine, Span, Told, in_percent, lines_picture, one_span_picture, plainly
from ratewise.core.document import (
    Bullets,
    Code,
    Column,
    DataTable,
    Fact,
    FactTable,
    Heading,
    KeyFigures,
    Part,
    Picture,
    Sentence,
    as_sentence,
    bar,
    grid_of,
    listed,
    noted,
)
from ratewise.core.estimate import Estimate
from ratewise.questions.goal import within
from ratewise.raters.kind import RaterSpec
from ratewise.raters.people import PeopleSettings
from ratewise.report import words
from ratewise.report.one_shot import answer_parts
from ratewise.report.page import markdown, page
from ratewise.store.money import in_currency, to_money

_POLICIES = {
    "start": "all are labelled", "base": "chance, labels alone", "random": "chance, one rate for all",
    "active": "how hard they are to predict", "chain": "what earlier raters say",
}  # fmt: skip
_KINDS = {
    "column": "a column of the table", "python": "a Python function", "command": "a program", "people": "people",
    "recorded": "a recording", "sheet": "people, in sheets", "llm": "a language model",
}  # fmt: skip
_LONGEST = 20_000  # signs of an item's text that are shown
_BAR = 28  # signs


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
    return markdown(report(now, slices=slices))


def report(
    now: Snapshot, *, truth: float | None = None, slices: Sequence[str] | None = None, made: datetime | None = None
) -> list[Part]:
    """All sections of the report, from the answer to how to do it again."""
    people, agreed = words.people_of(now)
    made = datetime.now(UTC) if made is None else made
    return [
        Sentence(f"{now.status.name}, {made:%d %B %Y}", "quiet"), *_answer(now, truth), *_slices(now, slices),
        *_differences(now), *_rounds(now, truth), *_pictures(now), *_outlook(now),
        *_titled("What the labels say", [] if now.diagnosis is None else listed(now.diagnosis.words())),
        *_titled("People and agreement", [grid_of(words.PEOPLE, people), *listed(agreed)] if people else []),
        *_remarks(now),
        *_titled("Notes", _notes(now)),
        Heading("How it was measured"), Bullets(words.method(now)),
        Heading("Missing labels", 3), Sentence(words.missing(now)),
        Heading("Assumptions", 3), Bullets(words.assumptions(now)),
        Heading("Limits", 3), Bullets(words.limitations(now)),
        *_raters(now), Heading("The campaign", 3), _facts(now, made), *_record(now),
    ]  # fmt: skip


def _titled(title: str, parts: list[Part]) -> list[Part]:
    """A section that is left out where it is empty."""
    return [Heading(title), *parts] if parts else []


def _answer(now: Snapshot, truth: float | None) -> list[Part]:
    """The finding as the headline, its interval as a picture, the verdict, and what it took."""
    found, spec, answers = now.status.lead, now.spec, now.status.answers
    if answers is not None and spec.asks:
        goal = answers.verdict() or (["Every goal is reached."] if answers.done else [])
        reached: list[Part] = [Sentence(line, "lede") for line in goal]
        first, *rest = answer_parts(answers.result)
        return [first, *reached, KeyFigures(words.key_figures(now)), *rest]
    if found is None:
        return [Heading(now.status.name, 1), Sentence(words.plain_answer(now), "lede")]
    parts: list[Part] = [Heading(words.finding(spec, found).rstrip("."), 1)]
    if found.interval is not None:
        mark = None if truth is None else (truth, f"truth {words.in_units(spec, truth)}")
        said = f"{words.in_units(spec, found.value)}, {found.level:.0%} interval {words.ends_in_units(spec, found)}."
        span = Span("", found.value, *found.interval)
        parts.append(Picture(lambda: one_span_picture(span, said, lambda x: words.in_units(spec, x), mark=mark)))
    if truth is not None:
        parts.append(Sentence(f"The truth is {words.in_units(spec, truth)}."))
    verdict = " ".join([words.verdict(now), *([] if answers is None else answers.verdict())]).strip()
    parts += [Sentence(verdict, "lede")] if verdict else []
    parts.append(Sentence(" ".join(words.savings(now)) or f"{words.effort(now)}"))
    return [*parts, KeyFigures(words.key_figures(now))]


def _told(spec: Spec) -> Told:
    """How numbers are written at the axis of a picture."""
    return in_percent if words.in_percent(spec) else plainly


def _facts(now: Snapshot, made: datetime) -> FactTable:
    spec, goal, scale = now.spec, now.spec.goal, now.spec.scale
    goals = [f"budget {words.money(spec, goal.budget)}"] if goal.budget is not None else []
    goals += [f"standard error {goal.target_se:g}"] if goal.target_se is not None else []
    points = words.in_percent(spec)
    if isinstance(goal.within, dict):
        goals.append(", ".join(f"{name} {within(half, points=points)}" for name, half in goal.within.items()))
    else:
        goals += [within(goal.within, points=points)] if goal.within is not None else []
    goals += [f"decide {goal.decide}"] if goal.decide is not None else []
    rating = scale.kind + (f", {scale.low:g} to {scale.high:g}" if scale.kind in {"likert", "score"} else "")
    status = now.status
    told: list[Fact] = [("campaign", status.state(now.is_running)), *status.so_far()]
    if status.lead is not None:
        told.append(("interval", status.lead_words))
        if status.for_looks is not None:
            told.append((IF_YOU_LOOK, words.ends_in_units(spec, status.for_looks)))
        elif status.ended is None and status.final is not None:
            told.append(("if it ended now", words.ends_in_units(spec, status.final)))
    return FactTable([
        *((name.capitalize(), text) for name, text, *_ in told),
        ("Date", f"{made:%d %B %Y, %H:%M} UTC"), ("Table", spec.items.table), ("Goal", " or ".join(goals)),
        ("Rating", rating), ("Seed of the draws", f"{spec.seed}" if isinstance(spec.seed, int) else "kept secret"),
        ("Id", status.campaign),
    ])  # fmt: skip


def _raters(now: Snapshot) -> list[Part]:
    """The raters and their prices; programs' arguments are not shown, since they may hold keys."""
    *others, last = now.spec.raters
    rows = [(one.name, _KINDS.get(one.kind, one.kind), _price(now.spec, one), "predicts") for one in others]
    rows.append((last.name, _KINDS.get(last.kind, last.kind), _price(now.spec, last), "believed"))
    table = grid_of(("rater", "is", "price of a rating", "role"), rows)
    judged = [sentence for judge in judges_found(now) for sentence in judge.sentences]
    return [Heading("Who rates", 3), table, *listed(now.worth), *listed(judged)]


def _price(spec: Spec, rater: RaterSpec) -> str:
    def told(price: Decimal | None) -> str:
        return in_currency(f"{price:f}", spec.currency)

    if rater.price is None:
        return "by tokens" if rater.price_column is None else f"by item, column {rater.price_column}"
    if isinstance(rater, PeopleSettings) and rater.per_hour is not None:
        return f"{told(rater.per_hour)} an hour, at most {told(rater.max_price)} an item"
    most = (
        f", at most {told(rater.max_price)}" if rater.max_price is not None and rater.max_price != rater.price else ""
    )
    return f"{told(rater.price)}{most}"


def _rounds(now: Snapshot, truth: float | None) -> list[Part]:
    if not now.story:
        return []
    spec = now.spec
    table = DataTable([
        Column("round"), Column("items drawn by", "name"), Column("items"), Column("labels"), Column("asked about"),
        Column("spent so far"), Column("estimate"), Column(f"{spec.level:.0%} interval"),
    ])  # fmt: skip
    for c in now.story:
        table.add(
            f"{c.number}", _POLICIES[c.policy] + (", by features alone" if c.by_features else ""), f"{c.items:,}",
            f"{c.labels:,}", f"{c.mean_rate:.1%}", words.money(spec, to_money(c.spent)),
            "–" if c.estimate is None else words.in_units(spec, c.estimate.value),
            "–" if c.estimate is None else words.ends_in_units(spec, c.estimate),
        )  # fmt: skip
    points = words.story_points(now)
    lines = [ChartLine("estimate", _ended((x, e) for x, e, _ in points), band=True)]
    if spec.weak is not None:
        lines.append(ChartLine("labels alone", _ended((x, e) for x, _, e in points), dashed=True))
    said = words.money_words(now, points)
    mark = None if truth is None else (truth, "truth")
    unit = spec.currency or "money"
    drawn = Picture(
        lambda: lines_picture(
            lines, said, x_name=f"{unit} spent →", y_name=_strong_axis(spec), told_y=_told(spec), mark=mark
        ),
        said,
    )
    return [
        Heading("Round by round"), drawn, table,
        Sentence("These intervals hold all at once, so that you may look after every round.", "quiet"),
    ]  # fmt: skip


def _strong_axis(spec: Spec) -> str:
    return f"{'share of yes' if spec.scale.kind == 'binary' else 'mean rating'} by {spec.strong.name}"


def _ended(found: Iterable[tuple[float, Estimate | None]]) -> list[tuple[float, float, float | None, float | None]]:
    """Points of a picture, of estimates that have an interval."""
    return [(x, e.value, *e.interval) for x, e in found if e is not None and e.interval is not None]


def _pictures(now: Snapshot) -> list[Part]:
    """How far the weak rater can be trusted, and where the strong ratings went."""
    parts, spec = list[Part](), now.spec
    if (bins := findings.calibration(now)) and spec.weak is not None:
        said, name = words.calibration_words(now, bins), spec.weak.name
        line = ChartLine("", [(b.x, b.y, b.low, b.high) for b in bins])
        means = f"{name} says →"
        drawn = Picture(
            lambda: lines_picture(
                [line],
                said,
                x_name=means,
                y_name=_strong_axis(spec),
                told_y=_told(spec),
                diagonal=True,
                told_x=in_percent if words.weak_in_percent(now) else plainly,
            ),
            said,
        )
        parts += [Heading(f"How far {name} can be trusted"), drawn]
    if len(rates := findings.rates_by_uncertainty(now)) > 1:
        told = words.rates_words(rates)
        asked = ChartLine("", [(b.x, b.y, None, None) for b in rates])
        drawn = Picture(
            lambda: lines_picture(
                [asked], told, x_name="harder to predict →", y_name=f"share of items asked of {spec.strong.name}",
                told_y=in_percent, from_zero=True,
            ),
            told,
        )  # fmt: skip
        parts += [Heading(f"Which items {spec.strong.name} rated"), drawn]
    return parts


def _slices(now: Snapshot, columns: Sequence[str] | None) -> list[Part]:
    """A forest plot for each column: a row for each slice, and the whole."""
    found, parts, spec, lead = findings.slices(now, columns), list[Part](), now.spec, now.status.lead
    asked = spec.question.by if spec.question is not None and now.status.answers is not None else None
    for column in dict.fromkeys(one.column for one in found if one.column != asked):  # the answer has those it asks for
        here = [one for one in found if one.column == column]
        known = [e for e in (*(one.estimate for one in here), lead) if e is not None and e.interval is not None]
        at = [x for e in known for x in (e.value, *(e.interval or ()))] or [0.0]
        ends = min(at), max(at)
        scale = " ".join(words.in_units(spec, end) for end in ends)
        table = DataTable([
            Column(column, "name"), Column("items"), Column("labels"), Column("estimate"), Column(scale, "bar"),
            Column(f"{spec.level:.0%} interval"),
        ])  # fmt: skip
        for one in here:
            table.add(
                one.name or "(empty)", f"{one.items:,}", f"{one.labels:,}", *_slice_told(spec, one.estimate, ends)
            )
        if lead is not None:
            table.add("all", f"{now.status.pool:,}", f"{lead.labels:,}", *_slice_told(spec, lead, ends), style="best")
        parts += [Heading(f"By {column}", 3), table]
    if parts:
        parts.append(Sentence("Each interval holds for its slice alone; of twenty slices, one may be off.", "quiet"))
    return _titled("Slices", parts)


def _slice_told(spec: Spec, e: Estimate | None, ends: tuple[float, float]) -> tuple[str, str, str]:
    if e is None:
        return "–", "", "too few labels"
    low, high = e.interval or (None, None)
    drawn = bar(e.value, low, high, ends, width=_BAR)
    return words.in_units(spec, e.value), drawn, words.ends_in_units(spec, e)


def _differences(now: Snapshot) -> list[Part]:
    """The items with what both said, and below each all of its texts."""
    spec, found = now.spec, findings.differences(now)
    weak, strong = spec.weak, spec.strong
    if weak is None or not found:
        return []
    table = DataTable([Column("item", "name"), Column(weak.name), Column(strong.name)])
    for one in found:
        texts = [(name, _whole(text)) for name, text in one.texts]
        table.add(one.id, words.weak_in_units(now, one.weak), words.strong_in_words(spec, one.strong), below=texts)
    said = f"The items on which {weak.name} was furthest from {strong.name}: worth reading one by one."
    return [Heading(f"Where {weak.name} and {strong.name} differ most"), Sentence(said), table]


def _whole(text: str) -> str:
    """A text as it is; of a very long one, how much is left out."""
    left = len(text) - _LONGEST
    return text if left <= 0 else f"{text[:_LONGEST]} … ({left:,} more characters)"


def _remarks(now: Snapshot) -> list[Part]:
    """What people flagged, and their comments, with the items they are about."""
    table = DataTable([Column("item", "name"), Column("person"), Column("flagged"), Column("rating")])
    for one in remarks_found(now):
        value = "cannot tell" if one.value is None else words.strong_in_words(now.spec, one.value)
        said = [("comment", one.comment)] if one.comment else []
        said += [(name, _whole(text)) for name, text in findings.item_texts(now, one.position)]
        table.add(one.id, one.person, "yes" if one.flagged else "", value, below=said)
    return _titled("Flags and comments", [table] if table.rows else [])


def _outlook(now: Snapshot) -> list[Part]:
    spec, points = now.spec, words.in_percent(now.spec)
    rows = [
        (
            "spent so far" if one.times == 1 else f"{one.times:g} times as much",
            words.money(spec, Decimal(f"{one.spend:.2f}")),
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
    """What is worth knowing of the estimate, and what happened on the way, with the time."""
    told = [f"{at}: {text}" for at, text in now.notes]
    edited = [line for line in now.told if line not in told]
    own = () if now.status.lead is None else now.status.lead.notes
    happened = [f"{as_sentence(text)} ({at})" for at, text in now.notes]
    return [*noted(dict.fromkeys((*own, *edited))), *noted(happened)]


def _record(now: Snapshot) -> list[Part]:
    """What to keep of this page: with the head, anyone finds out whether the store was changed later."""
    again = "These commands check it, and compute the estimate anew from the exported table:"
    command = f"ratewise verify {now.spec.path.name} --head {now.head}"
    return [
        Heading("Check it yourself"), *([] if now.seed is None else [Sentence("Seed:", code=now.seed)]),
        Sentence("Head of the record:", code=now.head),
        Sentence("To check that the store still holds what this page was made from:", code=command),
        Sentence(f"{words.seed_words(now)} {again}"), Code("\n".join(words.again(now))),
    ]  # fmt: skip
