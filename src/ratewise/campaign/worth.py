"""What each rater of a chain is worth, by the comparison that chose how they are used."""

from collections.abc import Sequence

from ratewise.campaign.history import RoundPlan
from ratewise.core.checks import Floats
from ratewise.design.chain import Design
from ratewise.design.chain_plan import Compared


def worth_of_raters(names: Sequence[str], plans: Sequence[RoundPlan], asked: Floats) -> list[str]:
    """A sentence for each rater but the last; none before the way they are used was chosen.

    `asked` is the share of the items of later rounds that each rater after the first was asked about.
    """
    plan = next((one for one in plans if one.compared), None)
    if plan is None:
        return []
    design = Design(()) if plan.design is None or not plan.weak else plan.design
    tried = _after_trial(names, plans)
    said = [tried.get(k) or _sentence(k, name, design, plan.compared, asked) for k, name in enumerate(names[:-1])]
    return said + _as_feature(names, design, plan.compared)


def _after_trial(names: Sequence[str], plans: Sequence[RoundPlan]) -> dict[int, str]:
    """Of raters that a trial has left out."""
    end = next((n for n, one in enumerate(plans) if one.hopes), None)
    if end is None:
        return {}
    items, hopes = sum(one.items or 0 for one in plans[:end]), plans[end].hopes
    return {
        k: f"{names[k]} is never worth its price here, and is left out after a trial on {items} items: "
        f"with it, at its best, {_times(hope)}."
        for k, hope in enumerate(hopes)
        if hope >= 1
    }


def _uses(design: Design) -> tuple[int, ...]:
    return (*design.first, *design.steps)


def _best(compared: Sequence[Compared], k: int, *, used: bool) -> float:
    return min(one.variance for one in compared if (k in _uses(one.design)) == used)


def _sentence(k: int, name: str, design: Design, compared: Sequence[Compared], asked: Floats) -> str:
    with_it, without = _best(compared, k, used=True), _best(compared, k, used=False)
    if k not in _uses(design):
        more = "" if with_it <= without else f": with it, {_times(with_it / without)}"
        return f"{name} is never worth its price here, and is left out{more}."
    how = "sees every item" if k in design.first else f"is a step, asked about {asked[k - 1]:.0%} of the items"
    return f"{name} {how}: without it, {_times(without / with_it)}."


def _times(ratio: float) -> str:
    return f"the same money was expected to give {ratio:.2f} times the squared error"


def _as_feature(names: Sequence[str], design: Design, compared: Sequence[Compared]) -> list[str]:
    """Where several raters could all see every item or be steps: which was better."""
    used = set(_uses(design))
    if len(used) < 2:
        return []
    same = [one for one in compared if set(_uses(one.design)) == used]
    ours = next((one.variance for one in same if one.design == design), None)
    other = min((one.variance for one in same if bool(one.design.steps) != bool(design.steps)), default=None)
    if ours is None or other is None:
        return []
    who = " and ".join(names[k] for k in sorted(used))
    chosen, rival = ("in steps", "all at once") if design.steps else ("all at once", "in steps")
    return [f"{who} are asked {chosen}: {rival}, {_times(other / ours)}."]
