"""A simulation in words that can be pasted into a mail: what to run, what it is worth, and how sure that is."""

from collections.abc import Sequence

from ratewise.lab.metrics import MethodResult

YARDSTICKS = ("oracle", "limit")
"""Methods that know what nobody knows: they show how much room there is, and cannot be run."""
_RUNNABLE = ("auto", "base")  # of campaigns
_ENOUGH_TRIALS = 500


def in_words(results: Sequence[MethodResult], *, budget: float, burn_in: int, items: int, partial: bool = False) -> str:
    """The results at one budget."""
    last = {r.method: r for r in results if r.budget == budget}
    best = _best(list(last.values()))
    only = best.trials < _ENOUGH_TRIALS
    done = f"{'only ' * only}{_count(best.trials, 'trial')} on {items:,} items" + ", partial" * partial
    if not best.base_mse > 0:
        return f"A budget of {budget:g} rates the whole pool: strong ratings alone know it exactly ({done})."
    parts = [_sentence(best, _money(budget, burn_in)), _left_to_gain(best, last.get("limit"))]
    if only and best.method != "base":
        low, high = best.of_base_low, best.of_base_high
        parts.append(f"So few trials only show that the share is between {low:.1%} and {high:.1%}; run 2,000.")
    return f"{' '.join(filter(None, parts))} ({done}.)"


def _best(last: list[MethodResult]) -> MethodResult:
    """The best method: one that a campaign can run, else one others can, else one nobody can."""
    for names in (_RUNNABLE, tuple(r.method for r in last if r.method not in YARDSTICKS)):
        found = [r for r in last if r.method in names]
        if found:
            return min(found, key=lambda r: r.base_mse if r.method == "base" else r.mse)
    return min(last, key=lambda r: r.mse)


def _money(budget: float, burn_in: int) -> str:
    free = f" and {burn_in:,} free labels to begin with" if burn_in else ""
    return f"With money for {budget:g} strong ratings{free}"


def _sentence(r: MethodResult, money: str) -> str:
    if r.method == "base":
        return f"{money}, nothing that was tried beats strong ratings alone: run base, which saves 0."
    who = f"{r.method}, which nobody can run," if r.method in YARDSTICKS else r.method
    share = f"{money}, {who} has {r.of_base:.1%} of the squared error of strong ratings alone"
    low, high = r.of_base_low, r.of_base_high
    if low <= 1 <= high:
        return f"{share}, which is no difference that these trials could show."
    worth = f"strong ratings alone would need {r.effective_budget:,.0f} for the same error"
    return f"{share}: {worth}, {abs(r.savings):,.0f} {'more' if r.savings > 0 else 'fewer'}."


def _left_to_gain(best: MethodResult, limit: MethodResult | None) -> str:
    if limit is None or best.method in YARDSTICKS:
        return ""
    if limit.of_base >= best.of_base:
        return (
            "Were the weak rater's errors known beforehand, it would not be less: nothing is left to gain by learning."
        )
    return f"Were the weak rater's errors known beforehand, it would be {limit.of_base:.1%}: the rest is left to gain."


def _count(n: int, word: str) -> str:
    return f"{n:,} {word}{'' if n == 1 else 's'}"
