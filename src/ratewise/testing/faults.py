"""What may go wrong with an endpoint, to be rehearsed: each fault for a share of the calls, or for the next one."""

from collections import deque
from dataclasses import dataclass, field
from typing import Literal, get_args

from ratewise.testing.hidden_rule import chance

Fault = Literal[
    "429",
    "429 date",
    "no money",
    "500",
    "503",
    "slow",
    "cut",
    "malformed",
    "no usage",
    "refusal",
    "truncated",
    "rambling",
    "401",
]
FAULTS: tuple[Fault, ...] = get_args(Fault)


@dataclass(slots=True)
class Faults:
    """Shares of calls with a fault, and faults of the next calls, which come first."""

    shares: dict[Fault, float] = field(default_factory=dict)
    queue: deque[Fault | None] = field(default_factory=deque)
    _calls: int = field(init=False, default=0)

    def next(self) -> Fault | None:
        """The fault of this call; None: it goes well."""
        if self.queue:
            return self.queue.popleft()
        self._calls += 1
        at, upto = chance("fault", str(self._calls)), 0.0
        for fault, share in self.shares.items():
            upto += share
            if at < upto:
                return fault
        return None
