"""One file: one process that plans, and a lock of its own for every other."""

import pytest

from ratewise.errors import StoreError
from ratewise.store.sqlite import SQLite


@pytest.fixture
def two(tmp_path):
    made = [SQLite(str(tmp_path / "c.sqlite")) for _ in range(2)]
    yield made
    for database in made:
        database.leave()


def test_one_plans_and_others_may_not(two):
    one, other = two
    assert not one.running()
    one.join()
    assert one.lead()
    assert other.running()
    with pytest.raises(StoreError, match="another process is running"):
        other.join()
    one.leave()
    other.join()


def test_who_only_answers_is_alive_as_long_as_its_lock(two):
    one, other = two
    one.join()
    other.hold(7)
    assert one.dead([7, 8]) == [8]
    other.leave()
    assert one.dead([7]) == [7]


def test_statements_are_compiled_once_for_all_files(tmp_path):
    import sqlalchemy as sa

    one, other = (SQLite(str(tmp_path / name)) for name in ("a.sqlite", "b.sqlite"))
    assert one.engine.dialect is other.engine.dialect
    assert one.engine is not other.engine
    for database, expected in ((one, 1), (other, 2)):
        with database.engine.begin() as connection:
            assert connection.scalar(sa.select(sa.literal(expected))) == expected
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2
        database.leave()
