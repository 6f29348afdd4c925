"""What may be a secret is not shown, and what is none stays readable."""

import pytest

from ratewise.raters.text import (
    address_problem,
    concealed,
    safe_reason,
    safe_text,
    safe_words,
    secrets_of,
    without,
    without_secrets,
)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("postgresql://bob:pw@host/db", "postgresql://***@host/db"),
        ("postgresql://bob:p@w@host/db", "postgresql://***@host/db"),
        ("postgresql://host/db?user=bob&password=pw", "postgresql://host/db?user=bob&password=***"),
        ("campaign.sqlite", "campaign.sqlite"),
    ],
)
def test_addresses(address, shown):
    assert without_secrets(address) == shown


def test_words_of_a_command():
    words = ("python", "judge.py", "--api-key", "abc", "--model", "large", "--token=abc", "-v", "--password", "--quiet")
    assert safe_words(words) == (
        "python", "judge.py", "--api-key", "***", "--model", "large", "--token=***", "-v", "--password", "--quiet",
    )  # fmt: skip
    assert safe_text("judge --secret abc  --n 3") == "judge --secret ***  --n 3"
    assert safe_text("plain text") == "plain text"


@pytest.mark.parametrize(
    ("address", "problem"),
    [
        ("postgresql://bob:pw@host:5432/db", ""),
        ("postgresql://host/db", ""),
        ("postgresql:///db?host=/var/run", ""),
        ("postgresql+psycopg://postgres@/postgres?host=/tmp/x", ""),
        ("postgresql://bob@[::1]:5432/db", ""),
        ("postgresql://bob:p@w@host/db", "%40"),
        ("postgresql://bob:p/w@host/db", "%2F"),
        ("postgresql://bob:pw@host:port/db", "port"),
        ("postgresql://bob:pw@host:70000/db", "port"),
    ],
)
def test_addresses_that_cannot_be_read(address, problem):
    found = address_problem(address)
    assert (problem in found) if problem else found == ""
    assert "pw" not in found


def test_settings_are_stored_with_marks_by_which_a_change_is_seen():
    words = ("python", "judge.py", "--api-key", "abcdef", "--token=abcdef", "https://me:pw@host/x")
    stored = concealed(words)
    assert "abcdef" not in str(stored)
    assert "pw" not in str(stored)
    assert stored[:3] == words[:3]
    assert concealed(stored) == stored
    assert concealed((*words[:3], "other", *words[4:])) != stored
    assert concealed("judge --api-key abcdef") == concealed(concealed("judge --api-key abcdef"))
    assert concealed(3) == 3


def test_secrets_are_found_in_settings_and_environment():
    settings = {"command": ("judge", "--api-key", "abcdef", "-q", "https://me:p%40ss@host/x"), "n": 3}
    found = secrets_of(
        settings, {"OPENAI_API_KEY": "0123456789", "PWD": "/home/me/here", "HOME_KEY": "short", "X": "y" * 9}
    )
    assert found == {"abcdef", "me:p%40ss", "p%40ss", "p@ss", "0123456789"}
    assert secrets_of({"command": "judge --token 'a b c d'"}, {}) == {"a b c d"}
    assert secrets_of({"command": "judge --token 1"}, {}) == frozenset()
    assert secrets_of({"key_env": "MY_VENDOR"}, {"MY_VENDOR": "abcde"}) == {"abcde"}
    assert without("key abcdefgh and abcdef", ["abcdef", "abcdefgh"]) == "key *** and ***"
    assert safe_reason("no abcdef at https://a:b@host, --token xyz", {"abcdef"}) == (
        "no *** at https://***@host, --token ***"
    )
