"""The result in plain words: one sentence that a manager reads, with the units of the TOML."""

import math
from decimal import Decimal

from ratewise.campaign.snapshot import Snapshot
from ratewise.campaign.spec.spec import Spec
from ratewise.core.estimate import Estimate

_PERCENT = ("binary", "pairwise")


def plain_answer(now: Snapshot) -> str:
    """What was found, how sure it is, and what it took; how many labels alone would have taken, where that is known."""
    found = now.status.lead
    if found is None:
        return "No round is complete yet, so there is no estimate."
    return " ".join(part for part in (_finding(now.spec, found), _effort(now)) if part)


def _finding(spec: Spec, found: Estimate) -> str:
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
        a, b = (getattr(rater.settings, side, None) for side in ("a", "b"))
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
