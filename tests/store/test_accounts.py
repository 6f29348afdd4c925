"""Who may sign in: links and sessions by their hashes, ended when they are taken back or their time is up."""

import pytest

from ratewise.errors import InputError
from ratewise.store import chain
from ratewise.store.accounts import SESSION_SECONDS, Accounts, hashed
from ratewise.store.replay import check_record
from ratewise.store.store import Store


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request, tmp_path):
    where = "c.sqlite" if request.param == "sqlite" else request.getfixturevalue("database")
    made = Store.at(where, str(tmp_path), "c")
    made.begin({"spec": "{}"}, [(0, "a", 0.5, None, None, "{}")])
    yield made
    made.close()


def test_links_and_sessions(store):
    now = [1000.0]
    accounts = Accounts(store, lambda: now[0])
    token = accounts.add("ann", admin=True)
    assert accounts.sign_in("wrong") is None
    secret = accounts.sign_in(token)
    found = accounts.session(secret)
    assert (found.name, found.admin) == ("ann", True)
    assert found.csrf not in (token, secret)
    assert accounts.session(token) is None
    assert accounts.session("") is None
    other = accounts.sign_in(token)  # another browser
    accounts.sign_out(secret)
    assert accounts.session(secret) is None
    now[0] += SESSION_SECONDS + 1
    assert accounts.session(other) is None
    again = accounts.sign_in(token)
    assert accounts.remove("ann")
    assert not accounts.remove("ann")
    assert accounts.session(again) is None
    assert accounts.sign_in(token) is None
    accounts.add("bob")
    assert [(p.name, p.admin, p.active) for p in accounts.list()] == [("ann", True, False), ("bob", False, True)]


def test_a_link_ends_only_where_that_is_asked_for_and_capitals_make_nobody_else(store):
    accounts = Accounts(store)
    secret = accounts.sign_in(accounts.add("ben", admin=True))
    for name in ("ben", "Ben", "BEN"):
        with pytest.raises(InputError, match="'ben' has a link that works"):
            accounts.add(name)
    assert accounts.session(secret).name == "ben"
    other = accounts.sign_in(accounts.renew("Ben"))
    assert accounts.session(secret) is None
    found = accounts.session(other)
    assert (found.name, found.admin) == ("ben", True)
    assert accounts.remove("BEN") == "ben"
    assert accounts.session(other) is None
    assert accounts.renew("ben") is None
    again = accounts.session(accounts.sign_in(accounts.add("Ben")))
    assert (again.name, again.admin) == ("ben", False)
    accounts.add("Bén")  # somebody else
    assert {person.name for person in accounts.list()} == {"ben", "Bén"}


def test_who_may_sign_in_is_in_the_record_and_who_is_signed_in_is_not(store):
    """Links are, as hashes: the record may be given away."""
    accounts = Accounts(store)
    link = accounts.add("ann", admin=True)
    head = store.head()
    session = accounts.sign_in(link)
    accounts.sign_out(session)
    assert store.head() == head
    new = accounts.renew("ann")
    accounts.remove("ann")
    accounts.add("Ann")
    with store.reading() as connection:
        added, *later = [entry.body for entry in chain.entries(connection)][1:]
    assert hashed(link) in added
    assert len(later) == 3
    assert not [body for body in (added, *later) for secret in (link, session, new) if secret in body]
    assert check_record(store).problems == []
