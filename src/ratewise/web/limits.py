"""How often an address may try to sign in before it has to wait."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field

_MOST_ADDRESSES = 10_000


@dataclass(slots=True)
class Limiter:
    """So many wrong tries in so many seconds, by address; those who know their link are never slowed down."""

    tries: int = 10
    seconds: float = 60.0
    clock: Callable[[], float] = time.monotonic
    _failed: OrderedDict[str, list[float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def allows(self, address: str) -> bool:
        """Whether this address may try now."""
        with self._lock:
            return len(self._recent(address)) < self.tries

    def failed(self, address: str) -> None:
        """Note a wrong try; the oldest addresses are forgotten where there are very many."""
        with self._lock:
            self._failed[address] = [*self._recent(address), self.clock()]
            self._failed.move_to_end(address)
            while len(self._failed) > _MOST_ADDRESSES:
                self._failed.popitem(last=False)

    def _recent(self, address: str) -> list[float]:
        since = self.clock() - self.seconds
        return [at for at in self._failed.get(address, ()) if at > since]
