"""A campaign in words: the answer in a sentence, what each picture shows, the people, the method and its limits."""

import math
from collections.abc import Sequence
from decimal import Decimal

from ratewise.campaign.annotators import Annotator, AnnotatorAgreement, people_found
from ratewise.campaign.findings import Bin, human_only, judge_and_people
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.spec import SecretSeed, Spec
from ratewise.core.estimate import Estimate
from ratewise.questions.goal import within
from ratewise.store.money import in_currency, to_money

PEOPLE = ("person", "labels", "cannot tell", "seconds each", "agree with others", "training, checks, repeats")
_PERCENT = ("binary", "pairwise")

Point = tuple[float, Estimate | None, Estimate | None]  # (money, the estimate, from people's answers alone)


# The answer


def plain_answer(now: Snapshot) -> str:
    """What was found, how sure it is, and what it took; how many labels alone would have taken, where that is known."""
    found = now.status.lead
    if found is None:
        return "No round is complete yet, so there is no estimate."
    answers = now.status.answers
    said = finding(now.spec, found) if answers is None or not now.spec.asks else answers.summary()
    return f"{said} {effort(now)}"


def finding(spec: Spec, found: Estimate) -> str:
    """The estimate in a sentence, with what it is about."""
    value = in_units(spec, found.value)
    if spec.claim is not None and spec.scale.kind == "binary":
        said = f"{spec.claim.rstrip('.')} {value} of the time"
    elif spec.scale.kind == "binary":
        said = f"{value} of the items get a yes from {spec.strong.name}"
    elif spec.scale.kind == "pairwise":
        first, second = compared(spec)
        said = f"In comparisons with {second}, {first} wins {value}, ties counted half"
    else:
        ends = f"{spec.scale.low:g} to {spec.scale.high:g}"
        said = f"The mean rating by {spec.strong.name} is {value}, on a scale from {ends}"
    said = said[:1].upper() + said[1:]
    if found.interval is None:
        return f"{said}; there is no interval yet."
    shown = f"; {_against_half(found, *compared(spec))}" if spec.scale.kind == "pairwise" else ""
    return f"{said} ({found.level:.0%} interval {ends_in_units(spec, found)}){shown}."


def compared(spec: Spec) -> tuple[str, str]:
    """The two that are compared: the columns that their texts stand in, where a rater names them."""
    for rater in reversed(spec.raters):
        a, b = (getattr(rater, side, None) for side in ("a", "b"))
        if a is not None and b is not None:
            return str(a), str(b)
    return "the first of the two", "the second"


def _against_half(found: Estimate, first: str, second: str) -> str:
    """Which of the two is better, if either is shown to be."""
    low, high = found.interval or (0.0, 1.0)
    if low <= 0.5 <= high:
        return "50% is inside, so neither is shown to be better"
    return f"50% is outside, so {first if low > 0.5 else second} is shown to be better"


def effort(now: Snapshot) -> str:
    """What it took, and how many labels alone would have taken, where that is known."""
    status, alone = now.status, labels_alone(now)
    labels = f"{status.labels:,} label{'' if status.labels == 1 else 's'} from {now.spec.strong.name}"
    took = f"It took {labels} and cost {money(now.spec, status.spent)}"
    if status.lead is not None and status.lead.labels < status.labels:
        took += f" (the estimate rests on {status.lead.labels:,} of them)"
    if alone is None or alone <= status.labels:
        return f"{took}."
    return f"{took}; labels alone would have taken about {alone:,} for the same precision."


def labels_alone(now: Snapshot) -> int | None:
    """How many strong ratings alone would be as precise, rounded; None where nothing tells."""
    found = now.diagnosis
    if found is None or found.effective_labels is None or not math.isfinite(found.effective_labels):
        return None
    digits = max(int(math.log10(max(found.effective_labels, 1.0))) - 1, 0)
    return int(round(found.effective_labels, -digits + (digits > 0)))


def in_percent(spec: Spec) -> bool:
    """Whether ratings are yes or no, so that every figure is told as per cent."""
    return spec.scale.kind in _PERCENT


def in_units(spec: Spec, value: float) -> str:
    """A rating in per cent where ratings are yes or no, else as it is on its scale."""
    return f"{100 * value:.1f}%" if in_percent(spec) else f"{value:.3g}"


