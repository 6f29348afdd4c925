"""What the pages need of a campaign and of a request: questions, people with their sign-in links, one writer at a time;
who calls, with which token, and what the body says. What is wrong with a request becomes one error.
"""

import json
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from ratewise.campaign.annotators import QualityResults, tests_found
from ratewise.campaign.campaign import Campaign
from ratewise.campaign.clients.people import Labelling
from ratewise.errors import InputError
from ratewise.store.accounts import Accounts, Person, Session
from ratewise.store.desk import Desk

_MOST_ADDRESSES = 10_000
_LONGEST_NAME = 60
COOKIE = "ratewise_session"
PORT = 8765
DEFAULT_URL = f"http://127.0.0.1:{PORT}"
LARGEST_BODY = 64 * 1024
_CALLER = "x-forwarded-for"


@dataclass(frozen=True, slots=True)
class Door:
    """How the server is reached: over TLS or not, and whether a proxy stands before it and names the callers."""

    secure: bool = False
    proxied: bool = False
    hosts: tuple[str, ...] = ("127.0.0.1", "localhost", "[::1]")  # names that browsers may call it by


class Limiter:
    """So many wrong tries in so many seconds, by address; links that work are not asked about."""

    def __init__(self, tries: int = 10, seconds: float = 60.0, clock: Callable[[], float] = time.monotonic) -> None:
        self.tries, self.seconds, self.clock = tries, seconds, clock
        self._failed: OrderedDict[str, list[float]] = OrderedDict()
        self._lock = threading.Lock()

    def allows(self, address: str) -> bool:
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
        return self.labelling.spec.folder


# Requests


class RefusedError(Exception):
    """A request that is not served, with the reason for the caller."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason

    def response(self) -> Response:
        return JSONResponse({"error": self.reason}, status_code=self.status)


Body = dict[str, Any]  # a JSON object; each of these readers refuses what is not of its kind


def text_in(body: Body, name: str, *, longest: int, default: str | None = None) -> str:
    """A text, not longer than allowed."""
    value = body.get(name, default)
    if not isinstance(value, str):
        raise RefusedError(422, f"{name} must be a text")
    if len(value) > longest:
        raise RefusedError(422, f"{name} is longer than {longest:,} characters")
    if any("\ud800" <= sign <= "\udfff" or sign == "\0" for sign in value):
        raise RefusedError(422, f"{name} has signs that are no text")
    return value


def number_in(body: Body, name: str) -> float | None:
    """A number, or None where there is none."""
    value = body.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise RefusedError(422, f"{name} must be a number")
    return float(min(max(value, -1e9), 1e9)) if value == value else 0.0  # noqa: PLR0124 - NaN differs from itself


def truth_in(body: Body, name: str) -> bool:
    """True or false; false where there is none."""
    value = body.get(name, False)
    if not isinstance(value, bool):
        raise RefusedError(422, f"{name} must be true or false")
    return value


def session_of(request: HTTPConnection, service: Service) -> Session:
    """Who calls; refused where nobody is signed in."""
    secret = request.cookies.get(COOKIE, "")
    found = service.accounts.session(secret) if secret else None
    if found is None:
        raise RefusedError(401, "you are not signed in; open the link that you were given")
    return found


def check_csrf(request: Request, session: Session) -> None:
    """Refuse what another site may have made the browser send."""
    sent = request.headers.get("x-csrf-token", "")
    if not secrets.compare_digest(sent.encode("utf-8", "replace"), session.csrf.encode()):
        raise RefusedError(403, "the header X-CSRF-Token is missing or old; take it from GET /api/v1/me")


async def raw_body(request: Request) -> bytes:
    """The body, refused as soon as it is too long."""
    out = b""
    try:
        async for part in request.stream():
            out += part
            if len(out) > LARGEST_BODY:
                raise RefusedError(413, f"the request is larger than {LARGEST_BODY:,} bytes")
    except ClientDisconnect:
        raise RefusedError(400, "the request has no end") from None  # nobody hears it
    return out


def body_of(raw: bytes) -> Body:
    """A JSON object."""
    try:
        values = json.loads(raw or b"{}")
    except (ValueError, RecursionError):
        raise RefusedError(400, "the request is no JSON") from None
    if not isinstance(values, dict):
        raise RefusedError(400, "the request must be a JSON object")
    return values


def address_of(request: HTTPConnection, service: Service) -> str:
    """The caller's address; a proxy names it last, whatever the caller claims before."""
    named = request.headers.get(_CALLER, "") if service.door.proxied else ""
    return named.split(",")[-1].strip() or (request.client.host if request.client else "unknown")


# Sign-in links: an admin makes them, and takes them back


ADDRESS = "address"  # of the pages, as a passing fact of the store


def address_of_pages(desk: Labelling) -> str | None:
    """How browsers reached the pages last, as far as anybody said so."""
    return desk.store.meta(ADDRESS)


def add_person(
    campaign: Campaign, name: str, *, admin: bool, url: str | None = None, new_link: bool = False
) -> dict[str, str]:
    """{"name", "link"} of a person; one whose link works is refused, or gets another with `new_link`, which ends it.

    Without a `url` the link leads where the campaign was served last.
    """
    name = " ".join(name.split())
    if not name or len(name) > _LONGEST_NAME or not name.isprintable():
        raise InputError(f"a person's name has 1 to {_LONGEST_NAME} printable characters; got {name[:80]!r}")
    with campaign.labelling() as desk:
        accounts = Accounts(desk.store)
        token = (accounts.renew(name) if new_link else None) or accounts.add(name, admin=admin)
        found = accounts.find(name)
        name = name if found is None else found.name
        if url is not None:
            desk.store.set_meta(ADDRESS, url.rstrip("/"))
        url = address_of_pages(desk) or DEFAULT_URL
    return {"name": name, "link": f"{url.rstrip('/')}/join/{token}"}


def remove_person(campaign: Campaign, name: str) -> str:
    """Take the link back; what the person has in hand goes to others, and their answers stay. Their name."""
    with campaign.labelling() as desk:
        known = Accounts(desk.store).remove(name)
        if known is None:
            there = ", ".join(person.name for person in Accounts(desk.store).list() if person.active) or "nobody"
            raise InputError(f"{name!r} has no link that works; those who have one: {there}")
        Desk(desk.store).free_all(known)
    return known


def list_people(campaign: Campaign) -> tuple[list[Person], dict[str, QualityResults]]:
    """Everyone who was ever given a link; and how those did who were trained or checked, by name."""
    with campaign.labelling() as desk:
        return Accounts(desk.store).list(), tests_found(desk.store)
