"""A campaign in words: the answer in a sentence, what each picture shows, the people, the method and its limits."""

import math
from collections.abc import Sequence
from decimal import Decimal

from ratewise.campaign.annotators import Annotator, AnnotatorAgreement, people_found
from ratewise.campaign.findings import Bin, human_only, judge_and_people
from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.spec import SecretSeed, Spec
from ratewise.core.estimate import Estimate
from ratewise.store.money import to_money

PEOPLE = ("person", "labels", "cannot tell", "seconds each", "agree with others", "training, checks, repeats")
_PERCENT = ("binary", "pairwise")

Point = tuple[float, Estimate | None, Estimate | None]  # (money, the estimate, from people's answers alone)


# The answer


def plain_answer(now: Snapshot) -> str:
    """What was found, how sure it is, and what it took; how many labels alone would have taken, where that is known."""
    found = now.status.lead
    if found is None:
        return "No round is complete yet, so there is no estimate."
    return " ".join(part for part in (finding(now.spec, found), _effort(now)) if part)


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
    low, high = (in_units(spec, end).removesuffix(" %") for end in found.interval)
    unit = " %" if spec.scale.kind in _PERCENT else ""
    shown = f"; {_against_half(found, *compared(spec))}" if spec.scale.kind == "pairwise" else ""
    return f"{said} ({found.level:.0%} interval {low}–{high}{unit}){shown}."


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
        return "50 % is inside, so neither is shown to be better"
    return f"50 % is outside, so {first if low > 0.5 else second} is shown to be better"


def _effort(now: Snapshot) -> str:
    status, alone = now.status, labels_alone(now)
    labels = f"{status.labels:,} label{'' if status.labels == 1 else 's'} from {now.spec.strong.name}"
    took = f"It took {labels} and cost {money(now.spec, status.spent)}"
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


def in_units(spec: Spec, value: float) -> str:
    """A rating in percent where ratings are yes or no, else as it is on its scale."""
    return f"{100 * value:.1f} %" if spec.scale.kind in _PERCENT else f"{value:.3g}"


def money(spec: Spec, amount: Decimal) -> str:
    """An amount with the currency of the TOML."""
    whole = f"{amount:,.2f}".removesuffix(".00")
    if spec.currency is None:
        return whole
    return f"{spec.currency}{whole}" if len(spec.currency) == 1 else f"{whole} {spec.currency}"


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
    return f"{', and '.join(said)}; the band holds at every look.{beside}"


def calibration_words(now: Snapshot, bins: Sequence[Bin]) -> str:
    """How far the weak rating means what it says."""
    low, high = bins[0], bins[-1]
    weak = now.spec.weak.name if now.spec.weak is not None else "it"
    span = f"Where {weak} says about {low.x:.2f}, the strong rating is {in_units(now.spec, low.y)} on average"
    far = f"; where it says about {high.x:.2f}, {in_units(now.spec, high.y)}" if len(bins) > 1 else ""
    miss = max(bins, key=lambda b: abs(b.y - b.x))
    on_scale = all(now.spec.scale.low <= b.x <= now.spec.scale.high for b in bins)
    off = f" It is furthest off near {miss.x:.2f}, by {abs(miss.y - miss.x):.2f}." if on_scale else ""
    return f"{span}{far}. Bars are 95 % intervals; on the dashed line a weak rating means what it says.{off}"


def rates_words(bins: Sequence[Bin]) -> str:
    """Whom the strong ratings went to."""
    low, high = bins[0], bins[-1]
    return (
        f"Of the items whose rating was easiest to predict (expected error {low.x:.2f}), {low.y:.0%} were asked about; "
        f"of the hardest ones ({high.x:.2f}), {high.y:.0%}. Each answer counts by one over its rate, so nothing is "
        "biased by this."
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
