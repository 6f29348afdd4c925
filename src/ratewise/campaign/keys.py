"""Idempotency keys: the same for a question that is asked again after a crash, and never another campaign's."""

import json
from dataclasses import dataclass

from ratewise.store.records import Claim
from ratewise.store.store import Store


@dataclass(frozen=True, slots=True)
class Keys:
    """Keys of one campaign; questions that an older version may have asked keep the keys it gave them."""

    name: str
    campaign: str  # random, made when the campaign began
    old: frozenset[tuple[int, int, int]] = frozenset()  # (position, step, attempt)

    @classmethod
    def of(cls, name: str, store: Store) -> "Keys":
        """The keys as the store has them."""
        old = json.loads(store.meta("old keys") or "[]")
        return cls(name, store.meta("campaign") or "", frozenset((p, s, a) for p, s, a in old))

    def key(self, claim: Claim) -> str:
        """Idempotency key of one attempt at a question."""
        known = (claim.position, claim.step, claim.attempt) in self.old
        whose = self.name if known else f"{self.name}-{self.campaign}"
        return f"{whose}:{claim.id}:{claim.step}:{claim.attempt}"