def weak_in_percent(now: Snapshot) -> bool:
    """Whether the weak ratings are told as per cent, too: shares of 1 beside ratings of yes and no."""
    weak = now.state.history.looked.x.weak
    known = weak[now.state.history.looked.x.rated] if weak.size else weak
    return in_percent(now.spec) and bool(known.size) and known.min() >= 0 and known.max() <= 1


def weak_in_units(now: Snapshot, value: float) -> str:
    """A weak rating in the unit of the strong ones, or as it is where it has a scale of its own."""
    return f"{100 * value:.0f}%" if weak_in_percent(now) else f"{value:.4g}"


def strong_in_words(spec: Spec, value: float) -> str:
    """A strong rating: yes or no, or as it is on its scale."""
    said = {1.0: "yes", 0.0: "no"} if spec.scale.kind == "binary" else {}
    return said.get(value) or in_units(spec, value).replace(".0%", "%")


def ends_in_units(spec: Spec, found: Estimate) -> str:
    """An estimate's interval in the same unit: 78.3–82.6%."""
    if found.interval is None:
        return "none yet"
    low, high = (in_units(spec, end) for end in found.interval)
    return f"{low.removesuffix('%')}–{high}"


def half_width(spec: Spec, found: Estimate) -> str:
    """± half of an estimate's interval, in points where figures are per cent."""
    low, high = found.interval or (0.0, 0.0)
    return within((high - low) / 2, points=in_percent(spec))


def verdict(now: Snapshot) -> str:
    """Whether the precision that the goal asks for is reached; empty where the goal is money alone."""
    goal, found = now.spec.goal, now.status.lead
    if found is None or found.interval is None:
        return ""
    half, said = (found.interval[1] - found.interval[0]) / 2, []
    if isinstance(goal.within, float):
        reached = "is reached" if half <= goal.within else "is not reached yet"
        asked = within(goal.within, points=in_percent(now.spec))
        said.append(f"The goal of {asked} {reached}: the interval is {half_width(now.spec, found)}.")
    if goal.target_se is not None and found.standard_error is not None:
        reached = "is reached" if found.standard_error <= goal.target_se else "is not reached yet"
        said.append(
            f"The goal of a standard error of {goal.target_se:.3g} {reached}: it is {found.standard_error:.3g}."
        )
    return " ".join(said)


def money(spec: Spec, amount: Decimal) -> str:
    """An amount with the currency of the TOML."""
    return in_currency(f"{amount:,.2f}".removesuffix(".00"), spec.currency)


# Pictures


def story_points(now: Snapshot) -> list[Point]:
    """After each round: the money, the estimate, and what the strong ratings alone say."""
    return [
        (float(to_money(chapter.spent)), chapter.estimate, human_only(known, now))
        for chapter, known in zip(now.story, now.reader.closed, strict=True)
    ]


def money_words(now: Snapshot, points: Sequence[Point]) -> str:
    """What the picture of intervals over money shows, for those who do not see it."""
    known = [(x, e) for x, e, _ in points if e is not None and e.interval is not None]
    if not known:
        return "The first round is not complete, so there is no interval yet."
    (first, begun), (last, ended) = known[0], known[-1]

    def at(spent: float) -> str:
        return money(now.spec, Decimal(str(round(spent, 2))))

    said = [f"After {at(first)} the interval was {_ends(now, begun)}"]
    if len(known) > 1:
        said.append(f"after {at(last)} it is {_ends(now, ended)}")
    alone = points[-1][2]
    beside = ""
    if alone is not None and alone.interval is not None and now.spec.weak is not None:
        beside = f" The strong ratings alone, without the weak rater, give {_ends(now, alone)} (dashed)."
    return f"{', and '.join(said)}. You may look at the band after every round and stop on what you see.{beside}"


