"""Estimates of a frozen history, each computed once however many ask for it: planner, status, report and verify.

A history never changes: what was fitted to it stays true as long as it is in use. The few that were used last are kept.
"""

from functools import lru_cache

from ratewise.campaign import answers
from ratewise.campaign.answers import Wanted
from ratewise.campaign.history import History
from ratewise.core.mean.estimate import Estimate

_KEPT = 8


@lru_cache(maxsize=_KEPT)
def estimate_history(history: History, wanted: Wanted) -> Estimate | None:
    """From all closed rounds; `None` before the first strong rating."""
    return answers.estimate_history(history, wanted)


@lru_cache(maxsize=_KEPT)
def anytime_estimate(history: History, wanted: Wanted, *, ended: bool = False) -> Estimate | None:
    """The estimate with the interval that may be looked at after every round."""
    return answers.anytime_estimate(history, wanted, ended=ended)


@lru_cache(maxsize=_KEPT)
def is_precise(history: History, wanted: Wanted) -> bool:
    """Whether the interval is as narrow as the target asks."""
    return answers.is_precise(history, wanted)


@lru_cache(maxsize=_KEPT)
def money_to_precision(history: History, wanted: Wanted, spent: float, *, start: float, least: float) -> float:
    """What the precision is expected to take; `start` while nothing is known."""
    return answers.money_to_precision(history, wanted, spent, start=start, least=least)
