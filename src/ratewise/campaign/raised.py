"""A goal that was changed after looking: what more money is expected to bring, before any of it is spent.

A result that was looked at before more was bought needs an interval that holds however often one looks. That is wider
than the interval of a look-free end, and a little money may not make up for it.
"""

import warnings
from dataclasses import dataclass

from scipy import special

from ratewise.campaign import planner as p
from ratewise.campaign.answers import level_of_look
from ratewise.campaign.snapshot import Snapshot, reader_of
from ratewise.campaign.spec.spec import Spec
from ratewise.core.mean.estimate import Estimate
from ratewise.errors import RatewiseWarning
from ratewise.queue.store import Store


@dataclass(frozen=True, slots=True)
class Raised:
    """Half the interval as it is, and as it is expected to be; `expected` is None where nothing more can be bought."""

    before: float
    expected: float | None

    def warn(self) -> None:
        """Warn where the interval is expected to get wider."""
        if self.expected is None:
            warnings.warn(
                "nothing more can be bought with this goal, and a goal that was changed after looking makes the "
                f"interval wider than the interval there is (± {self.before:.4f}); change it back to keep that",
                RatewiseWarning,
                stacklevel=2,
            )
        elif self.expected > self.before:
            warnings.warn(
                f"with this goal the result is expected to be ± {self.expected:.4f}, wider than the interval there is "
                f"(± {self.before:.4f}): one that was looked at must hold for every further look. Raise the budget "
                "further, or change it back",
                RatewiseWarning,
                stacklevel=2,
            )


def reported(spec: Spec, store: Store) -> Estimate | None:
    """The result by the goal that the campaign has had so far."""
    return Snapshot(spec, store, reader_of(spec, store)).estimate


def expected_of(spec: Spec, store: Store, before: Estimate | None) -> Raised | None:
    """What the new goal is expected to bring; None where there is nothing to compare it with."""
    if before is None or before.interval is None:
        return None
    half = 0.5 * (before.interval[1] - before.interval[0])
    state = reader_of(spec, store).state()
    plan = p.next_plan(state) if state.open is None else state.open.plan
    if plan is None:
        return Raised(half, None)
    if plan.expected_se is None:
        return None
    level = level_of_look(state.terms.wanted, state.history.rounds + 1)
    return Raised(half, float(special.ndtri(0.5 + level / 2)) * plan.expected_se)
