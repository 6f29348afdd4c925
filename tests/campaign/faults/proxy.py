"""A line to a PostgreSQL server that can be cut without either end hearing of it, as where a machine is lost.

Both ends keep their connections, and nothing passes any more: no data, and no end of it.
"""

import socket
import threading
from contextlib import suppress
from pathlib import Path

import sqlalchemy as sa


class Line:
    """Listens on a port of this machine and passes everything on; `url` leads through it to the same database."""

    def __init__(self, database):
        self._address = sa.make_url(database)
        self._listening = socket.create_server(("127.0.0.1", 0))
        self._pairs = []
        self._cut = set()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self):
        port = self._listening.getsockname()[1]
        through = self._address.set(host="127.0.0.1", port=port, query={})
        return through.render_as_string(hide_password=False)

    def cut(self):
        """Pass nothing more between the ends that are connected now; new ones find the line whole."""
        self._cut.update(id(one) for pair in self._pairs for one in pair)

    def hang_up(self):
        """Tell the ends of every connection that was cut."""
        for one in [one for pair in self._pairs for one in pair if id(one) in self._cut]:
            _close(one)

    def close(self):
        """End everything."""
        _close(self._listening)
        for one in [one for pair in self._pairs for one in pair]:
            _close(one)

    def _accept(self):
        while True:
            try:
                near, _ = self._listening.accept()
            except OSError:
                return
            far = self._server()
            self._pairs.append((near, far))
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self._pass_on, args=(one, other), daemon=True).start()

    def _server(self):
        host = str(self._address.query.get("host") or self._address.host or "localhost")
        port = self._address.port or 5432
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        far = socket.socket(socket.AF_UNIX)
        far.connect(str(Path(host) / f".s.PGSQL.{port}"))
        return far

    def _pass_on(self, one, other):
        """What arrives after the cut is lost, an end of it too."""
        try:
            while data := one.recv(65536):
                if id(one) in self._cut:
                    continue
                other.sendall(data)
        except OSError:
            pass
        if id(one) not in self._cut:
            _close(other)


def _close(one):
    for act in (lambda: one.shutdown(socket.SHUT_RDWR), one.close):
        with suppress(OSError):
            act()
