"""The people behind the labels: how much, how fast, how far they agree, and how they did in checks."""

from ratewise.campaign.annotators import PersonFound, Together, judge_and_people, people_found
from ratewise.campaign.snapshot import Snapshot
from ratewise.report.sentence import money
from ratewise.store.money import to_money

HEADS = ("person", "labels", "cannot tell", "seconds each", "agree with others", "training, checks, repeats")


def rows(found: list[PersonFound]) -> list[tuple[str, ...]]:
    """A row of text for each person."""
    return [
        (
            one.name, f"{one.answers:,}", f"{one.cannot_tell:,}", "–" if one.seconds is None else f"{one.seconds:.0f}",
            _agrees(one),
            "; ".join(one.tests.words()) or "–",
        )
        for one in found
    ]  # fmt: skip


def _agrees(one: PersonFound) -> str:
    if one.decides:
        return "decides where they differ"
    return "–" if one.agree is None else f"{one.agree:.0%} ({one.agree_low:.0%} to {one.agree_high:.0%})"


def agreement(found: Together) -> str:
    """How far people agree, in a sentence."""
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


def people_of(now: Snapshot) -> tuple[list[tuple[str, ...]], list[str]]:
    """(rows of the table, sentences); both empty where no people have answered."""
    found, together = people_found(now)
    if not found:
        return [], []
    hidden = now.store.paid_beside()
    cost = f"Hidden checks and repeats cost {money(now.spec, to_money(hidden))}, which is in what was spent."
    paid = [cost] if hidden else []
    return rows(found), [agreement(together), *now.status.votes, *judge_and_people(now), *paid]
