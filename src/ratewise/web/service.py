"""What the pages need of a campaign: its questions, its people with their sign-in links, one writer at a time."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ratewise.campaign.annotators import QualityResults, tests_found
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.clients.people import Labelling
from ratewise.errors import InputError
from ratewise.store.accounts import Accounts, Person
from ratewise.store.desk import Desk

_MOST_ADDRESSES = 10_000
_LONGEST_NAME = 60


@dataclass(frozen=True, slots=True)
class Door:
    """How the server is reached: over TLS or not, and whether a proxy stands before it and names the callers."""

    secure: bool = False
    proxied: bool = False
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")  # names that browsers may call it by


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


# Sign-in links: an admin makes them, and takes them back


@dataclass(frozen=True, slots=True)
class Link:
    """A person and the address that signs them in."""

    name: str
    link: str

    def to_dict(self) -> dict[str, str]:
        """Ready for JSON."""
        return {"name": self.name, "link": self.link}


def add_person(campaign: Campaign, name: str, *, admin: bool, url: str, new_link: bool = False) -> Link:
    """A sign-in link for a person; one whose link works is refused, or gets another with `new_link`, which ends it."""
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(f"a person's name has 1 to {_LONGEST_NAME} printable characters; got {name[:80]!r}")
    with campaign.labelling() as desk:
        accounts = Accounts(desk.store)
        token = (accounts.renew(name) if new_link else None) or accounts.add(name, admin=admin)
        found = accounts.find(name)
        name = name if found is None else found.name
    return Link(name, f"{url.rstrip('/')}/join/{token}")


def remove_person(campaign: Campaign, name: str) -> str:
    """Take the link back; what the person has in hand goes to others, and their answers stay. Their name."""
    with campaign.labelling() as desk:
        known = Accounts(desk.store).remove(name)
        if known is None:
            there = ", ".join(person.name for person in Accounts(desk.store).list() if person.active) or "nobody"
            raise InputError(f"{name!r} has no link that works; those who have one: {there}")
        Desk(desk.store).free_all(known)
    return known


def list_people(campaign: Campaign) -> list[Person]:
    """Everyone who was ever given a link."""
    with campaign.labelling() as desk:
        return Accounts(desk.store).list()


def tests_of(campaign: Campaign) -> dict[str, QualityResults]:
    """How those did who were trained or checked, by name."""
    with campaign.labelling() as desk:
        return tests_found(desk.store)
