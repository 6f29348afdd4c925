"""What the pages need of a campaign: its questions, its people, and one writer at a time."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ratewise.campaign.clients.labelling import Labelling
from ratewise.store.accounts import Accounts
from ratewise.web.limits import Limiter


@dataclass(frozen=True, slots=True)
class Door:
    """How the server is reached: over TLS or not, and whether a proxy stands before it and names the callers."""

    secure: bool = False
    proxied: bool = False
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")  # names that browsers may call it by


@dataclass(frozen=True, slots=True)
class Service:
    """One campaign behind the pages."""

    labelling: Labelling
    accounts: Accounts
    door: Door = Door()
    limiter: Limiter = field(default_factory=Limiter)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @contextmanager
    def turn(self) -> Iterator[Labelling]:
        """Take a turn at writing: SQLite lets one write at a time, and waiting here is quicker than waiting there."""
        if self.labelling.store.database.shared:
            yield self.labelling
            return
        with self._lock:
            yield self.labelling

    @property
    def folder(self) -> Path:
        """Where images are found."""
        return self.labelling.spec.folder
