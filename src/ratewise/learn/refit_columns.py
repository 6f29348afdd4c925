"""Predictions of refits as columns: of a campaign that trains a small model again after its rounds.

Every refit predicts every item, and each is a column that stays: the rates of a round are those of the refit that there
was when it was planned, whatever was trained since.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from ratewise.core.checks import Floats

_CLIP = 1e-3  # probabilities are kept this far from 0 and 1 before the logit


@dataclass(frozen=True, slots=True)
class RefitColumns:
    """Which refit a model reads, counted from 1; its prediction, and the log-odds of it if it is a probability."""

    number: int
    log_odds: bool

    @classmethod
    def latest(cls, refits: Floats | None) -> "RefitColumns | None":
        """The last refit of these, items × refits; `None` where there is none."""
        if refits is None or not refits.shape[1] or not refits.shape[0]:
            return None
        last = refits[:, -1]
        return cls(refits.shape[1], bool(last.min() >= 0 and last.max() <= 1))

    @property
    def count(self) -> int:
        """How many columns these are."""
        return 1 + self.log_odds

    def of(self, refits: Floats) -> Floats:
        """The columns of any items; later refits are not looked at."""
        said = refits[:, self.number - 1]
        if not self.log_odds:
            return said[:, None]
        return np.column_stack([said, special.logit(np.clip(said, _CLIP, 1 - _CLIP))])


def joined(first: Floats | None, more: Floats | None) -> Floats | None:
    """Refits of both, these first: as many refits as the first ones know of."""
    if first is None or more is None:
        return None
    return np.concatenate([first, more[:, : first.shape[1]]])
