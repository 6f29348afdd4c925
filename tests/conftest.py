"""What tests of every folder share: databases on a real PostgreSQL server. A worker that asks for none starts none."""

import os
import shutil
import sys
import tempfile
import uuid
import warnings
from pathlib import Path

import pytest

from .postgres import NoPostgresError, Server
from .programs import needed

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))  # for `studies`: worlds that benchmarks and tests share
import studies  # noqa: F401

sys.path.pop()  # `coverage` there is a benchmark; libraries look for the package of that name

_MEMORY, _ENOUGH = "/dev/shm", 4 * 2**30


def pytest_configure():
    """Keep temporary files in memory where there is room: a store waits for the disk at every commit, and no test can
    tell whether that was done, as only a crash of the machine would show it."""
    if "TMPDIR" not in os.environ and _has_room(_MEMORY):
        os.environ["TMPDIR"] = tempfile.tempdir = _MEMORY


def _has_room(folder):
    """Whether programs may be run there and much can be written."""
    if not os.access(folder, os.W_OK | os.X_OK):
        return False
    forbidden = os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0)
    return not forbidden and shutil.disk_usage(folder).free > _ENOUGH


@pytest.fixture(scope="session")
def postgres():
    """URL of a server on which databases may be created: RATEWISE_TEST_POSTGRES, or one that lives for this session."""
    given = os.environ.get("RATEWISE_TEST_POSTGRES")
    if given:
        yield _url(given)
        return
    with _server() as server:
        yield server.url


@pytest.fixture
def make_database(postgres):
    """A function that gives the URL of a new database, empty or a copy of another; all are dropped after the test."""
    from sqlalchemy import make_url

    made = []

    def make(like=None):
        name = f"ratewise_test_{uuid.uuid4().hex}"
        template = "template0" if like is None else make_url(like).database
        _execute(postgres, f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        made.append(name)
        return _url(postgres, database=name)

    yield make
    for name in made:
        _execute(postgres, f'DROP DATABASE "{name}" WITH (FORCE)')


@pytest.fixture
def database(make_database):
    """URL of a new empty database, dropped after the test together with the sessions still open on it."""
    return make_database()


@pytest.fixture
def own_server():
    """A server of the test's own, with `url`, `stop(mode)` and `start()`, for a database that goes away and is back."""
    with _server() as server:
        yield server


def _server():
    try:
        return Server()
    except NoPostgresError as error:
        reason = str(error)
    pytest.fail(reason, pytrace=False)  # not inside the handler: the reason is said once


def _url(url, *, database=None):
    """The URL with our driver named in it and always a database."""
    from sqlalchemy import make_url

    url = make_url(url.replace("postgres://", "postgresql://", 1))
    url = url.set(drivername="postgresql+psycopg", database=database or url.database or "postgres")
    return url.render_as_string(hide_password=False)


def _execute(url, statement):
    """Run a statement that may not be in a transaction."""
    import sqlalchemy

    engine = sqlalchemy.create_engine(url, isolation_level="AUTOCOMMIT", poolclass=sqlalchemy.NullPool)
    with engine.connect() as connection:
        connection.execute(sqlalchemy.text(statement))


@pytest.fixture(scope="session")
def spark():
    """A Spark of two threads that lives for this session."""
    from ratewise.tables.spark import start

    needed(shutil.which("java") or os.environ.get("JAVA_HOME"), "install Java 17 or newer, or name it in JAVA_HOME")
    os.environ.setdefault("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # it lives for a minute
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its own, about pandas and sockets
        session = start("local[2,3]")  # a task may fail twice
        session.conf.set("spark.sql.shuffle.partitions", "2")
        session.conf.set("spark.sql.codegen.wholeStage", "false")  # compiling takes longer than these rows
        session.conf.set("spark.sql.adaptive.enabled", "false")
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