def calibration_words(now: Snapshot, bins: Sequence[Bin]) -> str:
    """How far the weak rating means what it says."""
    low, high = bins[0], bins[-1]
    weak = now.spec.weak.name if now.spec.weak is not None else "it"
    mean = f"the mean rating by {now.spec.strong.name} is {in_units(now.spec, low.y)}"
    span = f"Where {weak} says about {weak_in_units(now, low.x)}, {mean}"
    far = f"; where it says about {weak_in_units(now, high.x)}, {in_units(now.spec, high.y)}" if len(bins) > 1 else ""
    miss = max(bins, key=lambda b: abs(b.y - b.x))
    on_scale = all(now.spec.scale.low <= b.x <= now.spec.scale.high for b in bins)
    gap = within(abs(miss.y - miss.x), points=in_percent(now.spec)).removeprefix("±")
    off = f" It is furthest off near {weak_in_units(now, miss.x)}, by {gap}." if on_scale else ""
    return f"{span}{far}. Bars are 95% intervals; on the dashed line {weak} means what it says.{off}"


def rates_words(bins: Sequence[Bin]) -> str:
    """Whom the strong ratings went to."""
    low, high = bins[0], bins[-1]
    return (
        f"Of the items whose rating was easiest to predict, {low.y:.0%} were asked about; of the hardest ones, "
        f"{high.y:.0%}. An item that stood a chance of one in ten counts for ten, so this does not bias the estimate."
    )


def _ends(now: Snapshot, e: Estimate) -> str:
    assert e.interval is not None
    return f"{in_units(now.spec, e.interval[0])} to {in_units(now.spec, e.interval[1])}"


# People


def people_of(now: Snapshot) -> tuple[list[tuple[str, ...]], list[str]]:
    """(rows of the table, sentences); both empty where no people have answered."""
    found, together = people_found(now)
    if not found:
        return [], []
    hidden = now.store.paid_beside()
    cost = f"Hidden checks and repeats cost {money(now.spec, to_money(hidden))}, which is in what was spent."
    paid = [cost] if hidden else []
    rows: list[tuple[str, ...]] = [
        (
            one.name, f"{one.answers:,}", f"{one.cannot_tell:,}", "–" if one.seconds is None else f"{one.seconds:.0f}",
            _agrees(one), "; ".join(one.tests.words()) or "–",
        )
        for one in found
    ]  # fmt: skip
    return rows, [_agreement(together), *now.status.votes, *judge_and_people(now), *paid]


def _agrees(one: Annotator) -> str:
    if one.decides:
        return "decides where they differ"
    return "–" if one.agree is None else f"{one.agree:.0%} ({one.agree_low:.0%} to {one.agree_high:.0%})"


def _agreement(found: AnnotatorAgreement) -> str:
    if found.percent is None:
        return (
            "How far people agree is not known: no two of them have rated the same item (votes = 2 or more; of two who "
            "differ, the mean counts)."
        )
    said = (
        f"On {found.items:,} items with two labels or more, {found.percent:.0%} of pairs agree "
        f"(95 % interval {found.percent_low:.0%} to {found.percent_high:.0%})"
    )
    if found.alpha is None:
        return f"{said}; all say the same, so Krippendorff's alpha is not defined."
    return f"{said}; Krippendorff's alpha is {found.alpha:.2f} ({found.alpha_low:.2f} to {found.alpha_high:.2f})."


# Method


def savings(now: Snapshot) -> list[str]:
    """What the weak rater and the choice of items have saved; empty where nothing tells."""
    alone, status = labels_alone(now), now.status
    price = now.spec.strong.price
    if alone is None or not status.labels:
        return []
    if alone <= status.labels:
        return [f"Nothing was saved: labels alone would have taken about {alone:,} for the same precision."]
    said = [f"{status.labels:,} labels were as precise as about {alone:,} labels alone would have been."]
    if price is not None:
        would = alone * price
        if would > status.spent:
            saved = f"{1 - float(status.spent) / float(would):.0%}"
            said.append(
                f"Labels alone would have cost about {money(now.spec, would)}; the campaign cost "
                f"{money(now.spec, status.spent)}, {saved} less."
            )
    return said


def saved(now: Snapshot) -> tuple[str, str] | None:
    """The money that labels alone would have cost more, and beside what; None where nothing tells, or it is none."""
    alone, price, spent = labels_alone(now), now.spec.strong.price, now.status.spent
    if alone is None or price is None or alone * price <= spent:
        return None
    would = alone * price
    return (
        money(now.spec, (would - spent).quantize(Decimal(1))),
        f"of {money(now.spec, would)} for labels alone",
    )


