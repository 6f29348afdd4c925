"""Leading on PostgreSQL is a lease: a process that plans shows a sign of life, and one that is silent is replaced.

The lock of the one that plans dies with its connection, but a process that is frozen, or a machine that is lost behind
a half-open connection, keeps both. So the leader writes the server's time into the store every few seconds, from a
thread of its own: long computations do not stop it, a frozen process does. Who finds it silent for too long ends all
its connections, and with them its locks. One that wakes up finds that it does not lead any more.
"""

import os
import socket
import threading
import uuid
from contextlib import suppress
from dataclasses import dataclass, field

import sqlalchemy as sa
from sqlalchemy import exc

LEASE = 30.0  # seconds of silence after which another process may lead
_FACT = "leading"  # "seconds since 1970 by the server's clock|name of the connections"
_NOW = "extract(epoch FROM clock_timestamp())::float8"


def connection_name() -> str:
    """Names all connections of this process, so that they can be ended together; PostgreSQL cuts at 63 signs."""
    return f"rw {uuid.uuid4().hex[:8]} {os.getpid()} {socket.gethostname()}"[:63]


@dataclass(slots=True, eq=False)
class Leading:
    """The sign of life of the process that plans, and what others see of it."""

    engine: sa.Engine
    name: str  # of this process's connections
    _stop: threading.Event | None = field(init=False, default=None)

    def start(self) -> None:
        """Show signs of life until `stop`."""
        if self._stop is None:
            self._stop = threading.Event()
            with suppress(exc.ProgrammingError):  # before the tables are there
                self._beat(first=True)
            threading.Thread(target=self._go_on, args=(self._stop,), name="ratewise-leader", daemon=True).start()

    def stop(self) -> None:
        """This process leads no more."""
        if self._stop is not None:
            self._stop.set()
            self._stop = None

    def _go_on(self, stop: threading.Event) -> None:
        while not stop.wait(LEASE / 6):
            with suppress(exc.SQLAlchemyError):  # a server that restarts; the next one may be heard
                self._beat()

    def _beat(self, *, first: bool = False) -> None:
        """Show a sign of life; after the first, only while nobody else has taken over."""
        mine = "" if first else " WHERE split_part(meta.value, '|', 2) = :name"
        write = sa.text(
            f"INSERT INTO meta (key, value) VALUES ('{_FACT}', {_NOW}::text || '|' || :name) "
            f"ON CONFLICT (key) DO UPDATE SET value = excluded.value{mine}"
        )
        with self.engine.begin() as connection:
            connection.execute(write, {"name": self.name})

    def seen(self) -> tuple[str, float] | None:
        """Whose connections lead, and for how many seconds they have been silent; None where nobody has led."""
        read = sa.text(f"SELECT value, {_NOW} FROM meta WHERE key = '{_FACT}'")
        found = None
        with suppress(exc.ProgrammingError), self.engine.connect() as connection:
            found = connection.execute(read).one_or_none()
        if found is None:
            return None
        at, _, name = str(found[0]).partition("|")
        return name, float(found[1]) - float(at)

    def end_silent(self, lease: float = LEASE) -> bool:
        """End the connections of a leader that has been silent for too long; whether there was one."""
        found = self.seen()
        if found is None or found[1] <= lease or found[0] == self.name:
            return False
        end = sa.text("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = :name")
        with self.engine.connect() as connection:
            return any(connection.scalars(end, {"name": found[0]}).all())


def in_words(name: str, silent: float) -> str:
    """Describe a leader that shows no sign of life."""
    _, process, host = [*name.split(" ", 3)[1:], "?", "?"][:3]
    who = f"process {process} on {host}"
    return f"{who} leads and has been silent for {silent:.0f} s; after {LEASE:.0f} s another one takes over"
