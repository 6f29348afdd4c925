"""A schema for each campaign, and locks that die with their process."""

from ratewise.store.postgresql import PostgreSQL


def test_two_names_are_two_schemas(database):
    one, other = PostgreSQL(database, "My campaign!"), PostgreSQL(database, "other")
    assert (one.schema, other.schema) == ("ratewise_my_campaign_", "ratewise_other")
    assert not one.exists()
    with one.creating():
        pass
    assert one.exists()
    assert not other.exists()
    for each in (one, other):
        each.leave()


def test_one_leads_and_the_next_takes_its_place(database):
    one, other = (PostgreSQL(database, "c") for _ in range(2))
    with one.creating():
        pass
    for number, each in enumerate((one, other), 1):
        each.join()
        each.hold(number)
    assert one.lead()
    assert not other.lead()
    assert other.dead([1, 9]) == [9]
    one.leave()
    assert other.lead()
    assert other.dead([1]) == [1]
    other.leave()
    assert other.damage() == []


def test_both_sides_notice_a_line_that_is_dead(database):
    """Keepalives for a line that rests, tcp_user_timeout for one with data on its way; an address may say otherwise."""
    for url, waits in ((database, 40_000), (f"{database}&tcp_user_timeout=9000", 9_000)):
        store = PostgreSQL(url, "c")
        with store.engine.connect() as connection:
            said = connection.connection.driver_connection.info.get_parameters()
            assert int(said["tcp_user_timeout"]) == waits
            assert int(said["keepalives_idle"]) + 4 * int(said["keepalives_interval"]) <= 60
            assert int(said["connect_timeout"]) == 10
            ended = connection.exec_driver_sql("SHOW idle_in_transaction_session_timeout").scalar()
            assert ended == "1min"
        store.leave()