def key_figures(now: Snapshot) -> list[tuple[str, str, str]]:
    """Labels, money, what was saved, and how precise it is."""
    status, spec, gain = now.status, now.spec, saved(now)
    budget = "" if status.budget is None else f"of a budget of {money(spec, status.budget)}"
    asked = f"{status.looked:,} of {status.pool:,} items looked at"
    if spec.asks:  # whose answers have precisions of their own
        gain = None
    figures = [
        (f"labels from {spec.strong.name}", f"{status.labels:,}", asked), ("spent", money(spec, status.spent), budget),
    ]  # fmt: skip
    if gain is not None:
        figures.append(("saved, about", *gain))
    if status.lead is not None and status.lead.interval is not None and not spec.asks:
        figures.append(("precision", half_width(spec, status.lead), f"{status.lead.level:.0%} interval"))
    return figures


def missing(now: Snapshot) -> str:
    """What will not come, and how it counts."""
    count = now.status.missing
    if not count:
        return (
            "Nothing: every label that was asked for is there, or still to come." if now.status.pending else "Nothing."
        )
    said = f"{count:,} label{'' if count == 1 else 's'} will not come"
    return f"{said}. The interval allows for the worst: it holds whether they would all have been high or all low."


def method(now: Snapshot) -> list[str]:
    """What was done, a sentence each."""
    spec = now.spec
    strong, found = spec.strong.name, now.diagnosis
    if spec.weak is None or (found is not None and found.alone):
        cheap = "" if spec.weak is None else f" Ratings by {spec.weak.name} were not worth their price here."
        said = [f"Items were drawn at random, and ratings by {strong} were asked for where an item was drawn.{cheap}"]
    else:
        said = [
            f"Ratings by {spec.weak.name} are cheap. Ratings by {strong} are believed, and asked for where an item is "
            "drawn.",
            "Every item had a known chance of being drawn, its rate; the harder its rating is to predict, the higher.",
            f"The estimate is the mean of predicted ratings, corrected by the ratings of {strong} on drawn items. Each "
            "correction counts by one over its rate, so that the mean is right on average, however good or bad the "
            f"ratings by {spec.weak.name} are.",
        ]
    about = "these items" if spec.estimand == "pool" else "the population that these items were drawn from"
    said.append(f"The interval is about {about}. In {spec.level:.0%} of campaigns like this one it holds the truth.")
    said.append(
        "Intervals shown after each round are wider than the last one, because they hold however often one looks."
    )
    return said


def assumptions(now: Snapshot) -> list[str]:
    """What must be so for the interval to hold."""
    spec = now.spec
    said = [f"Ratings by {spec.strong.name} are what is to be measured: mistakes in them are not in the interval."]
    if spec.estimand == "population":
        said.append("The items of the table are a random sample of the population.")
    if spec.items.clusters is None:
        said.append("Items do not belong together in groups; where they do, name the column with clusters.")
    said.append("Nobody has changed the answers; the record at the end of this page shows it.")
    return said


def limitations(now: Snapshot) -> list[str]:
    """What the report cannot tell."""
    said = [
        "Intervals of slices hold one by one; among twenty, one may be off.",
        "The figure is about the items and the time of this campaign; a new version of the system needs a new one.",
    ]
    if now.status.labels < 100:
        of = "slices" if now.spec.weak is None else f"{now.spec.weak.name} and of slices"
        said.insert(0, f"{now.status.labels:,} labels are few: what the report says of {of} is rough.")
    if now.status.missing:
        said.append("Some labels are missing; if they are missing for a reason, slices may be off further than shown.")
    return said


def again(now: Snapshot) -> list[str]:
    """Commands that do it again or check it."""
    name = now.spec.path.name
    return [
        f"ratewise verify {name} --head {now.head}",
        f"ratewise export {name} -o rated.csv",
        "ratewise estimate rated.csv",
    ]


def seed_words(now: Snapshot) -> str:
    """Where the draws come from."""
    if isinstance(now.spec.seed, SecretSeed):
        return "All draws follow from the secret seed, whose digest was published at the start."
    spec = now.spec
    return f"All draws follow from the seed {spec.seed}, the table {spec.items.table} and the TOML {spec.path.name}."
