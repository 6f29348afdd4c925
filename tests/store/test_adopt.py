"""A store without a record gets one: played again, it gives the same tables, the cap and the campaign's id too."""

import pytest
import sqlalchemy as sa

from ratewise.store import chain
from ratewise.store import schema as t
from ratewise.store.adopt import adopt
from ratewise.store.replay import differences, make_tables, rebuild

FACTS = {"spec": "{}", "campaign": "0123456789abcdef", "old keys": "[[0, 1, 1]]", "leader": "process 7"}


@pytest.fixture
def older(tmp_path):
    """A connection to a store that has rows and no record."""
    make_tables(tmp_path / "c.sqlite")
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'c.sqlite'}")
    with engine.connect() as connection:
        connection.execute(t.meta.insert(), [{"key": key, "value": value} for key, value in FACTS.items()])
        connection.execute(t.items.insert().values(position=0, id="q0", uniform=0.5, content="{}"))
        connection.execute(t.ratings.insert().values(position=0, step=1, state=0, worker=3, attempts=0))
        connection.execute(t.events.insert().values(at="", text="one"))
        connection.execute(t.totals.update().values(reserved=3, spent=4))
        yield connection
    engine.dispose()


@pytest.mark.parametrize("cap", [None, 0, 60_000_000_000])
def test_the_record_of_an_older_store_gives_its_tables(older, tmp_path, cap):
    older.execute(t.totals.update().values(cap=cap))
    adopt(older, 3)
    rebuild(tmp_path / "again.sqlite", chain.entries(older))
    engine = sa.create_engine(f"sqlite:///{tmp_path / 'again.sqlite'}")
    with engine.connect() as right:
        assert list(differences(older, right)) == []
        assert right.scalar(sa.select(t.totals.c.cap)) == cap
        assert right.scalar(sa.select(t.meta.c.value).where(t.meta.c.key == "old keys")) == FACTS["old keys"]
    engine.dispose()


def test_a_record_begins_once_and_says_what_is_from_before(older):
    adopt(older, 3)
    (first,) = chain.entries(older)
    assert first.changes[0][:3] == ["before", 3, 0]
    assert "process 7" not in first.body
    adopt(older, 3)
    assert chain.last(older).number == 1


def test_a_store_that_no_campaign_has_begun_in_gets_none(older):
    older.execute(t.meta.delete().where(t.meta.c.key == "spec"))
    adopt(older, 3)
    assert chain.last(older).number == 0
