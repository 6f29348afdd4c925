"""Who is asked when, in a chain of raters: those who see every item, and those who are asked step by step.

A chain of raters 0 … K (the last one is right) can be used in several ways. Two cheap judges may both see every item;
one of them may be left out; a dear one is a step, asked about items that the cheap ones leave open.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from ratewise.core.checks import Floats
from ratewise.learn.rating_model import Covariates


@dataclass(frozen=True, slots=True)
class Design:
    """Raters by number: `first` see every item, `steps` are asked one after the other, then the last rater."""

    first: tuple[int, ...]
    steps: tuple[int, ...] = ()

    @property
    def levels(self) -> int:
        """How many times something is known that decides who is asked next."""
        return len(self.steps) + 1

    def known_at(self, level: int) -> tuple[int, ...]:
        """Raters whose answers are known before step `level` is drawn."""
        return (*self.first, *self.steps[:level])

    def cuts(self, later: int) -> tuple[slice, ...]:
        """Columns of the raters after the first that are drawn together: each group's answers decide the next one."""
        ends = sorted({*(max(self.first, default=0),), *self.steps, later} - {0})
        return tuple(slice(a, b) for a, b in zip([0, *ends], ends, strict=False))

    def to_dict(self) -> dict[str, Any]:
        """A dictionary, ready for JSON."""
        return {"first": list(self.first), "steps": list(self.steps)}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Design":
        """The inverse of `to_dict`."""
        return cls(tuple(data["first"]), tuple(data["steps"]))

    def covariates(self, x: Covariates, said: Floats, level: int = 0) -> Covariates:
        """What is known of items at a level: the dearest rating as the weak one, the others beside the features.

        `said` are the ratings of raters 1 … K−1, NaN where there is none; for a rating that did not come, that of the
        rater before stands.
        """
        who = self.known_at(level)
        answers = carried(np.column_stack([x.weak, said]))[:, list(who)]
        beside = answers[:, :-1]
        features = beside if x.features is None else np.column_stack([beside, x.features])
        own = _own(x, who)
        return Covariates(answers[:, -1], features if features.shape[1] else None, own, x.text)


def _own(x: Covariates, who: tuple[int, ...]) -> Floats | None:
    """How unsure the dearest of these raters is, by itself; None where it does not tell.

    The uncertainty that the user gives is about the first rater.
    """
    if who[-1] == 0:
        return x.uncertainty
    return x.doubts[who[-1] - 1] if x.doubts else None


def carried(said: Floats) -> Floats:
    """Items × raters, with each rating that did not come replaced by that of the rater before."""
    out = said.copy()
    for k in range(1, out.shape[1]):
        gap = np.isnan(out[:, k])
        out[gap, k] = out[gap, k - 1]
    return out


def all_at_once(weak_raters: Sequence[int]) -> Iterator[Design]:
    """Every group of these weak raters that could see all items, small groups first."""
    for size in range(1, len(weak_raters) + 1):
        for group in combinations(weak_raters, size):
            yield Design(group)


def step_by_step(weak_raters: Sequence[int]) -> Iterator[Design]:
    """Every group that could see all items, with steps of later raters after it."""
    for design in all_at_once(weak_raters):
        later = [k for k in weak_raters if k > max(design.first)]
        for size in range(1, len(later) + 1):
            for steps in combinations(later, size):
                yield Design(design.first, steps)
