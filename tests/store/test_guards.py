"""Guards: the database refuses to change what is only ever added, and money below 0; the rest goes on as before."""

from contextlib import closing

import pytest
import sqlalchemy as sa

from ratewise.store.replay import new_store
from ratewise.store.schema import raise_guards


@pytest.fixture
def guarded(tmp_path):
    """A store with a note, an open question and an answered one, and its guards put up twice."""
    with new_store(tmp_path / "c.sqlite"):
        pass
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'c.sqlite'}")
    with closing(engine.connect()) as connection:
        connection.exec_driver_sql("INSERT INTO events (at, text) VALUES ('', 'one')")
        connection.exec_driver_sql("INSERT INTO meta (key, value) VALUES ('ended', '')")
        for position, state in ((0, 0), (1, 1)):
            row = f"({position}, 1, {state}, 0)"
            connection.exec_driver_sql(f"INSERT INTO ratings (position, step, state, attempts) VALUES {row}")
        connection.exec_driver_sql("INSERT INTO people (name, admin, made_at) VALUES ('ann', 0, '')")
        for state in ("open", "skipped", "answered", "trained", "undone"):
            row = f"('{state}', 'ann', -1, 1, 1, 0, '{state}')"
            connection.exec_driver_sql(
                f"INSERT INTO handed (key, person, position, step, attempt, at, state) VALUES {row}"
            )
        for _ in range(2):
            raise_guards(connection)
        yield connection
    engine.dispose()


@pytest.mark.parametrize(
    "statement",
    ["UPDATE events SET text = 'two'", "DELETE FROM events", "DELETE FROM ratings", "DELETE FROM totals",
     "UPDATE ratings SET value = 1 WHERE state = 1", "UPDATE totals SET reserved = -1", "DELETE FROM people",
     "DELETE FROM handed", "UPDATE handed SET agrees = 0 WHERE key = 'answered'",
     "UPDATE handed SET agrees = 1 WHERE key = 'trained'", "UPDATE handed SET state = 'open' WHERE key = 'undone'"],
)  # fmt: skip
def test_what_is_never_done_is_refused(guarded, statement):
    with pytest.raises(sa.exc.IntegrityError, match=r"may not be|not_negative"):
        guarded.exec_driver_sql(statement)


@pytest.mark.parametrize(
    "statement",
    ["UPDATE ratings SET state = 1, value = 1 WHERE state = 0", "UPDATE totals SET spent = 5, cap = 7",
     "INSERT INTO events (at, text) VALUES ('', 'two')", "UPDATE meta SET value = '1' WHERE key = 'ended'",
     "UPDATE people SET token = 'x'", "UPDATE handed SET state = 'undone' WHERE key = 'answered'",
     "UPDATE handed SET state = 'answered', turn = 1 WHERE key = 'skipped'"],
)  # fmt: skip
def test_what_a_campaign_does_is_not(guarded, statement):
    assert guarded.exec_driver_sql(statement).rowcount == 1
