"""Who may sign in to the labelling page. Secrets are kept as hashes: who reads the store cannot sign in by it."""

import hashlib
import secrets
import time
from collections.abc import Callable
from typing import NamedTuple

import sqlalchemy as sa

from ratewise.errors import InputError
from ratewise.store import chain
from ratewise.store import queries as q
from ratewise.store.desk import name_key
from ratewise.store.queue import now
from ratewise.store.store import Store

_BYTES = 24  # of a secret: 192 bits
SESSION_SECONDS = 14 * 86_400.0


class Person(NamedTuple):
    """One who may sign in."""

    name: str
    admin: bool
    active: bool  # whether their link still works
    made_at: str


class Session(NamedTuple):
    """A browser that is signed in."""

    name: str
    admin: bool
    csrf: str


class Accounts:
    """Links that people sign in with, and their sessions."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.time) -> None:
        self.store, self.clock = store, clock

    def add(self, name: str, *, admin: bool = False) -> str:
        """A link's secret for a person who has none; one who had a link before keeps the spelling of their name."""
        token = secrets.token_urlsafe(_BYTES)
        with self.store.writing() as connection:
            found = _named(connection, name)
            if found is not None and found.active:
                raise InputError(
                    f"{found.name!r} has a link that works; end it and make another with --new-link, or choose a name "
                    "that differs in more than capitals"
                )
            row = {"name": name, "admin": admin, "token": hashed(token), "made_at": now()}
            if found is None:
                chain.insert(connection, "people", [row])
            else:
                chain.update(connection, "people", ["name"], [row | {"name": found.name}])
        return token

    def renew(self, name: str) -> str | None:
        """Another link's secret for a person who has one, which ends with all sessions; None where nobody has it."""
        token = secrets.token_urlsafe(_BYTES)
        return None if self.remove(name, hashed(token)) is None else token

    def remove(self, name: str, token: str | None = None) -> str | None:
        """Take the link back, or put another one in its place, and end all sessions; what the person answered stays.

        Their name, or None for nobody's.
        """
        with self.store.writing() as connection:
            found = _named(connection, name)
            if found is None or not found.active:
                return None
            q.deletion("sessions", ("name",)).change(connection, name=found.name)
            chain.update(connection, "people", ["name"], [{"token": token, "name": found.name}])
        return found.name

    def find(self, name: str) -> Person | None:
        """The one who has this name, in capitals or not."""
        return self.store.read(_named, name)

    def list(self) -> list[Person]:
        """Everyone who was ever given a link, by name."""
        return self.store.read(_everyone)

    def sign_in(self, token: str) -> str | None:
        """A new session's secret for the one whose link this is; None where there is no such link."""
        if self.store.read(q.LINK.scalar, token=hashed(token)) is None:
            return None  # wrong links keep nobody from writing
        secret, csrf = secrets.token_urlsafe(_BYTES), secrets.token_urlsafe(_BYTES)
        with self.store.writing() as connection:
            name = q.LINK.scalar(connection, token=hashed(token))
            if name is None:
                return None
            now_at = self.clock()
            q.OLD_SESSIONS.change(connection, at=now_at)
            row = {"token": hashed(secret), "name": name, "csrf": csrf, "until": now_at + SESSION_SECONDS}
            q.insertion("sessions", tuple(row)).many(connection, [row])
        return secret

    def session(self, secret: str) -> Session | None:
        """Who is signed in with this cookie; None where nobody is, or not any more."""
        row = self.store.read(q.SESSION.first, token=hashed(secret), at=self.clock())
        return None if row is None else Session(row[0], bool(row[1]), row[2])

    def sign_out(self, secret: str) -> None:
        with self.store.writing() as connection:
            q.deletion("sessions", ("token",)).change(connection, token=hashed(secret))


def spellings(store: Store) -> dict[str, str]:
    """The name of everyone who has a link or has answered, as it was first written, by the key of that name."""
    linked = [person.name for person in store.read(_everyone)]
    return {name_key(name): name for name in (*store.read(q.ANNOTATORS.column), *linked)}


def _everyone(connection: sa.Connection) -> list[Person]:
    rows = q.PEOPLE.all(connection)
    return [Person(name, bool(admin), token is not None, made_at) for name, admin, token, made_at in rows]


def _named(connection: sa.Connection, /, name: str) -> Person | None:
    return next((person for person in _everyone(connection) if name_key(person.name) == name_key(name)), None)


def hashed(secret: str) -> str:
    """What is kept of a secret; it is random and long, so one hash is enough."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
